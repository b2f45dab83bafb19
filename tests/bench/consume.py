#!/usr/bin/env python3
"""How fast a durable consumer gets what it is owed, as ratios of one run.

    tests/bench/consume.py [--bin BUILD] [--dir FOLDER] [--rounds 3] [--seconds 4] [--backlog 100000]
                           [--parts live,backlog,latency]

1. The feed to one durable consumer while callbacks come in as fast as they may: delivered against
   taken in, and intake with the consumer against intake without.
2. A backlog drained by one consumer, against a plain zmq PUSH/PULL of the same bytes, a message an
   event, between two processes.
3. From a callback to a live subscriber, at half of the highest load, against one fdatasync of this
   disk. The callbacks that are timed go over one connection of their own.

The consumer settles each answer with the question for the next one, as a range. It reads the head
and the last event of an answer and counts the others, as does the PULL: what Python costs is in
neither. Figures differ from machine to machine; medians of the rounds' ratios are to be compared.
"""
import argparse
import http.client
import os
import statistics
import subprocess
import sys
import threading
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

import zmq  # noqa: E402

from bench import measure  # noqa: E402
from bench.stand import Stand  # noqa: E402
from support import bus  # noqa: E402
from support.until import passes  # noqa: E402

PAGE = {"limit": 1000, "bytes": 4 << 20}
WANTED_LIVE, WANTED_DRAIN = 0.8, 0.1
WANTED_P50, WANTED_P99 = 3, 10
PROBE_S = 0.01


class Reader(threading.Thread):
    """Durable consumers of these names, in one process of their own, which this thread listens to."""

    def __init__(self, bench, names, start, page=PAGE):
        super().__init__(daemon=True)
        self.channel = bus.Channel(bench.house.run, "consume")
        self.names = names
        for name in names:
            (head, *_) = self.channel.ask("consumer.open", consumer=name, max_ack_pending=10000,
                                          **{"from": start})
            assert head["rc"] == "ok", head
        argv = [sys.executable, os.path.abspath(__file__), "--reader", bench.house.run, str(page["limit"]),
                *names]
        self.process = subprocess.Popen(argv, stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        text=True)
        self.count = self.bytes = self.first = 0
        self.at = self.first_at = time.perf_counter()
        self.start()

    def run(self):
        for line in self.process.stdout:
            events, size, at = line.split()
            if self.count == 0:  # of what comes until the first answer, nothing is timed
                self.first, self.first_at = int(events), float(at)
            self.count, self.bytes, self.at = int(events), int(size), float(at)

    @property
    def rate(self):
        """Events a second since the first answer that had some."""
        return (self.count - self.first) / (self.at - self.first_at)

    def until(self, count, deadline_s=120):
        end = time.monotonic() + deadline_s
        while self.count < count and time.monotonic() < end:
            passes(0.005)
        assert self.count >= count, f"{self.count} of {count}"

    def stop(self):
        self.process.kill()
        self.process.wait()
        for name in self.names:  # there may be so many and no more
            self.channel.ask("consumer.delete", consumer=name)
        self.channel.socket.close()


class Consumer:
    """One of them: pull, settle with the next pull."""

    def __init__(self, run, name, page):
        self.name, self.page = name, page
        self.channel = bus.Channel(run, "consume")
        self.settles = []
        self.pull()

    def pull(self):
        self.number = self.channel.tell("consumer.pull", *self.settles, consumer=self.name, instance="a",
                                        wait_ms=1000, **self.page)

    def take(self):
        """(events, bytes) of the answer"""
        frames = self.channel.socket.recv_multipart(copy=False)
        head = bus.unpack(frames[0].bytes)
        assert head["req"] == self.number and head["rc"] == "ok", head
        self.settles = []
        if len(frames) > 1:
            first, last = bus.unpack(frames[1].bytes), bus.unpack(frames[-1].bytes)
            self.settles = [bus.pack("settle", lane=last["lane"], first=first["seq"], seq=last["seq"],
                                     verb="ack")]
        self.pull()
        return len(frames) - 1, sum(len(frame) for frame in frames[1:])


def reader(run, limit, *names):
    """The consumers themselves; tells how many events so far, of all, and when."""
    poller = zmq.Poller()
    consumers = {}
    for name in names:
        one = Consumer(run, name, {**PAGE, "limit": int(limit)})
        consumers[one.channel.socket] = one
        poller.register(one.channel.socket, zmq.POLLIN)
    count = size = 0
    while True:
        for socket, _ in poller.poll():
            events, length = consumers[socket].take()
            count, size = count + events, size + length
        print(count, size, time.perf_counter(), flush=True)


