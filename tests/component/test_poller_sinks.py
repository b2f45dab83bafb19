"""Posts to sinks of the settings by a poller as a real process: the test is its tracker and the
receiver."""
import base64
import os
import signal
import socket
import tempfile

import pytest
from support import bus
from support.daemon import Daemon
from support.house import binary
from support.receiver import Receiver
from support.settings import to_yaml
from support.until import until
from test_poller import SOON_S, Tracker

SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
OTHER = "whsec_QUJDREVGR0hJSktMTU5PUFFSU1RVVldY"

pytestmark = pytest.mark.skipif(not binary("aldaba-poller"), reason="no aldaba-poller is built")


class Place:
    """A tracker, a receiver and a poller with the sink `orders`."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ald-")
        self.run = os.path.join(self.folder, "run")
        os.mkdir(self.run, 0o700)
        self.receiver = Receiver(SECRET).__enter__()
        self.tracker = Tracker(self.run)
        self.path = os.path.join(self.folder, "aldaba.yaml")
        self.write()
        self.poller = Daemon("poller", [binary("aldaba-poller"), "--config", self.path], self.folder,
                             {"SINK_SECRET": SECRET, "OTHER_SECRET": OTHER})
        self.poller.start()

    def write(self, secrets=("SINK_SECRET",), **more):
        sink = {"url": f"{self.receiver.url}/in?a=1", "timeout": "2s",
                "secrets": [{"env": name} for name in secrets], **more}
        with open(self.path, "w", encoding="utf-8") as file:
            file.write(to_yaml({"bus": {"run": self.run}, "store": {"data": self.folder},
                                "sinks": {"orders": sink}}) + "\n")

    def said(self):
        return "\n".join(self.poller.lines())

    def reread(self, reloads):
        os.kill(self.poller.pid, signal.SIGHUP)
        until(lambda: self.said().count("ev=reload.done") == reloads, SOON_S, self.poller.tail)

    def push(self, seq, lease=1, sink="orders", result=b"caf\xc3\xa9", lease_ms=60000):
        event = bus.pack("event", lane=0, seq=seq, task=str(1000 + seq), provider="demo",
                         provider_id="7", state="done", result=result, result_type="text",
                         source="poll", received_ms=1, published_ms=1700000000123, deliveries=1)
        self.tracker.give("", provider="demo", first=lease, lease_ms=lease_ms, push=True, sink=sink,
                          lane=0, seq=seq, body=event)
        return until(lambda: next((o for o in self.tracker.outcomes.values() if o["lease"] == lease), None),
                     SOON_S, lambda: self.poller.tail())

    def close(self):
        self.poller.kill9()
        self.tracker.stop()
        self.receiver.__exit__()


@pytest.fixture
def place():
    place = Place()
    yield place
    place.close()


def test_example(place):
    outcome = place.push(9)
    assert (outcome["http"], outcome["sink"], outcome["seq"]) == (204, "orders", 9)
    assert outcome["push"] and outcome["answered"]
    [post] = place.receiver.posts
    assert post.genuine and post.id == "0:9" and post.path == "/in"
    assert post.headers["Content-Type"] == "application/json"
    assert post.whole["type"] == "task.done" and post.event["result"] == "café"
    assert until(lambda: place.tracker.readies, SOON_S, "no ready")[-1]["sinks"]


@pytest.mark.parametrize("said, http", [(500, 500), (410, 410), ((302, b"", {"Location": "/again"}), 302),
                                        ((503, b"", {"Retry-After": "7"}), 503), (None, 0)])
def test_what_it_says_is_reported_and_not_followed(place, said, http):
    place.receiver.say = lambda post: said
    outcome = place.push(1)
    assert outcome.get("http", 0) == http and outcome["left"]
    assert outcome.get("wait_ms", 0) == (7000 if http == 503 else 0)
    assert [post.path for post in place.receiver.posts] == ["/in"] * len(place.receiver.posts)


def test_silence_has_an_end(place):
    with socket.create_server(("127.0.0.1", 0)) as silent:
        place.write(url=f"http://127.0.0.1:{silent.getsockname()[1]}/", timeout="200ms")
        place.reread(1)
        outcome = place.push(1)
    assert outcome["left"] and not outcome.get("http") and "time" in outcome["error"]


def test_a_secret_changes_while_both_are_in_use(place):
    place.push(1)
    place.write(secrets=("OTHER_SECRET", "SINK_SECRET"))
    place.reread(1)
    place.push(2, lease=2)
    place.write(secrets=("OTHER_SECRET",))
    place.reread(2)
    place.push(3, lease=3)
    signed = [[post.signed_by(SECRET), post.signed_by(OTHER)] for post in place.receiver.posts]
    assert signed == [[True, False], [True, True], [False, True]]


def test_settings_of_another_age(place):
    """The tracker knows a sink that this poller does not: nothing is sent, and it is no failure of the
    sink's. And what is wrong in new settings leaves the old ones in force."""
    outcome = place.push(1, sink="newer")
    assert not outcome.get("left") and outcome["class"] == "none" and "no sink" in outcome["error"]
    place.write(secrets=("NOT_SET",))
    os.kill(place.poller.pid, signal.SIGHUP)
    until(lambda: "ev=reload.refused" in place.said(), SOON_S, place.poller.tail)
    assert "NOT_SET is not set" in place.said()
    assert place.push(2, lease=2)["http"] == 204


def test_a_large_event(place):
    outcome = place.push(1, result=b"x" * (9 << 20))
    assert outcome["http"] == 204
    [post] = place.receiver.posts
    assert post.genuine and len(post.event["result"]) == 9 << 20
    assert place.push(2, lease=2, result=b"\x01" * (9 << 20))["http"] == 204
    event = place.receiver.posts[-1].event  # as text it would be six times as long
    assert event["result"] is None and base64.b64decode(event["result_base64"]) == b"\x01" * (9 << 20)


def test_secrets_are_never_said(place):
    place.receiver.say = lambda post: 500
    place.push(1)
    assert "MfKQ9r8G" not in place.said() and "?a=1" not in place.said()
