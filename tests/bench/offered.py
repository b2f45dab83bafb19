"""Callbacks at a rate that does not wait for the answers: h2load, HTTP/1.1, one process a connection, since
all connections of one process would ask for the same addresses.

h2load sends what is due as soon as the connection is free, and logs from when it is sent. Here each request
counts from when it was due, so what a slow answer delays is not forgotten: by the even schedule of its
connection, or when h2load, which looks every 10 ms, sent the first of those that were due together.
"""
import collections
import os
import subprocess
import time

from bench import packages

WAIT_S = 120
WARM_S = 1
BACK_TO_BACK_US = 200  # h2load's own time between an answer and the next request


class Offered:
    """What was offered, and what came of it. moments: (microseconds of the wall clock when it was sent,
    milliseconds since it was due) of each 200; bad: other answers, or none; others: {status: how many}."""

    def __init__(self, rate, count):
        self.rate, self.count = rate, count
        self.moments = []
        self.others = collections.Counter()
        self.warm_us = 0  # what was sent before counts in no percentile: the load itself was starting

    @property
    def bad(self):
        return self.count - len(self.moments)

    @property
    def answered(self):
        return len(self.moments)

    def at(self, share, begin_us=0, end_us=None):
        took = sorted(ms for when, ms in self.moments
                      if when >= max(begin_us, self.warm_us) and (end_us is None or when < end_us))
        return took[min(len(took) - 1, int(len(took) * share))] if took else None

    @property
    def p50_ms(self):
        return self.at(0.5)

    @property
    def p99_ms(self):
        return self.at(0.99)


def delays(lines, rps, others=None):
    """(sent at, milliseconds until it was answered since it was due) of each 200 in the log of one
    connection: start, status and duration in microseconds, in the order in which they were sent."""
    found = []
    begin = chain = last_end = None
    for number, line in enumerate(lines):
        start, status, duration = (int(word) for word in line.split()[:3])
        begin = start if begin is None else begin
        if last_end is None or start - last_end > BACK_TO_BACK_US:
            chain = start
        due = min(start, max(begin + number * 1e6 / rps, chain))
        last_end = start + max(duration, 0)
        if status == 200:
            found.append((start, (last_end - due) / 1000))
        elif others is not None:
            others[status] += 1
    return found


def target(way, provider_id):
    """The address of a callback by GET, for aldaba; for webdis, its command."""
    return f"{way}id={provider_id}&code=ready"


ALDABA_WAY = "/callback/sandbox?"
WEBDIS_WAY = "/LPUSH/callbacks/"


class Load:
    """Made ready, then started, while the caller does something else; result() waits."""

    def __init__(self, url, way, ids, rate, seconds, connections, folder):
        self.rps = max(1, round(rate / connections))
        self.seconds = seconds
        each = self.rps * seconds
        count = each * connections
        assert len(ids) >= count, f"{len(ids)} ids for {count} callbacks"
        self.offered = Offered(self.rps * connections, count)
        self.processes, self.logs, self.commands = [], [], []
        for number in range(connections):
            uris, log = (os.path.join(folder, f"offered-{number}.{kind}") for kind in ("uris", "log"))
            with open(uris, "w", encoding="ascii") as file:
                file.writelines(f"{url}{target(way, one)}\n" for one in ids[number:count:connections])
            with open(log, "w", encoding="ascii"):
                pass  # of this run alone
            self.logs.append(log)
            self.commands.append(["h2load", "--h1", "-t1", "-c1", f"-n{each}", f"--rps={self.rps}",
                                  f"--log-file={log}", f"--input-file={uris}"])

    def start(self):
        self.processes = [subprocess.Popen(argv, stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                                           stderr=subprocess.DEVNULL) for argv in self.commands]
        return self

    def result(self):
        end = time.monotonic() + self.seconds + WAIT_S
        for process in self.processes:
            try:
                process.wait(max(0.1, end - time.monotonic()))
            except subprocess.TimeoutExpired:
                process.kill()
                process.wait()
        for log in self.logs:
            with open(log, encoding="ascii") as file:
                self.offered.moments += delays(file, self.rps, self.offered.others)
        if self.offered.moments and self.seconds > WARM_S:
            self.offered.warm_us = min(when for when, _ in self.offered.moments) + WARM_S * 1e6
        return self.offered


def needs():
    """The package of h2load, installed."""
    return packages.debian("nghttp2-client")