def unproved(bench, count, seconds, connections=64, pause_ms=0):
    """Something else is timed meanwhile, and must not wait for the books."""
    return measure.shoot(bench.house.public.url, bench.ids, 0, count, connections, seconds,
                         pause_ms=pause_ms)


# ---- 1: at the same time as intake ----

def live(bench):
    ratios, costs = [], []
    for number in range(bench.args.rounds):
        count = bench.args.room * bench.args.seconds
        bench.fresh(count)
        alone = bench.shoot(count, 64, bench.args.seconds)
        bench.fresh(count)
        before = measure.arrivals(bench.house.run).get("received", 0)
        one = Reader(bench, [f"live-{number}"], "new")
        began = time.perf_counter()
        usage = measure.Usage({"tracker": bench.house.tracker.pid})
        shot = unproved(bench, count, bench.args.seconds)
        taken = measure.arrivals(bench.house.run).get("received", 0) - before
        there = one.count
        cpu = usage.spent()["tracker"][0]
        one.until(taken)
        delivered = taken / (one.at - began)
        ratios.append(delivered / (taken / shot.seconds))
        costs.append(shot.rate / alone.rate)
        one.stop()
        print(f"intake {shot.rate:8.0f}/s (without a consumer {alone.rate:8.0f}/s, ratio"
              f" {costs[-1]:.3f}); delivered {delivered:8.0f}/s, {there / taken:.1%} of it by the"
              f" end of intake; ratio {ratios[-1]:.3f}; tracker {cpu * 1e6 / taken:.1f} us CPU a"
              " callback", flush=True)
    print(f"one durable consumer beside intake, median: {statistics.median(ratios):.3f} of what came"
          f" in (wanted {WANTED_LIVE}); intake {statistics.median(costs):.3f} of intake alone\n",
          flush=True)


# ---- 2: a backlog ----

def plain(folder, count, size):
    """Events a second of a PUSH/PULL of so many messages of this size."""
    endpoint = f"ipc://{folder}/plain"
    pull = zmq.Context.instance().socket(zmq.PULL)
    pull.bind(endpoint)
    push = subprocess.Popen([sys.executable, os.path.abspath(__file__), "--push", endpoint,
                             str(count), str(size)])
    pull.recv()
    began = time.perf_counter()
    for _ in range(count - 1):
        pull.recv(copy=False)
    rate = count / (time.perf_counter() - began)
    push.wait()
    pull.close()
    return rate


def push(endpoint, count, size):
    socket = zmq.Context.instance().socket(zmq.PUSH)
    socket.connect(endpoint)
    message = bytes(int(size))
    for _ in range(int(count)):
        socket.send(message)
    socket.close()
    zmq.Context.instance().term()


def loop_cpu(pid):
    """CPU seconds of a process's first thread."""
    with open(f"/proc/{pid}/task/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(") ")[2].split()
    return (int(fields[11]) + int(fields[12])) / measure.TICKS


def backlog(bench):
    count = bench.args.backlog
    while measure.arrivals(bench.house.run).get("applied", 0) < count:
        bench.fresh(bench.args.room * bench.args.seconds)
        bench.shoot(bench.args.room * bench.args.seconds, 64, bench.args.seconds)
    ratios = []
    for number in range(bench.args.rounds):
        usage = measure.Usage({"tracker": bench.house.tracker.pid})
        loop_s = loop_cpu(bench.house.tracker.pid)
        one = Reader(bench, [f"backlog-{number}"], "all")
        one.until(count)
        rate = one.rate
        size = one.bytes // one.count
        cpu = usage.spent()["tracker"][0]
        loop_s = loop_cpu(bench.house.tracker.pid) - loop_s
        plain_rate = plain(bench.folder, one.count, size)
        ratios.append(rate / plain_rate)
        one.stop()
        print(f"{one.count} events of {size} bytes: {rate:8.0f}/s, plain {plain_rate:8.0f}/s, ratio"
              f" {ratios[-1]:.3f}; tracker {cpu * 1e6 / one.count:.1f} us CPU an event, of these"
              f" {loop_s * 1e6 / one.count:.1f} on the loop's thread", flush=True)
    print(f"a backlog drained, median: {statistics.median(ratios):.3f} of a plain PUSH/PULL"
          f" (wanted {WANTED_DRAIN})\n", flush=True)


