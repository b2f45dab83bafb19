"""The tracker stands still for ten seconds under load: nobody is kept waiting, nothing is lost, and
nothing that would have come in that time is given up."""
from support.house import House
from support.knocker import Knocker
from support.ledger import settle
from support.load import Load
from support.until import passes, until

PAUSE_S = 10
HANG_UP_S = 3.5  # providers hang up; the slowest acknowledgement allowed, on a busy machine


def test_tracker_stands_still_for_ten_seconds():
    # A provider whose callbacks need an answer within HANG_UP_S, or they count as not acknowledged.
    with House(sandbox=("--fates", "ok=80,drop=10,double=10", "--solve", "0.3",
                        "--callback-timeout", str(HANG_UP_S))) as house:
        house.start()
        with Load(house) as load:
            with Knocker(house, load.ledger, 400, pause_s=0.05) as knocker:
                passes(1)
                house.tracker.pause()
                passes(PAUSE_S)
                house.tracker.resume()
                passes(2)
            while knocker.waiting:  # nobody else will call back for these
                knocker.knock()
        assert set(knocker.statuses) == {200}, knocker.statuses
        assert knocker.slowest_s < HANG_UP_S
        assert len(knocker.statuses) > 50
        verdict = settle(house, load.ledger).demand()
        assert verdict.acknowledged > 100
        states = {event["state"] for event in house.events()}
        assert states == {"done"}, "our own pause ended a task"
        for daemon in house.daemons.values():
            assert daemon.starts == 1 and daemon.alive()


def test_gateway_stands_still():
    """The provider's callbacks get no answer for a while; polls save what was not tried again."""
    with House(sandbox=("--fates", "ok=1", "--solve", "0.2", "--callback-timeout", "1")) as house:
        house.start()
        with Load(house, rate=40) as load:
            passes(1)
            house.gateway.pause()
            passes(3)
            house.gateway.resume()
            until(house.serving, 10, "the gateway does not come back")
            passes(1)
        verdict = settle(house, load.ledger).demand()
        assert verdict.acknowledged < verdict.attempt
        assert verdict.sources.get("callback")
