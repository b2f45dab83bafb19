#!/usr/bin/env python3
"""Hours at half of the highest load, with retention on: memory, files and latency stay flat.

    tests/fault/soak.py [--hours 2] [--share 0.5] [--keep 5m] [--bin BUILD] [--dir FOLDER] [--out FILE]
    tests/fault/soak.py --plot FILE... [--svg FILE]      the plot of what was written (gnuplot)

Callbacks for tasks that were registered a window before come over 64 connections; beside them tasks
at the sandbox whose callbacks are lost, doubled, late and early, submissions, clients of the facade,
lists, and a durable consumer, which must see each event once and in order. At the end every task has
ended, there are as many results as tasks, the consumer has had them all, and the books balance.

A line of FILE is a window: what each process and file had at its end, and how long callbacks took.
Flat: the last third of the run against the first third after the stores were full (three times what is
kept), medians, each within the limits below. Ends with 0 when all is so."""
import argparse
import json
import os
import pathlib
import random
import shutil
import statistics
import subprocess
import sys
import tempfile
import threading
import time

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from bench import measure  # noqa: E402
from soak_plot import plot  # noqa: E402
from support import bus  # noqa: E402
from support.load import Load  # noqa: E402
from support.mixed import Facade, MixedHouse, Visitors  # noqa: E402
from support.orders import Orders  # noqa: E402
from support.settings import merge  # noqa: E402
from support.until import passes, until  # noqa: E402

ROOT = HERE.parents[1]
CONNECTIONS = 64
WINDOW_S = 20
PROBE_S = 8
ROOM = 240000  # callbacks that can't be done in PROBE_S with all else going on
FIRST_MS = 6  # that a callback takes, about
CHUNK = 500  # registrations in one go
SANDBOX = ("--fates", "ok=50,drop=15,double=10,late=10,early=5,reorder=10", "--late", "3", "--solve",
           "0.4", "--pingback", "mixed", "--callback-retries", "2", "--callback-timeout", "4")
# A task of the flood that is not called back in its window is polled, and its provider knows nothing.
PROFILE = {"callback": {"stale_after": "90s"}, "poll": {"schedule": {"give_up_after": "180s"}}}
# Who was purged is remembered for as long as any provider may call again.
FORGET = {"callback": {"provider_retries": "60s"}}
END_S = 400
# Of the last third to the first: a factor, and what is allowed beside it.
LIMITS = {"rss_kib": (1.05, 4096), "fds": (1.0, 8), "threads": (1.0, 2), "bytes": (1.1, 8 << 20),
          "p50_ms": (1.25, 0.5), "p99_ms": (1.5, 5)}


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    add = parser.add_argument
    add("--hours", type=float, default=2)
    add("--share", type=float, default=0.5, help="of the highest load, measured at the start")
    add("--keep", default="5m", help="how long ended tasks, evidence and letters are kept")
    add("--bin", default=os.environ.get("ALDABA_BIN", str(ROOT / "build" / "release")))
    add("--dir", default=str(ROOT / "build"), help="where the stores lie meanwhile")
    add("--out", default="soak.jsonl")
    add("--plot", nargs="+", metavar="FILE")
    add("--svg", default="soak.svg")
    return parser.parse_args()


class Reader(threading.Thread):
    """A durable consumer that must get each number once, in order."""

    def __init__(self, run):
        super().__init__(daemon=True)
        self.channel = bus.Channel(run, "consume")
        (head, *_) = self.channel.ask("consumer.open", consumer="soak", max_ack_pending=10000,
                                      **{"from": "all"})
        assert head["rc"] == "ok", head
        self.count, self.last, self.fault = 0, None, ""
        self.over = threading.Event()
        self.start()

    def run(self):
        settles = []
        while not self.over.is_set() and not self.fault:
            number = self.channel.tell("consumer.pull", *settles, consumer="soak", instance="a",
                                       wait_ms=1000, limit=1000, bytes=4 << 20)
            frames = self.channel.socket.recv_multipart(copy=False)
            head = bus.unpack(frames[0].bytes)
            assert head["req"] == number, head
            settles = self.take(head, frames[1:])
        self.channel.socket.close()

    def take(self, head, frames):
        """What settles them."""
        if head["rc"] != "ok" or head.get("gap"):
            self.fault = f"answered {head}"
        if not frames or self.fault:
            return []
        first, last = bus.unpack(frames[0].bytes), bus.unpack(frames[-1].bytes)
        wanted = first["seq"] if self.last is None else self.last + 1
        if first["seq"] != wanted or last["seq"] - first["seq"] + 1 != len(frames):
            self.fault = f"{first['seq']} to {last['seq']} in {len(frames)} events, {wanted} is next"
        self.last = last["seq"]
        self.count += len(frames)
        return [bus.pack("settle", lane=last["lane"], first=first["seq"], seq=last["seq"],
                         verb="ack")]


