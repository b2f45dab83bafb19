"""Durable consumers: each event is acknowledged, whoever is killed; what kills its consumer becomes
a letter, and its neighbours do not. Rule 17 of docs/GUARANTEES.md, and what rules 7, 12 and 13 say
of consumers."""
import itertools

import pytest
from support import bus
from support.consume import Consumer, Refused
from support.house import House
from support.peers import Sender
from support.until import until

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "3600s"}}}

names = itertools.count(1)


class Source:
    """Results by the hundred, without waiting for a provider: tasks are registered and called back
    on the bus, by a gateway of its own."""

    def __init__(self, house):
        self.house = house
        self.first = 1_000_000
        self.num = 0
        self.tasks = []
        self.sender = f"SOURCE{next(names):019d}Z"
        self.floor = 1

    def make(self, count=1, code="answer", provider="sandbox"):
        """So many more results; the ids of their tasks, in the order of the feed."""
        made = []
        for begin in range(0, count, 100):
            made += self.batch(min(100, count - begin), code)
        self.tasks += made
        return made

    def batch(self, count, code):
        refs = range(self.first, self.first + count)
        self.first += count
        made = []
        with bus.Channel(self.house.run, "query") as query:
            for ref in refs:
                head, view, *_ = query.ask("register", provider="sandbox", provider_id=str(ref))
                assert head["rc"] == "ok", head
                made.append(view["task"])
        with bus.Channel(self.house.run, "events") as events:
            sender = Sender(events, self.sender, self.floor).hello()
            said = sender.deliver(*((self.num + i + 1, str(ref), code)
                                    for i, ref in enumerate(refs)))
        assert said, "no acknowledgement"
        self.num += count
        self.floor = self.num + 1
        return made


@pytest.fixture(scope="module", name="house")
def a_house():
    with House(profile=CALM) as one:
        yield one.start()


@pytest.fixture(name="source")
def a_source(house):
    return Source(house)


def fresh(house, instance="a", name=None):
    return Consumer(house.run, name or f"consumer-{next(names)}", instance)


def tasks_of(events):
    return [event["task"] for event in events]


def drain(consumer, count, deadline_s=20, ack=True, limit=100):
    """The next so many events, acknowledged."""
    found = []

    def more():
        events = consumer.pull(limit=limit, wait_ms=500)
        found.extend(events)
        if ack:
            consumer.ack_all(events)
        return len(found) >= count

    until(more, deadline_s, lambda: f"{len(found)} of {count}")
    consumer.settle()
    return found


def test_example(house, source):
    with fresh(house) as billing:
        billing.open()
        made = source.make(3)
        events = billing.pull(wait_ms=2000)
        assert tasks_of(events) == made
        assert [event["deliveries"] for event in events] == [1, 1, 1]
        assert billing.view()["pending"] == 3
        billing.ack_all(events)
        assert billing.pull() == []
        view = billing.view()
        assert (view.get("pending", 0), view.get("lag", 0)) == (0, 0)
        assert view["position"] == billing.head["head"]
