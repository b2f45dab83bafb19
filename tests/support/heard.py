"""Durable consumers as processes, and what their logs say of them (support/consumer.py)."""
import collections
import os
import sys

from support.daemon import Daemon

CONSUMER = os.path.join(os.path.dirname(os.path.abspath(__file__)), "consumer.py")


def consumers_of(house, consumers):
    """Not started yet. consumers: {name: (mode, instances)}"""
    return [Daemon(f"{name}{number}",
                   [sys.executable, CONSUMER, house.run, name, f"{name}{number}",
                    os.path.join(house.folder, f"{name}{number}.events"), mode], house.folder)
            for name, (mode, count) in consumers.items() for number in range(count)]


WAKES_NS = 2_000_000_000


def slept(stops, who, at):
    """Did it stand still just before?"""
    return any(name == who and begin < at < end + WAKES_NS for begin, end, name in stops)


class Heard:
    """What the logs of a consumer's instances say, in the order in which it happened."""

    def __init__(self, house, name, instances):
        self.lines = []  # (ns, word, (lane, seq), instance, redelivered)
        for instance in range(instances):
            who = f"{name}{instance}"
            with open(os.path.join(house.folder, f"{who}.events"), encoding="ascii") as log:
                whole = [line.split() for line in log.read().split("\n")[:-1]]
            self.lines += [(int(at), word, (int(lane), int(seq)), who, "1" in more)
                           for word, at, lane, seq, *more in whole]
        self.lines.sort()

    def got(self):
        return {event for _, word, event, _, _ in self.lines if word == "got"}

    def demand(self, strikes, ordered, stops=()):
        """In order, if it is wanted; never again what is settled; what comes twice says so, and was in
        somebody's hands at a strike (monotonic ns, name) at them or at the tracker. Who stood still
        (from ns, to ns, name) may read then what was sent to it before, and has gone to another since.
        How many came again."""
        got = collections.defaultdict(list)
        acked = {}
        high = (0, 0)
        for at, word, event, who, redelivered in self.lines:
            if word == "ack":
                acked.setdefault(event, at)
                continue
            if (got[event] or event in acked) and slept(stops, who, at):
                got[event].append((at, who))
                continue
            assert event not in acked, f"{event} came again after its ack was on disk"
            if got[event]:
                last, holder = got[event][-1]
                assert redelivered, f"{event} came twice, and does not say so"
                assert any(last < when < at and name in (holder, "tracker")
                           for when, name in strikes), f"{event} came again, and nobody was struck"
            elif ordered and not redelivered:
                assert event > high, f"{event} came after {high}"
            high = max(high, event) if not redelivered else high
            got[event].append((at, who))
        return sum(len(several) - 1 for several in got.values())
