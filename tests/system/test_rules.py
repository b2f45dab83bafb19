"""The interleavings that would break a promise, each played on real processes. A test's number is
that of the rule in docs/GUARANTEES.md."""
import contextlib
import glob
import itertools
import json
import os
import queue
import sqlite3
import threading
import time

import pytest
from support import bus
from support.house import KEY, House
from support.knocker import Knocker
from support.ledger import Ledger, settle
from support.load import Load
from support.peers import HeldProvider, Listener, Sender
from support.seen import arrivals, demand_audit, knock, more, only_event
from support.settings import free_port
from support.stub import Stub
from support.until import passes, stays, until

SOON_S = 5
MIB = 1 << 20
CALM = {"callback": {"stale_after": "120s", "plus": "auto"},  # no task is polled during its test
        "poll": {"schedule": {"give_up_after": "300s"}}}
FAST_DESK = {"dlq": {"first_after": "200ms", "factor": "100%", "max_after": "200ms",
                     "jitter": "0%", "tick": "50ms", "max_attempts": 1000}}
FAKETIME = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
EVERY_ARRIVAL = ("applied", "progress", "duplicate", "parked", "dead", "dropped")
EVERY_END = ("done", "failed", "lost", "expired", "cancelled")


@pytest.fixture(scope="module")
def house():
    """For tests that leave it as they found it."""
    with House(profile=CALM, settings=FAST_DESK) as one:
        yield one.start()


def fresh(house, **params):
    """A provider id that never calls back by itself."""
    return house.submit(1, fate="drop", **{"solve": 600, **params})[0]


def token_task(house, **params):
    """A task with a URL of its own: (id, provider id, path)."""
    made = house.reserve()
    provider_id = fresh(house, **params)
    house.attach(made["id"], provider_id)
    return made["id"], provider_id, made["callback_url"].removeprefix(house.public.url)


# ---- 1: our own verdict never overtakes a callback that was acknowledged ----


def test_rule_1_an_outage_longer_than_the_tasks_live():
    """The tracker is down while callbacks are acknowledged into the spool, and every deadline
    passes. When it is back the gateway is held up, so that the tasks are overdue and the answers
    are still in the spool. Nothing may end before they are told."""
    profile = {"callback": {"stale_after": "500ms"},
               "poll": {"schedule": {"first_after": "500ms", "give_up_after": "2s"}}}
    settings = {"tracker": {"last_poll_grace": "500ms", "recover_grace": "60s"}}
    with House(profile=profile, settings=settings) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 40, register=False)
        for provider_id in knocker.ids:
            ledger.registered(provider_id, house.register(provider_id)["id"])
        house.tracker.kill9()
        while knocker.waiting:
            assert knocker.knock().status == 200
        passes(3)
        house.gateway.pause()
        house.tracker.start()
        stays(lambda: not house.events(), 4, "a task was given up, its answer is in the spool")
        house.gateway.resume()
        verdict = settle(house, ledger).demand()
        assert set(verdict.sources) <= {"callback", "late"}, verdict
        assert {event["state"] for event in house.events()} == {"done"}
        assert not house.dead_letters()


@pytest.mark.skipif(not FAKETIME, reason="needs libfaketime")
@pytest.mark.parametrize("jump", ["+5h", "-5h"])
def test_rule_1_a_clock_that_jumps_moves_no_deadline(jump):
    """The wall clock of the tracker jumps while it runs, and between two of its runs: nothing is
    stale or given up by that, and what is due is due when it would have been."""
    profile = {"callback": {"stale_after": "20s"},
               "poll": {"schedule": {"first_after": "20s", "give_up_after": "40s"}}}
    with House(profile=profile, settings={"tracker": {"last_poll_grace": "1s"}}) as house:
        clock = os.path.join(house.folder, "clock")

        def set_clock(offset):
            with open(f"{clock}.new", "w", encoding="ascii") as file:
                file.write(offset)
            os.rename(f"{clock}.new", clock)

        set_clock("+0s")
        house.add("tracker", "tracker", {
            "LD_PRELOAD": FAKETIME[0], "FAKETIME_TIMESTAMP_FILE": clock, "FAKETIME_NO_CACHE": "1",
            "FAKETIME_DONT_FAKE_MONOTONIC": "1", "FAKETIME_DISABLE_SHM": "1"})
        house.start()
        tasks = [house.register(fresh(house, solve=0))["id"] for _ in range(20)]
        short = house.register(fresh(house, solve=0, answer="due"), stale_after="4s")["id"]
        set_clock(jump)
        stays(lambda: len(house.tasks(state="pending")) == 21, 1, "the jump ended or polled tasks")
        house.tracker.restart()
        house.until_serving()
        set_clock("+0s")
        house.tracker.restart()
        house.until_serving()
        assert (house.ended(short, 12)["result"], len(house.events())) == ("due", 1)
        for task_id in tasks:
            assert house.task(task_id)["state"] == "pending"
        assert int(house.register(fresh(house))["id"]) > max(map(int, tasks)), "ids went back"
        demand_audit(house)


# ---- 2: a report is a fact, however late ----


