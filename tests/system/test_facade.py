"""Clients of in.php and createTask that speak to aldaba as if it were their provider, in all the ways
in which such clients send, while the provider misbehaves."""
import glob
import http.client
import json
import os
import signal
import socket

import pytest
from support.house import KEY, House
from support.settings import shop_profile
from support.until import stays, until

SOON_S = 10
END_S = 30
CLIENT_KEY = "0123456789abcdef0123456789abcdef"
SHORT = {"wait": "200ms"}
CALM = {"poll": {"schedule": {"max_every": "400ms"}},
        "codes": {"ERROR: 1005": {"wait": "300ms"}, "_default": SHORT, "CAPCHA_NOT_READY": SHORT,
                  "ERROR_NO_SLOT_AVAILABLE": SHORT, "ERROR_WRONG_CAPTCHA_ID": {"grace": "0s"}}}
TASKS_CODES = {"_default": {"class": "unknown", "wait": "200ms"}, "CAPTCHA_NOT_READY": SHORT,
               "ERROR_IP_BLOCKED": {"wait": "300ms"}, "ERROR_NO_SUCH_CAPCHA_ID": {"grace": "0s"}}


def tasks_profile(port):
    """The sandbox's JSON protocol."""
    url = f"http://127.0.0.1:{port}"
    return {"extends": "createtask-json", "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
            "submit": {"request": {"url": f"{url}/createTask"}},
            "poll": {"request": {"url": f"{url}/getTaskResult"},
                     "schedule": {"first_after": "1s", "every": "200ms", "max_every": "400ms",
                                  "max_requests": 50, "give_up_after": "30s"}},
            "callback": {"stale_after": "1s"}, "codes": TASKS_CODES, "budgets": []}


def new_house(profile=None, in_php="sandbox", create_task="tasks", allow=(), **more):
    house = House(describe=shop_profile, profile=profile or CALM, **more)
    path = os.path.join(house.folder, "client.key")
    with open(path, "w", encoding="ascii") as file:
        file.write(CLIENT_KEY + "\n")
    os.chmod(path, 0o600)
    house.start_sandbox()
    house.settings = {"facade": {"in_php": in_php, "create_task": create_task,
                                 "keys": [{"file": path}],
                                 "pingback_allow": list(allow)},
                      "providers": {"sandbox": profile or CALM,
                                    "tasks": tasks_profile(house.provider.port)}}
    house.write_settings()
    house.start_daemons()
    return house


@pytest.fixture(scope="module")
def house():
    """For tests that leave it as they found it."""
    one = new_house()
    with one:
        yield one


_refs = iter(range(1, 1 << 30))


def new_ref():
    return f"f{next(_refs)}"


def heard(house, ref):
    """The parameters that reached the provider."""
    every = house.provider.get("/_sandbox/heard").json()
    found = [request["params"] for request in every]
    return [params for params in found if ref in (params.get("ref"), task_of(params).get("ref"))]


def task_of(params):
    return params["task"] if isinstance(params.get("task"), dict) else {}


def bought(house, ref):
    return [entry for entry in house.provider_ledger().values() if entry["ref"] == ref]


def place(house, **params):
    """in.php in the simplest way; (id, ref)."""
    ref = new_ref()
    answer = house.private.get("/in.php", key=CLIENT_KEY, method="test", ref=ref, **params)
    word, _, task_id = answer.text.partition("|")
    assert (answer.status, word) == (200, "OK"), answer
    return task_id, ref


def poll(house, task_id, action="get", **more):
    answer = house.private.get("/res.php", key=CLIENT_KEY, action=action, id=task_id, **more)
    assert answer.status == 200
    return answer.text


def answered(house, task_id, seen=None, **more):
    """What res.php says once it is no longer "not ready"; what it said before goes to seen."""
    def look():
        word = poll(house, task_id, **more)
        if "CAPCHA_NOT_READY" not in word:
            return word
        if seen is not None:
            seen.add(word)
        return None
    return until(look, END_S, lambda: f"still {poll(house, task_id)}: {house.task(task_id)}")


def test_example(house):
    task_id, ref = place(house, solve=0.3)
    seen = set()
    word = answered(house, task_id, seen)
    (entry,) = bought(house, ref)
    assert word == f"OK|{entry['answer']}"
    assert seen <= {"CAPCHA_NOT_READY"}
    (params,) = heard(house, ref)
    assert params["key"] == KEY and params["pingback"].startswith(house.public.url)
    assert task_id != entry["id"], "the provider's id was told"
    assert house.task(task_id)["provider_id"] == entry["id"]


