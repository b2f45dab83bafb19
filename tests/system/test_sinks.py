"""Push sinks: each result is posted, signed, until it was taken, whatever dies meanwhile. The receiver
checks signatures by itself (support/receiver.py)."""
import itertools
import os
import signal

import pytest
from support import bus
from support.consume import Consumer, Refused
from support.house import House
from support.receiver import Receiver
from support.settings import free_port
from support.until import stays, until
from test_consumers import CALM, Source

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
SOON_S = 20
QUICK = {"timeout": "1s", "first_after": "50ms", "max_after": "400ms"}

names = (f"sink-{number}" for number in itertools.count(1))


class Sinks:
    """A house whose settings have the sinks that a test asks for."""

    def __init__(self, house):
        self.house = house
        self.sinks = {}
        self.reloads = 0
        self.secret = os.path.join(house.folder, "sink.secret")
        with open(self.secret, "w", encoding="utf-8") as file:
            file.write(SECRET + "\n")

    def write(self):
        self.house.settings["sinks"] = self.sinks
        self.house.write_settings()

    def read_again(self):
        self.reloads += 1
        for name in ("tracker", "poller1"):
            os.kill(self.house.daemons[name].pid, signal.SIGHUP)
        for name in ("tracker", "poller1"):
            daemon = self.house.daemons[name]
            until(lambda: count_lines(daemon, "ev=reload.done") >= 1 + self.done[name], SOON_S, daemon.tail)

    def put(self, name, url, **more):
        """Into the settings, which are read again; url None: out of them."""
        self.done = {n: count_lines(self.house.daemons[n], "ev=reload.done") for n in ("tracker", "poller1")}
        if url is None:
            del self.sinks[name]
        else:
            self.sinks[name] = {"url": url, "secret": {"file": self.secret}, **QUICK, **more}
        self.write()
        self.read_again()
        return name

    def metric(self, name, label):
        return sum(value for sample, value in self.house.metrics().items()
                   if sample.startswith(name + "{") and f'="{label}"' in sample)

    def view(self, name):
        return self.house.get(f"/v1/consumers/{name}")


def count_lines(daemon, word):
    return sum(word in line for line in daemon.lines())


@pytest.fixture(scope="module", name="sinks")
def a_house():
    with House(profile=CALM) as house:
        sinks = Sinks(house)
        house.start()
        yield sinks


@pytest.fixture(name="source")
def a_source(sinks):
    return Source(sinks.house)


@pytest.fixture(name="receiver")
def a_receiver():
    with Receiver(SECRET) as receiver:
        yield receiver


@pytest.fixture(name="name")
def a_name(sinks):
    name = next(names)
    yield name
    if name in sinks.sinks:
        sinks.put(name, None)


def taken(receiver):
    return {event["task"] for event in receiver.taken.values()}


def until_taken(receiver, tasks, deadline_s=SOON_S):
    until(lambda: set(tasks) <= taken(receiver), deadline_s,
          lambda: f"{len(set(tasks) - taken(receiver))} of {len(tasks)} have not come")


def test_example(sinks, source, receiver, name):
    sinks.put(name, receiver.url + "/hook")
    [task] = source.make(1)
    until_taken(receiver, [task])
    [post] = receiver.posts
    assert post.genuine and post.path == "/hook" and post.whole["type"] == "task.done"
    assert post.event["task"] == task and post.event["deliveries"] == 1
    assert post.id == post.event["position"]
    until(lambda: sinks.view(name)["pending"] == 0, SOON_S, "it is not settled")
    view = sinks.view(name)
    assert view["sink"] is True and view["sink_state"] == "delivering" and view["lag"] == 0
    assert sinks.metric("aldaba_sink_posts_total", "taken") >= 1


def test_tries_have_one_id_and_waits_between(sinks, source, receiver, name):
    answers = iter([500, 404, (302, b"", {"Location": "/x"}), (503, b"", {"Retry-After": "1"})])
    receiver.say = lambda post: next(answers, 200)
    sinks.put(name, receiver.url)
    [task] = source.make(1)
    until_taken(receiver, [task])
    assert len({post.id for post in receiver.posts}) == 1
    assert [post.event["deliveries"] for post in receiver.posts] == [1, 2, 3, 4, 5]
    assert all(post.genuine for post in receiver.posts)
    assert int(receiver.posts[4].stamp) >= int(receiver.posts[3].stamp) + 1  # as Retry-After says


def test_what_is_never_taken_becomes_a_letter_and_others_pass(sinks, source, receiver, name):
    tasks = source.make(3)
    bad = []
    def say(post):
        bad.append(post.event["task"]) if not bad else None
        return 500 if post.event["task"] == bad[0] else 200
    receiver.say = say
    sinks.put(name, receiver.url, max_deliver=3)
    tasks = source.make(3)
    until(lambda: len(receiver.taken) == 2, SOON_S, "the others have not come")
    letters = until(lambda: sinks.house.dead_letters(reason="consumer_rejected", task=bad[0]), SOON_S,
                    "no letter")
    assert len(letters) == 1 and name in letters[0]["cause"]
    assert len(receiver.tries(receiver.posts[0].id)) == 3
    assert taken(receiver) == set(tasks) - set(bad)
    assert sinks.view(name)["rejected"] == 1


def test_a_filter_and_from_all(sinks, source, receiver, name):
    sinks.put(name, receiver.url, state="failed", **{"from": "all"})
    done, failed = source.make(2), source.make(2, "ERROR_CAPTCHA_UNSOLVABLE")
    until_taken(receiver, failed)
    assert not taken(receiver) & set(done)
    assert {event["state"] for event in receiver.taken.values()} == {"failed"}


