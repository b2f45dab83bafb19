"""Every task ends, whatever the provider says: polls that go wrong in every way, letters that come
back, and the ends that are not `done`."""
import pytest
from support.house import House
from support.ledger import Ledger, settle
from support.until import passes, stays, until

SOON_S = 5


def test_example():
    """The first net: the callback never comes, the poll brings the answer."""
    with House() as house:
        house.start()
        task = house.register(house.submit(1, fate="drop", answer="polled", solve=0)[0])
        ended = house.ended(task["id"], 10)
        assert (ended["state"], ended["source"], ended["result"]) == ("done", "poll", "polled")


def test_unknown_is_never_terminal():
    """Pages of HTML, 5xx, bans of one poll, both spellings, answers without end, half and dripping
    ones: the task lives on, and the next sensible answer ends it."""
    moods = ("html502", "html200", "empty", "notready", "notready2", "error", "server", "huge",
             "slow", "half", "html502,empty,notready2", "hang")
    with House(profile={"poll": {"timeout": "2s", "max_bytes": "1MiB",
                                 "schedule": {"give_up_after": "120s"}}},
               sandbox=("--drip", "0.2", "--huge-mib", "16")) as house:
        house.start()
        tasks = {}
        for mood in moods:
            ids = house.submit(1, fate="drop", moods=mood, answer=f"after|{mood}", solve=0)
            tasks[mood] = house.register(ids[0])["id"]
        rss = house.poller1.rss_kib()
        for mood, task_id in tasks.items():
            ended = house.ended(task_id, 60)
            assert (ended["state"], ended["result"]) == ("done", f"after|{mood}"), mood
        assert house.poller1.rss_kib() - rss < 48 * 1024
        seen = house.provider_stats()["moods"]
        assert all(seen.get(mood) for several in moods for mood in several.split(",")), seen
        assert house.poller1.starts == 1 and house.poller1.alive()


def test_a_ban_stops_the_polls_and_ends_no_task():
    with House() as house:
        house.start()
        first, second = house.submit(2, fate="drop", solve=0, moods="ban1005")
        banned = house.register(first)["id"]
        until(lambda: house.provider_stats()["moods"].get("ban1005"), 10, "it is not polled")
        waiting = house.register(second)["id"]
        before = house.provider_stats()["polls"]
        stays(lambda: house.provider_stats()["polls"] == before, 3, "it polls into the ban")
        for provider_id, task_id in ((first, banned), (second, waiting)):
            house.public.get("/callback", id=provider_id, code="X")
            assert house.ended(task_id, SOON_S)["state"] == "done"


def test_slow_down_is_obeyed():
    with House() as house:
        house.start()
        task = house.register(house.submit(1, fate="drop", solve=0, moods="429", answer="X")[0])
        assert house.ended(task["id"], 30)["result"] == "X"


def test_late_callback_after_a_poll_is_a_duplicate():
    with House() as house:
        house.start()
        provider_id = house.submit(1, fate="late=4", solve=0, answer="both ways")[0]
        task = house.register(provider_id)
        assert house.ended(task["id"])["source"] == "poll"
        house.until_provider_rests()
        assert house.provider_ledger()[provider_id]["callbacks"][0]["status"] == 200
        assert len(house.events_of(task["id"])) == 1
        assert house.books()["arrivals"]["duplicate"] == 1
        assert not house.dead_letters(reason="conflict")


def test_callback_wins_over_polling_under_way():
    with House() as house:
        house.start()
        provider_id = house.submit(1, fate="late=3", solve=0, moods="notready*", answer="late")[0]
        task = house.register(provider_id)
        ended = house.ended(task["id"])
        assert (ended["source"], ended["result"]) == ("late", "late")
        polls = house.provider_ledger()[provider_id]["polls"]
        assert polls > 0
        stays(lambda: house.provider_ledger()[provider_id]["polls"] == polls, 2, "it polls on")


def test_ends_that_are_not_done():
    """never -> expired, lost -> lost (after the grace of 30 s), error -> failed: one event each."""
    with House(profile={"poll": {"schedule": {"give_up_after": "45s"}}}) as house:
        house.start()
        want = {"never": "expired", "lost": "lost", "error": "failed", "drop": "done"}
        tasks = {}
        for fate in want:
            tasks[fate] = house.register(house.submit(1, fate=fate, solve=0.1)[0])["id"]
        for fate, state in want.items():
            ended = house.ended(tasks[fate], 75)
            assert ended["state"] == state, (fate, ended)
            assert len(house.events_of(tasks[fate])) == 1
        assert len(house.dead_letters(reason="expired")) == 1
        assert house.aldaba("audit").returncode == 0


