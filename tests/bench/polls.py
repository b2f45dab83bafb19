#!/usr/bin/env python3
"""How many slow polls one poller holds at once, against what they would be without any cost.

    tests/bench/polls.py [--bin BUILD] [--polls 2000] [--wait 2] [--rounds 10]

A provider answers each poll after --wait seconds; this program plays the tracker and always has
another task, so the ideal is --polls / --wait a second. The poller is held to one processor. Printed:
the rate as a share of the ideal, the poller's CPU and its largest resident size.
"""
import argparse
import collections
import os
import subprocess
import sys
import tempfile
import time

import msgpack
import zmq

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from bench import measure  # noqa: E402
from support.bus import pack, unpack  # noqa: E402
from support.daemon import Daemon  # noqa: E402
from support.house import binary  # noqa: E402
from support.settings import to_yaml  # noqa: E402

WANTED_RATIO = 0.9
WANTED_MIB = 64
KEY = "bench-key"


class Provider:
    def __init__(self, wait_s):
        self.process = subprocess.Popen(
            [sys.executable, f"{HERE}/slow_http.py", "--wait", str(wait_s)], text=True,
            stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        self.port = int(self.process.stdout.readline().partition("port=")[2])

    def says(self):
        """answered, open, most"""
        self.process.stdin.write("\n")
        self.process.stdin.flush()
        return [int(word) for word in self.process.stdout.readline().split()[1::2]]

    def end(self):
        self.process.stdin.close()
        self.process.wait()


class Tracker:
    """Welcomes, acknowledges, and gives as many leases as there is credit for; most: of one poller at once,
    since its credit does not know of leases that are on their way to it."""

    def __init__(self, run, most):
        self.most = most
        self.ways = {}  # of each poller: where its leases go
        self.credit, self.out = collections.Counter(), collections.Counter()
        self.sock = zmq.Context.instance().socket(zmq.ROUTER)
        self.sock.linger = 0
        self.sock.bind(f"ipc://{run}/jobs")
        self.who = "01" + "0" * 24
        self.leases = self.outcomes = self.bad = 0

    def lease(self):
        self.leases += 1
        return pack("lease", lease=self.leases, task=str(self.leases), provider="slow",
                    provider_id=str(10**9 + self.leases), lease_ms=60000)

    def take(self, who, kind, head, items):
        if kind == "hello":
            self.send(who, pack("welcome", instance=self.who, max_item=64 << 20))
        elif kind == "batch":
            self.out[head["sender"]] -= len(items)
            for item in items:
                self.outcomes += 1
                self.bad += item["then"] != "done"
            acks = [pack("ack", num=item["num"], disposition="applied") for item in items]
            self.send(who, pack("acks", instance=self.who, batch=head["batch"]), *acks)
            self.give(head["sender"])
        elif kind == "ready":
            self.ways[head["poller"]] = who  # outcomes come by another connection
            self.credit[head["poller"]] = head.get("credit", 0)
            self.give(head["poller"])

    def give(self, poller):
        count = min(self.credit[poller], self.most - self.out[poller])
        if count > 0:
            self.credit[poller] -= count
            self.out[poller] += count
            self.send(self.ways[poller], pack("leases", instance=self.who),
                      *(self.lease() for _ in range(count)))

    def send(self, who, *frames):
        self.sock.send_multipart([who, *frames])

    def turn(self, until_s):
        while (left := until_s - time.monotonic()) > 0:
            if not self.sock.poll(int(left * 1000) + 1):
                continue
            who, *frames = self.sock.recv_multipart()
            head = unpack(frames[0])
            items = [msgpack.unpackb(frame, raw=False) for frame in frames[1:]]
            self.take(who, head["k"], head, items)


def settings(folder, run, port, polls, connections):
    return to_yaml({
        "bus": {"run": run},
        "store": {"data": folder},
        "poller": {"max_in_flight": polls, "connections_per_host": connections},
        "providers": {"slow": {
            "family": "inphp", "secrets": {"key": {"env": "ALD_BENCH_KEY"}},
            "poll": {"request": {"method": "GET", "url": f"http://127.0.0.1:{port}/res.php"}}}},
    })


def new_poller(folder, port, polls, name="poller", held_to=None, connections=None):
    """A poller whose tracker is in this folder, not started yet; held_to: a processor of its own."""
    path = os.path.join(folder, "aldaba.yaml")
    with open(path, "w", encoding="utf-8") as file:
        file.write(settings(folder, folder, port, polls, connections or polls) + "\n")
    pinned = [] if held_to is None else ["taskset", "-c", str(held_to)]
    argv = [*pinned, binary("aldaba-poller"), "--config", path]
    return Daemon(name, argv, folder, {"ALD_BENCH_KEY": KEY, "ALDABA__POLLER__NAME": name})


class Slow:
    """What a run of slow polls came to."""

    def __init__(self, polls, wait_s):
        self.polls, self.ideal = polls, polls / wait_s
        self.rate = self.cpu = self.mib = 0.0
        self.most = self.bad = 0


def slow(polls, wait_s, rounds):
    """So many polls at once, each answered after wait_s: over rounds of that time, after the first ones."""
    said = Slow(polls, wait_s)
    with tempfile.TemporaryDirectory(prefix="ald-") as folder:
        provider, tracker = Provider(wait_s), Tracker(folder, polls)
        poller = new_poller(folder, provider.port, polls, held_to=0).start()
        try:
            tracker.turn(time.monotonic() + 3 * wait_s)  # until it has as many as it may
            usage = measure.Usage({"poller": poller.pid})
            first, began = provider.says()[0], time.monotonic()
            tracker.turn(began + rounds * wait_s)
            last, took = provider.says()[0], time.monotonic() - began
            said.rate = (last - first) / took
            said.cpu, said.mib = usage.spent()["poller"][0] / took, peak_mib(poller.pid)
        finally:
            poller.clean()
            said.most, said.bad = provider.says()[2], tracker.bad
            provider.end()
            tracker.sock.close()
    return said


def peak_mib(pid):
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("VmHWM")) / 1024


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("ALDABA_BIN", f"{ROOT}/build/release"))
    parser.add_argument("--polls", type=int, default=2000)
    parser.add_argument("--wait", type=float, default=2.0)
    parser.add_argument("--rounds", type=int, default=10)
    args = parser.parse_args()
    os.environ["ALDABA_BIN"] = os.path.abspath(args.bin)
    if not binary("aldaba-poller"):
        sys.exit(f"{args.bin}: no aldaba-poller there")
    said = slow(args.polls, args.wait, args.rounds)
    print(f"polls {args.polls} of {args.wait:g} s at once: {said.rate:.0f}/s, ratio"
          f" {said.rate / said.ideal:.3f} (wanted {WANTED_RATIO}), most at once {said.most},"
          f" CPU {said.cpu:.0%} of one processor, {said.cpu / said.rate * 1e6:.0f} us a poll,"
          f" {said.mib:.1f} MiB (wanted {WANTED_MIB}), other answers {said.bad}")
    well = said.rate >= WANTED_RATIO * said.ideal and said.mib <= WANTED_MIB and not said.bad
    return 0 if well else 1


if __name__ == "__main__":
    sys.exit(main())
