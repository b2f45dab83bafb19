"""Processes that die or fail on purpose at the places where aldaba syncs, commits, renames, sends and
acknowledges: the short form of torture.py. In one house, one round of its paths after another (scene.py),
each process dies at the first, the second and a later occurrence of each of its failpoints, one after the
other, and is started again as a supervisor would; and in another one errors come at random occurrences. What
does not fit into the time is left for another day: the seed is the day's, or ALDABA_FAULT_SEED."""
import itertools
import os
import pathlib
import random
import shutil
import subprocess
import time

import pytest
import scene
from support.house import House, binary
from support.knocker import Knocker
from support.ledger import Ledger, settle
from support.until import until

SEED = int(os.environ.get("ALDABA_FAULT_SEED", time.time() // 86400))
CRASH_S = float(os.environ.get("ALDABA_FAULT_S", 14))
ERROR_ROUNDS = 3
ERRORS = 12  # rules a process
# Met by a start in an empty folder alone, or once in a life.
FRESH = ("folder.make", "keyfile.", "keyring.", "mark.claim", "reserve.")
# Not met by the scene: what it has no provider, caller or file for, or no time.
UNMET = {"store.checkpoint_beside", "canary.rename", "keychain.write", "keychain.sync", "keychain.rename", "judger.ask",
         "poller.push", "poller.sink", "poller.keys", "gateway.stream", "gateway.event"}
OF_THE_COMMAND = ("health.", "key.", "swap.")
CALM = {"callback": {"stale_after": "300s"}, "poll": {"schedule": {"give_up_after": "600s"}}}
FILES = {"callback.key", "letters.db", "tracker.db"}
RESTORE = ("swap.mark", "swap.write", "swap.sync", "swap.exchange", "swap.aside", "swap.place",
           "folder.sync")
WHOLE = bool(os.environ.get("ALDABA_FAULT_WHOLE"))


def has_failpoints():
    where = binary("aldaba")
    return where and "+failpoints" in subprocess.run([where, "--version"], capture_output=True,
                                                     text=True, check=True).stdout


pytestmark = pytest.mark.skipif(
    not has_failpoints(), reason="no build of the preset failpoints in $ALDABA_BIN")


@pytest.fixture(scope="module")
def met():
    return scene.met()


def names():
    """All of them, as the program has them."""
    root = os.path.dirname(os.path.dirname(scene.HERE))
    with open(os.path.join(root, "common/base/failpoint.c"), encoding="utf-8") as file:
        table = file.read().partition("failpoint_names[] = {")[2].partition("};")[0]
    return {word for word in table.replace(",", " ").replace('"', " ").split() if "." in word}


def test_the_scene_meets_them(met):
    seen = set().union(*met.values())
    missed = {name for name in names() - seen if not name.startswith(OF_THE_COMMAND)}
    assert missed == UNMET, f"{missed ^ UNMET}"


class Queues:
    """What is armed at which process, at one start after the other."""

    def __init__(self, met, luck):
        self.left = {}
        self.given = {}
        for process, counts in met.items():
            rules = [f"{name}:crash:{n}" for name, count in counts.items()
                     for n in (1, 2, luck.randint(3, max(3, count))) if count >= n]
            luck.shuffle(rules)
            fresh = [rule for rule in rules if rule.startswith(FRESH)]
            self.left[process] = [rule for rule in rules if rule not in fresh] + fresh[:1]
            self.given[process] = 0

    def take(self, process):
        if not self.left[process]:
            return None
        self.given[process] += 1
        return self.left[process].pop()

    def empty(self):
        return not any(self.left.values())


def test_crashes(met):
    luck = random.Random(SEED)
    queues = Queues(met, luck)
    end = time.monotonic() + CRASH_S
    with scene.Scene(queues.take) as house:
        while time.monotonic() < end and not queues.empty():
            before = dict(house.armed)
            house.round()
            house.give_up(before)
        queues.left = {process: [] for process in queues.left}
        verdict = house.demand()
        fired = {process: len(rules) for process, rules in house.fired.items()}
    print(f"seed {SEED}: {house.rounds} rounds, armed {queues.given}, died {fired}, {verdict}")
    assert sum(fired.values()) > CRASH_S / 2, f"seed {SEED}: {fired}"


def test_errors(met):
    """Each process starts with rules that come true in the course of the rounds."""
    luck = random.Random(SEED)
    rules = {}
    for process, counts in met.items():
        able = [(name, action, ERROR_ROUNDS * count) for name, count in counts.items()
                for action in scene.failures(name)]
        rules[process] = [",".join(f"{name}:{action}:{luck.randint(1, most)}" for name, action, most
                                   in luck.sample(able, min(ERRORS, len(able))))]
    said = f"seed {SEED}: {rules}"
    with scene.Scene(lambda name: rules[name].pop() if rules[name] else None) as house:
        for _ in range(ERROR_ROUNDS):
            house.round()
        verdict = house.demand()
        fired = {process: len(found) for process, found in house.fired.items()}
    print(f"{said}: failed {fired}, {verdict}")
    assert sum(fired.values()) > 5, said


@pytest.mark.parametrize("process, rule", [("poller1", "poller.ask:error:1"),
                                           ("poller1", "poller.ask:error:2")])
def test_found_by_torture(process, rule):
    """What once went wrong. An order that could not be sent just then failed for good."""
    assert scene.single(process, rule)


def test_killed_in_a_commit():
    """The tracker dies as it writes what callbacks did, one transaction later each time: whoever saw a 200
    sees a result."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, 150)
        for n in range(1, 9):
            house.tracker.kill9()
            house.tracker.env["ALDABA_FAILPOINT"] = f"log.write:crash:{n}"
            house.tracker.launch()
            while house.tracker.alive():
                assert knocker.waiting, house.tracker.tail()
                knocker.knock()
            del house.tracker.env["ALDABA_FAILPOINT"]
            house.tracker.start()
        house.until_serving()
        for provider_id, calls in list(ledger.sent.items()):
            if all(call["status"] != 200 for call in calls):
                until(lambda: knocker.knock(provider_id).status == 200, 20, "it does not recover")
        for _ in range(len(knocker.waiting)):
            assert knocker.knock().status == 200
        settle(house, ledger).demand()


def test_an_audit_after_a_lost_acknowledgement():
    """The dlq has the letter and the tracker does not know: the audit has it sent again, and balances."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        house.tracker.stop()
        house.tracker.env["ALDABA_FAILPOINT"] = "courier.ack:drop:1"
        house.tracker.start()
        house.until_serving()
        house.register("1")
        for code in ("C", "D"):  # the second one contradicts the first
            assert house.public.get("/callback/sandbox", id="1", code=code).status == 200
        until(house.dead_letters, 20, "no letter comes to the dlq")
        assert house.books()["letters"]["outbox"] == 1
        started = time.monotonic()
        audit = house.audit()
        assert audit["balanced"], audit["problems"]
        assert time.monotonic() - started < 5  # half of what it would take by itself
        assert house.books()["letters"]["outbox"] == 0


def test_a_store_that_opens_at_the_third_try():
    """It fails, and two tries to open it again end after it was read back: what they read is forgotten, a
    durable consumer with it, and read once more."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        assert house.private.post_json("/v1/consumers/mailer", {"from": "all"}, method="PUT").status == 200
        house.tracker.stop()
        house.tracker.env["ALDABA_FAILPOINT"] = \
            "store.commit:eio:9,tracker.reader:error:2,tracker.reader:error:3"
        house.tracker.start()
        house.until_serving()

        def fired():
            return sum("ev=failpoint" in line for line in house.tracker.lines())

        for number in range(1, 40):
            house.public.get("/callback/sandbox", id=str(number), code="C")
            if fired():
                break
        until(lambda: fired() == 3, 20, house.tracker.tail)
        until(lambda: any("ev=store.back" in line for line in house.tracker.lines()), 20, house.tracker.tail)
        house.until_serving()
        house.register("4711")
        assert house.public.get("/callback/sandbox", id="4711", code="C").status == 200
        until(lambda: house.private.post_json("/v1/consumers/mailer/pull", {"wait": "1s"}).json().get("events"),
              20, "the consumer gets nothing")
        assert house.tracker.starts == 2, "it died on the way"
        assert house.audit()["balanced"]


def test_a_mark_that_could_not_be_synced_is_opened_again():
    """A sync of the mark beside the letters fails once: that is said once, and later numbers are in it."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        dlq = house.daemons["dlq"]
        dlq.stop()
        dlq.env["ALDABA_FAILPOINT"] = "mark.sync:eio:1"
        dlq.start()
        house.until_serving()
        until(lambda: said(dlq, "ev=letters.mark") == 1, 20, "the mark was synced")
        mark = pathlib.Path(house.folder) / "data" / "letters.db.mark"
        before = mark.read_bytes()
        house.register("1")
        for code in ("C", "D"):  # the second one contradicts the first, and becomes a letter
            assert house.public.get("/callback/sandbox", id="1", code=code).status == 200
        until(house.dead_letters, 20, "no letter comes to the dlq")
        until(lambda: mark.read_bytes() != before, 20, "the mark stays as it was")
        assert said(dlq, "ev=letters.mark") == 1, dlq.tail()


def said(daemon, words):
    return sum(words in line for line in daemon.lines())


def restore(house, copy, rule=""):
    """`aldaba restore` under a rule; None if the rule was not met."""
    os.environ["ALDABA_FAILPOINT"] = rule
    try:
        done = house.aldaba("restore", copy, "--yes")
    finally:
        del os.environ["ALDABA_FAILPOINT"]
    return done if "ev=failpoint" in done.stderr else None


def whole(folder, copy):
    for name in FILES:
        with open(f"{folder}/{name}", "rb") as mine, open(f"{copy}/{name}", "rb") as other:
            if mine.read() != other.read():
                return False
    return True


@pytest.mark.parametrize("empty", [False, True], ids=["full", "empty"])
def test_restore(empty):
    """The command dies or fails at each of its steps: what was in the place is there, or what was
    backed up, never a part; and the same command, said again, brings the backup."""
    with House(pollers=0) as house:
        house.start()
        task = house.register("1")
        assert house.public.get("/callback/sandbox", id="1", code="C").status == 200
        house.ended(task["id"])
        copy, data, old = (f"{house.folder}/{name}" for name in ("copy", "data", "old"))
        assert house.aldaba("backup", copy).returncode == 0
        for daemon in house.daemons.values():
            daemon.stop()
        shutil.copytree(data, old)
        met = 0
        for rule in (f"{name}:{action}" for name in RESTORE
                     for action in ("crash", *(scene.failures(name) if WHOLE else ()))):
            for n in itertools.count(1) if WHOLE else (1, 2):
                shutil.rmtree(data)
                if not empty:
                    shutil.copytree(old, data)
                done = restore(house, copy, f"{rule}:{n}")
                if not done:
                    break
                met += 1
                there = set(os.listdir(data)) if os.path.isdir(data) else set()
                assert FILES <= there or (empty and not there), (rule, n, there, done)
                assert (done.returncode != 0) or whole(data, copy), (rule, n, done)
                restore(house, copy)
                assert whole(data, copy), (rule, n)
    assert met >= 8, met