def held_polls(port):
    return {"callback": {"stale_after": "200ms"},
            "poll": {"request": {"url": f"http://127.0.0.1:{port}/res.php"}, "timeout": "60s",
                     "schedule": {"first_after": "200ms", "give_up_after": "120s"}}}


def test_rule_2_a_poller_that_slept_past_its_lease():
    """Its poll is asked again by another; when it wakes up, what it has to say changes nothing."""
    port = free_port()
    with House(profile=held_polls(port), settings={"tracker": {"lease": "2s"}}) as house, \
            HeldProvider(port) as provider:
        house.start()
        task_id = house.register("4711")["id"]
        until(lambda: len(provider.asked) == 1, SOON_S, "it is not polled")
        house.poller1.pause()
        house.add_poller(2).start()
        until(lambda: len(provider.asked) == 2, 15, "the lease never moves")
        slept, new = provider.asked
        slept.put(b"OK|same")
        house.poller1.resume()
        said = 'instance="poller-p1"'
        until(lambda: any(name.startswith("aldaba_polls_total") and said in name
                          for name in house.metrics()), SOON_S, "the sleeper says nothing")
        new.put(b"OK|same")
        assert house.ended(task_id, SOON_S)["result"] == "same"
        stays(lambda: len(house.events()) == 1, 0.5, "two events")
        assert not house.dead_letters()
        demand_audit(house)


@pytest.mark.parametrize("when", ["while another asks", "when it is over"])
@pytest.mark.parametrize("answer", [b"same", b"other"])
def test_rule_2_a_report_after_its_lease_is_a_fact(when, answer):
    """A poller that has the answer, and can tell it only when its lease is another's."""
    port = free_port()
    with House(profile=held_polls(port), settings={"tracker": {"lease": "2s"}}) as house, \
            HeldProvider(port) as provider, bus.Channel(house.run, "jobs") as channel:
        house.daemons.pop("poller1")
        house.start()
        task_id = house.register("4711")["id"]
        slow = Sender(channel, "01JZ000000000000000000000P", role="poller").hello()
        lease = slow.lease()
        assert (lease["task"], lease["provider_id"]) == (task_id, "4711")
        house.add_poller(2).start()
        until(lambda: provider.asked, 15, "the lease never moves")
        if when == "when it is over":
            provider.asked[0].put(b"OK|same")
            house.ended(task_id, SOON_S)
        outcome = bus.pack("outcome", num=1, lease=lease["lease"], task=lease["task"],
                           provider="sandbox", left=True, answered=True, then="done",
                           result=answer, http=200, at_ms=int(time.time() * 1000))
        open_still = when == "while another asks"
        assert slow.batch_of(outcome) == (["applied"] if open_still else ["duplicate"])
        assert slow.batch_of(outcome) == ["duplicate"], "sent again it changes nothing"
        want = answer if open_still else b"same"
        assert only_event(house, task_id)["result"] == want
        for waiting in provider.asked:
            waiting.put(b"OK|same")
        stays(lambda: len(house.events()) == 1, 0.5, "two events")
        demand_audit(house)


# ---- 3: a stranger cannot stop the account, burn its polls or end a task ----


def test_rule_3_strangers_knock_about_the_account():
    schedule = {"first_after": "8s", "every": "1s", "backoff": "100%", "jitter": "0%",
                "max_requests": 2, "give_up_after": "120s"}
    profile = {"callback": {"stale_after": "8s"}, "poll": {"schedule": schedule}}
    with House(profile=profile) as house:
        house.start()
        begun = time.monotonic()
        provider_id = fresh(house, moods="html502*")
        task_id = house.register(provider_id)["id"]
        codes = itertools.cycle(["IP_BANNED", "ERROR: 1005", "ERROR_WRONG_USER_KEY",
                                 "MAX_USER_TURN", "ERROR_IP_NOT_ALLOWED", "ERROR_ZERO_BALANCE"])
        while time.monotonic() < begun + 4:
            code = next(codes)
            knock(house, provider_id, code)
            guessed = str(int(provider_id) + 1 + len(code))
            assert house.public.get("/callback", id=guessed, code=code).status in (200, 503)
            passes(0.02)
        hinted = house.provider_stats()["polls"]
        assert 2 <= hinted <= 5, "a hint brings a poll, at most one per `every`"
        figures = bus.figures(house.run, "status")["provider"]
        assert figures["sandbox.blocked_ms"] == 0, "a stranger stopped the account"
        assert house.task(task_id)["state"] in ("pending", "polling")
        # The task's own polls are all left.
        until(lambda: house.provider_stats()["polls"] >= hinted + 2, 20, "hints used its polls up")
        knock(house, provider_id, "the-answer")
        assert only_event(house, task_id)["result"] == b"the-answer"


