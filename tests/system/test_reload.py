"""SIGHUP: settings and profiles are read again while everything runs. All of it or nothing."""
import os
import signal
import threading

import pytest
from support.house import House
from support.http import Client
from support.settings import merge, sandbox_profile
from support.stub import Stub
from support.until import passes, stays, until

SOON_S = 10
CALM = {"callback": {"trust": "token", "stale_after": "200s", "auth": None},
        "poll": {"schedule": {"give_up_after": "300s"}}}


@pytest.fixture
def house():
    with House(profile=CALM) as one:
        yield one.start()


def calm(house, **more):
    return merge(merge(sandbox_profile(house.provider.port), CALM), more)


def count(house, result, svc):
    """How often a daemon has read its settings again so far."""
    return sum(value for name, value in house.metrics().items()
               if name.startswith("aldaba_reloads_total") and f'svc="{svc}"' in name
               and f'result="{result}"' in name)


def said(house, event, name="tracker"):
    return [line for line in house.daemons[name].lines() if f"ev={event} " in line]


def turned_key(asked):
    """A res.php that says what it was asked by, in a way that is no secret any more."""
    return b"OK|" + asked.params["key"][::-1].encode()


def hang_up(house, result="ok", names=("tracker", "gateway", "poller1")):
    """SIGHUP to all, and each has read its settings."""
    svc = [name.rstrip("1") for name in names]
    before = [count(house, result, name) for name in svc]
    for name in names:
        house.daemons[name].send(signal.SIGHUP)
    until(lambda: all(count(house, result, name) > was for name, was in zip(svc, before)), SOON_S,
          f"not all say {result}")


def write(house, providers=None, **settings):
    house.settings = merge(house.settings, {**settings, "providers": providers or {}})
    house.write_settings()


def callback(house, task, provider_id, code):
    path = task["callback_url"].removeprefix(house.public.url)
    return house.public.post_form(path, id=provider_id, code=code)


def fresh(house, **params):
    return house.submit(1, fate="drop", answer="polled", solve=0, **params)[0]


def result_of(house, task):
    return until(lambda: house.events_of(task["id"]), SOON_S, "no event")[0]["result"]


def test_a_new_provider_is_served(house):
    assert house.public.get("/callback/fresh", id="1", code="x").status == 404
    refused = house.private.post_json("/v1/tasks", {"provider": "fresh", "provider_id": "1"})
    assert refused.status == 400, refused
    write(house, {"fresh": calm(house, callback={"stale_after": "200ms"})})
    hang_up(house)
    task = house.reserve(provider="fresh")
    assert callback(house, task, "1", "called").status == 200
    assert result_of(house, task) == b"called"
    other = house.register(fresh(house), provider="fresh")
    assert result_of(house, other) == b"polled"
    assert house.public.get("/callback/fresh", id="77", code="x").status == 200
    assert house.get("/v1/status").get("settings") is None


def test_what_an_open_task_goes_by_changes(house):
    """Nobody asks for it; then its profile says otherwise, and the account has another address."""
    write(house, {"shy": {"family": "inphp", "poll": "none", "callback": CALM["callback"]}})
    hang_up(house)
    task = house.register(fresh(house), provider="shy", stale_after="500ms")
    stays(lambda: house.task(task["id"])["state"] == "pending", 1.5, "it has ended")
    write(house, {"shy": merge(calm(house), {"poll": {"schedule": {"every": "100ms"}}})})
    house.settings["providers"]["shy"] = calm(house)
    house.write_settings()
    hang_up(house)
    assert result_of(house, task) == b"polled"


