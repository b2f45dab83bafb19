"""The tracker's side of `consume` and `feed`, as docs/PROTOCOL.md tells it, in memory and without a
disk: for tests of who reads there. It loses, delays and spoils what a test asks it to.

    with Readers(run) as tracker:
        tracker.publish(result=b"42")
"""
import threading
import time

import msgpack
import zmq

from support.bus import pack

TURN_MS = 5
HEAD_S = 0.1


class Consumer:
    """A durable consumer, in mode shared or ordered."""

    def __init__(self, ask):
        self.mode = ask.get("mode") or "shared"
        self.ack_wait_s = (ask.get("ack_wait_ms") or 30000) / 1000
        self.max_deliver = ask.get("max_deliver") or 5
        self.asked = {word: ask.get(word) for word in ("mode", "ack_wait_ms", "max_deliver")}
        self.provider, self.state = ask.get("provider"), ask.get("state")
        self.settled, self.counts = set(), {}
        self.leases = {}  # seq: (instance, until)
        self.delayed = {}  # seq: when again
        self.rejected = {}  # seq: reason
        self.gap = None  # (before, why)

    def view(self, name):
        return pack("consumer", consumer=name, mode=self.mode, position="1:0",
                    ack_wait_ms=int(self.ack_wait_s * 1000), max_deliver=self.max_deliver)

    def wants(self, event):
        return (not self.provider or event["provider"] == self.provider) and (
            not self.state or event["state"] == self.state)

    def over(self, now):
        for seq in [seq for seq, (_, until) in self.leases.items() if until <= now]:
            del self.leases[seq]

    def release(self, word):
        """Of these nobody has seen any: the hand-out was none."""
        for seq in [seq for seq in self.leases if word.get("first", word["seq"]) <= seq <= word["seq"]]:
            del self.leases[seq]
            self.counts[seq] -= 1

    def settle(self, word, now):
        if word["verb"] == "release":
            self.release(word)
            return
        for seq in range(word.get("first") or word["seq"], word["seq"] + 1):
            if word["verb"] == "extend":
                if seq in self.leases:
                    self.leases[seq] = (self.leases[seq][0], now + word["delay_ms"] / 1000)
                continue
            self.leases.pop(seq, None)
            if seq in self.settled:
                continue
            if word["verb"] == "nack":
                self.delayed[seq] = now + word.get("delay_ms", 0) / 1000
                if self.mode == "ordered":
                    self.leases.clear()
                continue
            self.settled.add(seq)
            if word["verb"] == "reject":
                self.rejected[seq] = word.get("reason", "")

    def hand_out(self, events, ask, now):
        """The events of an answer to this pull, marked as handed out."""
        self.over(now)
        page, size = [], 0
        if self.mode == "ordered" and self.leases:
            return page
        for event in events:
            seq = event["seq"]
            if seq in self.settled or seq in self.leases or not self.wants(event):
                continue
            if self.delayed.get(seq, 0) > now:
                if self.mode == "ordered":
                    break
                continue
            if page and size + len(event["result"]) > (ask.get("bytes") or 1 << 20):
                break
            self.counts[seq] = self.counts.get(seq, 0) + 1
            self.leases[seq] = (ask.get("instance"), now + self.ack_wait_s)
            size += len(event["result"])
            page.append({**event, "deliveries": self.counts[seq],
                         **({"redelivered": True} if self.counts[seq] > 1 else {})})
            if len(page) == (ask.get("limit") or 100):
                break
        return page


