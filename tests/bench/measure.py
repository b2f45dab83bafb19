"""What the benchmark measures with: processes, wrk, the disk, tasks registered by the thousand."""
import os
import random
import re
import resource
import subprocess
import time

import zmq

from support.bus import Channel, figures, pack, unpack

HERE = os.path.dirname(os.path.abspath(__file__))
FIGURES = re.compile(r"^figures (.*)$", re.MULTILINE)
TICKS = os.sysconf("SC_CLK_TCK")
WINDOW = 400  # registrations under way
SILENT_MS = 60000
WAY = ("POST", "/callback/sandbox")


def fsync_us(folder, rounds=200):
    """The median time of an append of 4 KiB with fdatasync, in microseconds."""
    path = os.path.join(folder, "fsync-probe")
    times = []
    with open(path, "wb", buffering=0) as file:
        for _ in range(rounds):
            file.write(bytes(4096))
            began = time.perf_counter()
            os.fdatasync(file.fileno())
            times.append((time.perf_counter() - began) * 1e6)
    os.unlink(path)
    return sorted(times)[rounds // 2]


class Clock:
    """Since it was made."""

    def __init__(self):
        self.began = time.perf_counter()

    def seconds(self):
        return time.perf_counter() - self.began


class Usage:
    """CPU seconds and context switches of some processes since it was made."""

    def __init__(self, pids):
        self.pids = pids
        self.before = {name: usage_of(pid) for name, pid in pids.items()}

    def spent(self):
        """{name: (cpu seconds, voluntary switches, others)}"""
        return {name: tuple(b - a for a, b in zip(self.before[name], usage_of(pid)))
                for name, pid in self.pids.items()}


def family(pid):
    """The process and its children, as of servers that fork workers."""
    found = [pid]
    for one in found:
        try:
            for thread in os.listdir(f"/proc/{one}/task"):
                with open(f"/proc/{one}/task/{thread}/children", encoding="ascii") as file:
                    found += map(int, file.read().split())
        except OSError:
            continue  # it has ended
    return found


def usage_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(") ")[2].split()
    switches = [0, 0]
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/status", encoding="ascii") as file:
                lines = [line for line in file if "voluntary_ctxt" in line]
        except OSError:
            continue  # it has ended
        for line in lines:
            switches[line.startswith("non")] += int(line.split()[1])
    return (int(fields[11]) + int(fields[12])) / TICKS, *switches


def cpu_s(pid):
    """The CPU seconds of a process so far, to the nanosecond."""
    spent_ns = 0
    for thread in os.listdir(f"/proc/{pid}/task"):
        try:
            with open(f"/proc/{pid}/task/{thread}/schedstat", encoding="ascii") as file:
                spent_ns += int(file.read().split()[0])
        except OSError:
            continue  # it has ended
    return spent_ns / 1e9


def anonymous_bytes(pid):
    """Memory of its own: not what is mapped from files."""
    with open(f"/proc/{pid}/status", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("RssAnon")) * 1024


def figures_of(text):
    """{name: number} of the line of figures that a program prints."""
    found = FIGURES.search(text)
    assert found, text
    return {key: float(value) for key, value in (pair.split("=") for pair in found[1].split())}


def proportional_bytes(pid):
    """Resident memory, of what is shared with others only this process's part."""
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as file:
        return next(int(line.split()[1]) for line in file if line.startswith("Pss:")) * 1024


class Shot:
    """What one run of wrk said."""

    def __init__(self, text):
        said = figures_of(text)
        self.requests = int(said["requests"])
        self.seconds = said["us"] / 1e6
        self.rate = self.requests / self.seconds
        self.p50_ms, self.p99_ms, self.max_ms = (said[key] / 1000 for key in ("p50", "p99", "max"))
        self.bad, self.lost = int(said["bad"]), int(said["lost"])


def shoot(url, ids, first, count, connections, seconds, threads=2, pause_ms=0, way=WAY):
    """Run wrk over ids [first, first + count) of the file, until they or the time are over. Each
    connection pauses so long after an answer. way: method and path."""
    argv = ["wrk", f"-t{threads}", f"-c{connections}", f"-d{seconds}s", "--timeout", "10s",
            "-s", os.path.join(HERE, "callbacks.lua"), url, "--",
            ids, str(first), str(count), str(threads), str(pause_ms), *way]
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = subprocess.run(argv, capture_output=True, text=True, timeout=seconds + 60, check=False)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    assert done.returncode == 0, done.stdout + done.stderr
    shot = Shot(done.stdout)
    shot.spent = (after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime,
                  after.ru_nvcsw - before.ru_nvcsw, after.ru_nivcsw - before.ru_nivcsw)
    return shot


def write_ids(path, first, count, more=0):
    """Provider ids first..first+count-1 in uniformly random order, one a line, and so many more behind them."""
    chance = random.Random(first)
    ids = [chance.sample(range(begin, begin + length), length)
           for begin, length in ((first, count), (first + count, more))]
    write_lines(path, ids[0] + ids[1])


def write_lines(path, ids):
    with open(path, "w", encoding="ascii") as file:
        file.writelines(f"{number}\n" for number in ids)


def register(run, first, count):
    """Tasks of these provider ids, many under way at once. Returns tasks a second."""
    return register_ids(run, range(first, first + count))


def register_ids(run, ids):
    clock = Clock()
    sent = answered = 0
    with Channel(run, "query") as channel:
        channel.socket.setsockopt(zmq.RCVTIMEO, SILENT_MS)
        while answered < len(ids):
            while sent < len(ids) and sent - answered < WINDOW:
                channel.send(pack("register", req=sent + 1, provider="sandbox", provider_id=str(ids[sent])))
                sent += 1
            head = unpack(channel.socket.recv_multipart()[0])
            assert head["rc"] == "ok", head
            answered += 1
    return len(ids) / clock.seconds()


def arrivals(run):
    return figures(run, "audit")["arrivals"]
