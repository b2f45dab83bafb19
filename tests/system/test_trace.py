"""A caller's traceparent: into the callback URL, the event, the sink's post and the log."""
import json
import os

import pytest
from support.house import House
from support.receiver import Receiver
from support.seen import demand_audit, only_event
from support.settings import shop_profile
from support.until import until

SOON_S = 10
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
TRACE = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
OTHER = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-00"


@pytest.fixture(scope="module", name="receiver")
def a_receiver():
    with Receiver(SECRET) as receiver:
        yield receiver


@pytest.fixture(scope="module", name="house")
def a_house(receiver):
    with House(describe=shop_profile) as house:
        secret = os.path.join(house.folder, "sink.secret")
        with open(secret, "w", encoding="utf-8") as file:
            file.write(SECRET)
        house.settings = {"sinks": {"hook": {"url": receiver.url, "secret": {"file": secret}}}}
        yield house.start()


def submit(house, ref, trace, **params):
    return house.post("/v1/tasks", {"provider": "sandbox", "params": {"method": "test", "ref": ref, **params}},
                      traceparent=trace)


def bought(house, ref):
    (entry,) = until(lambda: [one for one in house.provider_ledger().values() if one["ref"] == ref], SOON_S,
                     "it was not submitted")
    return entry


def post_of(receiver, task):
    (post,) = until(lambda: [one for one in receiver.posts if one.event["task"] == task], SOON_S,
                    "the sink has not got it")
    return post


@pytest.mark.parametrize("fate, source", [("ok", "callback"), ("drop", "poll")])
def test_example(house, receiver, fate, source):
    """Also where the provider says nothing, and aldaba asks it."""
    task = submit(house, f"t-{fate}", TRACE, fate=fate, solve=0.2)
    assert task["trace"] == TRACE and task["callback_url"].endswith("/" + TRACE)
    ended = house.ended(task["id"])
    assert (ended["state"], ended["source"], ended["trace"]) == ("done", source, TRACE)
    assert bought(house, f"t-{fate}")["pingback"].endswith("/" + TRACE)
    assert only_event(house, task["id"])["trace"] == TRACE
    post = post_of(receiver, task["id"])
    assert post.genuine and post.headers["traceparent"] == TRACE
    demand_audit(house)


@pytest.mark.parametrize("trace", ["", "00-4BF9-x", TRACE + "-more", TRACE.replace("00-4", "01-4")])
def test_what_is_none(house, receiver, trace):
    ref = f"none-{len(trace)}-{trace[:2]}"
    task = submit(house, ref, trace, solve=0.1)
    assert "trace" not in task and task["callback_url"].count("/") == 5, task["callback_url"]
    assert house.ended(task["id"])["source"] == "callback"
    assert not only_event(house, task["id"]).get("trace")
    assert "traceparent" not in post_of(receiver, task["id"]).headers


def test_the_callers_before_the_providers(house):
    """Who registers what was submitted elsewhere has a trace, too; and without one, that of the callback
    is what there is."""
    for own in (TRACE, ""):
        id_ = house.submit(1, fate="drop", answer="x", solve=60)[0]
        task = house.post("/v1/tasks", {"provider": "sandbox", "provider_id": id_}, traceparent=own)
        path = task["callback_url"].removeprefix(house.public.url).removesuffix("/" + TRACE)
        assert house.public.request("POST", path, f"id={id_}&code=x".encode(), {
            "Content-Type": "application/x-www-form-urlencoded", "traceparent": OTHER}).status == 200
        assert only_event(house, task["id"])["trace"] == (own or OTHER)


def test_in_the_log(house):
    """Of a callback that can't be read: whoever follows the trace finds the letter."""
    id_ = house.submit(1, fate="drop", answer="x", solve=60)[0]
    task = house.post("/v1/tasks", {"provider": "sandbox", "provider_id": id_}, traceparent=TRACE)
    url = task["callback_url"].removeprefix(house.public.url)
    assert house.public.request("POST", url, b"id=%00&code=x", {
        "Content-Type": "application/x-www-form-urlencoded"}).status == 200
    until(lambda: any("ev=letter.made" in line and f"task={task['id']} trace={TRACE} " in line
                      for line in house.tracker.lines()), SOON_S, house.tracker.tail)


def test_on_the_command_line(house, monkeypatch):
    """As programs leave it for their children."""
    id_ = house.submit(1, fate="drop", answer="x", solve=60)[0]
    monkeypatch.setenv("TRACEPARENT", TRACE)
    done = house.aldaba("register", "sandbox", id_, "--json")
    assert done.returncode == 0 and json.loads(done.stdout)["trace"] == TRACE, done
