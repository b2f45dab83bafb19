"""docs/openapi.yaml against running services: every operation is asked, every answer is one that the
document promises, and every status that it names comes, but for those of ELSEWHERE."""
import json
import os
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.house import House
from support.openapi import Document, Watched
from support.settings import sandbox_profile
from support.sse import Stream
from support.until import until
from test_facade import CLIENT_KEY, tasks_profile

DOCUMENT = Document()
SOON_S = 15
TOKEN, READ_TOKEN = "a-token-for-the-test", "a-token-that-only-reads"
TOO_LARGE = b"x" * (5 << 20)
FILE = {"path": "/2captcha.txt", "content": "door-of-ours"}
CALM = {"callback": {"stale_after": "300s", "parked_for": "200ms", "verification_file": FILE},
        "poll": {"schedule": {"give_up_after": "600s"}}}
OTHER_SEEN = set()  # in a house of its own
BY_HAND = {"dlq": {"first_after": "1h", "max_after": "1h", "tick": "50ms"}}
# What takes a full disk, a start without keys, a sink, or a letter in hands is seen by the tests named here.
ELSEWHERE = {
    "system/test_full.py": {(name + method, "503") for method in ("Get", "Post", "Put")
                            for name in ("callback", "callbackByToken", "callbackTraced", "callbackOfProvider")},
    "component/test_gateway.py": {("ready", "503")},
    "system/test_sinks.py": {("deleteConsumer", "409")},
    "system/test_again.py": {("replayLetter", "409")},
    "system/test_reload.py": {("cancelTask", "409")},
}


@pytest.fixture(scope="module", name="house")
def a_house():
    with House(profile=CALM) as one:
        key = os.path.join(one.folder, "client.key")
        with open(key, "w", encoding="ascii") as file:
            file.write(CLIENT_KEY + "\n")
        os.chmod(key, 0o600)
        one.start_sandbox()
        port = one.provider.port
        one.settings = {**BY_HAND, "facade": {"in_php": "shop", "create_task": "tasks",
                                              "keys": [{"file": key}]},
                        "providers": {"shop": {**shop(port)}, "tasks": tasks_profile(port),
                                      "sandbox": CALM}}
        one.describe = sandbox_profile
        one.write_settings()
        one.start_daemons()
        yield one


def shop(port):
    return {"extends": "twocaptcha-v1", "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
            "submit": {"request": {"url": f"http://127.0.0.1:{port}/in.php"}},
            "poll": {"request": {"url": f"http://127.0.0.1:{port}/res.php"}}, "budgets": []}


@pytest.fixture(scope="module", name="api")
def an_api(house):
    return Watched(house.private, DOCUMENT, "private")


@pytest.fixture(scope="module", name="door")
def a_door(house):
    return Watched(house.public, DOCUMENT, "public")


def status(expected, answer):
    assert answer.status == expected, answer
    return answer


def send(api, method, target, value=None, expected=200):
    return status(expected, api.post_json(target, {} if value is None else value, method=method))


def made(api, **more):
    return send(api, "POST", "/v1/tasks", {"provider": "sandbox", **more}, 202).json()


