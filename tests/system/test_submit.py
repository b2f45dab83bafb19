"""Tasks that aldaba submits itself: each is bought once, whatever happens on the way."""
import json

import pytest
from support.house import House
from support.seen import demand_audit, only_event
from support.settings import shop_profile
from support.until import stays, until

SOON_S = 10
CALM = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}


@pytest.fixture(scope="module")
def house():
    """For tests that leave it as they found it."""
    with House(describe=shop_profile) as one:
        yield one.start()


_refs = iter(range(1, 1 << 30))


def order(house, key=None, files=None, more=None, **params):
    """Submit through aldaba: (task, ref). The ref names the task at the provider, too."""
    ref = f"r{next(_refs)}"
    headers = {"Idempotency-Key": key} if key else {}
    body = {"provider": "sandbox", "params": {"method": "test", "ref": ref, **params},
            **(more or {})}
    if files:
        body["files"] = files
    return house.post("/v1/tasks", body, **headers), ref


def bought(house, ref):
    """What the provider has of it."""
    return [entry for entry in house.provider_ledger().values() if entry["ref"] == ref]


def heard(house, ref):
    """The requests that reached in.php."""
    every = house.provider.get("/_sandbox/heard").json()
    return [request for request in every if request["params"].get("ref") == ref]


def state(house, task_id):
    return house.task(task_id)["state"]


def letters(house, task_id, state=""):
    found = house.dead_letters(task=task_id, **({"state": state} if state else {}))
    return [(letter["reason"], letter["state"]) for letter in found]


def test_example(house):
    task, ref = order(house, solve=0.2)
    assert (task["state"], task["key"], task["meta"]) == ("accepted", "", "")
    ended = house.ended(task["id"])
    (entry,) = bought(house, ref)
    assert (ended["state"], ended["source"]) == ("done", "callback")
    assert (ended["result"], ended["provider_id"]) == (entry["answer"], entry["id"])
    assert entry["pingback"].startswith(f"{house.public.url}/cb/sandbox/")
    (request,) = heard(house, ref)
    assert request["method"] == "POST" and request["type"].startswith("multipart/form-data")
    assert [line["what"] for line in ended["timeline"]][:2] == ["created", "submitting"]
    only_event(house, task["id"])
    demand_audit(house)


def test_the_callback_is_earlier_than_the_answer(house):
    task, ref = order(house, fate="early")
    ended = house.ended(task["id"])
    assert (ended["state"], ended["source"]) == ("done", "callback")
    (entry,) = bought(house, ref)
    until(lambda: house.task(task["id"])["provider_id"] == entry["id"], SOON_S, "no receipt")
    only_event(house, task["id"])


@pytest.mark.parametrize("loss", ["took-cut", "took-502"])
def test_a_lost_answer_is_uncertain_and_the_callback_closes_it(house, loss):
    task, ref = order(house, orders=loss, solve=2)
    until(lambda: state(house, task["id"]) == "submitting", SOON_S, lambda: house.task(task["id"]))
    until(lambda: letters(house, task["id"]) == [("submit_uncertain", "open")], SOON_S,
          lambda: letters(house, task["id"]))
    ended = house.ended(task["id"])
    (entry,) = bought(house, ref)
    assert len(heard(house, ref)) == 1
    assert (ended["state"], ended["result"]) == ("done", entry["answer"])
    assert ended["provider_id"] == entry["id"], "the callback's id was not taken over"
    until(lambda: letters(house, task["id"], "resolved") == [("submit_uncertain", "resolved")],
          SOON_S, lambda: letters(house, task["id"], "resolved"))
    demand_audit(house)


def test_cancelled_while_nobody_knows(house):
    """What was bought and is not wanted any more is on record."""
    task, ref = order(house, orders="took-hang", fate="drop")
    until(lambda: bought(house, ref), SOON_S, "it was not asked")
    assert house.post(f"/v1/tasks/{task['id']}/cancel", {})["state"] == "cancelled"
    until(lambda: letters(house, task["id"], "dropped") == [("submit_uncertain", "dropped")],
          SOON_S, lambda: letters(house, task["id"], "dropped"))
    only_event(house, task["id"])
    demand_audit(house)


@pytest.mark.parametrize("orders,tries", [("noslot,noslot", 3), ("ban1003", 2), ("new", 2)])
def test_a_coded_refusal_was_not_taken(orders, tries):
    profile = {"codes": {"ERROR: 1003": {"wait": "300ms"}, "_default": {"wait": "200ms"},
                         "ERROR_NO_SLOT_AVAILABLE": {"wait": "200ms"}}}
    with House(describe=shop_profile, profile=profile) as house:
        house.start()
        task, ref = order(house, orders=orders, solve=0)
        assert house.ended(task["id"])["state"] == "done"
        assert len(heard(house, ref)) == tries and len(bought(house, ref)) == 1
        demand_audit(house)


