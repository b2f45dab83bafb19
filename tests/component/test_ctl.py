"""The operator's command against a gateway that the test plays."""
import contextlib
import json
import os
import pty
import socket
import stat
import subprocess
import time

import pytest
from support.house import binary
from support.stub import Stub

ALDABA = binary("aldaba")
pytestmark = pytest.mark.skipif(ALDABA is None, reason="aldaba is not built here")
TIMEOUT_S = 30

BIG_ID = "123456789012345"
TASK = {"id": BIG_ID, "state": "done", "provider": "sandbox", "provider_id": "77", "key": "k",
        "meta": "", "source": "poll", "code": "", "result": "A|B", "created_ms": 1767225600123,
        "ended_ms": 1767225601000, "polls": 1, "position": "0:7",
        "timeline": [{"at_ms": 1767225600123, "what": "created", "text": "registered"}]}
OPEN_TASK = {**TASK, "state": "pending", "source": "", "result": None,
             "callback_url": "http://h/cb/sandbox/TOKEN"}
LETTER = {"id": "01J0000000000000000000000A", "reason": "conflict", "cause": "another answer",
          "state": "held", "outcome": "", "provider": "sandbox", "task": BIG_ID,
          "provider_id": "77", "proof": "id", "made_ms": 1767225600123, "due_ms": None,
          "closed_ms": None, "attempts": 2, "revision": 0}
EVIL = "\x1b[2J\x1b]0;owned\x07\r\n\x9b31m"


class Gateway(Stub):
    """Answers what a test put into `answers`: {(method, path without query): answers, the last of
    which stays}. An answer is (status, value) or (status, value, content type); with status 0 the
    connection is closed."""

    def __init__(self):
        super().__init__(self.planned)
        self.answers = {}

    def planned(self, asked):
        none = [(404, {"detail": "There is no such route."})]
        planned = self.answers.get((asked.method, asked.path), none)
        status, value, *kind = planned.pop(0) if len(planned) > 1 else planned[0]
        if status == 0:
            return None
        headers = {"Content-Type": kind[0] if kind else "application/json"}
        if kind == ["text/event-stream"]:
            headers["Content-Length"] = None
        return status, value, headers

    def plan(self, method, path, *answers):
        self.answers[(method, path)] = list(answers)

    def last(self):
        return self.heard[-1]


@pytest.fixture
def gateway():
    with Gateway() as one:
        yield one


def clean_environment(**more):
    kept = {k: v for k, v in os.environ.items() if not k.startswith("ALDABA") and k != "NO_COLOR"}
    return {**kept, "TERM": "xterm", **more}


def run(*words, stdin="", **environment):
    return subprocess.run([ALDABA, *map(str, words)], capture_output=True, text=True, input=stdin,
                          timeout=TIMEOUT_S, check=False, env=clean_environment(**environment))


def on_terminal(*words, typed=b"", **environment):
    """(exit code, what a terminal would show)"""
    main, side = pty.openpty()
    process = subprocess.Popen([ALDABA, *map(str, words)], stdin=side, stdout=side, stderr=side,
                               env=clean_environment(**environment))
    os.close(side)
    os.write(main, typed)
    shown = b""
    with contextlib.suppress(OSError):
        while chunk := os.read(main, 65536):
            shown += chunk
    os.close(main)
    return process.wait(TIMEOUT_S), shown.decode("utf-8", "replace")


def test_example(gateway):
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (200, TASK))
    answer = run("task", BIG_ID, "--url", gateway.url)
    assert answer.returncode == 0, answer
    assert "done, by poll" in answer.stdout and "A|B" in answer.stdout
    assert "2026-01-01T00:00:00.123Z  created  registered" in answer.stdout
    assert "\x1b" not in answer.stdout


@pytest.mark.parametrize("where", ["before", "after", "environment"])
def test_options_stand_anywhere(gateway, where):
    gateway.plan("GET", "/v1/status", (200, {"away": [], "tasks": {"open": 3}}))
    if where == "before":
        answer = run("--json", "--url", gateway.url, "status")
    elif where == "after":
        answer = run("status", f"--url={gateway.url}", "--json")
    else:
        answer = run("status", "--json", ALDABA_URL=gateway.url)
    assert json.loads(answer.stdout) == {"away": [], "tasks": {"open": 3}}


