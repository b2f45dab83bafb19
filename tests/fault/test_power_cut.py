"""Power is cut while a process writes, again and again, and the disk is mounted with what it really
has. Every callback that was acknowledged is there: nobody polls here, so nothing else brings it.
A kill -9 cannot show this, since the kernel keeps what was written and not synced."""
import random

import pytest
from inject import launch_under, needs_strace
from media import Disk, needs_loop
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger, demand_conflict_letters, settle
from support.until import passes, until

pytestmark = needs_loop

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}


def new_house(service, settings):
    """A house with one service's files on a disk whose power can be cut."""
    house = House(pollers=0, profile=CALM)
    disk = Disk(f"{house.folder}/disk")
    house.per_service[service] = settings(disk.path)
    house.add(service, service)
    return house, disk


def knock_all(house, knocker):
    """As a provider would that tries again what was not acknowledged."""
    done = {provider_id for provider_id, calls in knocker.ledger.sent.items()
            if any(call["status"] == 200 for call in calls)}
    for provider_id in set(knocker.ids) - done:
        until(lambda: (knocker.knock(provider_id) or 0) and knocker.statuses[-1] == 200, 20,
              "callbacks are not taken")


def test_tracker():
    house, disk = new_house("tracker", lambda path: {"store": {"data": f"{path}/data"}})
    luck = random.Random(5)
    with house, disk:
        house.start()
        ledger = Ledger()
        knockers = []
        for _ in range(20):
            knocker = Knocker(house, ledger, 40, pause_s=0.002)
            knockers.append(knocker)
            with knocker:
                passes(luck.uniform(0.02, 0.3))
                disk.cut(house.tracker)
            house.tracker.start()
            house.until_serving()
        assert disk.cuts == 20
        for knocker in knockers:
            knock_all(house, knocker)
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"callback": 20 * 40}, verdict


def test_gateway_spool():
    """Even cuts: nobody takes what is in the spool. Odd ones: it drains."""
    house, disk = new_house("gateway", lambda path: {"gateway": {"spool": f"{path}/spool"}})
    luck = random.Random(6)
    with house, disk:
        house.start()
        ledger = Ledger()
        knockers = [Knocker(house, ledger, 40, pause_s=0.001) for _ in range(10)]
        for turn, knocker in enumerate(knockers):
            house.tracker.pause()
            with knocker:
                until(lambda: knocker.statuses.count(200) > 3, 10, "it does not spool")
                passes(luck.uniform(0.0, 0.2))
                if turn % 2:
                    house.tracker.resume()
                    passes(luck.uniform(0.0, 0.05))
                disk.cut(house.gateway)
            house.gateway.start()
            if turn % 2:
                house.until_serving()
        house.tracker.resume()
        house.until_serving()
        for knocker in knockers:
            knock_all(house, knocker)
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"callback": 10 * 40}, verdict


def test_dlq():
    house, disk = new_house("dlq", lambda path: {"store": {"data": f"{path}/data"}})
    with house, disk:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 200)
        for turn in range(5):
            for provider_id in knocker.ids[40 * turn:40 * turn + 40]:
                for answer in (f"{provider_id} this", f"{provider_id} that"):
                    assert knocker.knock(provider_id, answer).status == 200
            disk.cut(house.dlq)
            house.dlq.start()
        settle(house, ledger).demand()
        assert demand_conflict_letters(house, ledger, 30) == 200


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
