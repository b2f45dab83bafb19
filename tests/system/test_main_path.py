"""One callback, in every form and at every moment that the protocol allows: one result event."""
import json
import threading
import time

import pytest
from support.house import House
from support.until import stays, until

SOON_S = 5
CALM = {"callback": {"stale_after": "60s", "plus": "auto"},  # no task is polled during its test
        "poll": {"schedule": {"give_up_after": "300s"}}}


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM) as one:
        yield one.start()


def fresh(house, **params):
    """A provider id that never calls back by itself."""
    return house.submit(1, fate="drop", **params)[0]


def knock(house, provider_id, code):
    answer = house.public.get("/callback/sandbox", id=provider_id, code=code)
    assert (answer.status, answer.text) == (200, "OK")


def only_event(house, task_id):
    events = until(lambda: house.events_of(task_id), SOON_S, "no event")
    assert len(events) == 1
    return events[0]


def arrivals(house):
    return {"duplicate": 0, "parked": 0, "received": 0, **house.books()["arrivals"]}


def test_example(house):
    provider_id = house.submit(1, answer="the-answer", solve=0.05)[0]
    task = house.register(provider_id)
    ended = house.ended(task["id"])
    assert (ended["state"], ended["source"], ended["result"]) == ("done", "callback", "the-answer")
    event = only_event(house, task["id"])
    assert (event["state"], event["source"]) == ("done", "callback")
    assert (event["result"], event["result_type"]) == (b"the-answer", "text")
    assert event["provider_id"] == provider_id


