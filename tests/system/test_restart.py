"""Everything ends and starts again with work under way: by kill -9, and in good order."""
import os
import shutil
import sqlite3

import pytest
from support.house import House
from support.ledger import demand_conflict_letters, settle
from support.load import Load
from support.until import passes, until

SANDBOX = ("--fates", "ok=60,drop=15,double=10,late=5,conflict=10", "--late", "4", "--solve", "0.5",
           "--callback-retries", "2")
ROUNDS = 3


@pytest.mark.parametrize("end", ["kill9", "stop"])
def test_restart_of_everything(end):
    with House(pollers=2, sandbox=SANDBOX) as house:
        house.start()
        with Load(house) as load:
            for _ in range(ROUNDS):
                passes(1.5)
                for daemon in house.daemons.values():
                    getattr(daemon, end)()
                    if end == "stop":
                        assert daemon.process.returncode in (0, 75), daemon.tail()
                house.start_daemons()
        verdict = settle(house, load.ledger).demand()
        assert verdict.acknowledged > 100
        demand_conflict_letters(house, load.ledger)


def test_spool_outlives_the_gateway():
    """The tracker is away, callbacks are spooled, the gateway is killed: the 200s still hold."""
    with House(sandbox=("--fates", "ok=1", "--solve", "0.3")) as house:
        house.start()
        with Load(house, rate=40) as load:
            passes(1)
            house.tracker.kill9()
            passes(2)
            house.gateway.kill9()
            house.gateway.launch().until_ready()
            passes(1)
            house.tracker.start()
            house.until_serving()
        settle(house, load.ledger).demand()


def test_the_run_folder_is_swept():
    """The folder of all sockets and locks is removed under a house at work, and then one after the other ends:
    who is left is found again, without a restart of its own."""
    with House(sandbox=("--fates", "ok=60,conflict=40", "--solve", "0.3")) as house:
        house.start()
        with Load(house, rate=40) as load:
            passes(1)
            shutil.rmtree(house.run)
            house.tracker.kill9()
            house.tracker.start()
            house.until_serving()
            until(lambda: "note" not in house.get("/v1/dead-letters"), 20, "the dlq is not found")
            passes(1)
        settle(house, load.ledger).demand()
        demand_conflict_letters(house, load.ledger)
        until(lambda: house.aldaba("health", "dlq").returncode == 0, 20, "its control is not found")


def test_ids_and_sequence_numbers_go_on():
    with House() as house:
        house.start()
        first = house.register(house.submit(1, solve=0)[0])
        house.ended(first["id"])
        for daemon in house.daemons.values():
            daemon.kill9()
        house.start_daemons()
        second = house.register(house.submit(1, solve=0)[0])
        house.ended(second["id"])
        assert int(second["id"]) > int(first["id"])
        positions = [(event["lane"], event["seq"]) for event in house.events()]
        assert positions == sorted(set(positions)) and len(positions) == 2


def test_a_row_that_is_missing_is_found():
    """The counters balance by themselves; only counting the rows again tells."""
    with House() as house:
        house.start()
        house.ended(house.register(house.submit(1, solve=0)[0])["id"])
        assert house.aldaba("audit", "--deep").returncode == 0
        house.tracker.stop()
        with sqlite3.connect(os.path.join(house.folder, "data", "tracker.db")) as store:
            store.execute("DELETE FROM arrivals WHERE disposition = 0")
        store.close()
        house.tracker.start()
        house.until_serving()
        assert house.aldaba("audit").returncode == 0
        deep = house.aldaba("audit", "--deep")
        assert deep.returncode == 1 and "arrivals.applied: the books say 1" in deep.stdout, deep
