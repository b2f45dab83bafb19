"""A small house in which every path is walked once a round, while its processes die or fail at
failpoints (common/base/failpoint.h): callbacks, polls, a conflict, a letter that is judged again, an
order, a tracker that is away, a durable consumer. Somebody starts what has ended, as a supervisor
does. At the end the outside ledger must balance and every process be well.

What is walked runs in a thread: processes are started by the main one, with which they would die.
"""
import collections
import concurrent.futures
import contextlib
import http.client
import itertools
import os
import re
import subprocess

from support import consume
from support.background import Background
from support.bus import Channel, Silent
from support.consume import Consumer
from support.house import ENDED, House
from support.ledger import Ledger, ends_of, settle
from support.peers import Listener
from support.settings import merge, shop_profile
from support.until import Late, passes, until

# What may go wrong where, beside the death of the process. At others nothing can.
SENDS = ("courier.hello", "courier.send", "inbox.ack", "inbox.welcome", "events.welcome",
         "desk.answer", "judger.ask", "jobs.lease", "poller.ready", "feed.publish", "feed.head",
         "feed.answer", "query.answer", "control.answer", "caller.ask", "health.ask")
STEPS = ("gate.send", "store.committed", "outbox.send", "outbox.clear", "reinject.send", "poller.start",
         "poller.answer", "poller.outcome")
CALLS = ("gateway.answer", "gateway.stream", "gateway.event", "courier.ack", "poller.ask",
         "poller.push", "poller.sink", "poller.keys")

HERE = os.path.dirname(os.path.abspath(__file__))
FIRED = re.compile(r"ev=failpoint name=(\S+) action=(\S+) n=(\d+)")
SETTINGS = {"dlq": {"first_after": "100ms", "max_after": "300ms", "max_attempts": 1000,
                    "tick": "20ms"},
            "gateway": {"resend_after": "1s"}, "tracker": {"lease": "1s"},
            "poller": {"timeout": "1s"}}
PROFILE = {"callback": {"parked_for": "300ms", "stale_after": "1s"},
           "poll": {"schedule": {"give_up_after": "10m"}}}
SHOP = {"callback": {"stale_after": "2s"}, "poll": {"schedule": {"give_up_after": "9s"}}}
LOOK_S = 30
PLAY_S = 200
READY_S = 20


def failures(name):
    """The actions that make sense at a failpoint, `crash` apart."""
    if name in STEPS:
        return ()
    if name in SENDS:
        return ("error", "drop")
    if name in CALLS:
        return ("error",)
    return ("eio", "short") if name.endswith(".write") else ("eio", "enospc")


class Reader(Background):
    """A durable consumer that acknowledges all that it is given, and a subscriber. A thread: it
    starts nothing."""

    def __init__(self, house):
        super().__init__(1, 0.05)
        self.house = house
        self.seen = collections.Counter()
        self.opened = False
        self.listener = Listener(house.run, "result.")
        self.listener.listen(True)
        self.consumer = Consumer(house.run, "scene")

    def step(self):
        self.listener.read()
        try:
            if not self.opened:
                head, *_ = self.consumer.ask("consumer.open", timeout_s=1, **{"from": "all"})
                self.opened = head.get("rc") in ("ok", "exists")
                return
            events = self.consumer.pull(wait_ms=100)
            self.consumer.ack_all(events)
            self.seen.update(event["seq"] for event in events)
        except (Silent, Late):
            pass  # the tracker is away
        except consume.Refused as refused:
            # It was killed before the word reached its disk.
            self.opened = refused.args[0].get("rc") != "notfound"


