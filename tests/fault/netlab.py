"""A network of its own between aldaba and its provider: the provider lives in a network namespace, and
every frame between the two passes a relay (relay.py) in another one, which loses, delays, doubles and
reorders them, is a thin link, is no link, or answers with resets. The test itself reaches the provider
by a second, whole link. Needs root and iproute2; nothing outside of the namespaces is touched."""
import contextlib
import ctypes
import fcntl
import json
import os
import shutil
import socket
import struct
import subprocess
import sys

from support.daemon import Daemon
from support.until import until

RELAY = os.path.join(os.path.dirname(os.path.abspath(__file__)), "relay.py")
SIOCETHTOOL = 0x8946
OFFLOADS = (0x15, 0x17, 0x1F, 0x22, 0x24, 0x2C)  # checksums both ways, TSO, UFO, GSO, GRO: set to 0


def _ip(*words):
    return subprocess.run(["ip", *words], check=True, capture_output=True, text=True)


def reason():
    """Why there can be no such network; "" when there can."""
    if os.geteuid() != 0 or shutil.which("ip") is None:
        return "needs root and iproute2, for network namespaces"
    try:
        with Lab():
            return ""
    except (OSError, subprocess.CalledProcessError) as error:
        return f"this machine makes no network namespaces: {getattr(error, 'stderr', error)}"


def plain_frames(device):
    """Frames as they would be on a wire: whole checksums, none longer than the link takes."""
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as sock:
        for command in OFFLOADS:
            value = ctypes.create_string_buffer(struct.pack("II", command, 0), 8)
            request = struct.pack("16sP16x", device.encode(), ctypes.addressof(value))
            with contextlib.suppress(OSError):  # what it does not have needs no switching off
                fcntl.ioctl(sock, SIOCETHTOOL, request)


class Lab:
    """home: our address; away: the provider's; back: the provider's on the link that is never hurt."""

    def __init__(self):
        number = os.getpid() % 4000
        self.tag = f"ald{number}"
        self.middle, self.far = f"{self.tag}m", f"{self.tag}b"
        net = f"10.{64 + number // 250}.{number % 250}"
        self.home, self.away = f"{net}.1", f"{net}.2"
        self.near_back, self.back = f"{net}.129", f"{net}.130"
        self.relay = None

    def __enter__(self):
        try:
            self.build()
        except BaseException:
            self.__exit__()
            raise
        return self

    def build(self):
        a, ra, rb, b, c, d = (f"{self.tag}{end}" for end in ("a", "ra", "rb", "b", "c", "d"))
        for space in (self.middle, self.far):
            _ip("netns", "add", space)
        for one, other in ((a, ra), (rb, b), (c, d)):
            _ip("link", "add", one, "type", "veth", "peer", "name", other)
        for device in (a, ra, rb, b):
            plain_frames(device)
        for device, space in ((ra, self.middle), (rb, self.middle), (b, self.far), (d, self.far)):
            _ip("link", "set", device, "netns", space)
        for device, space, address in ((a, None, self.home), (c, None, self.near_back),
                                       (b, self.far, self.away), (d, self.far, self.back)):
            inside = ("-n", space) if space else ()
            _ip(*inside, "addr", "add", f"{address}/25", "dev", device)
            _ip(*inside, "link", "set", device, "up")
        for device in (ra, rb):
            _ip("-n", self.middle, "link", "set", device, "up")
        _ip("-n", self.far, "link", "set", "lo", "up")
        self.ends = (ra, rb)

    def __exit__(self, *_):
        if self.relay:
            self.relay.clean()
        for space in (self.middle, self.far):
            subprocess.run(["ip", "netns", "del", space], capture_output=True, check=False)
        for end in ("a", "c"):
            subprocess.run(["ip", "link", "del", f"{self.tag}{end}"], capture_output=True, check=False)

    def inside(self, argv):
        """A command line that runs where the provider lives."""
        return ["ip", "netns", "exec", self.far, *argv]

    def start_relay(self, folder, seed):
        self.orders = os.path.join(folder, "relay.orders")
        self.link()
        self.relay = Daemon("relay", ["ip", "netns", "exec", self.middle, sys.executable, RELAY,
                                      *self.ends, self.orders, seed], folder)
        self.relay.start()

    def link(self, **orders):
        """From now on: loss, dup, reorder in percent; delay_ms, jitter_ms; rate in bytes a second; cut:
        "both", "up" (to the provider) or "down"; reset: true. Nothing: a good link."""
        with open(f"{self.orders}.new", "w", encoding="ascii") as file:
            json.dump(orders, file)
        os.rename(f"{self.orders}.new", self.orders)
        if self.relay:
            until(lambda: self.figures()["orders"] == orders, 10, "the relay does not hear")

    def figures(self):
        """What the relay did so far."""
        try:
            with open(f"{self.orders}.done", encoding="ascii") as file:
                return json.load(file)
        except (OSError, ValueError):
            return {"orders": None}
