"""The gateway's door, where callbacks prove their sender. Each is signed here, by another program
than the one that verifies."""
import base64
import hashlib
import os
import time

import pytest
from support import bus, ed25519
from support.house import binary
from support.signing import mac, stamped, standard_webhooks
from support.until import until
from test_gateway import FORM, SOON_S, Gate, url

TASK = 4711
OLD = "whsec_" + base64.b64encode(b"the-old-secret-0123456789").decode()
NEW = "whsec_" + base64.b64encode(b"the-new-secret-0123456789").decode()
SEED = bytes(range(32))
SECRETS = {"ALD_TEST_OLD": OLD, "ALD_TEST_NEW": NEW, "ALD_TEST_HMAC": "hmac-secret-1357",
           "ALD_TEST_HEADER": "header-secret-2468"}
HOOKS = {"standard_webhooks": {"secrets": ["${ALD_TEST_OLD}", "${ALD_TEST_NEW}"]}}
SCHEMES = {
    "hooks": HOOKS,
    "stamped": {"hmac": {"header": "X-Stamped", "format": "t_v", "secret": {"env": "ALD_TEST_HMAC"},
                         "tolerance": "30m"}},
    "hub": {"hmac": {"header": "X-Hub-Signature-256", "prefix": "sha256=",
                     "secret": {"env": "ALD_TEST_HMAC"}}},
    "based": {"hmac": {"header": "X-Sig", "encoding": "base64",
                       "secret": {"env": "ALD_TEST_HMAC"}}},
    "header": {"header_secret": {"name": "X-Secret", "value": {"env": "ALD_TEST_HEADER"}}},
    "keyed": {"ed25519": {
        "headers": {"sig": "X-Sig", "ts": "X-Time"},
        "message": "${header.x-request}\n${header.x-time}\n${sha256hex.body}",
        "keys": [base64.urlsafe_b64encode(ed25519.public_key(SEED)).decode().rstrip("=")]}},
}


def profile(auth, trust="auth", **callback):
    return {"family": "inphp", "poll": "none",
            "callback": {"trust": trust, "auth": auth, "max_body": "4KiB", **callback}}


# Descriptions that come with aldaba, each with this test's secrets; and an id where it stands.
KEYS = [base64.urlsafe_b64encode(ed25519.public_key(SEED)).decode().rstrip("=")]
BUNDLED = {
    "replicate": ({"secrets": {"whsec": {"env": "ALD_TEST_NEW"}}}, b'{"id":"j1","status":"starting"}'),
    "openai-responses": ({"secrets": {"whsec": {"env": "ALD_TEST_NEW"}}},
                         b'{"type":"response.completed","data":{"id":"resp_1"}}'),
    "deepgram": ({"secrets": {"key_id": {"env": "ALD_TEST_HEADER"}}}, b'{"request_id":"j1"}'),
    "assemblyai": ({"secrets": {"hook": {"env": "ALD_TEST_HEADER"}},
                    "callback": {"auth": {"source_ips": []}}},
                   b'{"transcript_id":"j1","status":"completed"}'),
    "fal": ({"callback": {"auth": {"ed25519": {"keys": KEYS}}}},
            b'{"request_id":"ab-1","status":"OK"}'),
}

PROFILES = {
    **{name: {"extends": name, **more} for name, (more, _) in BUNDLED.items()},
    **{name: profile(auth) for name, auth in SCHEMES.items()},
    "hinted": profile({**HOOKS, "on_fail": "hint"}, trust="token"),
    "strict": profile({**HOOKS, "on_fail": "reject"}),
    "gentle": profile({**HOOKS, "on_fail": "reject"}, ack={"rejected": 200}),
    "placed": profile({**HOOKS, "url_token": "path", "on_fail": "reject"}),
    "fenced": profile({**HOOKS, "source_ips": ["203.0.113.9"]}),
    "unkeyed": profile({"ed25519": {"headers": {"sig": "X-Sig"}, "message": "${body}",
                                    "keys": {"jwks": "https://keys.example/jwks.json"}}}),
    **{name: profile({"ed25519": {"headers": {"sig": "X-Sig"}, "message": "${body}",
                                  "keys": {"jwks": f"https://keys.example/{name}"}}})
       for name in ("told", "elsewhere")},
}

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


