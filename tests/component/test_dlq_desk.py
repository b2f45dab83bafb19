"""The desk of the dlq as a real process: edits, groups, searches, dry runs, bulk replays. The test is
its tracker, on `events` and on `query`."""
import collections
import hashlib
import os
import random
import sqlite3
import threading
import time

import pytest
import zmq
from support import bus
from support.desk import LATER, SENDER, Desk, letter, ulid
from support.house import binary
from support.until import stays, until

SOON_S = 30
KILLS = 6
MANY = 400
HEAP = 100000
RATE_MAX = 1000

pytestmark = pytest.mark.skipif(not binary("aldaba-dlq"), reason="no aldaba-dlq is built")


def callback(query=b"id=77&code=abc", **more):
    fields = {"num": 1, "provider": "demo", "task": "1234567", "proof": "token", "method": "GET",
              "path": "/cb/demo/{token}", "query": query, "content_type": "text/plain",
              "headers": b"user-agent: robot\nx-kind: late\n", "body": b"\x00\xffraw",
              "peer": "10.0.0.7", "received_at_ms": 1800000000000}
    fields.update(more)
    return bus.pack("callback", **fields)


class Judge:
    """The tracker's channel `query`: answers `judge` as `say` decides; None: not at all."""

    def __init__(self, run):
        self.say = lambda ask: {"disposition": "applied"}
        self.asked = []
        self.ending = threading.Event()
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(f"ipc://{run}/query")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending.is_set():
            if not self.socket.poll(5):
                continue
            who, frame = self.socket.recv_multipart()
            ask = bus.unpack(frame)
            self.asked.append(ask)
            said = self.say(ask)
            if said is not None:
                self.socket.send_multipart([who, bus.pack("answer", req=ask["req"], rc="ok"),
                                            bus.pack("judged", letter=ask["letter"], **said)])
        self.socket.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()


@pytest.fixture
def sleepy():
    """A dlq whose schedule does not begin during the test."""
    with Desk(dlq=LATER) as self:
        yield self


def edit(desk, letter_id, revision=1, by="ana", **sets):
    fields = dict(sets)
    for name in sets:
        fields[f"set_{name}"] = True
    return desk.ask("letter.edit", letter=letter_id, revision=revision, by=by, **fields)[0]


def shown(desk, letter_id, revision=0):
    return desk.history(letter_id, revision=revision)[0]


def replay(desk, **fields):
    head, (view, *_) = desk.ask("replay.start", by="ana", **fields)
    assert head["rc"] == "ok", head
    return view["replay"]


def stand(desk, replay_id, kind="replay.show"):
    """(the job, {(result, reason, why): letters})"""
    head, (view, *counts) = desk.ask(kind, replay=replay_id)
    assert head["rc"] == "ok", head
    return view, {(one["result"], one["reason"], one.get("why", "")): one["count"]
                  for one in counts}


def until_replay(desk, replay_id, state="done"):
    until(lambda: stand(desk, replay_id)[0]["state"] == state, SOON_S,
          lambda: f"{stand(desk, replay_id)} is not {state}")
    return stand(desk, replay_id)


def fill(desk, count, reason="unknown_task", first=1, **more):
    letters = [letter(first + n, reason, **more) for n in range(count)]
    for start in range(0, count, 100):
        desk.keep(*letters[start:start + 100])
    return [one["letter"] for one in letters]


# ---- edits ----


def test_example(sleepy):
    original = callback()
    mine = sleepy.keep(letter(1, "malformed", original=original))
    assert edit(sleepy, mine, query=b"id=78&code=abc")["rc"] == "ok"
    now = bus.unpack(shown(sleepy, mine)["original"])
    assert now["query"] == b"id=78&code=abc" and now["body"] == b"\x00\xffraw"
    first = shown(sleepy, mine, revision=1)
    assert first["original"] == original and (first["revision"], first["shown"]) == (2, 1)
    _, lines = sleepy.history(mine)
    assert [(line.get("what"), line.get("by", "")) for line in lines] == [
        ("made", ""), ("edited", "ana")]


