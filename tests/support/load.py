"""A load that goes on while things are killed: tasks are submitted at the sandbox and registered
with aldaba, some before and some after their callback, again and again until aldaba has said yes.
"""
import http.client
import itertools
import threading

from support.ledger import Ledger
from support.until import passes

RETRY_S = 0.1


class Load:
    """Use as a context manager: leaving it ends the submitting and waits until what was submitted
    is registered. rate is tasks a second."""

    def __init__(self, house, rate=60, batch=6, threads=2, **params):
        self.house = house
        self.ledger = Ledger()
        self.params = params
        self.batch = batch
        self.pause_s = batch * threads / rate
        self.ending = threading.Event()
        self.errors = []
        self.numbers = itertools.count()
        self.threads = [threading.Thread(target=self.run, daemon=True) for _ in range(threads)]

    def __enter__(self):
        for thread in self.threads:
            thread.start()
        return self

    def __exit__(self, kind, *_):
        self.ending.set()
        for thread in self.threads:
            thread.join(60 if kind is None else 1)
        if kind is None:
            assert not self.errors, self.errors[:5]
            assert not any(thread.is_alive() for thread in self.threads), "registering does not end"

    def run(self):
        try:
            while not self.ending.wait(self.pause_s):
                for provider_id in self.house.submit(self.batch, **self.params):
                    self.register(provider_id)
        except Exception as error:  # a thread has nobody else to tell
            self.errors.append(repr(error))

    def register(self, provider_id):
        """Until it is known to be registered: an answer that got lost is asked for again."""
        while True:
            try:
                answer = self.house.private.post_json(
                    "/v1/tasks", {"provider": "sandbox", "provider_id": provider_id},
                    {"Idempotency-Key": f"key-{provider_id}"})
            except (OSError, http.client.HTTPException):
                passes(RETRY_S)
                continue
            if answer.status in (200, 202):
                self.ledger.registered(provider_id, answer.json()["id"])
                return
            assert answer.status in (429, 500, 502, 503, 504), answer
            passes(RETRY_S)