def test_not_taken_as_the_profile_says():
    with House(describe=shop_profile, profile={"submit": {"not_taken": [{"http": 521}]}}) as house:
        house.start()
        task, ref = order(house, orders="521,521", solve=0)
        assert house.ended(task["id"])["state"] == "done"
        assert len(heard(house, ref)) == 3 and len(bought(house, ref)) == 1


def test_without_such_words_it_is_uncertain(house):
    task, ref = order(house, orders="521", solve=0)
    until(lambda: letters(house, task["id"]) == [("submit_uncertain", "open")], SOON_S,
          lambda: letters(house, task["id"]))
    stays(lambda: len(heard(house, ref)) == 1, 2, "it was sent again")
    assert house.cancel(task["id"])["state"] == "cancelled"
    until(lambda: letters(house, task["id"], "dropped") == [("submit_uncertain", "dropped")], SOON_S,
          lambda: letters(house, task["id"], "dropped"))
    demand_audit(house)


@pytest.mark.parametrize("orders,code", [("pageurl", "ERROR_PAGEURL"),
                                         ("new,new,new", "ERROR_SOMETHING_NEW")])
def test_refused_for_good(orders, code):
    with House(describe=shop_profile, profile={"codes": {"_default": {"wait": "100ms"}}}) as house:
        house.start()
        task, ref = order(house, orders=orders)
        ended = house.ended(task["id"])
        assert (ended["state"], ended["source"], ended["code"]) == ("failed", "submit", code)
        assert letters(house, task["id"]) == [("submit_failed", "open")]
        assert f"Its code: {code}." in house.dead_letters(task=task["id"])[0]["cause"]
        assert not bought(house, ref)
        demand_audit(house)


def test_nobody_listens_and_then_somebody_does():
    """Connections are refused: nothing was bought, so it is tried until the provider is back."""
    with House(describe=shop_profile) as house:
        house.start()
        house.sandbox.kill9()
        task, ref = order(house, solve=0)
        until(lambda: any(line["what"] == "submit.unsent"
                          for line in house.task(task["id"])["timeline"]), SOON_S,
              lambda: house.task(task["id"]))
        assert state(house, task["id"]) == "accepted"
        house.sandbox.start()
        assert house.ended(task["id"])["state"] == "done"
        assert len(bought(house, ref)) == 1


def test_never_submitted_in_time():
    with House(describe=shop_profile, pollers=0) as house:
        house.start()
        task, _ = order(house, more={"submit_within": "1s"})
        ended = house.ended(task["id"])
        assert (ended["state"], ended["code"], ended["source"]) == ("failed", "not_submitted",
                                                                    "submit")
        assert letters(house, task["id"]) == [("submit_failed", "open")]
        house.add_poller(1).start()
        stays(lambda: not house.provider.get("/_sandbox/heard").json(), 2, "it was submitted")
        demand_audit(house)


def test_the_same_key_is_the_same_task(house):
    first, ref = order(house, key="order-1", solve=0)
    assert first["key"] == "order-1"
    body = {"provider": "sandbox", "params": {"method": "test", "ref": ref, "solve": 0}}
    again = house.post("/v1/tasks", body, **{"Idempotency-Key": "order-1"})
    assert again["id"] == first["id"]
    body["params"]["solve"] = 1
    other = house.private.post_json("/v1/tasks", body, {"Idempotency-Key": "order-1"})
    assert other.status == 422, other
    assert house.ended(first["id"])["state"] == "done"
    assert len(heard(house, ref)) == 1


def test_two_keys_are_refused(house):
    body = b'{"provider":"sandbox","params":{"ref":"two-keys"}}'
    head = (f"POST /v1/tasks HTTP/1.1\r\nHost: {house.private.host}:{house.private.port}\r\n"
            "Content-Type: application/json\r\nIdempotency-Key: a\r\nidempotency-key: b\r\n"
            f"Content-Length: {len(body)}\r\n\r\n")
    assert house.private.raw_status(head.encode() + body) == 400
    assert not heard(house, "two-keys")


def test_what_the_provider_hears(house):
    """Files, numbers by their lexeme, nested values; the profile's word goes over the caller's."""
    files = {"file": {"name": "a.png", "type": "image/png", "content": "iVBORw0KGgo="}}
    body = ('{"provider": "sandbox", "files": %s, "params": {"ref": "exact", "solve": "0",'
            ' "price": 0.00085, "big": 12345678901234567890123, "flag": true, "none": null,'
            ' "key": "mine", "pingback": "http://evil.example/", "list": [1, {"a": "b"}],'
            ' "text": "caf\\u00e9 & =+%%"}}' % json.dumps(files))
    answer = house.private.request("POST", "/v1/tasks", body.encode(),
                                   {"Content-Type": "application/json"})
    assert answer.status == 202, answer
    house.ended(answer.json()["id"])
    (request,) = heard(house, "exact")
    params = request["params"]
    assert params["price"] == "0.00085" and params["big"] == "12345678901234567890123"
    assert (params["flag"], params["text"]) == ("true", "caf\u00e9 & =+%")
    assert params["list"] == '[1, {"a": "b"}]' and "none" not in params
    assert params["key"] != "mine" and params["pingback"].startswith(house.public.url)
    assert params["file"].startswith("\ufffdPNG")


