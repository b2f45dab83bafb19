"""A provider that is described in YAML alone, through all of aldaba: its rules read callbacks and
polls, and it says of each task where to ask."""
import pytest
from support.house import House
from support.until import stays, until

SOON_S = 10
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def profile(port):
    home = f"http://127.0.0.1:{port}"
    return {
        "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
        "codes": {"_default": {"class": "unknown"}, "CAPCHA_NOT_READY": {"class": "pending"},
                  "ERROR_WRONG_CAPTCHA_ID": {"class": "unknown", "alert": True}},
        "submit": {"request": {"method": "POST", "url": f"{home}/in.php", "encode": "form"},
                   "rules": [{"when": [], "then": "accepted", "id": {"json": "/request"}}]},
        "poll": {
            "request": {"method": "GET", "url": "${poll_url}", "encode": "query"},
            "params": {"key": "${secret.key}", "action": "get", "json": "1"},
            "schedule": {"every": "200ms", "max_every": "2s", "give_up_after": "60s"},
            "rules": [
                {"when": [{"json": "/status", "eq": 1}], "then": "done", "result": {"json": "/request"}},
                {"when": [{"json": "/status", "eq": 0}], "then": "code", "code": {"json": "/request"}}]},
        "callback": {
            "methods": ["POST"], "id": {"value": "id"}, "auth": {"url_token": "path"}, "trust": "token",
            "stale_after": "1s",
            "rules": [{"when": [{"value": "code", "is": "nonempty"}], "then": "done",
                       "result": {"value": "code"}}]},
    }


@pytest.fixture(scope="module")
def house():
    with House() as one:
        one.start_sandbox()
        one.settings = {"providers": {"described": profile(one.provider.port)}}
        one.write_settings()
        yield one.start_daemons()


def asked_at(house, provider_id):
    return f"http://127.0.0.1:{house.provider.port}/res.php?id={provider_id}"


def result(house, task):
    events = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
    assert len(events) == 1
    return events[0]["result"], events[0]["source"]


def fresh(house):
    return house.submit(1, fate="drop", answer="polled", solve=0)[0]


def test_a_callback_is_read_by_its_rules(house):
    task = house.reserve(provider="described")
    path = "/cb/" + task["callback_url"].split("/cb/")[1]
    assert house.public.request("POST", path, b"id=x1&code=called", FORM).status == 200
    assert result(house, task) == (b"called", "callback")


@pytest.mark.parametrize("method", ["GET", "PUT"])
def test_methods_refuse_nothing(house, method):
    """`methods: [POST]` describes the service: a 405 would lose an answer."""
    task = house.reserve(provider="described")
    path = "/cb/" + task["callback_url"].split("/cb/")[1]
    body = b"id=m&code=taken" if method == "PUT" else None
    query = "" if body else "?id=m&code=taken"
    assert house.public.request(method, path + query, body, FORM).status == 200
    assert result(house, task) == (b"taken", "callback")


def test_a_task_is_asked_where_its_provider_said(house):
    provider_id = fresh(house)
    task = house.register(provider_id, provider="described", poll_url=asked_at(house, provider_id))
    assert result(house, task) == (b"polled", "poll")


def test_a_task_without_an_address_waits_for_one(house):
    provider_id = fresh(house)
    task = house.register(provider_id, provider="described")
    stays(lambda: house.task(task["id"])["polls"] == 0, 2, "it was asked without an address")
    again = house.register(provider_id, provider="described", poll_url=asked_at(house, provider_id))
    assert again["id"] == task["id"]
    assert result(house, task) == (b"polled", "poll")


def test_an_address_elsewhere_is_refused(house):
    answer = house.private.post_json("/v1/tasks", {
        "provider": "described", "provider_id": "e1", "poll_url": "http://127.0.0.2/res.php"})
    assert answer.status == 400 and "poll_url" in answer.text


def test_a_code_that_somebody_should_hear_of(house):
    """From a poll it is an error in the log and counts; in a callback anybody may have written it."""
    def heard():
        return sum(value for name, value in house.metrics().items()
                   if name.startswith("aldaba_code_alerts_total"))
    task = house.reserve(provider="described")
    path = "/cb/" + task["callback_url"].split("/cb/")[1]
    assert house.public.request("POST", path, b"id=no&code=", FORM).status == 200
    assert not heard()
    house.register("404404", provider="described", poll_url=asked_at(house, "404404"))
    until(heard, SOON_S, "nobody hears of it")
    assert any("ev=code.alert provider=described" in line and "code=ERROR_WRONG_CAPTCHA_ID" in line
               for line in house.poller1.lines())
