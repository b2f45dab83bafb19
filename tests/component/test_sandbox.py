"""The sandbox provider: it speaks the protocol to the letter, misbehaves as asked, and keeps a
ledger that can be trusted. The test calls its scripts and receives its callbacks."""
import contextlib
import json
import resource
import socket
import time
import urllib.parse

import pytest
from support.house import KEY, new_sandbox
from support.http import Client
from support.stub import Stub
from support.until import stays, until

SOON_S = 10


class Receiver(Stub):
    """A callback door: notes what comes and answers what `statuses` says (then 200)."""

    def __init__(self):
        super().__init__(self.take)
        self.got = []
        self.statuses = []

    def take(self, asked):
        fields = dict(urllib.parse.parse_qsl(asked.query or asked.body.decode()))
        if len(asked.body) == asked.length:
            self.got.append({"method": asked.method, "at": time.monotonic(), **fields})
        return self.statuses.pop(0) if self.statuses else 200, b""

    @property
    def door(self):
        return f"{self.url}/cb"

    def of(self, task_id):
        return [call for call in self.got if call.get("id") == task_id]


@contextlib.contextmanager
def running(folder, *arguments, name="sandbox"):
    daemon = new_sandbox(str(folder), *arguments, name=name).start()
    try:
        client = Client(int(daemon.facts["port"]))
        client.daemon = daemon
        yield client
    finally:
        daemon.clean()


@pytest.fixture(scope="module")
def sandbox(tmp_path_factory):
    with running(tmp_path_factory.mktemp("sandbox"), "--solve", "0.05", "--drip", "0.002",
                 "--huge-mib", "4") as client:
        yield client


@pytest.fixture(scope="module")
def receiver():
    with Receiver() as door:
        yield door


def poll(sandbox, task_id, **more):
    return sandbox.get("/res.php", key=KEY, action="get", id=task_id, **more)


def submit(sandbox, **params):
    answer = sandbox.get("/in.php", key=KEY, method="userrecaptcha", **params)
    assert answer.text.startswith("OK|"), answer
    return answer.text[3:]


def ledger_of(sandbox, task_id):
    for line in sandbox.get("/_sandbox/ledger").text.splitlines():
        if json.loads(line)["id"] == task_id:
            return json.loads(line)
    raise KeyError(task_id)


def stats(sandbox):
    return sandbox.get("/_sandbox/stats").json()


def until_rest(sandbox):
    until(lambda: stats(sandbox)["callbacks"]["to_come"] == 0, SOON_S, "callbacks go on")


def test_example(sandbox, receiver):
    task_id = submit(sandbox, pingback=receiver.door, answer="A|B")
    call = until(lambda: receiver.of(task_id), SOON_S, "no callback")[0]
    assert call["code"] == "A|B"
    assert poll(sandbox, task_id).text == "OK|A|B"


BOUNDARY = "xyzzy"
PART = '--{}\r\nContent-Disposition: form-data; name="{}"\r\n\r\n{}\r\n'
MULTIPART = (PART.format(BOUNDARY, "key", KEY) + PART.format(BOUNDARY, "method", "post")
             + f"--{BOUNDARY}--\r\n")
ENCODINGS = {
    "form": ("application/x-www-form-urlencoded", f"key={KEY}&method=post"),
    "multipart": (f"multipart/form-data; boundary={BOUNDARY}", MULTIPART),
    "json": ("application/json", json.dumps({"key": KEY, "method": "post"})),
    "json called text": ("text/plain", json.dumps({"key": KEY, "method": "post"})),
    "json called multipart": ("multipart/form-data", json.dumps({"key": KEY, "method": "post"})),
    "form called nothing": ("", f"key={KEY}&method=post"),
}


@pytest.mark.parametrize("name", ENCODINGS)
def test_submission_by_post(sandbox, name):
    content_type, body = ENCODINGS[name]
    plain = sandbox.request("POST", "/in.php", body.encode(), {"Content-Type": content_type})
    assert plain.text.startswith("OK|") and plain.text[3:].isdigit()
    both = sandbox.request("POST", "/in.php?json=1", body.encode(), {"Content-Type": content_type})
    assert both.json()["status"] == 1 and both.json()["request"].isdigit()


def test_submission_in_chunks_with_expect(sandbox):
    body = f"key={KEY}&method=post".encode()
    head = (b"POST /in.php HTTP/1.1\r\nHost: x\r\nExpect: 100-continue\r\n"
            b"Transfer-Encoding: chunked\r\n\r\n")
    answer = sandbox.raw(head + b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body))
    assert answer.startswith(b"HTTP/1.1 100 ") and b"OK|" in answer


