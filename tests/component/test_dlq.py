"""The dlq as a real process. The test is its tracker on both sides: a courier that brings letters,
and the ROUTER `events` that judges what is sent back."""
import collections
import os
import random
import resource
import shutil
import sqlite3
import threading

import pytest
from support import bus
from support.desk import LATER, MAX_ITEM, QUICK, SENDER, SOON_S, Desk, letter, mark, ulid
from support.disk import SmallDisk, may_mount
from support.house import binary
from support.until import passes, stays, until

GARBAGE = 10000
GROWTH_KIB = 8 * 1024

pytestmark = pytest.mark.skipif(not binary("aldaba-dlq"), reason="no aldaba-dlq is built")


@pytest.fixture
def desk():
    with Desk() as self:
        yield self


@pytest.fixture
def sleepy():
    """A dlq whose schedule does not begin during the test."""
    with Desk(dlq=LATER) as self:
        yield self


def test_example(sleepy):
    mine = letter(1, task="123456")
    assert sleepy.put(mine)[1]["disposition"] == "applied"
    view, attempts = sleepy.show(mine["letter"])
    for name in ("letter", "reason", "cause", "provider", "provider_id", "proof", "task",
                 "made_at_ms", "original"):
        assert view[name] == mine[name], name
    assert (view["state"], view.get("attempts", 0), attempts) == ("open", 0, [])
    assert sleepy.books() == (1, 0, 0, 0)
    assert sleepy.figures()["open_xor"] == mark(mine["letter"])
    assert sleepy.figures()["reason.unknown_task"] == 1


def test_hello(sleepy):
    def welcome():
        sleepy.channel.send(bus.pack("hello", sender=SENDER, instance="T1", role="tracker", floor=1))
        return sleepy.channel.receive()[0]

    first = welcome()
    assert first["k"] == "welcome" and first["max_item"] >= MAX_ITEM
    assert welcome()["instance"] == first["instance"]
    sleepy.restart()
    assert welcome()["instance"] != first["instance"]


def test_a_letter_comes_twice(sleepy):
    mine = letter(1)
    assert sleepy.put(mine, mine)[1]["disposition"] == "duplicate"  # both in one batch
    assert sleepy.put(mine)[1]["disposition"] == "duplicate"
    assert sleepy.put({**mine, "num": 2})[2]["disposition"] == "duplicate"
    assert sleepy.books() == (1, 0, 0, 0)


def closing(num, letter_id, state="resolved"):
    return {"num": num, "letter": letter_id, "state": state, "at_ms": 1}


def test_a_letter_that_the_tracker_closes(sleepy):
    """Its answer came: told among the letters, in their order, and as often as need be."""
    mine, other = letter(1, "submit_uncertain", original=b""), letter(3, "submit_uncertain")
    acks = sleepy.put(mine, closing(2, mine["letter"]), other)  # faster than anybody looked
    assert [acks[n]["disposition"] for n in (1, 2, 3)] == ["applied"] * 3
    assert sleepy.state(mine["letter"]) == "resolved" and sleepy.state(other["letter"]) == "open"
    assert sleepy.put(closing(2, mine["letter"]))[2]["disposition"] == "applied"
    assert sleepy.put(closing(4, other["letter"], "dropped"))[4]["disposition"] == "applied"
    assert sleepy.put(closing(5, other["letter"]))[5]["disposition"] == "applied"
    assert sleepy.put(closing(6, ulid()), floor=6)[6]["disposition"] == "applied"  # purged long ago
    assert sleepy.state(other["letter"]) == "dropped"
    assert sleepy.put(mine)[1]["disposition"] == "duplicate"
    sleepy.restart()
    assert sleepy.state(mine["letter"]) == "resolved"
    assert sleepy.books() == (0, 0, 1, 1)
    assert sleepy.figures()["open_xor"] == 0


def test_a_closing_does_not_pass_its_letter(sleepy):
    """The batch with the letter was lost or came too early, and the next one is here first."""
    late = letter(1, "submit_uncertain", original=b"")
    assert sleepy.put(closing(2, late["letter"]))[2]["disposition"] == "busy"
    assert sleepy.put(late)[1]["disposition"] == "applied"
    assert sleepy.put(closing(2, late["letter"]), floor=2)[2]["disposition"] == "applied"
    assert sleepy.state(late["letter"]) == "resolved"
    assert sleepy.books() == (0, 0, 1, 0)


