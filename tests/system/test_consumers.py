"""Durable consumers: each event is acknowledged, whoever is killed; what kills its consumer becomes
a letter, and its neighbours do not. Rule 17 of docs/GUARANTEES.md, and what rules 7, 12 and 13 say
of consumers."""
import itertools
import os
import random
import shutil
import sys

import pytest
from support import bus
from support.background import Background
from support.consume import Consumer
from support.daemon import Daemon
from support.house import TESTS, House
from support.ledger import settle
from support.load import Load
from support.peers import Sender
from support.until import passes, until

EATER = os.path.join(TESTS, "support", "eater.py")
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


def metric(house, name):
    return sum(value for key, value in house.metrics().items() if key.startswith(name + "{"))


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


# ---- words ----

@pytest.mark.parametrize("kind, fields, answered", [
    ("consumer.open", {"consumer": "x" * 200}, "answer"), ("consumer.open", {}, "answer"),
    ("consumer.open", {"consumer": 1}, "answer"), ("consumer.close", {"consumer": b"a"}, "answer"),
    ("consumer.pull", {"consumer": "a", "wait_ms": "long"}, "events"),
    ("fetch", {"after": b"new"}, "events"), ("consumer.dance", {}, "answer"),
])
def test_a_question_that_cannot_be_read_is_answered(house, kind, fields, answered):
    with bus.Channel(house.run, "consume") as channel:
        head, *more = channel.ask(kind, **fields)
        assert (head["k"], head["rc"], more) == (answered, "invalid", []) and head["detail"]


WRONG = [({"consumer": "No Capitals"}, "made of"), ({"state": "pending"}, "state"),
         ({"mode": "upside-down"}, "mode"), ({"ack_wait_ms": 1}, "ack_wait_ms"),
         ({"max_ack_pending": 10001}, "max_ack_pending"), ({"max_deliver": 2_000_000}, "max_deliver"),
         ({"from": "somewhere"}, "no place"), ({"from": "0:999999999"}, "no place"),
         ({"from": "@soon"}, "no place")]


@pytest.mark.parametrize("fields, says", WRONG)
def test_what_is_no_consumer(house, fields, says):
    with fresh(house) as one:
        (head,) = one.ask("consumer.open", **{"consumer": one.name, **fields})
        assert head["rc"] == "invalid" and says in head["detail"], head


def test_open_again(house):
    with fresh(house) as one:
        rules = {"mode": "ordered", "max_deliver": 7, "ack_wait_ms": 5000, "max_ack_pending": 20,
                 "provider": "sandbox", "state": "done"}
        view = one.open(rc=("ok",), **rules)
        assert {key: view[key] for key in rules} == rules
        assert one.open(rc=("exists",))["made_at_ms"] == view["made_at_ms"]
        assert one.open(rc=("exists",), start="all", **rules)["position"] == view["position"]
        for name, value in {**rules, "mode": "shared", "max_deliver": 8, "ack_wait_ms": 6000,
                            "max_ack_pending": 21, "provider": "other", "state": "failed"}.items():
            (head, *_) = one.ask("consumer.open", **{name: value})
            assert head["rc"] == "conflict" and name in head["detail"], head
        one.delete()
        for kind in ("consumer.pull", "consumer.settle", "consumer.close", "consumer.list",
                     "consumer.delete"):
            assert one.ask(kind)[0]["rc"] == "notfound", kind


def test_settlements_that_cannot_be_read(house, source):
    """None of a message's is heeded, as it is not clear what was meant."""
    with fresh(house) as one:
        one.open()
        source.make(2)
        first, second = one.pull(wait_ms=2000)
        for bad in (b"junk", bus.pack("settle", lane=0, seq=1, verb="eat"),
                    bus.pack("settle", lane=0, seq=1, first=2, verb="ack")):
            one.ack(first)
            one.settles.append(bad)
            frames, one.settles = one.settles, []
            assert one.ask("consumer.settle", *frames)[0]["rc"] == "invalid"
        assert one.view()["pending"] == 2
        one.ack(second)
        one.ack(first)
        one.settle()
        assert one.view().get("pending", 0) == 0


def test_there_may_be_so_many(house):
    with House(profile=CALM, settings={"tracker": {"max_consumers": 2}}) as small:
        small.start()
        with fresh(small) as one, fresh(small) as two, fresh(small) as three:
            one.open()
            two.open()
            assert three.ask("consumer.open")[0]["rc"] == "full"
            one.delete()
            three.open()


