"""A durable consumer as a process of its own, to be killed: pulls, writes down what it got, settles
with the next pull. python3 consumer.py RUN CONSUMER INSTANCE LOG MODE

A line of LOG, written before anything is said about the event: `got TIME LANE SEQ REDELIVERED ASKED`,
and `ack TIME LANE SEQ` when the tracker has said that it is on disk. TIME is monotonic, of the machine;
ASKED is when the pull was sent that the event answers.
"""
import os
import sys
import time

import msgpack
import zmq

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.until import passes  # noqa: E402

LIMIT = 50
WAIT_MS = 1000
SILENCE_MS = 3000
WORK_S = 0.1  # that a page takes it, and in which it may be killed with the page in hand


class Consumer:
    def __init__(self, run, name, instance, log):
        self.who = {"consumer": name, "instance": instance}
        self.log = open(log, "a", buffering=1, encoding="ascii")
        self.socket = zmq.Context().socket(zmq.DEALER)
        self.socket.linger = 0
        self.socket.connect(f"ipc://{run}/consume")
        self.number = 0
        self.told = {}  # number of a pull -> when it was sent, the events that it settles
        self.done = []  # events to be settled by the next pull

    def note(self, word, event, *more):
        print(word, time.monotonic_ns(), event["lane"], event["seq"], *more, file=self.log)

    def say(self, kind, *frames, **fields):
        self.number += 1
        head = {"k": kind, "v": 1, "req": self.number, **self.who, **fields}
        self.socket.send_multipart([msgpack.packb(head), *frames])
        return self.number

    def hear(self):
        """An answer, whichever it is; None after a silence."""
        if not self.socket.poll(SILENCE_MS):
            return None
        return [msgpack.unpackb(frame) for frame in self.socket.recv_multipart()]

    def open(self, mode):
        while True:
            number = self.say("consumer.open", **{"from": "all"}, mode=mode)
            answer = self.hear()
            if answer and answer[0]["req"] == number and answer[0]["rc"] in ("ok", "exists"):
                return

    def pull(self):
        settles = [msgpack.packb({"k": "settle", "v": 1, "lane": event["lane"],
                                  "seq": event["seq"], "verb": "ack"}) for event in self.done]
        asked = time.monotonic_ns()
        number = self.say("consumer.pull", *settles, limit=LIMIT, wait_ms=WAIT_MS)
        self.told[number] = (asked, self.done)

    def take(self, head, events):
        """Also of a pull that was thought to be lost: its events are ours all the same."""
        asked, settled = self.told.pop(head["req"], (0, None))
        if settled is None or head["rc"] != "ok":
            return
        for event in settled:
            self.note("ack", event)
        gone = {(event["lane"], event["seq"]) for event in settled}
        self.done = [event for event in self.done if (event["lane"], event["seq"]) not in gone]
        for event in events:
            self.note("got", event, int(event.get("redelivered", False)), asked)
        if events:
            passes(WORK_S)
        self.done = self.done + events

    def serve(self):
        while True:
            self.pull()
            answer = self.hear()
            while answer:
                self.take(answer[0], answer[1:])
                if answer[0]["req"] == self.number:
                    break
                answer = self.hear()


if __name__ == "__main__":
    RUN, NAME, INSTANCE, LOG, MODE = sys.argv[1:]
    consumer = Consumer(RUN, NAME, INSTANCE, LOG)
    consumer.open(MODE)
    print("ready", file=sys.stderr, flush=True)
    consumer.serve()
