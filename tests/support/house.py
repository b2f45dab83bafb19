"""A whole aldaba: sandbox provider, tracker, dlq, gateway and pollers, from the programs in the
folder $ALDABA_BIN (programs side by side, or a build tree), each in processes of their own.

    with House() as house:
        house.start()
        task = house.register(house.submit()[0])
        house.ended(task["id"])
"""
import glob
import json
import os
import shutil
import subprocess
import sys
import tempfile

from support import bus
from support.daemon import Daemon
from support.http import Client
from support.settings import free_port, house_settings, merge, sandbox_profile, to_yaml
from support.until import until

TESTS = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))
SANDBOX = os.path.join(TESTS, "sandbox", "main.py")
KEY = "sandbox-account-key-for-tests"
SERVICES = ("tracker", "dlq", "gateway")
ENDED = ("done", "failed", "lost", "expired", "cancelled")
END_S = 40

living = []  # houses of the running test, for the report of a failure


def binary(name):
    """The path of one of aldaba's programs, None when there is no such build."""
    where = os.environ.get("ALDABA_BIN", "")
    if not where:
        return None
    found = [*glob.glob(os.path.join(where, name)),
             *glob.glob(os.path.join(where, "services/*", name))]
    return next((os.path.abspath(path) for path in found if os.access(path, os.X_OK)), None)


def new_sandbox(folder, *arguments, name="sandbox"):
    """A sandbox provider, not started yet."""
    return Daemon(name, [sys.executable, SANDBOX, "--key", KEY, *arguments], folder)