def settings_file(tmp_path, gateway, more=""):
    path = tmp_path / "aldaba.yaml"
    path.write_text(f"gateway:\n  private: {gateway.url.removeprefix('http://')}\n{more}")
    return path


def test_address_and_token_from_the_settings(gateway, tmp_path):
    gateway.plan("GET", "/v1/status", (200, {}))
    path = settings_file(tmp_path, gateway, "  tokens: [{env: ALDABA_TEST_TOKEN}]\n")
    environment = {"ALDABA_TEST_TOKEN": "secret-token"}
    assert run("status", "-c", path, **environment).returncode == 0
    assert gateway.last().headers["Authorization"] == "Bearer secret-token"
    assert run("status", "--url", gateway.url, **environment).returncode == 0
    assert gateway.last().headers["Authorization"] is None, "a token goes where it belongs"
    assert run("status", "--url", gateway.url, ALDABA_TOKEN="mine").returncode == 0
    assert gateway.last().headers["Authorization"] == "Bearer mine"


def test_reserve(gateway):
    gateway.plan("POST", "/v1/tasks", (202, OPEN_TASK))
    answer = run("reserve", "sandbox", "--key", "k-1", "--meta", "n\u00f6te \"x\"", "--url",
                 gateway.url)
    assert answer.returncode == 0
    assert BIG_ID in answer.stdout and "http://h/cb/sandbox/TOKEN" in answer.stdout
    assert json.loads(gateway.last().body) == {"provider": "sandbox", "meta": "n\u00f6te \"x\""}
    assert gateway.last().headers["Idempotency-Key"] == "k-1"
    assert run("-q", "reserve", "sandbox", "--url", gateway.url).stdout == f"{BIG_ID}\n"


def test_register_and_wait(gateway):
    gateway.plan("POST", "/v1/tasks", (202, OPEN_TASK))
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (200, OPEN_TASK), (200, TASK))
    answer = run("register", "sandbox", "77", "--wait", "--json", "--url", gateway.url)
    assert answer.returncode == 0 and json.loads(answer.stdout)["state"] == "done"
    assert "wait=" in gateway.last().query


WAITERS = (("register", "sandbox", "77"), ("submit", "sandbox", "a=b"))


@pytest.mark.parametrize("words", [*WAITERS, ("task", BIG_ID)])
@pytest.mark.parametrize("state", ["failed", "lost", "expired", "cancelled"])
def test_who_waits_hears_by_the_exit_code_whether_it_is_done(gateway, words, state):
    gateway.plan("POST", "/v1/tasks", (202, OPEN_TASK))
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (200, {**TASK, "state": state}))
    for form in ("--json", "--quiet", "--no-color"):
        answer = run(*words, "--wait", form, "--url", gateway.url)
        assert answer.returncode == 1, answer
    assert run("task", BIG_ID, "--url", gateway.url).returncode == 0, "only shown"


@pytest.mark.parametrize("words", WAITERS)
def test_a_gateway_that_goes_while_we_wait_is_asked_again(gateway, words):
    gateway.plan("POST", "/v1/tasks", (202, OPEN_TASK))
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (0, None), (503, {"detail": "Not now."}),
                 (200, OPEN_TASK), (0, None), (200, TASK))
    answer = run(*words, "--wait", "--json", "--url", gateway.url)
    assert answer.returncode == 0 and json.loads(answer.stdout)["state"] == "done", answer
    assert answer.stderr.splitlines()[0].startswith(f"aldaba: Task {BIG_ID} is ")
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (0, None), (404, {"detail": "No such task."}))
    answer = run(*words, "--wait", "-q", "--url", gateway.url)
    assert answer.returncode == 1 and answer.stdout == f"{BIG_ID}\n", answer
    assert answer.stderr == "aldaba: No such task. (404)\n"


def test_a_gateway_that_was_never_there_is_not_waited_for(gateway):
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (0, None))
    assert run("task", BIG_ID, "--wait", "--url", gateway.url).returncode == 69