def test_bad_submissions(house):
    for body, status in ((b'{"provider":"sandbox","params":[]}', 400),
                         (b'{"provider":"sandbox","params":{},"params":{}}', 400),
                         (b'{"provider":"sandbox","params":{"a":1,"b":2,"a":2}}', 400),
                         (b'{"provider":"sandbox","params":{"a":1,"\\u0061":2}}', 400),
                         (b'{"provider":"sandbox","params":{"":1,"":2}}', 400),
                         (b'{"provider":"sandbox","params":{},"files":{"a":{"content":"YQ=="},'
                          b'"a":{"content":"YQ=="}}}', 400),
                         (b'{"provider":"sandbox","params":{},"files":{"a":1}}', 400),
                         (b'{"provider":"sandbox","files":{"a":{"content":"YQ=="}},"provider_id":"7"}',
                          400),
                         (b'{"provider":"nobody","params":{}}', 400),
                         (b'{"provider":"sandbox","params":{"a":"' + b"x" * 990000 + b'"}}', 413)):
        answer = house.private.request("POST", "/v1/tasks", body,
                                       {"Content-Type": "application/json"})
        assert answer.status == status, (body[:60], answer)
        if body.count(b'"a":') > 1:
            assert "member a stands in" in answer.json()["detail"], answer


def test_what_can_not_be_submitted_is_refused_at_once(house):
    """Nobody would wait for that any more when it had failed; and its key is good for what is right."""
    key = {"Idempotency-Key": "refused-1"}
    before = len(house.tasks())
    for files, said in (({"file": {"content": "not base64!"}}, "file is no base64"),
                        ({"file": {"content": "YQ==", "type": "a\r\nb: c"}}, "type of the file file")):
        answer = house.private.post_json("/v1/tasks", {
            "provider": "sandbox", "params": {"method": "test", "ref": "refused"}, "files": files}, key)
        assert answer.status == 400 and said in answer.json()["detail"], answer
    assert len(house.tasks()) == before and not bought(house, "refused")
    taken = house.private.post_json("/v1/tasks", {
        "provider": "sandbox", "params": {"method": "test", "ref": "refused", "solve": "0"}}, key)
    assert taken.status == 202, taken
    house.ended(taken.json()["id"])
    assert len(bought(house, "refused")) == 1
    ran = house.aldaba("submit", "sandbox", f"file=@{house.folder}/no-such-file")
    assert ran.returncode == 64 and "no-such-file can't be read" in ran.stderr, ran


def test_the_command(house):
    with open(f"{house.folder}/a.txt", "w", encoding="ascii") as file:
        file.write("hello")
    ran = house.aldaba("submit", "sandbox", "ref=cli", "solve=0", "n:=0.00085",
                       f"file=@{house.folder}/a.txt", "--key", "cli-1", "--wait", "--json")
    assert ran.returncode == 0, ran
    task = json.loads(ran.stdout)
    (entry,) = bought(house, "cli")
    assert (task["state"], task["result"]) == ("done", entry["answer"])
    (request,) = heard(house, "cli")
    assert request["params"]["n"] == "0.00085" and request["params"]["file"] == "hello"
    assert house.aldaba("submit", "sandbox", "nonsense").returncode == 64


@pytest.mark.parametrize("method,encode,kind", [
    ("POST", "form", "application/x-www-form-urlencoded"), ("POST", "json", "application/json"),
    ("GET", "query", ""), ("POST", "multipart", "multipart/form-data")])
def test_every_encoding(method, encode, kind):
    """What is given arrives as it was, whatever it is written in; and so does the address."""
    text = "caf\u00e9 & =+%\u20ac \"quoted\"\r\n--x"
    profile = {"submit": {"request": {"method": method, "encode": encode}}}
    with House(describe=shop_profile, profile=profile) as house:
        house.start()
        task, ref = order(house, solve=0, text=text, price=3)
        assert house.ended(task["id"])["state"] == "done"
        (request,) = heard(house, ref)
        assert request["method"] == method and request["type"].startswith(kind)
        assert (request["params"]["text"], request["params"]["price"]) == (text, "3")
        assert bool(request["query"]) == (encode == "query")