def test_with_an_error_the_old_stays_whole(house):
    task = house.reserve()
    write(house, {"good": calm(house), "bad": calm(house, poll={"timeout": "soon"})},
          log={"level": "debug"})
    hang_up(house, "refused")
    path = house.config_path("")
    with open(path, encoding="utf-8") as file:
        lines = file.read().splitlines()
    line = 1 + next(i for i, text in enumerate(lines) if "timeout: soon" in text)
    place = f"{path}:{line}:"
    assert house.public.get("/callback/good", id="1", code="x").status == 404
    for name in ("tracker", "gateway", "poller1"):
        assert any(place in text for text in said(house, "reload.error", name)), name
        assert said(house, "reload.refused", name)
        assert not any("level=debug" in text for text in house.daemons[name].lines())
    def told():  # a poller's comes with its heartbeat
        notes = house.get("/v1/status").get("settings", {})
        return notes if set(notes) == {"tracker", "gateway", "poller-p1"} else None
    notes = until(told, SOON_S, "the status does not name all three")
    assert all(place in note for note in notes.values()), notes
    shown = house.aldaba("status")
    assert shown.returncode == 0 and shown.stdout.count("were refused") == 3, shown.stdout
    for service in ("tracker", "poller"):
        health = house.aldaba("health", service)
        assert health.returncode == 0 and place in health.stderr, health
    assert sum(value for name, value in house.metrics().items()
               if name.startswith("aldaba_reload_refused")) == 3
    assert house.aldaba("config", "check").returncode == 78
    assert callback(house, task, "5", "still").status == 200
    assert result_of(house, task) == b"still"
    write(house, {"bad": {"poll": {"timeout": "3s"}}})
    hang_up(house)
    until(lambda: "settings" not in house.get("/v1/status"), SOON_S, "the status still names one")
    assert "refused" not in house.aldaba("status").stdout
    assert house.public.get("/callback/good", id="1", code="x").status == 200
    assert house.aldaba("health", "tracker").stderr == ""


def test_a_provider_that_is_gone_ends_its_tasks(house):
    write(house, {"old": calm(house)})
    hang_up(house)
    called, polled = house.reserve(provider="old"), house.register(fresh(house), provider="old")
    bare = house.register("4711", provider="old")
    for _ in range(3):  # and is not forgotten by a later reading
        house.settings["providers"] = {}
        house.write_settings()
        hang_up(house)
    assert said(house, "profile.gone", "gateway") and said(house, "tasks.kept")
    refused = house.private.post_json("/v1/tasks", {"provider": "old", "provider_id": "9"})
    assert refused.status == 400 and "not in the settings" in refused.text, refused
    assert callback(house, called, "1", "called").status == 200
    assert result_of(house, called) == b"called"
    # What does not prove itself makes aldaba ask, and the poller knows still where.
    assert house.public.get("/callback/old", id=polled["provider_id"], code="hint").status == 200
    assert result_of(house, polled) == b"polled"
    assert house.task(bare["id"])["state"] == "pending"
    write(house, {"old": calm(house, callback={"stale_after": "300ms"})})
    hang_up(house)
    assert house.register(fresh(house), provider="old")["id"]
    done = house.aldaba("audit")
    assert done.returncode == 0, done.stdout


def test_orphans_come_in_when_their_profile_is_back(house):
    """The tracker started without it, and it is read anew: no other start is needed."""
    write(house, {"old": calm(house)})
    hang_up(house)
    called, polled = house.reserve(provider="old"), house.register(fresh(house), provider="old")
    dropped = house.reserve(provider="old")
    other = house.reserve()
    house.settings["providers"] = {}
    house.write_settings()
    house.tracker.kill9()
    house.tracker.start()
    house.until_serving()
    orphaned = said(house, "tasks.orphaned")
    assert len(orphaned) == 1 and "provider=old open=3" in orphaned[0], orphaned
    for command, body in (("cancel", {}), ("attach", {"provider_id": "17"})):
        refused = house.private.post_json(f"/v1/tasks/{dropped['id']}/{command}", body)
        assert refused.status == 409 and "is not loaded" in refused.json()["detail"], refused
    done = house.aldaba("cancel", dropped["id"], "--yes")
    assert done.returncode != 0 and "is not loaded" in done.stderr, done
    assert callback(house, called, "1", "early").status == 200  # a letter: its task is not known
    write(house, {"old": calm(house)})
    hang_up(house)
    until(lambda: said(house, "tasks.back"), SOON_S, "they are not read back")
    assert house.cancel(dropped["id"])["state"] == "cancelled"
    assert callback(house, called, "1", "early").status == 200
    assert result_of(house, called) == b"early"
    assert house.public.get("/callback/old", id=polled["provider_id"], code="hint").status == 200
    assert result_of(house, polled) == b"polled"
    assert callback(house, other, "2", "other").status == 200
    assert result_of(house, other) == b"other"
    done = house.aldaba("audit")
    assert done.returncode == 0, done.stdout


