"""libaldaba against a tracker that loses answers, is late, talks nonsense, is busy, and goes away."""
import os
import select
import signal
import subprocess
import sys
import textwrap

import pytest
from support import libaldaba
from support.readers import Readers
from support.until import stays, until

SOON_S = 15
FIRST = {"from": "all"}

pytestmark = pytest.mark.skipif(libaldaba.path() is None, reason="there is no libaldaba.so in ALDABA_BIN")


@pytest.fixture(scope="module")
def lib():
    return libaldaba.load()


@pytest.fixture
def tracker(tmp_path):
    with Readers(tmp_path) as one:
        yield one


@pytest.fixture
def opens(lib, tracker):
    """Opens handles that are closed at the end, whatever happens."""
    handles = []

    def one(**options):
        handles.append(libaldaba.Handle(lib, **{"run": str(tracker.run), **options}))
        return handles[-1]

    yield one
    for handle in handles:
        handle.close(0)


def durable(opens, **options):
    return opens(**{"consumer": "books", **FIRST, **options})


def numbers(events):
    return [event.seq for event in events]


def publish(tracker, count, **fields):
    return [tracker.publish(result=b"r%d" % number, **fields) for number in range(count)]


def work(handle, count):
    """Take and acknowledge so many, one by one."""
    events = []
    for _ in range(count):
        events += handle.take(1)
        assert handle.ack(events[-1]) == "ok"
    return events


def settled(tracker, name="books"):
    return sorted(tracker.consumers[name].settled) if name in tracker.consumers else []


def test_example(opens, tracker):
    tracker.publish(result=b"42", code="", key="k", meta="m", provider_id="007")
    handle = durable(opens)
    (event,) = handle.take(1)
    assert (event.lane, event.seq, event.task, event.result) == (1, 1, 1001, b"42")
    assert (event.provider, event.provider_id, event.state) == ("two", "007", "done")
    assert (event.key, event.meta, event.position, event.deliveries) == ("k", "m", "", 1)
    assert handle.status().given == 1
    assert handle.ack(event) == "ok" and handle.flush() == "ok"
    assert settled(tracker) == [1] and handle.status().given == 0
    assert handle.next() == ("none", None)
    assert handle.close() == "ok"
    assert tracker.questions("consumer.close")


def test_every_event_once(opens, tracker):
    published = publish(tracker, 3000)
    handle = durable(opens)
    assert numbers(work(handle, 3000)) == published
    assert handle.flush() == "ok" and settled(tracker) == published
    assert set(tracker.consumers["books"].counts.values()) == {1}
    assert len(tracker.questions("consumer.settle")) < 1500, "words gather"


def test_up_to(opens, tracker):
    published = publish(tracker, 10)
    handle = durable(opens)
    events = handle.take(10)
    assert handle.word("ack_to", events[6]) == "ok" and handle.flush() == "ok"
    assert settled(tracker) == published[:7]
    assert handle.status().given == 3


def test_restarts_are_time_alone(opens, tracker):
    published = publish(tracker, 600)
    handle = durable(opens, buffer=50)
    events = []
    for _ in range(6):
        events += work(handle, 100)
        tracker.stop()
        handle.ack(events[-1])  # said while nobody hears
        until(lambda: not handle.status().connected, SOON_S, "it does not see that it is alone")
        tracker.start()
    assert handle.flush() == "ok"
    assert sorted(set(numbers(events))) == published and settled(tracker) == published
    assert len(events) == 600, "what was in hand is not given twice"


def test_tells_that_the_connection_came_and_went(opens, tracker):
    handle = durable(opens)
    assert handle.next(SOON_S * 1000)[0] == "changed" and handle.status().connected
    tracker.stop()
    assert handle.next(SOON_S * 1000)[0] == "changed"
    assert not handle.status().connected and handle.status().text == b"The tracker is not there."
    tracker.start()
    assert handle.next(SOON_S * 1000)[0] == "changed" and handle.status().connected


def test_absent_at_first(lib, tmp_path):
    with libaldaba.Handle(lib, run=str(tmp_path), consumer="books", **FIRST) as handle:
        assert handle.next() == ("none", None)
        with Readers(tmp_path) as tracker:
            tracker.publish(result=b"x")
            assert handle.take(1)[0].result == b"x"


@pytest.mark.parametrize("kind", ["consumer.open", "consumer.pull", "consumer.settle"])
def test_lost_answers(opens, tracker, kind):
    """The first answer of the kind had its effect, and is lost."""
    published = publish(tracker, 20)
    lost = []

    def lose(of, ask):
        if of == kind and not lost:
            lost.append(ask)
            return True
        return False

    tracker.lose = lose
    handle = durable(opens, ack_wait_ms=500)
    events = work(handle, 20)
    assert handle.flush() == "ok" and lost
    assert sorted(numbers(events)) == published and settled(tracker) == published