def test_rule_3_a_code_without_proof_is_not_believed():
    """The default trust: the bare form, from anywhere, brings a poll and nothing else."""
    profile = {"callback": {"trust": "token", "auth": None, "stale_after": "60s"}}
    with House(profile={**profile, "poll": {"schedule": {"give_up_after": "120s"}}}) as house:
        house.start()
        task_id, provider_id, path = token_task(house)
        for code in ("FORGED", "ERROR_CAPTCHA_UNSOLVABLE"):
            assert house.public.get("/callback", id=provider_id, code=code).status == 200
        stays(lambda: not house.events(), 1, "a stranger ended the task")
        assert house.public.get(path, id=provider_id, code="genuine").status == 200
        assert only_event(house, task_id)["result"] == b"genuine"


# ---- 4: a big one does not poison its batch ----


@pytest.mark.parametrize("tracker", ["there", "away"])
def test_rule_4_big_bodies_among_small_ones(tracker):
    with House(profile=CALM) as house:
        house.start()
        sizes = [10] * 15 + [3 * MIB // 2] + [10] * 5 + [4 * MIB]
        tasks = [token_task(house) for _ in sizes]
        if tracker == "away":
            house.tracker.kill9()
        gate = threading.Barrier(len(sizes))
        statuses = [None] * len(sizes)

        def call(number):
            _, provider_id, path = tasks[number]
            body = f"id={provider_id}&code=".encode()
            body += b"c" * (sizes[number] - len(body) if sizes[number] > MIB else sizes[number])
            gate.wait()
            statuses[number] = house.public.request("POST", path, body).status

        threads = [threading.Thread(target=call, args=(n,)) for n in range(len(sizes))]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        assert statuses == [200] * len(sizes)
        if tracker == "away":
            house.tracker.start()
            house.until_serving()
        for number, (task_id, _, _) in enumerate(tasks):
            result = house.ended(task_id, 20)["result"]
            assert set(result) == {"c"} and len(result) > sizes[number] - 100
        until(lambda: bus.figures(house.run, "status")["gateway"]["spool_items"] == 0, SOON_S,
              "the spool is never empty")
        assert arrivals(house)["received"] == len(sizes)
        demand_audit(house)


# ---- 5: a repeat gets its first disposition, counted once ----


@pytest.mark.parametrize("end", ["kill9", "stop"])
def test_rule_5_repeats_get_their_first_disposition(end):
    """The acknowledgement of a batch is lost with the tracker; another batch, and a snapshot of
    what was taken, come in between. Sent again, each item is what it was, and counts once, whether
    items come in a frame each or joined."""
    name = "01JZ0000000000000000000000"
    with House(profile=CALM) as house:
        house.start()
        ids = [fresh(house) for _ in range(4)]
        for provider_id in ids[:3]:
            house.register(provider_id)
        first = [(1, ids[0], "A"), (2, ids[0], "B"), (3, ids[0], "A"),
                 (4, ids[1], "CAPCHA_NOT_READY"), (5, ids[3], "nobodys")]
        with bus.Channel(house.run, "events") as channel:
            told = Sender(channel, name).hello().deliver(*first)
        assert told == ["applied", "dead", "duplicate", "progress", "parked"]
        for joins in (True, False):
            getattr(house.tracker, end)()
            house.tracker.start()
            house.until_serving()
            with bus.Channel(house.run, "events") as channel:
                sender = Sender(channel, name).hello()
                assert sender.welcome["joined"]
                sender.joins = joins
                assert sender.deliver((6, ids[2], "C"), *first) == ["applied", *told]
        counted = arrivals(house)
        assert [counted[word] for word in EVERY_ARRIVAL] == [2, 1, 1, 1, 1, 0]
        assert len(house.events()) == 2
        until(lambda: len(house.dead_letters()) == 1, SOON_S, "the letter does not arrive")
        # Below its floor a sender never sends again: what comes there is not taken a second time.
        with bus.Channel(house.run, "events") as channel:
            sender = Sender(channel, name, floor=7).hello()
            assert sender.deliver((7, ids[0], "A")) == ["duplicate"]
        demand_audit(house)


def test_rule_5_a_tracker_that_is_slow_is_not_sent_more():
    """Acknowledgements come late for a while: callbacks are spooled, and drained once."""
    settings = {"gateway": {"ack_max": "400ms", "resend_after": "1s"}}
    with House(profile=CALM, settings=settings) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 24)
        for _ in range(3):
            house.tracker.pause()
            for _ in range(3):
                assert knocker.knock().status == 200
            house.tracker.resume()
            for _ in range(5):
                assert knocker.knock().status == 200
        settle(house, ledger).demand()
        counted = arrivals(house)
        assert (counted["received"], counted["applied"]) == (24, 24), counted


# ---- 6: strangers do not fill the disk ----