class Flood:
    """Tasks of provider ids of one length, registered evenly over a window and called back in the next."""

    def __init__(self, house, folder):
        self.house = house
        self.path = os.path.join(folder, "ids")
        self.first_id = self.next_id = 10**11
        self.answered, self.bad, self.lost = 0, 0, 0
        self.ready, self.coming = [], []  # ids to be called back in this window, and in the next

    def register(self, count, seconds):
        """New ones, which come with the next window; it takes so long."""
        first = self.next_id
        began = time.monotonic()
        for done in range(0, count, CHUNK):
            measure.register(self.house.run, first + done, min(CHUNK, count - done))
            self.next_id = first + min(done + CHUNK, count)
            passes(max(0, began + seconds * (done + CHUNK) / count - time.monotonic()))
        self.coming = list(range(first, self.next_id))
        random.Random(first).shuffle(self.coming)

    def turn(self):
        """The next window: what was left over comes first."""
        self.ready, self.coming = self.ready + self.coming, []

    def shoot(self, seconds, pause_ms):
        """One thread of wrk calls them back in their order, until they or the time are over. Of the last,
        one a connection, it doesn't hear: they come once more, as duplicates."""
        with open(self.path, "w", encoding="ascii") as file:
            file.writelines(f"{number}\n" for number in self.ready)
        shot = measure.shoot(self.house.public.url, self.path, 0, len(self.ready), CONNECTIONS, seconds,
                             threads=1, pause_ms=pause_ms)
        self.ready = self.ready[shot.requests:]
        self.answered += shot.requests - shot.bad
        self.bad += shot.bad
        self.lost += shot.lost
        return shot


