"""When a task is polled, and what happens when it can't be: times learned from callbacks, providers
that forget, providers that have nothing to poll."""
import contextlib
import sqlite3

import pytest
from support.house import House
from support.ledger import Ledger, settle
from support.settings import merge
from support.stub import Stub
from support.until import passes, stays, until

SOON_S = 15
LEARNS = {"callback": {"stale_after": "auto",
                       "stale_auto": {"start": "20s", "floor": "300ms", "ceiling": "25s"}},
          "poll": {"schedule": {"give_up_after": "120s"}}}


def view(house, name="sandbox"):
    (one,) = house.get("/v1/providers", name=name)["providers"]
    return one


def written_down(house):
    """What the tracker has learned is in its store: it is written with its heartbeat."""
    def beat():
        with contextlib.closing(sqlite3.connect(f"file:{house.folder}/data/tracker.db?mode=ro",
                                                uri=True)) as store:
            return store.execute("SELECT value FROM facts WHERE name = 'run_ms'").fetchone()
    for _ in range(2):  # the first may have been on its way
        was = beat()
        until(lambda: beat() != was, SOON_S, "no heartbeat")


def call_all(house, count, **params):
    """Tasks whose callbacks come, each after its registration."""
    ledger = Ledger()
    for provider_id in house.submit(count, **params):
        ledger.registered(provider_id, house.register(provider_id)["id"])
    return ledger


# ---- stale_after: auto ----


def test_the_first_poll_is_learned():
    """Callbacks that come within a second teach that two seconds are late, also after a
    stop; and a task whose callback never comes is asked for then."""
    with House(profile=LEARNS) as house:
        house.start()
        before = view(house)
        assert (before["stale_auto"], before["stale_after_ms"], before["callbacks"]) == \
            (True, 20000, 0)
        ledger = call_all(house, 40, fate="ok", solve=0.7)
        settle(house, ledger).demand()
        after = view(house)
        assert after["callbacks"] == 40
        assert 300 <= after["callback_p50_ms"] <= after["callback_p95_ms"] < 3000
        assert after["callback_p95_ms"] < after["stale_after_ms"] < 4000
        assert "auto from 40" in house.aldaba("provider", "status", "sandbox").stdout
        house.tracker.stop()
        house.tracker.start()
        house.until_serving()
        assert view(house) == after
        (slow,) = house.submit(1, fate="drop", solve=0, answer="polled")
        task = house.register(slow)
        event = house.ended(task["id"], 8)
        assert (event["result"], event["source"]) == ("polled", "poll")


def test_what_was_learned_outlives_a_kill():
    with House(profile=LEARNS) as house:
        house.start()
        settle(house, call_all(house, 25, fate="ok", solve=0.3)).demand()
        written_down(house)
        house.tracker.kill9()
        house.tracker.start()
        house.until_serving()
        assert view(house)["callbacks"] == 25


def test_a_said_time_stays():
    with House() as house:
        house.start()
        settle(house, call_all(house, 25, fate="ok", solve=0.3)).demand()
        seen = view(house)
        assert (seen["stale_auto"], seen["stale_after_ms"], seen["callbacks"]) == (False, 1000, 25)


# ---- a provider that forgets ----


def forgets(ttl, **callback):
    return {"callback": {"stale_after": "60s", **callback},
            "codes": {"_default": {"class": "unknown"},
                      "CAPCHA_NOT_READY": {"class": "pending"},
                      "ERROR_WRONG_CAPTCHA_ID": {"class": "lost", "grace": "1s"}},
            "poll": {"result_ttl": ttl,
                     "schedule": {"every": "200ms", "max_every": "2s", "give_up_after": "120s"}}}


def described(port, more):
    """in.php by rules, so that the code table is the test's."""
    return {
        "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
        "codes": more["codes"],
        "poll": {
            "request": {"method": "GET", "url": f"http://127.0.0.1:{port}/res.php"},
            "params": {"key": "${secret.key}", "action": "get", "json": "1", "id": "${id}"},
            "rules": [
                {"when": [{"json": "/status", "eq": 1}], "then": "done", "result": {"json": "/request"}},
                {"when": [{"json": "/status", "eq": 0}], "then": "code", "code": {"json": "/request"}}],
            **more["poll"]},
        "callback": {"id": {"value": "id"}, "trust": "id", "rules": [
            {"when": [{"value": "code", "is": "nonempty"}], "then": "done",
             "result": {"value": "code"}}], **more["callback"]},
    }