def test_attach_and_cancel(gateway):
    gateway.plan("POST", f"/v1/tasks/{BIG_ID}/attach", (200, TASK))
    gateway.plan("POST", f"/v1/tasks/{BIG_ID}/cancel", (200, {**TASK, "state": "cancelled"}))
    assert run("attach", BIG_ID, "99", "--url", gateway.url).returncode == 0
    assert json.loads(gateway.last().body) == {"provider_id": "99"}
    asked = len(gateway.heard)
    refused = run("cancel", BIG_ID, "--url", gateway.url)
    assert refused.returncode == 1 and "--yes" in refused.stderr and len(gateway.heard) == asked
    assert run("cancel", BIG_ID, "--yes", "--url", gateway.url).returncode == 0
    assert json.loads(gateway.last().body) == {}


def test_ids_cannot_leave_their_place(gateway):
    run("task", "../dead-letters?x=1#y", "--url", gateway.url)
    assert gateway.last().path == "/v1/tasks/..%2Fdead-letters%3Fx%3D1%23y"
    answer = run("register", "p", "1", "--key", "a\r\nX-Evil: 1", "--url", gateway.url)
    assert answer.returncode == 64


def test_tasks_page_by_page(gateway):
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [TASK, OPEN_TASK], "cursor": "c1"}),
                 (200, {"tasks": [TASK], "cursor": ""}))
    answer = run("tasks", "--state", "done", "--provider", "a&b", "--find", "77", "--limit", "0",
                 "--json", "--url", gateway.url)
    assert [json.loads(line)["state"] for line in answer.stdout.splitlines()] == \
        ["done", "pending", "done"]
    assert "state=done" in gateway.last().query and "cursor=c1" in gateway.last().query
    assert "provider=a%26b" in gateway.last().query and "q=77" in gateway.last().query


def test_a_list_in_columns(gateway):
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [TASK, OPEN_TASK], "cursor": "c1"}))
    answer = run("tasks", "--limit", "2", "--url", gateway.url)
    head, first, second = answer.stdout.splitlines()
    assert head.split()[:3] == ["task", "state", "by"]
    assert first.index("done") == second.index("pending") == head.index("state")
    assert "more" in answer.stderr
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [], "cursor": ""}))
    empty = run("tasks", "--url", gateway.url)
    assert (empty.returncode, empty.stdout) == (0, "")
    assert empty.stderr == "aldaba: There are no such tasks.\n"


def sse(*events, name="result"):
    return "".join(f"id: {position}\nevent: {name}\ndata: {json.dumps(value)}\n\n"
                   for position, value in events).encode()


def event_of(number):
    return {"lane": 0, "seq": number, "position": f"0:{number}", "task": str(number),
            "provider": "sandbox", "provider_id": "p", "state": "done", "source": "callback",
            "result": f"r{number}",
            "published_ms": 1767225600123}


def test_tail_joins_again_where_it_broke_off(gateway):
    stream = "text/event-stream"
    gateway.plan("GET", "/v1/events",
                 (200, b": hello\n\n" + sse(("0:1", event_of(1)), ("0:2", event_of(2)))
                  + b"id: 0:3\ndata: {\"cut", stream),
                 (200, sse(("0:3", event_of(3)), ("0:4", event_of(4))), stream))
    answer = run("tail", "--from", "all", "--count", "3", "--json", "--state", "done", "--url",
                 gateway.url)
    assert answer.returncode == 0, answer
    assert [json.loads(line)["seq"] for line in answer.stdout.splitlines()] == [1, 2, 3]
    assert "after=all" in gateway.heard[0].query and "state=done" in gateway.heard[0].query
    assert gateway.last().headers["Last-Event-ID"] == "0:2"
    assert "joining again" in answer.stderr


def test_tail_in_lines_and_gaps(gateway):
    gateway.plan("GET", "/v1/events", (
        200, b"event: gap\ndata: {\"before\":\"0:5\"}\n\n" + sse(("0:5", event_of(5))),
        "text/event-stream"))
    answer = run("tail", "--count", "1", "--url", gateway.url)
    assert answer.stdout == \
        "0:5       2026-01-01T00:00:00.123Z  done by callback  task 5  sandbox p  r5\n"
    assert "0:5" in answer.stderr and "gone" in answer.stderr


