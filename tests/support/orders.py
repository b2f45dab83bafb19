"""Customers that have tasks submitted while things are killed: each order has a key and a `ref` that
the provider hears too, and is asked for again and again until there is an answer. At the end the
provider's ledger tells what was bought."""
import itertools

from support.background import Background, task_for_certain
from support.ledger import ends_of
from support.until import until

# What becomes of the requests of an order, in turn (sandbox/fates.py).
FATES = ("", "", "noslot", "took-cut", "took-502", "noslot,took-cut")


class Orders(Background):
    """count: how many orders, or None until it is left. Leaving it waits for all answers."""

    def __init__(self, house, count=None, threads=3, pause_s=0.15, provider="sandbox", **params):
        super().__init__(threads, pause_s, endless=count is None, last_s=90)
        self.provider = provider
        self.house = house
        self.count = count
        self.params = params
        self.tasks = {}  # ref -> aldaba's id
        self.numbers = itertools.count()

    def step(self):
        number = next(self.numbers)
        if self.count is not None and number >= self.count:
            return False
        ref = f"r{number}"
        params = {"method": "test", "ref": ref, "orders": FATES[number % len(FATES)],
                  "solve": number % 4, "fate": "early" if number % 7 == 0 else "ok", **self.params}
        task = task_for_certain(self.house, f"key-{ref}", provider=self.provider,
                                params=params)
        self.tasks[ref] = task["id"]
        return True

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
        assert len(ends_of(self.house.events_of(self.tasks[ref]))) == 1, ref
