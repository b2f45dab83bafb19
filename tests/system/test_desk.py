"""The desk of dead letters, as people use it over the API and the command: dry runs, edits, groups, and
a bulk replay that goes on whatever is killed."""
import collections
import os
import random
import signal
import subprocess
import time

import pytest
from support import bus
from support.house import House, binary
from support.peers import Sender
from support.until import stays, until

SOON_S = 15
LETTERS = 2000
REGISTERED = 700
BATCH = 200
RATE = 250
KILLED = ("dlq", "tracker", "dlq", "gateway", "dlq")
CALM = {"callback": {"stale_after": "300s", "parked_for": "200ms"},
        "poll": {"schedule": {"give_up_after": "600s"}}}
BY_HAND = {"dlq": {"first_after": "1h", "max_after": "1h", "tick": "50ms"}}
SENDER = "01JDDESK000000000000000001"


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM, settings=BY_HAND) as one:
        yield one.start()


def token_task(house):
    """A task with a URL of its own: (id, provider id, path)."""
    made = house.reserve()
    provider_id = house.submit(1, fate="never")[0]
    house.attach(made["id"], provider_id)
    return made["id"], provider_id, made["callback_url"].removeprefix(house.public.url)


def letter_of(house, reason, **filters):
    """One that the dlq has: those in the outbox can't be edited yet."""
    def look():
        return [one for one in house.dead_letters(reason=reason, **filters)
                if one["outcome"] != "outbox"]
    return until(look, SOON_S, f"no {reason}")[0]["id"]


def shown(house, letter, **query):
    return house.get(f"/v1/dead-letters/{letter}", **query)


def dry_run(house, letter, **more):
    return house.post(f"/v1/dead-letters/{letter}/replay", {"dry_run": True, **more})["dry_run"]


def patch(house, letter, **value):
    return house.private.post_json(f"/v1/dead-letters/{letter}", value, method="PATCH")


