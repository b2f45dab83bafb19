"""kill -9 of each process under load, again and again. A 2xx is a promise: what was acknowledged
has one disposition, and each task has one result."""
import random

import pytest
from support.house import House
from support.ledger import demand_conflict_letters, settle
from support.load import Load
from support.until import passes

KILLS = 15
FATES = "ok=60,drop=10,double=10,conflict=8,early=5,reorder=5,error=2"
SANDBOX = ("--fates", FATES, "--pingback", "mixed", "--solve", "0.3", "--seed", "11")


def storm(victims, kills, luck):
    """Kill one of them, start it again, let some load pass; `kills` times."""
    for _ in range(kills):
        passes(luck.uniform(0.05, 0.6))
        luck.choice(victims).restart()


@pytest.mark.parametrize("victim", ["tracker", "gateway", "poller1", "dlq"])
def test_kill_again_and_again(victim):
    with House(sandbox=SANDBOX) as house:
        house.start()
        with Load(house) as load:
            storm([house.daemons[victim]], KILLS, random.Random(victim))
        verdict = settle(house, load.ledger).demand()
        assert house.daemons[victim].starts == KILLS + 1
        assert verdict.acknowledged > 30, verdict  # a slow machine brings fewer
        assert verdict.sources.get("poll"), verdict
        assert demand_conflict_letters(house, load.ledger) > 0


def test_kill_any_of_them():
    with House(pollers=2, sandbox=SANDBOX) as house:
        house.start()
        with Load(house) as load:
            storm(list(house.daemons.values()), 2 * KILLS, random.Random("any"))
        settle(house, load.ledger).demand()
        demand_conflict_letters(house, load.ledger)