def test_closed_under_an_attempt_it_stays_closed(desk):
    """The tracker closes a letter while the answer to its last attempt is on its way."""
    tracker = desk.tracker()
    tracker.judge = lambda item: None
    mine = letter(1, "consumer_rejected")
    desk.put(mine)
    until(lambda: tracker.of(mine["letter"], "reinject"), SOON_S, "not tried")
    assert desk.put(closing(2, mine["letter"]))[2]["disposition"] == "applied"
    tracker.judge = lambda item: {"disposition": "still", "reason": "consumer_rejected"}
    desk.restart()
    other = letter(3, "unknown_task")
    desk.put(other)
    until(lambda: tracker.of(other["letter"], "reinject"), SOON_S, "the schedule does not go on")
    view, attempts = desk.show(mine["letter"])
    assert (view["state"], view["outcome"], view.get("due_at_ms", 0)) == ("resolved", "applied", 0)
    assert [line["outcome"] for line in attempts] == ["applied"]


def test_a_tracker_that_comes_back_with_less(desk):
    """A message that it does not take holds up nobody, and its attempts say why."""
    first = desk.tracker()
    first.judge = lambda item: None
    large, small = letter(1, original=os.urandom(70000)), letter(2)
    desk.put(large, small)
    until(lambda: first.of(large["letter"]), SOON_S, "not tried")
    first.stop()
    desk.tracker(instance="T2", max_item=60000)
    desk.until_state(small["letter"], "resolved")
    desk.until_state(large["letter"], "held")
    view, attempts = desk.show(large["letter"])
    assert view["original"] == large["original"]
    assert {line["outcome"] for line in attempts} == {"refused"}
    assert all("than the tracker takes" in line["detail"] for line in attempts), attempts


def test_rule_18_a_dropped_letter_does_not_rise(desk):
    """The dlq has committed and its acknowledgement is lost; a person drops the letter; the tracker
    sends its outbox again. It is no new letter, and nothing is delivered again, while others of the
    same batch are taken, and one that can't be is refused by itself."""
    tracker = desk.tracker()
    tracker.judge = lambda item: None if item["k"] == "reinject" else {"disposition": "applied"}
    mine = letter(1, "conflict")
    desk.send(mine)
    until(lambda: desk.ask("letter.show", letter=mine["letter"])[0]["rc"] == "ok", SOON_S, "not kept")
    desk.restart()  # the acknowledgement is gone with the connection
    assert desk.ask("letter.drop", letter=mine["letter"], by="ana")[0]["rc"] == "ok"
    until(lambda: tracker.of(mine["letter"], "closing"), SOON_S, "not told")
    acks = desk.put(mine, letter(2, reason="boredom"), letter(3, "malformed"))
    assert [acks[n]["disposition"] for n in (1, 2, 3)] == ["duplicate", "refused", "applied"]
    assert desk.state(mine["letter"]) == "dropped" and not tracker.of(mine["letter"])
    assert desk.books() == (1, 0, 0, 1)
    # Below the sender's floor it is settled there, too; above it the tombstone stays.
    assert desk.put({**mine, "num": 4}, floor=4)[4]["disposition"] == "duplicate"
    assert desk.state(mine["letter"]) == "dropped"


def test_a_closing_waits_while_a_copy_holds(sleepy):
    mine = letter(1, "submit_uncertain")
    sleepy.keep(mine)
    copy = os.path.join(sleepy.folder, "copy")
    assert sleepy.ask("backup", dir=copy, hold=HOLD, hold_ms=60000)[0]["rc"] == "ok"
    assert sleepy.put(closing(2, mine["letter"]))[2]["disposition"] == "busy"
    assert sleepy.state(mine["letter"]) == "open"
    assert sleepy.ask("backup", dir=copy, hold=HOLD, release=True)[0]["rc"] == "ok"
    assert sleepy.put(closing(2, mine["letter"]))[2]["disposition"] == "applied"
    assert sleepy.state(mine["letter"]) == "resolved"


def test_a_bad_letter_does_not_hold_up_the_rest(sleepy):
    good = [letter(1), letter(5)]
    bad = [letter(2, reason="boredom"), letter(3, letter="x" * 26), letter(4, cause="x" * 300)]
    acks = sleepy.put(good[0], *bad, good[1])
    assert [acks[n]["disposition"] for n in range(1, 6)] == [
        "applied", "refused", "refused", "refused", "applied"]
    assert all(acks[n]["reason"] for n in (2, 3, 4))
    assert sleepy.books() == (2, 0, 0, 0)


