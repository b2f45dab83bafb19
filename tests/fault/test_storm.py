"""kill -9 and SIGSTOP at random instants, of every process there is: gateway, tracker, dlq, pollers,
durable consumers, the receiver of a sink, under mixed load (support/mixed.py), also while they start.
The tracker's disk is full now and then. Then all heals, and the one oracle speaks."""
import time

from support.disk import SmallDisk, may_mount
from support.mixed import Mixed, MixedHouse
from support.nemesis import Nemesis
from support.oracle import Oracle
from support.tally import scale, seed, tally
from support.until import passes

STORM_S = scale(32, 100)
MEAN_S = 0.03
FULL_EVERY_S = 8


def test_storm():
    with MixedHouse() as house:
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
    oracle = Oracle(house)
    with Mixed(oracle) as mixed:
        nemesis = Nemesis([*house.daemons.values()] * 5 + mixed.lodgers, seed())
        end = time.monotonic() + STORM_S
        while time.monotonic() < end:
            nemesis.rage(min(FULL_EVERY_S, end - time.monotonic()), MEAN_S)
            if disk:
                fill(disk, nemesis)
        nemesis.heal()
        house.until_serving(40)
        passes(1)  # a load that finds nobody dead
    print(f"seed {seed()}, {nemesis.kills} kills, {nemesis.pauses} pauses, {nemesis.strange}")
    verdict = mixed.demand(nemesis)
    ended = [one for one in nemesis.strange if one[1] not in (0, -9)]
    tally("storm", seed=seed(), kills=nemesis.kills, pauses=nemesis.pauses, tasks=len(mixed.ledger.tasks),
          acknowledged=verdict.acknowledged, ended_by_themselves=len(ended))
    print(verdict)
    assert all(code > 0 for _, code in ended), f"ended by a signal of its own: {ended}"
    assert nemesis.kills >= STORM_S * 2
    assert verdict.acknowledged > 50, verdict


def fill(disk, nemesis):
    """And somebody dies meanwhile."""
    with nemesis.trouble("tracker"):
        disk.fill()
        nemesis.strike()
        passes(nemesis.luck.uniform(0.2, 1))
        nemesis.strike()
        disk.free()
