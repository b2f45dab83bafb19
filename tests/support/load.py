"""A load that goes on while things are killed: tasks are submitted at the sandbox and registered
with aldaba, some before and some after their callback, again and again until aldaba has said yes.
"""
from support.background import Background, task_for_certain
from support.ledger import Ledger


class Load(Background):
    """rate is tasks a second, ledger one to go on with. Leaving it waits until what was submitted is
    registered."""

    def __init__(self, house, rate=60, batch=6, threads=2, ledger=None, **params):
        super().__init__(threads, batch * threads / rate)
        self.house = house
        self.ledger = Ledger() if ledger is None else ledger
        self.params = params
        self.batch = batch

    def step(self):
        for provider_id in self.house.submit(self.batch, **self.params):
            task = task_for_certain(self.house, f"key-{provider_id}", provider="sandbox",
                                    provider_id=provider_id)
            self.ledger.registered(provider_id, task["id"])