def test_rule_6_strangers_have_a_quota_and_the_proven_have_room():
    profile = {"callback": {**CALM["callback"], "quota_count": 40, "parked_for": "2s"},
               "poll": CALM["poll"]}
    settings = {"dlq": {"quota_count": 5, "first_after": "1h", "tick": "50ms"}}
    with House(profile=profile, settings=settings) as house:
        house.start()
        before = arrivals(house)["received"]
        answers = [house.public.get("/callback", id=f"nobody-{n}", code="X") for n in range(60)]
        refused = [answer for answer in answers if answer.status == 503]
        taken = [answer for answer in answers if answer.status == 200]
        assert taken and refused and len(taken) + len(refused) == 60
        assert all(int(answer.headers["retry-after"]) >= 1 for answer in refused)
        assert arrivals(house)["received"] - before == len(taken), "refused is not received"
        assert house.get("/v1/status")["gateway"]["refused"] == len(refused)
        # Proven ones are taken as if nothing had happened.
        for _ in range(20):
            task_id, provider_id, path = token_task(house)
            assert house.public.get(path, id=provider_id, code="P").status == 200
            only_event(house, task_id)
        # Their time is up: letters, of which the oldest are purged down to the quota, and counted.
        until(lambda: not house.books()["status"]["parked"], 15, "parked for ever")
        until(lambda: house.books()["letters"]["made"] >= len(taken), SOON_S, "no letters")
        until(lambda: len(house.dead_letters()) == 5, 20, lambda: f"{len(house.dead_letters())}")
        demand_audit(house)


def test_rule_6_forged_tokens_leave_nothing(house):
    """With the tracker there and away: 404, nothing stored. Genuine ones of a task that is gone
    are stored all the same."""
    _, provider_id, path = token_task(house)
    lead, token = path[:-34], path[-34:]
    forged = [lead + "".join(swapped) for swapped in
              (token[1:] + token[0], "B" * 34, token[:-1], token[:20] + "AAAA" + token[24:])]
    before = arrivals(house)
    with paused(house.tracker):
        for target in forged:
            assert house.public.get(target, id=provider_id, code="F").status == 404
    for target in forged:
        assert house.public.get(target, id=provider_id, code="F").status == 404
    assert arrivals(house) == before
    assert house.get("/v1/status")["spool"]["items"] == 0


@contextlib.contextmanager
def paused(daemon):
    daemon.pause()
    try:
        yield
    finally:
        daemon.resume()


# ---- 7: what a re-injection does depends on the reason ----


def letter_of(house, reason, **filters):
    return until(lambda: house.dead_letters(reason=reason, **filters), SOON_S, f"no {reason}")[0]


def shown(house, letter):
    return house.get(f"/v1/dead-letters/{letter['id']}")


def test_rule_7_reasons_that_only_a_person_can_help(house):
    """malformed, conflict and unauthenticated are not tried by schedule; what a person may do
    differs."""
    task_id, provider_id, path = token_task(house)
    assert house.public.get(f"{path}?id=%zz").status == 200
    malformed = letter_of(house, "malformed", task=task_id)
    assert house.public.get(path, id=provider_id, code="one").status == 200
    assert house.public.get(path, id=provider_id, code="two").status == 200
    conflict = letter_of(house, "conflict", task=task_id)
    stays(lambda: shown(house, malformed)["attempts"] + shown(house, conflict)["attempts"] == 0, 1,
          "it is tried by schedule")
    target = f"/v1/dead-letters/{conflict['id']}/replay"
    assert 400 <= house.private.post_json(target, {}).status < 500, "it would conflict for ever"
    house.post(f"/v1/dead-letters/{malformed['id']}/replay", {})
    until(lambda: [one["outcome"] for one in shown(house, malformed)["history"]] == ["still"],
          SOON_S, "not tried")
    assert len(house.dead_letters(task=task_id)) == 2, "a replay made a second letter"
    for letter in (malformed, conflict):
        answer = house.private.request("DELETE", f"/v1/dead-letters/{letter['id']}")
        assert answer.status in (200, 204), answer
    until(lambda: not house.dead_letters(task=task_id), SOON_S, "not dropped")
    demand_audit(house)


def test_rule_7_unauthenticated_is_believed_by_nobody_but_an_administrator():
    profile = {"callback": {"trust": "token", "auth": {"source_ips": ["10.0.0.0/8"]},
                            "stale_after": "120s"}, "poll": CALM["poll"]}
    with House(profile=profile, settings=FAST_DESK) as house:
        house.start()
        task_id, provider_id, path = token_task(house)
        answer = house.public.get(path, id=provider_id, code="from-elsewhere")
        assert answer.status == 200 or 400 <= answer.status < 500
        letter = letter_of(house, "unauthenticated")
        stays(lambda: not house.events() and shown(house, letter)["attempts"] == 0, 1.5,
              "it was tried by schedule, or believed")
        target = f"/v1/dead-letters/{letter['id']}/replay"
        refused = house.private.post_json(target, {})
        until(lambda: refused.status >= 400 or shown(house, letter)["attempts"], SOON_S, "nothing")
        assert not house.events(), "a plain replay raised the proof"
        house.post(target, {"believe": True, "by": "admin"})
        event = only_event(house, task_id)
        assert (event["result"], event["source"]) == (b"from-elsewhere", "manual")
        until(lambda: not house.dead_letters(), SOON_S, "the letter stays open")
        demand_audit(house)