def test_tail_tells_another_lane_from_a_gap(gateway):
    gateway.plan("GET", "/v1/events", (
        200, b"event: gap\ndata: {\"before\":\"7:1\",\"other_lane\":true}\n\n" +
        sse(("7:1", event_of(1))), "text/event-stream"))
    answer = run("tail", "--from", "0:5", "--count", "1", "--url", gateway.url)
    assert "not in the lane of 0:5" in answer.stderr and "oldest that is kept, 7:1" in answer.stderr
    assert "older than" not in answer.stderr and "another lane" not in answer.stderr
    later = b"event: gap\ndata: {\"before\":\"9:1\",\"other_lane\":true}\n\n"
    gateway.plan("GET", "/v1/events", (200, sse(("7:1", event_of(1))), "text/event-stream"),
                 (200, later + sse(("9:1", event_of(2))), "text/event-stream"))
    answer = run("tail", "--from", "7:0", "--count", "2", "--url", gateway.url)
    assert "another lane, from 9:1" in answer.stderr and "mistyped" not in answer.stderr


@pytest.mark.parametrize("option", ["--from", "--after"])
def test_tail_begins_after_a_position(gateway, option):
    gateway.plan("GET", "/v1/events", (200, sse(("0:6", event_of(6))), "text/event-stream"))
    assert run("tail", option, "0:5", "-n", "1", "--url", gateway.url).returncode == 0
    assert "after=0%3A5" in gateway.last().query


def test_tail_says_why_it_cannot_begin(gateway):
    gateway.plan("GET", "/v1/events", (400, {"detail": "That is no position."}))
    answer = run("tail", "--from", "x", "--url", gateway.url)
    assert answer.returncode == 1 and "That is no position." in answer.stderr


def test_figures_and_the_audit(gateway):
    books = {"balanced": True, "problems": [], "arrivals": {"received": 12, "applied": 12}}
    gateway.plan("GET", "/v1/audit", (200, books))
    good = run("audit", "--url", gateway.url)
    assert good.returncode == 0 and "the books balance" in good.stdout
    assert "received" in good.stdout and "12" in good.stdout
    gateway.plan("GET", "/v1/audit", (200, {**books, "balanced": False, "problems": ["no sum"]}))
    bad = run("audit", "--deep", "--url", gateway.url)
    assert bad.returncode == 1 and "no sum" in bad.stdout and gateway.last().query == "deep=1"
    assert run("audit", "--json", "--url", gateway.url).returncode == 1
    gateway.plan("GET", "/v1/audit", (200, {}))
    assert run("audit", "--url", gateway.url).returncode == 1, "silence is no balance"


HEALTH = {
    "gateway": ((200, b"ready\n", "text/plain"), {}, 0),
    "gateway, not ready": ((503, b"the disk is full\n", "text/plain"), {}, 1),
    "tracker": (None, {"away": []}, 0),
    "tracker, away": (None, {"away": ["tracker"]}, 1),
    "dlq": (None, {"away": ["tracker"]}, 0),
    "dlq, away": (None, {"away": ["dlq"]}, 1),
    "poller": (None, {"away": [], "status": {"pollers": 2}}, 0),
    "poller, none": (None, {"away": [], "status": {"pollers": 0}}, 1),
    "poller, tracker away": (None, {"away": ["tracker"], "status": {"pollers": 2}}, 1),
    "kitchen": (None, {"away": []}, 64),
}


@pytest.mark.parametrize("name", HEALTH)
def test_health(gateway, name):
    ready, status, code = HEALTH[name]
    if ready:
        gateway.plan("GET", "/readyz", ready)
    gateway.plan("GET", "/v1/status", (200, status))
    answer = run("health", name.partition(",")[0], "--url", gateway.url)
    assert answer.returncode == code, answer
    assert (answer.stdout == "ready\n") == (code == 0)


def closed_port():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def test_nobody_there():
    url = f"http://127.0.0.1:{closed_port()}"
    answer = run("status", "--url", url)
    assert answer.returncode == 69 and url in answer.stderr and "--url" in answer.stderr
    assert run("health", "gateway", "--url", url).returncode == 69
    assert run("health", "tracker", "--url", url).returncode == 75
    assert run("tail", "--url", url).returncode == 69
    assert run("status", "--url", "gopher://x").returncode == 64


