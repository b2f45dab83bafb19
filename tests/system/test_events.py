"""Providers that call back several times for a task, or say little when they do: however many
messages there are, a task has one end, and its result is whole. The descriptions are those that come
with aldaba; only their addresses and secrets are this test's."""
import base64
import itertools
import json
import time

import pytest
from support.house import House
from support.settings import free_port
from support.signing import standard_webhooks
from support.stub import Stub
from support.until import stays, until

SOON_S = 10
SECRET = "whsec_" + base64.b64encode(b"a-secret-of-the-provider-31415926").decode()
JSON = {"Content-Type": "application/json"}
PROOF = {"X-Test-Proof": "hook-secret-of-the-test"}
SOON = {"every": "200ms", "max_every": "1s", "give_up_after": "900s"}


class Provider(Stub):
    """Answers each path with what the test has put there: answers[path] = (status, value)."""

    def __init__(self, port):
        super().__init__(self.planned, port)
        self.answers = {}

    def planned(self, asked):
        return self.answers.get(asked.target, (404, {"detail": "not found"}))

    @property
    def targets(self):
        return [asked.target for asked in self.heard]


def profiles(home):
    secrets = {"key": {"env": "ALDABA_SANDBOX_KEY"}, "proof": {"env": "ALDABA_TEST_PROOF"}}
    header = {"name": "X-Test-Proof", "value": "${secret.proof}"}
    return {
        "replicate": {
            "extends": "replicate",
            "secrets": {**secrets, "whsec": {"env": "ALDABA_TEST_WHSEC"}},
            "submit": {"request": {"url": f"{home}/v1/predictions"}},
            "poll": {"request": {"url": home + "/v1/predictions/${id}"}, "schedule": SOON}},
        "assemblyai": {
            "extends": "assemblyai", "secrets": {**secrets, "hook": {"env": "ALDABA_TEST_PROOF"}},
            "submit": {"request": {"url": f"{home}/v2/transcript"}},
            "poll": {"request": {"url": home + "/v2/transcript/${id}"}, "schedule": SOON},
            "callback": {"auth": {"header_secret": header, "source_ips": ["127.0.0.1"]}}},
        "fal": {
            "extends": "fal", "secrets": secrets,
            "submit": {"request": {"url": home + "/${param.model}"}},
            "poll": {"schedule": SOON},
            "callback": {"auth": {"ed25519": None, "header_secret": header}}},
    }


@pytest.fixture(scope="module")
def both():
    port = free_port()
    with pytest.MonkeyPatch.context() as environment, Provider(port) as provider:
        environment.setenv("ALDABA_TEST_WHSEC", SECRET)
        environment.setenv("ALDABA_TEST_PROOF", PROOF["X-Test-Proof"])
        with House() as house:
            house.start_sandbox()
            house.settings = {"providers": profiles(f"http://127.0.0.1:{port}")}
            house.write_settings()
            yield house.start_daemons(), provider


numbers = itertools.count(1)


def call(house, task, value, headers=None):
    body = json.dumps(value).encode()
    if headers is None:
        headers = standard_webhooks(SECRET, body, time.time(), f"msg_{next(numbers)}")
    path = "/cb/" + task["callback_url"].split("/cb/")[1]
    answer = house.public.request("POST", path, body, {**JSON, **headers})
    assert answer.status == 200, answer
    return answer


def reserved(house, provider, provider_id, **more):
    task = house.reserve(provider=provider)
    answer = house.private.post_json(f"/v1/tasks/{task['id']}/attach",
                                     {"provider_id": provider_id, **more})
    assert answer.status in (200, 202), answer
    return task


def the_end(house, task):
    (event,) = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
    return event


def growth(house, before):
    now = house.books()["arrivals"]
    return {name: now[name] - before.get(name, 0) for name in now
            if now[name] != before.get(name, 0)}


def test_example(both):
    """Start, output, output, logs, then the end: one event, and everything else is progress."""
    house, _ = both
    task = reserved(house, "replicate", "p1")
    before = house.books()["arrivals"]
    for status in ("starting", "processing", "processing", "processing"):
        call(house, task, {"id": "p1", "status": status, "output": ["so far"], "logs": "..."})
    assert house.task(task["id"])["state"] == "pending"
    call(house, task, {"id": "p1", "status": "succeeded", "output": ["all", "of it"]})
    event = the_end(house, task)
    assert (event["state"], json.loads(event["result"])) == ("done", ["all", "of it"])
    assert growth(house, before) == {"received": 5, "progress": 4, "applied": 1}


def test_progress_asks_nobody(both):
    """`starting` is no hint: the provider has just said all there is."""
    house, provider = both
    task = reserved(house, "replicate", "p2")
    for _ in range(5):
        call(house, task, {"id": "p2", "status": "processing"})
    stays(lambda: not any(path.endswith("/p2") for path in provider.targets), 2, "it was asked")
    assert house.task(task["id"])["state"] == "pending"


