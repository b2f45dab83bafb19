"""The gateway as a real process. The test is its tracker, on `events`, `query` and `consume`, and
its dlq, on `letters`; and it is the providers, the users, and the strangers."""
import base64
import contextlib
import hashlib
import hmac
import http.client
import json
import os
import shutil
import signal
import socket
import tempfile
import threading
import time

import pytest
import zmq
from support import bus
from support.daemon import Daemon
from support.disk import SmallDisk, may_mount
from support.house import binary
from support.http import Client
from support.settings import merge, to_yaml
from support.until import passes, stays, until

SOON_S = 15
KEY = bytes([1]) + bytes(range(32))
MAX_BODY = 64 * 1024
PROFILES = {
    "two": {"family": "inphp", "poll": "none", "callback": {
        "trust": "token", "max_body": f"{MAX_BODY // 1024}KiB",
        "verification_file": {"path": "/2captcha.txt", "content": "abc123"}}},
    "lan": {"family": "inphp", "poll": "none", "callback": {
        "trust": "id", "auth": {"source_ips": ["127.0.0.1"]}}},
    "wan": {"family": "inphp", "poll": "none", "callback": {
        "trust": "id", "auth": {"source_ips": ["203.0.113.9"]}, "quota_count": 5}},
}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


def token(task, provider="two", key=KEY, attempt=1):
    facts = key[:1] + task.to_bytes(7, "big") + bytes([attempt])
    mac = hmac.new(key[1:], provider.encode() + b"\0" + facts, hashlib.sha256).digest()[:16]
    return base64.urlsafe_b64encode(facts + mac).decode().rstrip("=")


def url(task, provider="two"):
    return f"/cb/{provider}/{token(task, provider)}"


class Neighbour:
    """A ROUTER that answers each message by a function of its own, on a thread of its own."""

    def __init__(self, run, channel):
        self.ending = threading.Event()
        self.paused = threading.Event()
        self.still = threading.Event()
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(f"ipc://{run}/{channel}")
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()

    def serve(self):
        while not self.ending.is_set():
            if not self.paused.is_set() and self.socket.poll(5):
                who, *frames = self.socket.recv_multipart()
                for answer in self.hear(frames):
                    self.socket.send_multipart([who, *answer])
            elif self.paused.is_set():
                self.still.set()
                self.ending.wait(0.005)

    def pause(self):
        """From its return on nothing is heard."""
        self.still.clear()
        self.paused.set()
        assert self.still.wait(SOON_S)

    def resume(self):
        self.paused.clear()

    def hear(self, frames):
        raise NotImplementedError

    def close(self):
        self.ending.set()
        self.thread.join()
        self.socket.close()


class Tracker(Neighbour):
    """`events`: welcomes, keeps what it is told, and acknowledges as `judge` says (None: not)."""

    def __init__(self, run, instance="T1", keys=KEY):
        self.instance = instance
        self.keys = keys
        self.judge = lambda item: "applied"
        self.items = []
        self.heads = []
        self.hellos = []
        self.number, self.jwks = 1, []  # of providers' public keys, and these
        super().__init__(run, "events")

    def hear(self, frames):
        head, *items = [bus.unpack(frame) for frame in frames]
        if head["k"] == "hello":
            self.hellos.append(head)
            more = self.jwks if head.get("jwks", self.number) != self.number else []
            return [[bus.pack("welcome", instance=self.instance, max_item=1 << 26,
                              keys=self.keys, jwks=self.number), *more]]
        assert head["k"] == "batch", head
        self.heads.append(head)
        answer = [bus.pack("acks", instance=self.instance, batch=head["batch"])]
        for item in items:
            self.items.append(item)
            disposition = self.judge(item)
            if disposition:
                answer.append(bus.pack("ack", num=item["num"], disposition=disposition))
        return [answer]

    def tasks(self):
        return [int(item.get("task") or 0) for item in self.items]


class Desk(Neighbour):
    """`query`, `consume` or `letters`: `answers` maps a kind to a function of the question that
    returns the frames of the answer after its head; it may set words of the head in `head`, and
    finds the frames behind the question in `behind`."""

    def __init__(self, run, channel, **answers):
        self.answers = answers
        self.asked = []
        self.behind = []
        self.head = {}
        super().__init__(run, channel)

    def hear(self, frames):
        ask = bus.unpack(frames[0])
        self.asked.append(ask)
        self.behind = [bus.unpack(frame) for frame in frames[1:]]
        self.head = {"rc": "ok"}
        answer = self.answers[ask["k"].replace(".", "_")](ask)
        if answer is None:
            return []
        kind = "events" if ask["k"] in ("fetch", "consumer.pull") else "answer"
        return [[bus.pack(kind, req=ask["req"], **self.head), *answer]]


