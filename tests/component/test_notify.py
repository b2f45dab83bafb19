"""What a daemon says to its service manager: ready, alive again and again, reloading, stopping."""
import os
import signal
import socket
import time

import pytest
from support.daemon import Daemon
from support.house import House, binary
from support.until import stays, until

SERVICES = ("tracker", "dlq", "gateway", "poller")
WATCHDOG_S = 0.4
SOON_S = 20


class Manager:
    """The datagrams of one daemon on a socket of its own, with the time that each came."""

    def __init__(self, folder):
        self.path = os.path.join(folder, "notify")
        self.socket = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.socket.bind(self.path)
        self.socket.setblocking(False)
        self.heard = []

    def listen(self):
        while True:
            try:
                text = self.socket.recv(4096).decode()
            except BlockingIOError:
                return self.heard
            self.heard += [(time.monotonic(), line) for line in text.splitlines()]

    def times(self, word):
        return [at for at, line in self.listen() if line == word]

    def until(self, word, count=1):
        return until(lambda: len(self.times(word)) >= count, SOON_S,
                     lambda: f"{word} was said {len(self.times(word))} times: {self.heard[-9:]}")


@pytest.fixture(params=SERVICES)
def service(request):
    if not binary(f"aldaba-{request.param}"):
        pytest.skip(f"no aldaba-{request.param} is built")
    return request.param


@pytest.fixture
def watched(service):
    """(daemon, manager): ready, and watched as systemd does with WatchdogSec=."""
    with House(pollers=0) as house:
        house.start_sandbox()
        house.write_settings()
        manager = Manager(house.folder)
        path = house.config_path(service)
        daemon = Daemon("watched", [binary(f"aldaba-{service}"), "--config", path], house.folder,
                        house.env({"NOTIFY_SOCKET": manager.path,
                                   "WATCHDOG_USEC": str(int(WATCHDOG_S * 1e6))}))
        house.daemons = {"watched": daemon}
        daemon.start()
        yield daemon, manager
        manager.socket.close()


def test_example(watched):
    daemon, manager = watched
    manager.until("READY=1")
    manager.until("WATCHDOG=1", 5)
    ready = manager.times("READY=1")[0]
    beats = [ready, *manager.times("WATCHDOG=1")]
    pauses = [later - sooner for sooner, later in zip(beats, beats[1:])]
    assert sorted(pauses)[len(pauses) // 2] < WATCHDOG_S * 0.8, pauses
    assert daemon.stop() in (0, 75)
    assert manager.times("STOPPING=1")


def test_one_that_stands_still_is_silent(watched):
    daemon, manager = watched
    manager.until("WATCHDOG=1")
    daemon.pause()
    manager.listen()
    count = len(manager.times("WATCHDOG=1"))
    stays(lambda: len(manager.times("WATCHDOG=1")) == count, 3 * WATCHDOG_S,
          "it beats while it stands still")
    daemon.resume()
    manager.until("WATCHDOG=1", count + 1)


def test_a_reload_is_told(watched):
    daemon, manager = watched
    manager.until("READY=1")
    daemon.send(signal.SIGHUP)
    manager.until("RELOADING=1")
    manager.until("READY=1", 2)
    beats = len(manager.times("WATCHDOG=1"))
    manager.until("WATCHDOG=1", beats + 2)
