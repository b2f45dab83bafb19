"""All at once: for a minute something goes wrong every few seconds, at any process, under load.
kill -9, a pause of some seconds, a tracker whose disk is full. Then all heals: nothing that was
acknowledged is lost, no task has two results, the books balance."""
import collections
import os
import random
import time

from support.disk import SmallDisk, may_mount
from support.house import House
from support.ledger import demand_conflict_letters, settle
from support.load import Load
from support.until import passes, until

STORM_S = float(os.environ.get("ALDABA_STORM_S", "60"))
SEED = os.environ.get("ALDABA_STORM_SEED", "1")
SANDBOX = ("--fates", "ok=50,drop=15,double=8,late=8,early=4,reorder=6,conflict=5,broken=4",
           "--late", "6", "--solve", "0.5", "--pingback", "mixed", "--callback-retries", "2",
           "--callback-timeout", "3")


class Nemesis:
    def __init__(self, house, disk):
        self.house = house
        self.disk = disk
        self.luck = random.Random(SEED)
        self.done = collections.Counter()
        self.log = []

    def strike(self):
        """One thing goes wrong; it is over when this returns."""
        deeds = [self.kill, self.kill, self.pause, *([self.fill] if self.disk else [])]
        deed = self.luck.choice(deeds)
        deed(self.luck.choice(list(self.house.daemons.values())))
        self.done[deed.__name__] += 1

    def kill(self, daemon):
        self.log.append(f"kill {daemon.name}")
        daemon.kill9()
        passes(self.luck.choice((0, 0, 0.5, 2)))
        self.house.revive()

    def pause(self, daemon):
        self.log.append(f"pause {daemon.name}")
        daemon.pause()
        passes(self.luck.uniform(1, 3))
        daemon.resume()

    def fill(self, daemon):
        """And somebody dies meanwhile."""
        self.log.append(f"fill, kill {daemon.name}")
        self.disk.fill()
        passes(self.luck.uniform(0.5, 2))
        daemon.kill9()
        passes(0.2)
        self.disk.free()
        self.house.revive()


def test_storm():
    with House(pollers=2, sandbox=SANDBOX) as house:
        disk = SmallDisk(f"{house.folder}/small", 64 * 1024) if may_mount() else None
        if disk:
            house.per_service["tracker"] = {"store": {"data": disk.path}}
            house.add("tracker", "tracker")
            disk.__enter__()
        try:
            storm(house, disk)
        finally:
            if disk:
                house.tracker.clean()
                disk.__exit__()


def storm(house, disk):
    house.start()
    nemesis = Nemesis(house, disk)
    end = time.monotonic() + STORM_S
    with Load(house, rate=40) as load:
        while time.monotonic() < end:
            passes(nemesis.luck.uniform(0.5, 3))
            nemesis.strike()
        house.until_serving(30)
    verdict = settle(house, load.ledger, 120)
    print(f"seed {SEED}, {dict(nemesis.done)}, {verdict}")
    assert not verdict.problems(), f"{verdict}\n{verdict.problems()}\n{nemesis.log}"
    assert sum(nemesis.done.values()) >= STORM_S / 8
    demand_conflict_letters(house, load.ledger, 60)
    until(lambda: house.aldaba("audit", "--deep").returncode == 0, 10,
          lambda: house.aldaba("audit", "--deep").stdout)
