"""The dlq as a real process, with the test as its tracker: a channel that brings letters, and the
ROUTER `events` that judges what is sent back."""
import hashlib
import itertools
import os
import shutil
import tempfile
import threading
import time

import zmq

from support import bus
from support.daemon import Daemon
from support.house import binary
from support.settings import merge, to_yaml
from support.until import until

SOON_S = 15
MAX_ITEM = 1 << 20
ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
SENDER = "01HTRACKERSENDER0000000000"
SMALL_QUARANTINE = "quarantine_size_mb=1:"  # else a sanitizer's build grows by what it keeps
QUICK = {"first_after": "100ms", "factor": "100%", "max_after": "100ms", "jitter": "0%",
         "max_attempts": 3, "tick": "20ms"}
LATER = {**QUICK, "first_after": "1h", "max_after": "1h"}
FIGURES_OF_BOOKS = ("open", "held", "resolved", "dropped")

_ids = itertools.count(1)


def ulid():
    """Rising within this run of the test."""
    number, text = (int(time.time() * 1000) << 80) + (next(_ids) << 16), ""
    for _ in range(26):
        number, digit = divmod(number, 32)
        text = ALPHABET[digit] + text
    return text


def mark(letter):
    return int.from_bytes(hashlib.sha256(letter.encode()).digest()[:8], "big") >> 11


def letter(num, reason="unknown_task", **more):
    fields = {"num": num, "letter": ulid(), "reason": reason, "cause": "The test made it.",
              "provider": "demo", "provider_id": "4711", "proof": "id",
              "made_at_ms": int(time.time() * 1000), "original": os.urandom(40)}
    fields.update(more)
    return fields


class Events:
    """The tracker's channel `events`: takes re-injections and closings, answers as `judge` says."""

    def __init__(self, run, instance="T1", max_item=MAX_ITEM):
        self.instance = instance
        self.max_item = max_item
        self.judge = lambda item: {"disposition": "applied"}
        self.items = []  # in the order of arrival, repeats too
        self.heads = []
        self.ending = threading.Event()
        self.socket = zmq.Context.instance().socket(zmq.ROUTER)
        self.socket.setsockopt(zmq.LINGER, 0)
        self.socket.bind(f"ipc://{run}/events")
        self.thread = threading.Thread(target=self.run, daemon=True)
        self.thread.start()

    def run(self):
        while not self.ending.is_set():
            if self.socket.poll(5):
                who, *frames = self.socket.recv_multipart()
                self.take(who, [bus.unpack(frame) for frame in frames])
        self.socket.close()

    def stop(self):
        self.ending.set()
        self.thread.join()

    def take(self, who, messages):
        head, *items = messages
        if head["k"] == "hello":
            welcome = bus.pack("welcome", instance=self.instance, max_item=self.max_item)
            self.socket.send_multipart([who, welcome])
            return
        assert head["k"] == "batch", head
        self.heads.append(head)
        acks = []
        for item in items:
            self.items.append(item)
            verdict = self.judge(item)
            if verdict:
                acks.append(bus.pack("ack", num=item["num"], **verdict))
        if acks:
            head = bus.pack("acks", instance=self.instance, batch=head["batch"])
            self.socket.send_multipart([who, head, *acks])

    def of(self, letter_id, kind="reinject"):
        return [i for i in self.items if i["k"] == kind and i["letter"] == letter_id]


class Desk:
    """The dlq, its folder, and a channel to it."""

    def __init__(self, settings=None, dlq=None):
        self.folder = tempfile.mkdtemp(prefix="ald-")
        self.run = os.path.join(self.folder, "run")
        os.mkdir(self.run, 0o700)
        self.data = os.path.join(self.folder, "data")
        self.settings = merge({"bus": {"run": self.run}, "store": {"data": self.data},
                               "dlq": dlq or QUICK}, settings or {})
        self.config = os.path.join(self.folder, "aldaba.yaml")
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(to_yaml(self.settings) + "\n")
        sanitizer = SMALL_QUARANTINE + os.environ.get("ASAN_OPTIONS", "")
        self.daemon = Daemon("dlq", [binary("aldaba-dlq"), "--config", self.config], self.folder,
                             env={"ASAN_OPTIONS": sanitizer})
        self.events = None
        self.batches = itertools.count(1)
        self.channel = None

    def __enter__(self):
        self.daemon.start()
        self.connect()
        return self

    def __exit__(self, kind, *_):
        if kind:
            print(self.daemon.tail())
        if self.events:
            self.events.stop()
        self.channel.socket.close()
        self.daemon.clean()
        shutil.rmtree(self.folder, ignore_errors=True)

    def connect(self):
        if self.channel:
            self.channel.socket.close()
        self.channel = bus.Channel(self.run, "letters")

    def tracker(self, **more):
        self.events = Events(self.run, **more)
        return self.events

    def restart(self):
        self.daemon.restart()
        self.connect()

    def send(self, *letters, floor=1):
        number = next(self.batches)
        self.channel.send(bus.pack("batch", sender=SENDER, instance="T1", batch=number, floor=floor),
                          *[bus.pack("closing" if "state" in fields else "letter", **fields)
                            for fields in letters])
        return number

    def put(self, *letters, floor=1):
        """Send letters; {num: ack} of the answer."""
        number = self.send(*letters, floor=floor)
        head, *acks = self.channel.receive()
        assert (head["k"], head["batch"]) == ("acks", number), head
        return {ack["num"]: ack for ack in acks}

    def keep(self, *letters):
        for ack in self.put(*letters).values():
            assert ack["disposition"] == "applied", ack
        return letters[0]["letter"]

    def ask(self, kind, **fields):
        head, *items = self.channel.ask(kind, **fields)
        return head, items

    def history(self, letter_id, **fields):
        head, (view, *lines) = self.ask("letter.show", letter=letter_id, **fields)
        assert head["rc"] == "ok", head
        return view, lines

    def show(self, letter_id):
        """The letter and its attempts."""
        view, lines = self.history(letter_id)
        return view, [line for line in lines if line["attempt"]]

    def state(self, letter_id):
        return self.show(letter_id)[0]["state"]

    def until_state(self, letter_id, state):
        until(lambda: self.state(letter_id) == state, SOON_S,
              lambda: f"{self.show(letter_id)} is not {state}")

    def figures(self):
        head, items = self.ask("status")
        assert head["rc"] == "ok", head
        assert all(item["group"] == "letters" for item in items)
        return {item["name"]: item.get("value", 0) for item in items}

    def books(self):
        figures = self.figures()
        return tuple(figures[name] for name in FIGURES_OF_BOOKS)

    def healthy(self):
        with bus.Channel(self.run, "control-dlq") as control:
            return control.ask("control", what="health")[0]