def parts(*fields):
    """A multipart body with the boundary XX: (name, value) or (name, value, file name)."""
    out = b""
    for name, value, *title in fields:
        out += b"--XX\r\nContent-Disposition: form-data; name=\"%s\"" % name.encode()
        if title:
            out += b"; filename=\"%s\"\r\nContent-Type: image/png" % title[0].encode()
        out += b"\r\n\r\n" + value + b"\r\n"
    return out + b"--XX--\r\n"


PICTURE = b"\x89PNG\r\n\x1a\n\x00\x01"
FORM = "application/x-www-form-urlencoded"
WAYS = {
    "query": ("GET", "/in.php?key={key}&method=test&ref={ref}&x=a%2Bb&solve=0", None, None),
    "post, all in the query": ("POST", "/in.php?key={key}&method=test&ref={ref}&x=a%2Bb&solve=0",
                               None, b""),
    "form": ("POST", "/in.php", FORM, b"key={key}&method=test&ref={ref}&x=a%2Bb&solve=0"),
    "form, no type": ("POST", "/in.php", None, b"key={key}&method=test&ref={ref}&x=a%2Bb&solve=0"),
    "json": ("POST", "/in.php", "application/json",
             b'{"key":"{key}","method":"test","ref":"{ref}","x":"a+b","solve":0}'),
    "json as text": ("POST", "/in.php", "text/plain;charset=UTF-8",
                     b'{"key":"{key}","method":"test","ref":"{ref}","x":"a+b","solve":0}'),
    "json as parts": ("POST", "/in.php", "multipart/form-data",
                      b'{"key":"{key}","method":"test","ref":"{ref}","x":"a+b","solve":0}\r\n'),
    "both": ("POST", "/in.php?key={key}&method=test&x=other&solve=0", "text/plain",
             b'{"x":"a+b","ref":"{ref}"}'),
    "parts": ("POST", "/in.php", "multipart/form-data; boundary=XX",
              parts(("key", b"{key}"), ("method", b"test"), ("ref", b"{ref}"), ("x", b"a+b"),
                    ("solve", b"0"))),
    "parts, no boundary": ("POST", "/In.PHP", "multipart/form-data",
                           parts(("KEY", b"{key}"), ("method", b"test"), ("ref", b"{ref}"),
                                 ("x", b"a+b"), ("solve", b"0"))),
    "file": ("POST", "/in.php", "multipart/form-data; boundary=XX",
             parts(("key", b"{key}"), ("method", b"post"), ("ref", b"{ref}"), ("x", b"a+b"),
                   ("file", PICTURE, "a.png"), ("solve", b"0"))),
}


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("chunked", [False, True], ids=["length", "chunks"])
def test_ways_of_submitting(house, way, chunked):
    method, target, declared, body = WAYS[way]
    if chunked and not body:
        pytest.skip("there is no body")
    ref = new_ref()
    target = target.replace("{key}", CLIENT_KEY).replace("{ref}", ref)
    if body is not None:
        body = body.replace(b"{key}", CLIENT_KEY.encode()).replace(b"{ref}", ref.encode())
    headers = {"Content-Type": declared} if declared else {}
    connection = http.client.HTTPConnection("127.0.0.1", house.private.port, timeout=SOON_S)
    try:
        connection.request(method, target, iter([body[:7], body[7:]]) if chunked else body, headers,
                           encode_chunked=chunked)
        answer = connection.getresponse()
        text = answer.read().decode()
    finally:
        connection.close()
    assert answer.status == 200 and text.startswith("OK|"), (answer.status, text)
    assert answered(house, text[3:]) == f"OK|{bought(house, ref)[0]['answer']}"
    (params,) = heard(house, ref)
    assert (params["key"], params["x"]) == (KEY, "a+b")
    assert way != "file" or params["file"] == PICTURE.decode("utf-8", "replace")


MOODS = "html502,ban1005,empty,notready2,html200,error,notready,server"