class Gate:
    """The gateway in a folder of its own. settings are laid over the common ones."""

    def __init__(self, folder=None, **settings):
        self.own = folder is None
        self.folder = folder or tempfile.mkdtemp(prefix="ald-")
        self.run = os.path.join(self.folder, "run")
        self.spool = os.path.join(self.folder, "spool")
        os.makedirs(self.run, mode=0o700, exist_ok=True)
        base = {
            "bus": {"run": self.run},
            "store": {"data": self.folder},
            "gateway": {"public": "127.0.0.1:0", "private": "127.0.0.1:0", "spool": self.spool,
                        "threads": 16, "api_threads": 8, "api_waiters": 3,
                        "default_provider": "lan", "request_timeout": "1s"},
            "providers": PROFILES,
        }
        self.config = os.path.join(self.folder, "gateway.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(to_yaml(merge(base, settings)) + "\n")
        self.daemon = Daemon("gateway", [binary("aldaba-gateway"), "--config", self.config],
                             self.folder, {"ASAN_OPTIONS": "quarantine_size_mb=4"})
        self.neighbours = []

    def __enter__(self):
        return self

    def __exit__(self, kind, *_):
        for neighbour in self.neighbours:
            neighbour.close()
        self.daemon.clean()
        if kind is not None:
            print(self.daemon.tail())
        if self.own:
            shutil.rmtree(self.folder, ignore_errors=True)

    def tracker(self, kind=Tracker, **more):
        self.neighbours.append(kind(self.run, **more))
        return self.neighbours[-1]

    def desk(self, channel, **answers):
        self.neighbours.append(Desk(self.run, channel, **answers))
        return self.neighbours[-1]

    def gone(self, neighbour):
        self.neighbours.remove(neighbour)
        neighbour.close()

    def start(self, ready=True):
        self.daemon.start()
        self.public = Client(int(self.daemon.facts["public"]))
        self.private = Client(int(self.daemon.facts["private"]))
        if ready:
            until(self.ready, SOON_S, "the gateway does not become ready")
        return self

    def ready(self):
        return self.private.get("/readyz").status == 200

    def status(self):
        return self.private.get("/v1/status").json()

    def gateway_books(self):
        return self.metrics_of("aldaba_gateway_callbacks_total")

    def metrics_of(self, name):
        """{result: value} of our own metric."""
        found = {}
        for line in self.private.get("/metrics").text.splitlines():
            if line.startswith(name + "{") and 'svc="gateway"' in line:
                labels, _, value = line[len(name) + 1:].rpartition("} ")
                words = dict(word.split("=") for word in labels.split(","))
                found[words.get("result", '""').strip('"')] = float(value)
        return found

    def spooled(self):
        """Items in the spool, by the gauge."""
        return self.metrics_of("aldaba_gateway_spool_items").get("", 0)

    def until_spooled(self, count):
        until(lambda: self.spooled() == count, SOON_S, lambda: f"{self.spooled()} in the spool")


@contextlib.contextmanager
def welcomed(**settings):
    with Gate(**settings) as gate:
        tracker = gate.tracker()
        gate.start()
        until(lambda: tracker.hellos, SOON_S, "no hello")
        yield gate, tracker


def test_example():
    with welcomed() as (gate, tracker):
        answer = gate.public.request("POST", url(7) + "?a=1", b"id=5&code=x", FORM)
        assert (answer.status, answer.body) == (200, b"OK")
        item = tracker.items[0]
        assert item["k"] == "callback"
        assert (item["task"], item["attempt"], item["proof"]) == ("7", 1, "token")
        assert (item["query"], item["body"]) == (b"a=1", b"id=5&code=x")
        assert (item["path"], item["method"]) == ("/cb/two/{token}", "POST")
        assert item["peer"] == "127.0.0.1"
        assert token(7) not in repr(tracker.items)


# ---- the door ----

def test_ways_to_knock():
    big = b"x" * MAX_BODY
    with welcomed() as (gate, tracker):
        door = gate.public
        assert door.get(url(1) + "/?id=1&code=a+b").status == 200
        assert door.request("PUT", url(2), b"abc").status == 200
        assert door.request("POST", url(3), iter([b"ab", b"cd"])).status == 200  # chunked
        assert door.request("POST", url(4), big).status == 200
        assert door.get(url(5) + "?code=" + "y" * 250_000).status == 200
        assert door.get("/callback?id=6&code=ok").status == 200
        assert door.get("/callback/wan?id=6&code=ok").status == 200
        assert door.get("/2captcha.txt").text == "abc123"
        items = tracker.items
        assert items[0]["query"] == b"id=1&code=a+b"
        assert [item.get("body") for item in items[1:4]] == [b"abc", b"abcd", big]
        assert len(items[4]["query"]) == 250_005
        assert [item["proof"] for item in items[5:]] == ["id", "none"]
        numbers = [item["num"] for item in items]
        assert len(set(numbers)) == len(numbers)


@pytest.mark.parametrize("method, path, status", [
    ("GET", "/cb/two/" + "A" * 34, 404), ("GET", url(1) + "x", 404), ("GET", url(1, "lan"), 200),
    ("GET", url(1).replace("/two/", "/lan/"), 404), ("HEAD", url(1), 405),
    ("DELETE", url(1), 405), ("OPTIONS", url(1), 405), ("GET", "/", 404),
    ("GET", "/callback/nobody?id=1", 404), ("GET", "/callback/lan/..%2f?id=1", 404),
    ("GET", "/callback/../callback?id=1", 404), ("GET", "/v1/tasks", 404),
    ("GET", "/callback?code=x", 400), ("GET", "/callback?id=12%0034&code=x", 400),
    ("GET", "/callback?id=5%0a&code=x", 400), ("GET", "/callback?id=..%2f..%2fetc&code=x", 200), ("POST", "/2captcha.txt", 405),
])
def test_refused_and_not_stored(house_of_the_file, method, path, status):
    gate, tracker = house_of_the_file
    before = len(tracker.items)
    assert gate.public.request(method, path).status == status
    assert len(tracker.items) == before + (status == 200)


def test_a_provider_that_nobody_knows_is_told_of(house_of_the_file):
    """A name mistyped in a provider's settings is not an attack: it has its own count, and the log
    names it, once in a while."""
    gate, _ = house_of_the_file
    before = gate.gateway_books()
    for _ in range(3):
        assert gate.public.get("/callback/mistyped", id=1, code="x").status == 404
    assert gate.public.get("/cb/two/forged").status == 404
    now = gate.gateway_books()
    assert [now[key] - before[key] for key in ("no_profile", "forged")] == [3, 1]
    told = [line for line in gate.daemon.lines() if "ev=callback.no_profile" in line]
    assert len(told) == 1 and "level=warn" in told[0], told


@pytest.fixture(scope="module")
def house_of_the_file():
    with welcomed() as pair:
        yield pair


def test_malformed_on_a_genuine_token_is_stored(house_of_the_file):
    gate, tracker = house_of_the_file
    before = len(tracker.items)
    assert gate.public.get(url(1) + "?id=12%0034").status == 200
    assert gate.public.request("POST", url(1), b'{"id":', {
        "Content-Type": "application/json"}).status == 200
    assert [item["fault"] for item in tracker.items[before:]] == ["malformed", "malformed"]


def test_too_large_is_told_and_refused(house_of_the_file):
    gate, tracker = house_of_the_file
    before = len(tracker.items)
    assert gate.public.request("POST", url(9), b"x" * (MAX_BODY + 1)).status == 413
    assert gate.public.request("POST", url(9), iter([b"x" * MAX_BODY, b"y"])).status == 413
    told = tracker.items[before:]
    assert [(item["fault"], item["task"]) for item in told] == [("oversized", "9")] * 2
    assert not any("body" in item for item in told)
    assert gate.public.request("POST", "/callback/wan?id=1", b"x" * (5 << 20)).status == 413
    assert len(tracker.items) == before + 2


def head_of(path, *lines, method="POST"):
    return "\r\n".join([f"{method} {path} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


@pytest.mark.parametrize("lines, body, status", [
    (["Content-Length: 3", "Transfer-Encoding: chunked"], b"0\r\n\r\n", 400),
    (["Content-Length: 3", "Content-Length: 3"], b"abc", 400),
    (["Content-Length: 3abc"], b"abc", 400),
    (["Content-Length: +3"], b"abc", 400),
    (["Transfer-Encoding: gzip"], b"", 400),
    (["Content-Length: 100"], b"abc", None),  # truncated: no answer at all
    (["Transfer-Encoding: chunked"], b"5\r\nab", None),
    (["Transfer-Encoding: chunked"], b"zz\r\nab\r\n", None),
    (["Content-Length: 3"], b"abc", 200),
    (["Content-Length: 3", "Expect: 100-continue"], b"abc", 200),
    (["Transfer-Encoding: chunked"], b"3\r\nabc\r\n0\r\n\r\n", 200),
])
def test_framing(house_of_the_file, lines, body, status):
    gate, tracker = house_of_the_file
    before = len(tracker.items)
    half = status is None
    assert gate.public.raw_status(head_of(url(1), *lines) + body, half_close=half) == status
    assert len(tracker.items) == before + (status == 200)


def test_bytes_behind_the_body_are_the_next_request(house_of_the_file):
    gate, tracker = house_of_the_file
    before = len(tracker.items)
    two = head_of(url(1), "Content-Length: 1") + b"a" + head_of(url(2), "Content-Length: 1") + b"b"
    with socket.create_connection(("127.0.0.1", gate.public.port), timeout=SOON_S) as peer:
        peer.sendall(two)
        said = b""
        while said.count(b"OK") < 4:  # twice in a status line, twice as a body
            said += peer.recv(4096)
    assert tracker.tasks()[before:] == [1, 2]


def test_dripped_bodies_do_not_hold_the_door():
    with welcomed(gateway={"threads": 4, "request_timeout": "500ms"}) as (gate, tracker):
        slow = [socket.create_connection(("127.0.0.1", gate.public.port)) for _ in range(4)]
        ending = threading.Event()

        def drip():
            while not ending.wait(0.1):
                for peer in slow:
                    with contextlib.suppress(OSError):
                        peer.send(b"x")

        for peer in slow:
            peer.sendall(head_of(url(1), "Content-Length: 60000"))
        thread = threading.Thread(target=drip, daemon=True)
        thread.start()
        try:
            assert gate.public.get(url(2)).status == 200
        finally:
            ending.set()
            thread.join()
            for peer in slow:
                peer.close()
        assert tracker.tasks() == [2]
        until(lambda: gate.gateway_books().get("cut") == 4, SOON_S, "the drips were not counted")


def test_forwarded_for_counts_from_a_trusted_proxy_alone():
    with welcomed(gateway={"trusted_proxies": ["127.0.0.1"]}) as (gate, tracker):
        for claim in ("203.0.113.9", "203.0.113.9, 198.51.100.1", "127.0.0.1"):
            assert gate.public.request("GET", "/callback/wan?id=1&code=x", None,
                                       {"X-Forwarded-For": claim}).status == 200
        assert [(i["peer"], i["proof"]) for i in tracker.items] == [
            ("203.0.113.9", "id"), ("198.51.100.1", "none"), ("127.0.0.1", "none")]


# ---- acknowledgements and the spool ----

def test_refused_by_the_tracker_is_503(house_of_the_file):
    gate, tracker = house_of_the_file
    tracker.judge = lambda item: "refused"
    try:
        answer = gate.public.get("/callback?id=1&code=x")
    finally:
        tracker.judge = lambda item: "applied"
    assert answer.status == 503
    assert int(answer.headers["retry-after"]) > 0


def test_without_tracker_ever_no_token_is_believed():
    with Gate() as gate:
        gate.start(ready=False)
        assert gate.private.get("/readyz").status == 503
        assert gate.private.get("/healthz").status == 200
        assert gate.public.get(url(1)).status == 503
        assert gate.public.get("/callback?id=1&code=x").status == 200  # spooled


class Slow(Tracker):
    """Takes what was spooled as soon as a callback has come that was not, which it keeps waiting."""

    def __init__(self, run, instance):
        self.fresh = threading.Event()
        self.drained = []  # of each batch since: how many came for the first time
        self.known = set()
        self.all = threading.Event()
        super().__init__(run, instance)

    def takes(self, item):
        return "applied" if self.all.is_set() or (self.fresh.is_set() and item.get("spooled")) else None

    def hear(self, frames):
        self.judge = self.takes
        items = [bus.unpack(frame) for frame in frames[1:]]
        if any(not item.get("spooled") for item in items):
            self.fresh.set()
        new = {item["num"] for item in items if item.get("spooled")} - self.known
        self.known |= new
        if self.fresh.is_set():
            self.drained.append(len(new))
        return super().hear(frames)


def test_less_is_drained_at_once_while_a_callback_waits():
    with welcomed(gateway={"ack_min": "10s", "ack_max": "10s", "resend_after": "60s"}) as (gate, tracker):
        gate.gone(tracker)
        for task in range(1, 601):
            assert gate.public.get(url(task)).status == 200
        gate.until_spooled(600)
        slow = gate.tracker(Slow, instance="T2")
        until(lambda: len(slow.known) == 256, SOON_S, lambda: f"{len(slow.known)} at once while nothing waits")
        waits = threading.Thread(target=gate.public.get, args=(url(1000),))
        waits.start()
        until(lambda: len(slow.known) == 600, SOON_S, lambda: f"{len(slow.known)} of 600")
        assert max(slow.drained) <= 64, slow.drained
        slow.all.set()
        waits.join()


def test_spooled_while_the_tracker_is_away_and_drained():
    with welcomed() as (gate, tracker):
        assert gate.public.get(url(1)).status == 200
        gate.gone(tracker)
        for task in range(2, 12):
            assert gate.public.get(url(task)).status == 200
        gate.until_spooled(10)
        again = gate.tracker(instance="T2")
        until(lambda: len(again.items) == 10, SOON_S, lambda: f"drained: {again.tasks()}")
        assert again.tasks() == list(range(2, 12))
        assert all(item["spooled"] for item in again.items)
        gate.until_spooled(0)
        hello = again.hellos[0]
        assert hello["spool_items"] == 10 and hello["spool_oldest_ms"] > 0
        assert hello["floor"] <= min(item["num"] for item in again.items)
        assert gate.public.get(url(99)).status == 200
        until(lambda: again.heads[-1].get("spool_items", 0) == 0, SOON_S, "still tells a backlog")
        assert again.heads[-1]["floor"] > max(item["num"] for item in again.items[:10]), again.heads[-1]
        counts = gate.gateway_books()
        assert (counts["acknowledged"], counts["spooled"], counts["answered"]) == (2, 10, 12)


def test_killed_with_a_spool_and_started_without_tracker():
    with welcomed() as (gate, tracker):
        gate.gone(tracker)
        sent = list(range(1, 6))
        for task in sent:
            assert gate.public.get(url(task)).status == 200
        gate.daemon.kill9()
        gate.start(ready=False)  # it remembers the keys and can write its spool
        assert gate.ready()  # from the first moment
        assert gate.public.get(url(6)).status == 200
        again = gate.tracker(instance="T2")
        until(lambda: sorted(again.tasks()) == [*sent, 6], SOON_S, lambda: str(again.tasks()))
        numbers = [item["num"] for item in again.items]
        assert len(set(numbers)) == 6
        mode = os.stat(os.path.join(gate.spool, "callback.keys")).st_mode
        assert mode & 0o777 == 0o600


def test_late_acknowledgement_takes_it_out_of_the_spool():
    with welcomed(gateway={"ack_min": "50ms", "ack_max": "100ms"}) as (gate, tracker):
        tracker.pause()
        assert gate.public.get(url(1)).status == 200
        gate.until_spooled(1)
        tracker.resume()
        gate.until_spooled(0)
        assert tracker.tasks() == [1]  # and it was not sent twice


def test_sent_again_after_resend_after_on_a_live_connection():
    with welcomed(gateway={"ack_min": "50ms", "ack_max": "100ms",
                           "resend_after": "500ms"}) as (gate, tracker):
        silent = [True]
        tracker.judge = lambda item: None if silent[0] else "applied"
        assert gate.public.get(url(1)).status == 200
        gate.until_spooled(1)
        silent[0] = False
        gate.until_spooled(0)
        assert tracker.items[-1]["spooled"]
        assert len({item["num"] for item in tracker.items}) == 1


def test_refused_from_the_spool_stays_and_is_tried_again():
    with welcomed() as (gate, tracker):
        gate.gone(tracker)
        assert gate.public.get(url(1)).status == 200
        gate.until_spooled(1)
        again = gate.tracker(instance="T2")
        again.judge = lambda item: "refused" if len(again.items) < 2 else "applied"
        gate.until_spooled(0)
        assert len(again.items) == 2


def test_quota_of_unproven_arrivals_while_the_tracker_is_away():
    with welcomed() as (gate, tracker):
        gate.gone(tracker)
        until(lambda: gate.public.get("/callback/wan?id=1&code=x").status == 503, SOON_S,
              "strangers fill the spool")
        gate.until_spooled(5)
        assert gate.public.get(url(1)).status == 200  # proven ones have their place
        again = gate.tracker(instance="T2")
        until(lambda: len(again.items) >= 6 and gate.spooled() == 0, SOON_S, "not drained")
        gate.gone(again)
        assert gate.public.get("/callback/wan?id=1&code=x").status == 200  # there is room again


def test_one_network_does_not_fill_the_spool():
    """Rule 6: a tenth of a profile's quota, while there is room for others and for the proven."""
    door = {"trusted_proxies": ["127.0.0.1"], "ack_min": "50ms", "ack_max": "100ms"}
    with welcomed(gateway=door, providers={"wan": {"callback": {"quota_count": 200}}}) as (
            gate, tracker):
        def knock(number, peer):
            return gate.public.request("GET", f"/callback/wan?id={number}&code=x",
                                       headers={"X-Forwarded-For": peer}).status

        gate.gone(tracker)
        answers = [knock(number, f"192.0.2.{number}") for number in range(1, 31)]
        until(lambda: gate.spooled() >= 20, SOON_S, "nothing is spooled")
        assert answers.count(200) == 20 and answers[-1] == 503, answers
        assert knock(99, "198.51.100.1") == 200
        assert gate.public.get(url(1)).status == 200
        again = gate.tracker(instance="T2")
        until(lambda: len(again.items) >= 22 and gate.spooled() == 0, SOON_S, "not drained")
        gate.gone(again)
        assert knock(31, "192.0.2.1") == 200


def test_intake_memory_is_bounded():
    with welcomed(gateway={"intake_memory": "1MiB", "max_body": "1MiB"},
                  providers={"two": {"callback": {"max_body": "4MiB"}}}) as (gate, tracker):
        assert gate.public.request("POST", url(1), b"x" * (2 << 20)).status == 503
        for task in range(2, 8):
            assert gate.public.request("POST", url(task), b"x" * 900_000).status == 200
        stored = [int(item["task"]) for item in tracker.items if not item.get("fault")]
        assert stored == list(range(2, 8))


def hints(tracker):
    return [(item["provider"], item["task"], item["attempt"], item["proof"])
            for item in tracker.items if item.get("fault") == "unstored"]


def test_what_was_turned_away_is_told_to_the_tracker():
    """Rule 21: the task of a 503, once, as soon as the tracker listens; nothing of a stranger's."""
    with welcomed(gateway={"spool_max": "1MiB", "intake_memory": "1MiB", "max_body": "1MiB"},
                  providers={"two": {"callback": {"max_body": "4MiB"}}}) as (gate, tracker):
        assert gate.public.request("POST", url(1), b"x" * (2 << 20)).status == 503
        until(lambda: hints(tracker), SOON_S, "the tracker hears nothing")
        gate.gone(tracker)
        big = b"x" * 600_000
        until(lambda: gate.public.request("POST", url(2), big).status == 503, SOON_S,
              "the spool has no bound")
        for task in (3, 3, 4):
            assert gate.public.request("POST", url(task), big).status == 503
        assert gate.public.request("POST", "/callback/wan?id=9&code=x", big).status == 503
        assert len(hints(tracker)) == 1
        again = gate.tracker(instance="T2")
        again.judge = lambda item: None  # silent: what it has not acknowledged is told again
        told = {("two", str(task), 1, "token") for task in (2, 3, 4)}
        until(lambda: set(hints(again)) == told, SOON_S, "the tracker hears nothing")
        again.judge = lambda item: "progress"
        until(lambda: gate.metrics_of("aldaba_gateway_hints_total")["told"] == 4, SOON_S,
              lambda: f"{again.items} {gate.metrics_of('aldaba_gateway_hints_total')}"[-900:])
        assert set(hints(again)) == told


def test_numbers_rise_over_restarts():
    with welcomed() as (gate, tracker):
        def lives():
            return len({hello["instance"] for hello in tracker.hellos})

        for life in range(3):
            until(lambda: lives() == life + 1, SOON_S, "no hello")
            assert gate.public.get(url(life + 1)).status == 200
            until(lambda: len(tracker.items) == life + 1, SOON_S, "not delivered")
            gate.daemon.kill9()
            gate.start()
        until(lambda: lives() == 4, SOON_S, "no hello")
        numbers = [item["num"] for item in tracker.items]
        assert numbers == sorted(set(numbers)) and len(numbers) == 3
        assert len({hello["sender"] for hello in tracker.hellos}) == 1


def test_sigterm_drains_the_spool_or_says_where_it_lies():
    with welcomed() as (gate, tracker):
        assert gate.daemon.stop() == 0
        gate.gone(tracker)
        gate.start()
        assert gate.public.get(url(1)).status == 200
        assert gate.daemon.stop() == 75
        assert gate.spool in "\n".join(gate.daemon.lines())


def test_a_stop_with_a_delay_is_announced_and_takes_callbacks():
    with welcomed(gateway={"stop_delay": "2s"}) as (gate, tracker):
        assert "connection" not in gate.public.get(url(1)).headers
        gate.daemon.send(signal.SIGTERM)
        until(lambda: not gate.ready(), SOON_S, "it says that it is ready")
        answer = gate.public.get(url(2))
        assert (answer.status, answer.headers["connection"]) == (200, "close")
        assert gate.private.get("/healthz").status == 200
        assert gate.daemon.alive() and gate.daemon.wait() == 0
        assert [item["task"] for item in tracker.items] == ["1", "2"]


def test_a_stop_without_a_delay_waits_for_nobody():
    with welcomed() as (gate, _), socket.create_connection(("127.0.0.1", gate.public.port)):
        begun = time.monotonic()
        assert gate.daemon.stop() == 0
        assert time.monotonic() - begun < 4


def test_sigterm_answers_what_is_under_way():
    with welcomed(gateway={"ack_min": "700ms"}) as (gate, tracker):
        tracker.pause()
        statuses = []
        thread = threading.Thread(
            target=lambda: statuses.append(gate.public.get(url(1)).status), daemon=True)
        thread.start()
        until(lambda: gate.metrics_of("aldaba_gateway_under_way").get("") == 1, SOON_S, "no item")
        gate.daemon.send(signal.SIGTERM)
        tracker.resume()
        thread.join(SOON_S)
        assert statuses == [200]
        assert gate.daemon.wait() == 0


@pytest.mark.skipif(not may_mount(), reason="needs root to mount a small disk")
def test_a_full_disk_is_503_and_recovers():
    folder = tempfile.mkdtemp(prefix="ald-")
    try:
        with SmallDisk(os.path.join(folder, "disk"), 12 * 1024) as disk, \
                Gate(folder, gateway={"spool": os.path.join(disk.path, "spool")}) as gate:
            tracker = gate.tracker()
            gate.start()
            gate.gone(tracker)
            sent = 0
            while gate.public.request("POST", url(sent + 1), b"x" * 60_000).status == 200:
                sent += 1
                assert sent < 1000
            assert sent > 10
            again = gate.tracker(instance="T2")
            until(lambda: set(again.tasks()) == set(range(1, sent + 2)), SOON_S,
                  lambda: f"{len(again.items)}")
            assert hints(again)[0][1] == str(sent + 1), "the one that was refused"
            until(lambda: gate.public.get(url(5000)).status == 200, SOON_S, "does not recover")
            gate.until_spooled(0)
    finally:
        shutil.rmtree(folder, ignore_errors=True)


# ---- the API ----

TASK = {"task": "17", "provider": "two", "provider_id": "", "state": "pending", "created_at_ms": 5,
        "token": "TOK"}


def test_tasks_are_made_and_shown():
    with Gate() as gate:
        gate.tracker()
        made = [bus.pack("task", **TASK)]
        desk = gate.desk("query", register=lambda ask: made, get=lambda ask: [
            *made, bus.pack("note", at_ms=6, what="created", text="by a test")],
            list=lambda ask: made, attach=lambda ask: made, cancel=lambda ask: made)
        gate.start()
        answer = gate.private.post_json("/v1/tasks", {
            "provider": "two", "meta": "m", "stale_after": "45s"}, {"Idempotency-Key": "k1"})
        assert answer.status == 202
        said = answer.json()
        assert (said["id"], said["state"]) == ("17", "pending")
        assert said["callback_url"] == f"http://127.0.0.1:{gate.public.port}/cb/two/TOK"
        ask = desk.asked[-1]
        assert (ask["key"], ask["meta"], ask["stale_after_ms"]) == ("k1", "m", 45000)
        assert len(ask["digest"]) == 64
        task = gate.private.get("/v1/tasks/17").json()
        assert task["timeline"] == [{"at_ms": 6, "what": "created", "text": "by a test"}]
        attached = gate.private.post_json("/v1/tasks/17/attach", {"provider_id": "9"})
        assert attached.status == 200 and attached.json()["timeline"] == task["timeline"]
        assert desk.asked[-2]["provider_id"] == "9"
        assert gate.private.post_json("/v1/tasks/17/cancel", {}).status == 200
        page = gate.private.get("/v1/tasks", state="pending", q="a b", limit=7).json()
        assert [one["id"] for one in page["tasks"]] == ["17"]
        assert (desk.asked[-1]["q"], desk.asked[-1]["limit"]) == ("a b", 7)


def test_results_are_shown_raw_and_in_json():
    with Gate() as gate:
        gate.tracker()
        task = {**TASK, "state": "done", "token": ""}
        results = {"1": (b"Kj\xe6r", False), "2": (b'{"a": [20180814033130818988]}', True),
                   "3": ("ü".encode(), False)}

        def get(ask):
            result, is_json = results[ask["task"]]
            return [bus.pack("task", **{**task, "result": result, "result_json": is_json})]

        gate.desk("query", get=get)
        gate.start()
        assert gate.private.get("/v1/tasks/1/result").body == b"Kj\xe6r"
        one = gate.private.get("/v1/tasks/1").json()
        assert one["result"] is None and base64.b64decode(one["result_base64"]) == b"Kj\xe6r"
        assert gate.private.get("/v1/tasks/2").json()["result"] == {"a": [20180814033130818988]}
        assert gate.private.get("/v1/tasks/3").json()["result"] == "ü"


@pytest.mark.parametrize("word, status", [
    ("exists", 200), ("notfound", 400), ("invalid", 400), ("conflict", 422), ("busy", 503),
    ("gone", 410), ("full", 503), ("io", 503)])  # notfound: there is no such provider
def test_what_the_tracker_says_is_a_status(word, status):
    with Gate() as gate:
        def register(ask):
            desk.head = {"rc": word, "detail": "a sentence"}
            return [bus.pack("task", **TASK)] if word == "exists" else []

        desk = gate.desk("query", register=register, get=lambda _: [bus.pack("task", **TASK)])
        gate.tracker()
        gate.start()
        answer = gate.private.post_json("/v1/tasks", {"provider": "two", "provider_id": "1"})
        assert answer.status == status
        if status != 200:
            assert answer.headers["content-type"] == "application/problem+json"
            problem = answer.json()
            assert (problem["status"], problem["detail"]) == (status, "a sentence")


@pytest.mark.parametrize("value, status, word", [
    ({"provider": "two", "params": 1}, 400, "params"),
    ({}, 400, "provider"), ([], 400, "object"), ({"provider": "two", "x": 1}, 400, "x"),
    ({"provider": "p" * 40}, 400, "longer"), ({"provider": "two", "stale_after": 5}, 400, "45s"),
    ({"provider": "two", "meta": "m" * 1025}, 400, "longer")])
def test_wrong_requests_are_problems(house_of_the_file, value, status, word):
    gate, _ = house_of_the_file
    answer = gate.private.post_json("/v1/tasks", value)
    assert (answer.status, word in answer.json()["detail"]) == (status, True), answer


def test_pages_of_other_sites_are_refused(house_of_the_file):
    gate, _ = house_of_the_file
    answer = gate.private.post_json("/v1/tasks", {"provider": "two"}, {"Origin": "http://evil"})
    assert answer.status == 403
    assert gate.private.request("GET", "/v1/status", None, {"Host": "evil.test"}).status == 403
    for method, target, allow in (("OPTIONS", "/v1/tasks", "POST, GET"),
                                  ("POST", "/v1/status", "GET")):
        answer = gate.private.request(method, target)
        assert (answer.status, answer.headers["content-type"]) == (405, "application/problem+json")
        assert sorted(answer.headers["allow"].split(", ")) == sorted(allow.split(", "))
        assert (answer.json()["status"], "Allow" in answer.json()["detail"]) == (405, True)
    assert gate.private.request("GET", "/v1/nothing").status == 404


def test_a_daemon_that_is_away_or_silent():
    with Gate() as gate:
        gate.start(ready=False)
        assert gate.private.get("/v1/tasks/17").status == 503
        assert gate.private.get("/v1/dead-letters").status == 503
        assert set(gate.status()["away"]) == {"tracker", "dlq"}
        gate.desk("query", get=lambda ask: None)
        until(lambda: gate.private.get("/v1/tasks/17").status == 504, 30, "no 504")


def test_a_tracker_that_never_answers_is_told_once():
    def told(word):
        return [line for line in gate.daemon.lines() if f" ev=courier.{word} " in line]

    with Gate() as gate:
        gate.start(ready=False)
        until(lambda: told("unmet"), SOON_S, "the log says nothing")
        assert "/events text=" in told("unmet")[0], told("unmet")
        gate.tracker()
        until(lambda: told("back"), SOON_S, "it is not met")
        assert len(told("unmet")) == 1 and not told("away")


@pytest.mark.parametrize("rc, word", [("ok", "withdrawn"), ("exists", "may have been"),
                                      ("notfound", "no such task now")])
def test_a_submission_that_nobody_hears_of_is_withdrawn(rc, word):
    """Rule 22: without a key who asks again would buy again."""
    with Gate() as gate:
        gate.tracker()
        asked = []

        def register(ask):
            asked.append(ask)

        def withdraw(ask):
            asked.append(ask)
            desk.head["rc"] = rc
            return []

        desk = gate.desk("query", register=register, withdraw=withdraw)
        gate.start()
        answer = gate.private.post_json("/v1/tasks", {"provider": "two", "params": {"a": 0.00085}})
        assert (answer.status, word in answer.json()["detail"]) == (504, True), answer
        first, second = asked
        assert first["submission"] == b'{"params":{"a": 0.00085}}'
        assert first["ticket"] == second["ticket"] and first["valid_until_ms"] > 0
        if rc != "ok":
            return
        key = {"Idempotency-Key": "k"}
        answer = gate.private.post_json("/v1/tasks", {"provider": "two", "params": {}}, key)
        assert answer.status == 504 and len(asked) == 3, "with a key it stays"
        assert not asked[2].get("valid_until_ms")


def test_tokens_guard_the_api():
    with Gate(gateway={"tokens": [{"env": "ALD_TEST_TOKEN"}]}) as gate:
        gate.daemon.env["ALD_TEST_TOKEN"] = "a-long-secret"
        gate.start(ready=False)
        ask = gate.private.request
        assert ask("GET", "/v1/status").status == 401
        assert ask("GET", "/v1/status", None, {"Authorization": "Bearer a-long-secre"}).status == 401
        assert ask("GET", "/v1/status", None, {"Authorization": "Bearer a-long-secret"}).status == 200
        assert ask("GET", "/healthz").status == 200


def test_waits_are_capped_and_then_answered_at_once():
    with Gate() as gate:
        gate.tracker()
        waits = []

        def get(ask):
            waits.append(ask.get("wait_ms", 0))
            return None if ask.get("wait_ms") else [bus.pack("task", **TASK)]

        gate.desk("query", get=get)
        gate.start()
        def wait():
            with contextlib.suppress(OSError, http.client.HTTPException):  # it may outlive the gate
                gate.private.get("/v1/tasks/17?wait=3")

        threads = [threading.Thread(target=wait, daemon=True) for _ in range(3)]
        for thread in threads:
            thread.start()
        until(lambda: waits == [3000] * 3, SOON_S, lambda: str(waits))
        assert gate.private.get("/v1/tasks/17?wait=3").status == 200
        assert waits[-1] == 0
        assert gate.private.get("/healthz").status == 200
        answer = gate.private.get("/v1/events")
        assert answer.status == 503 and answer.headers["retry-after"]


def event(seq, **more):
    return bus.pack("event", lane=0, seq=seq, task="17", provider="two", state="done",
                    result=b"R", result_type="text", source="callback", received_ms=1,
                    published_ms=2, **more)


def test_events_stream():
    with Gate() as gate:
        gate.tracker()
        feed = [1, 2]

        def fetch(ask):
            after = int(ask["after"].partition(":")[2] or 0)
            found = [seq for seq in feed if seq > after]
            if not found:
                passes(0.02)
            head = f"0:{max([after, *found])}"
            desk.head = {"rc": "ok", "position": head, "head": head}
            return [event(seq) for seq in found]

        desk = gate.desk("consume", fetch=fetch)
        gate.start()
        with socket.create_connection(("127.0.0.1", gate.private.port), timeout=SOON_S) as peer:
            peer.sendall(b"GET /v1/events?after=0:0&provider=two HTTP/1.1\r\nHost: localhost\r\n\r\n")
            said = b""

            def heard(what):
                nonlocal said
                while what not in said:
                    more = peer.recv(4096)
                    assert more, said
                    said += more
                return True

            heard(b"id: 0:2\n")
            feed.append(3)
            heard(b"id: 0:3\n")
            assert b"text/event-stream" in said
            data = [line for line in said.split(b"\n") if line.startswith(b"data: ")][0]
            assert json.loads(data[6:])["result"] == "R"
            assert desk.asked[0]["provider"] == "two"
            gate.daemon.send(signal.SIGTERM)
            while peer.recv(4096):
                pass
        assert gate.daemon.wait() == 0


def test_dead_letters():
    with Gate() as gate:
        gate.tracker()
        original = bus.pack("callback", num=1, provider="two", proof="none", method="GET",
                            query=b"id=%zz", received_at_ms=5)
        view = {"letter": "01JLETTER0000000000000000X", "reason": "conflict", "state": "open",
                "provider": "two", "made_at_ms": 4, "attempts": 1}
        one = [bus.pack("letter.view", **view)]
        desk = gate.desk("letters", letters=lambda ask: one, letter_show=lambda ask: [
            bus.pack("letter.view", **view, original=original),
            bus.pack("attempt", attempt=1, at_ms=9, by="schedule", outcome="still")],
            letter_replay=lambda ask: one, letter_drop=lambda ask: one)
        gate.start()
        page = gate.private.get("/v1/dead-letters", reason="conflict").json()
        assert [letter["id"] for letter in page["letters"]] == [view["letter"]]
        shown = gate.private.get(f"/v1/dead-letters/{view['letter']}").json()
        assert shown["original"]["query"] == "id=%zz"
        assert shown["history"][0]["by"] == "schedule"
        assert gate.private.post_json(f"/v1/dead-letters/{view['letter']}/replay",
                                      {"believe": True}).status == 200
        assert desk.asked[-1]["believe"] is True
        assert gate.private.request("DELETE", f"/v1/dead-letters/{view['letter']}").status == 200
        assert desk.asked[-1]["k"] == "letter.drop"


LETTER = "01JLETTER0000000000000000"


def letters_of(page):
    return [(letter["id"][-1], letter["outcome"]) for letter in page["letters"]]


def letter_views(names, ask, **more):
    """Those of the names that lie below the cursor."""
    return [bus.pack("letter.view", letter=LETTER + name, reason="conflict", state="open",
                     provider="two", made_at_ms=4, **more)
            for name in names if LETTER + name < ask.get("cursor", "~")]


@pytest.mark.parametrize("method, path, kind", [
    ("POST", "/replay", "letter_replay"), ("DELETE", "", "letter_drop")])
def test_a_command_about_a_letter_on_its_way(method, path, kind):
    """It lies in the outbox, and the dlq has not heard of it: that is not "there is none"."""
    with Gate() as gate:
        gate.tracker()
        places = {"query": set(), "letters": set()}

        def known(channel):
            def answer(ask):
                if ask["letter"] in places[channel]:
                    return letter_views(["A"], {})
                desks[channel].head["rc"] = "notfound"
                return []
            return answer

        def over(ask):
            """Neither has it when asked the first time: it goes over just then."""
            places["letters"].add(LETTER + "B")
            desks["query"].head["rc"] = "notfound"
            return []

        desks = {"query": gate.desk("query", letter_show=known("query")),
                 "letters": gate.desk("letters", **{kind: known("letters")})}
        gate.start()

        def command(name):
            return gate.private.request(method, f"/v1/dead-letters/{LETTER}{name}{path}", b"", {})

        assert command("A").status == 404
        places["query"].add(LETTER + "A")
        answer = command("A")
        assert (answer.status, "on its way" in answer.json()["detail"]) == (503, True), answer
        assert int(answer.headers["retry-after"]) > 0
        places["letters"].add(LETTER + "A")
        assert command("A").status == 200
        desks["query"].answers["letter_show"] = over
        assert command("B").status == 200


@pytest.mark.parametrize("trouble", ["", "tracker", "late", "dlq"])
def test_a_backup_asks_in_order_and_leaves_no_half(trouble):
    """The dlq copies and holds, then the tracker copies, then the dlq is released."""
    with Gate() as gate:
        gate.tracker()
        told = []

        def copies(service, *names):
            def answer(ask):
                told.append((service, ask.get("hold_ms", 0) > 0, ask.get("release", False)))
                assert ask["dir"] == copy + ".partial"
                for name in () if ask.get("release") else names:
                    with open(os.path.join(ask["dir"], name), "wb") as file:
                        file.write(name.encode())
                if trouble == service or (trouble == "late" and ask.get("release")):
                    desks[service].head.update(rc="notfound" if trouble == "late" else "io",
                                               detail="Trouble.")
                return []
            return answer

        desks = {"tracker": gate.desk("query", backup=copies("tracker", "tracker.db",
                                                             "callback.key")),
                 "dlq": gate.desk("letters", backup=copies("dlq", "letters.db"))}
        gate.start()
        copy = os.path.join(gate.folder, "deep", "copy")
        missing = gate.private.post_json("/v1/backup", {"dir": copy})
        assert (missing.status, told) == (400, []), missing
        os.mkdir(os.path.dirname(copy))
        answer = gate.private.post_json("/v1/backup", {"dir": copy + "/"})
        order = [("dlq", True, False), ("tracker", False, False), ("dlq", True, True)]
        assert told == (order[:1] if trouble == "dlq" else order)
        assert os.listdir(os.path.dirname(copy)) == ([] if trouble else ["copy"])
        if trouble:
            assert (answer.status >= 400, answer.json()["detail"]) == (True, "Trouble."), answer
            return
        assert answer.status == 200, answer
        with open(os.path.join(copy, "MANIFEST"), encoding="ascii") as file:
            lines = [line for line in file.read().splitlines() if not line.startswith("#")]
        names = ["tracker.db", "letters.db", "callback.key"]
        assert lines == [f"{hashlib.sha256(name.encode()).hexdigest()}  {name}" for name in names]
        assert [(file["name"], file["bytes"]) for file in answer.json()["files"]] == [
            (name, len(name)) for name in names]
        told.clear()
        for path in ("relative", "/", copy, "/dev/null/copy", f"{gate.folder}/.",
                     f"{gate.folder}/..", f"{gate.folder}/{'long/' * 100}"):
            refused = gate.private.post_json("/v1/backup", {"dir": path})
            assert (refused.status in (400, 409), told) == (True, []), (path, refused)


def test_letters_that_wait_for_the_dlq_are_listed():
    """Rule 18: in order, each on one page, none twice; also while one of the two is away."""
    with Gate() as gate:
        gate.tracker()
        waiting = ["DBA"]
        outbox = gate.desk("query", letters=lambda ask: letter_views(waiting[0], ask,
                                                                     outcome="outbox"))

        def shelf(ask):
            if not ask.get("cursor"):
                dlq.head["cursor"] = LETTER + "B"
                return letter_views("CB", ask, outcome="still")
            return letter_views("0", ask, outcome="still")

        def pages(**query):
            page = gate.private.get("/v1/dead-letters", **query).json()
            yield page
            while page["cursor"]:
                page = gate.private.get("/v1/dead-letters", cursor=page["cursor"], **query).json()
                yield page

        dlq = gate.desk("letters", letters=shelf)
        gate.start()
        first, last = pages(reason="conflict")
        assert letters_of(first) == [("D", "outbox"), ("C", "still"), ("B", "still")]
        assert letters_of(last) == [("A", "outbox"), ("0", "still")]
        assert "note" not in first and outbox.asked[-1]["reason"] == "conflict"
        first, second, last = pages(limit=2)
        assert [name for page in (first, second, last) for name, _ in letters_of(page)] == [
            *"DCBA0"]
        assert len(first["letters"]) == 2
        waiting[0] = "D"
        page = gate.private.get("/v1/dead-letters").json()
        assert letters_of(page)[0] == ("D", "outbox") and page["cursor"] == LETTER + "B"
        gate.gone(dlq)
        page = gate.private.get("/v1/dead-letters").json()
        assert letters_of(page) == [("D", "outbox")] and not page["cursor"]
        assert "dlq does not answer" in page["note"]
        gate.gone(outbox)
        assert gate.private.get("/v1/dead-letters").status == 503
        dlq = gate.desk("letters", letters=shelf)
        page = until(lambda: gate.private.get("/v1/dead-letters").json().get("letters") and
                     gate.private.get("/v1/dead-letters").json(), SOON_S, "no letters")
        assert letters_of(page) == [("C", "still"), ("B", "still")]
        assert "tracker does not answer" in page["note"]


def figures(group, **values):
    return [bus.pack("figure", group=group, name=name, value=value)
            for name, value in values.items()]


def test_audit():
    with Gate() as gate:
        gate.tracker()
        wrong = {"received": 1, "applied": 1}
        gate.desk("query", audit=lambda ask: [
            *figures("arrivals", **wrong), *figures("tasks", created=1, done=1),
            *figures("results", callback=1),
            *figures("letters", made=1, open=1, open_xor=5, outbox_open=0, outbox_xor=0)])
        gate.desk("letters", status=lambda ask: figures("letters", open=1, held=0, open_xor=5))
        gate.start()
        books = gate.private.get("/v1/audit").json()
        assert books["balanced"] is True, books
        assert books["arrivals"] == {"received": 1, "applied": 1}
        wrong["received"] = 2
        books = gate.private.get("/v1/audit").json()
        assert books["balanced"] is False and "arrivals" in books["problems"][0]


def test_audit_counts_again():
    """Deep: the tracker counts its rows, and what it finds is a problem; busy is no balance."""
    with Gate() as gate:
        gate.tracker()
        found = {"text": ""}

        def audit(ask):
            if not ask.get("deep"):
                return figures("arrivals", received=1, progress=1)
            if found["text"] is None:
                query.head["rc"] = "busy"
                query.head["detail"] = "What is counted did not stand still; try again."
            return [bus.pack("figure", group="recount", name="arrivals.progress", value=1,
                             text=found["text"] or "")]

        query = gate.desk("query", audit=audit)
        gate.desk("letters", status=lambda ask: figures("letters", open=0))
        gate.start()
        books = gate.private.get("/v1/audit", deep=1).json()
        assert books["balanced"] is True and books["recount"] == {"arrivals.progress": 1}, books
        assert "recount" not in gate.private.get("/v1/audit").json()
        found["text"] = "arrivals.progress: the books say 1, there are 0 rows"
        books = gate.private.get("/v1/audit", deep=1).json()
        assert books["balanced"] is False and found["text"] in books["problems"][0]
        found["text"] = None
        answer = gate.private.get("/v1/audit", deep=1)
        assert answer.status == 503 and "stand still" in answer.json()["detail"]


def test_metrics_of_every_daemon():
    with Gate() as gate:
        gate.tracker()
        gate.desk("control-poller-p1", control=lambda ask: [bus.pack(
            "blob", bytes=b"# HELP a_total A.\n# TYPE a_total counter\na_total 3\n")])
        gate.start()
        page = gate.private.get("/metrics").text
        assert 'a_total{svc="poller",instance="poller-p1"} 3' in page
        assert 'svc="gateway",instance="gateway"' in page


# ---- bounds ----

def test_garbage_on_the_bus_is_dropped():
    with welcomed() as (gate, tracker):
        noise = [b"", b"\xc1" * 40, os.urandom(100), bus.pack("nothing")]

        def hear(frames):
            return [[noise[len(tracker.items) % 4]]] * 50 + Tracker.hear(tracker, frames)

        tracker.hear = hear
        for task in range(1, 30):
            assert gate.public.get(url(task)).status == 200
        assert len(tracker.items) == 29


def test_many_at_once_without_growth():
    with welcomed(gateway={"threads": 32}) as (gate, tracker):
        def knock(first):
            for task in range(first, first + 50):
                assert gate.public.get(url(task)).status == 200

        def crowd(first):
            threads = [threading.Thread(target=knock, args=(first + 1000 * i,), daemon=True)
                       for i in range(16)]
            for thread in threads:
                thread.start()
            for thread in threads:
                thread.join()

        crowd(1)
        fds, threads = gate.daemon.fds(), gate.daemon.threads()
        crowd(100_000)
        until(lambda: len({item["num"] for item in tracker.items}) == 1600, 60,
              lambda: f"{len(tracker.items)} of 1600 delivered")  # late ones come by the spool
        assert gate.daemon.threads() == threads
        until(lambda: gate.daemon.fds() <= fds + 2, SOON_S, "descriptors leak")
        assert max(len([h for h in tracker.heads if h["batch"] == head["batch"]])
                   for head in tracker.heads) == 1


def test_silence_of_the_tracker_never_shows_to_the_provider():
    with welcomed() as (gate, tracker):
        tracker.pause()
        begun = time.monotonic()
        assert gate.public.get(url(1)).status == 200
        assert time.monotonic() - begun < 2
        passes(2)  # until it is known to be away: then at once
        begun = time.monotonic()
        assert gate.public.get(url(2)).status == 200
        assert time.monotonic() - begun < 0.5
        tracker.resume()
        stays(lambda: gate.public.get(url(3)).status == 200, 0.3, "refuses when it is back")
