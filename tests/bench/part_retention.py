"""Results and evidence are kept for --keep seconds only, and what is purged answers for itself as long (by
default it does so for a week, and each such task has a row), while tasks are registered and called back at a
steady rate, --retention-load of the highest, for --retention-seconds: an hour's worth of deleting, compressed.

p99 of intake once things are deleted against before, and the largest size of the data folder in the last
third of the time against the middle one.
"""
import os
import threading
import time

from bench import limits, measure, offered, report
from bench.packages import Missing
from bench.stand import Stand
from support.until import passes

PART = "retention"
AHEAD_S = 2  # a task is registered so long before its callback
SAMPLE_S = 0.5
REGISTER_S = 0.1


class Registrar(threading.Thread):
    """Registers ids first..first+count-1 at this rate, AHEAD_S of them at once to begin with."""

    def __init__(self, stand, first, count, rate):
        super().__init__(daemon=True)
        self.stand, self.first, self.count, self.rate = stand, first, count, rate
        self.done = 0
        self.error = None
        self.register(int(rate * AHEAD_S))
        self.start()

    def register(self, count):
        count = min(count, self.count - self.done)
        if count > 0:
            measure.register(self.stand.house.run, self.first + self.done, count)
            self.done += count

    def run(self):
        clock = measure.Clock()
        try:
            while self.done < self.count:
                passes(REGISTER_S)
                self.register(int((clock.seconds() + AHEAD_S) * self.rate) - self.done)
        except AssertionError as error:
            self.error = error


class Sizes(threading.Thread):
    """The size of a folder over time."""

    def __init__(self, folder):
        super().__init__(daemon=True)
        self.folder = folder
        self.samples = []
        self.over = threading.Event()
        self.start()

    def run(self):
        while not self.over.wait(SAMPLE_S):
            self.samples.append(size_of(self.folder))

    def stop(self):
        self.over.set()
        self.join()
        return self.samples


def size_of(folder):
    """What its files take of the disk."""
    total = 0
    for place, _, names in os.walk(folder):
        for name in names:
            try:
                total += os.lstat(os.path.join(place, name)).st_blocks * 512
            except OSError:
                continue  # it is gone
    return total


def growth(samples):
    """The largest of the last third to the largest of the middle one."""
    third = len(samples) // 3
    return max(samples[-third:]) / max(samples[third:2 * third])


def steady(stand, rate, seconds):
    """(what was offered, the sizes, when things began to be deleted in microseconds)"""
    args = stand.args
    count = (int(rate) + args.offered_connections) * seconds
    first = stand.next_id
    stand.next_id += count
    load = offered.Load(stand.house.public.url, offered.ALDABA_WAY, range(first, first + count), rate, seconds,
                        args.offered_connections, stand.folder)
    registrar = Registrar(stand, first, load.offered.count, load.offered.rate)
    begin_us = time.time() * 1e6
    sizes = Sizes(os.path.join(stand.folder, "data"))
    got = load.start().result()
    registrar.join()
    samples = sizes.stop()
    if registrar.error or got.bad:
        stand.faults.append(f"registering: {registrar.error}; {got.bad} callbacks were not answered 200")
    return got, samples, begin_us + args.keep * 1e6


def run(args, found):
    title = "p99 of intake, deleting / not yet"
    try:
        found.facts["versions"].update(offered.needs())
    except Missing as why:
        found.add(report.absent(PART, title, str(why), limits.RETENTION_P99))
        return
    keep = f"{args.keep}s"
    kept = {"store": {"keep_results": keep, "keep_evidence": keep, "keep_letters": keep}}
    with Stand(args, kept, profile={"callback": {"provider_retries": keep}}) as stand:
        room = args.intake_room * args.seconds
        stand.fresh(room)
        highest = stand.shoot(room, 64, args.seconds).rate
        before = stand.arrivals()
        got, samples, delete_us = steady(stand, highest * args.retention_load, args.retention_seconds)
        parked = stand.arrivals().get("parked", 0) - before.get("parked", 0)
        if parked:
            stand.faults.append(f"{parked} callbacks came before their tasks")
        stand.audit()
        found.faults += stand.faults
    write(found, title, got, samples, delete_us)


def write(found, title, got, samples, delete_us):
    calm_ms, busy_ms = got.at(0.99, 0, delete_us), got.at(0.99, delete_us)
    if busy_ms is None or calm_ms is None:
        found.add(report.absent(PART, title, "it was over before anything was deleted", limits.RETENTION_P99))
    else:
        found.add(report.row(PART, title, [busy_ms / calm_ms], limits.RETENTION_P99,
                             notes=f"{calm_ms:.2f} ms before, {busy_ms:.2f} ms after, at {got.rate}/s"))
    found.add(report.row(PART, "size of all files, last third / middle third", [growth(samples)],
                         limits.RETENTION_GROWTH,
                         notes=f"largest {max(samples) / 2**20:.0f} MiB, {got.answered:,} callbacks in all"))
