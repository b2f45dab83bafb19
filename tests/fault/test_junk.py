"""10,000 frames of junk on each socket of the bus, and bytes that are no frames at all: counted and
dropped. Nobody ends or grows, and the next good message is served."""
import random

import msgpack
import pytest
import zmq
import zmtp
from support.bus import Channel, figures, pack
from support.house import House
from support.until import until

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
FRAMES = 10_000
GROWTH_KIB = 48 * 1024
OWNERS = {"events": "tracker", "query": "tracker", "jobs": "tracker", "consume": "tracker",
          "feed": "tracker", "letters": "dlq", "control-tracker": "tracker",
          "control-gateway": "gateway", "control-dlq": "dlq", "control-poller-p1": "poller1"}
KINDS = ("hello", "welcome", "batch", "acks", "ack", "callback", "event", "fetch", "events", "ready",
         "leases", "lease", "outcome", "letter", "answer", "get", "list", "audit", "status",
         "register", "attach", "cancel", "control", "head", "figure", "blob", "nonsense", "")


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM) as one:
        one.start()
        until(lambda: not unwell(one), 10, lambda: f"not well: {unwell(one)}")
        demand_service(one)  # connections are made when they are first needed
        yield one


def kept(house):
    """What must not grow."""
    return {name: (daemon.rss_kib(), daemon.fds(), daemon.threads())
            for name, daemon in house.daemons.items()}


def demand_no_growth(house, before):
    for name, daemon in house.daemons.items():
        assert daemon.alive() and daemon.starts == 1, daemon.tail()
        rss, fds, threads = before[name]
        assert daemon.rss_kib() - rss < GROWTH_KIB, f"{name} grew from {rss} to {daemon.rss_kib()}"
        until(lambda: daemon.fds() <= fds + 4, 10, lambda: f"{name} keeps {daemon.fds() - fds} fds")
        assert daemon.threads() <= threads, name


def unwell(house):
    """The processes that do not say that they are well."""
    def answer(service):
        with Channel(house.run, f"control-{service}") as channel:
            return channel.ask("control", what="health")[0]["rc"]
    return [service for service in ("tracker", "dlq", "gateway", "poller-p1")
            if answer(service) != "ok"]


def demand_service(house):
    """A callback, a poll of the feed, a letter and an answer of every process."""
    provider_id = house.submit(1, fate="drop", solve=600)[0]
    task = house.register(provider_id)
    for answer in ("this", "that"):
        assert house.public.get("/callback/sandbox", id=provider_id, code=answer).status == 200
    until(lambda: len(house.events_of(task["id"])) == 1, 10, "no event")
    until(lambda: house.dead_letters(task=task["id"]), 10, "no letter")
    assert not unwell(house)
    assert figures(house.run, "audit")["arrivals"]["received"] > 0


def junk_frames(luck):
    """Messages of one to four frames: no MessagePack, bombs, cuts, wrong kinds and wrong types."""
    whole = [pack(kind, req=1, num=7, sender="x" * 26, task=12, after="0:1", limit=5, bytes=100)
             for kind in KINDS]
    bombs = [b"\xdd\x04\x00\x00\x00", b"\xdf\xff\xff\xff\xff", b"\xc6\xff\xff\xff\xff", b"\x91" * 900,
             b"\x81\xa1k" + b"\x81\xa1k" * 300, b"", b"\xc1", b"\xff" * 64]

    def wrong_types():
        value = luck.choice([None, [], {}, -1, 1 << 63, 1.5, "x" * 3000, b"\0" * 40, True])
        keys = ("req", "num", "sender", "instance", "task", "after", "limit", "provider", "what",
                "items", "floor", "credit", "name", "role")
        return msgpack.packb({"k": luck.choice(KINDS), "v": luck.choice([0, 1, 2, "1"]),
                              **{key: value for key in luck.sample(keys, 4)}}, use_bin_type=True)

    def one():
        way = luck.randrange(5)
        if way == 0:
            return luck.choice(bombs)
        if way == 1:
            message = luck.choice(whole)
            return message[:luck.randrange(len(message))]
        if way == 2:
            return wrong_types()
        if way == 3:
            return luck.randbytes(luck.randrange(1, 300))
        return luck.choice(whole)

    return [one() for _ in range(luck.choice((1, 1, 2, 4)))]


def dangerous(frames):
    """A well-formed request to stop is no junk."""
    return any(b"drain" in frame for frame in frames)


@pytest.mark.parametrize("name", [name for name in OWNERS if name != "feed"])
def test_junk_frames(house, name):
    luck = random.Random(name)
    before = kept(house)
    sock = zmq.Context.instance().socket(zmq.DEALER)
    sock.linger, sock.sndtimeo, sock.rcvhwm = 3000, 20_000, 10
    sock.connect(f"ipc://{house.run}/{name}")
    sent = 0
    while sent < FRAMES:
        frames = junk_frames(luck)
        if not dangerous(frames):
            sock.send_multipart(frames)
            sent += len(frames)
        while sock.poll(0):  # answers to what was well-formed
            sock.recv_multipart()
    demand_service(house)
    sock.close()
    demand_no_growth(house, before)


def test_batches_of_bad_items(house):
    """A batch of ten thousand items, each bad in its own way, and one that says more than it has."""
    luck = random.Random(8)
    before = kept(house)
    for name in ("events", "jobs", "letters"):
        with Channel(house.run, name) as channel:
            head = pack("batch", sender="0" * 26, instance="0" * 26, floor=1, items=10_000)
            channel.send(head, *(luck.choice(junk_frames(luck)) for _ in range(10_000)))
            channel.send(pack("batch", sender="0" * 26, instance="0" * 26, items=1 << 31))
            channel.send(pack("hello", role="gateway", sender="not a ulid", instance=""))
    demand_service(house)
    demand_no_growth(house, before)


@pytest.mark.parametrize("name", OWNERS)
def test_bytes_that_are_no_frames(house, name):
    luck = random.Random(name)
    before = kept(house)
    path = f"{house.run}/{name}"
    kind = b"SUB" if name == "feed" else b"DEALER"
    for number in range(120):
        peer = zmtp.connect(path) if number % 2 else zmtp.greet(path, kind)
        try:
            peer.sendall(luck.randbytes(luck.randrange(1, 400)))
        except OSError:
            pass
        peer.close()
    for size in (600 << 20, 1 << 40, (1 << 64) - 1):
        peer = zmtp.greet(path, kind)
        try:
            peer.sendall(zmtp.huge_frame(size))
            for _ in range(600):  # as much as it takes
                peer.sendall(b"x" * (1 << 20))
        except OSError:
            pass  # refused: the connection is closed
        peer.close()
    demand_no_growth(house, before)
    demand_service(house)


def test_subscriptions_without_end(house):
    """A subscriber that subscribes to ever more topics and reads nothing."""
    before = kept(house)
    peer = zmtp.greet(f"{house.run}/feed", b"SUB")
    try:
        for number in range(FRAMES):
            peer.sendall(zmtp.frame(b"\x01result.%d." % number))
    except OSError:
        pass
    demand_service(house)
    peer.close()
    demand_no_growth(house, before)
