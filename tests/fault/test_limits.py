"""Descriptors run out, connections dawdle, a second process wants the same endpoint."""
import os
import resource
import socket
import time

import pytest
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger
from support.oracle import judge
from support.until import passes, until

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
SOON_S = 1.0


@pytest.fixture
def house():
    with House(pollers=0, profile=CALM) as one:
        yield one.start()


@pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take descriptors from a process")
def test_descriptors_run_out_at_the_gateway(house):
    """It may burn a core meanwhile (the HTTP library asks again and again), but it lives, and takes
    callbacks as soon as it can."""
    ledger = Ledger()
    knocker = Knocker(house, ledger, 60)
    assert knocker.knock().status == 200
    soft, hard = resource.prlimit(house.gateway.pid, resource.RLIMIT_NOFILE)
    resource.prlimit(house.gateway.pid, resource.RLIMIT_NOFILE, (house.gateway.fds() + 12, hard))
    idle = [socket.create_connection(("127.0.0.1", house.public.port)) for _ in range(80)]
    until(lambda: house.gateway.fds() >= resource.prlimit(
        house.gateway.pid, resource.RLIMIT_NOFILE)[0] - 1, 10, "they do not run out")
    house.tracker.restart()  # the bus has to connect again, and cannot
    passes(1)
    assert house.gateway.alive(), house.gateway.tail()
    for peer in idle:
        peer.close()
    resource.prlimit(house.gateway.pid, resource.RLIMIT_NOFILE, (soft, hard))
    until(lambda: knocker.knock().status == 200, 10, "it does not recover")
    house.until_serving()
    for provider_id in knocker.ids:
        assert knocker.knock(provider_id).status == 200
    judge(house, ledger)
    assert house.gateway.starts == 1


def genuine_callback_s(house, knocker):
    begun = time.monotonic()
    assert knocker.knock().status == 200
    return time.monotonic() - begun


def test_half_sent_heads_and_dripping_bodies(house):
    knocker = Knocker(house, Ledger(), 20)
    peers = [socket.create_connection(("127.0.0.1", house.public.port)) for _ in range(100)]
    for number, peer in enumerate(peers):
        peer.sendall(b"GET /call" if number % 2 else
                     b"POST /callback HTTP/1.1\r\nHost: x\r\nContent-Length: 1000000\r\n\r\n")
    begun = time.monotonic()
    slowest = 0.0
    while time.monotonic() - begun < 4 and knocker.waiting:
        for peer in peers:
            try:
                peer.send(b"x")
            except OSError:
                pass  # its time was up
        slowest = max(slowest, genuine_callback_s(house, knocker))
        passes(0.3)
    assert slowest < SOON_S, f"a genuine callback took {slowest:.1f} s"
    until(lambda: all(closed(peer) for peer in peers), 15, "a dripping request is never ended")
    for peer in peers:
        peer.close()


def closed(peer):
    peer.setblocking(False)
    try:
        peer.send(b"x")
        return peer.recv(4096) == b""
    except BlockingIOError:
        return False
    except OSError:
        return True


@pytest.mark.parametrize("service", ["tracker", "dlq", "gateway"])
def test_endpoint_is_not_stolen(house, service):
    """A second process on the same endpoints, with files of its own, refuses to start; the first
    one goes on."""
    house.per_service[service] = {"store": {"data": f"{house.folder}/other"},
                                  "gateway": {"spool": f"{house.folder}/other/spool",
                                              "public": "127.0.0.1:0", "private": "127.0.0.1:0"}}
    config = house.config_path(service)
    house.write_settings()
    argv = house.daemons[service].argv[:1] + ["--config", config]
    thief = house.add(f"second-{service}", service)
    thief.argv = argv
    thief.launch()
    assert thief.wait() == 69, thief.tail()
    assert any("another process serves this endpoint" in line for line in thief.lines())
    del house.daemons[f"second-{service}"]
    ledger = Ledger()
    knocker = Knocker(house, ledger, 5)
    while knocker.waiting:
        assert knocker.knock().status == 200
    judge(house, ledger)
    assert house.daemons[service].alive() and house.daemons[service].starts == 1


def test_sockets_are_for_their_owner_alone(house):
    for name in os.listdir(house.run):
        assert os.stat(f"{house.run}/{name}").st_mode & 0o077 == 0, name
