"""The outside ledger: what was sent and acknowledged, against what became of it.

The words are those of the checkers that message brokers are judged by: every *attempt* is a
callback that was begun, *acknowledged* means that its sender saw a 2xx. An acknowledged callback
is *ok* when its task has exactly one result; *lost* when it has none; a task with two results, other
than a correction, is *duplicated*; a result that nobody gave is *unexpected*; *recovered* are tasks that have their
result although no callback of theirs was ever acknowledged.
"""
import collections
import contextlib
import dataclasses

from support.bus import Feed
from support.until import Late, until

SHOWN = 10
AUDIT_S = 15


@dataclasses.dataclass
class Verdict:
    attempt: int = 0
    acknowledged: int = 0
    ok: int = 0
    lost: list = dataclasses.field(default_factory=list)
    duplicated: list = dataclasses.field(default_factory=list)
    unexpected: list = dataclasses.field(default_factory=list)
    unended: list = dataclasses.field(default_factory=list)
    books: list = dataclasses.field(default_factory=list)
    recovered: int = 0
    sources: dict = dataclasses.field(default_factory=dict)

    def problems(self):
        return {name: value[:SHOWN] for name, value in vars(self).items()
                if isinstance(value, list) and value}

    def __str__(self):
        lists = {k: len(v) if isinstance(v, list) else v for k, v in vars(self).items()}
        return " ".join(f"{name}={value}" for name, value in lists.items())

    def demand(self):
        assert not self.problems(), f"{self}\n{self.problems()}"
        return self


class Ledger:
    """Tasks that a test registered, and callbacks that it sent by itself. Callbacks that the
    sandbox sent are read from the sandbox's own ledger when it is time to check."""

    def __init__(self):
        self.tasks = {}  # provider id -> aldaba's id
        self.others = set()  # aldaba's ids of tasks that never got a provider's
        self.sent = collections.defaultdict(list)  # provider id -> [{answer, status}]

    def registered(self, provider_id, task_id):
        """Note it; the same provider id must always get the same task."""
        known = self.tasks.setdefault(provider_id, task_id)
        assert known == task_id, f"{provider_id} was task {known} and is {task_id} now"

    def noted(self, provider_id, answer, status):
        """A callback that the test sent; status None: no answer came."""
        self.sent[provider_id].append({"answer": answer, "status": status})

    def callbacks(self, provider):
        """{provider id: callbacks of both senders}"""
        both = {provider_id: list(entry["callbacks"]) for provider_id, entry in provider.items()}
        for provider_id, sent in self.sent.items():
            both.setdefault(provider_id, []).extend(sent)
        return both

    def check(self, house):
        """Compare with the feed and the books of a house that is at rest."""
        provider = house.provider_ledger()
        callbacks = self.callbacks(provider)
        events = collections.defaultdict(list)
        for event in house.events():
            events[event["task"]].append(event)
        verdict = Verdict()
        for provider_id, calls in callbacks.items():
            self.check_callbacks(verdict, provider_id, calls, events)
        for provider_id, task_id in self.tasks.items():
            given = {call["answer"] for call in callbacks.get(provider_id, [])}
            given.add(provider.get(provider_id, {}).get("answer"))
            check_task(verdict, provider_id, events[task_id], given)
        for task_id in self.others:
            check_count(verdict, task_id, events[task_id])
        strange = set(events) - set(self.tasks.values()) - self.others - {""}
        verdict.unexpected += [f"task {task_id}" for task_id in strange if events[task_id]]
        verdict.sources = dict(collections.Counter(
            event["source"] for several in events.values() for event in several))
        check_books(verdict, house)
        return verdict

    def check_callbacks(self, verdict, provider_id, calls, events):
        acknowledged = len(acknowledged_of(calls))
        verdict.attempt += len(calls)
        verdict.acknowledged += acknowledged
        if provider_id not in self.tasks:
            return
        results = len(ends_of(events[self.tasks[provider_id]]))
        if results == 1:
            verdict.ok += acknowledged
            verdict.recovered += acknowledged == 0
        elif acknowledged and not results:
            verdict.lost.append(provider_id)


def is_2xx(status):
    return status is not None and 200 <= status < 300