def test_a_sink_that_is_down_is_left_alone(sinks, source, name):
    """Nobody listens: after five failures there is one probe at a time, and all come when it is back."""
    port = free_port()
    sinks.put(name, f"http://127.0.0.1:{port}/", max_deliver=1000)
    tasks = source.make(40)
    until(lambda: sinks.view(name)["sink_state"] == "down", SOON_S, "it is not found to be down")
    before = sinks.metric("aldaba_sink_posts_total", "failed")
    stays(lambda: True, 2, "")
    after = sinks.metric("aldaba_sink_posts_total", "failed")
    assert after - before <= 8  # of probes 400 ms apart
    assert sinks.metric("aldaba_sinks", "down") == 1
    with Receiver(SECRET, port=port) as receiver:
        until_taken(receiver, tasks)
        until(lambda: sinks.view(name)["sink_state"] == "delivering", SOON_S, "it is not back")


def test_410_pauses_until_the_settings_are_read_again(sinks, source, receiver, name):
    receiver.say = lambda post: 410
    sinks.put(name, receiver.url)
    first = source.make(1)
    until(lambda: sinks.view(name)["sink_state"] == "paused", SOON_S, "it is not paused")
    assert f"{name} answered 410" in sinks.house.aldaba("status").stdout
    count = len(receiver.posts)
    more = source.make(3)
    stays(lambda: len(receiver.posts) == count, 1, "it is still posted to")
    receiver.say = lambda post: 200
    sinks.put(name, receiver.url)
    until_taken(receiver, first + more)


def test_nobody_else_reads_a_sink(sinks, source, receiver, name):
    receiver.say = lambda post: 500
    sinks.put(name, receiver.url, max_deliver=1000)
    with Consumer(sinks.house.run, name) as other:
        for ask in (other.pull, other.settle, other.close, other.delete):
            with pytest.raises(Refused, match="sink of the settings"):
                ask()
    assert sinks.house.private.request("DELETE", f"/v1/consumers/{name}").status == 409
    # Out of the settings it keeps its place, and is a consumer as all others.
    tasks = source.make(5)
    until(lambda: receiver.posts, SOON_S, "nothing comes")
    sinks.put(name, None)
    with Consumer(sinks.house.run, name) as other:
        found = []
        def drain():
            events = other.pull(wait_ms=500)
            found.extend(events)
            other.ack_all(events)
            return {str(event["task"]) for event in found} >= set(tasks)
        until(drain, SOON_S, lambda: f"{found} of {tasks}")
        other.settle()
        assert other.view().get("sink", False) is False
    # And back in the settings it goes on from there.
    receiver.say = lambda post: 200
    sinks.put(name, receiver.url)
    more = source.make(2)
    until_taken(receiver, more)
    assert not taken(receiver) & set(tasks)


def test_a_restart_goes_on(sinks, source, receiver, name):
    receiver.say = lambda post: 500
    sinks.put(name, receiver.url, max_deliver=1000)
    tasks = source.make(10)
    until(lambda: receiver.posts, SOON_S, "nothing comes")
    for daemon in ("tracker", "poller1"):
        sinks.house.daemons[daemon].kill9()
    receiver.say = lambda post: 200
    sinks.house.revive()
    until_taken(receiver, tasks)


def test_every_event_comes_whatever_is_killed(sinks, source, receiver, name):
    """1,200 events while pollers, tracker and gateway are killed in turn, and the receiver fails now
    and then, is silent now and then, and cuts connections."""
    house = sinks.house
    turn = itertools.count()
    receiver.say = lambda post: {0: 500, 7: None}.get(next(turn) % 23, 204)
    sinks.put(name, receiver.url, max_in_flight=32)
    tasks = []
    for victim in ("poller1", "tracker", "gateway", "poller1", "tracker", "poller1", "tracker", "gateway"):
        tasks += until(lambda: made(source, 150), SOON_S, "the source is not heard")
        house.daemons[victim].kill9()
        house.revive()
    until_taken(receiver, tasks, 60)
    assert all(post.genuine for post in receiver.posts)
    by_id = {}
    for post in receiver.posts:
        assert by_id.setdefault(post.id, post.event["task"]) == post.event["task"]
    until(lambda: sinks.view(name)["lag"] == 0, SOON_S, lambda: str(sinks.view(name)))
    assert sinks.view(name)["rejected"] == 0
    assert house.audit()["balanced"]


def made(source, count):
    try:
        return source.make(count)
    except bus.Silent:
        return None


def test_exchanged_when_there_are_as_many_as_may_be():
    """Of 64 sinks some are exchanged for new ones: those begin when the old ones have left their place."""
    with House(profile=CALM) as house, Receiver(SECRET) as receiver:
        sinks = Sinks(house)
        of = lambda number: {"url": receiver.url, "secret": {"file": sinks.secret}, **QUICK}  # noqa: E731
        sinks.sinks = {f"many-{number}": of(number) for number in range(64)}
        house.settings["sinks"] = sinks.sinks
        house.start()
        until(lambda: sinks.metric("aldaba_sinks", "delivering") == 64, SOON_S, "they do not begin")
        sinks.done = {n: count_lines(house.daemons[n], "ev=reload.done") for n in ("tracker", "poller1")}
        sinks.sinks = {f"many-{number}": of(number) for number in range(8, 72)}
        sinks.write()
        sinks.read_again()
        for number in range(64, 72):
            until(lambda name=f"many-{number}": house.private.get(f"/v1/consumers/{name}").status == 200
                  and sinks.view(name)["sink_state"] == "delivering", SOON_S, f"many-{number} does not begin")
        until(lambda: sinks.metric("aldaba_sinks", "delivering") == 64, SOON_S, "they are not 64")