def test_reinjected_when_due(desk):
    tracker = desk.tracker()
    mine = letter(1)
    desk.keep(mine)
    desk.until_state(mine["letter"], "resolved")
    (item,) = tracker.of(mine["letter"])
    assert item["original"] == mine["original"]
    assert (item["attempt"], item["revision"], item["reason"]) == (1, 1, "unknown_task")
    assert not item.get("by_person") and not item.get("believe")
    view, (attempt,) = desk.show(mine["letter"])
    assert (view["outcome"], view["attempts"]) == ("applied", 1)
    assert (attempt["attempt"], attempt["by"], attempt["outcome"]) == (1, "schedule", "applied")
    assert desk.books() == (0, 0, 1, 0)
    assert desk.figures()["open_xor"] == 0
    # Settled numbers are told, so that the tracker need not remember them.
    more = desk.keep(letter(2))
    desk.until_state(more, "resolved")
    assert tracker.heads[-1]["floor"] == item["num"] + 1


@pytest.mark.parametrize("disposition", ["applied", "duplicate", "progress"])
def test_answers_that_resolve(desk, disposition):
    desk.tracker().judge = lambda item: {"disposition": disposition}
    mine = desk.keep(letter(1, reason="unmapped_status"))
    desk.until_state(mine, "resolved")
    assert desk.show(mine)[0]["outcome"] == disposition


@pytest.mark.parametrize("reason", ["malformed", "unauthenticated", "conflict", "expired",
                                    "submit_failed", "submit_uncertain"])
def test_reasons_without_schedule(desk, reason):
    tracker = desk.tracker()
    mine = desk.keep(letter(1, reason=reason))
    desk.until_state(desk.keep(letter(2)), "resolved")  # the schedule does work
    assert not tracker.of(mine) and desk.state(mine) == "open"


def test_rule_9_it_turns_out_to_be_a_conflict(desk):
    """The tracker says why the letter is one now: it is that, is found so, and asks for a person."""
    tracker = desk.tracker()
    tracker.judge = lambda item: {"disposition": "still", "reason": "conflict", "task": "42",
                                  "cause": "Another answer than the one that was published."}
    mine = desk.keep(letter(1))
    until(lambda: desk.show(mine)[0]["reason"] == "conflict", SOON_S, lambda: desk.show(mine))
    desk.restart()
    desk.tracker().judge = tracker.judge
    view, (attempt,) = desk.show(mine)
    assert (view["task"], view["state"], view.get("due_at_ms", 0)) == ("42", "open", 0)
    assert view["cause"] == "Another answer than the one that was published."
    assert (attempt["outcome"], attempt["detail"]) == ("still", "conflict")
    assert [one["letter"] for one in desk.ask("letters", reason="conflict", task="42")[1]] == [mine]
    assert desk.ask("letters", reason="unknown_task")[1] == []
    assert desk.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "invalid"
    assert desk.ask("letter.replay", letter=mine, by="ana", publish=True)[0]["rc"] == "ok"
    assert desk.books()[0] == 1 and desk.figures()["open_xor"] == mark(mine)


def test_edited_while_it_turns_out_to_be_a_conflict(desk):
    """The message that the person put in its place is not the one that conflicts: it is tried, and
    can be edited again."""
    tracker = desk.tracker()
    tracker.judge = lambda item: None
    mine = desk.keep(letter(1, original=bus.pack(
        "callback", num=1, provider="demo", proof="id", method="GET", query=b"id=1&code=a",
        received_at_ms=1)))
    first = until(lambda: tracker.of(mine), SOON_S, "no attempt")[0]
    assert desk.ask("letter.edit", letter=mine, revision=1, by="ana", set_query=True,
                    query=b"id=2&code=a")[0]["rc"] == "ok"
    tracker.judge = lambda item: {"disposition": "applied"} if item["revision"] == 2 else {
        "disposition": "still", "reason": "conflict", "task": "42", "cause": "Another answer."}
    desk.restart()  # the attempt is sent again, as it was pinned
    desk.until_state(mine, "resolved")
    assert [item["revision"] for item in tracker.of(mine)][-1] == 2 and first["revision"] == 1
    view, attempts = desk.show(mine)
    assert view["reason"] == "unknown_task"
    assert [a["outcome"] for a in attempts] == ["still", "applied"]


