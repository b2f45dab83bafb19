"""The demonstration of ./up: tasks at the sandbox whose callbacks are dropped, doubled, late, early,
broken ... and a table of how each was saved all the same.

What is true is taken from the sandbox's own ledger, what became of it from aldaba's feed; the two
know nothing of each other. The exit code is 0 when every task ended exactly once, with an answer
that the provider gave.

    demo.py ports FROM            prints two free ports
    demo.py port FROM [NOT ...]   prints a free one that is none of those
    demo.py run --api URL --public URL --sandbox URL [--seconds S]
"""
import argparse
import collections
import http.client
import json
import os
import socket
import sys
import threading
import time
import urllib.parse

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
from support.http import Client  # noqa: E402
from support.until import Late, passes, until  # noqa: E402

PROVIDER = "sandbox"
ENDS_WITHIN_S = 150
LETTERS_WITHIN_S = 30
QUIET_S = 1.5
RETRY_S = 0.2
ROUND_S = 1.0
UNREACHABLE = (OSError, http.client.HTTPException)

# name, tasks, parameters of the submission, how the application behaves
GROUPS = [
    ("came in time", 40, {"fate": "ok"}, "register"),
    ("never came", 20, {"fate": "drop"}, "register"),
    ("came twice", 12, {"fate": "double"}, "register"),
    ("came in another order", 8, {"fate": "reorder"}, "register"),
    ("came after we had asked ourselves", 8, {"fate": "late", "late": 9}, "register"),
    ("came while we kept asking", 6, {"fate": "ok", "solve": 7}, "register"),
    ("came before the submission was answered", 6, {"fate": "early"}, "reserve"),
    ("broke off in the middle", 6, {"fate": "broken"}, "register"),
    ("came a second time with another answer", 6, {"fate": "conflict"}, "register"),
    ("said that the work failed", 4, {"fate": "error"}, "register"),
    ("never came, and polls met an HTML page",  6, {"fate": "drop", "moods": "html502,html200"},
     "register"),
    ("came long before the task was registered", 6, {"fate": "ok"}, "forget"),
]
STORM_SHARE = 4  # a round of the storm is this part of the demonstration

SOURCES = [("callback", "callback"), ("late", "late"), ("poll", "poll"), ("replay", "dead letter"),
           ("manual", "ourselves"), ("expired", "nothing")]


class Feed(threading.Thread):
    """Follows /v1/events, joining again where it broke off. seen: {task: {position: event}}"""

    def __init__(self, api, after):
        super().__init__(daemon=True)
        self.api = api
        self.position = after
        self.seen = collections.defaultdict(dict)
        self.lock = threading.Lock()

    def run(self):
        while True:
            try:
                self.follow()
            except (*UNREACHABLE, ValueError):
                pass  # the gateway is down or was killed; the position says where to go on
            passes(RETRY_S)

    def follow(self):
        query = urllib.parse.urlencode({"after": self.position})
        connection = http.client.HTTPConnection(self.api.host, self.api.port, timeout=30)
        try:
            connection.request("GET", f"/v1/events?{query}")
            answer = connection.getresponse()
            if answer.status == 200:
                self.read(answer)
        finally:
            connection.close()

    def read(self, answer):
        fields = {}
        while line := answer.readline():
            name, _, value = line.decode().rstrip("\r\n").partition(": ")
            if name:
                fields[name] = value
                continue
            if "id" in fields:
                if "data" in fields:
                    event = json.loads(fields["data"])
                    with self.lock:
                        self.seen[event["task"]][fields["id"]] = event
                self.position = fields["id"]
            fields = {}

    def of(self, task):
        with self.lock:
            return list(self.seen.get(task, {}).values())


