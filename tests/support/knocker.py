"""Callbacks by the test's own hand: each is timed, and noted in the ledger with what came back."""
import http.client
import time
import urllib.parse

from support.background import Background


class Knocker(Background):
    """Tasks at the sandbox that never call back by themselves, and somebody who knocks for them:
    by hand, or in the background."""

    def __init__(self, house, ledger, count, pause_s=0.1, register=True, pad=0):
        super().__init__(1, pause_s, last_s=30)
        self.house = house
        self.ledger = ledger
        self.pad = pad
        self.ids = house.submit(count, fate="drop", solve=600)
        self.waiting = list(self.ids)
        self.slowest_s = 0.0
        self.statuses = []
        if register:
            for provider_id in self.ids:
                ledger.registered(provider_id, house.register(provider_id)["id"])

    def knock(self, provider_id=None, answer=None):
        """Send one callback, for the next task that has none; the Answer or None."""
        provider_id = provider_id or self.waiting.pop(0)
        answer = answer or f"knock-{provider_id}-" + "k" * self.pad
        body = urllib.parse.urlencode({"id": provider_id, "code": answer}).encode()
        begun = time.monotonic()
        try:
            reply = self.house.public.request(
                "POST", "/callback/sandbox", body,
                {"Content-Type": "application/x-www-form-urlencoded"})
        except (OSError, http.client.HTTPException):
            reply = None
        self.slowest_s = max(self.slowest_s, time.monotonic() - begun)
        self.statuses.append(reply and reply.status)
        self.ledger.noted(provider_id, answer, reply and reply.status)
        return reply

    def step(self):
        if not self.waiting:
            return False
        self.knock()
        return True
