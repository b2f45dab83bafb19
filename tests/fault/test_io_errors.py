"""The disk says no: once and for ever, to syncs and to writes. Nothing is acknowledged that is not
on disk; health says what is wrong; when the fault is over the process recovers by itself, through
the start-up protocol and without a restart, and all that was acknowledged is there."""
import pytest
from inject import Faults, needs_strace
from support.bus import Channel
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger, demand_conflict_letters
from support.oracle import judge
from support.until import passes, stays, until

pytestmark = needs_strace

CALM = {"callback": {"stale_after": "300s"}, "poll": {"schedule": {"give_up_after": "600s"}}}
FOR_EVER = ("fdatasync,fsync:error=EIO", "pwrite64:error=EIO", "pwrite64:error=ENOSPC")
ONCE = [f"{call}:error={error}:when={number}"
        for call, error, numbers in (("fdatasync", "EIO", (1, 2, 4)), ("pwrite64", "EIO", (1, 5, 9)),
                                     ("pwrite64", "ENOSPC", (2, 7)))
        for number in numbers]
RECOVERS_S = 20


def health(house, service):
    """What the process says of itself on its control socket: "" when it is well."""
    with Channel(house.run, f"control-{service}") as channel:
        answer = channel.ask("control", what="health")[0]
    return "" if answer["rc"] == "ok" else answer["detail"]


def until_well(house, service):
    until(lambda: not health(house, service), RECOVERS_S,
          lambda: f"it does not recover\n{house.daemons[service].tail()}")
    assert house.daemons[service].starts == 1 and house.daemons[service].alive()


def knock_all(house, knocker):
    """As a provider would that tries again."""
    for provider_id in knocker.ids:
        until(lambda: (knocker.knock(provider_id) or 0) and knocker.statuses[-1] == 200, RECOVERS_S,
              "callbacks are not taken")


def knock_until_fired(knocker, faults):
    def look():
        assert knocker.knock().status in (200, 503)
        return faults.fired()
    until(look, RECOVERS_S, "the fault is not met")


@pytest.fixture
def house():
    with House(pollers=0, profile=CALM) as one:
        yield one.start()


def test_tracker_for_ever(house):
    """The spool takes over: still 200, still true."""
    ledger = Ledger()
    knocker = Knocker(house, ledger, 120)
    for rule in FOR_EVER:
        with Faults(house.tracker, rule) as faults:
            for _ in range(8):
                assert knocker.knock().status in (200, 503)
            said = until(lambda: health(house, "tracker"), 10, "it says that it is well")
            assert "store" in said, said
            assert faults.fired() > 0
        until_well(house, "tracker")
    assert set(knocker.statuses) <= {200, 503}
    knock_all(house, knocker)
    judge(house, ledger)


def test_tracker_once(house):
    ledger = Ledger()
    knocker = Knocker(house, ledger, 30 * len(ONCE))
    for rule in ONCE[::2]:
        with Faults(house.tracker, rule) as faults:
            knock_until_fired(knocker, faults)
        until_well(house, "tracker")
        house.until_serving()  # else all that comes goes to the spool
    knock_all(house, knocker)
    judge(house, ledger)


@pytest.mark.parametrize("rule", ["fdatasync,fsync:error=EIO:when=1", "pwrite64:error=EIO:when=1"])
def test_mark_of_the_tracker_comes_back(house, rule):
    """A mark that could not be written once is written again, or it would guard nothing."""
    mark = f"{house.folder}/data/tracker.mark"
    knocker = Knocker(house, Ledger(), 10)
    with Faults(house.tracker, rule, path=mark) as faults:
        for _ in range(5):
            assert knocker.knock().status == 200
        until(faults.fired, 5, "the mark is not written")
        stays(lambda: not health(house, "tracker"), 0.1, "a mark is not worth stopping for")

    def content():
        with open(mark, "rb") as file:
            return file.read()

    before = content()
    while knocker.waiting:
        assert knocker.knock().status == 200
    until(lambda: content() != before, 5, "the mark is not written any more")


def test_spool_for_ever(house):
    """Nobody takes the callback and it cannot be kept: never a 2xx."""
    ledger = Ledger()
    knocker = Knocker(house, ledger, 120)
    house.tracker.pause()
    for _ in range(5):
        assert knocker.knock().status == 200
    for rule in FOR_EVER:
        with Faults(house.gateway, rule) as faults:
            answers = [knocker.knock() for _ in range(6)]
            assert {answer.status for answer in answers} == {503}, answers
            assert all(int(answer.headers["retry-after"]) >= 1 for answer in answers)
            assert faults.fired() > 0
            until(lambda: house.private.get("/readyz").status == 503, 5, "it says that it is ready")
        until(lambda: knocker.knock().status == 200, RECOVERS_S, "the spool does not recover")
    house.tracker.resume()
    house.until_serving()
    assert house.gateway.starts == 1
    knock_all(house, knocker)
    judge(house, ledger)


def test_spool_once(house):
    ledger = Ledger()
    knocker = Knocker(house, ledger, 30 * len(ONCE))
    house.tracker.pause()
    for turn, rule in enumerate(ONCE):
        with Faults(house.gateway, rule) as faults:
            knock_until_fired(knocker, faults)
        if turn % 3 == 2:  # it drains, too, between two faults
            house.tracker.resume()
            house.until_serving()
            house.tracker.pause()
        until(lambda: knocker.knock().status == 200, RECOVERS_S, "the spool does not recover")
    house.tracker.resume()
    house.until_serving()
    assert house.gateway.starts == 1
    knock_all(house, knocker)
    judge(house, ledger)


def test_dlq(house):
    """Letters wait at the tracker until the shelf is well; none is lost, none is there twice."""
    ledger = Ledger()
    rules = [*FOR_EVER, *ONCE]
    knocker = Knocker(house, ledger, 40 * len(rules))
    for rule in rules:
        with Faults(house.dlq, rule) as faults:
            while not faults.fired():
                provider_id = knocker.waiting.pop(0)
                for answer in (f"{provider_id} this", f"{provider_id} that"):
                    assert knocker.knock(provider_id, answer).status == 200
                passes(0.03)  # or all letters would travel in one batch
            if rule in FOR_EVER:
                until(lambda: health(house, "dlq"), 10, "it says that it is well")
        until_well(house, "dlq")
    for provider_id in knocker.waiting:
        for answer in (f"{provider_id} this", f"{provider_id} that"):
            assert knocker.knock(provider_id, answer).status == 200
    judge(house, ledger)
    assert demand_conflict_letters(house, ledger, 60) == len(knocker.ids)