@pytest.mark.parametrize("form", ["plain", "json"])
def test_trouble_of_the_provider_is_not_the_clients(house, form):
    """No callback comes, and polls meet everything that ends a task in most clients."""
    more = {"json": "1"} if form == "json" else {}
    task_id, ref = place(house, fate="drop", moods=MOODS, solve=0)
    seen = set()
    word = answered(house, task_id, seen, **more)
    (entry,) = bought(house, ref)
    not_ready = {"plain": "CAPCHA_NOT_READY",
                 "json": '{"status":0,"request":"CAPCHA_NOT_READY"}'}[form]
    assert seen == {not_ready}
    assert entry["polls"] > len(MOODS.split(","))
    assert word == f"OK|{entry['answer']}" if form == "plain" \
        else json.loads(word) == {"status": 1, "request": entry["answer"]}


@pytest.mark.parametrize("params,word", [
    ({"fate": "error"}, "ERROR_CAPTCHA_UNSOLVABLE"), ({"fate": "lost"}, "ERROR_WRONG_CAPTCHA_ID"),
    ({"orders": "pageurl"}, "ERROR_PAGEURL")])
def test_true_ends(house, params, word):
    task_id, _ = place(house, solve=0, **params)
    seen = set()
    assert answered(house, task_id, seen) == word
    assert seen <= {"CAPCHA_NOT_READY"}
    assert json.loads(poll(house, task_id, json="1")) == {"status": 0, "request": word}


def test_trouble_at_the_submission_is_not_the_clients(house):
    task_id, ref = place(house, solve=0, orders="noslot,noslot")
    assert answered(house, task_id) == f"OK|{bought(house, ref)[0]['answer']}"
    assert len(heard(house, ref)) == 3


def test_several_at_once_and_the_price(house):
    first, ref = place(house, solve=0)
    second, _ = place(house, fate="never")
    answered(house, first)
    answer = bought(house, ref)[0]["answer"]
    ids = f"{first},{second},12345,"
    ask = {"key": CLIENT_KEY, "action": "get", "ids": ids}
    want = f"{answer}|CAPCHA_NOT_READY|ERROR_WRONG_CAPTCHA_ID"
    assert house.private.get("/res.php", **ask).text == want
    assert house.private.get("/res.php", json=1, **ask).json() == {"status": 1, "request": want}
    assert poll(house, first, "get2") == f"OK|{answer}|0"
    assert json.loads(poll(house, first, "get2", json="1")) == {
        "status": 1, "request": answer, "price": "0"}
    house.cancel(second)
    assert poll(house, second) == "ERROR_CAPTCHA_UNSOLVABLE"


def test_what_the_provider_alone_can_answer(house):
    ask = {"key": CLIENT_KEY}
    assert house.private.get("/res.php", action="getbalance", **ask).text == "4.73"
    assert house.private.get("/res.php", action="getbalance", json=1, **ask).json() == {
        "status": 1, "request": "4.73"}
    assert house.private.get("/res.php", action="add_pingback", addr="http://a.example/", **ask
                             ).text == "OK"
    assert house.private.get("/res.php", action="nonsense", **ask).text == "ERROR_EMPTY_ACTION"
    assert house.private.post_json("/getBalance", {"clientKey": CLIENT_KEY}).json() == {
        "errorId": 0, "balance": 4.73}


def test_a_report_is_said_once(house):
    task_id, ref = place(house, solve=0)
    answered(house, task_id)
    assert poll(house, task_id, "reportgood") == "OK_REPORT_RECORDED"
    assert poll(house, task_id, "reportgood") == "ERROR_DUPLICATE_REPORT"
    assert bought(house, ref)[0]["reports"] == ["reportgood"]
    assert "reportgood" in [line["what"] for line in house.task(task_id)["timeline"]]
    assert poll(house, 12345, "reportbad") == "ERROR_WRONG_CAPTCHA_ID"
    task_id, ref = create(house, solve=0)
    end_of(house, task_id)
    body = {"clientKey": CLIENT_KEY, "taskId": task_id}
    assert house.private.post_json("/reportIncorrect", body).json() == {
        "errorId": 0, "status": "success"}
    assert house.private.post_json("/reportIncorrect", body).json()["errorCode"] == \
        "ERROR_DUPLICATE_REPORT"
    assert bought(house, ref)[0]["reports"] == ["reportIncorrect"]


