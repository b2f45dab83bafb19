"""Honest callbacks at a steady rate, each timed: how long they take while nothing is wrong, and while
something is. A slow one does not delay the next (its sender is one of several threads), so that a stall
counts as often as it was felt."""
import http.client
import threading
import time

from support.background import Background, task_for_certain

THREADS = 12


class Pulse(Background):
    """Use as a context manager around what is to be measured. took_s: of each that was answered 200; in
    the ledger like all others."""

    def __init__(self, house, ledger, rate=60):
        super().__init__(THREADS, 0, last_s=40)
        self.house = house
        self.ledger = ledger
        self.lock = threading.Lock()
        self.ids = []
        self.period_s = 1 / rate
        self.next_s = time.monotonic()
        self.took_s = []
        self.bad = []

    def turn(self):
        """(when, whom)"""
        with self.lock:
            self.next_s = max(self.next_s + self.period_s, time.monotonic() - 1)
            if not self.ids:
                self.ids = self.house.submit(100, fate="drop", solve=600)
            return self.next_s, self.ids.pop()

    def step(self):
        when, provider_id = self.turn()
        if self.ending.wait(max(0.0, when - time.monotonic())):
            return False
        task = task_for_certain(self.house, f"key-{provider_id}", provider="sandbox",
                                provider_id=provider_id)
        begun = time.monotonic()
        try:
            answer = self.house.public.get("/callback/sandbox", id=provider_id, code=f"p{provider_id}")
            status = answer.status
        except (OSError, http.client.HTTPException):
            status = None
        took = time.monotonic() - begun
        with self.lock:
            self.ledger.registered(provider_id, task["id"])
            self.ledger.noted(provider_id, f"p{provider_id}", status)
            if status == 200:
                self.took_s.append(took)
            else:
                self.bad.append((provider_id, status))
        return True

    def until_taken(self):
        """Those that were not answered 200: until they are."""
        for provider_id, _ in self.bad:
            answer = self.house.public.get("/callback/sandbox", id=provider_id, code=f"p{provider_id}")
            assert answer.status == 200, answer
            self.ledger.noted(provider_id, f"p{provider_id}", 200)

    def percentile(self, percent=99):
        values = sorted(self.took_s)
        return values[min(len(values) - 1, len(values) * percent // 100)]

    def figures(self):
        return {"callbacks": len(self.took_s), "refused": len(self.bad),
                "p50_ms": round(self.percentile(50) * 1000, 1),
                "p99_ms": round(self.percentile(99) * 1000, 1),
                "worst_ms": round(max(self.took_s) * 1000, 1)}
