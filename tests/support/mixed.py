"""Everything that aldaba is used for, at once, while a test breaks things: tasks that are submitted
elsewhere and registered, tasks that aldaba submits (through /v1 and through the facade's in.php),
callbacks of all fates, callbacks that come long before their task, polls, bulk replays of letters,
lists, durable consumers that are processes, and a sink whose receiver is one.

    with MixedHouse() as house:
        house.start()
        oracle = Oracle(house)
        with Mixed(oracle) as mixed:
            ...
        mixed.demand(nemesis)
"""
import collections
import http.client
import itertools
import os
import random
import sys
import time

from support.background import Background, task_for_certain
from support.daemon import Daemon
from support.heard import Heard, consumers_of
from support.house import House
from support.load import Load
from support.orders import Orders
from support.settings import free_port, merge, shop_profile
from support.until import passes, until

SANDBOX = ("--fates", "ok=50,drop=15,double=8,late=8,early=4,reorder=6,conflict=5,broken=4",
           "--late", "3", "--solve", "0.4", "--pingback", "mixed", "--callback-retries", "2",
           "--callback-timeout", "4")
SECRET = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw"
CLIENT_KEY = "0123456789abcdef0123456789abcdef"
CONSUMERS = {"inorder": ("ordered", 1), "crowd": ("shared", 2)}
HOOK = os.path.join(os.path.dirname(os.path.abspath(__file__)), "hook.py")
SHORT = {"wait": "200ms"}
SHOP = {"poll": {"schedule": {"give_up_after": "12s"}},
        "codes": {"ERROR_NO_SLOT_AVAILABLE": SHORT, "CAPCHA_NOT_READY": SHORT}}
PARKED_S = 1
TROUBLE = (OSError, http.client.HTTPException)


class MixedHouse(House):
    """Two profiles for one sandbox: `sandbox` is told of tasks, `shop` submits them."""

    def __init__(self, pollers=2, profile=None, sandbox=SANDBOX, **more):
        super().__init__(pollers=pollers, sandbox=sandbox, profile=merge(
            {"callback": {"parked_for": f"{PARKED_S}s"}}, profile or {}), **more)
        self.hook_port = free_port()
        self.key = self.write_secret("client.key", CLIENT_KEY)
        self.whsec = self.write_secret("sink.secret", SECRET)

    def write_secret(self, name, text):
        path = os.path.join(self.folder, name)
        with open(path, "w", encoding="ascii") as file:
            file.write(text + "\n")
        os.chmod(path, 0o600)
        return path

    def write_settings(self):
        self.settings = merge({
            "facade": {"in_php": "shop", "keys": [{"file": self.key}]},
            "sinks": {"hook": {"url": f"http://127.0.0.1:{self.hook_port}/hook", "from": "all",
                               "secret": {"file": self.whsec}, "timeout": "2s",
                               "first_after": "100ms", "max_after": "1s", "max_deliver": 1000}},
            "providers": {"shop": merge(shop_profile(self.provider.port), SHOP),
                          "sandbox": self.profile},
            "dlq": {"first_after": "1s", "factor": "150%", "max_after": "5s", "tick": "100ms",
                    "max_attempts": 1000}}, self.settings)
        super().write_settings()


class Early(Background):
    """Callbacks that come before anybody has heard of their task, and lie in a letter until then."""

    def __init__(self, house, ledger, pause_s=0.4):
        super().__init__(1, pause_s)
        self.house = house
        self.ledger = ledger
        self.waiting = collections.deque()  # (when it was called, provider id)

    def step(self):
        for provider_id in self.house.submit(2, fate="drop", solve=600):
            self.knock(provider_id)
        while self.waiting and time.monotonic() - self.waiting[0][0] > 2 * PARKED_S:
            self.register(self.waiting.popleft()[1])

    def knock(self, provider_id):
        answer = f"early-{provider_id}"
        status = None
        while status != 200:
            try:
                status = self.house.public.post_form("/callback/sandbox", id=provider_id,
                                                     code=answer).status
            except TROUBLE:
                status = None
            self.ledger.noted(provider_id, answer, status)
            passes(0 if status == 200 else 0.2)
        self.waiting.append((time.monotonic(), provider_id))

    def register(self, provider_id):
        task = task_for_certain(self.house, f"key-{provider_id}", provider="sandbox",
                                provider_id=provider_id)
        self.ledger.registered(provider_id, task["id"])

    def __exit__(self, *what):
        super().__exit__(*what)
        if what[0] is None:
            while self.waiting:
                self.register(self.waiting.popleft()[1])


class Facade(Background):
    """Clients of in.php and res.php that ask once, and take no answer for no."""

    def __init__(self, house, pause_s=0.2):
        super().__init__(2, pause_s)
        self.house = house
        self.numbers = itertools.count()
        self.tasks = {}  # ref -> id
        self.said = {}  # id -> the final word of res.php
        self.luck = random.Random(1)

    def ask(self, path, **params):
        try:
            return self.house.private.get(path, key=CLIENT_KEY, **params).text
        except TROUBLE:
            return ""

    def step(self):
        ref = f"facade{next(self.numbers)}"
        word, _, task_id = self.ask("/in.php", method="test", ref=ref).partition("|")
        if word == "OK":
            self.tasks[ref] = task_id
        if self.tasks:
            self.look(self.luck.choice(list(self.tasks.values())))

    def look(self, task_id):
        word = self.ask("/res.php", action="get", id=task_id)
        if word.startswith("OK|"):
            assert self.said.setdefault(task_id, word) == word, "another answer than before"
        return word


