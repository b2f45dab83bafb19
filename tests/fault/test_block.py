"""A block device that fails and then does not: the kernel has marked as clean what never got there. A
file system that goes read-only, and a real one that is full. Rows 10, 12 and 19 of the matrix
(README.md). The device is a loop on a file with holes in a small tmpfs: once that is full, a block that
was never written is an error of the device."""
import os
import subprocess

from media import Disk, needs_loop
from support.disk import SmallDisk
from support.house import House
from support.knocker import Knocker
from support.oracle import Oracle, is_well
from support.tally import scale, tally
from support.until import passes, until

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
BACK_S = 40
ROUNDS = scale(1, 8)

pytestmark = needs_loop


class Ground:
    """The tracker's data on an ext4 whose device can be made to fail."""

    def __init__(self, house, ground_kib=40 * 1024, size_mib=64):
        self.house = house
        self.small = SmallDisk(f"{house.folder}/ground", ground_kib)
        self.disk = Disk(f"{house.folder}/data-disk", size_mib=size_mib)
        self.disk.image = f"{house.folder}/ground/image"

    def __enter__(self):
        self.small.__enter__()
        self.disk.__enter__()
        self.house.per_service["tracker"] = {"store": {"data": self.disk.path}}
        self.house.add("tracker", "tracker")
        self.house.start()
        return self

    def __exit__(self, *what):
        self.house.tracker.clean()
        self.disk.__exit__(*what)
        self.small.__exit__(*what)

    def cold(self):
        """As after a power cycle: nothing is left of what the kernel had in memory."""
        self.house.tracker.kill9()
        until(self.disk.unmount, 10, "the disk is in use")
        with open("/proc/sys/vm/drop_caches", "w", encoding="ascii") as file:
            file.write("3\n")
        self.disk.mount()
        self.house.tracker.start()
        self.house.until_serving(BACK_S)


def knock_all(house, knocker):
    for provider_id in knocker.ids:
        until(lambda: getattr(knocker.knock(provider_id), "status", None) == 200, BACK_S,
              "it does not recover")


def test_row_10_the_device_fails_and_then_does_not():
    """Acknowledged is what a cold start finds: the tracker's by its own store, the rest by the spool."""
    with House(pollers=0, profile=CALM) as house, Ground(house) as ground:
        oracle = Oracle(house)
        for _ in range(ROUNDS):
            knocker = Knocker(house, oracle.ledger, 40, pad=20_000)
            for _ in range(10):
                assert knocker.knock().status == 200
            ground.small.fill()
            statuses = [knocker.knock().status for _ in range(20)]
            passes(0.3)
            ground.small.free()
            assert set(statuses) <= {200, 503}, statuses
            if not house.tracker.alive():
                house.tracker.launch()
            recovered = serves_by_itself(house)
            ground.cold()
            knock_all(house, knocker)
        verdict = oracle.demand()
        assert failed(house), f"the device never failed\n{house.tracker.tail()}"
        tally("device fails", recovered_without_mount=recovered, acknowledged=verdict.acknowledged)


def serves_by_itself(house):
    """ext4 may have gone read-only: then only a mount helps."""
    try:
        house.until_serving(3)
        return True
    except AssertionError:
        return False


def failed(house):
    with open(house.tracker.log, encoding="utf-8", errors="replace") as log:
        return any("level=error" in line for line in log)


def test_row_12_a_real_file_system_is_full():
    with House(pollers=0, profile=CALM) as house, Ground(house, 96 * 1024, 24) as ground:
        oracle = Oracle(house)
        knocker = Knocker(house, oracle.ledger, 30, pad=20_000)
        ballast = f"{ground.disk.path}/ballast"
        subprocess.run(["fallocate", "-l", str(free_of(ground.disk.path)), ballast], check=True)
        statuses = [knocker.knock().status for _ in range(20)]
        assert set(statuses) <= {200, 503}, statuses
        os.remove(ballast)
        knock_all(house, knocker)
        oracle.demand(starts={"tracker": 1})


def free_of(path):
    state = os.statvfs(path)
    return state.f_bavail * state.f_frsize - 64 * 1024


def test_row_19_the_file_system_becomes_read_only():
    """As ext4 does after an error of its journal. When it can be written again, all is there."""
    with House(pollers=0, profile=CALM) as house, Ground(house, 96 * 1024, 64) as ground:
        oracle = Oracle(house)
        knocker = Knocker(house, oracle.ledger, 30)
        for _ in range(10):
            assert knocker.knock().status == 200
        subprocess.run(["mount", "-o", "remount,abort", ground.disk.path], check=False,
                       capture_output=True)
        statuses = [knocker.knock().status for _ in range(10)]
        assert set(statuses) <= {200, 503}, statuses
        until(lambda: not is_well(house, "tracker"), 10, "a tracker that can't write says it is well")
        ground.cold()
        knock_all(house, knocker)
        oracle.demand()