REFUSALS = {
    "not found": (404, {"detail": "There is no such task."}, 1, "There is no such task."),
    "other use of a key": (422, {"detail": "Used before."}, 1, "Used before."),
    "busy": (503, {"title": "Unavailable", "detail": "The tracker is away."}, 75, "again"),
    "too late": (504, {}, 75, "504"),
    "a token": (401, b"", 1, "ALDABA_TOKEN"),
    "no gateway at all": (200, b"<html>", 1, "no gateway of aldaba"),
    "evil": (404, {"detail": EVIL}, 1, "\\x1b"),
}


@pytest.mark.parametrize("name", REFUSALS)
def test_refusals(gateway, name):
    status, value, code, says = REFUSALS[name]
    gateway.plan("GET", "/v1/tasks/5", (status, value))
    answer = run("task", "5", "--url", gateway.url)
    assert answer.returncode == code and says in answer.stderr, answer
    assert answer.stdout == "" and "\x1b" not in answer.stderr


def test_dead_letters(gateway):
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": [LETTER], "cursor": ""}))
    listed = run("dlq", "ls", "--reason", "conflict", "--state", "held", "--url", gateway.url)
    assert LETTER["id"] in listed.stdout and "another answer" in listed.stdout
    assert "reason=conflict" in gateway.last().query and "state=held" in gateway.last().query
    shown = {**LETTER, "original": {"method": "GET", "path": "/cb/sandbox/{token}",
                                    "query": "id=1&code=x", "peer": "127.0.0.1"},
             "timeline": [{"at_ms": 1767225600123, "what": "attempt", "by": "schedule",
                           "outcome": "still", "detail": "unknown"}]}
    gateway.plan("GET", f"/v1/dead-letters/{LETTER['id']}", (200, shown))
    text = run("dlq", "show", LETTER["id"], "--url", gateway.url).stdout
    assert "id=1&code=x" in text and "schedule" in text and "{token}" in text


def test_dead_letters_are_replayed_and_dropped(gateway):
    path = f"/v1/dead-letters/{LETTER['id']}"
    gateway.plan("POST", f"{path}/replay", (200, LETTER))
    gateway.plan("DELETE", path, (200, {**LETTER, "state": "dropped"}))
    asked = run("dlq", "drop", LETTER["id"], "--url", gateway.url)
    assert asked.returncode == 1 and not gateway.heard
    done = run("dlq", "replay", LETTER["id"], "--believe", "--yes", "--url", gateway.url)
    assert done.returncode == 0 and json.loads(gateway.last().body)["believe"] is True
    code, shown = on_terminal("dlq", "drop", LETTER["id"], "--url", gateway.url, typed=b"n\n")
    assert code == 1 and "[y/N]" in shown and gateway.last().method == "POST"
    code, shown = on_terminal("dlq", "drop", LETTER["id"], "--url", gateway.url, typed=b"y\n")
    assert code == 0 and gateway.last().method == "DELETE"


def test_all_letters_that_the_filters_leave(gateway):
    others = [{**LETTER, "id": f"01J000000000000000000000{n:02}"} for n in range(3)]
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": others[:2], "cursor": "c"}),
                 (200, {"letters": others[2:], "cursor": ""}))
    for letter in others:
        gateway.plan("DELETE", f"/v1/dead-letters/{letter['id']}", (200, letter))
    gateway.plan("DELETE", f"/v1/dead-letters/{others[1]['id']}", (409, {"detail": "closed"}))
    answer = run("dlq", "drop", "all", "--reason", "conflict", "--yes", "--url", gateway.url)
    dropped = [one.path for one in gateway.heard if one.method == "DELETE"]
    assert len(dropped) == 3 and answer.returncode == 1 and "closed" in answer.stderr
    assert answer.stdout.count("dropped:") == 2


def test_a_limit_bounds_what_is_dropped(gateway):
    others = [{**LETTER, "id": f"01J000000000000000000000{n:02}"} for n in range(3)]
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": others, "cursor": ""}))
    for letter in others:
        gateway.plan("DELETE", f"/v1/dead-letters/{letter['id']}", (200, letter))
    answer = run("dlq", "drop", "all", "--limit", "2", "--yes", "--url", gateway.url)
    dropped = [one.path for one in gateway.heard if one.method == "DELETE"]
    assert answer.returncode == 0 and len(dropped) == 2


