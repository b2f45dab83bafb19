"""Power loss in every order: a house works under the recorder (record.c), and the replayer (replay.c)
builds the disk as it could be after a cut at each moment of the record, opens it and looks whether
all is there that was acknowledged.

    power.py [--states N] [--seeds N] [--first SEED] [--callbacks N] [--keep FOLDER]

The long form: for each seed a record of its own, and states / seeds cuts in it. A failure names the
seed and the state; the same seed of the same record (--keep) fails again."""
import argparse
import concurrent.futures
import http.client
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import threading

import zmq

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))

from support.background import Background  # noqa: E402
from support.bus import Feed  # noqa: E402
from support.house import House  # noqa: E402
from support.until import passes, until  # noqa: E402

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
SETTLED_S = 20
THREADS = 6
MASK = (1 << 64) - 1
STRICT = ("-std=gnu17", "-O2", "-Wall", "-Wextra", "-Werror")


def build(folder):
    """The recorder and the replayer, plain as release builds are: a sanitizer can't be preloaded."""
    recorder, replayer = f"{folder}/record.so", f"{folder}/replay"
    for argv in (["-shared", "-fPIC", "-o", recorder, HERE / "record.c", "-ldl"],
                 ["-o", replayer, *sorted(HERE.glob("replay*.c")), "-lsqlite3", "-lcrypto"]):
        subprocess.run(["cc", *STRICT, *map(str, argv)], check=True)
    return recorder, replayer


def mixed(number):
    """What stands behind a token: the same numbers as in replay_look.c."""
    x = (number + 1) * 0x9E3779B97F4A7C15 & MASK
    x = (x ^ x >> 30) * 0xBF58476D1CE4E5B9 & MASK
    x = (x ^ x >> 27) * 0x94D049BB133111EB & MASK
    return x ^ x >> 31


def token(number):
    x = mixed(number)
    pad = (x >> 16) % (6000 if (x >> 8) % 8 == 0 else 60)
    return f"k{number}-{x:016x}-{'x' * pad}."


def key(number):
    """A short one, for what has no room."""
    return f"k{number}-{mixed(number):016x}."