def test_rule_12_where_it_begins(house, source):
    before = source.make(2)
    with fresh(house) as head:
        position = head.open()["position"]
    (middle,) = source.make()
    at = [event for event in house.events() if event["task"] == middle][0]
    (last,) = source.make()
    begins = {"all": None, position: [middle, last], f"@{at['published_ms']}": None, "@0": None,
              f"{at['lane']}:{at['seq']}": [last], "new": []}
    for start, want in begins.items():
        with fresh(house) as one:
            one.open(start=start, max_ack_pending=10000)
            got = drain(one, len(want) if want is not None else 2, limit=1000)
            assert want is None or tasks_of(got) == want, start
            if want is None:
                assert tasks_of(got)[-2:] == [middle, last], start
            if start in ("all", "@0"):
                assert set(before) <= set(tasks_of(got)), start


# ---- sharing, filters ----

def test_two_instances_share(house, source):
    name = f"consumer-{next(names)}"
    with fresh(house, "a", name) as a, fresh(house, "b", name) as b:
        a.open()
        made = source.make(40)
        mine, others = a.pull(limit=10, wait_ms=2000), b.pull(limit=10)
        assert tasks_of(mine) + tasks_of(others) == made[:20]
        a.ack_all(mine)
        mine += a.pull(limit=20)
        assert tasks_of(mine[10:]) == made[20:]
        assert a.view()["instances"] == 2


def test_filters(house, source):
    with fresh(house) as one:
        one.open(state="failed", provider="sandbox")
        source.make(30)
        failed = source.make(2, code="ERROR_CAPTCHA_UNSOLVABLE")
        source.make(30)
        assert tasks_of(drain(one, 2)) == failed
        until(lambda: one.pull() == [] and one.view().get("lag", 0) == 0, 5,
              lambda: f"what does not match is not passed over: {one.view()}")


def test_pending_is_bounded(house, source):
    with fresh(house) as one:
        one.open(max_ack_pending=5)
        made = source.make(12)
        events = one.pull(wait_ms=2000)
        assert tasks_of(events) == made[:5]
        assert one.pull() == []
        one.ack(events[0])
        assert tasks_of(one.pull()) == [made[5]]


def test_who_waits_is_woken(house, source):
    with fresh(house) as one:
        one.open()
        number = one.channel.tell("consumer.pull", consumer=one.name, instance="a", wait_ms=60000)
        (made,) = source.make()
        head, event = one.channel.hear(number)
        assert (head["rc"], event["task"]) == ("ok", made)


def test_who_is_gone_gets_nothing(house, source):
    """It waited and was killed: what comes is nobody's, not leased to the dead."""
    name = f"consumer-{next(names)}"
    with fresh(house, "b", name) as b:
        with fresh(house, "a", name) as a:
            a.open()
            a.channel.tell("consumer.pull", consumer=name, instance="a", wait_ms=60000)
            until(lambda: a.view()["instances"] == 1, 5, "the question has not come")
        made = source.make()
        events = drain(b, 1, deadline_s=10)
        assert tasks_of(events) == made
        assert events[0]["deliveries"] == 1


# ---- what is not taken ----

def test_not_taken(house, source):
    with fresh(house) as one:
        one.open(max_deliver=3, ack_wait_ms=60000)
        made = source.make(3)
        first, second, third = one.pull(wait_ms=2000)
        one.nack(second, reason="the database is away")
        one.ack(first)
        one.ack(third)
        (again,) = one.pull()
        assert (again["task"], again["deliveries"], again["redelivered"]) == (made[1], 2, True)
        one.nack(again, delay_ms=300)
        assert one.pull() == []
        (again,) = one.pull(wait_ms=5000)
        assert again["deliveries"] == 3
        one.nack(again, reason="the database is still away")
        assert one.pull() == []
        view = one.view()
        assert (view.get("pending", 0), view["rejected"], view.get("lag", 0)) == (0, 1, 0)
        (letter,) = letters_of(house, one, 1)
        assert letter["task"] == made[1]
        assert "the database is still away" in letter["cause"]
        one.delete()


def letters_of(house, consumer, count, state="open"):
    def look():
        found = [letter for letter in desk(house, "letters", limit=500, state=state)
                 if letter["cause"].startswith(f"{consumer.name}: ")]
        return found if len(found) == count else None
    return until(look, 20, lambda: f"{count} letters of {consumer.name} are not {state}: "
                                   f"{desk(house, 'letters', limit=500)}")


def desk(house, kind, **fields):
    """What the dlq's desk answers: letters."""
    with bus.Channel(house.run, "letters") as channel:
        head, *items = channel.ask(kind, **fields)
    assert head["rc"] in ("ok", "busy"), head
    return items