REPLAY = {"id": "01J0000000000000000000000R", "state": "running", "total": 10, "scanned": 4,
          "seen": 4, "replayed": 3, "answered": 2, "skipped": 1, "rate": 5, "by": "ana",
          "filter": {"reason": "malformed"}, "note": "", "counts": []}


def test_all_letters_are_replayed_by_the_dlq(gateway):
    counts = [{"result": "applied", "reason": "malformed", "why": "", "count": 9},
              {"result": "skipped", "reason": "expired", "why": "unvouched", "count": 1}]
    gateway.plan("POST", "/v1/dead-letters/replay", (202, REPLAY))
    gateway.plan("GET", f"/v1/replays/{REPLAY['id']}", (503, {"detail": "away"}), (200, REPLAY),
                 (200, {**REPLAY, "state": "done", "counts": counts}))
    asked = run("dlq", "replay", "all", "--url", gateway.url)
    assert asked.returncode == 1 and not gateway.heard
    done = run("dlq", "replay", "all", "--reason", "malformed", "--since", "2026-01-31", "--rate", "5",
               "--by", "ana", "--yes", "--url", gateway.url)
    said = json.loads(gateway.heard[0].body)
    assert said == {"by": "ana", "reason": "malformed", "since": 1769817600000, "rate": 5}
    assert done.returncode == 0 and "unvouched" in done.stdout and "done" in done.stderr, done
    assert "\r" not in done.stderr, "a bar on what is no terminal"
    gateway.plan("GET", f"/v1/replays/{REPLAY['id']}", (200, {**REPLAY, "state": "cancelled"}))
    dry = run("dlq", "replay", "all", "--dry-run", "--json", "--url", gateway.url)
    assert dry.returncode == 1 and json.loads(dry.stdout)["state"] == "cancelled"
    code, shown = on_terminal("dlq", "replay", "all", "--yes", "--url", gateway.url, typed=b"")
    assert code == 1 and "[#########" in shown


def test_times_that_are_none(gateway):
    for words in (("ls", "--since", "yesterday"), ("replay", "all", "--until", "-5", "--yes")):
        answer = run("dlq", *words, "--url", gateway.url)
        assert answer.returncode == 64 and "no time" in answer.stderr and not gateway.heard, answer


def test_a_letter_is_edited(gateway, tmp_path):
    path = f"/v1/dead-letters/{LETTER['id']}"
    gateway.plan("GET", path, (200, {**LETTER, "revision": 3}))
    gateway.plan("PATCH", path, (200, {**LETTER, "revision": 4}))
    file = tmp_path / "body"
    file.write_bytes(b"\x00\xff")
    done = run("dlq", "edit", LETTER["id"], "--body", f"@{file}", "--type", "text/plain", "--by", "ana",
               "--url", gateway.url)
    assert done.returncode == 0 and "revision 4" in done.stdout, done
    assert json.loads(gateway.last().body) == {"by": "ana", "revision": 3, "body_base64": "AP8=",
                                               "content_type": "text/plain"}
    nobody = run("dlq", "edit", LETTER["id"], "--url", gateway.url)
    assert nobody.returncode == 1 and "terminal" in nobody.stderr
    assert gateway.last().method == "GET"
    gateway.plan("PATCH", path, (409, {"detail": "The message was edited by somebody else."}))
    late = run("dlq", "edit", LETTER["id"], "--query", "id=5", "--url", gateway.url)
    assert late.returncode == 1 and "somebody else" in late.stderr