def test_late_answers(opens, tracker):
    """Answers that come when their questions have been asked again: no event is given twice."""
    published = publish(tracker, 300)
    handle = durable(opens, buffer=100)
    events = work(handle, 50)
    tracker.hold = True
    tracker.publish(result=b"late")
    asked = len(tracker.questions("consumer.settle"))
    events += work(handle, handle.status().waiting)
    until(lambda: len(tracker.questions("consumer.settle")) >= asked + 2, SOON_S, "not asked again")
    tracker.release()
    events += work(handle, 301 - len(events))
    assert handle.flush() == "ok"
    assert sorted(numbers(events)) == published + [301] == settled(tracker)


def test_nonsense_is_passed_over(opens, tracker):
    published = publish(tracker, 50)
    tracker.spoil = True
    handle = durable(opens)
    assert numbers(work(handle, 50)) == published
    assert handle.flush() == "ok"
    assert any("could not be read" in text for _, text in handle.logged)


def test_busy(opens, tracker):
    published = publish(tracker, 5)
    tracker.busy = 3
    handle = durable(opens)
    assert numbers(work(handle, 5)) == published and handle.flush() == "ok"


@pytest.mark.parametrize("other, why", [({"mode": "ordered"}, "mode"),
                                        ({"max_deliver": 9}, "max_deliver")])
def test_other_settings_are_refused(opens, tracker, other, why):
    durable(opens, mode="shared", max_deliver=3).take(0)
    until(lambda: "books" in tracker.consumers, SOON_S, "not opened")
    handle = durable(opens, **other)
    assert handle.next(SOON_S * 1000)[0] == "refused"
    assert handle.status().text.decode() == f"consumer books: conflict: {why}"
    assert handle.next() == ("refused", None)
    assert select.select([handle.fd()], [], [], 0)[0]
    assert handle.close() == "ok"


def test_a_deleted_consumer_is_refused(opens, tracker):
    tracker.publish()
    handle = durable(opens)
    (event,) = handle.take(1)
    with tracker.lock:
        del tracker.consumers["books"]
        tracker.waiting = []
    assert handle.ack(event) == "ok"
    assert handle.flush() == "refused"
    assert "notfound" in handle.status().text.decode()
    assert handle.close() == "refused"


def test_a_slow_program_means_no_more_pulls(opens, tracker):
    publish(tracker, 1000)
    handle = durable(opens, buffer=40)
    until(lambda: handle.status().waiting == 40, SOON_S, "too few")
    events = handle.take(30)
    stays(lambda: handle.status().waiting == 10, 0.5, "given and not settled, it counts")
    events += handle.take(10)
    stays(lambda: handle.status().waiting == 0, 0.5, "there is no room")
    for event in events:
        handle.ack(event)
    # When a part of them is settled before the rest, what comes for it may be enough for a while.
    until(lambda: handle.status().waiting > 0, SOON_S, "no more came")
    assert 40 < len(tracker.consumers["books"].counts) <= 80
    assert len(work(handle, 960)) == 960


def test_large_results_are_bounded_by_bytes(opens, tracker):
    for _ in range(50):
        tracker.publish(result=bytes(200_000))
    handle = durable(opens, buffer_bytes=1_000_000)
    until(lambda: handle.status().waiting >= 5, SOON_S, "too few")
    stays(lambda: handle.status().waiting <= 6, 0.5, "too many")
    assert len(work(handle, 50)) == 50


def test_nack_reject_and_counts(opens, tracker):
    publish(tracker, 3)
    handle = durable(opens)
    first, second, third = handle.take(3)
    assert handle.word("nack", first, 300, b"not now") == "ok"
    assert handle.word("reject", second, b"cannot be done") == "ok"
    assert handle.ack(third) == "ok" and handle.flush() == "ok"
    (again,) = handle.take(1)
    assert (again.seq, again.deliveries, again.redelivered) == (first.seq, 2, True)
    handle.ack(again)
    assert handle.flush() == "ok" and settled(tracker) == [1, 2, 3]
    assert tracker.consumers["books"].rejected == {2: "cannot be done"}
    assert handle.word("nack", again, -1, None) == "invalid"


