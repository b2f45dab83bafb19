"""Names that are not resolved, or not soon. Row 51 of the matrix (README.md). The poller has a resolver
of its own (a mount namespace with another /etc/resolv.conf): one that never answers, one that says no
at once, and none. Other providers, whose addresses are numbers, are asked as if nothing were."""
import os
import shutil
import socket
import threading

import pytest
from support.house import House
from support.load import Load
from support.oracle import Oracle
from support.settings import sandbox_profile
from support.tally import scale, tally
from support.until import passes

SANDBOX = ("--solve", "0.2",)
TASKS = 20

pytestmark = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("unshare") is None,
    reason="needs root and unshare, to give a process a resolver of its own")


class NameServer(threading.Thread):
    """On 127.0.0.53-like addresses of a test's own, port 53. say(query) is the answer, or None."""

    def __init__(self, address, say):
        super().__init__(daemon=True)
        self.sock = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.sock.bind((address, 53))
        self.say = say
        self.asked = 0

    def run(self):
        while True:
            try:
                query, peer = self.sock.recvfrom(4096)
            except OSError:
                return
            self.asked += 1
            answer = self.say(query)
            if answer:
                self.sock.sendto(answer, peer)


def refused(query):
    return query[:2] + b"\x81\x85" + query[4:6] + b"\0" * 6 + query[12:]


RESOLVERS = {"never answers": ("127.91.0.1", lambda query: None),
             "says no": ("127.91.0.2", refused),
             "is not there": ("127.91.0.3", None)}


@pytest.mark.parametrize("which", scale(["never answers"], RESOLVERS))
def test_row_51_names_are_not_resolved(which):
    address, say = RESOLVERS[which]
    server = NameServer(address, say) if say else None
    if server:
        server.start()
    with House(sandbox=SANDBOX) as house:
        house.start_sandbox()
        named = sandbox_profile(80)
        named["poll"]["request"]["url"] = "http://provider.example.test/res.php"
        named["poll"]["timeout"] = "2s"
        named["poll"]["schedule"].update(first_after="300ms", give_up_after="4s", max_requests=3)
        named["callback"]["stale_after"] = "200ms"
        house.settings = {"tracker": {"last_poll_grace": "2s"},
                          "providers": {"sandbox": {}, "named": named}}
        resolver = os.path.join(house.folder, "resolv.conf")
        with open(resolver, "w", encoding="ascii") as file:
            file.write(f"nameserver {address}\noptions timeout:2 attempts:2\n")
        house.poller1.argv = ["unshare", "-m", "--propagation", "private", "/bin/sh", "-c",
                              f'mount --bind {resolver} /etc/resolv.conf && exec "$@"', "sh",
                              *house.poller1.argv]
        house.write_settings()
        house.start_daemons()
        oracle = Oracle(house)
        waiting = [house.register(str(number), provider="named")["id"] for number in range(TASKS)]
        with Load(house, rate=30, ledger=oracle.ledger, fate="drop"):
            passes(scale(2, 15))
            late = [event for event in house.events() if event["source"] == "poll"]
        assert late, "nobody was polled while names were not resolved"
        for task in waiting:
            assert house.ended(task, 60)["state"] in ("expired", "failed")
            oracle.ledger.others.add(task)
        assert not server or server.asked, "no name was asked for"
        oracle.demand(starts={name: 1 for name in house.daemons})
        tally(f"resolver {which}", polled_meanwhile=len(late))
    if server:
        server.sock.close()