FORM = {"Content-Type": "application/x-www-form-urlencoded"}
JSON = {"Content-Type": "application/json"}
WAYS = {
    "GET": lambda i: ("GET", f"?id={i}&code=A%7CB", None, {}),
    "POST form": lambda i: ("POST", "", f"id={i}&code=A%7CB", FORM),
    "POST form without type": lambda i: ("POST", "", f"id={i}&code=A%7CB", {}),
    "POST JSON": lambda i: ("POST", "", json.dumps({"id": i, "code": "A|B"}), JSON),
    "POST JSON, id a number": lambda i: ("POST", "", '{"id":%s,"code":"A|B"}' % i, JSON),
    "PUT form": lambda i: ("PUT", "", f"id={i}&code=A%7CB", FORM),
    "PUT JSON": lambda i: ("PUT", "", json.dumps({"id": i, "code": "A|B"}), JSON),
    "POST, all in the query": lambda i: ("POST", f"?id={i}&code=A%7CB", "", FORM),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("door", ["bare", "named", "token"])
def test_ways_of_a_callback(house, way, door):
    provider_id = fresh(house)
    path = {"bare": "/callback", "named": "/callback/sandbox"}.get(door)
    if path:
        task = house.register(provider_id)
    else:
        task = house.reserve()
        path = task["callback_url"].removeprefix(house.public.url)
        house.attach(task["id"], provider_id)
    method, query, body, headers = WAYS[way](provider_id)
    answer = house.public.request(method, path + query, body, headers)
    assert (answer.status, answer.text) == (200, "OK")
    event = only_event(house, task["id"])
    assert (event["state"], event["source"], event["result"]) == ("done", "callback", b"A|B")


def test_callback_before_the_registration_is_parked(house):
    provider_id, before = fresh(house), arrivals(house)
    knock(house, provider_id, "early-bird")
    assert arrivals(house)["parked"] == before["parked"] + 1
    task = house.register(provider_id)
    assert (task["state"], task["result"]) == ("done", "early-bird"), "the answer itself has it"
    assert only_event(house, task["id"])["result"] == b"early-bird"
    assert arrivals(house)["parked"] == before["parked"]


def test_callback_before_the_response_of_the_submission(house):
    task = house.reserve()
    provider_id = house.submit(1, pingback=task["callback_url"], fate="early", answer="E")[0]
    assert only_event(house, task["id"])["result"] == b"E"
    house.attach(task["id"], provider_id)
    assert house.task(task["id"])["provider_id"] == provider_id
    assert len(house.events_of(task["id"])) == 1


def test_callback_overtakes_the_attachment_of_a_bare_form(house):
    task = house.reserve()
    provider_id = fresh(house)
    knock(house, provider_id, "parked, then attached")
    attached = house.attach(task["id"], provider_id)
    assert (attached["state"], attached["result"]) == ("done", "parked, then attached")
    assert only_event(house, task["id"])["result"] == b"parked, then attached"


def test_46_copies_are_46_times_200_and_one_event(house):
    before = arrivals(house)
    task = house.register(provider_id := house.submit(1, fate="double", times=46, solve=0.3)[0])
    house.ended(task["id"])
    house.until_provider_rests()
    calls = house.provider_ledger()[provider_id]["callbacks"]
    assert [call["status"] for call in calls] == [200] * 46
    assert len(house.events_of(task["id"])) == 1
    after = arrivals(house)
    assert after["duplicate"] - before["duplicate"] == 45
    assert after["received"] - before["received"] == 46


def test_the_same_answer_written_otherwise_is_no_conflict(house):
    task = house.register(provider_id := fresh(house))
    house.public.request("POST", "/callback/sandbox",
                         json.dumps({"id": provider_id, "code": "a b"}), JSON)
    only_event(house, task["id"])
    assert house.public.get(f"/callback/sandbox?id={provider_id}&code=a+b").status == 200
    stays(lambda: not house.dead_letters(reason="conflict", task=task["id"]), 0.5, "a conflict")


def test_another_answer_is_kept_as_one_letter(house):
    task = house.register(provider_id := fresh(house))
    knock(house, provider_id, "first")
    for _ in range(5):
        knock(house, provider_id, "second")
    letters = until(lambda: house.dead_letters(reason="conflict", task=task["id"]), SOON_S, "none")
    assert len(letters) == 1
    assert only_event(house, task["id"])["result"] == b"first"
    assert house.task(task["id"])["result"] == "first"


def test_many_at_the_same_moment_make_one_event(house):
    task = house.register(provider_id := fresh(house))
    gate = threading.Barrier(16)
    statuses = []

    def call():
        gate.wait()
        statuses.append(house.public.get("/callback", id=provider_id, code="X").status)

    threads = [threading.Thread(target=call) for _ in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert statuses == [200] * 16
    assert only_event(house, task["id"])["result"] == b"X"


def test_error_code_fails_the_task(house):
    task = house.register(house.submit(1, fate="error", solve=0.05)[0])
    ended = house.ended(task["id"])
    assert (ended["state"], ended["code"]) == ("failed", "ERROR_CAPTCHA_UNSOLVABLE")


@pytest.mark.parametrize("code", ["IP_BANNED", "ERROR_WRONG_USER_KEY", "ERROR: 1005"])
def test_a_callback_about_the_account_is_a_hint_only(house, code):
    """A stranger must not stop the account nor end a task: such a word brings the next poll."""
    task = house.register(provider_id := fresh(house, answer="polled", solve=0))
    knock(house, provider_id, code)
    ended = house.ended(task["id"], SOON_S)
    assert (ended["state"], ended["source"], ended["result"]) == ("done", "poll", "polled")


def test_pending_callback_keeps_the_task_alive(house):
    task = house.register(provider_id := fresh(house, solve=600))
    knock(house, provider_id, "CAPCHA_NOT_READY")
    stays(lambda: house.task(task["id"])["state"] in ("pending", "polling"), 0.5, "it ended")
    knock(house, provider_id, "now")
    assert only_event(house, task["id"])["result"] == b"now"
    knock(house, provider_id, "CAPCHA_NOT_READY")
    assert house.task(task["id"])["state"] == "done"


def test_token_urls(house):
    task = house.reserve()
    path = task["callback_url"].removeprefix(house.public.url)
    token = path.rpartition("/")[2]
    assert len(token) == 34
    received = arrivals(house)["received"]
    altered = token[:-2] + ("A" if token[-2] != "A" else "B") + token[-1]
    for forged in (altered, token[1:], token + "A", "x" * 34):
        assert house.public.get(f"/cb/sandbox/{forged}", id="1", code="F").status == 404
    assert house.public.get(f"/cb/other/{token}", id="1", code="F").status == 404
    assert house.public.get("/cb/sandbox/", id="1", code="F").status == 404
    assert arrivals(house)["received"] == received, "a forged token leaves nothing behind"
    assert house.public.get(f"{path}/", id="77123", code="genuine").status == 200
    event = only_event(house, task["id"])
    assert (event["result"], event["provider_id"]) == (b"genuine", "77123")


def test_token_without_parameters_is_a_hint(house):
    """A redirect that became a GET lost the answer: the task is polled now."""
    task = house.reserve()
    path = task["callback_url"].removeprefix(house.public.url)
    house.attach(task["id"], fresh(house, answer="polled", solve=0))
    assert house.public.get(f"{path}/").status == 200
    ended = house.ended(task["id"], SOON_S)
    assert (ended["source"], ended["result"]) == ("poll", "polled")


def test_long_poll_answers_when_the_callback_comes(house):
    task = house.register(house.submit(1, solve=0.8, answer="W")[0])
    begun = time.monotonic()
    ended = house.task(task["id"], wait=20)
    assert ended["state"] == "done" and 0.2 < time.monotonic() - begun < SOON_S
    open_task = house.register(fresh(house))
    begun = time.monotonic()
    assert house.task(open_task["id"], wait=1)["state"] == "pending"
    assert 0.8 < time.monotonic() - begun < SOON_S


def test_registration_is_idempotent(house):
    provider_id = fresh(house)
    first = house.register(provider_id, key=f"k-{provider_id}")
    assert house.register(provider_id, key=f"k-{provider_id}")["id"] == first["id"]
    assert house.register(provider_id)["id"] == first["id"]
    house.post("/v1/tasks", {"provider": "sandbox", "provider_id": "4711"}, expect=(422,),
               **{"Idempotency-Key": f"k-{provider_id}"})
    knock(house, provider_id, "once")
    only_event(house, first["id"])


def test_cancelled_task_takes_no_answer(house):
    task = house.register(provider_id := fresh(house))
    house.cancel(task["id"])
    knock(house, provider_id, "too late")
    event = only_event(house, task["id"])
    assert event["state"] == "cancelled"
    assert not house.dead_letters(reason="conflict", task=task["id"])


def test_lists_find_a_task_by_its_ids(house):
    task = house.register(provider_id := fresh(house), key=f"list-{time.time_ns()}")
    for word in (task["id"], provider_id, house.task(task["id"])["key"]):
        assert [found["id"] for found in house.tasks(q=word)] == [task["id"]]
    assert task["id"] in [found["id"] for found in house.tasks(state="pending")]
    assert task["id"] not in [found["id"] for found in house.tasks(state="done")]


def test_hints_are_published(house):
    """Live subscribers hear of a result without asking."""
    import zmq
    from support.bus import unpack

    feed = zmq.Context.instance().socket(zmq.SUB)
    feed.linger = 0
    feed.connect(f"ipc://{house.run}/feed")
    feed.subscribe("result.sandbox.done.")
    feed.subscribe("head.")
    try:
        until(lambda: feed.poll(100) and feed.recv_multipart()[0] == b"head.", SOON_S, "no head")
        task = house.register(provider_id := fresh(house))
        knock(house, provider_id, "news")

        def heard():
            while feed.poll(100):
                topic, frame = feed.recv_multipart()
                if topic == b"result.sandbox.done." and unpack(frame)["task"] == task["id"]:
                    return unpack(frame)
            return None

        assert until(heard, SOON_S, "no hint")["result"] == b"news"
    finally:
        feed.close()


def test_the_books_balance(house):
    audit = house.aldaba("audit")
    assert audit.returncode == 0, audit.stdout + audit.stderr
    deep = house.aldaba("audit", "--deep")
    assert deep.returncode == 0, deep.stdout + deep.stderr