class Visitors(Background):
    """Bulk replays, lists, figures."""

    def __init__(self, house, pause_s=0.7):
        super().__init__(1, pause_s)
        self.house = house

    def step(self):
        try:
            self.house.private.post_json("/v1/dead-letters/replay",
                                         {"reason": "unknown_task", "rate": 1000})
            self.house.private.get("/v1/tasks", limit=50)
            self.house.private.get("/metrics")
            self.house.private.get("/v1/audit")
        except TROUBLE:
            pass


class Mixed:
    """Use as a context manager. lodgers: the processes beside aldaba's that may be killed, too."""

    def __init__(self, oracle, rate=30):
        house = oracle.house
        self.house = house
        self.oracle = oracle
        self.ledger = oracle.ledger
        self.load = Load(house, rate=rate, ledger=self.ledger)
        self.orders = Orders(house, provider="shop", pause_s=0.3)
        self.facade = Facade(house)
        self.parts = [self.load, self.orders, self.facade, Early(house, self.ledger),
                      Visitors(house)]
        self.log = os.path.join(house.folder, "hook.posts")
        self.consumers = consumers_of(house, CONSUMERS)
        self.hook = Daemon("hook", [sys.executable, HOOK, house.hook_port, SECRET, self.log],
                           house.folder)
        self.lodgers = [*self.consumers, self.hook]

    def __enter__(self):
        for lodger in self.lodgers:
            lodger.start()
        for part in self.parts:
            part.__enter__()
        return self

    def __exit__(self, *what):
        try:
            for part in self.parts:
                part.ending.set()
            for part in self.parts:
                part.__exit__(*what)
        finally:
            if what[0] is not None:
                self.clean()

    def clean(self):
        for lodger in self.lodgers:
            lodger.clean()

    # ---- afterwards ----

    def demand(self, nemesis, deadline_s=90, **more):
        """The Verdict of the oracle, and that nothing was bought twice, each consumer has settled each
        event, and the sink has taken each event."""
        for lodger in self.lodgers:
            if not lodger.alive():
                lodger.start()
        try:
            self.house.until_serving(40)
            self.house.until_provider_rests(deadline_s)
            self.note_bought()
            verdict = self.oracle.demand(deadline_s, **more)
            self.demand_answers()
            events = self.house.events()
            self.demand_heard(events, nemesis, deadline_s)
            self.demand_posted(events, deadline_s)
            return verdict
        finally:
            self.clean()

    def note_bought(self):
        """What aldaba submitted: nothing twice, and what has a provider's id is judged like the rest."""
        tasks = {task["id"]: task.get("provider_id", "") for task in self.house.tasks(provider="shop")}
        for task_id, provider_id in tasks.items():
            if provider_id:
                self.ledger.registered(provider_id, task_id)
            else:
                self.ledger.others.add(task_id)
        known = {*self.orders.tasks.values(), *self.facade.tasks.values()}
        assert known <= set(tasks), f"answered and unknown: {known - set(tasks)}"
        bought = collections.Counter(entry["ref"] for entry in self.house.provider_ledger().values()
                                     if entry["ref"])
        twice = [ref for ref, count in bought.items() if count > 1]
        assert not twice, f"bought more than once: {twice}"

    def demand_answers(self):
        """Who asks the facade again is told the same."""
        for task_id, word in list(self.facade.said.items())[-50:]:
            assert self.facade.look(task_id) == word

    def demand_heard(self, events, nemesis, deadline_s):
        mine = {(event["lane"], event["seq"]) for event in events}

        def view(name):
            return self.house.get(f"/v1/consumers/{name}")

        for name, (mode, count) in CONSUMERS.items():
            until(lambda: view(name)["lag"] == 0 and view(name)["pending"] == 0, deadline_s,
                  lambda: f"{view(name)}")
            heard = Heard(self.house, name, count)
            assert heard.got() == mine, f"{name} missed {len(mine - heard.got())} events"
            heard.demand(nemesis.strikes, mode == "ordered", nemesis.stops,
                         nemesis.troubles)

    def demand_posted(self, events, deadline_s):
        """Each event at least once, under its own id."""
        want = {f"{event['lane']}:{event['seq']}": event["task"] for event in events}

        def posts():
            with open(self.log, encoding="utf-8") as file:
                return [line.split() for line in file.read().split("\n")[:-1]]

        def missing():
            return want.keys() - {name for name, _, _ in posts()}

        until(lambda: not missing(), deadline_s, lambda: (
            f"{len(missing())} of {len(want)} were not posted: {sorted(missing())[:5]}, "
            f"{self.house.get('/v1/consumers/hook')}"))
        for name, genuine, task in posts():
            assert genuine == "1", f"{name} is not signed"
            assert want[name] == task, f"{name} was posted as of another task"