def test_a_lease_ends_and_is_made_longer(house, source):
    name = f"consumer-{next(names)}"
    with fresh(house, "a", name) as a, fresh(house, "b", name) as b:
        a.open(ack_wait_ms=600)
        made = source.make(3)
        first, *others = a.pull(wait_ms=2000)
        for _ in range(4):
            a.extend(first, delay_ms=700)
            a.settle()
            again = b.pull(wait_ms=300)
            b.ack_all(again)
            others = [event for event in others if event["task"] not in tasks_of(again)]
        b.settle()
        until(lambda: a.view()["pending"] == 1, 5, "the others are not taken over")
        assert not others and made
        a.ack(first)
        a.settle()
        assert a.view().get("pending", 0) == 0


def test_an_instance_closes(house, source):
    name = f"consumer-{next(names)}"
    with fresh(house, "a", name) as a, fresh(house, "b", name) as b:
        a.open(ack_wait_ms=60000)
        made = source.make(3)
        a.ack(a.pull(wait_ms=2000)[0])
        a.settle()
        number = a.channel.tell("consumer.pull", consumer=name, instance="a", wait_ms=60000)
        b.channel.ask("consumer.close", consumer=name, instance="a")
        assert [head["rc"] for head in a.channel.hear(number)] == ["ok"]  # and no events
        assert tasks_of(drain(b, 2)) == made[1:]


def test_rule_7_a_rejected_event_comes_back_out_of_its_letter(house, source):
    """To that consumer alone, from the letter's own copy; what it acknowledges closes the letter."""
    with fresh(house) as one, fresh(house) as other:
        one.open(mode="ordered", ack_wait_ms=60000)
        other.open()
        made = source.make(2)
        event, second = one.pull(wait_ms=2000)
        one.reject(event, "it is not for us")
        one.ack(second)
        one.settle()
        assert tasks_of(drain(other, 2)) == made
        (letter,) = letters_of(house, one, 1)
        (shown, *_) = desk(house, "letter.show", letter=letter["letter"])
        original = bus.unpack(shown["original"])
        assert (original["k"], original["task"], original["consumer"], original["result"]) == (
            "event", made[0], one.name, b"answer")
        for turn in ("nack", "ack"):
            desk(house, "letter.replay", letter=letter["letter"])
            (again,) = one.pull(wait_ms=10000)
            assert (again["task"], again["result"], again["redelivered"]) == (
                made[0], b"answer", True)
            assert "consumer" not in again
            assert one.pull() == []  # nothing beside it
            one.say(turn, again)
            one.settle()
            letters_of(house, one, 1, "open" if turn == "nack" else "resolved")
        assert other.pull() == []
        source.make()
        assert len(one.pull(wait_ms=2000)) == 1
        assert house.aldaba("audit").returncode == 0


def test_rule_7_it_survives_the_tracker_and_ends_with_the_consumer(house, source):
    with fresh(house) as one:
        one.open(ack_wait_ms=60000)
        made = source.make(2)
        for event in one.pull(wait_ms=2000):
            one.reject(event)
        one.settle()
        for letter in letters_of(house, one, 2):
            desk(house, "letter.replay", letter=letter["letter"])
        (event,) = one.pull(wait_ms=10000)
        house.tracker.restart()
        house.until_serving()
        one.ack(event)  # by who had it before, also now
        (again,) = until(one.pull, 20, "the other one does not come")
        assert {event["task"], again["task"]} == set(made)
        letters_of(house, one, 1, "resolved")
        one.delete()
        letters_of(house, one, 1, "dropped")
        one.open()
        assert one.pull(wait_ms=300) == []
        until(lambda: house.aldaba("audit").returncode == 0, 20, "the books do not balance")


# ---- restarts and kills ----

def test_rule_17_restarts_of_the_tracker_are_not_counted(house, source):
    with fresh(house) as one:
        one.open(max_deliver=2)
        made = source.make(2)
        events = one.pull(wait_ms=2000)
        for _ in range(4):
            house.tracker.kill9()
            house.tracker.start()
            events = until(one.pull, 20, "they do not come again")
            assert tasks_of(events) == made
            assert [(event["deliveries"], event["redelivered"]) for event in events] == [(1, True)] * 2
        one.ack_all(events)
        one.settle()
        house.tracker.restart()
        assert one.pull() == []
        assert (one.view().get("pending", 0), one.view().get("rejected", 0)) == (0, 0)


def test_settled_late(house, source):
    """By who was handed it before both were gone."""
    with fresh(house, "a") as one:
        one.open(ack_wait_ms=60000)
        source.make(5)
        events = one.pull(wait_ms=2000)
    house.tracker.restart()
    with Consumer(house.run, one.name, "a") as one:
        one.ack_all(events[:3])
        one.ack(events[4])
        one.settle()
        assert tasks_of(one.pull()) == [events[3]["task"]]


