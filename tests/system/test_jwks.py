"""Public keys that a provider shows at an address: fetched, told to every gateway, and kept when the
address, the tracker or the gateway goes away. Callbacks are signed here, by the test's own keys."""
import base64
import contextlib
import hashlib
import json
import os
import signal
import time

import pytest
from support import ed25519
from support.house import House
from support.http import Client
from support.settings import free_port, merge, sandbox_profile
from support.stub import Stub
from support.until import until

SOON_S = 15
OLD, NEW = bytes(range(32)), bytes(range(1, 33))
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def okp(seed):
    x = base64.urlsafe_b64encode(ed25519.public_key(seed)).decode().rstrip("=")
    return {"kty": "OKP", "crv": "Ed25519", "use": "sig", "x": x}


def jwks(*seeds):
    return json.dumps({"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB"}, *map(okp, seeds)]}).encode()


class Shown(Stub):
    """Where the provider shows its keys: `shown` is (status, body); `heard`, who came."""

    def __init__(self, port, *shown):
        self.shown = shown
        super().__init__(lambda _: self.shown, port)


def profile(house, port, on_fail="quarantine", cache="24h", **keys):
    return merge(sandbox_profile(house.provider.port), {
        "secrets": {"key": {"env": "ALDABA_SANDBOX_KEY"}},
        "callback": {"trust": "auth", "stale_after": "200s", "auth": {
            "source_ips": None, "on_fail": on_fail, "ed25519": {
                "headers": {"sig": "X-Sig", "ts": "X-Time"},
                "message": "${header.x-request}\n${header.x-time}\n${sha256hex.body}",
                "keys": {"jwks": f"http://127.0.0.1:{port}/keys", "cache": cache, **keys}}}},
        "poll": {"schedule": {"give_up_after": "300s"}}})


@contextlib.contextmanager
def signed_house(port, providers=None, **more):
    with House() as house:
        house.start_sandbox()
        house.settings = {"providers": providers(house) if providers else
                          {"fal": profile(house, port, **more)},
                          "gateway": {"spool": f"{house.folder}/spool"}}
        house.write_settings()
        yield house.start_daemons()


def knock(house, provider_id, seed, provider="fal", client=None):
    body = f"id={provider_id}&code=signed".encode()
    now = str(int(time.time()))
    text = f"r1\n{now}\n{hashlib.sha256(body).hexdigest()}".encode()
    headers = {**FORM, "X-Request": "r1", "X-Time": now, "X-Sig": ed25519.sign(seed, text).hex()}
    return (client or house.public).request("POST", f"/callback/{provider}", body, headers)


def fresh(house, provider="fal"):
    provider_id = house.submit(1, fate="drop", answer="polled", solve=0)[0]
    return provider_id, house.register(provider_id, provider=provider)


def view(house, provider="fal"):
    return house.get("/v1/providers", name=provider)["providers"][0]["keys"]


def until_keys(house, count, provider="fal"):
    return until(lambda: view(house, provider)["count"] == count and view(house, provider), SOON_S,
                 lambda: f"not {count} keys: {view(house, provider)}")


def until_proved(house, seed, provider="fal", client=None):
    """As a provider does: again until it is taken. The task ends by it. Where a gateway has fetched keys
    and may not have been told this one yet, on_fail is `reject`: what is kept for a person is taken, too."""
    provider_id, task = fresh(house, provider)
    until(lambda: knock(house, provider_id, seed, provider, client).status == 200, SOON_S,
          "the callback is not taken")
    event = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
    assert [(one["result"], one["source"]) for one in event] == [(b"signed", "callback")]


def letters(house):
    return house.dead_letters(reason="unauthenticated")


def kept(house):
    """The gateway's own file of keys."""
    return os.path.join(house.folder, "spool", "provider.jwks")


def audit(house):
    done = house.aldaba("audit")
    assert done.returncode == 0, done.stdout + done.stderr