def test_calls_wait_for_pollers_and_a_time():
    with new_house(pollers=0) as house:
        answer = house.private.get("/res.php", key=CLIENT_KEY, action="getbalance")
        assert answer.text == "ERROR_SERVER_ERROR"
        stays(lambda: house.provider_stats()["requests"].get("/res.php", 0) == 0, 1, "asked late")
        house.add_poller(1).start()
        answer = house.private.get("/res.php", key=CLIENT_KEY, action="getbalance")
        assert answer.text == "4.73"
        assert house.provider_stats()["requests"]["/res.php"] == 1


def test_only_tasks_of_its_provider(house):
    other = house.reserve(provider="tasks")["id"]
    assert poll(house, other) == "ERROR_WRONG_CAPTCHA_ID"
    house.cancel(other)
    assert poll(house, "abc") == "ERROR_WRONG_ID_FORMAT"


def test_keys(house):
    for key, word in (("x" * 32, "ERROR_KEY_DOES_NOT_EXIST"), (KEY, "ERROR_KEY_DOES_NOT_EXIST"),
                      ("", "ERROR_WRONG_USER_KEY")):
        assert house.private.get("/in.php", key=key, method="test", ref="nobody").text == word
        assert house.private.get("/res.php", key=key, action="get", id=1).text == word
    answer = house.private.post_json("/createTask", {"clientKey": "x", "task": {"type": "a"}})
    assert answer.json()["errorCode"] == "ERROR_KEY_DOES_NOT_EXIST"
    assert not heard(house, "nobody")


def test_pages_and_methods(house):
    answer = house.private.get("/res.php", key=CLIENT_KEY, action="get", id="1", header_acao=1)
    assert answer.headers["access-control-allow-origin"] == "*"
    assert "access-control-allow-origin" not in house.private.get("/res.php").headers
    answer = house.private.request("POST", "/res.php", f"key={CLIENT_KEY}&action=get&id=1".encode(),
                                   {"Origin": "https://a.example", "Host": "2captcha.com"})
    assert answer.text == "ERROR_WRONG_CAPTCHA_ID"
    assert house.private.request("DELETE", "/in.php").status == 405
    big = house.private.request("POST", f"/in.php?key={CLIENT_KEY}&json=1", b"x" * (1 << 21))
    assert big.json() == {"status": 0, "request": "ERROR_TOO_BIG_CAPTCHA_FILESIZE"}


def create(house, **task):
    ref = new_ref()
    body = {"clientKey": CLIENT_KEY, "task": {"type": "Test", "ref": ref, **task}}
    answer = house.private.post_json("/createTask", body)
    assert answer.status == 200 and answer.json()["errorId"] == 0, answer
    return answer.json()["taskId"], ref


def result(house, task_id):
    answer = house.private.post_json("/getTaskResult",
                                     {"clientKey": CLIENT_KEY, "taskId": task_id})
    assert answer.status == 200
    return answer.json()


def end_of(house, task_id, seen=None):
    def look():
        value = result(house, task_id)
        if value.get("status") == "processing":
            if seen is not None:
                seen.append(value)
            return None
        return value
    return until(look, END_S, lambda: f"still {result(house, task_id)}")


def test_create_task(house):
    task_id, ref = create(house, solve=0.2, deep={"n": [1, 2.50]})
    assert isinstance(task_id, int)
    value = end_of(house, task_id)
    (entry,) = bought(house, ref)
    assert (value["errorId"], value["status"], value["solution"]) == (
        0, "ready", {"token": entry["answer"]})
    assert value["createTime"] <= value["endTime"]
    assert result(house, str(task_id)) == value
    (params,) = heard(house, ref)
    assert params["clientKey"] == KEY and params["callbackUrl"].startswith(house.public.url)
    assert params["task"]["deep"] == {"n": [1, 2.5]}


def test_create_task_under_trouble(house):
    task_id, ref = create(house, fate="drop", solve=0, moods=MOODS)
    seen = []
    value = end_of(house, task_id, seen)
    assert value["solution"] == {"token": bought(house, ref)[0]["answer"]}
    assert seen and all(one == {"errorId": 0, "status": "processing"} for one in seen)


@pytest.mark.parametrize("task,error_id,code", [
    ({"fate": "error"}, 12, "ERROR_CAPTCHA_UNSOLVABLE"),
    ({"fate": "lost"}, 16, "ERROR_NO_SUCH_CAPCHA_ID"),
    ({"orders": "pageurl"}, 23, "ERROR_TASK_NOT_SUPPORTED")])