def test_unknown_callback_becomes_a_letter_and_comes_back():
    """The second net: parked, then a letter; re-injected on schedule until its task is there."""
    settings = {"dlq": {"first_after": "500ms", "max_after": "1s", "tick": "100ms",
                        "max_attempts": 100}}
    with House(settings=settings, profile={"callback": {"parked_for": "1s"}}) as house:
        house.start()
        provider_id = house.submit(1, fate="drop")[0]
        assert house.public.get("/callback", id=provider_id, code="kept").status == 200
        letter = until(lambda: house.dead_letters(reason="unknown_task"), 10, "no letter")[0]
        until(lambda: house.get(f"/v1/dead-letters/{letter['id']}")["attempts"], 10, "no attempt")
        assert [one["id"] for one in house.dead_letters()] == [letter["id"]], "no second letter"
        task = house.register(provider_id, stale_after="60s", give_up_after="300s")
        ended = house.ended(task["id"], 10)
        assert (ended["source"], ended["result"]) == ("replay", "kept")
        until(lambda: not house.dead_letters(reason="unknown_task"), 10, "the letter stays open")
        assert house.aldaba("audit").returncode == 0


def test_rule_9_letters_that_come_to_lie_against_a_result():
    """FIRST came before its task was known, SECOND ended the task: FIRST is a letter `conflict`, is
    found as one and by its task, over kills, and a person can publish it. Of eight tasks at once."""
    settings = {"dlq": {"first_after": "2s", "max_after": "2s", "tick": "100ms",
                        "max_attempts": 100}}
    with House(settings=settings, profile={"callback": {"parked_for": "1s"}}) as house:
        house.start()
        ids = [house.submit(1, fate="drop")[0] for _ in range(8)]
        for provider_id in ids * 2:
            assert house.public.get("/callback", id=provider_id, code="FIRST").status == 200
        until(lambda: len(house.dead_letters(reason="unknown_task")) == 16, 10, house.dead_letters)
        tasks = {}
        for provider_id in ids:
            task = house.register(provider_id, stale_after="60s", give_up_after="300s")
            path = task["callback_url"].removeprefix(house.public.url)
            assert house.public.get(path, id=provider_id, code="SECOND").status == 200
            assert house.ended(task["id"], 10)["result"] == "SECOND"
            tasks[task["id"]] = provider_id
        house.tracker.kill9()
        house.dlq.kill9()
        house.tracker.start()
        house.dlq.start()
        house.until_serving()
        until(lambda: [one["reason"] for one in house.dead_letters()] == ["conflict"] * 8, 20,
              house.dead_letters)
        assert {one["task"]: one["provider_id"] for one in house.dead_letters()} == tasks
        assert not house.dead_letters(reason="unknown_task")
        for task in tasks:
            letter, = house.dead_letters(reason="conflict", task=task)
            assert letter["cause"] == "Another answer than the one that was published."
            again = house.public.get("/callback", id=tasks[task], code="FIRST")
            assert again.status == 200 and len(house.dead_letters(task=task)) == 1  # it is kept
        assert house.aldaba("dlq", "replay", letter["id"], "--yes").returncode == 1
        done = house.aldaba("dlq", "replay", letter["id"], "--publish", "--yes")
        assert done.returncode == 0 and "corrected" in done.stdout, done
        assert house.task(task)["result"] == "FIRST"
        assert [one["result"] for one in house.events_of(task)] == [b"SECOND", b"FIRST"]
        assert house.aldaba("audit").returncode == 0


def test_letters_are_seen_while_the_dlq_is_away():
    """Rule 18: they wait in the tracker's outbox, are listed and shown, and go when it is back."""
    with House() as house:
        house.start()
        task = house.reserve()
        house.dlq.stop()
        url = task["callback_url"].split("/", 3)[3]
        assert house.public.get("/" + url, id="77", code="ERROR_NEW_WORD").status == 200
        page = house.get("/v1/dead-letters", state="open", task=task["id"])
        letter, = page["letters"]
        assert (letter["reason"], letter["outcome"]) == ("unmapped_status", "outbox")
        assert "dlq does not answer" in page["note"]
        assert not house.get("/v1/dead-letters", state="held")["letters"]
        listed = house.aldaba("dlq", "ls")
        assert letter["id"] in listed.stdout and "dlq does not answer" in listed.stderr
        shown = house.get(f"/v1/dead-letters/{letter['id']}")
        assert "code=ERROR_NEW_WORD" in shown["original"]["query"] and "waits" in shown["note"]
        assert house.private.get("/v1/dead-letters/01JLETTER0000000000000000X").status == 503
        house.dlq.start()
        until(lambda: house.get("/v1/dead-letters")["letters"][0]["outcome"] != "outbox", 20,
              "it stays in the outbox")
        assert [one["id"] for one in house.dead_letters()] == [letter["id"]]
        assert house.aldaba("audit").returncode == 0


@pytest.mark.parametrize("how", ["post", "get", "mixed"])
def test_everything_at_once(how):
    """The demonstration's load, by each method of calling back."""
    fates = "ok=40,drop=12,double=10,late=6,early=6,reorder=10,conflict=6,broken=5,error=5"
    with House(pollers=2, sandbox=("--fates", fates, "--pingback", how, "--seed", "7")) as house:
        house.start()
        ledger = Ledger()
        for _ in range(10):
            ids = house.submit(30)
            for provider_id in ids:
                ledger.registered(provider_id, house.register(provider_id)["id"])
            passes(0.1)
        verdict = settle(house, ledger).demand()
        assert verdict.acknowledged > 200
        assert set(verdict.sources) >= {"callback", "poll"}