class Eaters:
    """Programs that are one consumer, killed and started again."""

    def __init__(self, house, name, count=1, limit=50, killer=""):
        self.name = name
        self.journals = [os.path.join(house.folder, f"{name}-{i}.journal") for i in range(count)]
        self.daemons = [Daemon(f"{name}-{i}", [sys.executable, EATER, house.run, name, f"i{i}",
                                               self.journals[i], str(limit), killer], house.folder)
                        for i in range(count)]

    def __enter__(self):
        for daemon in self.daemons:
            daemon.start()
        return self

    def __exit__(self, *_):
        for daemon in self.daemons:
            daemon.clean()

    def lines(self, which=None):
        for path in self.journals if which is None else [self.journals[which]]:
            if os.path.exists(path):
                with open(path, encoding="ascii") as file:
                    yield from (line.split() for line in file if line.endswith("\n"))

    def eaten(self):
        """The tasks of the events that were worked off."""
        return [line[5] for line in self.lines() if line[0] == "+"]

    def demand_nothing_settled_came_again(self):
        """Of one instance's journal: what was told to be settled is not handed out any more."""
        for which in range(len(self.journals)):
            settled = set()
            for kind, lane, seq, *_ in self.lines(which):
                assert kind == "=" or (lane, seq) not in settled, (lane, seq)
                if kind == "=":
                    settled.add((lane, seq))

    def demand_order(self):
        """Each event for the first time after all those before it; what repeats is said to."""
        last = {}
        for _, lane, seq, _, redelivered, _ in (line for line in self.lines(0) if line[0] == "+"):
            assert int(seq) > last.get(lane, 0) or redelivered == "1", (lane, seq)
            last[lane] = max(int(seq), last.get(lane, 0))


@pytest.mark.parametrize("mode", ["ordered", "shared"])
@pytest.mark.parametrize("victims", ["consumer", "tracker", "both"])
def test_kill_9_under_load(mode, victims):
    """Every event is acknowledged, in order if it is to be, and only what was leased comes again."""
    with House(profile=CALM, sandbox=("--solve", "0.2")) as house:
        house.start()
        name = f"{mode}-{victims}"
        with fresh(house, "none", name) as one:
            one.open(start="all", mode=mode, ack_wait_ms=1000, max_deliver=1000)
            with Eaters(house, name, 1 if mode == "ordered" else 2, limit=20) as eaters:
                with Load(house) as load:
                    killed = {"consumer": eaters.daemons, "tracker": [house.tracker],
                              "both": [*eaters.daemons, house.tracker]}[victims]
                    luck = random.Random(name)
                    for _ in range(12):
                        passes(luck.uniform(0.05, 0.5))
                        luck.choice(killed).restart()
                settle(house, load.ledger).demand()
                wanted = tasks_of(house.events())
                until(lambda: one.view().get("lag", 0) == 0 and one.view().get("pending", 0) == 0,
                      60, lambda: f"not everything is settled: {one.view()}")
                assert set(eaters.eaten()) == set(wanted) and wanted
                eaters.demand_nothing_settled_came_again()
                if mode == "ordered":
                    eaters.demand_order()
                assert one.view().get("rejected", 0) == 0


@pytest.mark.parametrize("mode", ["ordered", "shared"])
def test_rule_17_what_kills_its_consumer_becomes_a_letter(mode):
    """For that consumer alone, and its neighbours in the hand-out do not."""
    with House(profile=CALM) as house:
        house.start()
        source = Source(house)
        with fresh(house, "none", "fragile") as one, fresh(house, "none", "sturdy") as other:
            one.open(start="all", mode=mode, ack_wait_ms=300, max_deliver=3)
            other.open(start="all")
            made = source.make(20)
            killer = made[7]
            with Eaters(house, "fragile", killer=killer) as eaters:
                def settled():
                    if not eaters.daemons[0].alive():
                        eaters.daemons[0].start()
                    return one.view().get("rejected") and not one.view().get("pending")

                until(settled, 60, lambda: f"{one.view()}")
                counts = {line[5]: int(line[3]) for line in eaters.lines() if line[0] == "+"}
            assert set(counts) == set(made) - {killer}
            assert max(counts.values()) == 2, counts
            (letter,) = letters_of(house, one, 1)
            assert letter["task"] == killer
            assert "3 times" in letter["cause"]
            assert tasks_of(drain(other, 20)) == made


