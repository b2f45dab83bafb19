"""The poller as a real process. The test is its tracker (a ROUTER) and its provider (a small HTTP
server that answers by the id it is asked for)."""
import asyncio
import collections
import os
import re
import shutil
import signal
import socket
import tempfile
import threading
import urllib.parse

import pytest
import zmq
from support import bus
from support.daemon import Daemon
from support.house import binary
from support.settings import to_yaml
from support.until import passes, stays, until

KEY = "canary-key-0123456789abcdef"
MAX_ITEM = 1 << 20
SOON_S = 10

pytestmark = pytest.mark.skipif(not binary("aldaba-poller"), reason="no aldaba-poller is built")


class Provider:
    """res.php by id: `slow-MS-x` answers OK|x after MS; others by their name below."""

    def __init__(self):
        self.asked = collections.Counter()
        self.jobs = []  # requests of /v1/: first line, headers, body
        self.open = 0
        self.most_open = 0
        self.bytes_sent = 0
        self.loop = asyncio.new_event_loop()
        self.listener = socket.create_server(("127.0.0.1", 0), backlog=4096)
        self.port = self.listener.getsockname()[1]
        self.started = threading.Event()
        threading.Thread(target=self.run, daemon=True).start()
        assert self.started.wait(SOON_S)

    def run(self):
        asyncio.set_event_loop(self.loop)
        self.loop.run_until_complete(self.serve())
        self.loop.close()

    async def serve(self):
        self.ending = asyncio.Event()
        server = await asyncio.start_server(self.connection, sock=self.listener, backlog=4096)
        self.started.set()
        await self.ending.wait()
        server.close()
        tasks = asyncio.all_tasks() - {asyncio.current_task()}
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def stop(self):
        self.loop.call_soon_threadsafe(self.ending.set)

    async def connection(self, reader, writer):
        self.open += 1
        self.most_open = max(self.most_open, self.open)
        try:
            while await self.exchange(reader, writer):
                pass
        except (OSError, asyncio.IncompleteReadError):
            pass
        finally:
            self.open -= 1
            writer.close()

    async def exchange(self, reader, writer):
        """One request; False: the connection ends."""
        head = await reader.readuntil(b"\r\n\r\n")
        if b" /v1/" in head.split(b"\r\n", 1)[0]:
            return await self.job(reader, writer, head.decode())
        query = urllib.parse.urlsplit(head.split(b" ", 2)[1].decode()).query
        asked = urllib.parse.parse_qs(query).get("id", [""])[0]
        self.asked[asked] += 1
        kind, *words = asked.split("-")
        return await getattr(self, f"say_{kind}")(writer, *words)

    async def job(self, reader, writer, head):
        """An API of another kind: JSON by POST, and the result at an address of its own."""
        first, *lines = head.strip().split("\r\n")
        headers = {name.lower(): value.strip() for name, _, value in (line.partition(":") for line in lines)}
        body = await reader.readexactly(int(headers.get("content-length", 0)))
        self.jobs.append((first, headers, body))
        if "/submit" in first:
            if b"cut" in body:
                return False
            return await self.answer(writer, b'{"id":"77"}')
        if "/result/" in first:
            return await self.answer(writer, b'{"cost":0.00085000,"text":"a"}')
        if b'"busy"' in body:
            return await self.answer(writer, b"{}", "429 Too Many\r\nRetry-After: 7")
        where = f"http://127.0.0.1:{self.port}/v1/result/9" if b'"9"' in body else "http://evil.invalid/x"
        return await self.answer(writer, f'{{"status":"COMPLETED","at":"{where}"}}'.encode())

    async def send(self, writer, data):
        writer.write(data)
        await writer.drain()
        self.bytes_sent += len(data)

    async def answer(self, writer, body, status="200 OK"):
        head = f"HTTP/1.1 {status}\r\nContent-Length: {len(body)}\r\n\r\n"
        await self.send(writer, head.encode() + body)
        return True

    async def say_slow(self, writer, wait_ms, word):
        await asyncio.sleep(int(wait_ms) / 1000)
        return await self.answer(writer, b"OK|" + word.encode())

    async def say_big(self, writer, size):
        return await self.answer(writer, b"OK|" + b"x" * int(size))

    async def say_endless(self, writer, *_):
        await self.send(writer, b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\n")
        while True:
            await self.send(writer, b"4000\r\n" + b"x" * 0x4000 + b"\r\n")

    async def say_drip(self, writer, *_):
        await self.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 100000\r\n\r\nOK|")
        while True:
            await asyncio.sleep(0.1)
            await self.send(writer, b"x")

    async def say_half(self, writer, *_):
        await self.send(writer, b"HTTP/1.1 200 OK\r\nContent-Length: 100\r\n\r\nOK|half")
        return False

    async def say_html(self, writer, *_):
        return await self.answer(writer, b"<html>502 Bad Gateway</html>", "502 Bad Gateway")

    async def say_echo(self, writer, *_):
        return await self.answer(writer, b"ERROR_WRONG_USER_KEY " + KEY.encode())

    async def say_ban(self, writer, *_):
        return await self.answer(writer, b"ERROR: 1005")


class Tracker:
    """Binds `jobs`, welcomes, hands out what it is given, acknowledges outcomes if it is told to."""

    def __init__(self, run, instance="T1", max_item=MAX_ITEM):
        self.instance = instance
        self.max_item = max_item
        self.acking = True
        self.start_says = "applied"  # None: nothing
        self.started = []
        self.outcomes = {}  # num -> outcome
        self.times = collections.Counter()  # num -> how often it came
        self.readies = []
        self.hellos = []
        self.who = None
        self.to_give = collections.deque()
        self.odd = collections.deque()  # messages to send as they are
        self.ending = threading.Event()
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(f"ipc://{run}/jobs")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending.is_set():
            if self.socket.poll(2):
                who, *frames = self.socket.recv_multipart()
                self.take(who, [bus.unpack(frame) for frame in frames])
            elif self.who:
                self.give_some()
        self.socket.close()

    def stop(self):
        self.ending.set()
        self.thread.join()

    def take(self, who, messages):
        head, *items = messages
        if head["k"] == "hello":
            self.hellos.append(head)
            self.send(who, bus.pack("welcome", instance=self.instance, max_item=self.max_item))
        elif head["k"] == "ready":
            self.who = who
            self.readies.append(head)
        elif head["k"] == "batch":
            self.started += [item for item in items if item["k"] == "started"]
            for item in items:
                if item["k"] == "outcome":
                    self.outcomes.setdefault(item["num"], item)
                self.times[item["num"]] += 1
            asks = any(item["k"] == "started" for item in items)
            if self.acking and not (asks and self.start_says is None):
                says = {"started": self.start_says, "outcome": "applied"}
                acks = [bus.pack("ack", num=i["num"], disposition=says[i["k"]]) for i in items]
                self.send(who, bus.pack("acks", instance=self.instance, batch=head["batch"]), *acks)

    def send(self, who, *frames):
        self.socket.send_multipart([who, *frames])

    def credit(self):
        return self.readies[-1]["credit"] if self.readies else 0

    def give_some(self):
        while self.odd:
            self.send(self.who, *self.odd.popleft())
        leases = []
        while self.to_give and len(leases) < 500:
            leases.append(self.to_give.popleft())
        if leases:
            self.send(self.who, bus.pack("leases", instance=self.instance), *leases)

    def give(self, *provider_ids, provider="demo", lease_ms=60000, first=1, **more):
        for number, provider_id in enumerate(provider_ids, first):
            self.to_give.append(bus.pack("lease", lease=number, task=str(1000 + number),
                                         provider=provider, provider_id=provider_id,
                                         lease_ms=lease_ms, **more))

    def give_submit(self, text, lease=1, lease_ms=60000, provider="ruled"):
        self.to_give.append(bus.pack(
            "submit", lease=lease, task=str(1000 + lease), attempt=3, provider=provider,
            lease_ms=lease_ms, callback_url="http://cb.example/cb/ruled/TOKEN",
            submission=b'{"params":{"n":0.00085,"text":"%s"}}' % text))

    def until_outcomes(self, count, deadline_s=SOON_S):
        until(lambda: len(self.outcomes) >= count, deadline_s,
              lambda: f"{len(self.outcomes)} of {count} outcomes: {list(self.outcomes.values())[:5]}")
        return sorted(self.outcomes.values(), key=lambda outcome: outcome["lease"])

    def one_outcome(self, *lease, **more):
        self.give(*lease, **more)
        return self.until_outcomes(1)[0]


RULED = """
profile: ruled
secrets: { key: { env: ALDABA_TEST_KEY } }
codes: { _default: { class: unknown }, HTTP_429: { class: transient, wait: retry-after, scope: account } }
submit:
  request: { method: POST, url: "http://127.0.0.1:PORT/v1/submit", encode: json,
             headers: { Authorization: "Key ${secret.key}" } }
  callback_param: { in: body, name: hook }
  rules: [ { when: [ { json: /id, is: scalar } ], then: accepted, id: { json: /id } } ]
poll:
  request: { method: POST, url: "http://127.0.0.1:PORT/v1/status", encode: json,
             headers: { Authorization: "Key ${secret.key}" } }
  params: { id: "${id}", deep: { number: "${id:number}" } }
  rules:
    - { when: [ { json: /status, eq: COMPLETED } ], then: fetch, result_url: { json: /at } }
fetch:
  request: { method: GET, url: "${result_url}", headers: { Authorization: "Key ${secret.key}" } }
  rules:
    - { when: [ { http: 2xx } ], then: done, result: { json: "" }, cost: { json: /cost } }
callback:
  id: { json: /id }
  rules: [ { when: [], then: fetch } ]
  auth: { url_token: path }
"""

FAR = """
profile: far
secrets: { key: { env: ALDABA_TEST_KEY } }
codes: { _default: { class: unknown } }
submit:
  request: { method: POST, url: "http://127.0.0.1:PORT/v1/submit" }
  rules: [ { when: [], then: accepted, id: { json: /id } } ]
poll:
  request: { method: GET, url: "${poll_url}",
             headers: { Authorization: "Key ${secret.key}", X-Model: "${param.model}" } }
  rules: [ { when: [ { http: 2xx } ], then: done, result: { json: "" } } ]
"""


class Place:
    """A folder, a provider, a tracker and a poller."""

    def __init__(self):
        self.folder = tempfile.mkdtemp(prefix="ald-")
        self.run = os.path.join(self.folder, "run")
        os.mkdir(self.run, 0o700)
        self.provider = Provider()
        self.tracker = Tracker(self.run)
        self.poller = None

    def profile(self, url, **more):
        return {
            "family": "inphp",
            "secrets": {"key": {"env": "ALDABA_TEST_KEY"}},
            "poll": {
                "request": {"method": "GET", "url": url},
                "timeout": "20s",
                **more,
            },
            "callback": {"trust": "id", "auth": {"source_ips": ["127.0.0.1"]}},
        }

    def start(self, files=None, **settings):
        """files: how many the poller may have open."""
        url = f"http://127.0.0.1:{self.provider.port}/res.php"
        with socket.socket() as unused:
            unused.bind(("127.0.0.1", 0))
            refused = f"http://127.0.0.1:{unused.getsockname()[1]}/res.php"
        path = os.path.join(self.folder, "aldaba.yaml")
        with open(path, "w", encoding="utf-8") as file:
            file.write(to_yaml({
                "bus": {"run": self.run},
                "store": {"data": self.folder},
                "poller": {"name": "p1", "connections_per_host": 4000, **settings},
                "providers": {
                    "demo": self.profile(url),
                    "named": self.profile(url.replace("127.0.0.1", "localhost")),
                    "quick": self.profile(url, timeout="1s"),
                    "small": self.profile(url, max_bytes="64KiB"),
                    "refused": self.profile(refused),
                    "nowhere": self.profile("http://no-such-host.invalid/res.php"),
                },
            }) + "\n")
        os.mkdir(os.path.join(self.folder, "providers.d"))
        for name, text in (("ruled", RULED), ("far", FAR)):
            with open(os.path.join(self.folder, "providers.d", f"{name}.yaml"), "w", encoding="utf-8") as file:
                file.write(text.replace("PORT", str(self.provider.port)))
        self.poller = Daemon("poller", [binary("aldaba-poller"), "--config", path], self.folder,
                             {"ALDABA_TEST_KEY": KEY})
        if files:
            self.poller.argv = ["/bin/sh", "-c", f'ulimit -n {files} && exec "$@"', "sh",
                                *self.poller.argv]
        self.poller.start()
        until(lambda: self.tracker.credit() > 0, SOON_S, "the poller does not ask for work")
        return self

    def new_tracker(self, instance, **more):
        self.tracker.stop()
        self.tracker = Tracker(self.run, instance, **more)

    def close(self):
        if self.poller:
            self.poller.clean()
        self.tracker.stop()
        self.provider.stop()
        shutil.rmtree(self.folder, ignore_errors=True)


@pytest.fixture
def place():
    here = Place()
    yield here
    if here.poller:
        log = here.poller.tail(10**6)
        print(log[-6000:])
        assert KEY not in log
        assert "ERROR: AddressSanitizer" not in log and "runtime error" not in log
    here.close()


def test_example(place):
    place.start()
    outcome = place.tracker.one_outcome("slow-0-hello")
    assert outcome["then"] == "done" and outcome["result"] == b"hello"
    assert outcome["left"] and outcome["answered"] and outcome["http"] == 200
    assert (outcome["lease"], outcome["task"], outcome["provider"]) == (1, "1001", "demo")
    assert outcome["evidence"] == b"OK|hello"
    assert place.poller.stop() == 0


@pytest.mark.parametrize("provider", ["demo", "named"])
def test_a_thousand_slow_polls_at_once(place, provider):
    """By address and by name: the resolver must not start a thread for each."""
    place.start(max_in_flight=2000)
    place.tracker.give(*(f"slow-1000-w{i}" for i in range(1000)), provider=provider)
    threads = []

    def all_came():
        threads.append(place.poller.threads())
        return len(place.tracker.outcomes) >= 1000

    until(all_came, 60, lambda: f"{len(place.tracker.outcomes)} of 1000 outcomes")
    said = {outcome.get("result", b"").decode() for outcome in place.tracker.outcomes.values()}
    assert said == {f"w{i}" for i in range(1000)}
    assert place.provider.most_open > 500
    assert max(threads) < 16


def test_credit_follows_the_work(place):
    place.start(max_in_flight=40)
    assert place.tracker.credit() == 40
    place.tracker.give(*(f"slow-700-w{i}" for i in range(60)))  # more than was asked for
    until(lambda: place.tracker.credit() == 0, SOON_S, "no credit 0")
    assert place.tracker.readies[-1]["busy"] == 60
    place.tracker.until_outcomes(60)
    assert place.provider.most_open <= 40
    until(lambda: place.tracker.credit() == 40, SOON_S, "the credit does not come back")
    count = len(place.tracker.readies)
    until(lambda: len(place.tracker.readies) >= count + 2, 4, "it is not said again each second")


CASES = [
    ("endless-1", "small", "unknown", True, False, "too big"),
    ("big-70000", "small", "unknown", True, False, "too big"),
    ("half-1", "demo", "unknown", True, False, ""),
    ("drip-1", "quick", "unknown", True, False, "time"),
    ("slow-5000-x", "quick", "unknown", True, False, "time"),
    ("html-1", "demo", "unknown", True, True, None),
    ("ban-1", "demo", "code", True, True, None),
    ("x", "refused", "unknown", False, False, "connect"),
    ("x", "nowhere", "unknown", False, False, ""),
    ("x", "no-such-profile", "ignore", False, False, "profile"),
]


@pytest.mark.parametrize("provider_id,provider,then,left,answered,error", CASES)
def test_what_an_answer_is_worth(place, provider_id, provider, then, left, answered, error):
    place.start()
    outcome = place.tracker.one_outcome(provider_id, provider=provider)
    assert outcome["then"] == then
    assert outcome.get("left", False) == left and outcome.get("answered", False) == answered
    if answered:
        assert not outcome.get("error")
    else:
        assert outcome["error"] and error in outcome["error"].lower()
        assert not outcome.get("result") and not outcome.get("code")
    assert KEY.encode() not in b"".join(str(value).encode() for value in outcome.values())


def test_an_endless_answer_is_cut_off(place):
    place.start()
    place.tracker.one_outcome("endless-1", provider="small")
    until(lambda: place.provider.open == 0, SOON_S, "the connection goes on")
    assert place.provider.bytes_sent < 16 << 20


def test_the_key_does_not_come_back(place):
    place.start()
    outcome = place.tracker.one_outcome("echo-1")
    assert outcome["evidence"] == b"ERROR_WRONG_USER_KEY " + b"*" * len(KEY)
    assert KEY not in str(outcome)


def test_rules_ask_twice_for_a_result(place):
    """JSON and a header go out, and what the poll says is ready is asked for in the same lease."""
    place.start()
    outcome = place.tracker.one_outcome("9", provider="ruled")
    assert outcome["then"] == "done" and outcome["result"] == b'{"cost":0.00085000,"text":"a"}'
    assert outcome["result_json"] and outcome["left"] and outcome["fetched"]
    (first, headers, body), (second, more, nothing) = place.provider.jobs
    assert first == "POST /v1/status HTTP/1.1" and second == "GET /v1/result/9 HTTP/1.1"
    assert body == b'{"id":"9","deep":{"number":9}}' and nothing == b""
    assert headers["authorization"] == more["authorization"] == f"Key {KEY}"
    assert headers["content-type"] == "application/json"


def test_rules_do_not_follow_a_result_to_another_host(place):
    place.start()
    outcome = place.tracker.one_outcome("8", provider="ruled")
    assert outcome["then"] == "fetch" and len(place.provider.jobs) == 1
    assert outcome["left"] and not outcome.get("fetched")


def test_a_lease_says_where_and_with_what(place):
    place.start()
    outcome = place.tracker.one_outcome(
        "9", provider="far", poll_url=f"http://127.0.0.1:{place.provider.port}/v1/result/9".encode(),
        params=b'{"model":"m/1"}')
    assert outcome["then"] == "done" and outcome["result"] == b'{"cost":0.00085000,"text":"a"}'
    (first, headers, _), = place.provider.jobs
    assert first == "GET /v1/result/9 HTTP/1.1"
    assert (headers["x-model"], headers["authorization"]) == ("m/1", f"Key {KEY}")


@pytest.mark.parametrize("more", [
    {"params": b'{"model":"m"}'},  # no address
    {"params": b'{"model":"m"}', "poll_url": b"http://evil.invalid/"},
    {"poll_url": b"http://127.0.0.1:PORT/v1/result/9"},  # no parameter
])
def test_a_lease_that_lacks_something_is_not_asked(place, more):
    place.start()
    more = {key: value.replace(b"PORT", str(place.provider.port).encode()) for key, value in more.items()}
    outcome = place.tracker.one_outcome("9", provider="far", **more)
    assert (outcome["then"], outcome.get("left") or False) == ("ignore", False)
    assert not place.provider.jobs


def test_rules_read_retry_after(place):
    place.start()
    outcome = place.tracker.one_outcome("busy", provider="ruled")
    assert (outcome["then"], outcome["class"], outcome["wait_ms"]) == ("code", "transient", 7000)
    assert outcome["scope"] == "account"


def test_a_lease_that_has_run_out_is_not_begun(place):
    place.start(max_in_flight=1)
    place.tracker.give("slow-1500-a", first=1)
    place.tracker.give("slow-0-b", first=2, lease_ms=500)
    first, second = place.tracker.until_outcomes(2)
    assert first["then"] == "done"
    assert not second.get("left", False) and "time was up" in second["error"]
    assert place.provider.asked == {"slow-1500-a": 1}


def test_an_item_too_big_for_the_bus_says_so(place):
    place.start()
    outcome = place.tracker.one_outcome(f"big-{2 * MAX_ITEM}")
    assert outcome["then"] == "unknown" and not outcome.get("result")
    assert "does not fit" in outcome["error"]


def test_a_tracker_that_comes_back_with_less(place):
    """The outcome that it does not take goes without its result, and holds up nothing."""
    place.start()
    place.tracker.acking = False
    assert place.tracker.one_outcome("big-70000")["then"] == "done"
    place.new_tracker("T2", max_item=60000)
    place.tracker.give("slow-0-x", first=2)
    large, small = place.tracker.until_outcomes(2)
    assert (large["task"], large["then"]) == ("1001", "unknown") and not large.get("result")
    assert "does not fit" in large["error"]
    assert small["then"] == "done"


def test_sigterm_hands_back_and_finishes(place):
    place.start(max_in_flight=2)
    place.tracker.give(*(f"slow-1000-w{i}" for i in range(4)))  # two begin, two wait
    until(lambda: sum(place.provider.asked.values()) == 2, SOON_S, "nothing is asked")
    place.poller.send(signal.SIGTERM)
    outcomes = place.tracker.until_outcomes(4)
    assert place.poller.wait() == 0
    assert [outcome["then"] for outcome in outcomes] == ["done", "done", "ignore", "ignore"]
    for outcome in outcomes[2:]:
        assert not outcome.get("left", False) and "handed back" in outcome["error"]
    assert place.tracker.readies[-1]["stopping"]
    assert sum(place.provider.asked.values()) == 2


def test_sigterm_cuts_off_what_takes_too_long(place):
    place.start()
    place.tracker.give("slow-60000-x")
    until(lambda: place.provider.asked, SOON_S, "nothing is asked")
    place.poller.send(signal.SIGTERM)
    outcome = place.tracker.until_outcomes(1)[0]
    assert outcome["left"] and not outcome.get("answered") and "stops" in outcome["error"]
    assert place.poller.wait() == 0


def test_sigterm_without_a_tracker_says_that_work_is_left(place):
    place.start()
    place.tracker.acking = False
    place.tracker.one_outcome("slow-0-x")
    assert place.poller.stop() == 75


def test_a_new_tracker_gets_what_was_not_acknowledged(place):
    place.start()
    place.tracker.acking = False
    place.tracker.one_outcome("slow-0-x")
    place.tracker.give("slow-0-y", first=2)
    until(lambda: place.provider.asked["slow-0-y"], SOON_S, "the second lease is not begun")
    place.new_tracker("T2")
    outcomes = place.tracker.until_outcomes(2)
    assert [outcome["result"] for outcome in outcomes] == [b"x", b"y"]
    assert sum(place.provider.asked.values()) == 2
    place.tracker.give("slow-0-z", first=1)  # its numbers begin anew
    assert place.tracker.until_outcomes(3)
    assert place.poller.stop() == 0


def test_acknowledged_outcomes_are_not_sent_again(place):
    place.start()
    place.tracker.give(*(f"slow-0-w{i}" for i in range(300)))
    place.tracker.until_outcomes(300)
    place.new_tracker("T2")
    until(lambda: place.tracker.credit(), SOON_S, "the poller does not come to the new tracker")
    place.tracker.one_outcome("slow-0-x")
    assert len(place.tracker.outcomes) == 1
    assert place.poller.stop() == 0


def test_garbage_on_the_bus(place):
    place.start()
    place.tracker.odd.extend([
        [b""], [b"\xdf\xff\xff\xff\xff"], [bus.pack("leases", instance="T1"), b"junk"],
        [bus.pack("answer", req=1, rc="ok")]])
    assert place.tracker.one_outcome("slow-0-x")["then"] == "done"
    assert place.poller.alive()


def submits(place):
    return [body for first, _, body in place.provider.jobs if "/submit" in first]


def test_a_submission_in_two_steps(place):
    """Nothing leaves before the tracker has said that it may; then it leaves once."""
    place.start()
    place.tracker.start_says = None
    place.tracker.give_submit(b"hello")
    until(lambda: place.tracker.started, SOON_S, "it is not asked")
    asked = place.tracker.started[0]
    assert (asked["lease"], asked["task"], asked["attempt"]) == (1, "1001", 3)
    stays(lambda: not submits(place), 1, "it was sent without leave")
    place.new_tracker("T2")  # which says yes
    outcome = place.tracker.until_outcomes(1)[0]
    assert (outcome["then"], outcome["provider_id"], outcome["attempt"]) == ("accepted", "77", 3)
    assert outcome["left"] and outcome["answered"] and outcome["task"] == "1001"
    assert submits(place) == [
        b'{"n":0.00085,"text":"hello","hook":"http://cb.example/cb/ruled/TOKEN"}']


def test_a_submission_that_may_not_go(place):
    place.start()
    place.tracker.start_says = "duplicate"
    place.tracker.give_submit(b"hello")
    until(lambda: place.tracker.started, SOON_S, "it is not asked")
    place.tracker.one_outcome("slow-0-x", first=2)
    stays(lambda: not submits(place) and len(place.tracker.outcomes) == 1, 1, "it was sent")
    assert place.poller.stop() == 0


def test_leave_that_comes_too_late_is_not_used(place):
    """It was stopped between question and answer: it says that nothing left."""
    place.start()
    place.tracker.start_says = None
    place.tracker.give_submit(b"hello", lease_ms=1500)
    until(lambda: place.tracker.started, SOON_S, "it is not asked")
    passes(2)
    place.new_tracker("T2")
    outcome = place.tracker.until_outcomes(1)[0]
    assert not outcome.get("left") and outcome["attempt"] == 3 and "too late" in outcome["error"]
    assert not submits(place)


def test_a_submission_is_not_repeated_on_a_dead_connection(place):
    """Connections to the provider are open and idle; the one that takes the request closes without a
    word. The library would send it again on another one."""
    place.start()
    place.tracker.give("7", "8", "9", provider="ruled")
    place.tracker.until_outcomes(3)
    place.tracker.give_submit(b"cut", lease=10)
    outcome = place.tracker.until_outcomes(4)[3]
    assert outcome["left"] and not outcome.get("answered") and outcome["then"] == "unknown"
    assert len(submits(place)) == 1


def test_few_descriptors_are_enough(place):
    """A limit of open files that is hardly more than what the poller needs for itself: submissions
    and polls go on, one after the other, and no connection is left over."""
    place.start(files=100)
    count = 120
    for turn in range(count):
        place.tracker.give_submit(b"s%d" % turn, lease=2 * turn + 1)
        place.tracker.until_outcomes(2 * turn + 1)
        place.tracker.give(f"slow-0-p{turn}", first=2 * turn + 2)
        place.tracker.until_outcomes(2 * turn + 2)
    assert [one for one in place.tracker.outcomes.values() if not one.get("answered")] == []
    assert len(submits(place)) == count and place.poller.fds() < 60
    assert place.poller.stop() == 0


def test_sigterm_hands_a_submission_back(place):
    place.start()
    place.tracker.start_says = None
    place.tracker.give_submit(b"hello")
    until(lambda: place.tracker.started, SOON_S, "it is not asked")
    place.poller.send(signal.SIGTERM)
    until(lambda: place.tracker.readies[-1].get("stopping"), SOON_S, "it does not stop")
    place.new_tracker("T2")
    outcome = place.tracker.until_outcomes(1)[0]
    assert not outcome.get("left") and "handed back" in outcome["error"]
    assert place.poller.wait() == 0 and not submits(place)


def test_a_submission_that_can_not_be_made(place):
    place.start()
    place.tracker.to_give.append(bus.pack("submit", lease=1, task="1001", attempt=1,
                                          provider="ruled", lease_ms=60000, submission=b"[]"))
    outcome = place.tracker.until_outcomes(1)[0]
    assert (outcome["then"], outcome["code"]) == ("failed", "invalid_submission")
    assert not outcome.get("left")
    place.tracker.give_submit(b"x", lease=2, provider="nobody")
    outcome = place.tracker.until_outcomes(2)[1]
    assert outcome["then"] == "ignore" and not outcome.get("left")
    assert len(place.tracker.started) == 1


def test_health_and_metrics(place):
    place.start()
    place.tracker.one_outcome("slow-0-x")
    with bus.Channel(place.run, "control-poller-p1") as control:
        assert control.ask("control", what="health")[0]["rc"] == "ok"
        blob = control.ask("control", what="metrics")[1]
    text = blob["bytes"].decode()
    assert re.search(r'polls_total\{[^}]*provider="demo"[^}]*result="done"[^}]*\} 1\b', text), text
    assert "poll_seconds_bucket" in text and "in_flight" in text
