"""The dashboard as it is served, and what it needs of the API: tokens that only read, requests of the
listener's own page, the status as a stream, the record of people's actions."""
import hashlib
import json
import os
import pathlib
import re

import pytest
from support import bus
from support.house import binary
from support.sse import Stream
from support.until import until
from test_gateway import SOON_S, Gate

UI = pathlib.Path(__file__).resolve().parents[2] / "services/gateway/ui"
TOKENS = {"ALD_T_WRITE": "a-token-that-writes", "ALD_T_READ": "a-token-that-reads"}
ALL = {"Authorization": "Bearer a-token-that-writes"}
READ = {"Authorization": "Bearer a-token-that-reads"}
LETTER = "01JLETTER0000000000000000X"

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


def furnish(gate):
    """Neighbours that take every command."""
    view = {"letter": LETTER, "reason": "conflict", "state": "open", "provider": "two",
            "made_at_ms": 4}
    one = [bus.pack("letter.view", **view)]
    replay = [bus.pack("replay", replay=LETTER, state="queued")]
    gate.tracker()
    gate.desk("letters", letter_show=lambda ask: one, letter_replay=lambda ask: one,
              letter_judge=lambda ask: one, letter_drop=lambda ask: one,
              letter_edit=lambda ask: one, replay_start=lambda ask: replay,
              status=lambda ask: [bus.pack("figure", group="dlq", name="open", value=7)])
    gate.desk("query", provider_pause=lambda ask: [],
              status=lambda ask: [bus.pack("figure", group="tasks", name="open", value=3)])


@pytest.fixture(scope="module")
def gate():
    with Gate() as one:
        furnish(one)
        yield one.start()


@pytest.fixture(scope="module")
def guarded():
    with Gate(gateway={"tokens": [{"env": "ALD_T_WRITE"}],
                       "read_tokens": [{"env": "ALD_T_READ"}]}) as one:
        one.daemon.env.update(TOKENS)
        furnish(one)
        yield one.start(ready=False)


def files():
    return sorted(path for path in [*UI.iterdir(), *(UI / "vendor").iterdir()] if path.is_file())


# ---- the page ----


def test_the_page(gate):
    answer = gate.private.get("/")
    assert (answer.status, answer.headers["content-type"]) == (200, "text/html; charset=utf-8")
    assert answer.body == (UI / "index.html").read_bytes()


@pytest.mark.parametrize("path", files(), ids=lambda path: path.name)
def test_its_files(gate, path):
    answer = gate.private.get(f"/ui/{path.name}")
    kinds = {".html": "text/html; charset=utf-8", ".css": "text/css; charset=utf-8",
             ".js": "text/javascript; charset=utf-8", ".svg": "image/svg+xml",
             ".LICENSE": "text/plain; charset=utf-8"}
    assert (answer.status, answer.headers["content-type"]) == (200, kinds[path.suffix])
    assert answer.body == path.read_bytes()
    assert answer.headers["x-content-type-options"] == "nosniff"
    tag = answer.headers["etag"]
    assert tag == f'"{hashlib.sha256(answer.body).hexdigest()[:32]}"'
    immutable = path.parent.name == "vendor" and bool(re.search(r"\d", path.name))
    assert ("immutable" in answer.headers["cache-control"]) == immutable
    again = gate.private.request("GET", f"/ui/{path.name}", None, {"If-None-Match": tag})
    assert (again.status, again.body, again.headers["etag"]) == (304, b"", tag)
    other = gate.private.request("GET", f"/ui/{path.name}", None, {"If-None-Match": '"other"'})
    assert (other.status, other.body) == (200, answer.body)


def test_the_policy_lets_nothing_in(gate):
    for target in ("/", "/ui/app.js", "/ui/app.css"):
        policy = gate.private.get(target).headers["content-security-policy"]
        rules = dict(rule.strip().split(" ", 1) for rule in policy.split(";"))
        assert rules.pop("default-src") == "'none'"
        for name in ("base-uri", "form-action", "frame-ancestors"):
            assert rules.pop(name) == "'none'"
        assert set(rules.values()) == {"'self'"}, policy


def test_the_page_asks_nobody_else():
    """What is loaded is of this listener, nothing stands in the page itself, and no name is missing."""
    page = (UI / "index.html").read_text(encoding="utf-8")
    names = re.findall(r'(?:src|href)="([^"#]*)"', page)
    assert len(names) >= 4
    for name in names:
        assert name.startswith("/ui/") and any(path.name == name[4:] for path in files()), name
    assert not re.search(r"<style|\sstyle=|\son[a-z]+=|<script(?![^>]*\ssrc=)", page)
    for path in UI.glob("*.js"):
        text = path.read_text(encoding="utf-8")
        for name in re.findall(r'from "([^"]*)"', text):
            assert any(f"./{file.name}" == name for file in files()), (path.name, name)
        assert not re.search(r"https?://|innerHTML|\beval\(|new Function", text), path.name


