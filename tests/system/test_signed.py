"""Callbacks that prove their sender, through all of aldaba: what is signed ends its task, what is
forged does what the profile says, and no secret is written down anywhere."""
import base64
import os
import time

import pytest
from support.house import House
from support.settings import merge, sandbox_profile
from support.signing import standard_webhooks
from support.until import stays, until

SOON_S = 10
RAW = b"a-secret-of-the-provider-2718281828"
SECRET = "whsec_" + base64.b64encode(RAW).decode()
FORM = {"Content-Type": "application/x-www-form-urlencoded"}
MODES = ("hint", "quarantine", "reject")


@pytest.fixture(scope="module")
def house():
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("ALDABA_TEST_WHSEC", SECRET)
        with House() as one:
            one.start_sandbox()
            one.settings = {"providers": {mode: profile(one, mode) for mode in MODES}}
            one.write_settings()
            yield one.start_daemons()


def profile(house, mode):
    """Nothing but a hint brings a poll during a test."""
    return merge(sandbox_profile(house.provider.port), {
        "secrets": {"whsec": {"env": "ALDABA_TEST_WHSEC"}},
        "callback": {"trust": "auth", "stale_after": "200s", "auth": {
            "standard_webhooks": {"secret": "${secret.whsec}"}, "on_fail": mode}},
        "poll": {"schedule": {"give_up_after": "300s"}}})


def knock(house, mode, provider_id, code, headers=None, path=None):
    body = f"id={provider_id}&code={code}".encode()
    if headers is None:
        headers = standard_webhooks(SECRET, body, time.time())
    return house.public.request("POST", path or f"/callback/{mode}", body, {**FORM, **headers})


def fresh(house, mode):
    """A task that the provider never calls back for, and that it answers when it is asked."""
    provider_id = house.submit(1, fate="drop", answer="polled", solve=0)[0]
    return provider_id, house.register(provider_id, provider=mode)


def letters(house):
    return {letter["id"] for letter in house.dead_letters(reason="unauthenticated")}


def received(house):
    return house.books()["arrivals"].get("received", 0)


def result(house, task):
    events = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
    assert len(events) == 1
    return events[0]["result"], events[0]["source"]


@pytest.mark.parametrize("mode", MODES)
def test_a_signed_callback_ends_its_task(house, mode):
    provider_id, task = fresh(house, mode)
    for _ in range(2):  # a provider's retry
        assert knock(house, mode, provider_id, "signed").status == 200
    assert result(house, task) == (b"signed", "callback")


def test_a_forged_one_is_a_hint(house):
    provider_id, task = fresh(house, "hint")
    before = letters(house)
    assert knock(house, "hint", provider_id, "forged", {}).status == 200
    assert result(house, task) == (b"polled", "poll")
    assert letters(house) == before


def test_a_forged_one_is_a_letter(house):
    provider_id, task = fresh(house, "quarantine")
    assert knock(house, "quarantine", provider_id, "forged", {}).status == 200
    until(lambda: letters(house), SOON_S, "no letter")
    stays(lambda: house.task(task["id"])["state"] == "pending", 1, "the task has ended")
    assert not house.events_of(task["id"])
    assert knock(house, "quarantine", provider_id, "signed").status == 200
    assert result(house, task) == (b"signed", "callback")


def test_a_forged_one_is_rejected(house):
    provider_id, task = fresh(house, "reject")
    before = received(house)
    answer = knock(house, "reject", provider_id, "forged", {})
    assert (answer.status, answer.text) == (401, "not authenticated")
    assert received(house) == before
    assert not house.events_of(task["id"])
    assert knock(house, "reject", provider_id, "signed").status == 200
    assert result(house, task) == (b"signed", "callback")


@pytest.mark.parametrize("mode", MODES)
def test_the_tasks_own_url_is_no_proof(house, mode):
    task = house.reserve(provider=mode)
    path = task["callback_url"].removeprefix(house.public.url)
    provider_id = house.submit(1, fate="drop", answer="polled", solve=0)[0]
    house.attach(task["id"], provider_id)
    status = knock(house, mode, provider_id, "forged", {}, path).status
    assert status == (401 if mode == "reject" else 200)
    assert knock(house, mode, provider_id, "signed", path=path).status == 200
    assert result(house, task)[0] in ((b"signed", b"polled") if mode == "hint" else (b"signed",))


def test_a_letter_is_believed_by_an_administrator_only(house):
    """Nothing is verified a second time: a replay does not make a proof."""
    provider_id, task = fresh(house, "quarantine")
    before = letters(house)
    assert knock(house, "quarantine", provider_id, "forged", {}).status == 200
    made = until(lambda: letters(house) - before, SOON_S, "no letter")
    assert len(made) == 1
    plain = house.aldaba("dlq", "replay", "--yes", *made)
    assert plain.returncode != 0 and "believe" in plain.stdout + plain.stderr, plain
    assert not house.events_of(task["id"])


def test_a_timeline_is_not_rewritten_by_what_is_believed_later(house):
    provider_id, task = fresh(house, "quarantine")
    before = letters(house)
    assert knock(house, "quarantine", provider_id, "vouched for", {}).status == 200
    (letter,) = until(lambda: letters(house) - before, SOON_S, "no letter")
    assert house.aldaba("dlq", "replay", "--yes", "--believe", letter).returncode == 0
    ended = house.ended(task["id"])
    lines = [(note["what"], note["text"]) for note in ended["timeline"]]
    assert ended["source"] == "manual" and lines[-1] == ("result", "done"), lines
    assert ("believed", letter) in lines, lines
    came = [text for what, text in lines if what == "callback"]
    assert came == [f"dead, proof none, letter {letter}, later applied"], lines
    assert lines.index(("believed", letter)) > [what for what, _ in lines].index("callback")


def test_the_audit_balances_and_no_secret_is_written(house):
    done = house.aldaba("audit")
    assert done.returncode == 0, done.stdout + done.stderr
    shown = [house.aldaba("config", "print"), house.aldaba("config", "check"),
             house.aldaba("dlq", "ls")]
    assert all(one.returncode == 0 for one in shown), shown
    assert '"***"' in shown[0].stdout and "standard_webhooks" in shown[0].stdout
    written = b"".join((one.stdout + one.stderr).encode() for one in shown)
    written += house.private.get("/metrics").text.encode()
    files = 0
    for folder, _, names in os.walk(house.folder):
        for path in (os.path.join(folder, name) for name in names):
            if os.path.isfile(path):
                files += 1
                with open(path, "rb") as file:
                    written += file.read()
    assert files > 8
    for secret in (SECRET.encode(), RAW, SECRET.removeprefix("whsec_").encode()):
        assert secret not in written