def test_what_needs_a_restart_is_named(house):
    write(house, gateway={"threads": 7}, log={"level": "debug"}, store={"keep_results": "9d"})
    hang_up(house)
    for name in ("tracker", "gateway", "poller1"):
        stays_so = said(house, "reload.stays", name)
        assert len(stays_so) == 1 and "setting=gateway.threads" in stays_so[0], stays_so
        assert {"log.level", "store.keep_results"} == {
            text.split("setting=")[1].split()[0] for text in said(house, "reload.setting", name)}
    task = house.reserve()
    callback(house, task, "8", "x")
    until(lambda: said(house, "task.ended"), SOON_S, "the new level is not in force")


def test_another_key_from_its_file(house):
    """Asked by the old key, then by the new one; the provider says what it was asked by."""
    path = os.path.join(house.folder, "key")
    with Stub(turned_key) as server:
        for key in ("the-old-key-1", "the-new-key-2"):
            with open(path, "w", encoding="utf-8") as file:
                file.write(key)
            write(house, {"turned": merge(calm(house, callback={"stale_after": "200ms"}), {
                "secrets": {"key": {"env": None, "file": path}},
                "poll": {"request": {"url": f"{server.url}/res.php"}}})})
            hang_up(house)
            task = house.register(fresh(house), provider="turned")
            assert result_of(house, task) == key.encode()[::-1]


def test_letters_wait_as_the_settings_say(house):
    letters = lambda: house.dead_letters(reason="unknown_task")  # noqa: E731
    write(house, {"sandbox": {"callback": {"parked_for": "100ms"}}})
    hang_up(house, names=("tracker",))
    house.public.get("/callback/sandbox", id="31337", code="x")
    until(letters, SOON_S, "no letter")
    assert letters()[0]["attempts"] == 0
    write(house, dlq={"first_after": "50ms", "max_attempts": 2})
    house.dlq.send(signal.SIGHUP)
    until(lambda: said(house, "reload.done", "dlq"), SOON_S, "it does not read")
    house.public.get("/callback/sandbox", id="31338", code="x")
    until(lambda: any(letter["state"] == "held" for letter in letters()), SOON_S, letters)


def test_under_load_no_callback_is_lost(house):
    """Requests come all the time, slow ones too, while profiles come, change and go."""
    tasks = [house.reserve() for _ in range(240)]
    wrong, done = [], threading.Event()

    def send(mine):
        client = Client(house.public.port)
        for number, task in mine:
            path = task["callback_url"].removeprefix(house.public.url)
            answer = client.post_form(path, id=str(number), code=f"r{number}")
            if answer.status != 200:
                wrong.append(answer)

    def drip(name):
        while not done.is_set():
            answer = Client(house.public.port).raw_status(
                f"POST /callback/{name} HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\n\r\nid=1".encode(),
                half_close=True, timeout_s=1)
            if answer not in (None, 200, 400, 404):
                wrong.append(answer)

    senders = [threading.Thread(target=send, args=(list(enumerate(tasks))[i::4],)) for i in range(4)]
    drips = [threading.Thread(target=drip, args=(name,)) for name in ("come0", "come1", "sandbox")]
    for thread in senders + drips:
        thread.start()
    for turn in range(12):
        house.settings["providers"] = {f"come{turn % 2}": calm(house, callback={
            "verification_file": {"path": f"/file{turn}.txt", "content": f"turn {turn}"}})}
        house.write_settings()
        hang_up(house)
        assert house.public.get(f"/file{turn}.txt").text == f"turn {turn}"
        passes(0.02)
    done.set()
    for thread in senders + drips:
        thread.join()
    assert not wrong, wrong[:5]
    until(lambda: house.books()["tasks"]["done"] == len(tasks), SOON_S, house.books)
    assert house.aldaba("audit").returncode == 0
    assert all(daemon.starts == 1 and daemon.alive() for daemon in
                               house.daemons.values())