@pytest.mark.parametrize("path, status", [
    ("/ui/", 404), ("/ui", 404), ("/ui/nothing.js", 404), ("/ui/..%2fapp.js", 404),
    ("/ui/vendor/app.js", 404), ("/index.html", 404), ("/favicon.ico", 404), ("/v1/nothing", 404),
    ("/v1", 404), ("//", 404), ("/?a=1", 200)])
def test_other_paths_are_what_they_were(gate, path, status):
    answer = gate.private.get(path)
    assert answer.status == status
    if status == 404:
        assert answer.headers["content-type"] == "application/problem+json"
        assert answer.json()["status"] == 404


def test_the_door_for_callbacks_has_no_page(gate):
    assert gate.public.get("/").status == 404
    assert gate.public.get("/ui/app.js").status == 404


@pytest.mark.parametrize("method", ["POST", "PUT", "DELETE", "PATCH", "HEAD"])
def test_the_page_takes_no_other_method(gate, method):
    answer = gate.private.request(method, "/")
    assert (answer.status, answer.headers["allow"]) == (405, "GET")


def test_the_page_needs_no_token(guarded):
    assert guarded.private.get("/").status == 200
    assert guarded.private.get("/ui/app.js").status == 200


# ---- tokens, and pages of others ----


def test_what_a_token_may_do(gate, guarded):
    ask = guarded.private.request
    open_ = gate.private.get("/v1/access").json()
    assert open_ == {"tokens": False, "read": True, "change": True}
    for headers, read, change in (({}, False, False), (ALL, True, True), (READ, True, False),
                                  ({"Authorization": "Bearer a-token-that"}, False, False)):
        told = ask("GET", "/v1/access", None, headers).json()
        assert told == {"tokens": True, "read": read, "change": change}


@pytest.mark.parametrize("method, path", [
    ("POST", "/v1/tasks"), ("POST", "/v1/tasks/1/cancel"), ("PUT", "/v1/consumers/one"),
    ("POST", "/v1/consumers/one/pull"), ("DELETE", f"/v1/dead-letters/{LETTER}"),
    ("PATCH", f"/v1/dead-letters/{LETTER}"), ("POST", "/v1/dead-letters/replay"),
    ("POST", "/v1/providers/two/pause"), ("POST", "/v1/backup"),
    ("GET", "/v1/events?consumer=one"), ("GET", "/v1/events?consumer=one&ack=sent")])
def test_a_read_token_changes_nothing(guarded, method, path):
    answer = guarded.private.request(method, path, b"{}", READ)
    assert answer.status == 403
    assert "gateway.tokens" in answer.json()["detail"]


def test_a_read_token_reads(guarded):
    for path in ("/v1/status", f"/v1/dead-letters/{LETTER}", "/v1/actions", "/metrics"):
        assert guarded.private.request("GET", path, None, READ).status == 200, path


def test_read_tokens_alone_guard_too():
    with Gate(gateway={"read_tokens": [{"env": "ALD_T_READ"}]}) as one:
        one.daemon.env.update(TOKENS)
        one.start(ready=False)
        assert one.private.get("/v1/status").status == 401
        assert one.private.request("GET", "/v1/status", None, READ).status == 200


@pytest.mark.parametrize("origin, host, status", [
    (None, None, 200), ("http://{own}", None, 200), ("https://{own}", None, 200),
    ("http://127.0.0.1:1", None, 403), ("http://127.0.0.1", None, 403), ("null", None, 403),
    ("http://{own}.evil.example", None, 403), ("http://evil.example", None, 403), ("", None, 403),
    ("http://evil.example", "evil.example", 403), (None, "evil.example", 403)])
def test_only_the_own_page_may_change_something(gate, origin, host, status):
    """A name that suddenly means 127.0.0.1 is no name of this listener, either."""
    own = f"127.0.0.1:{gate.private.port}"
    headers = {"Host": host or own}
    if origin is not None:
        headers["Origin"] = origin.format(own=own)
    answer = gate.private.request("POST", f"/v1/dead-letters/{LETTER}/replay", b"{}", headers)
    assert answer.status == status


@pytest.mark.parametrize("site, path, status", [
    ("same-origin", "/v1/status", 200), ("none", "/v1/status", 200), ("cross-site", "/v1/status", 403),
    ("same-site", "/v1/events?consumer=one&ack=sent", 403), ("cross-site", "/ui/app.js", 403),
    ("cross-site", "/", 200), ("cross-site", "//", 403)])
