"""Durable consumers over HTTP. The test is the tracker: its `consume` channel, as a list of events
that are handed out once each and come again when they are not taken."""
import json
import socket
import threading

import pytest
from support import bus
from support.house import binary
from support.until import passes, stays, until
from test_gateway import SOON_S, Gate, event

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


class Feed:
    """`waiting` is handed out, `settled` is what was said, (verb, first, seq) each."""

    def __init__(self, gate, waiting=(), size=0):
        self.waiting = list(waiting)
        self.size = size
        self.settled = []
        self.gap = None
        self.desk = gate.desk("consume", consumer_pull=self.pull, consumer_settle=self.settle,
                              consumer_list=self.list, consumer_open=self.open,
                              consumer_delete=self.delete)
        self.consumers = {}
        self.meanwhile = lambda: None  # happens while events are on their way to who asked

    def hear(self):
        for frame in self.desk.behind:
            assert frame["k"] == "settle"
            self.settled.append((frame["verb"], frame.get("first", 0), frame["seq"]))

    def pull(self, ask):
        self.hear()
        if ask["consumer"] not in ("c", "a.b-c_9"):
            self.desk.head = {"rc": "notfound", "detail": ""}
            return []
        if ask.get("gap_seen") == self.gap:
            self.gap = None
        now, self.waiting = self.waiting[:ask["limit"]], self.waiting[ask["limit"]:]
        if not now:
            passes(min(ask.get("wait_ms", 0), 50) / 1000)
        if now:
            self.meanwhile()
        self.desk.head = {"rc": "ok", "position": "0:0", "head": "0:9"}
        if self.gap:
            self.desk.head |= {"gap_before": self.gap, "gap_why": "retention"}
        more = {"result": b"x" * self.size} if self.size else {}
        return [bus.pack("event", **{**bus.unpack(event(seq, deliveries=1)), **more}) for seq in now]

    def settle(self, _):
        self.hear()
        return []

    def list(self, ask):
        names = [name for name in self.consumers if ask.get("consumer") in (None, "", name)]
        if ask.get("consumer") and not names:
            self.desk.head = {"rc": "notfound", "detail": ""}
        return [bus.pack("consumer", consumer=name, mode="shared", position="0:4", handed="0:9", lag=3,
                         made_at_ms=7) for name in names]

    def open(self, ask):
        self.consumers[ask["consumer"]] = ask
        return []

    def delete(self, ask):
        if not self.consumers.pop(ask["consumer"], None):
            self.desk.head = {"rc": "notfound", "detail": ""}
        return []

    def last(self, kind):
        return [ask for ask in self.desk.asked if ask["k"] == kind][-1]


@pytest.fixture
def gate():
    with Gate() as gate:
        gate.tracker()
        yield gate


def started(gate, *args, **more):
    feed = Feed(gate, *args, **more)
    gate.start()
    return feed


def post(gate, path, body):
    return gate.private.post_json(f"/v1/consumers/{path}", body)