def test_example():
    """Fetched at the start, without any secret; and it is seen."""
    port = free_port()
    with Shown(port, 200, jwks(OLD)) as shown, signed_house(port) as house:
        until_proved(house, OLD)
        keys = view(house)
        assert keys["count"] == 1 and keys["error"] == "" and keys["fetched_ms"] > 0
        (asked,) = shown.heard
        assert (asked.method, asked.target) == ("GET", "/keys")
        assert {name.lower() for name in asked.headers} <= {"host", "accept", "user-agent"}
        until(lambda: any("ev=keys.fetched provider=fal keys=1" in line
                          for line in house.tracker.lines()), SOON_S, "it is not said")
        metrics = house.metrics()
        assert [value for name, value in metrics.items()
                if name.startswith("aldaba_jwks_keys{") and 'provider="fal"' in name] == [1]
        assert not any(name.startswith("aldaba_polls_total{") and 'provider="fal"' in name
                       for name in metrics)
        heads, row = house.aldaba("provider", "status", "fal").stdout.splitlines()
        assert row[heads.index("keys"):].startswith("1 of 20"), (heads, row)
        audit(house)


@pytest.mark.parametrize("on_fail", ["quarantine", "reject"])
def test_before_they_are_known_it_is_to_come_again(on_fail):
    """Nothing is decided and nothing is lost: 503, and then it is proved."""
    port = free_port()
    with signed_house(port, on_fail=on_fail) as house:
        provider_id, task = fresh(house)
        assert knock(house, provider_id, OLD).status == 503
        assert not letters(house)
        with Shown(port, 200, jwks(OLD)):
            until(lambda: knock(house, provider_id, OLD).status == 200, 3 * SOON_S, "not taken")
            (event,) = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
            assert (event["result"], event["source"]) == (b"signed", "callback")
        audit(house)


def test_before_they_are_known_a_hint_is_polled():
    with signed_house(free_port(), on_fail="hint") as house:
        provider_id, task = fresh(house)
        assert knock(house, provider_id, OLD).status == 200
        (event,) = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
        assert (event["result"], event["source"]) == (b"polled", "poll")
        audit(house)


def test_a_new_key_is_fetched_when_it_is_met():
    """The provider signs with a key that came after the fetch. Whether it is a forgery is told by
    keys as they are then, and not before: a rotation costs a 503 and no letter."""
    port = free_port()
    with Shown(port, 200, jwks(OLD)) as shown, signed_house(port, on_fail="reject") as house:
        until_proved(house, OLD)
        shown.shown = (200, jwks(OLD, NEW))
        house.gateway.restart()  # which does not know that its keys are of this minute
        house.until_serving()
        provider_id, task = fresh(house)
        assert knock(house, provider_id, NEW).status == 503
        until(lambda: knock(house, provider_id, NEW).status == 200, SOON_S, "not taken")
        (event,) = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
        assert (event["result"], event["source"]) == (b"signed", "callback")
        assert view(house)["count"] == 2
        before = len(shown.heard)
        provider_id, task = fresh(house)
        for _ in range(5):  # a stranger's, by fresh keys; and he can't have them fetched each time
            assert knock(house, provider_id, bytes(32)).status == 401
        assert not house.events_of(task["id"])
        assert len(shown.heard) == before
        audit(house)


def test_fetched_again_when_the_time_is_over():
    port = free_port()
    with Shown(port, 200, jwks(OLD)) as shown, \
            signed_house(port, on_fail="reject", cache="1s") as house:
        until_keys(house, 1)
        shown.shown = (200, jwks(OLD, NEW))
        until_keys(house, 2)
        until_proved(house, NEW)
        shown.shown = (200, jwks(NEW))
        until_keys(house, 1)
        until_proved(house, NEW)
        audit(house)


GARBAGE = [(200, b"<html>"), (200, b'{"keys":[]}'), (500, jwks(NEW)), (404, jwks(NEW)),
           (302, jwks(NEW)), (200, b'{"keys":[' + b" " * 70000 + b"]}"), (200, b"")]


def test_what_is_no_set_of_keys_changes_nothing():
    port = free_port()
    with Shown(port, 200, jwks(OLD)) as shown, signed_house(port, cache="1s") as house:
        until_keys(house, 1)
        for answer in GARBAGE[:2]:
            shown.shown = answer
            until(lambda: view(house)["error"], SOON_S, f"not refused: {answer[:1]}")
            assert view(house)["count"] == 1
            until_proved(house, OLD)
            shown.shown = (200, jwks(OLD))
            until(lambda: view(house)["error"] == "", SOON_S, "it does not come back")
        assert any("ev=keys.refused provider=fal" in line for line in house.tracker.lines())
        audit(house)