def demand_audit(house):
    audit = house.aldaba("audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr


def test_example(house):
    """A code that nobody knows: looked at, tried dry, put right, tried dry again, replayed."""
    task, provider_id, path = token_task(house)
    assert house.public.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS").status == 200
    letter = letter_of(house, "unmapped_status", task=task)
    said = dry_run(house, letter)
    assert (said["disposition"], said["reason"]) == ("still", "unmapped_status")
    assert said["why"] and said["code"] == "ERROR_NOBODY_KNOWS" and said["task"] == task
    assert (said["task_state"], said["state"]) == ("pending", "")
    query = f"id={provider_id}&code=put%20right"
    assert patch(house, letter, revision=1, query=query).status == 400  # who?
    assert patch(house, letter, revision=1, by="ana", query=query).status == 200
    assert patch(house, letter, revision=1, by="ben", query="").status == 409
    said = dry_run(house, letter)
    assert (said["disposition"], said["then"], said["state"]) == ("applied", "done", "done")
    assert said["rule"] and said["provider_id"] == provider_id
    assert house.task(task)["state"] == "pending", "a dry run had an effect"
    assert not shown(house, letter)["history"]
    house.post(f"/v1/dead-letters/{letter}/replay", {"by": "ana"})
    ended = house.ended(task, SOON_S)
    assert (ended["state"], ended["source"], ended["result"]) == ("done", "manual", "put right")
    until(lambda: shown(house, letter)["state"] == "resolved", SOON_S, "the letter stays open")
    timeline = shown(house, letter)["timeline"]
    assert [one["what"] for one in timeline] == ["made", "edited", "attempt", "closed"]
    assert [one["by"] for one in timeline[1:3]] == ["ana", "ana"]
    assert "ERROR_NOBODY_KNOWS" in shown(house, letter, revision=1)["original"]["query"]
    assert dry_run(house, letter)["why"] == "The letter is closed already."
    demand_audit(house)


def test_rule_7_a_malformed_one_after_an_edit(house):
    """Not by schedule, but after an edit by a person it is judged again; the proof stays the door's."""
    task, provider_id, path = token_task(house)
    assert house.public.get(f"{path}?id=%zz").status == 200
    letter = letter_of(house, "malformed", task=task)
    first = shown(house, letter)["original"]
    done = house.aldaba("dlq", "edit", letter, "--query", f"id={provider_id}&code=mended", "--by",
                        "ana")
    assert done.returncode == 0 and "revision 2" in done.stdout, done
    assert shown(house, letter, revision=1)["original"] == first
    stays(lambda: not shown(house, letter)["history"], 0.5, "an edit alone tried it")
    text = house.aldaba("dlq", "replay", letter, "--dry-run").stdout
    assert "applied" in text and "would be" in text
    assert house.aldaba("dlq", "replay", letter, "--yes", "--by", "ana").returncode == 0
    assert house.ended(task, SOON_S)["result"] == "mended"
    text = house.aldaba("dlq", "show", letter, "--revision", "1").stdout
    assert "%zz" in text and "edited" in text and "ana" in text
    demand_audit(house)


def test_an_editor(house, tmp_path):
    """$EDITOR gets the parts that are text; what it leaves as it was is not sent."""
    task, provider_id, path = token_task(house)
    assert house.public.get(path, id=provider_id, code="ERROR_WORSE").status == 200
    letter = letter_of(house, "unmapped_status", task=task)
    script = tmp_path / "edit"
    script.write_text("#!/bin/sh\nsed -i s/ERROR_WORSE/better/ \"$1\"\n")
    script.chmod(0o755)
    argv = [binary("aldaba"), "--config", house.config_path(""), "dlq", "edit", letter]
    shell = subprocess.run(["script", "-qec", " ".join(argv), "/dev/null"], check=False, timeout=30,
                           env={**os.environ, **house.env(), "EDITOR": str(script)},
                           capture_output=True)
    assert shell.returncode == 0, shell
    now = shown(house, letter)
    assert now["revision"] == 2 and now["original"]["query"].endswith("code=better")


def test_groups_and_finds(house):
    task, provider_id, path = token_task(house)
    for n in range(3):
        assert house.public.get(path, id=provider_id, code=f"ERROR_FIND_{n}").status == 200
    until(lambda: len(house.dead_letters(task=task, state="open")) == 3, SOON_S, "not 3")
    letter_of(house, "unmapped_status", task=task)
    until(lambda: len(house.dead_letters(q="ERROR_FIND_1")) == 1, SOON_S, "not found")
    assert len(house.dead_letters(q="ERROR_FIND_", task=task)) == 3
    now = int(time.time() * 1000)
    assert not house.dead_letters(task=task, since=now + 60000)
    assert len(house.dead_letters(task=task, since=now - 60000, until=now + 60000)) == 3
    text = house.aldaba("dlq", "ls", "--find", "ERROR_FIND_2", "--since", "1h").stdout
    assert text.count("unmapped_status") == 1
    groups = house.get("/v1/dead-letters", group=1, reason="unmapped_status")["groups"]
    assert len(groups) == 1 and groups[0]["count"] >= 3 and groups[0]["example"]
    assert house.private.get("/v1/dead-letters", group=1, q="x").status == 400
    text = house.aldaba("dlq", "ls", "--group").stdout
    assert "unmapped_status" in text and "letters" in text.splitlines()[0]


def test_the_command_follows_and_leaves(house):
    """Ctrl-C stops the looking, not the replay."""
    task, provider_id, path = token_task(house)
    for n in range(20):
        assert house.public.get(path, id=provider_id, code=f"ERROR_SLOW_{n}").status == 200
    until(lambda: len([one for one in house.dead_letters(task=task)
                       if one["outcome"] != "outbox"]) == 20, SOON_S, "not 20")
    dry = house.aldaba("dlq", "replay", "all", "--task", task, "--dry-run", "--rate", "100")
    assert dry.returncode == 0 and "still" in dry.stdout and "20" in dry.stdout, dry
    argv = [binary("aldaba"), "--config", house.config_path(""), "dlq", "replay", "all", "--task",
            task, "--rate", "5", "--yes"]
    with subprocess.Popen(argv, env={**os.environ, **house.env()}, stderr=subprocess.PIPE,
                          stdout=subprocess.PIPE, text=True) as follower:
        job = follower.stderr.readline().split()[-1]
        until(lambda: house.get(f"/v1/replays/{job}")["replayed"], SOON_S, "it does not begin")
        follower.send_signal(signal.SIGINT)
        _, said = follower.communicate(timeout=20)
        assert follower.returncode == 75 and f"replays show {job}" in said
    assert house.get(f"/v1/replays/{job}")["state"] == "running"
    assert house.aldaba("dlq", "replays", "pause", job).returncode == 0
    assert house.get(f"/v1/replays/{job}")["state"] == "paused"
    assert house.aldaba("dlq", "replays", "resume", job).returncode == 0
    until(lambda: house.get(f"/v1/replays/{job}")["state"] == "done", SOON_S, "it does not end")
    assert "done" in house.aldaba("dlq", "replays", "show", job).stdout
    assert house.aldaba("dlq", "replays", "cancel", job).returncode == 1
    assert job in house.aldaba("dlq", "replays", "ls").stdout
    assert len(house.dead_letters(task=task)) == 20, "a replay closed what it did not help"
    demand_audit(house)


def test_2000_letters_over_kills():
    """kill -9 of the dlq, the tracker and the gateway in the middle of a bulk replay: each letter was
    tried exactly once for it, as its history says, and the counts are those of the histories."""
    dice = random.Random(7)
    with House(profile=CALM, settings=BY_HAND) as house:
        house.start()
        with bus.Channel(house.run, "events") as channel:
            gateway = Sender(channel, SENDER).hello()
            for first in range(0, LETTERS, BATCH):
                gateway.deliver(*((n + 1, f"p{n}", f"answer {n}")
                                  for n in range(first, first + BATCH)))
        until(lambda: house.books()["letters"].get("open") == LETTERS, 60,
              lambda: house.books()["letters"])
        until(lambda: sum(one["count"] for one in house.get("/v1/dead-letters", group=1)["groups"])
              == LETTERS, 60, "they do not come to the dlq")
        tasks = {n: house.register(f"p{n}")["id"] for n in range(REGISTERED)}
        job = house.post("/v1/dead-letters/replay", {"rate": RATE, "by": "ana"})["id"]
        for turn, victim in enumerate(KILLED, 1):
            step = LETTERS // (len(KILLED) + 2)
            goal = turn * step + dice.randrange(step)  # anywhere in a step
            until(lambda: replayed(house, job) >= goal, 60, "no progress")
            getattr(house, victim).restart()
            house.until_serving()
        until(lambda: house.get(f"/v1/replays/{job}")["state"] == "done", 90,
              lambda: house.get(f"/v1/replays/{job}"))
        check_replay(house, job)
        for n, task in tasks.items():
            assert house.task(task)["result"] == f"answer {n}"
        events = collections.Counter(event["task"] for event in house.events())
        assert len(events) == REGISTERED and set(events.values()) == {1}
        demand_audit(house)


def replayed(house, job):
    with bus.Channel(house.run, "letters") as desk:
        return desk.ask("replay.show", replay=job)[1].get("replayed", 0)


def check_replay(house, job):
    view = house.get(f"/v1/replays/{job}")
    assert (view["seen"], view["replayed"], view["answered"], view["skipped"]) == (
        LETTERS, LETTERS, LETTERS, 0)
    letters = house.dead_letters(state="open") + house.dead_letters(state="resolved")
    assert len(letters) == LETTERS
    history = collections.Counter()
    for letter in letters:
        (one,) = shown(house, letter["id"])["history"]
        assert (one["by"], one["replay"]) == ("ana", job)
        history[one["outcome"]] += 1
    assert history == {"applied": REGISTERED, "still": LETTERS - REGISTERED}
    assert {one["result"]: one["count"] for one in view["counts"]} == history