def test_refusals(sandbox):
    assert sandbox.get("/in.php").text == "ERROR_KEY_DOES_NOT_EXIST"
    assert sandbox.get("/in.php", key="x", json=1).json() == \
        {"status": 0, "request": "ERROR_WRONG_USER_KEY"}
    assert sandbox.get("/in.php", key=KEY, fate="nonsense").text == "ERROR_BAD_PARAMETERS"
    assert sandbox.get("/in.php", key=KEY, moods="nonsense").text == "ERROR_BAD_PARAMETERS"
    assert sandbox.get("/res.php", key=KEY, action="x").text == "ERROR_EMPTY_ACTION"
    assert poll(sandbox, "12").text == "ERROR_WRONG_CAPTCHA_ID"
    assert poll(sandbox, "../x").text == "ERROR_WRONG_ID_FORMAT"
    assert sandbox.get("/elsewhere").status == 404


def test_polls_in_all_shapes(sandbox):
    first = submit(sandbox, solve=0, answer="ONE")
    second = submit(sandbox, solve=0, answer="TWO")
    third = submit(sandbox, fate="never")
    assert poll(sandbox, first, json=1).json() == {"status": 1, "request": "ONE"}
    several = sandbox.get("/res.php", key=KEY, action="get", ids=f"{first},{third},9,{second}")
    assert several.text == "ONE|CAPCHA_NOT_READY|ERROR_WRONG_CAPTCHA_ID|TWO"
    assert sandbox.get("/res.php", key=KEY, action="get2", id=first).text == "OK|ONE|0.00085"
    assert sandbox.get("/res.php", key=KEY, action="getbalance").text == "4.73"
    assert poll(sandbox, third, json=1).json() == {"status": 0, "request": "CAPCHA_NOT_READY"}
    good = sandbox.get("/res.php", key=KEY, action="reportgood", id=first)
    again = sandbox.get("/res.php", key=KEY, action="reportbad", id=first)
    assert (good.text, again.text) == ("OK_REPORT_RECORDED", "ERROR_DUPLICATE_REPORT")
    assert ledger_of(sandbox, first)["polls"] == 3


def test_not_ready_before_it_is_solved(sandbox):
    task_id = submit(sandbox, solve=0.5, answer="X")
    assert poll(sandbox, task_id).text == "CAPCHA_NOT_READY"
    until(lambda: poll(sandbox, task_id).text == "OK|X", SOON_S, "never solved")


def test_callbacks_by_both_methods(sandbox, receiver):
    for method in ("get", "post"):
        task_id = submit(sandbox, pingback=receiver.door, method_of_pingback=method,
                         answer="a+b c=&/")
        call = until(lambda: receiver.of(task_id), SOON_S, "no callback")[0]
        assert (call["method"], call["code"]) == (method.upper(), "a+b c=&/")


FATES = {
    "ok": ["X"], "drop": [], "double": ["X", "X"], "error": ["ERROR_CAPTCHA_UNSOLVABLE"],
    "conflict": ["X", "X-other"], "broken": [], "never": [], "lost": [], "late": ["X"],
    "reorder": ["X"],
}


@pytest.mark.parametrize("fate", FATES)
def test_fate(sandbox, receiver, fate):
    task_id = submit(sandbox, pingback=receiver.door, fate=fate, answer="X", late=0.2)
    until_rest(sandbox)
    until(lambda: len(receiver.of(task_id)) >= len(FATES[fate]), SOON_S, "a callback is missing")
    assert [call["code"] for call in receiver.of(task_id)] == FATES[fate]
    line = ledger_of(sandbox, task_id)
    assert line["fate"] == fate
    want = [None] if fate == "broken" else [200] * len(FATES[fate])
    assert [call["status"] for call in line["callbacks"]] == want
    truth = {"never": "CAPCHA_NOT_READY", "lost": "ERROR_WRONG_CAPTCHA_ID",
             "error": "ERROR_CAPTCHA_UNSOLVABLE"}.get(fate, "OK|X")
    until(lambda: poll(sandbox, task_id).text == truth, SOON_S, "the poll does not say the truth")


def test_many_copies(sandbox, receiver):
    task_id = submit(sandbox, pingback=receiver.door, fate="double", times=46)
    until(lambda: len(receiver.of(task_id)) == 46, SOON_S, "46 callbacks do not come")


def test_early_callback_comes_before_the_response(sandbox, receiver):
    task_id = submit(sandbox, pingback=receiver.door, fate="early")
    assert len(receiver.of(task_id)) == 1


