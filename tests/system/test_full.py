"""A full disk at the gateway, the tracker, the dlq: never a 2xx for what is not stored; when there
is room again all goes on. Needs root, for a small tmpfs."""
import pytest
from support.disk import SmallDisk, may_mount
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger, demand_conflict_letters, settle
from support.until import until

pytestmark = pytest.mark.skipif(not may_mount(), reason="needs root to mount a small tmpfs")

CALM = {"callback": {"stale_after": "60s"}, "poll": {"schedule": {"give_up_after": "300s"}}}


def test_gateway_spool_is_full():
    with House(profile=CALM) as house:
        disk = SmallDisk(f"{house.folder}/small", 4096)
        house.per_service["gateway"] = {"gateway": {"spool": f"{disk.path}/spool"}}
        house.add("gateway", "gateway")
        with disk:
            house.start()
            ledger = Ledger()
            knocker = Knocker(house, ledger, 330, pad=20_000)
            house.tracker.pause()
            while knocker.knock().status == 200:
                assert knocker.waiting, "the spool is never full"
            refused = knocker.knock()
            assert refused.status == 503 and int(refused.headers["retry-after"]) >= 1
            assert knocker.statuses.count(200) > 20
            assert house.gateway.alive()
            disk.grow(64 * 1024)
            until(lambda: knocker.knock().status == 200, 10, "there is room and it still refuses")
            assert set(knocker.statuses) == {200, 503}
            house.tracker.resume()
            for provider_id in knocker.ids:  # as a provider would that tries again
                again = knocker.knock(provider_id)
                assert again and again.status == 200
            settle(house, ledger).demand()
            assert house.gateway.starts == 1


def test_tracker_disk_is_full():
    with House(profile=CALM) as house:
        disk = SmallDisk(f"{house.folder}/small", 16 * 1024)
        house.per_service["tracker"] = {"store": {"data": disk.path}}
        house.add("tracker", "tracker")
        with disk:
            house.start()
            ledger = Ledger()
            knocker = Knocker(house, ledger, 200, pad=2_000)
            for _ in range(20):
                assert knocker.knock().status == 200
            disk.fill()
            for _ in range(60):
                answer = knocker.knock()
                assert answer is not None and answer.status in (200, 503)
            disk.free()
            house.revive()
            house.until_serving(30)
            for provider_id in knocker.ids:
                until(lambda: knocker.knock(provider_id).status == 200, 20, "it does not recover")
            settle(house, ledger).demand()


def test_dlq_disk_is_full():
    with House(profile=CALM) as house:
        disk = SmallDisk(f"{house.folder}/small", 4096)
        house.per_service["dlq"] = {"store": {"data": disk.path}}
        house.add("dlq", "dlq")
        with disk:
            house.start()
            ledger = Ledger()
            knocker = Knocker(house, ledger, 120)
            disk.fill()
            for provider_id in knocker.ids:
                for answer in (f"{provider_id} this", f"{provider_id} that"):
                    assert knocker.knock(provider_id, answer).status == 200
            verdict = settle(house, ledger).demand()
            assert verdict.ok == 240, "the tracker goes on without a dlq"
            disk.free()
            house.revive()
            assert demand_conflict_letters(house, ledger, 60) == 120
