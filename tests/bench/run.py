#!/usr/bin/env python3
"""How fast callbacks are taken in, as ratios to what the HTTP library alone can do here and now.

    tests/bench/run.py [--bin BUILD] [--dir FOLDER] [--rounds 3] [--seconds 4]
                       [--connections 16,64] [--tasks 1000000]

In one run, by turns: an empty handler on the gateway's library with the gateway's options, and
gateway + tracker + dlq, which answer 200 when a callback is deduplicated, stored and published.
Both get the same requests: POST forms over keep-alive connections, each for another of the tasks
registered before, in uniformly random order. After each round the books must have as many callbacks
as were answered. Then the cost of a callback with --tasks tasks in one store (0: left out).

Figures differ from machine to machine; ratios of one run are to be compared, medians of rounds.
"""
import argparse
import os
import shutil
import statistics
import sys
import tempfile
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from bench import measure  # noqa: E402
from support import house as houses  # noqa: E402
from support.daemon import Daemon  # noqa: E402
from support.http import Client  # noqa: E402
from support.settings import free_port  # noqa: E402
from support.until import until  # noqa: E402

THREADS = 128  # of the HTTP library, in both
ROOM = 150000  # callbacks a second that a round is prepared for
PATIENT = {
    "callback": {"stale_after": "12h"},
    "poll": {"schedule": {"give_up_after": "24h"}},
}
WANTED = {16: (0.25, 0.30), 64: (0.33, 0.40)}
WANTED_P99_MS = 20
WANTED_FLAT = 0.8


class Bench:
    def __init__(self, args):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="bench-", dir=args.dir)
        self.ids = os.path.join(self.folder, "ids")
        self.next_id = 10**11  # provider ids of one length
        self.empty = Daemon("empty", [f"{args.bin}/tests/bench/empty_http", THREADS], self.folder)
        settings = {"store": {"data": os.path.join(self.folder, "data")},
                    "gateway": {"threads": THREADS}, "tracker": {"max_open": 100000000},
                    **args.settings}
        self.house = houses.House(pollers=0, settings=settings, profile=PATIENT)
        self.faults = []

    def __enter__(self):
        os.mkdir(os.path.join(self.folder, "data"), 0o700)
        self.empty.start()
        self.house.__enter__()
        self.house.provider = Client(free_port())  # nobody: nothing is polled here
        self.house.write_settings()
        self.house.start_daemons()
        return self

    def __exit__(self, *_):
        self.house.__exit__()
        self.empty.clean()
        shutil.rmtree(self.folder, ignore_errors=True)

    def register(self, count):
        """New open tasks whose ids stand shuffled in self.ids; tasks a second."""
        measure.write_ids(self.ids, self.next_id, count, seed=self.next_id)
        rate = measure.register(self.house.run, self.next_id, count)
        self.next_id += count
        return rate

    def shoot(self, url, count, connections, seconds):
        return measure.shoot(url, self.ids, 0, count, connections, seconds, self.args.wrk_threads)

    def callbacks(self, count, connections, seconds):
        """A run of wrk against aldaba, with the proof that the books hold what was answered."""
        usage = measure.Usage({name: daemon.pid for name, daemon in self.house.daemons.items()})
        before = measure.arrivals(self.house.run)
        shot = self.shoot(self.house.public.url, count, connections, seconds)
        spent = usage.spent()
        self.prove(before, shot, connections)
        return shot, spent

    def prove(self, before, shot, connections):
        """Applied = acknowledged. wrk goes away without its last answers, one a connection."""
        answered = shot.requests - shot.bad

        def delta():
            after = measure.arrivals(self.house.run)
            return {name: after[name] - before.get(name, 0) for name in after
                    if after[name] != before.get(name, 0)}

        def settled():
            first, second = delta(), delta()
            return first if first == second and first.get("received", 0) >= answered else None

        got = until(settled, 30, lambda: f"{delta()} in the books, but {answered} were answered")
        applied, twice = got.get("applied", 0), got.get("duplicate", 0)
        whole = applied + twice == got["received"]
        if shot.bad or shot.lost or not whole or got["received"] > answered + connections \
                or twice > connections:
            self.faults.append(f"books {got}, answered {answered}, bad {shot.bad},"
                               f" lost {shot.lost}")
        shot.proof = f"200s {answered}, applied {applied}, duplicates {twice}"

    def audit(self):
        done = self.house.aldaba("audit")
        if done.returncode != 0:
            self.faults.append(f"aldaba audit: {done.stdout}{done.stderr}")


