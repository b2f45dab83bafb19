"""Real cuts of power (cuts.py): an ext4 or XFS on a loop device is taken away from a process that
writes, and mounted again. A kill -9 cannot show this, since the kernel keeps what was written and
not synced."""
import pytest
from cuts import cut_dlq, cut_gateway, cut_tracker, new_house
from inject import launch_under, needs_strace
from media import needs_loop, needs_xfs
from support.knocker import Knocker
from support.ledger import Ledger
from support.until import passes, until

pytestmark = needs_loop


def test_tracker():
    cut_tracker("ext4", 20, 5)


def test_gateway_spool():
    cut_gateway("ext4", 10, 6)


def test_dlq():
    cut_dlq("ext4", 5)


@needs_xfs
def test_tracker_on_xfs():
    cut_tracker("xfs", 5, 7)


@needs_strace
@pytest.mark.parametrize("service", ["tracker", "gateway"])
def test_these_tests_can_fail(service):
    """On a disk that says yes to a sync and does nothing, the same cut loses what was acknowledged:
    the tests above would see a program that forgets to sync."""
    house, disk = new_house(service, lambda path: {"store": {"data": f"{path}/data"},
                                                   "gateway": {"spool": f"{path}/spool"}})
    with house, disk:
        house.start()
        knocker = Knocker(house, Ledger(), 40)
        lying = house.daemons[service]
        lying.kill9()
        launch_under(lying, "fsync,fdatasync:retval=0").until_ready()
        house.until_serving()
        if service == "gateway":
            house.tracker.pause()
        for _ in range(40):
            assert knocker.knock().status == 200
        disk.cut(lying)
        lying.launch()
        if service == "gateway":
            house.tracker.resume()
        until(lambda: not lying.alive() or house.serving(), 20, "it neither starts nor ends")
        if lying.alive():
            passes(2)  # whatever it has, it would have delivered
            assert len(house.events()) < 40, "the method shows nothing"