def test_what_waits_is_extended(opens, tracker):
    """The program takes longer for each event than a hand-out lasts, and says so of the one it has."""
    publish(tracker, 4)
    handle = durable(opens, ack_wait_ms=600)
    for _ in range(4):
        (event,) = handle.take(1)
        for _ in range(3):
            assert handle.word("extend", event, 0) == "ok"
            stays(lambda: True, 0.3, "")
        handle.ack(event)
    assert handle.flush() == "ok"
    assert tracker.consumers["books"].counts == {1: 1, 2: 1, 3: 1, 4: 1}


def test_a_program_that_stands_still_loses_its_hand_outs(opens, tracker):
    publish(tracker, 4)
    still = durable(opens, ack_wait_ms=500)
    still.take(1)
    until(lambda: still.status().waiting == 3, SOON_S, "they did not come")
    other = durable(opens)
    events = work(other, 4)
    assert sorted(numbers(events)) == [1, 2, 3, 4]
    assert all(event.redelivered for event in events)


def test_ordered(opens, tracker):
    published = publish(tracker, 30)
    handle = durable(opens, mode="ordered")
    events = work(handle, 9) + handle.take(1)
    assert handle.word("nack", events[-1], 0, None) == "ok"
    again = work(handle, 21)
    assert numbers(again) == published[9:], "from the one that was not done, all in order"
    assert handle.flush() == "ok" and settled(tracker) == published


def test_descriptor(opens, tracker):
    handle = durable(opens)
    assert handle.next(SOON_S * 1000)[0] == "changed"

    def readable(wait_s=0):
        return select.select([handle.fd()], [], [], wait_s)[0] != []

    assert not readable()
    publish(tracker, 2)
    assert readable(SOON_S) and readable(), "level-triggered"
    until(lambda: handle.status().waiting == 2, SOON_S, "they did not come")
    handle.take(1)
    assert readable()
    handle.take(1)
    assert not readable()


def threads():
    return set(os.listdir("/proc/self/task"))


def blocked(thread):
    with open(f"/proc/self/task/{thread}/status", encoding="ascii") as status:
        return int(next(line.split()[1] for line in status if line.startswith("SigBlk")), 16)


@pytest.mark.parametrize("options", [{"consumer": "books"}, {}])
def test_signals_are_the_programs(opens, tracker, options):
    """Each thread inside blocks all that can be blocked, and the program's own mask is as it was."""
    before, mine = threads(), blocked(os.getpid())
    handle = opens(**options)
    until(lambda: handle.status().connected, SOON_S, "not connected")
    inside = threads() - before
    assert len(inside) >= 3 and blocked(os.getpid()) == mine
    wanted = sum(1 << (number - 1) for number in signal.valid_signals()
                 if number not in (signal.SIGKILL, signal.SIGSTOP))
    assert [thread for thread in inside if blocked(thread) & wanted != wanted] == []


def test_instances_share(opens, tracker):
    published = publish(tracker, 100)
    one, other = durable(opens, buffer=10), durable(opens, buffer=10)
    events = {one: [], other: []}
    until(lambda: one.status().waiting and other.status().waiting, SOON_S, "one has all")
    while sum(map(len, events.values())) < 100:
        for handle, mine in events.items():
            code, event = handle.next(10)
            if code == "ok":
                handle.ack(event)
                mine.append(event.seq)
    assert sorted(events[one] + events[other]) == published and events[one] and events[other]


def test_the_end_gives_back(opens, tracker):
    published = publish(tracker, 10)
    one = durable(opens)
    events = one.take(4)
    for event in events[:2]:
        one.ack(event)
    assert one.close() == "ok"
    assert settled(tracker) == published[:2]
    again = work(durable(opens), 8)
    assert numbers(again) == published[2:], "at once, not when the lease is over"
    assert [event.deliveries for event in again] == [2, 2] + [1] * 6, "seen, or not seen"


def test_an_instance_that_comes_again(opens, tracker):
    """Killed with events in hand: under its own name it has them back at once."""
    published = publish(tracker, 5)
    durable(opens, instance="one").take(5)
    again = durable(opens, instance="one")
    assert numbers(work(again, 5)) == published
    assert again.flush() == "ok"


def test_a_gap_is_told_once(opens, tracker):
    handle = durable(opens)
    until(lambda: "books" in tracker.consumers, SOON_S, "not opened")
    with tracker.lock:
        tracker.consumers["books"].gap = ("1:40", "retention")
    news = [handle.next(SOON_S * 1000)[0] for _ in range(2)]
    assert news == ["changed", "gap"]
    status = handle.status()
    assert (status.gap_before, status.gap_why) == (b"1:40", b"retention")
    until(lambda: tracker.consumers["books"].gap is None, SOON_S, "not said to have been seen")
    tracker.publish()
    assert len(handle.take(1)) == 1