class Scene:
    """A context manager. next_rule(process) gives what is armed when a process is launched: the
    value of ALDABA_FAILPOINT, or None."""

    def __init__(self, next_rule=lambda name: None):
        self.house = House(sandbox=("--callback-retries", "4"))
        self.next_rule = next_rule
        self.ledger = Ledger()
        self.orders = {}  # ref -> aldaba's id
        self.fired = collections.defaultdict(list)  # process -> [(name, action, n)]
        self.armed = {}  # process -> rule in force
        self.numbers = itertools.count(1)
        self.conflicts = self.rounds = 0
        self.reader = None

    def __enter__(self):
        self.house.__enter__()
        try:
            self.begin()
        except BaseException:
            self.house.__exit__()
            raise
        return self

    def begin(self):
        house = self.house
        consume.ANSWER_S = 1
        for client in (house.public, house.private):
            client.timeout_s = 3
        house.start_sandbox()
        shop = merge(shop_profile(house.provider.port), SHOP)
        house.settings = {**SETTINGS, "providers": {"sandbox": PROFILE, "shop": shop}}
        house.write_settings()
        for daemon in house.daemons.values():
            self.launch(daemon)
        self.play(lambda: self.until(house.serving, "it does not serve"))
        self.reader = Reader(house)
        self.reader.__enter__()

    def __exit__(self, kind, *what):
        if kind is not None:
            self.report()
        self.reader.__exit__(kind, *what)
        self.house.__exit__(kind, *what)

    def report(self):
        """All that may explain a failure."""
        print(self.house.tails())
        print(f"armed {self.armed}, fired {dict(self.fired)}")
        for target in ("/readyz", "/v1/status", "/v1/audit", "/v1/dead-letters"):
            with contextlib.suppress(OSError, http.client.HTTPException):
                print(target, self.house.private.get(target).text)

    # ---- the supervisor ----

    def launch(self, daemon):
        rule = self.next_rule(daemon.name)
        daemon.env.pop("ALDABA_FAILPOINT", None)
        if rule:
            daemon.env["ALDABA_FAILPOINT"] = rule
        self.armed[daemon.name] = rule
        daemon.launch()

    def note(self, daemon):
        """What has fired in the run of this process."""
        return [(name, action, int(n)) for name, action, n in FIRED.findall(
            "\n".join(daemon.lines()))]

    def tend(self):
        for daemon in self.house.daemons.values():
            if not daemon.alive():
                self.fired[daemon.name] += self.note(daemon)
                self.launch(daemon)

    def give_up(self, before):
        """Who is armed as it was before, and has not met it, goes on with its next rule."""
        for name, daemon in self.house.daemons.items():
            if daemon.alive() and self.armed[name] and self.armed[name] is before[name]:
                self.relaunch(daemon)

    def relaunch(self, daemon):
        """With the next rule: what was armed is not met."""
        daemon.resume()
        daemon.kill9()
        self.tend()

    def play(self, work, deadline_s=PLAY_S):
        """Do the work in a thread, and start meanwhile whoever has ended."""
        with concurrent.futures.ThreadPoolExecutor(1) as pool:
            done = pool.submit(work)
            until(lambda: self.tend() or done.done(), deadline_s, "it does not end")
            return done.result()

    def until(self, cond, what, deadline_s=LOOK_S):
        """Whatever goes wrong meanwhile."""
        said = []

        def look():
            try:
                return cond()
            except (OSError, http.client.HTTPException, subprocess.TimeoutExpired, Silent,
                    AssertionError) as error:
                said[:] = [repr(error)]
                return None
        return until(look, deadline_s, lambda: f"{what}; armed {self.armed}, fired "
                                               f"{dict(self.fired)} {said}")

    # ---- what goes on ----

    def knock(self, provider_id, answer):
        """A callback, until it is acknowledged."""
        def once():
            try:
                status = self.house.public.post_form("/callback/sandbox", id=provider_id,
                                                     code=answer).status
            except (OSError, http.client.HTTPException):
                status = None
            self.ledger.noted(provider_id, answer, status)
            return status == 200
        self.until(once, "a callback is not taken")

    def register(self, provider_id):
        def once():
            answer = self.house.private.post_json(
                "/v1/tasks", {"provider": "sandbox", "provider_id": provider_id},
                {"Idempotency-Key": f"key-{provider_id}"})
            return answer.json() if answer.status in (200, 202) else None
        self.ledger.registered(provider_id, self.until(once, "a task is not registered")["id"])

    def letters(self, reason):
        """The ids of those that are open."""
        return {letter["id"] for letter in self.house.dead_letters(reason=reason)}

    def order(self):
        ref = f"r{next(self.numbers)}"
        task = {"provider": "shop", "params": {"method": "test", "ref": ref, "orders": "",
                                               "solve": 1, "fate": "ok"}}

        def once():
            answer = self.house.private.post_json("/v1/tasks", task, {"Idempotency-Key": ref})
            return answer.json() if answer.status in (200, 202) else None
        self.orders[ref] = self.until(once, "an order is not taken")["id"]

    def backup(self):
        """A backup, made again until one is whole."""
        def once():
            folder = f"{self.house.folder}/backup-{next(self.numbers)}"
            made = self.house.aldaba("backup", folder, timeout_s=20)
            return made.returncode == 0 and folder
        folder = self.until(once, "no backup is made")
        checked = subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=folder,
                                 capture_output=True, text=True, check=False)
        assert checked.returncode == 0, checked

    def away(self, provider_id):
        """Nobody takes the callback: it goes to the spool."""
        tracker = self.house.tracker
        with contextlib.suppress(ProcessLookupError):  # it has died just now
            tracker.pause()
        self.knock(provider_id, f"{provider_id} spooled")
        with contextlib.suppress(ProcessLookupError):
            tracker.resume()

    def round(self):
        """Every path once."""
        self.rounds += 1
        self.play(self.walk)

    def walk(self):
        house = self.house
        by_callback = house.submit(3, fate="drop", solve=600)
        by_poll = house.submit(1, fate="drop", solve=0)
        early, late = house.submit(1, fate="drop", solve=600), house.submit(1, fate="drop", solve=600)
        self.order()
        for provider_id in (*by_callback, *by_poll, *late):
            self.register(provider_id)
        strays = self.until(lambda: [self.letters("unknown_task")], "letters are not listed")[0]
        for provider_id in early:
            self.knock(provider_id, f"{provider_id} early")
        for provider_id in by_callback[:2]:
            self.knock(provider_id, f"{provider_id} this")
        self.knock(by_callback[1], f"{by_callback[1]} that")
        self.conflicts += 1
        self.away(by_callback[2])
        self.until(lambda: self.letters("unknown_task") - strays, "no letter is made")
        for provider_id in early:
            self.register(provider_id)
        self.backup()
        for provider_id in late:
            self.knock(provider_id, f"{provider_id} last")

    # ---- the end ----

    def ended(self, task_id):
        return self.house.task(task_id)["state"] in ENDED

    def well(self, name):
        with Channel(self.house.run, f"control-{name}") as channel:
            return channel.ask("control", timeout_s=2, what="health")[0]["rc"] == "ok"

    def rest(self):
        """Each task has its end, and every process says that it is well."""
        for task_id in (*self.ledger.tasks.values(), *self.orders.values()):
            self.until(lambda: self.ended(task_id), f"task {task_id} goes on", 40)
        for name in ("tracker", "dlq", "gateway", "poller-p1"):
            self.until(lambda: self.well(name), f"{name} is not well", READY_S)

    def disarm(self):
        """Processes whose rule was not met go on without one. Those that failed and lived live on."""
        self.next_rule = lambda name: None
        for daemon in self.house.daemons.values():
            if self.armed[daemon.name] and not self.note(daemon):
                self.relaunch(daemon)
        for daemon in self.house.daemons.values():
            daemon.until_ready()
        self.house.until_serving()

    def settle_orders(self):
        """Nothing was bought twice. Orders whose callback was taken join the others in the ledger; one
        that nobody was told of has its one end, too."""
        found = collections.defaultdict(dict)
        for provider_id, entry in self.house.provider_ledger().items():
            if entry.get("ref"):
                found[entry["ref"]][provider_id] = any(
                    call["status"] == 200 for call in entry["callbacks"])
        twice = {ref: ids for ref, ids in found.items() if len(ids) > 1}
        assert not twice, f"bought more than once: {twice}"
        for ref, task in self.orders.items():
            for provider_id, told in found[ref].items():
                if told:
                    self.ledger.registered(provider_id, task)
            end = self.house.task(task)
            uncertain = end["state"] == "expired" and end["code"] == "submit_uncertain"
            assert end["state"] == "done" if any(found[ref].values()) else \
                uncertain or (found[ref] and end["state"] == "done"), (ref, found[ref], end)
            assert len(ends_of(self.house.events_of(task))) == 1, ref

    def demand(self):
        """The verdict, once all is at rest."""
        self.play(self.rest)
        self.disarm()
        self.play(self.rest)
        self.house.until_provider_rests()
        self.settle_orders()
        # A letter whose acknowledgement was lost is in the outbox and at the dlq until it is sent again.
        until(lambda: self.house.aldaba("audit").returncode == 0, LOOK_S,
              lambda: self.house.aldaba("audit").stdout)
        verdict = settle(self.house, self.ledger, LOOK_S)
        verdict.unexpected = [text for text in verdict.unexpected if text not in
                              [f"task {task}" for task in self.orders.values()]]
        verdict.demand()
        for name in self.house.daemons:
            self.fired[name] += self.note(self.house.daemons[name])
        owed = {event["seq"] for event in self.house.events()}
        until(lambda: owed <= set(self.reader.seen), LOOK_S,
              lambda: f"the consumer misses {len(owed - set(self.reader.seen))} of {len(owed)}")
        assert len(self.letters("conflict")) == self.conflicts
        until(lambda: self.house.aldaba("audit", "--deep").returncode == 0, LOOK_S,
              lambda: self.house.aldaba("audit", "--deep").stdout)
        return verdict


def met():
    """{process: {failpoint: how often}} of one round."""
    with Scene(lambda name: "*:note:1+") as scene:
        scene.round()
        scene.play(scene.rest)
        passes(1.2)  # what is done once a second
        return {name: dict(collections.Counter(one[0] for one in scene.note(daemon)))
                for name, daemon in scene.house.daemons.items()}


def single(process, rule):
    """One round with one rule at one process. True: it was met."""
    rules = {process: [rule]}
    with Scene(lambda name: rules.get(name) and rules[name].pop()) as scene:
        scene.round()
        scene.demand()
        return bool(scene.fired[process])