class Load:
    """Tasks and their callbacks: single ones, twice the same, two that differ, unknown ids. What was
    answered with 2xx is kept by token."""

    def __init__(self, house, seed):
        self.house = house
        self.luck = random.Random(seed)
        self.lock = threading.Lock()
        self.next = 0
        self.said = set()
        self.errors = []

    def number(self):
        with self.lock:
            self.next += 1
            return self.next - 1

    def deed(self):
        """(has it a task, how often, how many answers)"""
        with self.lock:
            kind = self.luck.random()
        if kind < 0.1:
            return False, 1, 1
        if kind < 0.2:
            return True, 2, 1
        return (True, 1, 2) if kind < 0.35 else (True, 1, 1)

    def ask(self, public, private, target, fields, headers=None):
        """One request, on a connection that is kept; its status or None."""
        number = re.search(r"k(\d+)-", str(fields) + str(headers)).group(1)
        connection = public if target.startswith("/callback") else private
        body = json.dumps(fields) if connection is private else "&".join(
            f"{name}={value}" for name, value in fields.items())
        kind = "application/json" if connection is private else "application/x-www-form-urlencoded"
        try:
            connection.request("POST", target, body, {"Content-Type": kind, **(headers or {})})
            answer = connection.getresponse()
            answer.read()
        except (OSError, http.client.HTTPException):
            connection.close()
            return None
        if 200 <= answer.status < 300:
            with self.lock:
                self.said.add(int(number))
        return answer.status

    def step(self, public, private, tasks):
        number = self.number()
        provider_id = str(10 ** 9 + number)
        registered, times, answers = self.deed()
        if registered and tasks:
            self.ask(public, private, "/v1/tasks",
                     {"provider": "sandbox", "provider_id": provider_id},
                     {"Idempotency-Key": key(self.number())})
        for turn in range(answers):
            answer = token(number if turn == 0 else self.number())
            for _ in range(times):
                self.ask(public, private, "/callback/sandbox", {"id": provider_id, "code": answer})

    def work(self, count, tasks):
        public = http.client.HTTPConnection("127.0.0.1", self.house.public.port, timeout=20)
        private = http.client.HTTPConnection("127.0.0.1", self.house.private.port, timeout=20)
        try:
            for _ in range(count):
                self.step(public, private, tasks)
        except Exception as error:  # a thread has nobody else to tell
            self.errors.append(repr(error))
        public.close()
        private.close()

    def run(self, count, tasks=True):
        threads = [threading.Thread(target=self.work, args=(max(1, int(count) // THREADS), tasks))
                   for _ in range(THREADS)]
        for thread in threads:
            thread.start()
        return threads

    def over(self, threads):
        for thread in threads:
            thread.join(60)
        assert not self.errors, self.errors[:3]


class ShortFeed(Feed):
    """It does not wait long for a tracker that was killed with the question."""

    def page(self, channel, filters):
        answer = channel.ask("fetch", timeout_s=1, after=self.position, limit=100, bytes=1 << 20)
        return None if answer[0].get("rc") == "busy" else answer


class Reader(Background):
    """A consumer that asks for whatever is new: it may not be told what a cut takes back."""

    def __init__(self, house):
        super().__init__(1, 0.002)
        self.feed = ShortFeed(house.run)

    def step(self):
        try:
            self.feed.more()
        except (AssertionError, zmq.ZMQError):
            passes(0.1)  # the tracker is away


def quiet(house):
    """Nothing is under way: what a kill takes now, the record has."""
    def handed_over():
        waiting = house.aldaba("audit", "--json")
        return waiting.returncode == 0
    until(handed_over, SETTLED_S, "the books do not balance")
    passes(0.3)


def restart(house, *names):
    for name in names:
        house.daemons[name].kill9()
        house.daemons[name].start()
    house.until_serving()


def live(house, load, count):
    load.over(load.run(count * 0.5))
    house.tracker.pause()  # and the gateway spools
    load.over(load.run(count * 0.1, tasks=False))
    house.tracker.resume()
    load.over(load.run(count * 0.2))
    quiet(house)
    restart(house, "tracker")
    load.over(load.run(count * 0.1))
    quiet(house)
    restart(house, "gateway", "dlq")
    load.over(load.run(count * 0.1))
    quiet(house)


def record(folder, recorder, seed, count, wait_us, broken=""):
    """A life of a house with that many deeds, in folder/log; its data are left in folder/data."""
    log = f"{folder}/log"
    with House(pollers=0, profile=CALM) as house:
        for name in ("tracker", "gateway", "dlq"):
            house.daemons[name].env.update(
                LD_PRELOAD=recorder, ALD_RECORD_LOG=log, ALD_RECORD_ROOT=f"{house.folder}/data",
                ALD_RECORD_WAIT=str(wait_us), ALD_RECORD_BREAK=broken)
        house.tracker.env["ALD_RECORD_TELLS"] = "1"
        house.start()
        load = Load(house, seed)
        with Reader(house) as reader:
            live(house, load, count)
        letters = len(house.dead_letters())
        for name in ("gateway", "tracker", "dlq"):
            assert house.daemons[name].stop() == 0, house.daemons[name].tail()
        shutil.copytree(f"{house.folder}/data", f"{folder}/data")
        shutil.copy(house.config_path(""), f"{folder}/aldaba.yaml")
    with open(f"{folder}/said", "w", encoding="ascii") as file:
        file.write("".join(f"{number}\n" for number in sorted(load.said)))
    events = len(reader.feed.events)
    assert load.said and letters and events, (len(load.said), letters, events)
    return len(load.said)


def replay(folder, replayer, seed, states, *more):
    """(exit code, facts, what it said)"""
    done = subprocess.run([replayer, f"{folder}/log", f"{folder}/said", "--data", f"{folder}/data",
                           "--seed", str(seed), "--states", str(states), *map(str, more)],
                          capture_output=True, text=True, check=False)
    facts = {}
    for line in done.stdout.splitlines():
        if line.startswith("replay "):
            facts = dict(word.partition("=")[::2] for word in line.split()[1:])
    return done.returncode, facts, done.stdout + done.stderr


PARTS = 2


def replay_parts(folder, replayer, seed, states, *more):
    """The same in so many processes: [(exit code, facts, what it said)]"""
    with concurrent.futures.ThreadPoolExecutor() as pool:
        return list(pool.map(lambda part: replay(folder, replayer, seed * PARTS + part,
                                                 states // PARTS, *more), range(PARTS)))


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n")[0])
    words.add_argument("--states", type=int, default=1_000_000)
    words.add_argument("--seeds", type=int, default=10)
    words.add_argument("--first", type=int, default=1)
    words.add_argument("--callbacks", type=int, default=1500)
    words.add_argument("--keep")
    asked = words.parse_args()
    bad = 0
    with tempfile.TemporaryDirectory() as tools:
        recorder, replayer = build(tools)
        for seed in range(asked.first, asked.first + asked.seeds):
            folder = f"{asked.keep or tools}/{seed}"
            if not os.path.exists(f"{folder}/said"):
                shutil.rmtree(folder, ignore_errors=True)
                os.makedirs(folder)
                record(folder, recorder, seed, asked.callbacks, (0, 500, 3000)[seed % 3])
            for code, _, said in replay_parts(folder, replayer, seed, asked.states // asked.seeds,
                                              "--whole", 1000):
                print(f"seed={seed} {said.strip()}", flush=True)
                bad += code != 0
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
