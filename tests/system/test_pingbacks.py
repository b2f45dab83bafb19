"""A client's own pingback: aldaba calls it when its task has ended, until the client has taken it."""
import contextlib
import http.server
import json
import sqlite3
import threading
import urllib.parse

import pytest
from support.settings import free_port
from support.until import stays, until
from test_facade import CLIENT_KEY, bought, heard, new_house, new_ref

END_S = 30
HERE = ["127.0.0.1"]


class Receiver:
    """The client's server. statuses: what it answers first; then 200."""

    def __init__(self, port=0, statuses=()):
        self.got = []
        self.statuses = list(statuses)
        receiver = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):  # noqa: N802
                body = self.rfile.read(int(self.headers["Content-Length"]))
                receiver.got.append((self.path, self.headers["Content-Type"], body.decode()))
                self.send_response(receiver.statuses.pop(0) if receiver.statuses else 200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass

        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def one(self):
        until(lambda: self.got, END_S, "it was not called")
        return self.got[-1]


@pytest.fixture(scope="module")
def house():
    with new_house(allow=HERE) as one:
        yield one


@pytest.fixture
def receiver():
    one = Receiver()
    yield one
    one.close()


def place(house, pingback, **params):
    ref = new_ref()
    answer = house.private.get("/in.php", key=CLIENT_KEY, method="test", ref=ref,
                               pingback=pingback, **params)
    assert answer.text.startswith("OK|"), answer
    return answer.text[3:], ref


def noted(house, task_id, what):
    return [line for line in house.task(task_id)["timeline"] if line["what"] == what]


def test_example(house, receiver):
    task_id, ref = place(house, f"{receiver.url}/done?a=1&b=2", solve=0.2, answer="a+b c|d&e=\u00e9")
    path, kind, body = receiver.one()
    (entry,) = bought(house, ref)
    assert (path, kind) == ("/done?a=1&b=2", "application/x-www-form-urlencoded")
    assert dict(urllib.parse.parse_qsl(body)) == {"id": task_id, "code": entry["answer"]}
    until(lambda: noted(house, task_id, "pingback"), END_S, "it is not noted")
    stays(lambda: len(receiver.got) == 1, 1, "it came twice")
    (params,) = heard(house, ref)
    assert params["pingback"].startswith(house.public.url), "the client's address went on"


def test_a_failure(house, receiver):
    task_id, _ = place(house, receiver.url, solve=0, fate="error")
    assert dict(urllib.parse.parse_qsl(receiver.one()[2])) == {
        "id": task_id, "code": "ERROR_CAPTCHA_UNSOLVABLE"}


def test_create_task(house, receiver):
    ref = new_ref()
    body = {"clientKey": CLIENT_KEY, "callbackUrl": f"{receiver.url}/cb",
            "task": {"type": "Test", "ref": ref, "solve": 0.2}}
    task_id = house.private.post_json("/createTask", body).json()["taskId"]
    path, kind, said = receiver.one()
    assert (path, kind) == ("/cb", "application/json")
    assert json.loads(said) == {"errorId": 0, "status": "ready", "taskId": task_id,
                                "solution": {"token": bought(house, ref)[0]["answer"]}}


def test_until_it_is_taken(house):
    """Nobody listens, then there are errors, and the tracker is killed in between."""
    port = free_port()
    task_id, _ = place(house, f"http://127.0.0.1:{port}/", solve=0)
    until(lambda: noted(house, task_id, "pingback.failed"), END_S, "it was not tried")
    house.tracker.kill9()
    house.tracker.start()
    late = Receiver(port, statuses=[503])
    try:
        until(lambda: noted(house, task_id, "pingback"), END_S, lambda: house.task(task_id))
        assert len(late.got) == 2 and late.got[0] == late.got[1]
    finally:
        late.close()


def test_rule_7_given_up_it_is_a_letter():
    """Twelve tries take forty minutes, so eleven are written down while the tracker is down. The
    letter calls the client once more when a person says so, and is closed by its answer."""
    port = free_port()
    with new_house(allow=HERE) as house:
        task_id, _ = place(house, f"http://127.0.0.1:{port}/", solve=0)
        until(lambda: noted(house, task_id, "pingback.failed"), END_S, "it was not tried")
        assert house.tracker.stop() == 0
        with contextlib.closing(sqlite3.connect(f"{house.folder}/data/tracker.db")) as store, store:
            store.execute("UPDATE pushes SET tries = 11, next_ms = 0")
        house.tracker.start()
        (letter,) = until(lambda: house.dead_letters(task=task_id), END_S, "there is no letter")
        assert letter["reason"] == "consumer_rejected" and "12 tries" in letter["cause"], letter
        assert noted(house, task_id, "pingback.given_up")
        receiver = Receiver(port)
        try:
            done = house.aldaba("dlq", "replay", "--yes", letter["id"])
            assert done.returncode == 0, done
            said = dict(urllib.parse.parse_qsl(receiver.one()[2]))
            assert said["id"] == task_id and said["code"]
            until(lambda: not house.dead_letters(task=task_id), END_S, "the letter stays open")
            assert noted(house, task_id, "pingback") and len(receiver.got) == 1
        finally:
            receiver.close()
        audit = house.aldaba("audit", "--deep")
        assert audit.returncode == 0, audit.stdout + audit.stderr


def test_the_tracker_dies_before_the_end(house, receiver):
    task_id, _ = place(house, receiver.url, solve=1.5)
    house.tracker.kill9()
    house.tracker.start()
    assert dict(urllib.parse.parse_qsl(receiver.one()[2]))["id"] == task_id


def test_addresses_that_are_not_allowed(receiver):
    """Nothing of ours is called for a client: neither by address nor by name."""
    with new_house(allow=["10.1.2.3", "192.0.2.0/24"]) as house:
        for url in (receiver.url, receiver.url.replace("127.0.0.1", "localhost")):
            task_id, _ = place(house, url, solve=0)
            (line,) = until(lambda: noted(house, task_id, "pingback.failed")[:1], END_S, "untried")
            assert "not allow" in line["text"]
        assert not receiver.got


def test_what_is_no_address_is_noted(house):
    for none in ("notaurl", "ftp://127.0.0.1/x", "\x1b[2J http://a b/"):
        task_id, _ = place(house, none, solve=0)
        (line,) = noted(house, task_id, "pingback.ignored")
        assert line["text"] == "it is no http or https address"
        until(lambda: house.task(task_id)["state"] == "done", END_S, "it goes on")


def test_without_the_setting_none_is_called(receiver):
    with new_house() as house:
        task_id, ref = place(house, receiver.url, solve=0)
        until(lambda: house.private.get("/res.php", key=CLIENT_KEY, action="get", id=task_id
                                        ).text.startswith("OK|"), END_S, "it goes on")
        stays(lambda: not receiver.got, 1, "it was called")
        counted = [value for name, value in house.metrics().items()
                   if "facade_total" in name and "pingback_ignored" in name]
        assert counted == [1]