@pytest.fixture(scope="module")
def gate():
    with pytest.MonkeyPatch.context() as environment:
        for name, value in SECRETS.items():
            environment.setenv(name, value)
        with Gate(providers=PROFILES) as one:
            one.heard = one.tracker()
            yield one.start()


BODY = b"id=5&code=answer"


def sign(name, body, now):
    """What a provider sends beside its body."""
    if name == "hub":
        return {"X-Hub-Signature-256": "sha256=" + mac(b"hmac-secret-1357", body).hex().upper()}
    if name == "based":
        return {"X-Sig": base64.b64encode(mac(b"hmac-secret-1357", body)).decode()}
    if name == "stamped":
        return stamped("x-stamped", "hmac-secret-1357", body, now)
    if name == "header":
        return {"x-secret": "header-secret-2468"}
    if name == "keyed":
        text = f"r1\n{int(now)}\n{hashlib.sha256(body).hexdigest()}".encode()
        return {"X-Request": "r1", "X-Time": str(int(now)),
                "X-Sig": ed25519.sign(SEED, text).hex()}
    return standard_webhooks(NEW, body, now)


def send(gate, path, headers, body=BODY):
    """The answer, and the item that the tracker was told, or None."""
    before = len(gate.heard.items)
    answer = gate.public.request("POST", path, body, {**FORM, **headers})
    items = gate.heard.items[before:]
    assert len(items) <= 1
    return answer, items[0] if items else None


def found(gate, provider):
    """{result: count} of one provider."""
    lines = gate.private.get("/metrics").text.splitlines()
    return {line.split('result="')[1].split('"')[0]: float(line.rpartition(" ")[2])
            for line in lines if line.startswith("aldaba_gateway_auth_total{")
            and f'provider="{provider}"' in line}


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("door", ["bare", "token"])
def test_what_is_signed_is_proved(gate, name, door):
    path = f"/callback/{name}" if door == "bare" else url(TASK, name)
    before = found(gate, name).get("ok", 0)
    answer, item = send(gate, path, sign(name, BODY, time.time()))
    assert (answer.status, answer.text) == (200, "OK")
    assert (item["proof"], item.get("fault") or "") == ("auth", ""), found(gate, name)
    assert item["body"] == BODY
    assert found(gate, name)["ok"] == before + 1


@pytest.mark.parametrize("name", SCHEMES)
@pytest.mark.parametrize("door", ["bare", "token"])
def test_what_is_not_signed_is_put_aside(gate, name, door):
    path = f"/callback/{name}" if door == "bare" else url(TASK, name)
    answer, item = send(gate, path, {})
    assert answer.status == 200
    assert item["fault"] == "unauthenticated"
    assert item["proof"] != "auth"
    assert found(gate, name)["missing"] >= 1


@pytest.mark.parametrize("name", [name for name in SCHEMES if name != "header"])
def test_one_changed_byte(gate, name):
    answer, item = send(gate, url(TASK, name), sign(name, BODY, time.time()), BODY + b"s")
    assert (answer.status, item["fault"]) == (200, "unauthenticated")
    assert found(gate, name)["mismatch"] >= 1


def sign_bundled(name, body, now):
    if name == "fal":
        text = f"r1\nu1\n{int(now)}\n{hashlib.sha256(body).hexdigest()}".encode()
        return {"x-fal-webhook-request-id": "r1", "x-fal-webhook-user-id": "u1",
                "x-fal-webhook-timestamp": str(int(now)),
                "x-fal-webhook-signature": ed25519.sign(SEED, text).hex()}
    if name in ("deepgram", "assemblyai"):
        return {"dg-token" if name == "deepgram" else "x-aldaba-secret": "header-secret-2468"}
    return standard_webhooks(NEW, body, now)


@pytest.mark.parametrize("name", BUNDLED)
def test_bundled_descriptions_are_enforced(gate, name):
    """No key of the account is set: a gateway needs none."""
    body = BUNDLED[name][1]
    path = "/callback/" + name if name == "openai-responses" else url(TASK, name)
    json_type = {"Content-Type": "application/json"}
    answer, item = send(gate, path, {**json_type, **sign_bundled(name, body, time.time())}, body)
    assert (answer.status, item["proof"], item.get("fault") or "") == (200, "auth", "")
    answer, item = send(gate, path, json_type, body)
    aside = "" if name == "assemblyai" else "unauthenticated"  # on_fail: hint
    assert (answer.status, item.get("fault") or "") == (200, aside)
    assert item["proof"] != "auth"