class Readers:
    """lose(kind, ask): True loses the answer, after it had its effect. hold: answers are kept until
    release(). spoil: before each answer comes what can't be read. busy: so many are told to wait.
    lose_hints(event): True. All of the test's thread, but for what a callback is given."""

    def __init__(self, run):
        self.run = run
        self.lane = 1
        self.events = []
        self.consumers = {}
        self.heard = []  # every question
        self.lose = lambda kind, ask: False
        self.lose_hint = lambda event: False
        self.hold = self.spoil = False
        self.busy = 0
        self.kept = 1  # lowest seq that is kept
        self.held, self.waiting = [], []
        self.last = {}
        self.lock = threading.RLock()
        self.unsent = []
        self.thread = None

    def __enter__(self):
        return self.start()

    def __exit__(self, *_):
        self.stop()

    def start(self):
        assert self.thread is None
        self.ends = False
        self.opened = threading.Event()
        self.thread = threading.Thread(target=self.serve, daemon=True)
        self.thread.start()
        assert self.opened.wait(10)
        return self

    def stop(self):
        """As a kill: leases and who waits are forgotten, what was committed is not."""
        if self.thread is None:
            return
        self.ends = True
        self.thread.join()
        self.thread = None
        with self.lock:
            self.held, self.waiting, self.unsent = [], [], []
            self.last = {}
            for consumer in self.consumers.values():
                for seq in consumer.leases:
                    consumer.counts[seq] -= 1  # offered again uncounted
                consumer.leases = {}

    def publish(self, result=b"", provider="two", state="done", **fields):
        with self.lock:
            seq = len(self.events) + 1
            event = {"lane": self.lane, "seq": seq, "task": str(1000 + seq), "provider": provider,
                     "state": state, "source": "callback", "published_ms": 1, "result": result,
                     **fields}
            self.events.append(event)
            topics = ("result.", f"result.{provider}.", f"result.{provider}.{state}.")
            prevs = [self.last.get(topic, seq - 1) for topic in topics]
            self.last.update({topic: seq for topic in topics})
            hint = {**event, "prev_all": prevs[0], "prev_provider": prevs[1], "prev": prevs[2],
                    "position": f"{self.lane}:{seq}"}
            if not self.lose_hint(event):
                self.unsent.append([topics[2].encode(), pack("event", **hint)])
            return seq

    def release(self):
        with self.lock:
            self.hold = False

    def questions(self, kind):
        with self.lock:
            return [ask for ask in self.heard if ask["k"] == kind]

    def serve(self):
        context = zmq.Context.instance()
        router, feed = context.socket(zmq.ROUTER), context.socket(zmq.XPUB)
        for socket, name in ((router, "consume"), (feed, "feed")):
            socket.linger = 0
            socket.bind(f"ipc://{self.run}/{name}")
        self.opened.set()
        head_at = 0
        while not self.ends:
            if router.poll(TURN_MS):
                who, *frames = router.recv_multipart()
                with self.lock:
                    self.question(who, [msgpack.unpackb(frame) for frame in frames])
            with self.lock:
                self.wake()
                hints, self.unsent = self.unsent, []
                answers = [] if self.hold else self.held
                self.held = self.held if self.hold else []
            for hint in hints:
                feed.send_multipart(hint)
            for answer in answers:
                if self.spoil:
                    router.send_multipart([answer[0], b"\xc1 not a message", b""])
                    router.send_multipart([answer[0], pack("answer", version=99, req=1, rc="ok")])
                router.send_multipart(answer)
            if time.monotonic() > head_at:
                head_at = time.monotonic() + HEAD_S
                feed.send_multipart([b"head.", pack("head", position=self.head(), at_ms=1)])
            while feed.poll(0):
                feed.recv()
        router.close()
        feed.close()

    def head(self):
        return f"{self.lane}:{len(self.events)}"

    def answer(self, who, ask, *frames):
        if not self.lose(ask["k"], ask):
            self.held.append([who, *frames])

    def question(self, who, frames):
        ask, words = frames[0], frames[1:]
        self.heard.append(ask)
        kind, req = ask["k"], ask["req"]
        if self.busy > 0:
            self.busy -= 1
            head = "events" if kind in ("fetch", "consumer.pull") else "answer"
            self.answer(who, ask, pack(head, req=req, rc="busy"))
        elif kind == "fetch":
            self.fetch(who, ask)
        elif kind == "consumer.open":
            self.open(who, ask)
        elif ask["consumer"] not in self.consumers:
            head = "events" if kind == "consumer.pull" else "answer"
            self.answer(who, ask, pack(head, req=req, rc="notfound", detail="no such consumer"))
        else:
            self.of_consumer(who, ask, words)

    def open(self, who, ask):
        consumer = self.consumers.setdefault(ask["consumer"], Consumer(ask))
        for word, value in consumer.asked.items():
            if ask.get(word) and ask[word] != value:
                self.answer(who, ask, pack("answer", req=ask["req"], rc="conflict", detail=word))
                return
        self.answer(who, ask, pack("answer", req=ask["req"], rc="ok"), consumer.view(ask["consumer"]))

    def of_consumer(self, who, ask, words):
        consumer, now = self.consumers[ask["consumer"]], time.monotonic()
        for word in words:
            assert word["k"] == "settle", word
            consumer.settle(word, now)
        if ask["k"] == "consumer.pull":
            self.waiting.append((who, ask, now + ask.get("wait_ms", 0) / 1000))
            return
        if ask["k"] == "consumer.close":
            self.waiting = [one for one in self.waiting if one[1]["consumer"] != ask["consumer"]
                            or one[1].get("instance") != ask.get("instance")]
            for seq in [s for s, (who_has, _) in consumer.leases.items()
                        if who_has == ask.get("instance")]:
                del consumer.leases[seq]
        self.answer(who, ask, pack("answer", req=ask["req"], rc="ok"))

    def wake(self):
        """Pulls that wait and can be answered."""
        now, waiting = time.monotonic(), []
        for who, ask, until in self.waiting:
            consumer = self.consumers[ask["consumer"]]
            gap = consumer.gap
            if gap and ask.get("gap_seen") == gap[0]:
                gap = consumer.gap = None
            page = consumer.hand_out(self.events, ask, now)
            if not page and not gap and now < until:
                waiting.append((who, ask, until))
                continue
            told = {"gap_before": gap[0], "gap_why": gap[1]} if gap else {}
            self.answer(who, ask, pack("events", req=ask["req"], rc="ok", head=self.head(), **told),
                        *[pack("event", **event) for event in page])
        self.waiting = waiting

    def fetch(self, who, ask):
        after = ask.get("after") or "all"
        head = len(self.events)
        at = {"all": self.kept - 1, "new": head}.get(after)
        if at is None:
            lane, _, seq = after.partition(":")
            at = int(seq) if lane == str(self.lane) and seq.isdigit() else None
        if at is None or at > head:
            self.answer(who, ask, pack("events", req=ask["req"], rc="invalid"))
            return
        gap = at < self.kept - 1
        at = max(at, self.kept - 1)
        page = []
        for event in self.events[at:]:
            at = event["seq"]
            if ask.get("provider") in (None, event["provider"]) and ask.get("state") in (
                    None, event["state"]):
                page.append(pack("event", **event))
            if len(page) == (ask.get("limit") or 1000):
                break
        self.answer(who, ask, pack("events", req=ask["req"], rc="ok", position=f"{self.lane}:{at}",
                                   head=self.head(), **({"gap": True} if gap else {})), *page)
