"""What an event costs the tracker for each durable consumer that it is delivered to, by how many there are;
and what a slow consumer costs the others.

Each time, new callbacks come in, and then all consumers read the whole backlog of --events. A slow one takes
one event at a time and settles it when the next one is asked for, for as long as the others read.
"""
import threading

from bench import consume, limits, measure, report
from bench.stand import Stand

PART = "feed"


class Slow(threading.Thread):
    """It asks for one event, and for the next one when PAUSE_S have passed."""
    PAUSE_S = 0.2

    def __init__(self, run, name):
        super().__init__(daemon=True)
        self.over = threading.Event()
        self.count = 0
        self.channel = consume.bus.Channel(run, "consume")
        (head, *_) = self.channel.ask("consumer.open", consumer=name, max_ack_pending=1000, **{"from": "all"})
        assert head["rc"] == "ok", head
        self.one = consume.Consumer(run, name, {"limit": 1, "bytes": 1 << 20})
        self.start()

    def run(self):
        while not self.over.wait(self.PAUSE_S):
            if self.one.channel.socket.poll(0):
                self.count += self.one.take()[0]

    def stop(self):
        self.over.set()
        self.join()
        self.one.channel.socket.close()
        self.channel.ask("consumer.delete", consumer=self.one.name)
        self.channel.socket.close()
        return self.count


def delivered(stand, names):
    """(events a second of all together, microseconds of the tracker's processor an event)"""
    before = measure.cpu_s(stand.tracker.pid)
    readers = consume.Reader(stand, names, "all")
    try:
        readers.until(stand.args.events * len(names), 1800)
        spent = measure.cpu_s(stand.tracker.pid) - before
        return readers.rate, spent * 1e6 / readers.count
    finally:
        readers.stop()


def fill(stand):
    """So many events are in the feed, or a few more."""
    args = stand.args
    while stand.arrivals().get("applied", 0) < args.events:
        stand.fresh(args.intake_room * args.seconds)
        stand.shoot(args.intake_room * args.seconds, 64, args.seconds)


def costs(stand, found):
    first = None
    for count in stand.args.consumers:
        turns = [delivered(stand, [f"c{count}-{number}-{one}" for one in range(count)])
                 for number in range(stand.args.rounds)]
        cost = report.row(PART, f"processor of the tracker for a delivered event, {count} consumers",
                          [us for _, us in turns], unit="us",
                          notes=f"{report.row(PART, '', [rate for rate, _ in turns]).value:.0f} events/s"
                          " of all together")
        found.add(cost)
        first = first or cost.value
        print(f"{count} consumers: {cost.value:.2f} us an event, {cost.value / first:.2f} of one alone",
              flush=True)


def slow(stand, found):
    count = min(10, max(stand.args.consumers))
    ratios = []
    for number in range(stand.args.rounds):
        def names(kind):
            return [f"{kind}{number}-{one}" for one in range(count)]
        alone, _ = delivered(stand, names("alone"))
        laggard = Slow(stand.house.run, f"slow-{number}")
        beside, _ = delivered(stand, names("beside"))
        laggard.stop()
        ratios.append(beside / alone)
    found.add(report.row(PART, f"{count} consumers with a slow one beside them / without", ratios,
                         limits.FEED_SLOW, notes=f"the slow one took {laggard.count} events meanwhile"))


def run(args, found):
    with Stand(args, args.settings) as stand:
        fill(stand)
        costs(stand, found)
        slow(stand, found)
        stand.audit()
        found.faults += stand.faults