def test_what_an_edit_may_not(sleepy):
    original = callback(fault="malformed", detail="Why.")
    mine = sleepy.keep(letter(1, "malformed", original=original))
    assert edit(sleepy, mine, revision=2, query=b"")["rc"] == "conflict"
    assert edit(sleepy, mine, by="", query=b"")["rc"] == "invalid"
    assert edit(sleepy, mine)["rc"] == "invalid"
    assert edit(sleepy, mine, headers=b"x-hub-signature: 5\n")["rc"] == "invalid"
    assert edit(sleepy, ulid(), query=b"")["rc"] == "notfound"
    assert shown(sleepy, mine)["revision"] == 1
    assert sleepy.ask("letter.show", letter=mine, revision=2)[0]["rc"] == "notfound"
    # Two who looked at the same: the second is told.
    assert edit(sleepy, mine, body=b"one", headers=b"x-kind: early\n")["rc"] == "ok"
    late = edit(sleepy, mine, body=b"two", by="ben")
    assert late["rc"] == "conflict" and "in between" in late["detail"]
    came, now = bus.unpack(original), bus.unpack(shown(sleepy, mine)["original"])
    assert now["body"] == b"one" and "fault" not in now
    for name in ("provider", "task", "proof", "received_at_ms", "peer", "path", "query"):
        assert now[name] == came[name], name
    event = bus.pack("event", lane=0, seq=5, task="77", provider="demo", state="done",
                     consumer="mailer")
    other = sleepy.keep(letter(2, "consumer_rejected", original=event, consumer="mailer"))
    assert edit(sleepy, other, body=b"x")["rc"] == "conflict"
    assert shown(sleepy, other)["original"] == event
    assert shown(sleepy, other)["consumer"] == "mailer"
    assert sleepy.ask("letter.drop", letter=mine, by="ben")[0]["rc"] == "ok"
    assert edit(sleepy, mine, revision=2, body=b"x")["rc"] == "conflict"
    assert sleepy.history(mine)[1][-1]["by"] == "ben"


def test_rule_7_an_edit_while_an_attempt_is_under_way(sleepy):
    """The attempt keeps what it pinned, also over a kill; the next one judges the new message."""
    tracker = sleepy.tracker()
    tracker.judge = lambda item: None
    original = callback()
    mine = sleepy.keep(letter(1, original=original))
    assert sleepy.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "ok"
    until(lambda: tracker.of(mine), SOON_S, "no attempt")
    assert edit(sleepy, mine, body=b"new")["rc"] == "ok"
    sleepy.restart()
    until(lambda: len(tracker.of(mine)) >= 2, SOON_S, "not sent again")
    assert {(item["attempt"], item["revision"]) for item in tracker.of(mine)} == {(1, 1)}
    assert {item["original"] for item in tracker.of(mine)} == {original}
    tracker.judge = lambda item: {"disposition": "still", "reason": "unknown_task"}
    sleepy.restart()
    until(lambda: [a for a in sleepy.show(mine)[1] if a.get("outcome")], SOON_S, "no answer")
    assert sleepy.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "ok"
    until(lambda: len([a for a in sleepy.show(mine)[1] if a.get("outcome")]) == 2, SOON_S,
          "not tried again")
    item = tracker.of(mine)[-1]
    assert (item["attempt"], item["revision"]) == (2, 2)
    assert bus.unpack(item["original"])["body"] == b"new"
    assert [a["revision"] for a in sleepy.show(mine)[1]] == [1, 2]


# ---- groups and searches ----


def test_groups(sleepy):
    fill(sleepy, 3, "malformed", cause="One.")
    fill(sleepy, 2, "malformed", first=10, cause="Two.")
    last = fill(sleepy, 1, "expired", first=20, provider="other", original=b"")[0]

    def groups(**fields):
        head, items = sleepy.ask("letter.groups", **fields)
        assert head["rc"] == "ok", head
        return {(one["reason"], one["cause"], one["provider"]): one for one in items}

    all_of = groups()
    assert {key: one["count"] for key, one in all_of.items()} == {
        ("malformed", "One.", "demo"): 3, ("malformed", "Two.", "demo"): 2,
        ("expired", "The test made it.", "other"): 1}
    assert all_of["expired", "The test made it.", "other"]["example"] == last
    assert len(groups(reason="malformed")) == 2 and len(groups(provider="other")) == 1
    assert sleepy.ask("letter.drop", letter=last)[0]["rc"] == "ok"
    sleepy.restart()
    assert len(groups()) == 2