@pytest.fixture
def forgetful():
    with House() as house:
        house.start_sandbox()
        house.settings = {"providers": {
            "forgets": described(house.provider.port, forgets("6s"))}}
        house.write_settings()
        yield house.start_daemons()


def test_a_result_is_asked_for_before_it_is_forgotten(forgetful):
    """A callback counts as late after a minute, and the provider keeps answers for six seconds."""
    (kept,) = forgetful.submit(1, fate="drop", solve=0, answer="kept", keep=6)
    task = forgetful.register(kept, provider="forgets")
    assert view(forgetful, "forgets")["stale_after_ms"] == 5400
    event = forgetful.ended(task["id"], 12)
    assert (event["state"], event["result"], event["source"]) == ("done", "kept", "poll")


def test_what_was_forgotten_is_lost(forgetful):
    """Nobody could ask in time: the end is `lost`, with the provider's word, and not `expired`."""
    house = forgetful
    house.aldaba("provider", "pause", "forgets")
    (gone,) = house.submit(1, fate="drop", solve=0, answer="gone", keep=6)
    task = house.register(gone, provider="forgets")
    stays(lambda: not house.events(), 7, "it ended while it was paused")
    house.aldaba("provider", "resume", "forgets")
    event = house.ended(task["id"], SOON_S)
    assert (event["state"], event["code"]) == ("lost", "ERROR_WRONG_CAPTCHA_ID")
    assert house.audit()["balanced"]


# ---- a provider that has nothing to poll ----


def mute(on_stale):
    """With `resubmit` it could submit; what its caller has submitted it can't submit again."""
    submit = {"request": {"method": "POST", "url": "http://127.0.0.1:9/in.php"},
              "rules": [{"when": [{"text_prefix": "OK|"}], "then": "accepted",
                         "id": {"text_after": "OK|"}}]}
    return {**({"submit": submit} if on_stale == "resubmit" else {}), "poll": "none", "recover": {"on_stale": on_stale},
            "codes": {"_default": {"class": "unknown"}},
            "callback": {"id": {"value": "id"}, "auth": {"url_token": "path"}, "trust": "token",
                         "stale_after": "1s",
                         "rules": [{"when": [{"value": "code", "is": "nonempty"}], "then": "done",
                                    "result": {"value": "code"}}]}}


@pytest.mark.parametrize("on_stale", ["alert", "resubmit"])
def test_nothing_to_poll(on_stale):
    """Somebody is told at once and once, also over a restart; the task waits for its callback, and
    one whose callback never comes expires at its deadline."""
    with House() as house:
        house.start_sandbox()
        house.settings = {"providers": {"mute": mute(on_stale)}}
        house.write_settings()
        house.start_daemons()
        task = house.reserve(provider="mute")
        never = house.reserve(provider="mute", give_up_after="12s")
        until(lambda: view(house, "mute")["late"] == 2, SOON_S, lambda: view(house, "mute"))
        notes = [entry for entry in house.task(task["id"])["timeline"]
                 if entry["what"] == "late"]
        assert len(notes) == 1
        assert [value for key, value in house.metrics().items()
                if key.startswith("aldaba_tasks_late_total{") and 'provider="mute"' in key] == [2]
        assert sum("ev=task.late" in line for line in house.tracker.lines()) == 2
        passes(2)
        house.tracker.restart()
        house.until_serving()
        assert view(house, "mute")["late"] == 2
        stays(lambda: sum("ev=task.late" in line for line in house.tracker.lines()) <= 2, 2,
              "it was said again")
        path = "/cb/" + task["callback_url"].split("/cb/")[1]
        assert house.public.get(path, id="d1", code="at last").status == 200
        assert house.ended(task["id"], SOON_S)["result"] == "at last"
        assert house.ended(never["id"], 20)["state"] == "expired"
        assert view(house, "mute")["late"] == 0


# ---- an address that the provider gives when it takes the task ----