def test_bulk_replays_are_commanded(gateway):
    path = f"/v1/replays/{REPLAY['id']}"
    gateway.plan("GET", "/v1/replays", (200, {"replays": [REPLAY], "cursor": ""}))
    gateway.plan("POST", f"{path}/pause", (200, {**REPLAY, "state": "paused"}))
    gateway.plan("DELETE", path, (409, {"detail": "It has ended already."}))
    assert REPLAY["id"] in run("dlq", "replays", "ls", "--url", gateway.url).stdout
    assert "paused" in run("dlq", "replays", "pause", REPLAY["id"], "--url", gateway.url).stdout
    ended = run("dlq", "replays", "cancel", REPLAY["id"], "--url", gateway.url)
    assert ended.returncode == 1 and "ended" in ended.stderr
    for words in (("pause",), ("stop", REPLAY["id"]), ("ls", REPLAY["id"])):
        assert run("dlq", "replays", *words, "--url", gateway.url).returncode == 64


def test_groups_are_sorted_by_their_size(gateway):
    small = {"reason": "expired", "cause": "Few.", "provider": "one", "count": 2, "example": "A",
             "oldest_ms": 1767225600123, "newest_ms": 1767225600123}
    large = {**small, "cause": "Many.", "count": 10000}
    gateway.plan("GET", "/v1/dead-letters", (200, {"groups": [small], "cursor": "1"}),
                 (200, {"groups": [large], "cursor": ""}))
    text = run("dlq", "ls", "--group", "--url", gateway.url).stdout
    assert text.index("Many.") < text.index("Few.") and "10000" in text


def test_backup_gets_a_path_from_the_root(gateway, tmp_path):
    gateway.plan("POST", "/v1/backup", (200, {"dir": "x", "note": "The spool is not copied."}))
    made = subprocess.run([ALDABA, "backup", "copy", "--url", gateway.url], check=True, cwd=tmp_path,
                          capture_output=True, timeout=TIMEOUT_S)
    assert json.loads(gateway.last().body) == {"dir": str(tmp_path / "copy")}
    assert b"The spool is not copied." in made.stderr
    assert not (tmp_path / "copy").exists(), "the folder is the daemons' to make"


def test_nothing_from_outside_steers_the_terminal(gateway):
    evil = {**TASK, "provider_id": EVIL, "key": EVIL, "result": EVIL, "code": EVIL, "meta": EVIL,
            "state": EVIL, "timeline": [{"at_ms": 1, "what": EVIL, "text": EVIL}]}
    gateway.plan("GET", "/v1/tasks/5", (200, evil))
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [evil], "cursor": ""}))
    gateway.plan("GET", "/v1/status", (200, {"away": [], "status": {"balanced": EVIL, "head": EVIL},
                                              "provider": {f"{EVIL}.blocked_ms": 9000}}))
    gateway.plan("GET", "/v1/events", (200, sse(("0:1", {**event_of(1), "result": EVIL,
                                                         "provider_id": EVIL})),
                                       "text/event-stream"))
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": [{**LETTER, "cause": EVIL}]}))
    for words in (("task", "5"), ("tasks",), ("status",), ("tail", "-n", "1"), ("dlq", "ls")):
        answer = run(*words, "--url", gateway.url)
        assert answer.returncode == 0, answer
        text = (answer.stdout + answer.stderr).replace("\n", "")
        assert "\\x1b" in text and text.isprintable(), (words, text)


def test_colours_only_where_they_are_wanted(gateway):
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [TASK], "cursor": ""}))
    words = ("tasks", "--url", gateway.url)
    assert "\x1b[32mdone\x1b[0m" in on_terminal(*words)[1]
    assert "\x1b" not in on_terminal(*words, NO_COLOR="1")[1]
    assert "\x1b" not in on_terminal(*words, "--no-color")[1]
    assert "\x1b" not in on_terminal(*words, TERM="dumb")[1]
    assert "\x1b" not in on_terminal(*words, "--json")[1]


def test_json_is_passed_on_as_it_came(gateway):
    raw = b'{"id":"1","state":"done",\n"result":{"n":12345678901234567890,"p":0.00085}}\n'
    gateway.plan("GET", "/v1/tasks/1", (200, raw))
    answer = run("task", "1", "--json", "--url", gateway.url)
    assert answer.stdout.count("\n") == 1
    assert '"n":12345678901234567890,"p":0.00085' in answer.stdout


def test_a_reader_that_goes_away(gateway):
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [TASK] * 400, "cursor": "again"}))
    with subprocess.Popen([ALDABA, "tasks", "--limit", "0", "--json", "--url", gateway.url],
                          stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                          env=clean_environment()) as process:
        process.stdout.readline()
        process.stdout.close()
        assert process.wait(TIMEOUT_S) != 0


