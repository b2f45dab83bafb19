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


def struck(strikes, troubles, since, at, names):
    return any(since < when < at and name in names for when, name in strikes) or \
        any(since < end and begin < at and name in names for begin, end, name in troubles)


class Heard:
    """What the logs of a consumer's instances say, in the order in which it happened."""

    def __init__(self, house, name, instances):
        self.lines = []  # (ns, word, (lane, seq), instance, redelivered, asked ns)
        for instance in range(instances):
            who = f"{name}{instance}"
            with open(os.path.join(house.folder, f"{who}.events"), encoding="ascii") as log:
                whole = [line.split() for line in log.read().split("\n")[:-1]]
            self.lines += [(int(at), word, (int(lane), int(seq)), who, more[:1] == ["1"], int((more or [0])[-1]))
                           for word, at, lane, seq, *more in whole]
        self.lines.sort()

    def got(self):
        return {event for _, word, event, *_ in self.lines if word == "got"}

    def of(self, event):
        return [line for line in self.lines if line[2] == event]

    def demand(self, strikes, ordered, stops=(), troubles=()):
        """In order, if it is wanted; what is settled comes to nobody who asks afterwards (who asked before
        may read late what was on its way); what comes twice says so, and since the one before asked there
        was a strike (monotonic ns, name) or a trouble (from ns, to ns, name) at them or at the tracker.
        Who stood still (from ns, to ns, name) may read then what was sent to it before, and has gone to
        another since. How many came again."""
        got = collections.defaultdict(list)  # event -> (asked, instance, redelivered)
        acked = {}
        high = (0, 0)
        for at, word, event, who, redelivered, asked in self.lines:
            if word == "ack":
                acked.setdefault(event, at)
                continue
            before = got[event]
            if not ((before or event in acked) and slept(stops, who, at)):
                assert asked < acked.get(event, asked + 1), \
                    f"{event} came again to who asked after its ack was on disk: {self.of(event)}"
                if before:
                    assert redelivered or all(said for *_, said in before), \
                        f"{event} came twice, and does not say so: {self.of(event)}"
                    since, holder, _ = before[-1]
                    assert struck(strikes, troubles, since, at, (holder, "tracker")), \
                        f"{event} came again, and nobody was struck: {self.of(event)}"
                elif ordered and not redelivered:
                    assert event > high, f"{event} came after {high}"
                high = max(high, event) if not redelivered else high
            before.append((asked, who, redelivered))
        return sum(len(several) - 1 for several in got.values())
