"""The wall clock of the tracker jumps by an hour, there and back, under load and while it is away:
nothing expires for it, nobody is polled for it, every task ends as it would have. So do the clocks of
the others; a monotonic clock that jumps, and one that begins again as after a start of the machine. Rows
31 to 33 of the matrix (README.md)."""
import glob
import os
import shutil
import subprocess

import pytest
from support.house import House
from support.ledger import Ledger
from support.load import Load
from support.oracle import Oracle, judge
from support.until import passes, stays, until

LIBRARIES = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
pytestmark = pytest.mark.skipif(not LIBRARIES, reason="needs libfaketime, to move a clock")

# Would be polled after five minutes and given up after half an hour: within the hour that is jumped.
SOON = {"callback": {"stale_after": "5m", "parked_for": "10m"},
        "poll": {"schedule": {"give_up_after": "30m"}}}


class Clock:
    """Of one process; monotonic: that clock jumps, too."""

    def __init__(self, house, name="tracker", monotonic=False):
        self.file = os.path.join(house.folder, f"clock-{name}")
        self.set(0)
        house.daemons[name].env.update(
            LD_PRELOAD=LIBRARIES[0], FAKETIME_TIMESTAMP_FILE=self.file, FAKETIME_NO_CACHE="1",
            **({} if monotonic else {"FAKETIME_DONT_FAKE_MONOTONIC": "1"}))

    def set(self, offset_s):
        with open(f"{self.file}.new", "w", encoding="ascii") as file:
            file.write(f"{offset_s:+d}\n")
        os.rename(f"{self.file}.new", self.file)


def waiting_tasks(house, ledger, count=40):
    """Tasks whose callback does not come and whose polls would not bring an answer."""
    ids = house.submit(count, fate="drop", solve=600)
    for provider_id in ids:
        ledger.registered(provider_id, house.register(provider_id)["id"])
    return ids


def all_wait(house, ledger, ids):
    """None of them was polled, none has ended."""
    polls = sum(house.provider_ledger()[provider_id]["polls"] for provider_id in ids)
    ended = {event["task"] for event in house.events()}
    return polls == 0 and not ended & {ledger.tasks[provider_id] for provider_id in ids}


def end_all(house, ledger, ids):
    for provider_id in ids:
        answer = house.public.get("/callback/sandbox", id=provider_id, code=f"c-{provider_id}")
        assert answer.status == 200
        ledger.noted(provider_id, f"c-{provider_id}", answer.status)


def test_jumps_under_load():
    with House(profile=SOON, sandbox=("--fates", "ok=80,double=20", "--solve", "0.3")) as house:
        clock = Clock(house)
        house.start()
        ledger = Ledger()
        ids = waiting_tasks(house, ledger)
        with Load(house, rate=40) as load:
            for offset_s in (3600, 0, -3600, 3600, -3600, 0):
                clock.set(offset_s)
                passes(1)
        stays(lambda: all_wait(house, ledger, ids), 0.5, "the clock's jump was taken for time")
        end_all(house, ledger, ids)
        load.ledger.tasks.update(ledger.tasks)
        load.ledger.sent.update(ledger.sent)
        verdict = judge(house, load.ledger)
        assert set(verdict.sources) <= {"callback", "late"}, verdict
        assert verdict.acknowledged > 100
        assert house.tracker.starts == 1


@pytest.mark.parametrize("offset_s", [3600, -3600])
def test_jump_while_it_is_away(offset_s):
    """Also for callbacks that are parked: their time is not over, and the registration finds them."""
    with House(profile=SOON) as house:
        clock = Clock(house)
        house.start()
        ledger = Ledger()
        ids = waiting_tasks(house, ledger)
        early = house.submit(10, fate="drop", solve=600)
        end_all(house, ledger, early)
        house.tracker.kill9()
        clock.set(offset_s)
        house.tracker.start()
        house.until_serving()
        stays(lambda: all_wait(house, ledger, ids), 2, "the clock's jump was taken for time")
        assert not house.dead_letters()
        for provider_id in early:
            ledger.registered(provider_id, house.register(provider_id)["id"])
        end_all(house, ledger, ids)
        verdict = judge(house, ledger)
        assert verdict.sources == {"callback": 50}, verdict


NAMES = ("gateway", "tracker", "dlq", "poller1")


@pytest.mark.parametrize("monotonic", [False, True], ids=["wall", "monotonic"])
def test_all_clocks_jump(monotonic):
    """Each of the daemons by itself, an hour to and fro. What a jump of the monotonic clock makes late
    is done once: no storm of polls, and no task ends for it that can't be polled."""
    with House(profile=SOON, sandbox=("--fates", "ok=80,double=20", "--solve", "0.3")) as house:
        clocks = [Clock(house, name, monotonic) for name in NAMES]
        house.start()
        oracle = Oracle(house)
        with Load(house, rate=30, ledger=oracle.ledger):
            for offset_s in (3600, 7200) if monotonic else (3600, -3600, 0):
                for clock in clocks:
                    clock.set(offset_s)
                    passes(0.15)
                passes(0.5)
        polls = max(entry["polls"] for entry in house.provider_ledger().values())
        assert polls <= (6 if monotonic else 0), f"one task was polled {polls} times"
        oracle.demand(starts={name: 1 for name in NAMES})


def may_unshare_time():
    return os.geteuid() == 0 and shutil.which("unshare") is not None and subprocess.run(
        ["unshare", "-T", "--monotonic=1000", "true"], capture_output=True, check=False).returncode == 0


@pytest.mark.skipif(not may_unshare_time(),
                    reason="needs root, unshare and time namespaces, for another monotonic clock")
@pytest.mark.parametrize("first, then", [(100_000, 5), (5, 100_000)], ids=["began again", "went on"])
def test_row_33_the_machine_starts_again(first, then):
    """All are killed, and started where the monotonic clock is another: deadlines go on as they were."""
    with House(profile=SOON) as house:
        plain = {name: daemon.argv for name, daemon in house.daemons.items()}

        def since(offset_s):
            for name, daemon in house.daemons.items():
                daemon.argv = ["unshare", "-T", f"--monotonic={offset_s}", f"--boottime={offset_s}",
                               "--fork", "--kill-child", *plain[name]]

        since(first)
        house.start()
        ledger = Ledger()
        ids = waiting_tasks(house, ledger, 10)
        for daemon in house.daemons.values():
            daemon.kill9()
        until(lambda: not house.serving(), 10, "they live on")  # what was started is a child of unshare
        passes(0.5)
        since(then)
        house.start_daemons()
        stays(lambda: all_wait(house, ledger, ids), 1, "another clock was taken for time")
        end_all(house, ledger, ids)
        verdict = judge(house, ledger)
        assert verdict.sources == {"callback": 10}, verdict


def test_this_test_can_fail():
    """The hour is one for the tracker: what it makes now carries the other time."""
    with House(pollers=0, profile=SOON) as house:
        clock = Clock(house)
        house.start()
        first = house.task(house.register(house.submit(1)[0])["id"])
        clock.set(3600)
        second = house.task(house.register(house.submit(1)[0])["id"])
        assert 3590_000 < second["created_ms"] - first["created_ms"] < 3660_000