def test_rule_7_unmapped_words_are_tried_by_schedule_and_stay(house):
    task_id, provider_id, path = token_task(house)
    assert house.public.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS").status == 200
    letter = letter_of(house, "unmapped_status", task=task_id)
    until(lambda: shown(house, letter)["attempts"] >= 2, SOON_S, "it is not tried by schedule")
    assert {one["outcome"] for one in shown(house, letter)["history"]} == {"still"}
    assert len(house.dead_letters(task=task_id)) == 1
    assert house.public.get(path, id=provider_id, code="the-end").status == 200
    assert only_event(house, task_id)["result"] == b"the-end"
    until(lambda: not house.dead_letters(task=task_id), SOON_S, "its task is over, it is tried on")
    demand_audit(house)


def test_rule_7_expired_has_nothing_to_try():
    profile = {"callback": {"stale_after": "300ms"}, "late_results": "keep",
               "poll": {"schedule": {"first_after": "300ms", "give_up_after": "1s"}}}
    with House(profile=profile,
               settings={**FAST_DESK, "tracker": {"last_poll_grace": "500ms"}}) as house:
        house.start()
        task_id = house.register(fresh(house))["id"]
        assert house.ended(task_id, 10)["state"] == "expired"
        letter = letter_of(house, "expired")
        stays(lambda: shown(house, letter)["attempts"] == 0, 1, "it was tried")
        # 9: the answer after our own verdict is kept for a person, and changes nothing.
        knock(house, house.task(task_id)["provider_id"], "paid-for")
        late = letter_of(house, "conflict", task=task_id)
        assert "given the task up" in shown(house, late)["cause"]
        assert len(house.events_of(task_id)) == 1
        assert house.task(task_id)["state"] == "expired"
        demand_audit(house)


# ---- 8: the books balance at every moment ----


def unbalanced(books):
    """Sentences about what does not add up in one reading."""
    arrived, tasks, letters = books["arrivals"], books["tasks"], books["letters"]
    results, corrections = books["results"], books["corrections"]
    ends = sum(tasks[word] for word in EVERY_END)
    sums = {
        "arrivals": (arrived["received"], sum(arrived[word] for word in EVERY_ARRIVAL)),
        "tasks": (tasks["created"], tasks["open"] + ends),
        "results": (sum(results.values()), ends),
        "applied": (arrived["applied"] + tasks["expired"] + tasks["cancelled"],
                    sum(results.values()) - results["poll"] + corrections["applied"]),
        "letters": (letters["made"], letters["open"] + letters["resolved"] + letters["dropped"]),
    }
    return [f"{name}: {one} is not {other}" for name, (one, other) in sums.items() if one != other]


def test_rule_8_the_books_balance_at_every_moment():
    sandbox = ("--fates", "ok=50,drop=10,double=10,conflict=10,error=5,early=5,reorder=10",
               "--pingback", "mixed", "--solve", "0.3")
    with House(pollers=2, sandbox=sandbox, settings=FAST_DESK,
               profile={"callback": {"parked_for": "200ms"}}) as house:
        house.start()
        readings = 0
        with Load(house, rate=80) as load:
            end = time.monotonic() + 6
            while time.monotonic() < end:
                books = house.books()
                assert not unbalanced(books), (unbalanced(books), books)
                assert books["status"]["balanced"] == 1
                readings += 1
                if readings % 50 == 0:
                    audit = house.get("/v1/audit")
                    assert audit["balanced"], audit["problems"]
                if readings % 120 == 0:
                    answer = house.public.get("/callback", id=f"nobody-{readings}", code="X")
                    load.ledger.noted(f"nobody-{readings}", "X", answer.status)
        assert readings > 20
        settle(house, load.ledger).demand()
        books = house.books()
        assert books["arrivals"]["dead"] and books["arrivals"]["duplicate"], books
        demand_audit(house)


# ---- 9: what is another answer ----


def test_rule_9_a_thousand_answers_make_four_letters(house):
    task_id, provider_id, path = token_task(house)
    before = arrivals(house)
    assert house.public.get(path, id=provider_id, code="the-first").status == 200
    for number in range(1000):
        assert house.public.get(path, id=provider_id, code=f"other-{number}").status == 200
    letters = until(lambda: house.dead_letters(reason="conflict", task=task_id), SOON_S, "none")
    stays(lambda: len(house.dead_letters(reason="conflict", task=task_id)) <= 4, 0.5, "too many")
    letters = house.dead_letters(reason="conflict", task=task_id)
    assert len(letters) == 4
    counted = more(arrivals(house), before)
    assert counted == {"received": 1001, "applied": 1, "dead": 4, "duplicate": 996}
    assert only_event(house, task_id)["result"] == b"the-first"


SAME = {
    "form and JSON": ("POST", "", lambda i: f"id={i}&code=a%20b".encode(),
                      lambda i: json.dumps({"id": i, "code": "a b"}).encode()),
    "plus and space": ("POST", "", lambda i: f"id={i}&code=a%2Bb".encode(),
                       lambda i: json.dumps({"id": i, "code": "a b"}).encode()),
    "white space around it": ("POST", "", lambda i: f"id={i}&code=%20ab%0A".encode(),
                              lambda i: json.dumps({"id": i, "code": "ab"}).encode()),
    "the order of members": ("POST", "",
                             lambda i: b'{"id":"%s","code":{"a":1,"b":[2, 3]}}' % i.encode(),
                             lambda i: b'{"code":{"b":[2,3],"a":1},"id":"%s"}' % i.encode()),
}