def test_words_of_an_earlier_run(opens, tracker):
    """Settled by name, without having been given."""
    published = publish(tracker, 3)
    handle = durable(opens)
    handle.take(3)
    assert handle.lib.aldaba_ack(handle.handle, 1, 77) == 0
    assert handle.lib.aldaba_ack(handle.handle, 1 << 60, 1) == -1
    assert handle.lib.aldaba_ack(handle.handle, 1, 0) == -1
    assert handle.flush() == "ok" and 77 in settled(tracker) and published


def test_settled_while_it_waits(opens, tracker):
    """The program knows by its name that it did it in an earlier run: it is not given it."""
    publish(tracker, 4)
    handle = durable(opens)
    until(lambda: handle.status().waiting == 4, SOON_S, "they did not come")
    assert handle.lib.aldaba_ack(handle.handle, 1, 1) == handle.lib.aldaba_ack(handle.handle, 1, 3) == 0
    assert numbers(work(handle, 2)) == [2, 4]
    assert handle.flush() == "ok" and settled(tracker) == [1, 2, 3, 4]


def test_endpoints_one_by_one(opens, tracker):
    published = publish(tracker, 3)
    places = {name: f"ipc://{tracker.run}/{name}" for name in ("consume", "feed")}
    assert numbers(opens(run="/nowhere", **places, **FIRST).take(3)) == published
    handle = opens(run=f"ipc://{tracker.run}", consumer="books", **FIRST)
    assert numbers(work(handle, 3)) == published


def test_flush_says_what_is_not_on_disk(opens, tracker):
    tracker.publish()
    handle = durable(opens)
    (event,) = handle.take(1)
    tracker.stop()
    handle.ack(event)
    assert handle.flush(200) == "late" and handle.status().unsettled == 1
    assert handle.close(200) == "late"


def test_live(opens, tracker):
    published = publish(tracker, 50)
    handle = opens(**FIRST)
    assert numbers(handle.take(50)) == published
    asked = len(tracker.questions("fetch"))
    later = publish(tracker, 50)
    events = handle.take(50)
    assert numbers(events) == later
    assert [event.position for event in events] == [f"1:{seq}" for seq in later]
    assert len(tracker.questions("fetch")) - asked <= 3, "hints are believed"
    assert handle.status().position == b"1:100"
    assert handle.ack(events[0]) == "invalid"


@pytest.mark.parametrize("options, wanted", [
    ({}, lambda e: True),
    ({"provider": "two"}, lambda e: e[0] == "two"),
    ({"provider": "two", "state": "failed"}, lambda e: e == ("two", "failed")),
    ({"state": "failed"}, lambda e: e[1] == "failed")])
def test_live_with_lost_hints(opens, tracker, options, wanted):
    """One hint in three is lost, and the tracker is restarted twice."""
    tracker.lose_hint = lambda event: event["seq"] % 3 == 0
    handle = opens(**FIRST, **options)
    mine, got = [], []
    for number in range(600):
        kind = ("two" if number % 2 else "fal", "failed" if number % 5 == 0 else "done")
        seq = tracker.publish(provider=kind[0], state=kind[1])
        if wanted(kind):
            mine.append(seq)
        if number in (200, 400):
            tracker.stop()
            tracker.start()
        code, event = handle.next()
        got += [event.seq] if code == "ok" else []
    got += numbers(handle.take(len(mine) - len(got)))
    assert got == mine
    stays(lambda: handle.next()[0] in ("none", "changed"), 0.5, "something came twice")


def test_live_from_new(opens, tracker):
    publish(tracker, 5)
    handle = opens()
    until(lambda: handle.status().position == b"1:5", SOON_S, "it has no place")
    tracker.publish(result=b"new")
    assert numbers(handle.take(1)) == [6]


@pytest.mark.parametrize("given", [1, 7, 50, 99, 100])
def test_live_goes_on_from_what_was_stored(opens, tracker, given):
    """With the position of any event nothing is missed; some may come twice."""
    published = publish(tracker, 100)
    position = opens(**FIRST).take(given)[-1].position
    rest = opens(**{"from": position})
    tracker.publish()
    got = numbers(rest.take(1))
    while got[-1] != 101:
        got += numbers(rest.take(1))
    assert got[0] <= given + 1 and got == (published + [101])[got[0] - 1:]