def letter(house, api, door):
    """An open one that the dlq has: a code that nobody knows."""
    task = made(api)
    provider_id = house.submit(1, fate="never")[0]
    send(api, "POST", f"/v1/tasks/{task['id']}/attach", {"provider_id": provider_id})
    path = task["callback_url"].removeprefix(house.public.url)
    status(200, door.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS"))

    def look():
        found = api.get("/v1/dead-letters", reason="unmapped_status", task=task["id"]).json()["letters"]
        return next((one["id"] for one in found if one["outcome"] != "outbox"), None)
    return until(look, SOON_S, "no letter"), provider_id


def test_example(house, api):
    """A member that the document does not know is found."""
    task = made(api, meta="page 3")
    operation = DOCUMENT.find("private", "GET", f"/v1/tasks/{task['id']}")
    answer = house.private.get(f"/v1/tasks/{task['id']}")
    DOCUMENT.check_answer(operation, answer)
    for spoil in ({"other": 1}, {"state": "somewhere"}, {"created_ms": "soon"}, {"id": 17}):
        answer.body = json.dumps({**task, **spoil}).encode()
        with pytest.raises(AssertionError):
            DOCUMENT.check_answer(operation, answer)
    answer.status = 299
    with pytest.raises(AssertionError):
        DOCUMENT.check_answer(operation, answer)


def test_tasks(house, api):
    key = {"Idempotency-Key": "order-1"}
    body = {"provider": "shop", "params": {"method": "post", "body": "iVBORw0"}, "meta": "m"}
    task = status(202, api.post_json("/v1/tasks", body, key)).json()
    status(200, api.post_json("/v1/tasks", body, key))
    status(422, api.post_json("/v1/tasks", {**body, "meta": "n"}, key))
    send(api, "POST", "/v1/tasks", {"provider": "sandbox", "colour": 1}, 400)
    status(413, api.request("POST", "/v1/tasks", b" " * (2 << 20)))
    status(200, api.get(f"/v1/tasks/{task['id']}", wait="30"))
    house.ended(task["id"])
    status(200, api.get(f"/v1/tasks/{task['id']}"))
    status(200, api.get(f"/v1/tasks/{task['id']}/result", wait="1s"))
    status(400, api.get(f"/v1/tasks/{task['id']}", wait="soon"))
    status(404, api.get("/v1/tasks/17"))
    status(404, api.get("/v1/tasks/17/result"))
    for query in ({}, {"state": "done"}, {"provider": "shop", "limit": 1}, {"q": "order-1"}):
        assert status(200, api.get("/v1/tasks", **query)).json()["tasks"]
    page = api.get("/v1/tasks", limit=1).json()
    status(200, api.get("/v1/tasks", cursor=page["cursor"]))
    status(400, api.get("/v1/tasks", state="gone"))


def test_attach_and_cancel(house, api):
    task, other = made(api), made(api)
    provider_id = house.submit(1, fate="never")[0]
    attach = {"provider_id": provider_id}
    send(api, "POST", f"/v1/tasks/{task['id']}/attach", attach)
    send(api, "POST", f"/v1/tasks/{other['id']}/attach", attach, 409)
    send(api, "POST", f"/v1/tasks/{other['id']}/attach", {}, 400)
    send(api, "POST", "/v1/tasks/17/attach", attach, 404)
    send(api, "POST", f"/v1/tasks/{other['id']}/cancel")
    send(api, "POST", "/v1/tasks/17/cancel", expected=404)


def test_events(house, api):
    task = made(api)
    send(api, "POST", f"/v1/tasks/{task['id']}/cancel")
    with Stream(house.private.port, "after=all") as stream:
        assert stream.status == 200
        assert stream.headers["content-type"].partition(";")[0] in DOCUMENT.operations[
            "private", "/v1/events", "GET"]["responses"]["200"]["content"]
        for event in stream.results(1):
            DOCUMENT.check(DOCUMENT.look("#/components/schemas/Event"), event, "a result")
    api.seen.add(("followEvents", "200"))
    status(400, api.get("/v1/events", after="never"))
    status(404, api.get("/v1/events", consumer="nobody"))


def test_consumers(api):
    path = "/v1/consumers/mailer"
    send(api, "PUT", path, {"from": "all", "mode": "shared", "ack_wait": "30s", "max_deliver": 7})
    send(api, "PUT", path, {"max_deliver": 9}, 409)
    send(api, "PUT", "/v1/consumers/other", {"from": "nowhere"}, 400)
    status(200, api.get(path))
    status(404, api.get("/v1/consumers/nobody"))
    assert status(200, api.get("/v1/consumers")).json()["consumers"]
    page = send(api, "POST", f"{path}/pull", {"instance": "a", "limit": 10, "wait": "5s"}).json()
    event = page["events"][0]
    done = {"lane": event["lane"], "seq": event["seq"], "verb": "nack", "delay": "1s", "reason": "r"}
    send(api, "POST", f"{path}/settle", {"instance": "a", "settle": [done]}, 204)
    send(api, "POST", f"{path}/settle", {"settle": [{"seq": 0}]}, 400)
    send(api, "POST", f"{path}/pull", {"limit": 100000}, 400)
    send(api, "POST", "/v1/consumers/nobody/pull", {}, 404)
    send(api, "POST", "/v1/consumers/nobody/settle", {"settle": []}, 404)
    status(204, api.request("DELETE", path))
    status(404, api.request("DELETE", path))


def test_letters(house, api, door):
    first, provider_id = letter(house, api, door)
    path = f"/v1/dead-letters/{first}"
    shown = status(200, api.get(path)).json()
    assert shown["original"]["method"] == "GET" and shown["timeline"]
    dry = send(api, "POST", f"{path}/replay", {"dry_run": True}).json()["dry_run"]
    assert dry["disposition"] == "still"
    query = f"id={provider_id}&code=right"
    send(api, "PATCH", path, {"revision": 1, "query": query}, 400)
    send(api, "PATCH", path, {"revision": 1, "by": "ana", "query": query})
    send(api, "PATCH", path, {"revision": 1, "by": "ana", "query": query}, 409)
    status(200, api.get(path, revision=1))
    send(api, "POST", f"{path}/replay", {"buy": True}, 400)
    send(api, "POST", f"{path}/replay", {"by": "ana"})
    until(lambda: api.get(path).json()["state"] == "resolved", SOON_S, "it stays open")
    second, _ = letter(house, api, door)
    assert status(200, api.get("/v1/dead-letters", group=1)).json()["groups"]
    status(400, api.get("/v1/dead-letters", reason="boredom"))
    send(api, "DELETE", f"/v1/dead-letters/{second}", {"by": "ana"})
    none = "01JDNOLETTER0000000000000X"
    status(404, api.get(f"/v1/dead-letters/{none}"))
    send(api, "PATCH", f"/v1/dead-letters/{none}", {"revision": 1, "by": "ana", "query": ""}, 404)
    send(api, "DELETE", f"/v1/dead-letters/{none}", expected=404)
    send(api, "POST", f"/v1/dead-letters/{none}/replay", expected=404)


def test_bulk_replays(house, api, door):
    letter(house, api, door)
    letter(house, api, door)
    begun = send(api, "POST", "/v1/dead-letters/replay",
                 {"reason": "unmapped_status", "rate": 1, "dry_run": True, "by": "ana"}, 202).json()
    path = f"/v1/replays/{begun['id']}"
    send(api, "POST", f"{path}/pause", {"by": "ana"})
    status(200, api.get(path))
    send(api, "POST", f"{path}/resume", {"by": "ana"})
    until(lambda: api.get(path).json()["state"] == "done", SOON_S, "it does not end")
    assert api.get(path).json()["counts"]
    for verb in ("pause", "resume"):
        send(api, "POST", f"{path}/{verb}", expected=409)
        send(api, "POST", f"/v1/replays/01JDNOREPLAY0000000000000X/{verb}", expected=404)
    send(api, "DELETE", path, expected=409)
    other = send(api, "POST", "/v1/dead-letters/replay", {"rate": 1, "dry_run": True}, 202).json()
    send(api, "DELETE", f"/v1/replays/{other['id']}", {"by": "ana"})
    status(404, api.get("/v1/replays/01JDNOREPLAY0000000000000X"))
    send(api, "DELETE", "/v1/replays/01JDNOREPLAY0000000000000X", expected=404)
    send(api, "POST", "/v1/dead-letters/replay", {"state": "gone"}, 400)
    assert status(200, api.get("/v1/replays", limit=1)).json()["replays"]
    status(400, api.get("/v1/replays", limit="many"))


def test_providers(api):
    assert len(status(200, api.get("/v1/providers")).json()["providers"]) == 3
    status(200, api.get("/v1/providers", name="shop"))
    status(404, api.get("/v1/providers", name="nobody"))
    for verb in ("pause", "resume"):
        status(200, api.request("POST", f"/v1/providers/sandbox/{verb}"))
        status(404, api.request("POST", f"/v1/providers/nobody/{verb}"))


def test_the_rest(house, api):
    assert status(200, api.get("/v1/status")).json()["away"] == []
    assert status(200, api.get("/v1/audit")).json()["balanced"] is True
    status(200, api.get("/v1/audit", deep=1))
    folder = os.path.join(house.folder, "backup")
    send(api, "POST", "/v1/backup", {"dir": folder})
    send(api, "POST", "/v1/backup", {"dir": folder}, 409)
    send(api, "POST", "/v1/backup", {"dir": "here"}, 400)
    for path in ("/healthz", "/readyz", "/metrics", "/", "/ui/app.js", "/ui/app.css", "/ui/icon.svg"):
        status(200, api.get(path))
    for path in ("/", "/ui/app.js"):
        status(304, api.request("GET", path, None, {"If-None-Match": api.get(path).headers["etag"]}))
    status(404, api.get("/ui/nothing.js"))


def test_who_looks_on(house, api):
    assert status(200, api.get("/v1/access")).json() == {"tokens": False, "read": True, "change": True}
    task = made(api)
    send(api, "POST", f"/v1/tasks/{task['id']}/cancel", {"by": "ana"})
    (action,) = status(200, api.get("/v1/actions", limit=1)).json()["actions"]
    assert (action["by"], action["of"]) == ("ana", task["id"])
    status(400, api.get("/v1/actions", limit="some"))
    with Stream(house.private.port, "", path="/v1/watch") as stream:
        assert stream.status == 200 and stream.headers["content-type"].startswith("text/event-stream")
        name, _, value = stream.next()
        shown = DOCUMENT.operations["private", "/v1/status", "GET"]["responses"]["200"]["content"]
        DOCUMENT.check(shown["application/json"]["schema"], value, name)
    api.seen.add(("watchStatus", "200"))
    status(400, api.get("/v1/watch", every=1))


def test_facade(api):
    form = f"key={CLIENT_KEY}&method=test"
    word, _, task = status(200, api.request("GET", f"/in.php?{form}")).text.partition("|")
    assert word == "OK"
    headers = {"Content-Type": "application/x-www-form-urlencoded"}
    assert status(200, api.request("POST", "/in.php", form.encode(), headers)).text.startswith("OK|")
    status(200, api.get("/res.php", key=CLIENT_KEY, action="get", id=task))
    said = status(200, api.post_form("/res.php", key=CLIENT_KEY, action="get", id=task, json=1))
    assert said.json()["status"] in (0, 1)
    made_ = send(api, "POST", "/createTask", {"clientKey": CLIENT_KEY, "task": {"type": "x"}}).json()
    assert made_["errorId"] == 0
    for path in ("/getTaskResult", "/getBalance", "/reportCorrect", "/reportIncorrect",
                 "/reportCorrectRecaptcha", "/reportIncorrectRecaptcha", "/reportIncorrectImageCaptcha"):
        send(api, "POST", path, {"clientKey": CLIENT_KEY, "taskId": made_["taskId"]})


@pytest.mark.parametrize("method", ["GET", "POST", "PUT"])
def test_the_door(house, api, door, method):
    task = made(api)
    path = task["callback_url"].removeprefix(house.public.url)
    provider_id = house.submit(1, fate="never")[0]
    query = f"?id={provider_id}&code=abc"
    status(200, door.request(method, f"/callback{query}"))
    status(200, door.request(method, f"/callback/sandbox{query}"))
    status(200, door.request(method, f"{path}{query}"))
    status(400, door.request(method, "/callback"))
    status(400, door.request(method, "/callback/sandbox?id=%zz"))
    status(404, door.request(method, "/callback/nobody"))
    status(404, door.request(method, "/cb/sandbox/AQBrbkSOACAA2l6YL9SyI1FkBT2FE8nEpA"))
    trace = {"traceparent": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    traced = status(202, api.post_json("/v1/tasks", {"provider": "sandbox"}, trace)).json()
    assert traced["trace"] == trace["traceparent"]
    behind = traced["callback_url"].removeprefix(house.public.url)
    assert behind.endswith("/" + traced["trace"])
    status(200, door.request(method, f"{behind}{query}"))
    status(404, door.request(method, f"/cb/sandbox/AQBrbkSOACAA2l6YL9SyI1FkBT2FE8nEpA/{traced['trace']}"))
    for where in ("/callback", "/callback/sandbox", path, behind):
        status(413, door.request(method, f"{where}{query}", TOO_LARGE))
    assert status(200, door.get(FILE["path"])).text == FILE["content"]
    status(404, door.get("/other.txt"))


def test_a_token_and_a_default_provider():
    """401, and 404 of the common address when nobody stands behind it."""
    with House(pollers=0, settings={"gateway": {"tokens": [{"env": "ALD_TEST_TOKEN"}],
                                                "read_tokens": [{"env": "ALD_TEST_READS"}],
                                                "default_provider": ""}}) as one:
        for daemon in one.daemons.values():
            daemon.env.update(ALD_TEST_TOKEN=TOKEN, ALD_TEST_READS=READ_TOKEN)
        one.start()
        api, door = Watched(one.private, DOCUMENT, "private"), Watched(one.public, DOCUMENT, "public")
        for (listener, path, method), operation in DOCUMENT.operations.items():
            if listener == "private" and operation.get("security") != []:
                answer = api.request(method, path.replace("{id}", "17"))
                assert answer.status == 401, (path, method, answer)
        bearer = {"Authorization": f"Bearer {TOKEN}"}
        status(200, api.request("GET", "/v1/status", None, bearer))
        reads = {"Authorization": f"Bearer {READ_TOKEN}"}
        status(200, api.request("GET", "/v1/tasks", None, reads))
        status(403, api.request("POST", "/v1/tasks/17/cancel", b"{}", reads))
        status(200, api.get("/healthz"))
        for method in ("GET", "POST", "PUT"):
            status(404, door.request(method, "/callback?id=1&code=a"))
        OTHER_SEEN.update(door.seen)


def test_services_that_are_away(house, api):
    """503 says that nothing was done, and when to come again."""
    house.dlq.kill9()
    house.tracker.kill9()
    one = "/v1/dead-letters/01JDNOLETTER0000000000000X"
    asked = [("PATCH", one, {"revision": 1, "by": "ana", "body": ""}), ("DELETE", one, {}),
             ("POST", f"{one}/replay", {}), ("POST", "/v1/dead-letters/replay", {}),
             ("POST", "/v1/consumers/mailer/pull", {}), ("GET", "/v1/audit", None),
             ("POST", "/v1/backup", {"dir": os.path.join(house.folder, "late")})]

    def ask(question):
        method, path, value = question
        body = None if value is None else json.dumps(value).encode()
        return api.request(method, path, body, {"Content-Type": "application/json"})

    with ThreadPoolExecutor(len(asked)) as pool:
        for answer in pool.map(ask, asked):
            assert int(status(503, answer).headers["retry-after"]) > 0
    assert set(status(200, api.get("/v1/status")).json()["away"]) == {"tracker", "dlq"}
    house.revive()
    house.until_serving()


def test_every_status_of_the_document_came(api, door):
    """Last in this file, and only when all of it runs."""
    seen = api.seen | door.seen | OTHER_SEEN
    told = set().union(*ELSEWHERE.values())
    if not {"makeTask", "makeBackup", "inPhpGet", "verificationFile"} <= {name for name, _ in seen}:
        pytest.skip("only a part of this file was run")
    missing = DOCUMENT.statuses() - seen - told
    assert not missing, missing
    assert not told & seen, f"seen here: {told & seen}"
    assert told <= DOCUMENT.statuses(), told - DOCUMENT.statuses()