def test_late_comes_late(sandbox, receiver):
    begun = time.monotonic()
    task_id = submit(sandbox, pingback=receiver.door, fate="late=0.6", solve=0)
    call = until(lambda: receiver.of(task_id), SOON_S, "no callback")[0]
    assert call["at"] - begun >= 0.6


def test_reordered_callbacks_come_in_another_order(sandbox, receiver):
    ids = [submit(sandbox, pingback=receiver.door, fate="reorder", solve=0.01) for _ in range(4)]
    until(lambda: all(receiver.of(i) for i in ids), SOON_S, "a callback is missing")
    order = [call["id"] for call in receiver.got if call["id"] in ids]
    assert sorted(order) == ids and order != ids


def test_no_retry_unless_asked(sandbox, receiver, tmp_path):
    receiver.statuses[:] = [503]
    task_id = submit(sandbox, pingback=receiver.door)
    until_rest(sandbox)
    assert [call["status"] for call in ledger_of(sandbox, task_id)["callbacks"]] == [503]
    retries = ("--callback-retries", "3", "--retry-wait", "0.05")
    with running(tmp_path, "--solve", "0", *retries) as other:
        receiver.statuses[:] = [503, 500]
        task_id = submit(other, pingback=receiver.door)
        until_rest(other)
        calls = ledger_of(other, task_id)["callbacks"]
        assert [call["status"] for call in calls] == [503, 500, 200]
        assert stats(other)["callbacks"]["acknowledged"] == 1


def test_callback_to_nobody_is_in_the_ledger(sandbox):
    with socket.socket() as closed:
        closed.bind(("127.0.0.1", 0))
        task_id = submit(sandbox, pingback=f"http://127.0.0.1:{closed.getsockname()[1]}/cb")
        until_rest(sandbox)
    call = ledger_of(sandbox, task_id)["callbacks"][0]
    assert call["status"] is None and call["error"] == "ConnectionRefusedError"


MOODS = {
    "html502": (502, b"<html>"), "html200": (200, b"<html>"), "ban1005": (200, b"ERROR: 1005"),
    "empty": (200, b""), "notready": (200, b"CAPCHA_NOT_READY"),
    "notready2": (200, b"CAPTCHA_NOT_READY"), "error": (200, b"ERROR_SOMETHING_NEW"),
    "noslot": (200, b"ERROR_NO_SLOT_AVAILABLE"), "server": (200, b"ERROR_SERVER_ERROR"),
    "429": (429, b"Too Many"),
}


@pytest.mark.parametrize("mood", MOODS)
def test_mood(sandbox, mood):
    task_id = submit(sandbox, solve=0, answer="X", moods=mood)
    answer = poll(sandbox, task_id)
    status, begins = MOODS[mood]
    assert answer.status == status and answer.body.startswith(begins)
    assert (answer.body == b"") == (mood == "empty")
    assert poll(sandbox, task_id).text == "OK|X", "the mood was for one poll"


def raw_poll(sandbox, task_id):
    target = f"/res.php?key={KEY}&action=get&id={task_id}"
    with socket.create_connection(("127.0.0.1", sandbox.port), timeout=SOON_S) as peer:
        peer.sendall(f"GET {target} HTTP/1.1\r\nHost: x\r\n\r\n".encode())
        answer = b""
        while chunk := peer.recv(1 << 20):
            answer += chunk
        return answer


def test_moods_of_the_wire(sandbox):
    task_id = submit(sandbox, solve=0, moods="huge,half,slow")
    huge = raw_poll(sandbox, task_id)
    assert b"chunked" in huge and len(huge) >= 4 << 20 and not huge.endswith(b"0\r\n\r\n")
    half = raw_poll(sandbox, task_id)
    head, _, body = half.partition(b"\r\n\r\n")
    assert 0 < len(body) < int(head.partition(b"Content-Length: ")[2].split(b"\r\n")[0])
    begun = time.monotonic()
    slow = raw_poll(sandbox, task_id)
    assert slow.endswith(b"SSS") and time.monotonic() - begun > 1


def test_mood_that_stays(sandbox):
    task_id = submit(sandbox, solve=0, moods="html502*")
    assert [poll(sandbox, task_id).status for _ in range(5)] == [502] * 5


def test_moods_by_weight_from_now_on(sandbox):
    task_id = submit(sandbox, solve=0)
    assert sandbox.request("POST", "/_sandbox/moods?weights=empty").json() == {"empty": 1}
    assert poll(sandbox, task_id).body == b""
    assert sandbox.request("POST", "/_sandbox/moods?weights=").status == 200
    assert poll(sandbox, task_id).body.startswith(b"OK|")
    assert sandbox.request("POST", "/_sandbox/moods?weights=nonsense").status == 400


