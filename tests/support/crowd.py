"""Clients that say nothing, or say it slowly, by the thousand."""
import contextlib
import selectors
import socket
import threading
import time

from support.until import until


class Crowd(threading.Thread):
    """So many connections to a port, each made anew when it is closed; each sends its first bytes, and
    then a byte every second."""

    def __init__(self, port, count, first, drip=b"x", anew=True):
        super().__init__(daemon=True)
        self.address = ("127.0.0.1", port)
        self.count, self.first, self.drip, self.anew = count, first, drip, anew
        self.poll = selectors.DefaultSelector()
        self.peers = set()
        self.closed = 0
        self.born = 0
        self.most = 0  # at once
        self.ending = threading.Event()

    def __enter__(self):
        self.start()
        until(lambda: self.born >= self.count, 60, lambda: f"only {self.born} connections")
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.join(20)

    def run(self):
        next_drip = time.monotonic() + 1
        while not self.ending.is_set():
            while len(self.peers) < self.count and (self.anew or self.born < self.count):
                if not self.connect():
                    break
                self.born += 1
            self.most = max(self.most, len(self.peers))
            for key, _ in self.poll.select(0.02):
                self.hear(key.fileobj)
            if time.monotonic() >= next_drip:
                next_drip += 1
                for peer in list(self.peers):
                    with contextlib.suppress(OSError):
                        peer.send(self.drip)
        for peer in list(self.peers):
            self.drop(peer)

    def connect(self):
        peer = socket.socket()
        peer.settimeout(0.5)
        try:
            peer.connect(self.address)
            peer.setblocking(False)
            if self.first:
                peer.send(self.first)
        except OSError:
            peer.close()
            return False
        self.peers.add(peer)
        self.poll.register(peer, selectors.EVENT_READ)
        return True

    def hear(self, peer):
        try:
            if peer.recv(4096):
                return
        except BlockingIOError:
            return
        except OSError:
            pass
        self.closed += 1
        self.drop(peer)

    def drop(self, peer):
        self.poll.unregister(peer)
        self.peers.discard(peer)
        peer.close()
