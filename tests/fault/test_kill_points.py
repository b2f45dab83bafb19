"""kill -9 at the n-th time that a process wants its files on disk, n = 1, 2, 3 ... from its first
instruction on: in its start-up protocol, in the middle of a batch, while it drains. And at the n-th
message that it sends: after the commit, before the answer. What was acknowledged is there, once."""
import glob
import os
import shutil

import pytest
from inject import launch_under, needs_strace
from support.daemon import note_kill
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger, demand_conflict_letters
from support.load import Load
from support.oracle import judge
from support.orders import Orders
from support.settings import shop_profile
from support.until import passes, until

pytestmark = needs_strace

SYNCS = "fdatasync,fsync"
DEATH_S = 30
SANDBOX = ("--fates", "ok=60,drop=10,double=10,conflict=10,early=5,error=5", "--solve", "0.3",
           "--callback-retries", "3")
CALM = {"callback": {"stale_after": "300s", "parked_for": "1s"},
        "poll": {"schedule": {"give_up_after": "600s"}}}


def die_at(daemon, call, number):
    """Run it until its number-th call, which is its last."""
    launch_under(daemon, f"{call}:signal=KILL:when={number}")


def gone(daemon, number):
    until(lambda: not daemon.alive(), DEATH_S,
          lambda: f"no call number {number}\n{daemon.tail()}")
    assert daemon.process.returncode == -9, daemon.tail()
    note_kill(daemon)


@pytest.mark.parametrize("call,points", [(SYNCS, (*range(1, 9), 12, 20)),
                                         ("sendto", (1, 2, 3, 5, 8, 13)), ("write", (1, 3, 6, 12))])
def test_tracker(call, points):
    """sendto: the batch is committed and its acknowledgement does not leave."""
    with House(sandbox=SANDBOX) as house:
        house.start()
        with Load(house) as load:
            house.tracker.kill9()
            for number in points:
                die_at(house.tracker, call, number)
                gone(house.tracker, number)
            house.tracker.start()
            house.until_serving()
            until(lambda: len(load.ledger.tasks) > 60, 30, "nothing is registered")
        verdict = judge(house, load.ledger)
        assert house.tracker.starts == len(points) + 2
        assert verdict.acknowledged > 20, verdict
        demand_conflict_letters(house, load.ledger)


@pytest.mark.parametrize("name,call,points", [
    ("tracker", SYNCS, (*range(1, 9), 12, 20)), ("tracker", "sendto", (1, 2, 3, 5, 8, 13, 21)),
    ("poller1", "sendto", (1, 2, 3, 4, 5, 6, 8, 11, 15)), ("poller1", "connect", (1, 2, 3, 4, 6))])
def test_submissions(name, call, points):
    """While tasks are submitted, lost answers and refusals among them. sendto of the poller: a start,
    a request to the provider, an outcome. Nothing is bought twice."""
    profile = {"codes": {"ERROR_NO_SLOT_AVAILABLE": {"wait": "200ms"}},
               "poll": {"schedule": {"give_up_after": "15s"}}}
    with House(describe=shop_profile, profile=profile) as house:
        house.start()
        daemon = house.daemons[name]
        with Orders(house) as orders:
            daemon.kill9()
            for number in points:
                die_at(daemon, call, number)
                gone(daemon, number)
            daemon.start()
            seen = len(orders.tasks)
            until(lambda: len(orders.tasks) > seen + 10, 30, "nothing is ordered")
        assert len(orders.demand()) > 10
        assert daemon.starts == len(points) + 2


def answers_or_died(daemon):
    return not daemon.alive() or any(line.startswith("ready") for line in daemon.lines())


def knock_if_alive(daemon, knocker):
    if daemon.alive():
        assert knocker.waiting, f"it lives on\n{daemon.tail()}"
        knocker.knock()


@pytest.mark.parametrize("call,points", [(SYNCS, (*range(1, 11), 16, 17)),
                                         ("sendto", (1, 2, 3, 4))])