def test_still_until_held_over_kills(desk):
    """Attempts are counted on disk: a kill -9 with one under way sends that one again."""
    tracker = desk.tracker()
    silent = threading.Event()
    tracker.judge = lambda item: None if silent.is_set() else {
        "disposition": "still", "reason": "unknown_task"}
    mine = desk.keep(letter(1))
    for attempt in (1, 2, 3):
        silent.set()
        until(lambda: any(i["attempt"] == attempt for i in tracker.of(mine)), SOON_S, "no attempt")
        desk.restart()
        until(lambda: sum(i["attempt"] == attempt for i in tracker.of(mine)) >= 2, SOON_S,
              "the attempt was not sent again after a kill")
        silent.clear()
        desk.restart()
        until(lambda: len([a for a in desk.show(mine)[1] if a.get("outcome")]) == attempt, SOON_S,
              lambda: desk.show(mine))
    desk.until_state(mine, "held")
    view, attempts = desk.show(mine)
    assert view["attempts"] == 3 and view.get("due_at_ms", 0) == 0
    assert [(a["attempt"], a["outcome"], a["detail"]) for a in attempts] == [
        (n, "still", "unknown_task") for n in (1, 2, 3)]
    numbers = collections.defaultdict(set)
    for item in tracker.of(mine):
        numbers[item["attempt"]].add(item["num"])
    assert [len(numbers[n]) for n in (1, 2, 3)] == [1, 1, 1]
    assert len(set.union(*numbers.values())) == 3
    assert desk.books() == (0, 1, 0, 0)
    assert desk.figures()["open_xor"] == mark(mine)
    seen = len(tracker.of(mine))
    stays(lambda: len(tracker.of(mine)) == seen, 0.5, "a held letter was sent by schedule")


def test_replay_of_a_held_letter(desk):
    tracker = desk.tracker()
    tracker.judge = lambda item: {"disposition": "still", "reason": "unknown_task"}
    mine = desk.keep(letter(1))
    desk.until_state(mine, "held")
    for attempt in (4, 5):
        head, (view,) = desk.ask("letter.replay", letter=mine, by="ana")
        assert head["rc"] == "ok" and view["letter"] == mine
        until(lambda: len([a for a in desk.show(mine)[1] if a.get("outcome")]) == attempt, SOON_S,
              "not replayed")
        assert desk.state(mine) == "held"
    tracker.judge = lambda item: {"disposition": "applied"}
    assert desk.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "ok"
    desk.until_state(mine, "resolved")
    view, attempts = desk.show(mine)
    assert [a["by"] for a in attempts] == ["schedule"] * 3 + ["ana"] * 3
    assert tracker.of(mine)[-1]["by_person"] is True
    head, _ = desk.ask("letter.replay", letter=mine, by="ana")
    assert head["rc"] == "conflict" and "closed" in head["detail"]


NEEDS = {"conflict": "publish", "expired": "buy", "submit_failed": "buy", "submit_uncertain": "buy",
         "unauthenticated": "believe", "unknown_task": None}


def test_what_needs_a_word(sleepy):
    sleepy.tracker()
    for number, (reason, needs) in enumerate(NEEDS.items(), 1):
        mine = sleepy.keep(letter(number, reason=reason))
        for word in {"believe", "buy", "publish", None} - {needs}:
            head, (view,) = sleepy.ask("letter.replay", letter=mine, **({word: True} if word else {}))
            assert head["rc"] == "invalid" and head["detail"].endswith("."), (reason, head)
            assert view["state"] == "open"
            assert word or f"--{needs}" in head["detail"]
        if needs:
            both = {needs: True, "buy": True, "believe": True}
            assert sleepy.ask("letter.replay", letter=mine, **both)[0]["rc"] == "invalid"
    for kind in ("letter.show", "letter.replay", "letter.drop"):
        assert sleepy.ask(kind, letter=ulid())[0]["rc"] == "notfound"
    assert not sleepy.events.items


def test_believed_by_an_admin(sleepy):
    tracker = sleepy.tracker()
    mine = sleepy.keep(letter(1, reason="unauthenticated", proof="none"))
    assert sleepy.ask("letter.replay", letter=mine, believe=True, by="root")[0]["rc"] == "ok"
    sleepy.until_state(mine, "resolved")
    (item,) = tracker.of(mine)
    assert item["believe"] is True and item["by_person"] is True