@pytest.mark.parametrize("name", SAME)
def test_rule_9_the_same_answer_in_another_form(house, name):
    method, query, first, second = SAME[name]
    task_id, provider_id, path = token_task(house)
    before = arrivals(house)
    for body in (first(provider_id), second(provider_id)):
        kind = "application/json" if body[:1] == b"{" else "application/x-www-form-urlencoded"
        answer = house.public.request(method, path + query, body, {"Content-Type": kind})
        assert answer.status == 200
    assert more(arrivals(house), before) == {"received": 2, "applied": 1, "duplicate": 1}
    assert not house.dead_letters(task=task_id)


# ---- 13: who listens to one topic sees what it missed ----


def test_rule_13_a_gap_is_seen_and_closed(house):
    def fail(count):
        for _ in range(count):
            task_id = house.register(provider_id := fresh(house))["id"]
            knock(house, provider_id, "ERROR_CAPTCHA_UNSOLVABLE")
            only_event(house, task_id)
            other = house.register(done := fresh(house))["id"]
            knock(house, done, "done-in-between")
            only_event(house, other)

    with Listener(house.run, "result.sandbox.failed.") as listener:
        listener.listen(True)
        until(lambda: listener.read().head, SOON_S, "no head")
        fail(3)
        until(lambda: len(listener.read().hints) == 3, SOON_S, "no hints")
        chain = [(hint["prev"], hint["seq"]) for hint in listener.hints]
        assert all(one[1] == other[0] for one, other in zip(chain, chain[1:])), chain
        assert all(seq - prev > 1 for prev, seq in chain[1:]), "others came in between: no gap"
        # It is deaf for a while, and hears again.
        last = listener.hints[-1]
        listener.listen(False)
        fail(2)
        listener.listen(True)
        fail(1)
        hint = until(lambda: listener.read().hints[3:], SOON_S, "no hint")[0]
        assert hint["prev"] > last["seq"], "the gap does not show"
        position = f"{last['lane']}:{last['seq']}"
        missed = bus.Feed(house.run, after=position).more(state="failed")
        assert [event["state"] for event in missed] == ["failed"] * 3
        assert missed[-1]["seq"] == hint["seq"] and missed[1]["seq"] == hint["prev"]
        # The last one of all is lost: the head tells.
        listener.listen(False)
        fail(1)
        feed = bus.Feed(house.run, after=f"{hint['lane']}:{hint['seq']}")
        until(lambda: listener.read().head != feed.position, SOON_S, "the head does not move")
        assert len(feed.more(state="failed")) == 1
        # A fetch that finds nothing moves on to where it has looked.
        nothing = bus.Feed(house.run, after="")
        assert nothing.more(state="cancelled") == []
        until(lambda: listener.read().head == nothing.position == feed.position, SOON_S, "behind")


# ---- 16: ids of a provider come again ----


def test_rule_16_a_finished_tasks_id_is_taken_over(house):
    provider_id = fresh(house)
    first = house.register(provider_id)["id"]
    assert house.register(provider_id)["id"] == first, "registered twice is one task"
    knock(house, provider_id, "the-old-answer")
    only_event(house, first)
    second = house.register(provider_id, key=f"again-{provider_id}")["id"]
    assert second != first
    assert house.task(second)["state"] == "pending", "it met the old answer"
    knock(house, provider_id, "the-new-answer")
    assert only_event(house, second)["result"] == b"the-new-answer"
    assert only_event(house, first)["result"] == b"the-old-answer"
    assert not house.dead_letters(task=first) and not house.dead_letters(task=second)


def test_rule_16_the_sandbox_starts_again():
    with House(profile=CALM) as house:
        house.start()
        old = set(house.submit(50, fate="ok", solve=0.05))
        house.until_provider_rests()
        assert arrivals(house)["parked"] == 50
        house.sandbox.kill9()
        house.sandbox.start()
        new = house.submit(50, fate="drop", solve=600)
        assert not old & set(new)
        for provider_id in new:
            house.register(provider_id)
        stays(lambda: not house.events(), 0.5, "a new task met an old answer")


# ---- 18: the dlq is away ----


def test_rule_18_letters_wait_and_do_not_rise(house):
    made = []
    house.dlq.kill9()
    open_before = house.books()["letters"]["open"]
    for _ in range(12):
        task_id, provider_id, path = token_task(house)
        for code in ("this", "that"):
            assert house.public.get(path, id=provider_id, code=code).status == 200
        made.append(task_id)
    status = house.get("/v1/status")
    assert "dlq" in status["away"]
    assert status["letters"]["outbox"] == 12 and status["letters"]["open"] == open_before + 12
    house.dlq.start()

    def arrived():
        return {letter["task"] for letter in house.dead_letters(reason="conflict")}

    until(lambda: set(made) <= arrived(), 15, "letters are lost")
    until(lambda: house.books()["letters"]["outbox"] == 0, SOON_S, "the outbox is never empty")
    # Dropped, then everything is killed before much can be settled: it stays dropped.
    letters = {letter["task"]: letter["id"] for letter in house.dead_letters(reason="conflict")}
    for task_id in made[:6]:
        answer = house.private.request("DELETE", f"/v1/dead-letters/{letters[task_id]}")
        assert answer.status in (200, 204), answer
    house.dlq.kill9()
    house.tracker.kill9()
    house.dlq.start()
    house.tracker.start()
    house.until_serving()
    until(lambda: house.books()["letters"]["dropped"] >= 6, SOON_S, "a closing was forgotten")
    stays(lambda: not set(made[:6]) & arrived(), 1, "a dropped letter rose")
    assert set(made[6:]) <= arrived()
    for task_id in made[6:]:
        house.private.request("DELETE", f"/v1/dead-letters/{letters[task_id]}")
    demand_audit(house)


