"""Bit rot: one bit of a closed store is flipped, `aldaba fsck` must say so, and the bit is put back;
again and again, over every file that holds something.

    rot.py [--flips N] [--seed SEED] [--workers N]

What is flipped: every byte of tracker.db, letters.db and spool.db (also pages that hold nothing: all
pages carry a sum), the slots of both marks, the callback key and the gateway's copy of it; and the
log of a tracker that was killed, up to the last of what the mark had counted. What is not: the rest of
the marks, which is room that nobody reads; spool/reserve and the lock files, which have no content."""
import argparse
import concurrent.futures
import os
import pathlib
import random
import shutil
import subprocess
import sys
import tempfile
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from support.house import House, binary  # noqa: E402
from support.knocker import Knocker  # noqa: E402
from support.ledger import Ledger  # noqa: E402
from support.until import passes, until  # noqa: E402

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
SLOTS = ((0, 96), (4096, 4192))
# What is flipped of each file, and how many of a hundred flips it gets.
PLACES = {
    "tracker.db": (None, 45),
    "letters.db": (None, 20),
    "spool/spool.db": (None, 20),
    "tracker.mark": (SLOTS, 4),
    "letters.db.mark": (SLOTS, 4),
    "callback.key": (None, 4),
    "spool/callback.keys": (None, 3),
}
LOG = "tracker.db-wal"
LOG_SHARE = 0.05


def keep(house, folder, name):
    shutil.copytree(f"{house.folder}/data", f"{folder}/{name}")
    with open(house.config_path(""), encoding="utf-8") as file:
        text = file.read()
    with open(f"{folder}/aldaba.yaml", "w", encoding="utf-8") as file:
        file.write(text.replace(f"{house.folder}/data", "DATA"))


def fill(folder):
    """A closed house's data in folder/closed: results, tasks that are open, parked callbacks,
    letters, callbacks in the spool. And in folder/killed what a kill left."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        knocker = Knocker(house, Ledger(), 60, pad=300)
        for provider_id in knocker.ids[:40]:
            assert knocker.knock(provider_id).status == 200
        for provider_id in knocker.ids[:10]:
            assert knocker.knock(provider_id, f"{provider_id} is other").status == 200
        until(lambda: len(house.dead_letters()) == 10, 20, "the letters are not there")
        counted = os.path.getsize(f"{house.folder}/data/{LOG}")  # behind it are commits that count
        for number in range(10):
            assert knocker.knock(str(7 * 10 ** 8 + number)).status == 200
        passes(1.5)  # the mark is synced once a second
        for name in ("gateway", "tracker", "dlq"):
            house.daemons[name].kill9()
        keep(house, folder, "killed")
        with open(f"{folder}/counted", "w", encoding="ascii") as file:
            file.write(str(counted))
        house.start_daemons()
        for name in ("tracker", "dlq"):
            assert house.daemons[name].stop() == 0
        for provider_id in knocker.ids[40:]:
            assert knocker.knock(provider_id).status == 200
        house.gateway.stop(30)  # with what it could not hand over
        keep(house, folder, "closed")
        for path in pathlib.Path(f"{folder}/closed").glob("**/*-wal"):
            assert path.stat().st_size == 0, f"{path} is not closed"


class Copy:
    """One worker's own copy of what was filled."""

    def __init__(self, folder, number, name="closed"):
        self.original = f"{folder}/{name}"
        self.data = f"{folder}/{name}{number}"
        self.config = f"{self.data}.yaml"
        shutil.copytree(self.original, self.data)
        with open(f"{folder}/aldaba.yaml", encoding="utf-8") as file:
            text = file.read()
        with open(self.config, "w", encoding="utf-8") as file:
            file.write(text.replace("DATA", self.data))

    def fsck(self):
        """(is all whole?, what it said)"""
        env = {**os.environ, **House.env(), "ALDABA__GATEWAY__SPOOL": f"{self.data}/spool"}
        done = subprocess.run([binary("aldaba"), "--config", self.config, "fsck"], env=env,
                              capture_output=True, encoding="utf-8", check=False, timeout=60)
        return done.returncode == 0, done.stdout + done.stderr

    def flip(self, name, offset, bit):
        with open(f"{self.data}/{name}", "r+b") as file:
            file.seek(offset)
            byte = file.read(1)[0]
            file.seek(offset)
            file.write(bytes([byte ^ 1 << bit]))

    def found(self, flip):
        self.flip(*flip)
        whole, _ = self.fsck()
        self.flip(*flip)
        return not whole


class Worker:
    def __init__(self, folder, number):
        self.closed = Copy(folder, number)
        self.killed = Copy(folder, number, "killed")

    def missed(self, flips):
        """Those of the flips that fsck did not find."""
        return [flip for flip in flips
                if not (self.killed if flip[0] == LOG else self.closed).found(flip)]

    def demand_whole(self):
        for copy in (self.closed, self.killed):
            whole, said = copy.fsck()
            assert whole, (copy.original, said)


def choose(folder, luck):
    if luck.random() < LOG_SHARE:
        with open(f"{folder}/counted", encoding="ascii") as file:
            return LOG, luck.randrange(int(file.read())), luck.randrange(8)
    name = luck.choices(list(PLACES), [share for _, share in PLACES.values()])[0]
    ranges = PLACES[name][0] or ((0, os.path.getsize(f"{folder}/closed/{name}")),)
    start, end = luck.choice(ranges)
    return name, luck.randrange(start, end), luck.randrange(8)


def rot(count, seed, workers=2, tell=lambda done, missed: None):
    """(flips that were not found, how many there were of each file)"""
    luck = random.Random(seed)
    with tempfile.TemporaryDirectory() as folder:
        fill(folder)
        pair = [Worker(folder, number) for number in range(workers)]
        for worker in pair:
            worker.demand_whole()
        flips = [choose(folder, luck) for _ in range(count)]
        missed = []
        with concurrent.futures.ThreadPoolExecutor(workers) as pool:
            for start in range(0, count, 100 * workers):
                part = flips[start:start + 100 * workers]
                for some in pool.map(lambda one: one[1].missed(part[one[0]::workers]),
                                     enumerate(pair)):
                    missed += some
                tell(start + len(part), missed)
        for worker in pair:
            worker.demand_whole()  # else a flip was not put back
    return missed, {name: sum(flip[0] == name for flip in flips) for name in (*PLACES, LOG)}


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    words.add_argument("--flips", type=int, default=10000)
    words.add_argument("--seed", type=int, default=int(time.time()))
    words.add_argument("--workers", type=int, default=2)
    asked = words.parse_args()
    begun = time.monotonic()
    missed, counts = rot(asked.flips, asked.seed, asked.workers,
                         lambda done, missed: print(
                             f"seed={asked.seed} flips={done} missed={missed} "
                             f"{time.monotonic() - begun:.0f} s", flush=True))
    print(f"seed={asked.seed} flips={asked.flips} found={asked.flips - len(missed)} "
          f"missed={missed[:20]} {counts} {time.monotonic() - begun:.0f} s")
    return 1 if missed else 0


if __name__ == "__main__":
    sys.exit(main())