def test_both_secrets_of_a_rotation(gate):
    for secret in (OLD, NEW):
        _, item = send(gate, "/callback/hooks", standard_webhooks(secret, BODY, time.time()))
        assert item["proof"] == "auth"
    other = "whsec_" + base64.b64encode(b"neither").decode()
    _, item = send(gate, "/callback/hooks", standard_webhooks(other, BODY, time.time()))
    assert item["fault"] == "unauthenticated"


@pytest.mark.parametrize("off_s, proof", [(-290, "auth"), (290, "auth"), (-310, "none"),
                                          (310, "none")])
def test_the_tolerance_is_both_ways(gate, off_s, proof):
    _, item = send(gate, "/callback/hooks", standard_webhooks(NEW, BODY, time.time() + off_s))
    assert item["proof"] == proof
    assert (item.get("fault") or "") == ("" if proof == "auth" else "unauthenticated")


@pytest.mark.parametrize("body, written_anew", [
    (b'{"id":"j1","status":"x","m":"\\u001B[0m"}', b'{"id":"j1","status":"x","m":"\\u001b[0m"}'),
    (b'{"id":"j1","status":"x","score":0.0}', b'{"id":"j1","status":"x","score":0}'),
])
def test_the_bytes_that_came_are_what_is_signed(gate, body, written_anew):
    headers = standard_webhooks(NEW, body, time.time())
    _, item = send(gate, "/callback/replicate", headers, body)
    assert (item["proof"], item["body"]) == ("auth", body)
    _, item = send(gate, "/callback/replicate", headers, written_anew)
    assert item["fault"] == "unauthenticated"


def test_milliseconds_are_told_from_seconds(gate):
    _, item = send(gate, "/callback/hooks", standard_webhooks(NEW, BODY, 1614265330000))
    assert item["fault"] == "unauthenticated" and "unit?" in item["detail"], item
    assert found(gate, "hooks")["unit"] == 1


def test_a_second_copy_is_stored_and_answered_alike(gate):
    headers = standard_webhooks(NEW, BODY, time.time(), "msg_twice")
    for _ in range(2):
        answer, item = send(gate, "/callback/hooks", headers)
        assert (answer.status, item["proof"]) == (200, "auth")


def test_a_repeated_header_is_no_proof(gate):
    headers = standard_webhooks(NEW, BODY, time.time())
    lines = [f"{name}: {value}" for name, value in headers.items()]
    lines.append(f"Webhook-Signature: {headers['webhook-signature']}")
    before = len(gate.heard.items)
    data = "\r\n".join(["POST /callback/hooks HTTP/1.1", "Host: x",
                        f"Content-Length: {len(BODY)}", *lines, "", ""]).encode() + BODY
    assert gate.public.raw_status(data) == 200
    assert gate.heard.items[before]["fault"] == "unauthenticated"
    assert found(gate, "hooks")["repeated"] == 1


def test_hint_is_stored_without_proof(gate):
    """Also where the URL would be believed: all that is listed must hold."""
    answer, item = send(gate, url(TASK, "hinted"), {})
    assert (answer.status, item["proof"], item.get("fault") or "") == (200, "none", "")
    assert int(item["task"]) == TASK
    _, item = send(gate, url(TASK, "hinted"), standard_webhooks(NEW, BODY, time.time()))
    assert item["proof"] == "auth"


@pytest.mark.parametrize("name, status", [("strict", 401), ("gentle", 200)])
def test_reject_stores_nothing(gate, name, status):
    before = gate.gateway_books()
    for path in (f"/callback/{name}", url(TASK, name)):
        answer, item = send(gate, path, {})
        assert (answer.status, answer.text, item) == (status, "not authenticated", None)
    books = gate.gateway_books()
    assert books["rejected"] == before["rejected"] + 2
    assert all(books[key] == before[key] for key in ("acknowledged", "spooled", "answered"))
    answer, item = send(gate, f"/callback/{name}", standard_webhooks(NEW, BODY, time.time()))
    assert (answer.status, item["proof"]) == (200, "auth")