def ends_of(events):
    """Without corrections of what aldaba had given up."""
    return [event for event in events if not event.get("corrects")]


def check_count(verdict, name, events):
    """One end."""
    if not events:
        verdict.unended.append(name)
    if len(ends_of(events)) > 1:
        verdict.duplicated.append(name)


def check_task(verdict, provider_id, events, given):
    check_count(verdict, provider_id, events)
    for event in events:
        said = bytes(event.get("result") or b"").decode("utf-8", "replace")
        if event["provider_id"] != provider_id:
            verdict.unexpected.append(f"{provider_id} has an event of {event['provider_id']}")
        if event["state"] == "done" and said not in given:
            verdict.unexpected.append(f"{provider_id} became {said[:80]!r}")
        if event["state"] == "failed" and event.get("code") not in given:
            verdict.unexpected.append(f"{provider_id} failed with {event.get('code')!r}")


def check_books(verdict, house):
    """One disposition for each arrival, and at least one arrival for each acknowledgement."""
    arrivals = house.books()["arrivals"]
    received = arrivals.get("received", 0)
    parts = {name: arrivals.get(name, 0)
             for name in ("applied", "progress", "duplicate", "parked", "dead", "dropped")}
    if received != sum(parts.values()):
        verdict.books.append(f"received {received} is not the sum of {parts}")
    if received < verdict.acknowledged:
        verdict.books.append(f"received {received} of {verdict.acknowledged} acknowledged")
    if received > verdict.attempt:
        verdict.books.append(f"received {received} of {verdict.attempt} attempts")
    audit = house.aldaba("audit")
    if audit.returncode != 0:
        verdict.books.append(f"aldaba audit: {audit.returncode} {audit.stdout} {audit.stderr}")


def acknowledged_of(calls):
    return [call for call in calls if is_2xx(call["status"])]


def settle(house, ledger, deadline_s=60):
    """Wait until the provider is at rest, each task has ended and nothing lies in a spool; then the
    verdict. What is not over by then is a Late with the numbers."""
    house.until_serving()
    house.until_provider_rests()
    feed = Feed(house.run)
    tasks = {*ledger.tasks.values(), *ledger.others}
    missing = set(tasks)

    def all_ended():
        missing.difference_update(event["task"] for event in feed.more())
        return not missing

    until(all_ended, deadline_s, lambda: f"{len(missing)} of {len(tasks)} tasks go on, "
                                         f"such as {house.task(min(missing))}")
    calls = ledger.callbacks(house.provider_ledger())
    owed = sum(len(acknowledged_of(several)) for several in calls.values())
    until(lambda: house.books()["arrivals"].get("received", 0) >= owed, deadline_s,
          lambda: f"{house.books()['arrivals']}, but {owed} were acknowledged")
    with contextlib.suppress(Late):
        # What was sent and whose acknowledgement was lost is in two stores until it is sent again.
        until(lambda: house.aldaba("audit").returncode == 0, AUDIT_S, "the books do not balance")
    return ledger.check(house)


def demand_conflict_letters(house, ledger, deadline_s=30):
    """Each task with two different answers, both acknowledged, has exactly one letter about it. Where
    both came before anybody knew the task, it is the one of them that is still there."""
    calls = ledger.callbacks(house.provider_ledger())
    owed = {ledger.tasks[provider_id] for provider_id, several in calls.items()
            if provider_id in ledger.tasks
            and len({call["answer"] for call in acknowledged_of(several)}) == 2}

    def tasks_with_letters():
        return [letter["task"] for letter in house.dead_letters(reason="conflict")]

    def kept():
        early = {ledger.tasks.get(letter.get("provider_id"))
                 for letter in house.dead_letters(reason="unknown_task")}
        return early.union(tasks_with_letters())

    def without():
        missing = owed - kept()
        few = [(house.task(task), house.dead_letters(task=task)) for task in sorted(missing)[:3]]
        return f"no letters about {len(missing)} of {len(owed)}, such as {few}"

    until(lambda: owed <= kept(), deadline_s, without)
    found = tasks_with_letters()
    assert len(found) == len(set(found)), "two letters about one conflict"
    return len(owed)