def test_bought_and_published(sleepy):
    """The word goes with the attempt, also after a kill; the answer closes the letter, and a refusal
    says why in a sentence."""
    tracker = sleepy.tracker()
    tracker.judge = lambda item: None
    bought = sleepy.keep({**letter(1, reason="expired"), "original": b""})
    published = sleepy.keep(letter(2, reason="conflict"))
    assert sleepy.ask("letter.replay", letter=bought, buy=True, by="ana")[0]["rc"] == "ok"
    assert sleepy.ask("letter.replay", letter=published, publish=True, by="ana")[0]["rc"] == "ok"
    until(lambda: tracker.of(bought) and tracker.of(published), SOON_S, "not sent")
    sleepy.daemon.kill9()
    answers = {bought: {"disposition": "replaced", "reason": "1234567890"},
               published: {"disposition": "still", "reason": "purged"}}
    tracker.judge = lambda item: answers[item["letter"]]
    sleepy.daemon.start()
    sleepy.until_state(bought, "resolved")
    for item in tracker.of(bought):
        assert item["buy"] is True and item["by_person"] is True and item["attempt"] == 1
        assert item["original"] == b"" and item["asked_at_ms"] > 0 and not item.get("publish")
    for item in tracker.of(published):
        assert item["publish"] is True and not item.get("buy") and item["original"]
    view, (attempt,) = sleepy.show(bought)
    assert view["outcome"] == "replaced" and attempt["detail"] == "1234567890"
    until(lambda: sleepy.show(published)[1][0].get("outcome") == "still", SOON_S, "not answered")
    view, (attempt,) = sleepy.show(published)
    assert view["state"] == "open" and attempt["detail"].endswith("not kept any more.")
    answers[published] = {"disposition": "corrected", "reason": ""}
    assert sleepy.ask("letter.replay", letter=published, publish=True)[0]["rc"] == "ok"
    sleepy.until_state(published, "resolved")


def test_under_way(sleepy):
    """An attempt that is not answered yet bars a second one, and a drop."""
    tracker = sleepy.tracker()
    tracker.judge = lambda item: None
    mine = sleepy.keep(letter(1))
    assert sleepy.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "ok"
    until(lambda: tracker.of(mine), SOON_S, "not sent")
    assert sleepy.ask("letter.replay", letter=mine, by="ana")[0]["rc"] == "busy"
    assert sleepy.ask("letter.drop", letter=mine, by="ana")[0]["rc"] == "busy"


def test_busy_is_sent_again(sleepy):
    tracker = sleepy.tracker()
    tracker.judge = lambda item: {
        "disposition": "busy" if len(tracker.of(item["letter"])) < 3 else "applied"}
    mine = sleepy.keep(letter(1))
    sleepy.ask("letter.replay", letter=mine)
    sleepy.until_state(mine, "resolved")
    assert {i["attempt"] for i in tracker.of(mine)} == {1}


def test_the_tracker_is_away(desk):
    """Its absence uses up no attempt, and what waited goes out slowly when it is back."""
    mine = [letter(n) for n in range(1, 201)]
    desk.keep(*mine)
    passes(0.5)  # all are overdue
    assert all(not desk.show(i["letter"])[0].get("attempts", 0) for i in mine[:5])
    tracker = desk.tracker()
    until(lambda: desk.books() == (0, 0, 200, 0), SOON_S, lambda: str(desk.books()))
    assert {i["attempt"] for i in tracker.items} == {1}
    assert len({i["num"] for i in tracker.items}) == 200


def test_at_most_a_hundred_under_way(desk):
    tracker = desk.tracker()
    desk.keep(*[letter(n) for n in range(1, 301)])
    until(lambda: desk.books()[2] >= 100, SOON_S, "nothing is re-injected")
    tracker.judge = lambda item: None
    desk.keep(*[letter(n) for n in range(301, 601)])

    def under_way():
        with sqlite3.connect(f"file:{desk.data}/letters.db?mode=ro", uri=True) as file:
            return file.execute("SELECT count(*) FROM letters WHERE sending > 0").fetchone()[0]

    until(under_way, SOON_S, "nothing is under way")
    stays(lambda: under_way() <= 100, 1, lambda: f"{under_way()} are under way")


def test_drop_is_told_until_acknowledged(sleepy):
    mine = sleepy.keep(letter(1))
    other = sleepy.keep(letter(2))
    head, (view,) = sleepy.ask("letter.drop", letter=mine, by="ana")
    assert (head["rc"], view["state"]) == ("ok", "dropped")
    assert sleepy.figures()["open_xor"] == mark(other)
    assert sleepy.ask("letter.drop", letter=mine)[0]["rc"] == "conflict"
    tracker = sleepy.tracker()
    tracker.judge = lambda item: None
    until(lambda: tracker.of(mine, "closing"), SOON_S, "no closing")
    sleepy.restart()
    until(lambda: len(tracker.of(mine, "closing")) >= 2, SOON_S, "no closing after a kill")
    tracker.judge = lambda item: {"disposition": "applied"}
    sleepy.restart()
    until(lambda: len(tracker.of(mine, "closing")) >= 3, SOON_S, "no closing after a kill")
    closings = tracker.of(mine, "closing")
    assert len({c["num"] for c in closings}) == 1
    assert all(c["state"] == "dropped" and c["at_ms"] > 0 for c in closings)
    # Acknowledged: not told again, and a repeat of the letter does not wake it.
    assert sleepy.put(letter(1, letter=mine))[1]["disposition"] == "duplicate"
    sleepy.ask("letter.replay", letter=other)
    sleepy.until_state(other, "resolved")
    sleepy.restart()
    third = sleepy.keep(letter(3))
    sleepy.ask("letter.replay", letter=third)
    sleepy.until_state(third, "resolved")
    assert len(tracker.of(mine, "closing")) == 3
    assert sleepy.books() == (0, 0, 2, 1)