def takes_all(where):
    """Takes everything, and says where() it is to be asked for."""
    def answer(asked):
        if asked.method == "POST":
            return 202, {}, {"Operation-Location": where()}
        return 200, {"status": "succeeded", "text": "hello"}
    return answer


def open_house(**azure):
    """A house whose provider's endpoint is the caller's, so that its profile knows no host."""
    profile = merge({"extends": "azure-lro", "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
                     "poll": {"schedule": {"first_after": "100ms", "every": "200ms"}}}, azure)
    house = House()
    house.settings = merge(house.settings, {"providers": {"azure": profile}})
    return house


def test_a_callback_names_no_other_host():
    """The id that a callback tells may be an address: nobody is asked there."""
    called = {"callback": {"id": {"json": "/id"}, "auth": {"url_token": "path"}, "trust": "token",
                           "rules": [{"when": [{"json": "/done", "is": "present"}], "then": "done",
                                      "result": {"json": "/done"}}], "stale_after": "200ms"},
              "submit": {"callback_param": {"in": "body", "name": "notify"}}}
    with Stub(lambda _: None) as server, Stub(takes_all(None)) as stranger, \
            open_house(**called) as house:
        house.start()
        task = house.post("/v1/tasks", {"provider": "azure", "params": {
            "endpoint": f"{server.url}/translate", "text": "hallo"}})
        path = task["callback_url"].removeprefix(house.public.url)
        until(lambda: house.dead_letters(reason="submit_uncertain"), SOON_S, "no letter")
        assert house.public.post_json(path, {"id": f"{stranger.url}/steal"}).status == 200
        stays(lambda: not stranger.heard, 2, "it was asked for")
        assert house.task(task["id"])["provider_id"] == ""
        assert house.public.post_json(path, {"id": f"{stranger.url}/steal", "done": 1}).status == 200
        assert house.ended(task["id"])["source"] in ("callback", "late")


@pytest.mark.parametrize("same_host", [True, False])
def test_a_result_lies_where_its_task_is_polled(same_host):
    """The address of a result comes with a poll: the key goes to no other host."""
    fetches = {"poll": {"rules": [{"when": [{"json": "/status", "eq": "succeeded"}], "then": "fetch",
                                   "result_url": {"json": "/text"}}]},
               "fetch": {"request": {"method": "GET", "url": "${result_url}"},
                         "rules": [{"when": [{"http": "2xx"}], "then": "done",
                                    "result": {"json": "/status"}}]}}
    with Stub(lambda asked: answer(asked)) as server, Stub(takes_all(None)) as stranger, \
            open_house(**fetches) as house:
        home = (server if same_host else stranger).url

        def answer(asked):
            if asked.method == "POST":
                return 202, {}, {"Operation-Location": f"{server.url}/op"}
            return 200, {"status": "succeeded", "text": f"{home}/result"}
        house.start()
        task = house.post("/v1/tasks", {"provider": "azure", "params": {
            "endpoint": f"{server.url}/translate", "text": "hallo"}})
        if same_host:
            assert house.ended(task["id"])["result"] == "succeeded"
        else:
            until(lambda: len(server.heard) > 2, SOON_S, "it is not polled")
        assert not stranger.heard, "it was asked for"


@pytest.mark.parametrize("same_host", [True, False])
def test_a_submission_is_asked_for_where_its_answer_says(same_host):
    """The endpoint is the caller's, so the profile knows no host; and the key goes nowhere else."""
    where = []
    with Stub(takes_all(lambda: where[0])) as server, Stub(takes_all(None)) as stranger, \
            open_house() as house:
        house.start()
        where.append(f"{(server if same_host else stranger).url}/operations/op-1?v=2")
        task = house.post("/v1/tasks", {"provider": "azure", "params": {
            "endpoint": f"{server.url}/translate", "text": "hallo"}})
        if same_host:
            ended = house.ended(task["id"])
            assert (ended["state"], ended["source"]) == ("done", "poll")
            assert server.heard[1].target == "/operations/op-1?v=2"
            assert server.heard[1].headers["Ocp-Apim-Subscription-Key"]
        else:
            letter, = until(lambda: house.dead_letters(reason="submit_uncertain"), SOON_S, "no letter")
            assert "not on the host" in letter["cause"], letter
            stays(lambda: len(server.heard) == 1 and not stranger.heard, 2, "it was asked for")