@pytest.mark.parametrize("answer", GARBAGE, ids=range(len(GARBAGE)))
def test_garbage_at_the_start_is_no_key(answer):
    port = free_port()
    with Shown(port, *answer), signed_house(port) as house:
        until(lambda: view(house)["error"], SOON_S, "it is not refused")
        assert view(house)["count"] == 0
        assert knock(house, "77", NEW).status == 503


def test_kept_when_the_address_is_away():
    """kill -9 of both, and nobody answers at the address: what was fetched is still good. And so it
    is with the gateway alone, which has no tracker to tell it."""
    port = free_port()
    with signed_house(port) as house:
        with Shown(port, 200, jwks(OLD)):
            until_keys(house, 1)
            until(lambda: os.path.isfile(kept(house)), SOON_S, "the gateway keeps none")
        for _ in range(2):
            house.tracker.kill9()
            house.gateway.kill9()
            house.tracker.start()
            house.gateway.start()
            house.until_serving()
            assert view(house)["count"] == 1
            until_proved(house, OLD)

        provider_id, task = fresh(house)
        house.tracker.kill9()
        house.gateway.kill9()
        house.gateway.start()
        until(lambda: knock(house, provider_id, OLD).status == 200, SOON_S, "not taken")
        house.tracker.start()
        (event,) = until(lambda: house.events_of(task["id"]), SOON_S, "no event")
        assert (event["result"], event["source"]) == (b"signed", "callback")

        os.unlink(kept(house))  # and one that has lost its own is told
        house.gateway.kill9()
        house.gateway.start()
        house.until_serving()
        until_proved(house, OLD)
        audit(house)


def test_a_reload_brings_an_address():
    """Fetched without a stop; another address has keys of its own, and a file counts beside it."""
    port, other = free_port(), free_port()
    with Shown(port, 200, jwks(OLD)), Shown(other, 200, jwks(NEW)), \
            signed_house(port, providers=lambda house: {}) as house:
        for address, seed in ((port, OLD), (other, NEW)):
            house.settings["providers"] = {"fal": profile(house, address)}
            house.write_settings()
            for daemon in house.daemons.values():
                daemon.send(signal.SIGHUP)
            until_keys(house, 1)
            until_proved(house, seed)
        path = os.path.join(house.folder, "keys.json")
        with open(path, "wb") as file:
            file.write(jwks(OLD))
        house.settings["providers"] = {"fal": profile(house, other, file=path)}
        house.write_settings()
        house.gateway.send(signal.SIGHUP)
        until_proved(house, OLD)
        until_proved(house, NEW)
        audit(house)


def second_gateway(house):
    """On the same bus, with doors, spool and control of its own."""
    client, private = Client(free_port()), free_port()
    run = os.path.join(house.folder, "run2")
    os.mkdir(run, 0o700)
    own = {"RUN": run, **{name.upper(): f"ipc://{house.run}/{name}" for name in
                          ("events", "query", "jobs", "feed", "consume", "letters")}}
    house.add("second", "gateway", {
        **{f"ALDABA__BUS__{name}": value for name, value in own.items()},
        "ALDABA__GATEWAY__PUBLIC": f"127.0.0.1:{client.port}",
        "ALDABA__GATEWAY__PRIVATE": f"127.0.0.1:{private}",
        "ALDABA__GATEWAY__SPOOL": f"{house.folder}/spool2"}).start()
    return client


def test_two_gateways():
    """Each is told, also one that comes later; and a key that one of them met is fetched for both."""
    port = free_port()
    with Shown(port, 200, jwks(OLD)) as shown, signed_house(port, on_fail="reject") as house:
        until_keys(house, 1)
        second = second_gateway(house)
        until_proved(house, OLD, client=second)
        until_proved(house, OLD)
        assert len(shown.heard) == 1
        shown.shown = (200, jwks(NEW))
        house.gateway.restart()
        house.until_serving()
        until_proved(house, NEW)
        until_proved(house, NEW, client=second)
        assert len(shown.heard) == 2
        audit(house)