def choices(folder, seed, name):
    fates = ("--fates", "ok=3,drop=2,double=1,error=1")
    with running(folder, "--seed", seed, *fates, name=name) as one:
        ids = one.get("/_sandbox/submit", n=40).json()["ids"]
        lines = [json.loads(line) for line in one.get("/_sandbox/ledger").text.splitlines()]
        return ids, [(line["fate"], line["answer"]) for line in lines]


def test_a_seed_repeats_and_ids_do_not(tmp_path):
    first_ids, first = choices(tmp_path, 7, "a")
    again_ids, again = choices(tmp_path, 7, "b")
    _, other = choices(tmp_path, 8, "c")
    assert first == again != other
    assert len({fate for fate, _ in first}) == 4
    assert not set(first_ids) & set(again_ids)
    assert len(set(first_ids)) == 40 and all(task_id.isdigit() for task_id in first_ids)


def test_it_knows_its_tasks_after_a_kill(tmp_path):
    """With --memory: answers are given on, what is not ready is not, and callbacks are lost."""
    file = tmp_path / "tasks"
    arguments = ("--memory", str(file))
    with running(tmp_path, *arguments) as first:
        ready = submit(first, solve=0, answer="A|B")
        slow = submit(first, solve=60)
        failed, never, lost = (submit(first, solve=0, fate=fate) for fate in ("error", "never", "lost"))
        first.daemon.kill9()
    with open(file, "a", encoding="utf-8") as torn:
        torn.write('{"id": "1", "fate": "ok", "ans')
    for _ in range(2):
        with running(tmp_path, *arguments, name="again") as again:
            assert poll(again, ready).text == "OK|A|B"
            assert poll(again, slow).text == poll(again, never).text == "CAPCHA_NOT_READY"
            assert poll(again, failed).text == "ERROR_CAPTCHA_UNSOLVABLE"
            assert poll(again, lost).text == poll(again, "1").text == "ERROR_WRONG_CAPTCHA_ID"
            assert stats(again)["submitted"] == 0
            submit(again)
    with running(tmp_path, name="without") as other:
        assert poll(other, ready).text == "ERROR_WRONG_CAPTCHA_ID"


def test_the_ledger_adds_up(sandbox, receiver):
    before, got = stats(sandbox), len(receiver.got)
    ids = sandbox.get("/_sandbox/submit", n=300, pingback=receiver.door, solve=0.05).json()["ids"]
    until(lambda: all(receiver.of(i) for i in ids), SOON_S, "callbacks are missing")
    until_rest(sandbox)
    after = stats(sandbox)
    assert after["submitted"] - before["submitted"] == 300
    assert after["callbacks"]["acknowledged"] - before["callbacks"]["acknowledged"] == 300
    assert len(receiver.got) - got == 300
    assert len({ledger_of(sandbox, i)["answer"] for i in ids[:20]}) == 20


def test_thousands_of_connections(sandbox):
    _, most = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (most, most))
    task_id = submit(sandbox, solve=0, answer="X")
    peers = [socket.create_connection(("127.0.0.1", sandbox.port), timeout=SOON_S)
             for _ in range(2000)]
    request = f"GET /res.php?key={KEY}&action=get&id={task_id} HTTP/1.1\r\nHost: x\r\n\r\n".encode()
    try:
        for peer in peers:
            peer.sendall(request)
        assert all(b"OK|X" in peer.recv(4096) for peer in peers)
        peers[0].sendall(request)
        assert b"OK|X" in peers[0].recv(4096), "the connection is kept"
    finally:
        for peer in peers:
            peer.close()


def test_garbage_is_answered(sandbox):
    assert sandbox.raw_status(b"nonsense\r\n\r\n") == 400
    assert sandbox.raw_status(b"POST /in.php HTTP/1.1\r\nContent-Length: x\r\n\r\n") == 400
    assert sandbox.get("/_sandbox/submit", n=1, fate="x").status == 400
    assert stats(sandbox)["submitted"] > 0


def test_sigterm_ends_it_with_polls_under_way(tmp_path):
    with running(tmp_path, "--solve", "0") as other:
        task_id = submit(other, moods="hang")
        with socket.create_connection(("127.0.0.1", other.port), timeout=SOON_S) as peer:
            target = f"/res.php?key={KEY}&action=get&id={task_id}"
            peer.sendall(f"GET {target} HTTP/1.1\r\n\r\n".encode())
            until(lambda: ledger_of(other, task_id)["polls"] == 1, SOON_S, "the poll does not come")
            stays(other.daemon.alive, 0.2, "it ended by itself")
            assert other.daemon.stop() == 0
            assert peer.recv(100) == b""
