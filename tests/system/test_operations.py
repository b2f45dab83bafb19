"""docs/OPERATIONS.md, played: every command of every section, on running services to which has happened
what the section is about."""
import os
import pathlib
import re
import shlex
import signal

import pytest
from support.disk import SmallDisk, may_mount
from support.house import House
from support.settings import shop_profile
from support.until import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
DOCUMENT = (ROOT / "docs/OPERATIONS.md").read_text(encoding="utf-8")
SOON_S = 20
BY_HAND = {"dlq": {"first_after": "1h", "max_after": "1h", "tick": "50ms", "max_attempts": 1}}
CALM = {"callback": {"stale_after": "300s", "parked_for": "200ms"},
        "poll": {"schedule": {"give_up_after": "600s"}}}

played = set()


def sections():
    """{heading: [its sh blocks]} of the whole document."""
    parts = re.split(r"^#{2,3} (.+)$", DOCUMENT, flags=re.MULTILINE)
    return {heading: re.findall(r"^```sh\n(.*?)^```$", text, re.MULTILINE | re.DOTALL)
            for heading, text in zip(parts[1::2], parts[2::2])}


SECTIONS = sections()


def lines(heading, block=None):
    """The commands of a section, or of one of its blocks."""
    blocks = SECTIONS[heading] if block is None else [SECTIONS[heading][block]]
    return [line for one in blocks for line in one.splitlines() if line.strip()]


def run(house, line, places):
    for word, text in places.items():
        line = re.sub(rf"\b{word}\b", str(text), line)
    words = shlex.split(line, comments=True)
    assert not [word for word in words if re.fullmatch(r"[A-Z]{3,}", word)], f"not filled in: {line}"
    if words[:2] == ["kill", "-HUP"]:
        assert words[2] == str(house.tracker.pid)
        for daemon in house.daemons.values():
            daemon.send(signal.SIGHUP)
        return None
    assert words[0] == "aldaba", line
    return house.aldaba(*words[1:])


def play(house, heading, places=None, block=None, codes=None):
    """Run them in their order; each exit code is 0, or that of codes {beginning of a line: code}.
    {line without its comment: what it printed}"""
    said = {}
    for line in lines(heading, block):
        done = run(house, line, {"DAEMONS": house.tracker.pid, **(places or {})})
        if done is None:
            continue
        bare = line.partition("#")[0].strip()
        want = next((code for begin, code in (codes or {}).items() if bare.startswith(begin)), 0)
        assert done.returncode == want, (bare, want, done)
        said[bare] = done.stdout + done.stderr
    played.add(heading)
    return said


def letter_of(house, reason, state="open"):
    def look():
        return [one for one in house.dead_letters(reason=reason, state=state)
                if one["outcome"] != "outbox"]
    return until(look, SOON_S, f"no {reason}")[0]["id"]


@pytest.fixture(scope="module", name="house")
def a_house():
    """In good order, with some of everything."""
    with House(settings=BY_HAND, profile=CALM) as one:
        one.start_sandbox()
        one.settings = {**BY_HAND, "providers": {"shop": shop_profile(one.provider.port),
                                                 "sandbox": CALM}}
        one.write_settings()
        for name, daemon in one.daemons.items():
            if name == "poller1":  # `aldaba health poller` asks the one of its own settings
                daemon.env.pop("ALDABA__POLLER__NAME")
        one.settings["poller"] = {"name": "p1"}
        one.write_settings()
        one.start_daemons()
        until(lambda: one.aldaba("health", "poller", "-q").returncode == 0, SOON_S, "the poller is not ready")
        one.places = {"PROVIDER": "sandbox", "CONSUMER": "mailer"}
        one.number = 0
        yield one


@pytest.fixture(name="places")
def the_places(house):
    """What the capital words of the document stand for; a backup is a new folder each time."""
    house.number += 1
    return {**house.places, "BACKUP": os.path.join(house.folder, f"backup-{house.number}")}


