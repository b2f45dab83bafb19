"""The bus, read by somebody who knows the contract and not the code: flat MessagePack maps, `k`
and `v` first, over a DEALER. Used by the tests as an independent reader of docs/PROTOCOL.md."""
import itertools

import msgpack
import zmq

from support.until import until

TIMEOUT_S = 20
FETCH_EVENTS = 500
FETCH_BYTES = 1 << 20

_numbers = itertools.count(1)


class Silent(AssertionError):
    """No answer came."""


def pack(kind, version=1, **fields):
    return msgpack.packb({"k": kind, "v": version, **fields}, use_bin_type=True)


def joined(*items):
    """One frame that holds them all: each as MessagePack bin 32."""
    return b"".join(b"\xc6" + len(item).to_bytes(4, "big") + item for item in items)


def unpack(frame):
    message = msgpack.unpackb(frame, raw=False, strict_map_key=True)
    keys = list(message)
    assert keys[:2] == ["k", "v"], f"a message must begin with k and v: {keys}"
    return message


class Channel:
    """A DEALER on ipc://<run>/<name>. Use as a context manager."""

    def __init__(self, run, name):
        self.context = zmq.Context.instance()
        self.socket = self.context.socket(zmq.DEALER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.setsockopt(zmq.IMMEDIATE, 1)
        self.socket.setsockopt(zmq.SNDTIMEO, TIMEOUT_S * 1000)
        self.socket.connect(f"ipc://{run}/{name}")

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.socket.close()

    def send(self, *frames):
        self.socket.send_multipart(list(frames))

    def receive(self, timeout_s=TIMEOUT_S):
        if not self.socket.poll(int(timeout_s * 1000)):
            raise Silent(f"no message within {timeout_s} s")
        return [unpack(frame) for frame in self.socket.recv_multipart()]

    pack = staticmethod(pack)

    def ask(self, kind, timeout_s=TIMEOUT_S, **fields):
        """Send a question with a number of its own; [head, items...] of the answer to it."""
        return self.ask_with(kind, (), timeout_s, **fields)

    def ask_with(self, kind, frames, timeout_s=TIMEOUT_S, **fields):
        """The same, with frames behind the question."""
        return self.hear(self.tell(kind, *frames, **fields), timeout_s)

    def tell(self, kind, *frames, **fields):
        """Put a question; its number."""
        number = next(_numbers)
        self.send(pack(kind, req=number, **fields), *frames)
        return number

    def hear(self, number, timeout_s=TIMEOUT_S):
        """The answer to the question of this number; others that come before it are dropped."""
        while True:
            answer = self.receive(timeout_s)
            if answer[0].get("req") == number:
                return answer


class Feed:
    """Follows the feed from its beginning: every event, in order, each asked for once."""

    def __init__(self, run, after=""):
        self.run = run
        self.position = after
        self.events = []

    def page(self, channel, filters):
        """An answer to one fetch; None while the tracker's store is being opened again."""
        answer = channel.ask("fetch", after=self.position, limit=FETCH_EVENTS, bytes=FETCH_BYTES,
                             **filters)
        return None if answer[0].get("rc") == "busy" else answer

    def more(self, **filters):
        """Read on to the head; all events so far."""
        with Channel(self.run, "consume") as channel:
            while True:
                head, *items = until(lambda: self.page(channel, filters), 30, "the store is away")
                assert head["k"] == "events" and head.get("rc") == "ok", head
                assert not head.get("gap"), "the feed has a gap"
                self.events += items
                self.position = head["position"]
                if not items or self.position == head.get("head"):
                    return self.events


def figures(run, kind, **fields):
    """The answer to status or audit as {group: {name: value or text}}."""
    books = {}
    with Channel(run, "query") as channel:
        head, *items = channel.ask(kind, **fields)
        assert head.get("rc") == "ok", head
    for item in items:
        value = item.get("text") or item.get("value", 0)
        books.setdefault(item["group"], {})[item["name"]] = value
    return books