# ---- 20: a spool is never left behind in silence ----


def test_rule_20_a_gateway_that_leaves_says_where_its_spool_lies():
    with House(profile=CALM) as house:
        house.start()
        provider_ids = [fresh(house) for _ in range(5)]
        tasks = [house.register(provider_id)["id"] for provider_id in provider_ids]
        house.tracker.kill9()
        for provider_id in provider_ids:
            knock(house, provider_id, "spooled")
        assert house.gateway.stop(30) == 75
        spool = os.path.join(house.folder, "data", "spool")
        assert any(spool in line for line in house.gateway.lines()), house.gateway.tail()
        house.tracker.start()
        figures = bus.figures(house.run, "status")["gateway"]
        assert figures["known"] == 1
        house.gateway.launch().until_ready()
        house.until_serving()
        for task_id in tasks:
            assert house.ended(task_id, 10)["result"] == "spooled"
        assert house.gateway.stop(30) == 0, "nothing is left"


# ---- 21: our own faults are 503 with Retry-After, never 4xx ----


def test_rule_21_answers_while_we_are_broken():
    settings = {"gateway": {"spool_max": "1MiB", "retry_after": "7s", "ack_min": "50ms"}}
    with House(profile=CALM, settings=settings) as house:
        house.start_sandbox()
        house.write_settings()
        house.gateway.launch().until_ready()
        # Never welcomed: no key is known, so a genuine token can't be told from a forged one.
        answer = house.public.get("/cb/sandbox/" + "A" * 34, id="1", code="X")
        assert (answer.status, answer.headers.get("retry-after")) == (503, "7")
        assert house.private.get("/readyz").status == 503
        assert house.private.get("/healthz").status == 200
        for name in ("tracker", "dlq", "poller1"):
            house.daemons[name].start()
        house.until_serving()
        tasks = [token_task(house) for _ in range(4)]
        house.tracker.kill9()
        statuses = []
        for number in itertools.cycle(range(len(tasks))):
            _, provider_id, path = tasks[number]
            body = f"id={provider_id}&code=".encode() + b"c" * 200_000
            answer = house.public.request("POST", path, body)
            statuses.append(answer.status)
            if answer.status != 200:
                break
            assert len(statuses) < 60, "the spool has no bound"
        assert statuses[0] == 200 and statuses[-1] == 503
        assert answer.headers["retry-after"] == "7"
        for target in (f"/v1/tasks/{tasks[0][0]}", "/v1/tasks", "/v1/audit"):
            asked = house.private.get(target)
            assert asked.status in (503, 504), (target, asked)
        house.tracker.start()
        house.until_serving()
        until(lambda: house.public.get(tasks[0][2], id=tasks[0][1], code="c").status == 200, SOON_S,
              "it refuses for ever")


def test_rule_21_what_was_turned_away_is_asked_for():
    """A provider that does not call again after a 503: the gateway tells the tracker which task."""
    settings = {"gateway": {"spool_max": "1MiB", "ack_min": "50ms"}}
    with House(profile=CALM, settings=settings) as house:
        house.start()
        noisy, turned_away = token_task(house), token_task(house, solve=0)
        house.tracker.kill9()
        big = f"id={noisy[1]}&code=".encode() + b"c" * 200_000
        until(lambda: house.public.request("POST", noisy[2], big).status == 503, SOON_S,
              "the spool has no bound")
        answer = house.public.request("POST", turned_away[2], b"code=" + b"c" * 200_000)
        assert answer.status == 503
        assert any(value >= 2 for name, value in house.metrics().items()
                   if name.startswith("aldaba_gateway_hints_total") and "remembered" in name)
        house.tracker.start()
        house.until_serving()
        assert house.ended(turned_away[0], 15)["source"] == "poll"
        assert house.aldaba("audit").returncode == 0


# ---- 23: secrets are not in what is kept ----


def tattle(asked):
    """A res.php that tells everybody the key that it was asked with."""
    return f"ERROR_WRONG_REQUEST {asked.target} key={KEY}".encode()