def test_live_and_slow(opens, tracker):
    """What a slow program does not take is not kept here, and is fetched later."""
    handle = opens(buffer=100, **FIRST)
    until(lambda: handle.status().connected, SOON_S, "not connected")
    published = publish(tracker, 3000)
    until(lambda: handle.status().waiting >= 100, SOON_S, "nothing came")
    stays(lambda: handle.status().waiting <= 100, 0.5, "it keeps more than it may")
    assert numbers(handle.take(3000)) == published


def test_live_gap(opens, tracker):
    publish(tracker, 20)
    tracker.kept = 11
    handle = opens(**{"from": "1:5"})
    assert [handle.next(SOON_S * 1000)[0] for _ in range(2)] == ["changed", "gap"]
    assert numbers(handle.take(10)) == list(range(11, 21))


def test_live_idle_place_moves(opens, tracker):
    """Events that the filter lets by move the place, so that it is not purged under it."""
    handle = opens(provider="fal", **FIRST)
    until(lambda: handle.status().position == b"1:0", SOON_S, "it has no place")
    publish(tracker, 30)
    until(lambda: handle.status().position == b"1:30", 2, "heads do not tell it")
    assert handle.next()[0] in ("none", "changed")


def test_live_position_that_is_none(opens):
    handle = opens(**{"from": "1:99"})
    assert handle.next(SOON_S * 1000)[0] == "refused"


@pytest.mark.parametrize("options, why", [
    ({"run": None}, "neither run"), ({"run": "relative"}, "no endpoint"),
    ({"consume": "tcp://192.0.2.1:5"}, "no endpoint"), ({"consume": "tcp://localhost:5"}, "no endpoint"),
    ({"run": "/" + "x" * 300}, "no endpoint"), ({"consumer": "x" * 65}, "longer than 64"),
    ({"consumer": ""}, "is empty"), ({"mode": "ordered"}, "of a consumer"),
    ({"consumer": "x", "buffer": 10001}, "at most 10000"),
    ({"consumer": "x", "ack_wait_ms": -1}, "not negative"), ({"provider": b"\xff"}, "UTF-8")])
def test_what_can_not_be_opened(lib, options, why):
    given = {"run": "/tmp/run", **options}
    with pytest.raises(libaldaba.Refused) as refused:
        libaldaba.Handle(lib, **{key: value for key, value in given.items() if value is not None})
    assert refused.value.args[0] == "invalid" and why in refused.value.args[1]


def test_an_older_caller(lib, opens, tracker):
    """Who knows fewer fields has the defaults of the others."""
    status = libaldaba.Status(size=16)
    handle = durable(opens)
    until(lambda: handle.status().connected, SOON_S, "not connected")
    assert lib.aldaba_status(handle.handle, libaldaba.C.byref(status)) == 0
    assert status.connected and status.size == 16 and not status.text


def test_after_fork(opens, tracker):
    tracker.publish()
    handle = durable(opens)
    (event,) = handle.take(1)
    child = os.fork()
    if child == 0:
        said = (handle.next()[0], handle.ack(event), handle.fd(), handle.flush(), handle.close())
        os._exit(0 if said == ("forked", "forked", -1, "forked", "forked") else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0
    assert handle.ack(event) == "ok" and handle.flush() == "ok"


LOADED_AGAIN = """
    import _ctypes, ctypes, os, re, resource, sys
    sys.path.insert(0, sys.argv[1])
    from support import libaldaba
    def facts():
        status = open("/proc/self/status").read()
        return (len(os.listdir("/proc/self/fd")), *re.findall("(?:Threads|SigCgt|SigIgn|SigBlk):\\\\s*(.*)", status))
    def rss():
        return int(re.search("VmRSS:\\\\s*(\\\\d+)", open("/proc/self/status").read()).group(1))
    def once(use):
        lib = libaldaba.load()
        if use:
            libaldaba.Handle(lib, run=sys.argv[2], consumer="x").close(0)
        number = lib._handle
        del lib
        _ctypes.dlclose(number)
    before = None
    for number in range(1000):
        once(number % 20 == 0)
        if number == 200:
            before, kib = facts(), rss()
    assert facts() == before, (facts(), before)
    print(rss() - kib)
"""


def test_loaded_a_thousand_times(tmp_path):
    ran = subprocess.run([sys.executable, "-c", textwrap.dedent(LOADED_AGAIN),
                          os.path.dirname(os.path.dirname(os.path.abspath(__file__))), str(tmp_path)],
                         capture_output=True, text=True, timeout=120, check=False)
    assert ran.returncode == 0, ran.stderr
    if "asan" not in os.environ.get("LD_PRELOAD", ""):
        assert int(ran.stdout) < 1024, f"{ran.stdout.strip()} KiB more"