def test_what_a_page_of_others_embeds(gate, site, path, status):
    """A picture is asked for without an Origin."""
    headers = {"Sec-Fetch-Site": site, "Host": f"127.0.0.1:{gate.private.port}"}
    assert gate.private.request("GET", path, None, headers).status == status


def test_with_a_token_any_name_will_do(guarded):
    """A proxy in front has a name of its own, which browsers see."""
    path = f"/v1/dead-letters/{LETTER}/replay"
    headers = {"Host": "aldaba.example", "Origin": "https://aldaba.example"}
    assert guarded.private.request("POST", path, b"{}", {**headers, **ALL}).status == 200
    assert guarded.private.request("POST", path, b"{}", headers).status == 401
    headers["Origin"] = "https://other.example"
    assert guarded.private.request("POST", path, b"{}", {**headers, **ALL}).status == 403


# ---- the status as a stream ----


def test_watch(gate):
    with Stream(gate.private.port, "", path="/v1/watch") as stream:
        assert stream.headers["content-type"] == "text/event-stream"
        for _ in range(2):
            name, _, status = stream.next()
            assert (name, status["tasks"]["open"], status["dlq"]["open"]) == ("status", 3, 7)
            assert status["away"] == []


def test_watches_are_bounded_and_end(gate):
    streams = [Stream(gate.private.port, "", path="/v1/watch") for _ in range(3)]
    with Stream(gate.private.port, "", path="/v1/watch") as more:
        assert more.status == 503 and more.headers["retry-after"]
    for stream in streams:
        stream.close()
    until(lambda: gate.metrics_of("aldaba_gateway_api_waiters").get("") == 0, SOON_S,
          "a stream whose client is gone stays")


# ---- the record ----


def actions(gate, **query):
    answer = gate.private.get("/v1/actions", **query)
    assert answer.status == 200, answer
    return answer.json()


def test_what_people_do_is_on_record():
    with Gate() as gate:
        furnish(gate)
        gate.start()
        assert actions(gate) == {"actions": [], "cursor": ""}
        letter = f"/v1/dead-letters/{LETTER}"
        done = [("POST", f"{letter}/replay", {"believe": True, "by": "ana"}),
                ("PATCH", letter, {"revision": 1, "by": "ana", "body": "a message of somebody"}),
                ("DELETE", letter, {}),
                ("POST", "/v1/dead-letters/replay", {"reason": "conflict", "by": "Ñandú \"x\""}),
                ("POST", "/v1/providers/two/pause", {"by": "ben"})]
        for method, path, body in done:
            assert gate.private.post_json(path, body, method=method).status in (200, 202)
        for path, body in ((f"{letter}/replay", {"dry_run": True}), (f"{letter}/replay", {"no": 1}),
                           ("/v1/dead-letters/replay", {"dry_run": True, "by": "ana"})):
            gate.private.post_json(path, body)
        gate.private.get(letter)
        page = actions(gate)
        lines = page["actions"][::-1]
        assert [(line["what"], line["of"]) for line in lines] == [
            ("POST /v1/dead-letters/{id}/replay", LETTER), ("PATCH /v1/dead-letters/{id}", LETTER),
            ("DELETE /v1/dead-letters/{id}", LETTER), ("POST /v1/dead-letters/replay", ""),
            ("POST /v1/providers/{id}/pause", "two")]
        assert [line["by"] for line in lines] == ["ana", "ana", "api", "Ñandú \"x\"", "ben"]
        assert json.loads(lines[0]["asked"]) == done[0][2] and lines[1]["asked"] == ""
        assert {line["peer"] for line in lines} == {"127.0.0.1"}
        assert [line["status"] for line in lines] == [200, 200, 200, 202, 200]
        assert all(line["at_ms"] > 1_600_000_000_000 for line in lines)

        two = actions(gate, limit=2)
        rest = actions(gate, limit=1000, cursor=two["cursor"])
        assert two["actions"] + rest["actions"] == page["actions"] and rest["cursor"] == ""

        gate.daemon.kill9()
        with open(os.path.join(gate.spool, "actions-a.log"), "ab") as file:
            file.write(b'\n{"id": "01ZZ')  # half a line: the power failed
        gate.start()
        assert actions(gate) == page
        gate.private.post_json("/v1/providers/two/pause", {"by": "eve"})
        assert [line["by"] for line in actions(gate)["actions"]][:2] == ["eve", "ben"]


def test_a_name_that_is_none_is_refused(gate):
    answer = gate.private.post_json("/v1/providers/two/pause", {"by": "x" * 40})
    assert answer.status == 400
    answer = gate.private.post_json("/v1/providers/two/pause", {"who": "x"})
    assert answer.status == 400