def test_rule_23_no_secret_is_kept():
    port = free_port()
    profile = {"callback": {"stale_after": "300ms", "parked_for": "500ms"},
               "poll": {"request": {"url": f"http://127.0.0.1:{port}/res.php"},
                        "schedule": {"first_after": "300ms", "give_up_after": "20s"}}}
    settings = {**FAST_DESK, "log": {"level": "debug"}}
    with Stub(tattle, port), House(profile=profile, settings=settings) as house:
        house.start()
        made = [token_task(house) for _ in range(4)]
        tokens = [path[-34:] for _, _, path in made]
        until(lambda: house.books()["polls"]["answered"] >= 4, 10, "it is not polled")
        for _, provider_id, path in made[:2]:
            house.public.get(f"{path}?id=%zz")
            house.public.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS")
        house.tracker.kill9()
        for _, provider_id, path in made:
            house.public.request("POST", path, f"id={provider_id}&code=one".encode(),
                                 {"Authorization": "Bearer canary-authorization",
                                  "Cookie": "canary-cookie", "X-Aldaba-Secret": "canary-header"})
        house.public.get(made[0][2], id=made[0][1], code="another")
        house.tracker.start()
        house.until_serving()
        for task_id, _, _ in made:
            assert house.ended(task_id, 10)["result"] in ("one", "another")
        until(lambda: house.dead_letters(reason="conflict"), SOON_S, "no letter")
        secrets = [KEY, *tokens, "canary-authorization", "canary-cookie", "canary-header"]
        said = [house.aldaba("dlq", "ls").stdout, house.aldaba("--json", "tasks").stdout,
                house.private.get("/v1/tasks").text, house.private.get("/metrics").text,
                house.private.get("/v1/status").text]
        for letter in house.dead_letters():
            said += [house.aldaba("dlq", "show", letter["id"]).stdout, json.dumps(letter),
                     house.private.get(f"/v1/dead-letters/{letter['id']}").text]
        for task_id, _, _ in made:
            said.append(house.private.get(f"/v1/tasks/{task_id}").text)
        for daemon in reversed(house.daemons.values()):  # the tracker last: nobody waits for it
            daemon.stop(30)
        kept = {path: open(path, "rb").read() for path in glob.glob(f"{house.folder}/**/*",
                                                                    recursive=True)
                if os.path.isfile(path) and not path.startswith(house.sandbox.log)}
        assert any(path.endswith(".db") or "sqlite" in path for path in kept), list(kept)
        for secret in secrets:
            for text in said:
                assert secret not in text, (secret, text[:500])
            where = [path for path, content in kept.items() if secret.encode() in content]
            assert not where, (secret, where)


# ---- 25: questions, waits and copies do not stop the work ----


def test_rule_25_waiting_clients_do_not_stop_the_health():
    with House(profile=CALM) as house:
        house.start()
        task_id = house.register(provider_id := fresh(house))["id"]
        answers = queue.Queue()

        def wait():
            answers.put(house.private.get(f"/v1/tasks/{task_id}", wait=30))

        threads = [threading.Thread(target=wait, daemon=True) for _ in range(64)]
        for thread in threads:
            thread.start()
        begun = time.monotonic()
        for _ in range(50):
            once = time.monotonic()
            assert house.private.get("/healthz").status == 200
            assert time.monotonic() - once < 2, "the health waits behind the waiters"
        assert house.private.get("/v1/status").status == 200
        knock(house, provider_id, "at-last")
        for thread in threads:
            thread.join(20)
        assert time.monotonic() - begun < 20 and answers.qsize() == 64
        got = [answers.get() for _ in range(64)]
        assert {answer.status for answer in got} == {200}
        assert any(answer.json()["state"] == "done" for answer in got), "nobody waited"


def test_rule_25_a_copy_under_load_opens_and_balances():
    sandbox = ("--fates", "ok=70,drop=10,double=10,conflict=10", "--solve", "0.2")
    with House(sandbox=sandbox) as house:
        house.start()
        copy = os.path.join(house.folder, "copy")
        with Load(house, rate=100) as load:
            passes(1.5)
            begun = time.monotonic()
            made = house.aldaba("backup", copy)
            assert made.returncode == 0, made.stdout + made.stderr
            assert time.monotonic() - begun < 30
            acknowledged = house.provider_stats()["callbacks"]["acknowledged"]
            passes(1)
            assert house.provider_stats()["callbacks"]["acknowledged"] > acknowledged
        settle(house, load.ledger).demand()
        files = [path for path in glob.glob(f"{copy}/*") if sqlite_file(path)]
        assert files, os.listdir(copy)
        for path in files:
            with contextlib.closing(sqlite3.connect(path)) as store:
                assert store.execute("pragma integrity_check").fetchone() == ("ok",), path
        # The copy runs: its books balance, and its open tasks end.
        for daemon in reversed(house.daemons.values()):  # the tracker last: nobody waits for it
            daemon.stop(30)
        house.settings = {"store": {"data": copy}}
        house.write_settings()
        house.start_daemons()
        books = house.books()
        assert books["tasks"]["created"] > 20 and not unbalanced(books)
        until(lambda: house.books()["tasks"]["open"] == 0, 60, "a task of the copy goes on")
        until(lambda: house.aldaba("audit").returncode == 0, SOON_S, "the books do not balance")


def sqlite_file(path):
    with open(path, "rb") as file:
        return file.read(15) == b"SQLite format 3"