def heap(desk, count):
    """So many letters, written into the file of a dlq that is stopped."""
    desk.daemon.stop()
    with sqlite3.connect(os.path.join(desk.data, "letters.db")) as store:
        for n in range(count):
            bytes_ = b"hay %d" % n if n != 7 else b"the needle"
            row = (ulid(), SENDER, n + 1000, "unknown_task", "Why.", "demo", 0, "", "token", "open",
                   1, "", 5, 0, 0, 0, 1, 0, 0, "", 0, len(bytes_), 0, 0, 0)
            store.execute("INSERT INTO letters(letter, sender, num, reason, cause, provider, task,"
                          " provider_id, proof, state, live, outcome, made, closed, due, attempts,"
                          " revision, pinned, by_person, who, believe, bytes, sending, closing,"
                          f" stranger) VALUES({','.join('?' * 25)})", row)
            store.execute("INSERT INTO originals(letter, revision, bytes, sum) VALUES(?, 1, ?, ?)",
                          (row[0], bytes_, hashlib.sha256(bytes_).digest()))
        store.execute("INSERT INTO tallies VALUES('unknown_task', 'open', ?)", (count,))
    desk.daemon.start()
    desk.connect()


def test_a_search_of_very_many_does_not_stop_intake(sleepy):
    heap(sleepy, HEAP)
    found, pages, cursor, slowest = [], 0, "", 0
    with bus.Channel(sleepy.run, "letters") as beside:
        while pages == 0 or cursor:
            beside.send(bus.pack("letters", req=1, q="needle", cursor=cursor))
            begun = time.monotonic()
            sleepy.keep(letter(pages + 1))  # behind the page that was asked for
            slowest = max(slowest, time.monotonic() - begun)
            head, *views = beside.receive()
            found += views
            pages, cursor = pages + 1, head.get("cursor", "")
    assert len(found) == 1 and pages >= HEAP // 1000
    assert slowest < 2, f"a letter waited {slowest:.2f} s"
    begun = time.monotonic()
    groups = sleepy.ask("letter.groups")[1]
    assert sorted(one["count"] for one in groups) == [pages, HEAP]
    assert time.monotonic() - begun < 1


# ---- dry runs ----


def test_a_dry_run(sleepy):
    original = callback()
    mine = sleepy.keep(letter(1, original=original))
    refused = sleepy.keep(letter(2, "expired", original=b""))
    with Judge(sleepy.run) as judge:
        said = {"disposition": "still", "reason": "unmapped_status", "why": "No rule.",
                "rule": "r1", "then": "unknown", "task": "77", "task_state": "pending"}
        judge.say = lambda ask: said
        # The tracker has only just come.
        assert sleepy.ask("letter.judge", letter=mine)[0]["rc"] == "ok", "it does not wait for it"
        head, (view, judged) = sleepy.ask("letter.judge", letter=mine, by="ana")
        assert head["rc"] == "ok" and view["letter"] == mine
        assert {name: judged[name] for name in said} == said
        assert judge.asked[-1]["original"] == original and judge.asked[-1]["reason"] == "unknown_task"
        head, (_, judged) = sleepy.ask("letter.judge", letter=refused)
        assert head["rc"] == "ok" and "disposition" not in judged and judged["why"].endswith(".")
        assert {ask["letter"] for ask in judge.asked} == {mine}
        assert sleepy.ask("letter.judge", letter=ulid())[0]["rc"] == "notfound"
        judge.say = lambda ask: None
        assert sleepy.ask("letter.judge", letter=mine)[0]["rc"] == "busy"
    assert sleepy.show(mine) == (sleepy.show(mine)[0], [])
    assert sleepy.books() == (2, 0, 0, 0)