class Soak:
    def __init__(self, options):
        self.options = options
        self.folder = tempfile.mkdtemp(prefix="soak-", dir=options.dir)
        self.data = os.path.join(self.folder, "data")
        os.mkdir(self.data, 0o700)
        keep = options.keep
        self.house = MixedHouse(sandbox=SANDBOX, profile=merge(PROFILE, FORGET), settings={
            "providers": {"shop": FORGET},
            "store": {"data": self.data, "keep_results": keep, "keep_evidence": keep,
                      "keep_letters": keep, "max_lag": keep},
            "gateway": {"threads": 128}, "sinks": None})
        self.flood = Flood(self.house, self.folder)
        self.windows = []
        self.began = 0.0

    def run(self):
        with self.house:
            self.house.start()
            reader = Reader(self.house.run)
            parts = [Load(self.house, rate=10), Orders(self.house, provider="shop", orders="", fate="ok"),
                     Facade(self.house), Visitors(self.house, pause_s=5)]
            for part in parts:
                part.__enter__()
            rate = self.highest() * self.options.share
            self.began = time.monotonic()
            print(f"at {rate:.0f} callbacks a second for {self.options.hours} h", flush=True)
            self.go_on(rate, reader)
            for part in parts:
                part.ending.set()
            for part in parts:
                part.__exit__(None)
            return self.demand(reader)

    def highest(self):
        """Tasks a second that are registered, and as many called back at the same time, with everything
        else going on."""
        flood = self.flood
        flood.register(ROOM, 1)
        flood.turn()
        ahead = threading.Thread(target=flood.register, args=(ROOM, 1))
        ahead.start()
        shot = flood.shoot(PROBE_S, 0)
        registered = flood.next_id - flood.first_id - ROOM
        ahead.join()
        while len(flood.ready) + len(flood.coming) > CONNECTIONS:  # of so many it may not have heard
            flood.turn()
            flood.shoot(PROBE_S, 0)
        return min(shot.rate, registered / PROBE_S)

    def go_on(self, rate, reader):
        self.flood.register(int(rate * WINDOW_S), 1)
        pause_ms = 1000 * CONNECTIONS / rate - FIRST_MS
        end = time.monotonic() + self.options.hours * 3600
        with open(self.options.out, "w", encoding="utf-8") as out:
            while time.monotonic() < end and not reader.fault:
                self.flood.turn()
                fresh = int(rate * WINDOW_S)
                ahead = threading.Thread(target=self.flood.register, args=(fresh, WINDOW_S * 0.9))
                ahead.start()
                usage = measure.Usage({name: daemon.pid for name, daemon in self.house.daemons.items()})
                shot = self.flood.shoot(WINDOW_S, max(1, round(pause_ms)))
                ahead.join()
                # What a connection waits beside its pause is not known before: hold the rate, and a
                # little more, so that what is left over gets less.
                pause_ms += 1000 * CONNECTIONS * (1 / (1.03 * rate) - 1 / shot.rate)
                self.windows.append(self.look(shot, usage, reader))
                print(json.dumps(self.windows[-1]), file=out, flush=True)

    def look(self, shot, usage, reader):
        daemons = self.house.daemons.items()
        line = {"s": round(time.monotonic() - self.began), "rate": round(shot.rate), "p50_ms": shot.p50_ms,
                "p99_ms": shot.p99_ms, "max_ms": shot.max_ms, "consumed": reader.count,
                "bad": shot.bad, "lost": shot.lost}
        for what in ("rss_kib", "fds", "threads"):
            line[what] = {name: getattr(daemon, what)() for name, daemon in daemons}
        line["cpu"] = {name: round(spent[0] / WINDOW_S, 3) for name, spent in usage.spent().items()}
        line["bytes"] = {path.name: path.stat().st_size for path in sorted(pathlib.Path(self.data).rglob("*"))
                         if path.is_file() and path.suffix in (".db", ".db-wal", ".spool")}
        return line

    def demand(self, reader):
        """Every task has ended, with one result each, and the consumer has had them all."""
        house = self.house

        def figures(kind, group):
            return bus.figures(house.run, kind)[group]

        until(lambda: figures("audit", "tasks")["open"] == 0, END_S, lambda: figures("audit", "tasks"))
        until(lambda: reader.fault or not self.owed(), 60, lambda: f"{self.owed()} are owed to the consumer")
        reader.over.set()
        audit = until(self.audited, END_S, "what is counted does not stand still")
        print(audit.stdout, audit.stderr)
        flood = self.flood
        print(f"{flood.answered} callbacks of the flood answered, {flood.bad} not with 200, {flood.lost} "
              f"without an answer; the consumer had {reader.count} events, each once, in order")
        assert not reader.fault, reader.fault
        assert audit.returncode == 0 and not flood.bad and not flood.lost
        return verdict(self.windows, 3 * seconds_of(self.options.keep))

    def audited(self):
        """Also with a purge under way, which it can't be held against."""
        done = self.house.aldaba("audit", "--deep")
        return None if "did not stand still" in done.stderr else done

    def owed(self):
        figures = bus.figures(self.house.run, "status")["consumer"]
        return figures["soak.lag"] + figures["soak.pending"]


def seconds_of(text):
    return int(text[:-1]) * {"s": 1, "m": 60, "h": 3600}[text[-1]]


def series(windows):
    """{(what, of whom): [values]}"""
    found = {}
    for window in windows:
        for what in LIMITS:
            value = window[what]
            for whom, one in (value.items() if isinstance(value, dict) else (("", value),)):
                found.setdefault((what, whom), []).append(one)
    return found


def verdict(windows, warm_s):
    """Is it flat? A line for each series."""
    warm = [window for window in windows if window["s"] > warm_s]
    third = len(warm) // 3
    if third < 3:
        print("too short to say whether it is flat")
        return 1
    grown = 0
    for (what, whom), values in series(warm).items():
        first, last = (statistics.median(part) for part in (values[:third], values[-third:]))
        factor, more = LIMITS[what]
        flat = last <= first * factor + more
        grown += not flat
        print(f"{what:8} {whom:16} {first:12.1f} -> {last:12.1f} {'' if flat else 'NOT FLAT'}")
    return 1 if grown else 0


def main():
    options = arguments()
    if options.plot:
        return plot(options.plot, options.svg)
    os.environ["ALDABA_BIN"] = os.path.abspath(options.bin)
    options.dir = os.path.abspath(options.dir)
    soak = Soak(options)
    try:
        return soak.run()
    finally:
        shutil.rmtree(soak.folder, ignore_errors=True)


if __name__ == "__main__":
    sys.exit(main())