def test_gateway(call, points):
    """Odd rounds: nobody takes its callbacks, they go to the spool. Even ones: it drains as well.
    sendto: the callback is on disk and its 200 does not leave."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 600)
        for turn, number in enumerate(points):
            house.gateway.kill9()
            (house.tracker.resume if turn % 2 else house.tracker.pause)()
            die_at(house.gateway, call, number)
            until(lambda: answers_or_died(house.gateway), 20, "it does not start")
            for _ in range(10):
                knock_if_alive(house.gateway, knocker)
            house.tracker.pause()
            while house.gateway.alive():
                knock_if_alive(house.gateway, knocker)
            gone(house.gateway, number)
        house.tracker.resume()
        house.gateway.start()
        house.until_serving()
        sure = knocker.statuses.count(200)
        for provider_id in knocker.ids:
            until(lambda: knocker.knock(provider_id).status == 200, 20, "it does not recover")
        verdict = judge(house, ledger)
        assert sure >= len(points) or call == "sendto", verdict


def knock_twice(house, knocker, provider_id):
    """Two answers that differ: the second one makes a letter."""
    for answer in (f"{provider_id} this", f"{provider_id} that"):
        assert knocker.knock(provider_id, answer).status == 200


@pytest.mark.parametrize("call,points", [(SYNCS, (*range(1, 12), 14)), ("sendto", (1, 2, 3, 5))])
def test_dlq(call, points):
    """Letters come in, and others are judged again, all the while: each exists once, and each task
    whose callback came before its registration ends by the one re-injection that finds it."""
    settings = {"dlq": {"first_after": "100ms", "max_after": "300ms", "max_attempts": 1000,
                        "tick": "20ms"}}
    with House(pollers=0, profile=CALM, settings=settings) as house:
        house.start()
        ledger = Ledger()
        early = Knocker(house, ledger, 30, register=False)
        for provider_id in early.ids:
            assert early.knock(provider_id).status == 200
        until(lambda: len(house.dead_letters(reason="unknown_task")) == 30, 20, "no letters")
        knocker = Knocker(house, ledger, 30 * len(points))
        for number in points:
            house.dlq.kill9()
            die_at(house.dlq, call, number)
            while house.dlq.alive() and knocker.waiting:
                knock_twice(house, knocker, knocker.waiting.pop(0))
                if early.waiting:
                    provider_id = early.waiting.pop(0)
                    ledger.registered(provider_id, house.register(provider_id)["id"])
                passes(0.03)  # or all letters would travel in one batch
            gone(house.dlq, number)
        house.dlq.start()
        for provider_id in knocker.waiting:
            knock_twice(house, knocker, provider_id)
        for provider_id in early.waiting:
            ledger.registered(provider_id, house.register(provider_id)["id"])
        verdict = judge(house, ledger)
        assert verdict.sources == {"callback": len(knocker.ids), "replay": 30}, verdict
        assert demand_conflict_letters(house, ledger) == len(knocker.ids)
        until(lambda: not house.dead_letters(reason="unknown_task", state="open"), 20,
              "a letter is open whose task has ended")


def test_these_tests_can_fail():
    """A tracker that comes back with an older file than it had acknowledged from: the outside ledger
    names what is lost."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 20)
        data, old = f"{house.folder}/data", f"{house.folder}/old"
        for part in (5, 15):
            for _ in range(part):
                assert knocker.knock().status == 200
            house.tracker.kill9()
            if part == 5:
                shutil.copytree(data, old)
            house.tracker.start()
            house.until_serving()
        house.tracker.kill9()
        for path in glob.glob(f"{data}/tracker.*"):
            os.remove(path)
        for path in glob.glob(f"{old}/tracker.*"):
            shutil.copy(path, data)
        house.tracker.start()
        house.until_serving()
        verdict = ledger.check(house)
        assert len(verdict.lost) == 15 and verdict.books, verdict
