"""ZMTP as bytes on a socket: what a broken or malicious neighbour on the bus can send below the
messages."""
import socket
import struct

GREETING = b"\xff" + b"\0" * 7 + b"\x01\x7f" + b"\x03\x00" + b"NULL".ljust(20, b"\0") + b"\0" * 32


def connect(path):
    peer = socket.socket(socket.AF_UNIX, socket.SOCK_STREAM)
    peer.settimeout(5)
    peer.connect(path)
    return peer


def greet(path, kind=b"DEALER"):
    """A connection after its handshake: frames may follow."""
    peer = connect(path)
    peer.sendall(GREETING)
    while_reading(peer, len(GREETING))
    ready = (b"\x05READY\x0bSocket-Type" + struct.pack(">I", len(kind)) + kind +
             b"\x08Identity" + struct.pack(">I", 0))
    peer.sendall(b"\x04" + bytes([len(ready)]) + ready)
    return peer


def while_reading(peer, count):
    while count > 0:
        chunk = peer.recv(count)
        if not chunk:
            raise ConnectionError("closed in the handshake")
        count -= len(chunk)


def frame(data, more=False):
    if len(data) < 256:
        return bytes([int(more), len(data)]) + data
    return bytes([2 | int(more)]) + struct.pack(">Q", len(data)) + data


def huge_frame(size):
    """The head of a frame that says it is so long."""
    return b"\x02" + struct.pack(">Q", size)