def test_true_ends_of_create_task(house, task, error_id, code):
    task_id, _ = create(house, solve=0, **task)
    value = end_of(house, task_id)
    assert (value["errorId"], value["errorCode"]) == (error_id, code)


def test_without_settings_there_is_no_such_path():
    with House(describe=shop_profile) as house:
        house.start()
        for path in ("/in.php", "/res.php", "/createTask", "/getTaskResult", "/getBalance"):
            answer = house.private.get(path, key=CLIENT_KEY)
            setting = "facade.in_php" if path.endswith(".php") else "facade.create_task"
            assert answer.status == 404 and setting in answer.json()["detail"], answer


def test_the_tracker_is_away():
    """A poll is never an error; a submission that nobody took may be tried again."""
    with new_house() as house:
        task_id, ref = place(house, solve=0)
        assert answered(house, task_id).startswith("OK|")
        house.tracker.kill9()
        until(lambda: "tracker" in house.get("/v1/status")["away"], END_S, "it is not missed")
        assert poll(house, task_id) == "CAPCHA_NOT_READY"
        assert house.private.get("/in.php", key=CLIENT_KEY, method="test", ref="away").text == \
            "ERROR_NO_SLOT_AVAILABLE"
        house.tracker.start()
        house.until_serving()
        assert answered(house, task_id).startswith("OK|")
        stays(lambda: not heard(house, "away"), 1, "it was submitted")


def test_its_provider_is_taken_out_of_the_settings():
    """Read anew, they have none of that name; the facade's own settings need a start. A client's
    parameters are as good as they were: it may try again."""
    with new_house() as house:
        house.settings["facade"] = {**house.settings["facade"], "create_task": "sandbox"}
        del house.settings["providers"]["tasks"]
        house.write_settings()
        for name in ("tracker", "gateway"):
            daemon = house.daemons[name]
            daemon.send(signal.SIGHUP)
            until(lambda d=daemon: any("ev=profile.gone " in line for line in d.lines()), SOON_S,
                  f"the {name} keeps it")
        body = {"clientKey": CLIENT_KEY, "task": {"type": "Test", "ref": "gone"}}
        said = house.private.post_json("/createTask", body).json()
        assert said["errorCode"] == "ERROR_NO_SLOT_AVAILABLE", said
        assert not house.tasks()


def test_rule_22_a_client_that_has_gone_does_not_buy():
    """No poller is there yet, so nothing was asked; the client hangs up while the tracker stands
    still. Its task is taken back."""
    with new_house(pollers=0) as house:
        os.kill(house.tracker.pid, signal.SIGSTOP)
        try:
            with socket.create_connection(("127.0.0.1", house.private.port)) as peer:
                peer.sendall(f"GET /in.php?key={CLIENT_KEY}&method=test&ref=gone HTTP/1.1\r\n"
                             "Host: localhost\r\n\r\n".encode())
                peer.settimeout(40)
                answer = peer.recv(65536)
        finally:
            os.kill(house.tracker.pid, signal.SIGCONT)
        assert answer.endswith(b"ERROR_SERVER_ERROR"), answer
        house.until_serving()
        assert all(task["state"] == "cancelled" for task in house.tasks())
        house.add_poller(1).start()
        stays(lambda: not heard(house, "gone"), 2, "it was bought")


def test_the_clients_key_is_nowhere(house):
    """Neither in a store, a log, a letter nor at the provider."""
    task_id, _ = place(house, orders="pageurl", solve=0)
    assert answered(house, task_id) == "ERROR_PAGEURL"
    wrong = [path for path in glob.glob(f"{house.folder}/**", recursive=True)
             if os.path.isfile(path) and not path.endswith("client.key")
             and CLIENT_KEY.encode() in open(path, "rb").read()]
    assert not wrong
    assert CLIENT_KEY not in house.provider.get("/_sandbox/heard").text
    for target in ("/metrics", "/v1/status", "/v1/dead-letters"):
        assert CLIENT_KEY not in house.private.get(target).text
    assert CLIENT_KEY not in house.aldaba("config", "print").stdout


def test_the_books_balance(house):
    until(lambda: house.aldaba("audit", "--deep").returncode == 0, SOON_S,
          lambda: house.aldaba("audit", "--deep").stdout)