def unknown_code(house):
    """A letter about a code that nobody knows; the task's id too."""
    task = house.reserve()
    provider_id = house.submit(1, fate="never")[0]
    house.attach(task["id"], provider_id)
    path = task["callback_url"].removeprefix(house.public.url)
    assert house.public.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS").status == 200
    return letter_of(house, "unmapped_status"), task["id"]


def test_example(house):
    said = play(house, "Settings")
    assert "stale_after" in said["aldaba config print"] and len(SECTIONS) > 20


def test_what_runs(house):
    said = play(house, "What runs, and whether it does")
    assert "pending" in said["aldaba status"] or "open" in said["aldaba status"]


def test_a_canary(house, places):
    said = play(house, "A canary", places)
    assert " is back after " in said["aldaba canary PROVIDER code=alive"]


IN_GOOD_ORDER = ("CallbacksStopped", "CallbacksLost", "CallbacksRefused", "ProofsFail", "PollsOverdue",
                 "NoPollers", "SpoolGrowing", "SpoolStuck", "OutboxStuck", "BooksUnbalanced", "LettersAstray",
                 "ProviderBlocked", "CodeAlert", "SinkDown", "DiskFilling", "NoData", "NotReady",
                 "Restarts", "SettingsRefused", "CanaryLost")


@pytest.mark.parametrize("alert", IN_GOOD_ORDER)
def test_commands_of_an_alert(house, places, alert):
    """They run; what they say when it is so is seen by the tests of what is asked."""
    assert play(house, f"Aldaba{alert}", places)


def test_the_oldest_task(house, places):
    task = house.reserve()
    said = play(house, "AldabaOldestPending", {**places, "TASK": task["id"]})
    assert task["id"] in said["aldaba task TASK"]
    oldest = house.get("/v1/status")["status"]["oldest_open"]
    assert oldest in said["aldaba status"], said


def test_dead_letters(house, places):
    letter, _ = unknown_code(house)
    said = play(house, "AldabaDeadLetters", {**places, "LETTER": letter})
    assert "unmapped_status" in said["aldaba dlq ls --group"]
    assert "ERROR_NOBODY_KNOWS" in said["aldaba dlq show LETTER"]
    assert house.get(f"/v1/dead-letters/{letter}")["state"] == "dropped"
    letter, _ = unknown_code(house)
    play(house, "AldabaDeadLettersMany", places)
    assert house.get(f"/v1/dead-letters/{letter}")["state"] == "open", "a dry run had an effect"


def test_a_consumer_that_is_gone(house, places):
    assert house.private.post_json("/v1/consumers/mailer", {"from": "all"}, method="PUT").status == 200
    said = play(house, "AldabaConsumerBehind", places)
    assert "mailer" in said["aldaba consumers ls"]
    assert house.private.get("/v1/consumers/mailer").status == 404


def test_a_provider_that_is_paused(house, places):
    assert house.aldaba("provider", "pause", "sandbox").returncode == 0
    play(house, "AldabaProviderPaused", places)
    (provider,) = house.get("/v1/providers", name="sandbox")["providers"]
    assert provider["paused"] is False


def test_the_settings_are_refused(house):
    path = house.config_path("")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    with open(path, "a", encoding="utf-8") as file:
        file.write("colour: blue\n")
    done = run(house, lines("AldabaSettingsRefused")[0], {})
    assert done.returncode == 78 and "colour" in done.stderr, done
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)


def test_a_provider_bans_us(places):
    """The sandbox answers polls with ERROR: 1005."""
    with House(settings=BY_HAND, profile={"callback": {"stale_after": "500ms"}},
               sandbox=("--fates", "drop=1", "--moods", "ban1005=1")) as one:
        one.start()
        task = one.register(one.submit(1, pingback="http://127.0.0.1:9/nobody")[0])

        def blocked():
            (provider,) = one.get("/v1/providers", name="sandbox")["providers"]
            return provider["blocked_until_ms"] or provider["breaker"] != "closed"
        until(blocked, SOON_S, lambda: f"it is not blocked: {one.task(task['id'])}")
        said = play(one, "A provider bans us", places)
        assert "1005" in said["aldaba provider status PROVIDER"], said
        assert task["id"] in said["aldaba tasks --state pending --provider PROVIDER"]