def test_a_full_disk_is_a_failure(gateway):
    gateway.plan("GET", "/v1/status", (200, {"tasks": {"open": 1}}))
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([ALDABA, "status", "--url", gateway.url], stdout=full,
                              stderr=subprocess.PIPE, env=clean_environment(), check=False,
                              timeout=TIMEOUT_S)
    assert done.returncode == 1 and b"stdout" in done.stderr


def test_settings_are_checked(gateway, tmp_path):
    good = settings_file(tmp_path, gateway)
    answer = run("config", "check", "--config", good)
    assert answer.returncode == 0 and "good" in answer.stdout
    assert gateway.url.removeprefix("http://") in run("config", "print", "-c", good).stdout
    bad = tmp_path / "bad.yaml"
    bad.write_text("gateway:\n  privat: x\n  ack_min: 5\n")
    for words in (("config", "check"), ("config", "print"), ("status",)):
        answer = run(*words, "--config", bad)
        assert answer.returncode == 78, answer
        assert "bad.yaml:2:3" in answer.stderr and "bad.yaml:3" in answer.stderr
    profile = tmp_path / "profile.yaml"
    profile.write_text("providers:\n  one:\n    family: nonsense\n")
    assert run("config", "check", "-c", profile).returncode == 78


def test_a_profile_is_checked_without_its_secrets(tmp_path):
    path = tmp_path / "aldaba.yaml"
    path.write_text("providers:\n  one:\n    family: inphp\n    secrets: {key: {env: NOT_SET}}\n"
                    "    poll: {request: {url: 'http://127.0.0.1:1/res.php'}}\n")
    answer = run("config", "check", "-c", path)
    assert answer.returncode == 0 and "1 provider" in answer.stdout, answer


def test_a_key_is_made_once(tmp_path):
    path = tmp_path / "callback.key"
    assert run("keys", "new", "callback", path).returncode == 0
    first = path.read_bytes()
    assert len(first) == 33 and stat.S_IMODE(path.stat().st_mode) == 0o600
    again = run("keys", "new", "callback", path)
    assert again.returncode == 1 and path.read_bytes() == first and "already" in again.stderr
    assert run("keys", "new", "kurve", path).returncode == 64
    assert run("keys", "new", "callback", tmp_path / "no" / "key").returncode == 1


def test_submit(gateway, tmp_path):
    file = tmp_path / "a.png"
    file.write_bytes(b"\x89PNG")
    gateway.plan("POST", "/v1/tasks", (202, OPEN_TASK))
    answer = run("submit", "sandbox", "a=b=c", "n:=0.00085", "l:=[1, {}]", f"file=@{file}",
                 "--key", "k", "--meta", "m", "-q", "--url", gateway.url)
    assert (answer.returncode, answer.stdout) == (0, f"{BIG_ID}\n"), answer
    assert gateway.heard[-1].headers["Idempotency-Key"] == "k"
    assert gateway.heard[-1].body.decode() == (
        '{"provider":"sandbox","meta":"m","params":{"a":"b=c","n":0.00085,"l":[1, {}]},'
        '"files":{"file":{"name":"a.png","content":"iVBORw=="}}}')
    for word in ("nonsense", "=x", "n:={", f"f=@{tmp_path}/none"):
        wrong = run("submit", "sandbox", word, "--url", gateway.url)
        assert wrong.returncode == 64 and wrong.stderr, wrong


def test_usage():
    assert run().returncode == 64
    assert run("tasks", "--nonsense").returncode == 64
    assert "tasks" in run("--help").stdout
    assert run("--version").stdout.startswith("aldaba ")


def test_it_waits_for_a_slow_answer(gateway):
    begun = time.monotonic()
    gateway.plan("GET", f"/v1/tasks/{BIG_ID}", (200, OPEN_TASK), (200, OPEN_TASK), (200, TASK))
    assert run("task", BIG_ID, "--wait", "--url", gateway.url).returncode == 0
    assert time.monotonic() - begun > 1.5, "a gateway that cannot wait is not asked in a hurry"