# ---- bulk replays ----


def outcomes(item):
    """Every third applies, every third was there, the others stay."""
    return [{"disposition": "applied"}, {"disposition": "duplicate"},
            {"disposition": "still", "reason": "unknown_task"}][item["num"] % 3]


def test_a_bulk_replay(sleepy):
    tracker = sleepy.tracker()
    tracker.judge = outcomes
    letters = fill(sleepy, 60)
    fill(sleepy, 5, "expired", first=100, original=b"")
    fill(sleepy, 4, "unauthenticated", first=200)
    fill(sleepy, 3, first=300, provider="other")
    job = replay(sleepy, provider="demo", rate=RATE_MAX)
    view, counts = until_replay(sleepy, job)
    assert (view["total"], view["scanned"], view["seen"]) == (72, 72, 69)
    assert (view["replayed"], view["answered"], view["skipped"]) == (60, 60, 9)
    assert counts.pop(("skipped", "expired", "unvouched")) == 5
    assert counts.pop(("skipped", "unauthenticated", "unvouched")) == 4
    said = collections.Counter(outcomes(item)["disposition"] for item in tracker.items)
    assert {key[0]: count for key, count in counts.items()} == said
    for one in letters:
        (attempt,) = sleepy.show(one)[1]
        assert (attempt["by"], attempt["replay"]) == ("ana", job)
    # Again, as often as wanted: what is left is tried once more, and that is to be seen.
    view, _ = until_replay(sleepy, replay(sleepy, provider="demo", rate=RATE_MAX))
    assert view["replayed"] == said["still"]
    assert max(len(sleepy.show(one)[1]) for one in letters) == 2
    listed = sleepy.ask("replay.list")[1]
    assert [one["replay"] for one in listed][-1] == job and len(listed) == 2