class Demonstration:
    def __init__(self, options):
        self.api = client(options.api)
        self.bare = f"{options.public}/callback/{PROVIDER}"
        self.sandbox = client(options.sandbox)
        status = self.patiently("GET", "/v1/status").json()
        self.received_before = status["arrivals"]["received"]
        self.feed = Feed(self.api, status["status"].get("head") or "all")
        self.tasks = {}  # provider id -> (task, group)
        self.forgotten = []  # provider ids and their group, to be registered too late

    # ---- asking ----

    def patiently(self, method, target, value=None, **headers):
        """Until there is an answer: what is killed comes back."""
        def ask():
            try:
                if value is None:
                    answer = self.api.request(method, target, None, headers)
                else:
                    answer = self.api.post_json(target, value, headers, method)
            except UNREACHABLE:
                return None
            return answer if answer.status not in (502, 503, 504) else None
        answer = until(ask, ENDS_WITHIN_S, f"{method} {target} gets no answer")
        if answer.status >= 400:
            raise RuntimeError(f"{method} {target}: {answer}")
        return answer

    def submit(self, count, pingback, params):
        answer = self.sandbox.get("/_sandbox/submit", n=count, pingback=pingback, **params)
        if answer.status != 200:
            raise RuntimeError(f"the sandbox says {answer}")
        return answer.json()["ids"]

    def register(self, provider_id, group):
        answer = self.patiently("POST", "/v1/tasks",
                                {"provider": PROVIDER, "provider_id": provider_id},
                                **{"Idempotency-Key": f"demo-{provider_id}"})
        self.tasks[provider_id] = (answer.json()["id"], group)

    def reserve(self, number, group, params):
        """The other way round: a task of aldaba first, whose own URL goes to the provider."""
        key = {"Idempotency-Key": f"demo-{time.time_ns()}-{number}"}
        task = self.patiently("POST", "/v1/tasks", {"provider": PROVIDER}, **key).json()
        provider_id = self.submit(1, task["callback_url"], params)[0]
        self.patiently("POST", f"/v1/tasks/{task['id']}/attach", {"provider_id": provider_id})
        self.tasks[provider_id] = (task["id"], group)

    # ---- the load ----

    def load(self, share=1):
        for group, count, params, way in GROUPS:
            count = max(1, count // share)
            if way == "reserve":
                for number in range(count):
                    self.reserve(number, group, params)
                continue
            for provider_id in self.submit(count, self.bare, params):
                if way == "register":
                    self.register(provider_id, group)
                else:
                    self.forgotten.append((provider_id, group))

    def storm(self, seconds):
        end = time.monotonic() + seconds
        while time.monotonic() < end:
            begun = time.monotonic()
            self.load(STORM_SHARE)
            passes(max(0.0, begun + ROUND_S - time.monotonic()))

    def remember(self):
        """The application comes back and registers what it had forgotten: by now the callbacks lie
        in the dead letter queue."""
        missing = {provider_id for provider_id, _ in self.forgotten}

        def all_are_letters():
            for letter in self.letters("unknown_task"):
                missing.discard(letter["provider_id"])
            return not missing

        try:
            until(all_are_letters, LETTERS_WITHIN_S, "")
        except Late:
            say(f"{len(missing)} callbacks of unknown tasks are no dead letters yet")
        for provider_id, group in self.forgotten:
            self.register(provider_id, group)

    def letters(self, reason):
        found, cursor = [], ""
        while True:
            query = {"reason": reason, "provider": PROVIDER, "limit": 500}
            if cursor:
                query["cursor"] = cursor
            page = self.patiently(
                "GET", f"/v1/dead-letters?{urllib.parse.urlencode(query)}").json()
            found += page["letters"]
            cursor = page.get("cursor")
            if not cursor:
                return found

    # ---- the end ----

    def settle(self):
        """Until every task has ended and the provider has no more to say."""
        def open_tasks():
            return [task for task, _ in self.tasks.values() if not self.feed.of(task)]

        try:
            until(lambda: not open_tasks(), ENDS_WITHIN_S, "")
        except Late:
            say(f"{len(open_tasks())} tasks have not ended, such as {open_tasks()[:3]}")
        until(lambda: self.sandbox.get("/_sandbox/stats").json()["callbacks"]["to_come"] == 0,
              ENDS_WITHIN_S, "the sandbox still has callbacks to send")
        passes(QUIET_S)

    def ledger(self):
        lines = self.sandbox.get("/_sandbox/ledger").text.splitlines()
        return {entry["id"]: entry for entry in map(json.loads, lines)}

    def received(self):
        now = self.patiently("GET", "/v1/status").json()["arrivals"]["received"]
        return now - self.received_before

    def verdict(self):
        """{what: provider ids}; all but `acknowledged` must be empty."""
        ledger = self.ledger()
        found = {"lost": [], "doubled": [], "wrong": []}
        acknowledged = 0
        for provider_id, (task, _) in self.tasks.items():
            entry = ledger[provider_id]
            acknowledged += sum(1 for call in entry["callbacks"] if call["status"] == 200)
            events = self.feed.of(task)
            if not events:
                found["lost"].append(provider_id)
            elif len(events) > 1:
                found["doubled"].append(provider_id)
            elif not says_what_was_given(events[0], entry):
                found["wrong"].append(provider_id)
        try:
            until(lambda: self.received() >= acknowledged, LETTERS_WITHIN_S, "")
        except Late:
            say(f"{acknowledged} callbacks were acknowledged, but only {self.received()} are in "
                "the books")
            found["lost"].append("acknowledged callbacks")
        return acknowledged, found

    def rows(self):
        counts = collections.defaultdict(collections.Counter)
        for task, group in self.tasks.values():
            counts[group]["tasks"] += 1
            for event in self.feed.of(task):
                counts[group][event["source"]] += 1
        return [(group, counts[group]) for group, *_ in GROUPS if counts[group]]


def says_what_was_given(event, entry):
    given = {entry["answer"], *(call["answer"] for call in entry["callbacks"])}
    said = event["result"] if event["state"] == "done" else event["code"]
    return event["state"] in ("done", "failed") and said in given


def client(url):
    parts = urllib.parse.urlsplit(url)
    return Client(parts.port, parts.hostname)


def say(text):
    print(text, flush=True)


def print_table(rows):
    shown = [(source, title) for source, title in SOURCES
             if source not in ("manual", "expired") or any(count[source] for _, count in rows)]
    say("\nThe callback ...".ljust(45) + "tasks   saved by: "
        + "  ".join(title for _, title in shown))
    total = collections.Counter()
    for group, count in [*rows, ("", total)]:
        cells = "  ".join(f"{count[source] or '.':>{len(title)}}" for source, title in shown)
        say(f"  {group or 'together':<42}{count['tasks']:>5}{'':13}{cells}")
        total.update(count)


def run(options):
    demonstration = Demonstration(options)
    demonstration.feed.start()
    if options.seconds:
        demonstration.storm(options.seconds)
    else:
        demonstration.load()
    say(f"{len(demonstration.tasks)} tasks are registered; now aldaba waits, asks and tries again")
    demonstration.remember()
    demonstration.settle()
    print_table(demonstration.rows())
    kept = {letter["task"] for letter in demonstration.letters("conflict")}
    ours = sum(1 for task, _ in demonstration.tasks.values() if task in kept)
    acknowledged, found = demonstration.verdict()
    say(f"\n{len(demonstration.tasks)} tasks, {acknowledged} callbacks answered 200; "
        f"{ours} second answers are kept as dead letters for a person")
    if found["wrong"]:
        say(f"ended without the provider's answer: {found['wrong'][:5]}")
    for what in ("lost", "doubled"):
        if found[what]:
            say(f"{what}: {found[what][:5]}")
    say(f"lost {len(found['lost'])}, doubled {len(found['doubled'])}")
    return 1 if any(found.values()) else 0


def free(port):
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return False
        return True


def ports(options):
    """The first pair of neighbours, two steps apart, that are both free."""
    for port in range(options.first, 65000, 2):
        if free(port) and free(port + 1):
            print(port, port + 1)
            return 0
    print("there are no two free ports side by side", file=sys.stderr)
    return 1


def port(options):
    for number in range(options.first, 65536):
        if number not in options.other and free(number):
            print(number)
            return 0
    print(f"there is no free port from {options.first} on", file=sys.stderr)
    return 1


def main():
    parser = argparse.ArgumentParser(prog="demo.py", description=__doc__.partition("\n\n")[0])
    commands = parser.add_subparsers(required=True)
    pair = commands.add_parser("ports")
    pair.add_argument("first", type=int)
    pair.set_defaults(run=ports)
    single = commands.add_parser("port")
    single.add_argument("first", type=int)
    single.add_argument("other", type=int, nargs="*")
    single.set_defaults(run=port)
    load = commands.add_parser("run")
    for name in ("--api", "--public", "--sandbox"):
        load.add_argument(name, required=True)
    load.add_argument("--seconds", type=float, default=0, help="go on for so long, in rounds")
    load.set_defaults(run=run)
    options = parser.parse_args()
    try:
        return options.run(options)
    except (Late, RuntimeError) as error:
        print(f"the demonstration cannot go on: {error}", file=sys.stderr)
        return 1


if __name__ == "__main__":
    sys.exit(main())