def test_events_out_of_order_and_again(both):
    """The end comes first, then what should have come before it, then the end once more."""
    house, _ = both
    task = reserved(house, "replicate", "p3")
    before = house.books()["arrivals"]
    end = {"id": "p3", "status": "succeeded", "output": "A"}
    for value in (end, {"id": "p3", "status": "starting"}, {"id": "p3", "status": "processing"}, end):
        call(house, task, value)
    assert json.loads(b'"' + the_end(house, task)["result"] + b'"') == "A"
    assert growth(house, before) == {"received": 4, "applied": 1, "duplicate": 3}
    assert not house.dead_letters()


@pytest.mark.parametrize("status", ["failed", "canceled", "aborted"])
def test_progress_and_then_no_result(both, status):
    house, _ = both
    provider_id = f"x{status}"
    task = reserved(house, "replicate", provider_id)
    call(house, task, {"id": provider_id, "status": "processing", "output": ["so far"]})
    call(house, task, {"id": provider_id, "status": status, "error": "no GPU", "output": ["so far"]})
    event = the_end(house, task)
    assert (event["state"], event["code"], event.get("result", b"")) == ("failed", status, b"")


def test_a_thin_callback_is_fetched_at_once(both):
    """AssemblyAI says that a transcript is there; the text has to be asked for."""
    house, provider = both
    whole = {"id": "t1", "status": "completed", "text": "hello", "confidence": 0.10000000000000001}
    provider.answers["/v2/transcript/t1"] = (200, whole)
    task = reserved(house, "assemblyai", "t1")
    stays(lambda: not house.events_of(task["id"]), 1, "it ended by itself")
    call(house, task, {"transcript_id": "t1", "status": "completed"}, PROOF)
    event = the_end(house, task)
    assert (event["state"], event["source"]) == ("done", "poll")
    assert json.loads(event["result"]) == whole


def test_a_thin_callback_about_an_error(both):
    house, provider = both
    provider.answers["/v2/transcript/t2"] = (200, {"id": "t2", "status": "error",
                                                   "error": "No speech."})
    task = reserved(house, "assemblyai", "t2")
    call(house, task, {"transcript_id": "t2", "status": "error"}, PROOF)
    event = the_end(house, task)
    assert (event["state"], event["code"]) == ("failed", "No speech.")


def test_a_thin_callback_before_its_text(both):
    """The callback is faster than the provider's own store: asked again, and it ends well."""
    house, provider = both
    provider.answers["/v2/transcript/t3"] = (200, {"id": "t3", "status": "processing"})
    task = reserved(house, "assemblyai", "t3")
    call(house, task, {"transcript_id": "t3", "status": "completed"}, PROOF)
    until(lambda: "/v2/transcript/t3" in provider.targets, SOON_S, "it was not asked")
    assert not house.events_of(task["id"])
    provider.answers["/v2/transcript/t3"] = (200, {"id": "t3", "status": "completed", "text": "x"})
    assert the_end(house, task)["state"] == "done"


def addresses(provider, name, status, result=None):
    home = f"http://127.0.0.1:{provider.server_port}"
    paths = f"/requests/{name}/status", f"/requests/{name}"
    provider.answers[paths[0]] = (200, {"status": status, "response_url": home + paths[1]})
    if result is not None:
        provider.answers[paths[1]] = (200, result)
    return {"poll_url": home + paths[0], "result_url": home + paths[1]}


def test_fal_with_its_payload(both):
    house, provider = both
    task = reserved(house, "fal", "f1", **addresses(provider, "f1", "IN_PROGRESS"))
    call(house, task, {"request_id": "f1", "status": "OK", "payload": {"images": [1]}}, PROOF)
    event = the_end(house, task)
    assert (json.loads(event["result"]), event["source"]) == ({"images": [1]}, "callback")


def test_fal_without_its_payload(both):
    """The result did not go into the callback: status, then the result, in one poll."""
    house, provider = both
    where = addresses(provider, "f2", "COMPLETED", {"images": [2]})
    task = reserved(house, "fal", "f2", **where)
    call(house, task, {"request_id": "f2", "status": "OK", "payload": None,
                       "payload_error": "too large"}, PROOF)
    event = the_end(house, task)
    assert (json.loads(event["result"]), event["source"]) == ({"images": [2]}, "poll")
    assert provider.targets.count("/requests/f2") == 1


def test_fal_that_failed(both):
    house, provider = both
    task = reserved(house, "fal", "f3", **addresses(provider, "f3", "IN_QUEUE"))
    call(house, task, {"request_id": "f3", "status": "ERROR", "error": "Invalid status code: 422",
                       "payload": {"detail": []}}, PROOF)
    assert the_end(house, task)["state"] == "failed"
