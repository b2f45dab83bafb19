"""Two pollers, three, one that dies with work in its hands, one that leaves in good order: each
task is polled by one of them at a time, and ends."""
import pytest
from support.house import House
from support.ledger import Ledger, settle
from support.until import until

TASKS = 300


def register_all(house, count, **params):
    ledger = Ledger()
    for provider_id in house.submit(count, fate="drop", **params):
        ledger.registered(provider_id, house.register(provider_id)["id"])
    return ledger


@pytest.mark.parametrize("count", [2, 3])
def test_pollers_share_the_work(count):
    with House(pollers=count) as house:
        house.start()
        ledger = register_all(house, TASKS, solve=0)
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"poll": TASKS}
        polls = [entry["polls"] for entry in house.provider_ledger().values()]
        assert max(polls) == 1, "two pollers asked for one task"


@pytest.mark.parametrize("end", ["kill9", "stop"])
def test_poller_ends_with_leases(end):
    """Its polls hang at the provider; when it is gone others take them over."""
    profile = {"poll": {"timeout": "60s", "schedule": {"give_up_after": "120s"}}}
    with House(settings={"tracker": {"lease": "3s"}}, profile=profile) as house:
        house.start()
        ledger = register_all(house, 60, solve=0, moods="hang")
        until(lambda: house.provider_stats()["moods"].get("hang", 0) >= 50, 20, "no polls hang")
        house.add_poller(2).start()
        getattr(house.poller1, end)()
        if end == "stop":
            assert house.poller1.process.returncode == 0
        verdict = settle(house, ledger).demand()
        assert verdict.sources == {"poll": 60}


def test_no_poller_for_a_while():
    """Nobody polls; callbacks still come; the first poller that starts finds the work."""
    with House(pollers=0) as house:
        house.start()
        ledger = register_all(house, 50, solve=0)
        until(lambda: house.submit(1) and house.tracker.alive(), 1, "the tracker ended")
        house.add_poller(1).start()
        assert settle(house, ledger).demand().sources == {"poll": 50}


def test_pollers_come_and_go():
    with House(pollers=2) as house:
        house.start()
        ledger = register_all(house, 200, solve=2)
        for number in (3, 4, 5):
            house.add_poller(number).start()
            house.daemons[f"poller{number - 2}"].kill9()
        settle(house, ledger).demand()