# ---- the feed's end that is let go, and other lanes ----

def test_rule_17_a_gap_by_retention():
    """One that lags pins what it has not settled, until it is too much: then it is told."""
    with House(profile=CALM, settings={"store": {
            "keep_results": "1s", "max_lag": "3600s", "max_lag_bytes": "1MiB"}}) as house:
        house.start()
        source = Source(house)
        with fresh(house, name="lags") as lags, fresh(house, name="keeps-up") as keeps_up:
            lags.open(start="all")
            keeps_up.open(start="all")
            made = source.make(100)
            (held,) = lags.pull(limit=1)
            drain(keeps_up, 100)
            house.tracker.restart()
            house.until_serving()
            passes(2)  # they are old enough, and owed
            assert house.private.get(f"/v1/tasks/{made[-1]}").status == 200
            source.make(100, code="c" * 30000)
            drain(keeps_up, 100, limit=50)

            def gone():
                return house.private.get(f"/v1/tasks/{made[-1]}").status in (404, 410)

            until(gone, 40, lambda: f"nothing is let go: {lags.view()}")
            rest = lags.pull(limit=1000, bytes=16 << 20)
            head = dict(lags.head)
            assert head["gap"] and head["gap_why"] == "retention" and rest, head
            assert rest[0]["seq"] == int(head["gap_before"].split(":")[1])
            lags.ack(held)  # of an event that is not there any more
            lags.ack_all(rest)
            assert lags.pull() == [] and lags.head["gap"]
            house.tracker.restart()
            lags.pull(gap_seen=head["gap_before"])
            assert not lags.head.get("gap"), lags.head
            assert lags.view().get("lag", 0) == 0
            assert keeps_up.pull() == [] and not keeps_up.head.get("gap")


def test_rule_12_a_restored_store_is_another_lane():
    with House(profile=CALM) as house:
        house.start()
        source = Source(house)
        with fresh(house, name="keeps") as one:
            one.open(start="all")
            source.make(5)
            one.ack_all(one.pull(limit=3))
            one.settle()
            copy = os.path.join(house.folder, "copy.db")
            house.tracker.stop()
            shutil.copy(f"{house.folder}/data/tracker.db", copy)
            house.tracker.start()
            house.until_serving()
            old = drain(one, 2)
            lost = source.make(2)
            old += drain(one, 2)
            house.tracker.stop()
            shutil.copy(copy, f"{house.folder}/data/tracker.db")
            house.tracker.start()
            house.until_serving()
            again = until(one.pull, 20, "nothing comes")
            assert one.head["gap"] and one.head["gap_why"] == "lane", one.head
            assert [event["seq"] for event in again] == [4, 5]  # as far as the copy knows
            assert not set(tasks_of(again)) & set(lost)
            one.ack_all(old)  # of the lane that is no more: says nothing of this one's
            made = source.make()
            assert tasks_of(one.pull(wait_ms=2000, gap_seen=one.head["gap_before"])) == made
            assert not one.head.get("gap") and one.view()["pending"] == 3


# ---- what it costs others ----

class MoreOf(Background):
    """More results, all the time."""

    def __init__(self, source):
        super().__init__(1, 0.01)
        self.source = source

    def step(self):
        self.source.make(20)


def test_one_that_is_behind_costs_intake_nothing():
    """Whoever lags makes no row and no transaction, and who catches up shares those of callbacks or
    makes one a hand-out; the feed goes on."""
    with House(profile=CALM) as house:
        house.start()
        source = Source(house)
        with fresh(house, name="late") as late:
            late.open(start="all", max_ack_pending=10000)

            def commits():
                return metric(house, "aldaba_consumer_commits_total")

            before = commits()
            source.make(1000)
            assert commits() == before
            assert late.view()["lag"] == 1000
            with MoreOf(source):
                got = drain(late, 1000, limit=200)
            assert len(got) >= 1000
            pulls = len(got) / 200 * 3 + 40
            assert commits() - before <= pulls, (commits(), before, pulls)
            drain(late, len(source.tasks) - len(got))


def test_what_is_told_of_them(house, source):
    with fresh(house, name="figures") as one:
        one.open()
        source.make(3)
        one.pull(wait_ms=2000, limit=2)
        told = bus.figures(house.run, "status")["consumer"]
        assert (told["figures.lag"], told["figures.pending"]) == (3, 2)
        assert metric(house, "aldaba_consumer_lag_events") >= 3
        assert metric(house, "aldaba_consumer_pending") >= 2
        assert metric(house, "aldaba_consumer_oldest_seconds") > 0
        assert metric(house, "aldaba_consumers") >= 1
        one.delete()
