"""What a callback, a tick and a task cost by how many tasks are pending, and how long a restart takes.

At each of --sizes so many tasks are pending, plus those that are called back in this round, drawn at random
from all of them. A tick with nothing stale: the tracker's processor time while nothing happens. Memory:
the tracker's own (anonymous) memory, by how much it grows between the two largest sizes, where SQLite's
cache has long been full.
"""
import random

from bench import limits, measure, report
from bench.stand import Stand
from support.until import passes

PART = "flat"
READY_S = 600
CALM_S = 5  # after registering, until the store has settled


class Pool:
    """Provider ids of pending tasks; some are taken at random. What was taken and is not called back stays
    pending at the tracker, and is not shot at again."""

    def __init__(self):
        self.ids = []
        self.random = random.Random(1)

    def add(self, first, count):
        self.ids.extend(range(first, first + count))

    def take(self, count):
        taken = []
        for _ in range(count):
            at = self.random.randrange(len(self.ids))
            self.ids[at], self.ids[-1] = self.ids[-1], self.ids[at]
            taken.append(self.ids.pop())
        return taken


class Flat:
    def __init__(self, stand):
        self.stand, self.args = stand, stand.args
        self.pool = Pool()
        self.open = self.most = 0
        self.rate = float("inf")  # of the last shot: what a shot needs is not known before the first

    def grow(self, size, count=0):
        """size tasks are pending, and count of them can be shot at."""
        missing = max(size - self.open, count - len(self.pool.ids))
        if missing > 0:
            self.pool.add(self.stand.register(missing), missing)
            self.open += missing

    def callbacks(self, size):
        """Callbacks a second while at least size tasks are pending."""
        count = int(min(self.args.intake_room, self.rate * 1.5) * self.args.seconds)
        self.grow(size + count, count)
        self.most = max(self.most, self.open)
        measure.write_lines(self.stand.ids, self.pool.take(count))
        before = self.stand.arrivals().get("applied", 0)
        shot = self.stand.shoot(count, 64, self.args.seconds)
        self.open -= self.stand.arrivals().get("applied", 0) - before
        self.rate = shot.rate
        return shot

    def idle_ms(self):
        """Milliseconds of processor time a second of nothing."""
        passes(CALM_S)
        pid = self.stand.tracker.pid
        before = measure.cpu_s(pid)
        passes(self.args.idle_seconds)
        return (measure.cpu_s(pid) - before) / self.args.idle_seconds * 1000

    def restart_s(self):
        """From its stop's end until it is ready: it has read all back."""
        self.stand.tracker.stop(120)
        clock = measure.Clock()
        self.stand.tracker.launch().until_ready(READY_S)
        took = clock.seconds()
        self.stand.house.until_serving(60)
        return took


def run(args, found):
    with Stand(args, args.settings) as stand:
        flat = Flat(stand)
        rates, ticks, memory = {}, {}, {}
        for size in args.sizes:
            flat.grow(size)
            memory[size] = (flat.open, measure.anonymous_bytes(stand.tracker.pid))
            ticks[size] = flat.idle_ms()
            flat.most = 0
            shots = [flat.callbacks(size) for _ in range(args.rounds)]
            rates[size] = found.add(report.row(PART, f"callbacks, {size:,} pending",
                                               [shot.rate for shot in shots], unit="/s",
                                               notes=f"at first {flat.most:,}, with those that are called back"))
            found.add(report.row(PART, f"a second of nothing, {size:,} pending", [ticks[size]], unit="ms CPU"))
            print(f"{size:9} pending: {rates[size].value:.0f}/s, {ticks[size]:.2f} ms CPU a second of nothing,"
                  f" tracker {memory[size][1] / 2**20:.0f} MiB", flush=True)
        restart(flat, found)
        ratios(args, found, rates, ticks, memory)
        stand.audit()
        found.faults += stand.faults


def restart(flat, found):
    took = flat.restart_s()
    held = measure.anonymous_bytes(flat.stand.tracker.pid)
    found.add(report.row(PART, "restart until ready", [took], limits.FLAT_RESTART_S, "s",
                         f"{flat.open:,} pending; the tracker then has {held / 2**20:.0f} MiB of its own,"
                         f" {held / max(1, flat.open):.0f} bytes a task, SQLite's cache included"))


def ratios(args, found, rates, ticks, memory):
    small, large = args.sizes[0], args.sizes[-1]
    found.add(report.row(PART, f"callbacks, {large:,} pending / {small:,}",
                         [rates[large].value / rates[small].value], limits.FLAT_RATE))
    found.add(report.row(PART, f"a second of nothing, {large:,} pending / {small:,}",
                         [ticks[large] / max(ticks[small], 1e-6)], limits.FLAT_TICK))
    if len(args.sizes) > 1:
        (few, less), (many, more) = memory[args.sizes[-2]], memory[large]
        found.add(report.row(PART, "memory of a pending task", [(more - less) / max(1, many - few)],
                             limits.FLAT_BYTES, "bytes", f"between {few:,} and {many:,} pending"))