def pair(bench, connections):
    """Rounds of empty handler and aldaba by turns; the ratio of the medians' rates."""
    args = bench.args
    ratios, empties, shots = [], [], []
    for number in range(args.rounds):
        count = ROOM * args.seconds
        registered = bench.register(count)
        usage = measure.Usage({"empty": bench.empty.pid})
        empty = bench.shoot(f"http://127.0.0.1:{bench.empty.facts['port']}", count, connections,
                            args.seconds)
        empty_cpu = usage.spent()["empty"]
        shot, spent = bench.callbacks(count, connections, args.seconds)
        ratios.append(shot.rate / empty.rate)
        empties.append(empty)
        shots.append(shot)
        print(f"{connections:3} connections, round {number + 1}: empty {empty.rate:8.0f}/s,"
              f" aldaba {shot.rate:8.0f}/s, ratio {ratios[-1]:.3f};"
              f" p50 {shot.p50_ms:.2f} ms, p99 {shot.p99_ms:.2f} ms, max {shot.max_ms:.1f} ms;"
              f" {shot.proof}; registered {registered:.0f}/s", flush=True)
        rows({"empty": empty_cpu, "its wrk": empty.spent}, empty)
        rows({**spent, "wrk": shot.spent}, shot)
    ratio = statistics.median(ratios)
    p99 = statistics.median(shot.p99_ms for shot in shots)
    floor, aim = WANTED.get(connections, (0, 0))
    print(f"{connections:3} connections, median: ratio {ratio:.3f} (floor {floor}, aim {aim}),"
          f" p99 {p99:.2f} ms of at most {WANTED_P99_MS}, empty p99"
          f" {statistics.median(shot.p99_ms for shot in empties):.2f} ms\n", flush=True)


def rows(spent, shot):
    """Of each process, and in a last line how much of all processors they had together."""
    for name, (cpu, waits, others) in spent.items():
        print(f"      {name:8} {cpu * 1e6 / shot.requests:6.1f} us CPU,"
              f" {waits / shot.requests:5.2f} waits,"
              f" {others / shot.requests:5.2f} preemptions a request")
    total = sum(cost[0] for cost in spent.values())
    print(f"      together {total * 1e6 / shot.requests:6.1f} us CPU,"
          f" {total / shot.seconds / os.cpu_count():.0%} of all processors")


def flat(bench):
    """All tasks open at once, then all called back in random order: the last tenth of the run
    against the first."""
    total = bench.args.tasks
    few = ROOM * 2
    bench.register(few)
    small, _ = bench.callbacks(few, 64, 2)
    registered = bench.register(total)
    samples, over = [(0.0, 0)], threading.Event()
    base = measure.arrivals(bench.house.run).get("applied", 0)

    def sample():
        began = time.perf_counter()
        while not over.wait(0.1):
            applied = measure.arrivals(bench.house.run).get("applied", 0) - base
            samples.append((time.perf_counter() - began, applied))

    watch = threading.Thread(target=sample, daemon=True)
    watch.start()
    # wrk goes on for its whole time, also when the callbacks are used up: rates come from samples.
    shot, spent = bench.callbacks(total, 64, int(total / small.rate * 1.5) + 5)
    over.set()
    watch.join()
    rate = tenth_rate(samples, 0, total * 0.99)
    first = tenth_rate(samples, 0, total * 0.09)
    last = tenth_rate(samples, total * 0.9, total * 0.99)
    print(f"{total} tasks, called back in random order at 64 connections: {rate:.0f}/s,"
          f" p50 {shot.p50_ms:.2f} ms, p99 {shot.p99_ms:.2f} ms, max {shot.max_ms:.1f} ms;"
          f" {shot.proof}; registered {registered:.0f}/s")
    tenths = (tenth_rate(samples, total * i / 10, total * (i + 0.9) / 10) for i in range(10))
    print(f"      by tenths: {' '.join(f'{rate:.0f}' for rate in tenths)} a second")
    rows({**spent, "wrk": shot.spent}, shot)
    print(f"      last tenth to first {last / first:.2f} (wanted {WANTED_FLAT});"
          f" all to a store of {few} tasks ({small.rate:.0f}/s) {rate / small.rate:.2f}\n",
          flush=True)


def tenth_rate(samples, low, high):
    began = time_of(samples, low)
    ended = time_of(samples, high)
    return (high - low) / max(ended - began, 1e-9)


def time_of(samples, count):
    """When so many were applied, between two samples in proportion."""
    for (t0, n0), (t1, n1) in zip(samples, samples[1:]):
        if n1 >= count:
            return t0 if n1 == n0 else t0 + (t1 - t0) * max(0, count - n0) / (n1 - n0)
    return samples[-1][0]


def arguments():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("ALDABA_BIN", f"{ROOT}/build/release"))
    parser.add_argument("--dir", default=f"{ROOT}/build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--connections", default="16,64")
    parser.add_argument("--tasks", type=int, default=1000000)
    parser.add_argument("--wrk-threads", type=int, default=2)
    args = parser.parse_args()
    args.settings = {}
    args.bin, args.dir = os.path.abspath(args.bin), os.path.abspath(args.dir)
    return args


def main():
    args = arguments()
    os.environ["ALDABA_BIN"] = args.bin
    os.makedirs(args.dir, exist_ok=True)
    if not os.path.exists(f"{args.bin}/tests/bench/empty_http"):
        sys.exit(f"{args.bin}: no programs there, or built without its tests")
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f};"
          f" append of 4 KiB with fdatasync in {args.dir}: {measure.fsync_us(args.dir):.0f} us\n",
          flush=True)
    with Bench(args) as bench:
        for connections in filter(None, args.connections.split(",")):
            pair(bench, int(connections))
        if args.tasks:
            flat(bench)
        bench.audit()
        for fault in bench.faults:
            print(f"NOT PROVED: {fault}")
    return 1 if bench.faults else 0


if __name__ == "__main__":
    sys.exit(main())
