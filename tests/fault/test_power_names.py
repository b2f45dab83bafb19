"""Power is cut right after somebody was told that something is made: it has its name. A file that is synced
may still have none, or its old one, until its folder is synced, too."""
import os
import subprocess

from media import Disk, needs_loop
from support.house import House

pytestmark = needs_loop

FILES = ("callback.key", "letters.db", "tracker.db")
TURNS = 3


def whole(folder):
    checked = subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=folder,
                             capture_output=True, text=True, check=False)
    return checked.returncode == 0


def content(folder):
    found = {}
    for name in FILES:
        with open(f"{folder}/{name}", "rb") as file:
            found[name] = file.read()
    return found


def test_a_backup_that_was_made():
    with House(pollers=0) as house:
        house.start()
        with Disk(f"{house.folder}/disk") as disk:
            for turn in range(TURNS):
                house.register(str(turn))
                copy = f"{disk.path}/backup-{turn}"
                assert house.aldaba("backup", copy).returncode == 0
                disk.cut(house.gateway)
                assert os.path.isdir(copy), os.listdir(disk.path)
                assert whole(copy)
                house.gateway.start()
                house.until_serving()


def test_a_backup_that_was_put_back():
    """Where there was nothing, and in the place of what was there."""
    with House(pollers=0) as house, Disk(f"{house.folder}/disk") as disk:
        house.settings = {"store": {"data": f"{disk.path}/data"},
                          "gateway": {"spool": f"{house.folder}/spool"}}
        house.start()
        house.register("1")
        copy = f"{house.folder}/copy"
        assert house.aldaba("backup", copy).returncode == 0
        for daemon in house.daemons.values():
            daemon.stop()
        for turn in range(TURNS):
            assert house.aldaba("restore", copy, "--yes").returncode == 0
            disk.cut(house.sandbox)
            assert content(f"{disk.path}/data") == content(copy), turn
            house.sandbox.start()