def test_the_tracker_is_gone(places):
    patient = {**CALM, "callback": {**CALM["callback"], "parked_for": "600s"}}
    with House(settings=BY_HAND, profile=patient) as one:
        one.start()
        provider_id = one.submit(1, fate="never")[0]
        task = one.register(provider_id)
        one.tracker.kill9()
        assert one.public.get("/callback/sandbox", id=provider_id, code="abc").status == 200
        said = play(one, "The tracker is gone", places, block=0, codes={"aldaba health tracker": 69})
        assert "spool" in said["aldaba status"]
        one.tracker.start()
        until(lambda: one.get("/v1/status")["spool"]["items"] == 0, SOON_S, "the spool is not drained")
        play(one, "The tracker is gone", places, block=1)
        assert one.ended(task["id"])["result"] == "abc"


@pytest.mark.skipif(not may_mount(), reason="needs root to mount a small tmpfs")
def test_a_disk_is_full(places):
    with House(settings={**BY_HAND, "gateway": {"resend_after": "1s"}}, profile=CALM) as one:
        disk = SmallDisk(f"{one.folder}/small", 16 * 1024)
        one.per_service["tracker"] = {"store": {"data": disk.path}}
        one.add("tracker", "tracker")
        with disk:
            one.start()
            ids = one.submit(4, fate="never")
            tasks = [one.register(provider_id)["id"] for provider_id in ids]
            disk.fill()
            for provider_id in ids:
                assert one.public.get("/callback/sandbox", id=provider_id, code="abc" * 500).status == 200
            until(lambda: one.aldaba("health", "tracker").returncode != 0, SOON_S, "it is well")
            play(one, "A disk is full", places, block=0, codes={"aldaba health tracker": 1})
            disk.free()
            one.revive()
            one.until_serving(30)
            until(lambda: one.get("/v1/status")["spool"]["items"] == 0, SOON_S, "it does not recover")
            play(one, "A disk is full", places, block=1)
            assert {one.ended(task)["result"] for task in tasks} == {"abc" * 500}


def stop(house):
    for daemon in house.daemons.values():
        assert daemon.stop() in (0, 75)


def test_restore():
    with House(settings=BY_HAND, profile=CALM) as one:
        one.start()
        task = one.reserve()
        places = {"BACKUP": os.path.join(one.folder, "backup")}
        play(one, "Restore", places, block=0)
        later = one.reserve()
        stop(one)
        said = play(one, "Restore", places, block=1)
        assert "before" in said["aldaba restore BACKUP --yes"]
        one.start_daemons()
        play(one, "Restore", places, block=2)
        assert one.task(task["id"])["state"] == "accepted"
        assert one.private.get(f"/v1/tasks/{later['id']}").status == 404


def test_upgrade():
    """One service after the other; the same programs stand for the new ones."""
    with House(pollers=2, settings=BY_HAND, profile=CALM) as one:
        one.start()
        places = {"BACKUP": os.path.join(one.folder, "backup")}
        play(one, "Upgrade", places, block=0)
        for daemon in one.daemons.values():
            assert daemon.stop() in (0, 75)
            if daemon is not one.gateway:
                provider_id = one.submit(1, fate="never")[0]
                assert one.public.get("/callback/sandbox", id=provider_id, code="x").status == 200
            daemon.start()
            one.until_serving()
        play(one, "Upgrade", places, block=1)


def test_every_command_was_played():
    """Last in this file, and only when all of it runs."""
    if not {"Settings", "Upgrade"} <= played:
        pytest.skip("only a part of this file was run")
    if not may_mount():
        played.add("A disk is full")
    assert {heading for heading, blocks in SECTIONS.items() if blocks} <= played
