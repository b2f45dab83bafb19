"""A durable consumer in a few lines, on pyzmq and msgpack alone: what docs/PROTOCOL.md says, and
nothing of aldaba's code.

    with Consumer(house.run, "billing") as billing:
        billing.open(start="all")
        for event in billing.pull(wait_ms=1000):
            billing.ack(event)
"""
from support.bus import Channel, Silent
from support.until import until

ANSWER_S = 20


class Refused(AssertionError):
    """The tracker said another word than ok."""


class Consumer:
    """One instance of a consumer. Settlements are kept until the next pull, which takes them along."""

    def __init__(self, run, name, instance="a"):
        self.run = run
        self.name = name
        self.instance = instance
        self.channel = Channel(run, "consume")
        self.settles = []
        self.head = {}

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.channel.socket.close()

    # ---- words ----

    def ask(self, kind, *frames, timeout_s=ANSWER_S, **fields):
        """[head, items...] of an answer; asked again while the store is away."""
        return until(lambda: self.ask_once(kind, frames, timeout_s, fields), 60,
                     f"{kind} is not answered")

    def ask_once(self, kind, frames, timeout_s, fields):
        fields = {"consumer": self.name, "instance": self.instance, **fields}
        try:
            answer = self.channel.ask_with(kind, frames, timeout_s, **fields)
        except Silent:
            return None  # the tracker was killed with the question: ask again
        return None if answer[0].get("rc") == "busy" else answer

    def demand(self, kind, *frames, rc=("ok",), **fields):
        head, *items = self.ask(kind, *frames, **fields)
        if head.get("rc") not in rc:
            raise Refused(head)
        return head, items

    def open(self, start="new", rc=("ok", "exists"), **fields):
        _, (view,) = self.demand("consumer.open", rc=rc, **{"from": start}, **fields)
        return view

    def pull(self, limit=100, wait_ms=0, **fields):
        """Settle what was said since the last time, and the next events."""
        settles, self.settles = self.settles, []
        self.head, events = self.demand("consumer.pull", *settles, limit=limit, wait_ms=wait_ms,
                                        timeout_s=ANSWER_S + wait_ms / 1000, **fields)
        return events

    def settle(self):
        """Say it now."""
        settles, self.settles = self.settles, []
        self.demand("consumer.settle", *settles)

    def view(self):
        _, items = self.demand("consumer.list")
        return items[0]

    def close(self):
        self.demand("consumer.close")

    def delete(self):
        self.demand("consumer.delete")

    # ---- settlements ----

    def say(self, verb, event, **fields):
        self.settles.append(self.channel.pack("settle", verb=verb, lane=event["lane"],
                                              seq=event["seq"], **fields))

    def ack(self, event):
        self.say("ack", event)

    def ack_all(self, events):
        if events:
            self.say("ack", events[-1], first=events[0]["seq"])

    def nack(self, event, delay_ms=0, reason=""):
        self.say("nack", event, delay_ms=delay_ms, reason=reason)

    def reject(self, event, reason=""):
        self.say("reject", event, reason=reason)

    def extend(self, event, delay_ms=0):
        self.say("extend", event, delay_ms=delay_ms)
