"""Power is cut while a process writes, again and again, and the disk is mounted with what it really
has. Every callback that was acknowledged is there: nobody polls here, so nothing else brings it.

    cuts.py [--ext4 N] [--xfs N] [--seed SEED]

The long form: so many real cuts on each file system, spread over the services. A failure names its
seed."""
import argparse
import pathlib
import random
import sys
import time

sys.path.insert(0, str(pathlib.Path(__file__).resolve().parent.parent))

from media import Disk  # noqa: E402
from support.house import House  # noqa: E402
from support.knocker import Knocker  # noqa: E402
from support.ledger import Ledger, demand_conflict_letters, settle  # noqa: E402
from support.until import passes, until  # noqa: E402

CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}
A_HOUSE = 25  # cuts of one house, in the long form


def new_house(service, settings, kind="ext4"):
    """A house with one service's files on a disk whose power can be cut."""
    house = House(pollers=0, profile=CALM)
    disk = Disk(f"{house.folder}/disk", kind)
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


def cut_tracker(kind, cuts, seed):
    house, disk = new_house("tracker", lambda path: {"store": {"data": f"{path}/data"}}, kind)
    luck = random.Random(seed)
    with house, disk:
        house.start()
        ledger = Ledger()
        knockers = []
        for _ in range(cuts):
            knocker = Knocker(house, ledger, 40, pause_s=0.002)
            knockers.append(knocker)
            with knocker:
                passes(luck.uniform(0.02, 0.3))
                disk.cut(house.tracker)
            house.tracker.start()
            house.until_serving()
        assert disk.cuts == cuts
        for knocker in knockers:
            knock_all(house, knocker)
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"callback": cuts * 40}, verdict


def cut_gateway(kind, cuts, seed):
    """Even cuts: nobody takes what is in the spool. Odd ones: it drains."""
    house, disk = new_house("gateway", lambda path: {"gateway": {"spool": f"{path}/spool"}}, kind)
    luck = random.Random(seed)
    with house, disk:
        house.start()
        ledger = Ledger()
        knockers = [Knocker(house, ledger, 40, pause_s=0.001) for _ in range(cuts)]
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
        assert verdict.sources == {"callback": cuts * 40}, verdict


def cut_dlq(kind, cuts, _seed=0):
    house, disk = new_house("dlq", lambda path: {"store": {"data": f"{path}/data"}}, kind)
    with house, disk:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 40 * cuts)
        for turn in range(cuts):
            for provider_id in knocker.ids[40 * turn:40 * turn + 40]:
                for answer in (f"{provider_id} this", f"{provider_id} that"):
                    assert knocker.knock(provider_id, answer).status == 200
            disk.cut(house.dlq)
            house.dlq.start()
        settle(house, ledger).demand()
        assert demand_conflict_letters(house, ledger, 30) == 40 * cuts


def long_form(kind, wanted, seed):
    """Half of the cuts are the tracker's; how many there were."""
    turns = [cut_tracker, cut_gateway, cut_tracker, cut_dlq]
    done = 0
    begun = time.monotonic()
    while done < wanted:
        turn = turns[seed % len(turns)]
        cuts = min(A_HOUSE, wanted - done)
        try:
            turn(kind, cuts, seed)
        except BaseException:
            print(f"{kind} seed={seed} {turn.__name__}: after {done} cuts", flush=True)
            raise
        done += cuts
        seed += 1
        print(f"{kind} cuts={done} of {wanted}, {turn.__name__}, next seed={seed}, "
              f"{time.monotonic() - begun:.0f} s", flush=True)


def main():
    words = argparse.ArgumentParser(description=__doc__.split("\n\n", maxsplit=1)[0])
    words.add_argument("--ext4", type=int, default=500)
    words.add_argument("--xfs", type=int, default=200)
    words.add_argument("--seed", type=int, default=int(time.time()))
    asked = words.parse_args()
    for kind in ("ext4", "xfs"):
        long_form(kind, getattr(asked, kind), asked.seed)


if __name__ == "__main__":
    main()