@pytest.mark.parametrize("seed", [1, 2])
def test_a_bulk_replay_over_kills(sleepy, seed):
    """Killed again and again in the middle: each letter is tried once for it, and counted once."""
    dice = random.Random(seed)
    tracker = sleepy.tracker()
    tracker.judge = outcomes
    letters = fill(sleepy, MANY)
    job = replay(sleepy, rate=MANY // 2)
    for kill in range(1, KILLS):
        goal = kill * MANY // KILLS + dice.randrange(MANY // KILLS)  # anywhere in a step
        until(lambda: len({i["letter"] for i in tracker.items}) >= goal, SOON_S, "no progress")
        sleepy.restart()
    view, counts = until_replay(sleepy, job)
    assert (view["seen"], view["replayed"], view["answered"]) == (MANY, MANY, MANY)
    assert sum(counts.values()) == MANY
    history = collections.Counter()
    for one in letters:
        (attempt,) = sleepy.show(one)[1]
        assert attempt["replay"] == job
        history[attempt["outcome"]] += 1
    assert {key[0]: count for key, count in counts.items()} == history
    numbers = collections.defaultdict(set)
    for item in tracker.items:
        numbers[item["letter"]].add((item["num"], item["attempt"]))
    assert {len(seen) for seen in numbers.values()} == {1}


def test_paused_resumed_cancelled_queued(sleepy):
    tracker = sleepy.tracker()
    tracker.judge = lambda item: {"disposition": "still", "reason": "unknown_task"}
    fill(sleepy, MANY)
    first = replay(sleepy, rate=100)
    second = replay(sleepy, rate=RATE_MAX, reason="unknown_task")
    until(lambda: tracker.items, SOON_S, "it does not begin")
    assert stand(sleepy, second)[0]["state"] == "queued"
    assert stand(sleepy, first, "replay.pause")[0]["state"] == "paused"
    # Another one goes on meanwhile, and each letter is tried for it, too.
    view, counts = until_replay(sleepy, second)
    assert view["seen"] == MANY == view["replayed"] + view.get("skipped", 0)
    assert set(counts) <= {("still", "unknown_task", ""), ("skipped", "unknown_task", "asked"),
                           ("skipped", "unknown_task", "under_way")}
    before = stand(sleepy, first)[0]["scanned"]
    assert before < MANY
    stays(lambda: stand(sleepy, first)[0]["scanned"] == before, 0.5, "a paused one goes on")
    sleepy.restart()
    assert stand(sleepy, first)[0]["state"] == "paused"
    assert stand(sleepy, first, "replay.resume")[0]["state"] in ("queued", "running")
    until(lambda: stand(sleepy, first)[0]["scanned"] > before, SOON_S, "a resumed one stands")
    assert stand(sleepy, first, "replay.cancel")[0]["state"] == "cancelled"
    until(lambda: (lambda v: v["replayed"] == v["answered"])(stand(sleepy, first)[0]), SOON_S,
          "what was asked for is not counted")
    view, counts = stand(sleepy, first)
    assert view["scanned"] < MANY
    assert counts["still", "unknown_task", ""] == view["answered"]
    for kind in ("replay.pause", "replay.resume", "replay.cancel"):
        assert sleepy.ask(kind, replay=first)[0]["rc"] == "conflict"
        assert sleepy.ask(kind, replay=ulid())[0]["rc"] == "notfound"


def test_the_rate_is_kept(sleepy):
    tracker = sleepy.tracker()
    fill(sleepy, 100)
    begun = time.monotonic()
    until_replay(sleepy, replay(sleepy, rate=50))
    assert time.monotonic() - begun > 1.7
    assert len(tracker.items) == 100


def test_letters_that_come_later_are_not_taken(sleepy):
    tracker = sleepy.tracker()
    fill(sleepy, 50)
    job = replay(sleepy, rate=50)
    late = fill(sleepy, 5, first=500)
    view, _ = until_replay(sleepy, job)
    assert view["seen"] == 50
    assert not [one for one in late if tracker.of(one)]


def test_what_a_bulk_replay_may_not(sleepy):
    for fields in ({"reason": "boredom"}, {"letter_state": "dropped"}, {"letter_state": "sad"},
                   {"rate": RATE_MAX + 1}):
        head, _ = sleepy.ask("replay.start", **fields)
        assert head["rc"] == "invalid" and head["detail"].endswith("."), fields
    assert "seen" not in until_replay(sleepy, replay(sleepy))[0]  # there is no letter at all


def test_a_dropped_letter_is_counted_where_it_was_asked_for(sleepy):
    """The tracker is away, so it is planned and not begun when a person drops it."""
    mine = sleepy.keep(letter(1))
    job = replay(sleepy)
    until(lambda: stand(sleepy, job)[0].get("replayed") == 1, SOON_S, "not planned")
    assert sleepy.ask("letter.drop", letter=mine, by="ben")[0]["rc"] == "ok"
    view, counts = until_replay(sleepy, job)
    assert view["answered"] == 1 and counts == {("dropped", "unknown_task", ""): 1}


def test_a_bulk_dry_run(sleepy):
    """It says what would be, waits for a silent tracker, and changes nothing."""
    letters = fill(sleepy, 40)
    fill(sleepy, 2, "expired", first=100, original=b"")
    with Judge(sleepy.run) as judge:
        judge.say = lambda ask: None
        job = replay(sleepy, dry_run=True, rate=RATE_MAX)
        until(lambda: stand(sleepy, job)[0].get("note"), SOON_S, "it does not say what it waits for")
        sleepy.restart()
        judge.say = lambda ask: ({"disposition": "applied"} if ask["letter"] in letters[:10] else
                                 {"disposition": "still", "reason": "unknown_task"})
        view, counts = until_replay(sleepy, job)
    assert (view["seen"], view["replayed"], view["skipped"]) == (42, 40, 2)
    assert counts == {("applied", "unknown_task", ""): 10,
                      ("still", "unknown_task", "unknown_task"): 30,
                      ("skipped", "expired", "unvouched"): 2}
    assert sleepy.books() == (42, 0, 0, 0)
    assert not sleepy.show(letters[0])[1]
