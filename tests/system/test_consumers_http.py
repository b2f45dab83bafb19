"""Durable consumers over HTTP: one place in the feed, whichever way it is read."""
import itertools
import threading

import pytest
from support.consume import Consumer
from support.house import House
from support.sse import Ended, Stream
from support.until import until
from test_consumers import CALM, Source

SOON_S = 20
WAITERS = 16

names = (f"web-{number}" for number in itertools.count(1))


@pytest.fixture(scope="module", name="house")
def a_house():
    with House(profile=CALM, settings={"gateway": {"request_timeout": "1s"}}) as one:
        yield one.start()


@pytest.fixture(name="source")
def a_source(house):
    return Source(house)


class Web:
    """A consumer over HTTP; what it has acknowledged, in the order of that."""

    def __init__(self, house, **more):
        self.house = house
        self.name = next(names)
        self.path = f"/v1/consumers/{self.name}"
        self.acked = []
        self.again = set()  # (lane, seq) that came with redelivered
        made = house.private.post_json(self.path, more, method="PUT")
        assert made.status == 200, made

    def take(self, event):
        """What is to be said of an event that was dealt with."""
        if event["redelivered"]:
            self.again.add(event["seq"])
        self.acked.append(event)
        return {"lane": event["lane"], "seq": event["seq"]}

    def pull(self, settle=(), **more):
        return self.house.post(f"{self.path}/pull", {"settle": list(settle), **more})

    def settle(self, settle, instance=""):
        answer = self.house.private.post_json(f"{self.path}/settle",
                                              {"instance": instance, "settle": list(settle)})
        assert answer.status == 204, answer

    def stream(self, query="", **more):
        return Stream(self.house.private.port, f"consumer={self.name}{query}", **more)

    def view(self):
        return self.house.get(self.path)

    def tasks(self):
        return {event["task"] for event in self.acked}


def test_example(house, source):
    web = Web(house)
    tasks = source.make(3)
    page = web.pull(limit=10, wait="5s")
    settle = [web.take(event) for event in page["events"]]
    assert web.tasks() == set(tasks) and web.view()["pending"] == 3
    web.settle(settle)
    assert web.view()["pending"] == 0 and web.view()["lag"] == 0


@pytest.mark.parametrize("mode", ["shared", "ordered"])
def test_from_one_protocol_to_another_nothing_is_missed(house, source, mode):
    """ZeroMQ, then a stream that breaks, then the same stream again, then long polls, while results come
    and the gateway is killed."""
    web = Web(house, mode=mode, ack_wait="2s")  # a stream that ends costs a delivery
    feeding = threading.Thread(target=lambda: [source.make(40) for _ in range(10)])
    feeding.start()
    with Consumer(house.run, web.name, "zmq") as bus:
        while len(web.acked) < 60:
            for event in bus.pull(limit=20, wait_ms=1000):
                web.take({"redelivered": False, **event, "task": str(event["task"])})
                bus.ack(event)
        bus.settle()
        left = bus.pull(limit=7, wait_ms=2000)  # and it is gone with these
        assert left
    with web.stream("&instance=web") as stream:
        for event in stream.results(50):
            web.settle([web.take(event)], "web")
        last = stream.last_id
    house.gateway.kill9()
    house.revive()
    house.until_serving()
    with web.stream("&instance=web", last_id=last) as stream:
        seen = [web.take(event) for event in stream.results(30)]
        last = stream.last_id
    with web.stream("&instance=web", last_id=last) as stream:  # by coming again it settles them
        for event in stream.results(10):
            web.settle([web.take(event)], "web")
    assert len(seen) == 30
    feeding.join()
    settle = []
    def drain():
        page = web.pull(settle, limit=50, wait="1s", instance="poll")
        settle[:] = [web.take(event) for event in page["events"]]
        return not page["events"] and web.view()["lag"] == 0
    until(drain, 60, lambda: f"{web.view()}")
    assert web.view()["rejected"] == 0
    missed = [event["seq"] for event in house.events() if str(event["task"]) in set(source.tasks) - web.tasks()]
    assert not missed, (missed, last, [(event["seq"], event["redelivered"]) for event in web.acked])
    if mode == "ordered":
        first = [event["seq"] for event in web.acked if event["seq"] not in web.again]
        assert first == sorted(first)


def test_what_a_stream_was_sent_comes_again_to_others(house, source):
    """One that reads nothing, with 20 MB for it, is dropped; the next one has all of it."""
    web = Web(house, ack_wait="60s")
    tasks = source.make(200, "x" * 100_000)
    before = house.gateway.rss_kib()
    with web.stream(receive=4096) as slow:
        def dropped():
            view = web.view()
            return view["handed"] != view["position"] and view
        until(dropped, SOON_S, "nothing is handed out")
        def rest():
            page = web.pull([web.take(e) for e in rest.page], limit=100, wait="500ms", instance="quick")
            rest.page = page["events"]
            return set(tasks) <= web.tasks()
        rest.page = []
        until(rest, SOON_S, lambda: f"{len(web.tasks())} of {len(tasks)}: {web.view()}")
        assert house.gateway.rss_kib() - before < 64 << 10
        with pytest.raises(Ended):
            list(slow.results(len(tasks)))


def test_too_many_streams(house):
    web = Web(house)
    streams = [web.stream() for _ in range(WAITERS)]
    assert [stream.status for stream in streams] == [200] * WAITERS
    refused = house.private.get(f"/v1/events?consumer={web.name}")
    assert refused.status == 503 and int(refused.headers["retry-after"]) > 0
    assert "gateway.api_waiters" in refused.json()["detail"]
    assert house.private.get("/healthz").status == 200
    assert web.pull(limit=1)["events"] == []
    for stream in streams:
        stream.close()
    def free():
        with web.stream() as stream:
            return stream.status == 200
    until(free, SOON_S, "their places are not free")


def test_tail_as_a_consumer(house, source):
    tasks = source.make(1)
    said = house.aldaba("tail", "--consumer", "cli", "--ack", "--from", "all", "--json", "-n",
                        len(house.events()))
    assert said.returncode == 0 and said.stdout.count("\n") == len(house.events())
    assert tasks[0] in said.stdout
    more = source.make(2)
    peek = house.aldaba("tail", "--consumer", "cli", "-n", 2, "--json")
    assert all(task in peek.stdout for task in more)
    assert house.get("/v1/consumers/cli")["pending"] == 0
    again = house.aldaba("tail", "--consumer", "cli", "--ack", "-n", 2, "--json")
    assert [task in again.stdout for task in (*more, *tasks)] == [True, True, False]
    assert "cli" in house.aldaba("consumers", "ls").stdout
    assert house.aldaba("consumers", "rm", "cli", "--yes").returncode == 0
    assert house.aldaba("consumers", "show", "cli").returncode == 1


def test_a_stream_that_went_while_it_waited_costs_no_delivery(house, source):
    """A client that comes and goes faster than anything ends: what was meant for the streams that it
    left comes to the one that is there, the first time, and not when a lease is over."""
    web = Web(house, ack_wait="60s", max_deliver=2)
    for _ in range(6):
        web.stream("&instance=web").close()
    with web.stream("&instance=web") as stream:
        tasks = set(source.make(5))
        for event in stream.results(5):
            assert event["deliveries"] == 1, event
            tasks.discard(web.take(event) and event["task"])
            web.settle([{"lane": event["lane"], "seq": event["seq"]}], "web")
        assert not tasks
    view = web.view()
    assert (view["rejected"], view["pending"]) == (0, 0), view