# ---- 3: how long it takes ----

class Probe(threading.Thread):
    """One callback at a time, each timed until a subscriber or a consumer has its event."""

    def __init__(self, bench, ids):
        super().__init__(daemon=True)
        self.bench, self.ids = bench, ids
        self.over = threading.Event()
        self.hints = []
        self.socket = zmq.Context.instance().socket(zmq.SUB)
        self.socket.setsockopt(zmq.RCVHWM, 0)
        self.socket.connect(f"ipc://{bench.house.run}/feed")
        self.socket.subscribe(b"result.sandbox.failed.")

    def run(self):
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        door = http.client.HTTPConnection("127.0.0.1", self.bench.house.public.port, timeout=20)
        for provider_id in self.ids:
            if self.over.wait(PROBE_S):
                return
            began = time.perf_counter()
            door.request("POST", "/callback/sandbox",
                         f"id={provider_id}&code=ERROR_CAPTCHA_UNSOLVABLE", form)
            assert self.socket.poll(10000), "no hint"
            self.hints.append(time.perf_counter() - began)
            self.socket.recv_multipart()
            answer = door.getresponse()
            answer.read()
            assert answer.status == 200, answer.status


def waits(bench, ids, load):
    """p50 and p99 in ms of callbacks, under the load that load() makes."""
    probe = Probe(bench, ids)
    passes(0.3)  # the subscription is there
    probe.start()
    shot = load()
    probe.over.set()
    probe.join()
    times = sorted(probe.hints)
    probe.socket.close()
    return shot, times[len(times) // 2] * 1e3, times[int(len(times) * 0.99)] * 1e3, len(times)


def latency(bench):
    seconds = bench.args.seconds * 2
    fsync_ms = measure.fsync_us(bench.folder) / 1e3
    bench.fresh(bench.args.room * bench.args.seconds)
    highest = bench.shoot(bench.args.room * bench.args.seconds, 64, bench.args.seconds)
    count = int(highest.rate * seconds)
    first = bench.register(count + 10000)
    probes = range(first + count, first + count + 10000)
    measure.write_ids(bench.ids, first, count)
    connections = 64
    pause_ms = max(1, round(2000 * connections / highest.rate - highest.p50_ms))
    shot, p50, p99, times = waits(
        bench, probes, lambda: unproved(bench, count, seconds, connections, pause_ms))
    print(f"one fdatasync {fsync_ms:.2f} ms; at {shot.rate:.0f}/s, {shot.rate / highest.rate:.0%} of"
          f" {highest.rate:.0f}/s, {times} callbacks to a live subscriber: p50 {p50:.2f} ms"
          f" = {p50 / fsync_ms:.1f} fdatasyncs (wanted {WANTED_P50}), p99 {p99:.2f} ms"
          f" = {p99 / fsync_ms:.1f} (wanted {WANTED_P99})\n", flush=True)


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("ALDABA_BIN", f"{ROOT}/build/release"))
    parser.add_argument("--dir", default=f"{ROOT}/build")
    parser.add_argument("--rounds", type=int, default=3)
    parser.add_argument("--seconds", type=int, default=4)
    parser.add_argument("--room", type=int, default=40000,
                        help="callbacks a second that a round is prepared for")
    parser.add_argument("--backlog", type=int, default=100000)
    parser.add_argument("--parts", default="live,backlog,latency")
    args = parser.parse_args()
    os.environ["ALDABA_BIN"] = os.path.abspath(args.bin)
    args.dir = os.path.abspath(args.dir)
    args.http_threads, args.wrk_threads = 128, 2
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}\n", flush=True)
    with Stand(args) as bench:
        for part in args.parts.split(","):
            {"live": live, "backlog": backlog, "latency": latency}[part](bench)
        bench.audit()
        for fault in bench.faults:
            print(f"NOT PROVED: {fault}")
    return 1 if bench.faults else 0


if __name__ == "__main__":
    if sys.argv[1:2] == ["--reader"]:
        reader(*sys.argv[2:])
    elif sys.argv[1:2] == ["--push"]:
        push(*sys.argv[2:])
    else:
        sys.exit(main())