def test_kill_between_commit_and_acknowledgement(sleepy):
    """Killed at any moment of a batch: what was acknowledged is there, once; what was not is taken
    when it comes again."""
    seed = random.Random(54)
    sent, acknowledged = {}, set()
    for round_ in range(15):
        mine = [letter(round_ * 40 + n) for n in range(1, 41)]
        sent.update({m["letter"]: m for m in mine})
        sleepy.send(*mine)
        if sleepy.channel.socket.poll(seed.choice([0, 0, 1, 2, 4, 8])):
            acks = sleepy.channel.receive()[1:]
            names = {m["num"]: m["letter"] for m in mine}
            acknowledged |= {names[ack["num"]] for ack in acks}
        sleepy.restart()
        for ack in sleepy.put(*mine).values():
            assert ack["disposition"] in ("applied", "duplicate")
            if names_of(mine)[ack["num"]] in acknowledged:
                assert ack["disposition"] == "duplicate"
    assert sleepy.books() == (len(sent), 0, 0, 0)
    expected = 0
    for name in sent:
        expected ^= mark(name)
    assert sleepy.figures()["open_xor"] == expected


def names_of(letters):
    return {fields["num"]: fields["letter"] for fields in letters}


def test_kills_during_reinjection(desk):
    """Fault row 54: killed again and again while letters go back; each ends once, attempts stay
    bounded, and an attempt keeps its number."""
    tracker = desk.tracker()
    seed = random.Random(5)
    judged = {}  # num -> first verdict, as a tracker remembers it

    def judge(item):
        verdict = judged.setdefault(item["num"], seed.choice(["applied", "still", "duplicate"]))
        return {"disposition": verdict} if seed.random() < 0.8 else None

    tracker.judge = judge
    mine = [letter(n) for n in range(1, 61)]
    desk.keep(*mine)
    for _ in range(8):
        passes(seed.uniform(0.05, 0.3))
        desk.restart()
    tracker.judge = lambda item: {"disposition": judged.setdefault(item["num"], "applied")}
    until(lambda: desk.books()[0] == 0, 30, lambda: str(desk.books()))
    numbers = collections.defaultdict(set)
    for item in tracker.items:
        numbers[item["letter"], item["attempt"]].add(item["num"])
    assert all(len(n) == 1 for n in numbers.values())
    assert max(attempt for _, attempt in numbers) <= QUICK["max_attempts"]
    for fields in mine:
        view, attempts = desk.show(fields["letter"])
        verdicts = [a["outcome"] for a in attempts]
        assert verdicts == [judged[next(iter(numbers[fields["letter"], n]))]
                            for n in range(1, len(verdicts) + 1)]
        assert view["state"] == ("held" if verdicts[-1] == "still" else "resolved")
    assert sum(desk.books()) == len(mine)


def test_list_by_pages(sleepy):
    mine = [letter(n, reason="malformed" if n % 3 == 0 else "unknown_task",
                   provider="one" if n <= 20 else "two", task=str(1000 + n % 7))
            for n in range(1, 51)]
    sleepy.keep(*mine)

    def pages(limit, **filters):
        found, cursor = [], ""
        while True:
            head, items = sleepy.ask("letters", limit=limit, cursor=cursor, **filters)
            assert head["rc"] == "ok" and len(items) <= limit
            found += items
            cursor = head.get("cursor", "")
            assert bool(head.get("more")) == bool(cursor)
            if not cursor:
                return found

    names = [m["letter"] for m in reversed(mine)]
    assert [v["letter"] for v in pages(7)] == names
    assert [v["letter"] for v in pages(1000)] == names
    assert all("original" not in v for v in pages(50))
    assert len(pages(3, reason="malformed")) == 16
    assert len(pages(3, provider="one")) == 20
    assert len(pages(2, task="1003")) == 7
    sleepy.ask("letter.drop", letter=names[0])
    assert len(pages(9)) == 49
    assert [v["letter"] for v in pages(9, state="dropped")] == names[:1]
    for wrong in ({"state": "parked"}, {"reason": "boredom"}):
        head, _ = sleepy.ask("letters", **wrong)
        assert head["rc"] == "invalid" and head["detail"]