class House:
    """pollers: how many. settings: laid over the common ones. profile: laid over the provider's.
    per_service: {service: settings} for one daemon alone. sandbox: the provider's arguments.
    describe: makes the provider's profile from its port."""

    def __init__(self, pollers=1, settings=None, profile=None, per_service=None, sandbox=(),
                 describe=sandbox_profile):
        self.describe = describe
        self.folder = tempfile.mkdtemp(prefix="ald-")
        self.run = os.path.join(self.folder, "run")
        os.mkdir(self.run, 0o700)
        os.mkdir(os.path.join(self.folder, "data"), 0o700)
        self.settings = settings or {}
        self.profile = profile or {}
        self.per_service = per_service or {}
        self.public = Client(free_port())
        self.private = Client(free_port())
        self.sandbox = new_sandbox(self.folder, "--port", free_port(), *sandbox)
        self.provider = None
        self.daemons = {}
        for service in SERVICES:
            self.add(service, service)
        for number in range(1, pollers + 1):
            self.add_poller(number)

    def __enter__(self):
        living.append(self)
        return self

    def __exit__(self, *_):
        for daemon in self.processes():
            daemon.clean()
        living.remove(self)
        if not os.environ.get("ALDABA_TEST_KEEP"):
            shutil.rmtree(self.folder, ignore_errors=True)

    # ---- processes ----

    def add(self, name, service, env=None):
        path = self.config_path(service)
        argv = [binary(f"aldaba-{service}") or f"aldaba-{service}", "--config", path]
        self.daemons[name] = Daemon(name, argv, self.folder, self.env(env))
        return self.daemons[name]

    def add_poller(self, number):
        return self.add(f"poller{number}", "poller", {"ALDABA__POLLER__NAME": f"p{number}"})

    @staticmethod
    def env(more=None):
        return {"ALDABA_SANDBOX_KEY": KEY, **(more or {})}

    def __getattr__(self, name):
        try:
            return self.__dict__["daemons"][name]
        except KeyError:
            raise AttributeError(name) from None

    def processes(self):
        return [*self.daemons.values(), self.sandbox]

    def config_path(self, service):
        name = f"aldaba-{service}.yaml" if service in self.per_service else "aldaba.yaml"
        return os.path.join(self.folder, name)

    def write_settings(self):
        base = house_settings(self.folder, self.run, self.public.port, self.private.port,
                              self.provider.port)
        base["providers"]["sandbox"] = self.describe(self.provider.port)
        base = merge(base, {"providers": {"sandbox": self.profile}, **self.settings})
        for service in ("", *self.per_service):
            text = to_yaml(merge(base, self.per_service.get(service, {})))
            path = self.config_path(service)
            with open(path, "w", encoding="utf-8") as file:
                file.write(text + "\n")

    def start(self):
        """Everything, in no order: the daemons find each other."""
        self.start_sandbox()
        self.write_settings()
        return self.start_daemons()

    def start_sandbox(self):
        self.sandbox.start()
        self.provider = Client(int(self.sandbox.facts["port"]))

    def start_daemons(self):
        for daemon in self.daemons.values():
            daemon.launch()
        for daemon in self.daemons.values():
            daemon.until_ready()
        return self.until_serving()

    def until_serving(self, deadline_s=20):
        """The gateway has been welcomed by the tracker and answers questions."""
        until(self.serving, deadline_s, "the gateway does not say that it is ready")
        return self

    def serving(self):
        try:
            return self.private.get("/readyz").status == 200
        except OSError:
            return False

    def revive(self):
        """What a supervisor does: start what has ended. Returns the names."""
        dead = [daemon for daemon in self.daemons.values() if not daemon.alive()]
        for daemon in dead:
            daemon.start()
        return [daemon.name for daemon in dead]

    def tails(self):
        return "\n".join(daemon.tail() for daemon in self.processes() if daemon.starts)

    def aldaba(self, *words, timeout_s=60):
        """The operator's command; a CompletedProcess with text output."""
        argv = [binary("aldaba"), "--config", self.config_path(""), *map(str, words)]
        return subprocess.run(argv, env={**os.environ, **self.env()}, capture_output=True,
                              text=True, timeout=timeout_s, check=False, cwd=self.folder)

    # ---- the provider ----

    @property
    def bare_url(self):
        return f"{self.public.url}/callback/sandbox"

    def submit(self, count=1, pingback=None, **params):
        """Provider ids of new tasks at the sandbox, submitted behind aldaba's back."""
        answer = self.provider.get("/_sandbox/submit", n=count, pingback=pingback or self.bare_url,
                                   **params)
        assert answer.status == 200, answer
        return answer.json()["ids"]

    def provider_stats(self):
        return self.provider.get("/_sandbox/stats").json()

    def provider_ledger(self):
        """{provider id: line of the ledger}"""
        lines = self.provider.get("/_sandbox/ledger").text.splitlines()
        return {entry["id"]: entry for entry in map(json.loads, lines)}

    def until_provider_rests(self, deadline_s=30):
        until(lambda: self.provider_stats()["callbacks"]["to_come"] == 0, deadline_s,
              "the provider still has callbacks to send")

    # ---- the API ----

    def post(self, target, value, expect=(200, 202), **headers):
        answer = self.private.post_json(target, value, headers)
        assert answer.status in expect, (target, value, answer)
        return answer.json()

    def get(self, target, **query):
        answer = self.private.get(target, **query)
        assert answer.status == 200, (target, answer)
        return answer.json()

    def register(self, provider_id, key=None, provider="sandbox", **more):
        headers = {"Idempotency-Key": key} if key else {}
        return self.post("/v1/tasks", {"provider": provider, "provider_id": provider_id, **more},
                         **headers)

    def reserve(self, provider="sandbox", **more):
        """A task without provider id: `id` and `callback_url` of the answer."""
        return self.post("/v1/tasks", {"provider": provider, **more})

    def attach(self, task_id, provider_id):
        return self.post(f"/v1/tasks/{task_id}/attach", {"provider_id": provider_id})

    def cancel(self, task_id):
        return self.post(f"/v1/tasks/{task_id}/cancel", {})

    def task(self, task_id, **query):
        return self.get(f"/v1/tasks/{task_id}", **query)

    def tasks(self, **filters):
        """Every task that the filters leave, page by page."""
        found, cursor = [], {}
        while True:
            page = self.get("/v1/tasks", limit=500, **filters, **cursor)
            found += page["tasks"]
            if not page.get("cursor"):
                return found
            cursor = {"cursor": page["cursor"]}

    def ended(self, task_id, deadline_s=END_S):
        """The task, once it has ended."""
        def look():
            task = self.task(task_id)
            return task if task["state"] in ENDED else None
        return until(look, deadline_s, lambda: f"the task goes on: {self.task(task_id)}")

    def dead_letters(self, **filters):
        found, cursor = [], {}
        while True:
            page = self.get("/v1/dead-letters", **filters, **cursor)
            found += page["letters"]
            if not page.get("cursor"):
                return found
            cursor = {"cursor": page["cursor"]}

    def audit(self):
        return self.get("/v1/audit")

    def metrics(self):
        """{sample with its labels: value} of /metrics."""
        lines = self.private.get("/metrics").text.splitlines()
        pairs = (line.rpartition(" ") for line in lines if line and not line.startswith("#"))
        return {name: float(value) for name, _, value in pairs}

    # ---- the bus ----

    def events(self, **filters):
        """The whole feed, as a stranger with the contract in hand reads it."""
        return bus.Feed(self.run).more(**filters)

    def events_of(self, task_id):
        return [event for event in self.events() if event["task"] == task_id]

    def books(self):
        return bus.figures(self.run, "audit")