def test_a_proof_counts_at_its_own_url_only(gate):
    headers = standard_webhooks(NEW, BODY, time.time())
    answer, item = send(gate, "/callback/placed", headers)
    assert (answer.status, item) == (401, None)
    assert found(gate, "placed") == {"url": 1}
    answer, item = send(gate, url(TASK, "placed"), headers)
    assert (answer.status, item["proof"]) == (200, "auth")


def test_a_proof_from_a_wrong_address(gate):
    _, item = send(gate, "/callback/fenced", standard_webhooks(NEW, BODY, time.time()))
    assert item["fault"] == "unauthenticated"
    assert found(gate, "fenced") == {"address": 1}


def test_without_keys_it_is_to_come_again_and_it_is_said(gate):
    """They are to be fetched: until then nobody can say who sent it, and nothing is decided."""
    answer, item = send(gate, "/callback/unkeyed", {"X-Sig": "00" * 64})
    assert (answer.status, item) == (503, None)
    assert int(answer.headers["retry-after"]) > 0
    assert found(gate, "unkeyed") == {"no_key": 1}
    assert 'ev=auth.no_key provider=unkeyed' in "\n".join(gate.daemon.lines())
    until(lambda: "unkeyed" in [head.get("lacks") for head in gate.heard.hellos + gate.heard.heads],
          SOON_S, "the tracker does not hear of it")


def test_without_keys_the_task_is_asked_for(gate):
    before = len(gate.heard.items)
    assert send(gate, url(4712, "elsewhere"), {"X-Sig": "00" * 64})[0].status == 503
    hint = until(lambda: gate.heard.items[before:], SOON_S, "no hint")[0]
    assert (hint["task"], hint["fault"]) == ("4712", "unstored")


def test_keys_that_are_told(gate):
    """At once, and for their address alone. Right after a fetch nothing else is waited for."""
    body = b'{"id":"1"}'
    signed = {"X-Sig": ed25519.sign(SEED, body).hex()}
    gate.heard.jwks = [
        bus.pack("jwks", provider=name, url=f"https://keys.example/{path}",
                 fetched_at_ms=int(time.time() * 1000), keys=ed25519.public_key(SEED))
        for name, path in (("told", "told"), ("elsewhere", "another"))]
    gate.heard.number = 2**48
    until(lambda: gate.heard.hellos[-1]["jwks"] == 2**48, SOON_S, "the keys are not taken")
    answer, item = send(gate, "/callback/told?id=1", signed, body)
    assert (answer.status, item["proof"]) == (200, "auth")
    answer, item = send(gate, "/callback/told?id=1", {"X-Sig": ed25519.sign(SEED, b"x").hex()}, body)
    assert (answer.status, item["fault"]) == (200, "unauthenticated")
    answer, item = send(gate, "/callback/elsewhere?id=1", signed, body)
    assert (answer.status, item) == (503, None)


def test_a_body_too_large_to_be_checked_is_not_believed(gate):
    body = b"x" * 5000
    headers = standard_webhooks(NEW, body, time.time())
    answer, item = send(gate, url(TASK, "hooks"), headers, body)
    assert (answer.status, item["fault"]) == (413, "oversized")
    answer, item = send(gate, "/callback/hooks", headers, body)
    assert (answer.status, item) == (413, None)


def test_proved_but_unreadable_is_stored(gate):
    body = b'{"id":'
    headers = {**standard_webhooks(NEW, body, time.time()), "Content-Type": "application/json"}
    answer, item = send(gate, "/callback/hooks", headers, body)
    assert (answer.status, item["proof"], item["fault"]) == (200, "auth", "malformed")


def test_secrets_are_nowhere(gate):
    """Neither in a file of the run, nor in what was told or shown."""
    send(gate, "/callback/header", {"X-Secret": "header-secret-2468", "X-Request-Id": "seen"})
    told = [value for item in gate.heard.items for value in map(repr, item.values())]
    assert any("seen" in value for value in told)
    written = "\n".join([gate.private.get("/metrics").text, *told]).encode()
    for folder, _, names in os.walk(gate.folder):
        for name in names:
            path = os.path.join(folder, name)
            if os.path.isfile(path):
                with open(path, "rb") as file:
                    written += file.read()
    assert b"auth.no_key" in written
    for secret in (*SECRETS.values(), "the-new-secret-0123456789"):
        assert secret.encode() not in written