def test_garbage(sleepy):
    """10,000 frames of all kinds of nonsense: counted, dropped, no growth, still at work."""
    seed = random.Random(10)
    whole = [bus.pack("letters", req=1), bus.pack("hello", sender=SENDER), bus.pack("status", req=2),
             bus.pack("batch", sender="nobody", batch=1), bus.pack("letter", **letter(1)),
             bus.pack("letter.drop", req=3), bus.pack("nonsense", req=4)]

    def frame():
        choice = seed.random()
        if choice < 0.3:
            return seed.randbytes(seed.randrange(200))
        data = bytearray(seed.choice(whole))
        if choice < 0.6:
            return bytes(data[:seed.randrange(len(data))])
        data[seed.randrange(len(data))] ^= 1 << seed.randrange(8)
        return bytes(data)

    def burst(count):
        for _ in range(count):
            sleepy.channel.send(*[frame() for _ in range(seed.choice([1, 1, 1, 2, 5]))])
            while sleepy.channel.socket.poll(0):
                sleepy.channel.socket.recv_multipart()

    burst(GARBAGE // 5)
    assert sleepy.healthy()["rc"] == "ok"
    before = sleepy.daemon.rss_kib()
    burst(GARBAGE)
    sleepy.connect()
    assert sleepy.daemon.rss_kib() - before < GROWTH_KIB
    sleepy.keep(letter(7777))
    with bus.Channel(sleepy.run, "control-dlq") as control:
        text = control.ask("control", what="metrics")[1]["bytes"].decode()
    garbage = next(line for line in text.splitlines()
                   if line.startswith("aldaba_letters_garbage_total"))
    assert int(float(garbage.split()[-1])) > GARBAGE / 4


def test_metrics(desk):
    desk.tracker()
    desk.until_state(desk.keep(letter(1)), "resolved")
    desk.keep(letter(2, reason="malformed"))
    with bus.Channel(desk.run, "control-dlq") as control:
        lines = control.ask("control", what="metrics")[1]["bytes"].decode().splitlines()
    for want in ('aldaba_letters{reason="malformed",state="open"} 1',
                 'aldaba_letters{reason="unknown_task",state="resolved"} 1',
                 'aldaba_reinjected_total{reason="unknown_task",result="applied"} 1',
                 'aldaba_letters_received_total{result="applied"} 2'):
        assert want in lines, want
    assert any(line.startswith("aldaba_letters_oldest_age_seconds ") for line in lines)


HOLD, OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAV", "01ARZ3NDEKTSV4RRFFQ69G5FAW"


def test_backup(sleepy):
    mine = sleepy.keep(letter(1))
    copy = os.path.join(sleepy.folder, "copy")
    assert sleepy.ask("backup", dir=copy)[0]["rc"] == "ok"
    with sqlite3.connect(f"file:{copy}/letters.db?mode=ro", uri=True) as file:
        assert file.execute("SELECT letter FROM letters").fetchall() == [(mine,)]
    assert sleepy.ask("backup", dir=copy)[0]["rc"] == "exists"
    assert sleepy.ask("backup", dir="somewhere")[0]["rc"] == "invalid"


def test_a_copy_that_holds(desk):
    """From its end on nothing passes between the dlq and the tracker, until it is released: so that
    the tracker's copy, which is made meanwhile, fits."""
    tracker = desk.tracker()
    tracker.judge = lambda item: {"disposition": "still"}
    copy = os.path.join(desk.folder, "copy")
    mine = desk.keep(letter(1))
    until(lambda: tracker.items, SOON_S, "nothing is sent back")
    assert desk.ask("backup", dir=copy, hold_ms=60000)[0]["rc"] == "invalid", "whose is it?"
    assert desk.ask("backup", dir=copy, hold=HOLD, hold_ms=60000)[0]["rc"] == "ok"
    sent = len(tracker.items)
    assert desk.put(letter(2))[2]["disposition"] == "busy"
    for kind in ("letter.replay", "letter.drop"):
        head, _ = desk.ask(kind, letter=mine)
        assert (head["rc"], "backup" in head["detail"]) == ("busy", True)
    assert desk.ask("backup", dir=copy + "2", hold=OTHER)[0]["rc"] == "busy"
    for what in ("release", "again"):
        assert desk.ask("backup", dir=copy, hold=OTHER, **{what: True})[0]["rc"] == "notfound"
    assert desk.ask("backup", dir=copy, hold=HOLD, hold_ms=60000, again=True)[0]["rc"] == "ok"
    assert desk.books()[2:] == (0, 0) and desk.healthy()["rc"] == "ok"
    stays(lambda: len(tracker.items) <= sent + 1, 0.5, "letters go back")  # one was under way
    assert desk.ask("backup", dir=copy, hold=HOLD, release=True)[0]["rc"] == "ok"
    assert desk.put(letter(3))[3]["disposition"] == "applied"
    until(lambda: len(tracker.items) > sent + 2, SOON_S, "nothing is sent back any more")
    assert desk.ask("backup", dir=copy, hold=HOLD, release=True)[0]["rc"] == "notfound"


def test_a_hold_ends_by_itself(sleepy):
    """Who asked for it may be gone. Who comes too late is told that the copies do not fit."""
    copy = os.path.join(sleepy.folder, "copy")
    assert sleepy.ask("backup", dir=copy, hold=HOLD, hold_ms=300)[0]["rc"] == "ok"
    assert sleepy.put(letter(1))[1]["disposition"] == "busy"
    until(lambda: sleepy.put(letter(2))[2]["disposition"] == "applied", SOON_S, "it holds for ever")
    for what in ("again", "release"):
        assert sleepy.ask("backup", dir=copy, hold=HOLD, **{what: True})[0]["rc"] == "notfound"


def test_a_copy_put_back(sleepy):
    """A restored copy is behind the numbers that the tracker knows answers to; used again under the
    same name they would be answered with what became of other letters."""
    tracker = sleepy.tracker()
    mine = sleepy.keep(letter(1), letter(2))
    copy = os.path.join(sleepy.folder, "copy")
    assert sleepy.ask("backup", dir=copy)[0]["rc"] == "ok"
    sleepy.ask("letter.replay", letter=mine)
    sleepy.until_state(mine, "resolved")
    before = tracker.heads[-1]["sender"]
    assert sleepy.daemon.stop() == 0
    for name in ("letters.db-wal", "letters.db-shm"):
        if os.path.exists(os.path.join(sleepy.data, name)):
            os.remove(os.path.join(sleepy.data, name))
    shutil.copy(os.path.join(copy, "letters.db"), os.path.join(sleepy.data, "letters.db"))
    sleepy.daemon.start()
    sleepy.connect()
    assert sleepy.state(mine) == "open"
    sleepy.ask("letter.replay", letter=mine)
    sleepy.until_state(mine, "resolved")
    assert tracker.heads[-1]["sender"] != before


def test_a_failed_disk(sleepy):
    """Writes fail: nothing is acknowledged, the process says so, and serves again by itself."""
    first = sleepy.keep(letter(1))
    limits = resource.prlimit(sleepy.daemon.pid, resource.RLIMIT_FSIZE)
    resource.prlimit(sleepy.daemon.pid, resource.RLIMIT_FSIZE, (1, limits[1]))
    lost = letter(2, original=os.urandom(200000))
    sleepy.send(lost)
    until(lambda: sleepy.healthy()["rc"] != "ok", SOON_S, "it says that it is well")
    assert sleepy.ask("letter.show", letter=first)[0]["rc"] == "io"
    sleepy.channel.send(bus.pack("hello", sender=SENDER, instance="T1", role="tracker", floor=1))
    assert not sleepy.channel.socket.poll(200), "acknowledged without a disk"
    resource.prlimit(sleepy.daemon.pid, resource.RLIMIT_FSIZE, limits)
    until(lambda: sleepy.healthy()["rc"] == "ok", SOON_S, "it does not recover")
    assert sleepy.put(lost)[2]["disposition"] in ("applied", "duplicate")
    assert sleepy.show(first)[0]["state"] == "open"
    assert sleepy.books() == (2, 0, 0, 0)
    assert sleepy.daemon.starts == 1


@pytest.mark.skipif(not may_mount(), reason="needs root to mount a small disk")
def test_a_full_disk():
    desk = Desk(dlq=LATER)
    with SmallDisk(desk.data, 4096) as disk, desk:
        kept = desk.keep(letter(1))
        disk.fill()
        big = [letter(n, original=os.urandom(100000)) for n in range(2, 8)]
        acks = desk.put(*big)
        assert {ack["disposition"] for ack in acks.values()} == {"busy"}
        assert desk.healthy()["rc"] != "ok"
        assert desk.show(kept)[0]["state"] == "open"
        disk.free()
        assert {a["disposition"] for a in desk.put(*big).values()} == {"applied"}
        assert desk.healthy()["rc"] == "ok"
        assert desk.books() == (7, 0, 0, 0)
        desk.daemon.clean()


def test_stops_in_peace(desk):
    tracker = desk.tracker()
    desk.until_state(desk.keep(letter(1)), "resolved")
    assert desk.daemon.stop() == 0
    assert tracker.items