class Stream:
    """One client of /v1/events, read by hand."""

    def __init__(self, gate, query, *headers, receive=None):
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.connect(("127.0.0.1", gate.private.port))
        self.socket.settimeout(SOON_S)
        lines = [f"GET /v1/events?{query} HTTP/1.1", "Host: localhost", *headers, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.said = b""

    def hear(self, what):
        while what not in self.said:
            more = self.socket.recv(4096)
            assert more, self.said
            self.said += more

    def close(self):
        self.socket.close()


def test_example(gate):
    feed = started(gate)
    made = gate.private.request("PUT", "/v1/consumers/a.b-c_9", json.dumps(
        {"provider": "two", "from": "all", "mode": "ordered", "max_deliver": 3, "ack_wait": "45s",
         "max_ack_pending": 7}).encode())
    assert made.status == 200 and made.json()["name"] == "a.b-c_9" and made.json()["lag"] == 3
    ask = feed.last("consumer.open")
    assert [ask[word] for word in ("provider", "from", "mode", "max_deliver", "ack_wait_ms",
                                   "max_ack_pending")] == ["two", "all", "ordered", 3, 45000, 7]
    assert [c["name"] for c in gate.private.get("/v1/consumers").json()["consumers"]] == ["a.b-c_9"]
    assert gate.private.get("/v1/consumers/a.b-c_9").json()["position"] == "0:4"
    feed.waiting = [1, 2]
    page = post(gate, "a.b-c_9/pull", {"limit": 9, "instance": "i1"}).json()
    assert [e["seq"] for e in page["events"]] == [1, 2] and page["gap"] is None
    assert page["events"][0]["deliveries"] == 1 and page["events"][0]["redelivered"] is False
    done = post(gate, "a.b-c_9/settle", {"settle": [{"lane": 0, "seq": 2, "first": 1}]})
    assert done.status == 204 and feed.settled == [("ack", 1, 2)]
    assert gate.private.request("DELETE", "/v1/consumers/a.b-c_9").status == 204
    assert gate.private.get("/v1/consumers").json() == {"consumers": []}


def test_a_pull_settles_too(gate):
    feed = started(gate, [3])
    feed.gap = "0:3"
    page = post(gate, "c/pull", {"limit": 1, "settle": [
        {"verb": "nack", "lane": 0, "seq": 1, "delay": "5s", "reason": "later"},
        {"verb": "reject", "lane": 0, "seq": 2}]}).json()
    assert [e["seq"] for e in page["events"]] == [3]
    assert feed.settled == [("nack", 0, 1), ("reject", 0, 2)]
    assert page["gap"] == {"before": "0:3", "why": "retention"}
    assert post(gate, "c/pull", {"gap_seen": "0:3", "limit": 1}).json()["gap"] is None


@pytest.mark.parametrize("body, sentence", [
    ({"limit": 1001}, "limit is at most 1000"), ({"wait": 3}, "length of time"), ({"limt": 1}, "limt"),
    ({"settle": [{"lane": 0}]}, "lane and seq"), ({"settle": [{"seq": 2, "first": 3}]}, "lane and seq"),
    ({"settle": [{"seq": 2, "verb": "ackk"}]}, "ack, nack, reject, extend, release"),
    ({"settle": [{"seq": 1 << 53}]}, "below 2^53"), ({"settle": [{"seq": 1, "first": 1 << 63}]}, "integer"),
    ({"settle": [{"seq": 2, "verb": "nack", "delay": "3651d"}]}, "length of time"),
    ({"settle": {}}, "list of at most 10000"), ({"settle": [{"seq": 2, "sequence": 3}]}, "sequence")])
def test_what_is_not_understood_settles_nothing(gate, body, sentence):
    feed = started(gate, [1])
    answer = post(gate, "c/pull", body)
    assert answer.status == 400 and sentence in answer.json()["detail"]
    assert feed.settled == [] and feed.waiting == [1]


def test_problems_say_what_to_do(gate):
    started(gate)
    for answer in (gate.private.get("/v1/consumers/none"), post(gate, "none/pull", {"limit": 1}),
                   gate.private.get("/v1/events?consumer=none")):
        assert answer.status == 404 and "PUT /v1/consumers/none" in answer.json()["detail"]
    assert gate.private.get("/v1/consumers/NAME").status == 400
    assert "instance and ack" in gate.private.get("/v1/events?ack=sent").json()["detail"]
    assert "own place" in gate.private.get("/v1/events?consumer=c&after=all").json()["detail"]


def test_waits_and_streams_are_counted_together(gate):
    """Three may wait. The fourth hears 503 and when to come again, unless there is something."""
    feed = started(gate)
    streams = [Stream(gate, "consumer=c") for _ in range(3)]
    for stream in streams:
        stream.hear(b"retry: ")
    assert gate.private.get("/v1/events?consumer=c").headers["retry-after"]
    full = post(gate, "c/pull", {"wait": "3s", "limit": 1, "settle": [{"seq": 1}]})
    assert full.status == 503 and full.headers["retry-after"] and "api_waiters" in full.json()["detail"]
    assert feed.settled == [("ack", 0, 1)]
    assert post(gate, "c/pull", {"limit": 1}).status == 200  # it does not wait
    assert gate.private.get("/healthz").status == 200
    for stream in streams:
        stream.close()


def test_sent_is_settled_when_a_later_write_went_through(gate):
    feed = started(gate, [1, 2])
    stream = Stream(gate, "consumer=c&ack=sent")
    stream.hear(b"id: 0:2:1\n")
    until(lambda: ("ack", 0, 2) in feed.settled, SOON_S, lambda: str(feed.settled))
    assert b": sent" in stream.said + stream.socket.recv(4096)
    feed.waiting = [3]
    stream.hear(b"id: 0:3:1\n")
    until(lambda: ("ack", 0, 3) in feed.settled, SOON_S, lambda: str(feed.settled))
    assert feed.settled == [("ack", 0, 1), ("ack", 0, 2), ("ack", 0, 3)]
    stream.close()


def test_what_a_gone_client_was_sent_is_not_settled(gate):
    """Nobody has read what came while it went: that is neither settled nor counted."""
    feed = started(gate)
    stream = Stream(gate, "consumer=c&ack=sent")
    stream.hear(b"retry: ")
    stream.socket.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\x01\0\0\0\0\0\0\0")
    feed.meanwhile = stream.close  # by a reset
    feed.waiting = [1]
    until(lambda: feed.settled, SOON_S, "nothing comes back")
    assert feed.settled == [("release", 0, 1)]


def test_a_client_that_comes_again(gate):
    """As the same instance it settles what it had seen, a run of rising numbers, and gives back what
    else the name held, which may never have come; as nobody it settles nothing."""
    feed = started(gate, [4, 5, 2, 3])
    feed.consumers["c"] = {}
    stream = Stream(gate, "consumer=c&instance=i1")
    stream.hear(b"id: 0:3:2\n")
    assert b"id: 0:4:4\n" in stream.said and b"id: 0:5:4\n" in stream.said
    assert feed.last("consumer.pull")["instance"] == "i1" and feed.settled == [("nack", 1, 9)]
    stream.close()
    stream = Stream(gate, "consumer=c&instance=i1", "Last-Event-ID: 0:5:4")
    stream.hear(b"retry: ")
    at = feed.settled.index(("ack", 4, 5))  # the stream before may still be giving back its page
    assert feed.settled[at + 1] == ("nack", 1, 9)
    stream.close()
    feed.settled.clear()  # what the two still give back is no ack
    stream = Stream(gate, "consumer=c", "Last-Event-ID: 0:3:2")
    stream.hear(b"retry: ")
    assert not any(verb == "ack" for verb, _, _ in feed.settled)
    names = {ask["instance"] for ask in feed.desk.asked if ask["k"] == "consumer.pull"}
    assert len(names) == 2  # that of nobody is its own
    stream.close()


def test_a_gap_is_said_once(gate):
    feed = started(gate, [5])
    feed.gap = "0:5"
    stream = Stream(gate, "consumer=c")
    stream.hear(b"id: 0:5:5\n")
    assert b'event: gap\ndata: {"before":"0:5","other_lane":false}' in stream.said
    until(lambda: feed.gap is None, SOON_S, "the gap is not echoed")
    stream.close()


def test_a_slow_client_is_dropped(gate):
    """It takes nothing: the stream ends in the listener's time, its events come back, and nothing
    has gathered in memory."""
    feed = started(gate, size=1 << 19)
    before = gate.daemon.rss_kib()
    stream = Stream(gate, "consumer=c&ack=sent", receive=4096)
    feed.waiting = list(range(1, 400))  # 200 MiB
    until(lambda: ("nack", 1) in [settled[:2] for settled in feed.settled], 3 * SOON_S,
          lambda: str(feed.settled))
    assert gate.daemon.rss_kib() - before < 120 << 10
    asked = len(feed.desk.asked)
    stays(lambda: len(feed.desk.asked) == asked, 0.5, "it is asked for more")
    stream.close()
    answers = [None] * 3
    def wait(place):
        answers[place] = post(gate, "c/pull", {"wait": "50ms", "limit": 1}).status
    threads = [threading.Thread(target=wait, args=(place,)) for place in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert answers == [200] * 3  # its place is free
