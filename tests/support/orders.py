"""Customers that have tasks submitted while things are killed: each order has a key and a `ref` that
the provider hears too, and is asked for again and again until there is an answer. At the end the
provider's ledger tells what was bought."""
import http.client
import itertools
import threading

from support.until import passes, until

RETRY_S = 0.1
# What becomes of the requests of an order, in turn (sandbox/fates.py).
FATES = ("", "", "noslot", "took-cut", "took-502", "noslot,took-cut")


class Orders:
    """Use as a context manager: leaving it waits for all answers. count: how many orders, or None
    until it is left."""

    def __init__(self, house, count=None, threads=3, pause_s=0.15, **params):
        self.house = house
        self.count = count
        self.pause_s = pause_s
        self.params = params
        self.tasks = {}  # ref -> aldaba's id
        self.errors = []
        self.numbers = itertools.count()
        self.ending = threading.Event()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        if self.count is None or kind is not None:
            self.ending.set()
        for thread in self.threads:
            thread.join(90 if kind is None else 1)
        if kind is None:
            assert not self.errors, self.errors[:5]
            assert not self.busy(), "ordering does not end"

    def busy(self):
        return any(thread.is_alive() for thread in self.threads)

    def run(self):
        try:
            while not self.ending.wait(self.pause_s):
                number = next(self.numbers)
                if self.count is not None and number >= self.count:
                    return
                self.order(number)
        except Exception as error:  # a thread has nobody else to tell
            self.errors.append(repr(error))

    def order(self, number):
        ref = f"r{number}"
        params = {"method": "test", "ref": ref, "orders": FATES[number % len(FATES)],
                  "solve": number % 4, "fate": "early" if number % 7 == 0 else "ok", **self.params}
        while True:
            try:
                answer = self.house.private.post_json(
                    "/v1/tasks", {"provider": "sandbox", "params": params},
                    {"Idempotency-Key": f"key-{ref}"})
            except (OSError, http.client.HTTPException):
                passes(RETRY_S)
                continue
            if answer.status in (200, 202):
                self.tasks[ref] = answer.json()["id"]
                return
            assert answer.status in (503, 504), answer
            passes(RETRY_S)

    def demand(self, deadline_s=60):
        """Nothing was bought twice, each task has one end, and it is the right one."""
        house = self.house
        house.until_serving()
        house.until_provider_rests()
        states = {ref: house.ended(task, deadline_s) for ref, task in self.tasks.items()}
        bought = {ref: [] for ref in self.tasks}
        for entry in house.provider_ledger().values():
            bought[entry["ref"]].append(entry)
        twice = {ref: len(found) for ref, found in bought.items() if len(found) > 1}
        assert not twice, f"bought more than once: {twice}"
        for ref, found in bought.items():
            self.demand_end(ref, states[ref], found)
        assert len(house.tasks()) == len(self.tasks), "a key has two tasks"
        until(lambda: house.aldaba("audit", "--deep").returncode == 0, 20,
              lambda: house.aldaba("audit", "--deep").stdout)
        return states

    def demand_end(self, ref, ended, found):
        told = found and any(call["status"] == 200 for call in found[0]["callbacks"])
        if told:
            assert (ended["state"], ended["result"]) == ("done", found[0]["answer"]), (ref, ended)
        elif not found:
            assert (ended["state"], ended["code"]) == ("expired", "submit_uncertain"), (ref, ended)
        assert len(self.house.events_of(self.tasks[ref])) == 1, ref
