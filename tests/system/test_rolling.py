"""Two gateways behind the edge as it is shipped: each service is restarted in its turn, under load, and
who calls back sees nothing of it."""
import http.client
import itertools
import os
import signal
import threading

import pytest
from support.background import Background
from support.edge import NAMES, program
from support.ledger import Ledger, settle
from support.pair import FORM, NO_RETRY, PAD, Pair, form

pytestmark = pytest.mark.skipif(not program(), reason="no haproxy: install it, or run ./check, which fetches it")

ROUNDS = int(os.environ.get("ALDABA_ROLLS", "3"))  # restarts of a gateway
SMALL, LARGE = 400, 40
MANY = 40


class Callers(Background):
    """Each thread has a connection to the edge that it keeps, and calls back for one task after the
    other, from the beginning again when all were called."""

    def __init__(self, house, ledger, count, pad=0, **more):
        super().__init__(**more)
        self.house = house
        self.ledger = ledger
        self.pad = pad
        self.ids = house.tasks_to_call(count, ledger)
        self.called = 0
        self.turns = itertools.cycle(self.ids)
        self.lock = threading.Lock()
        self.own = threading.local()
        self.said = []  # statuses, and what was no answer

    def call(self, provider_id):
        answer, body = form(provider_id, self.pad)
        try:
            if not getattr(self.own, "connection", None):
                client = self.house.edge.client
                self.own.connection = http.client.HTTPConnection(client.host, client.port, timeout=30)
            self.own.connection.request("POST", "/callback/sandbox", body, FORM)
            reply = self.own.connection.getresponse()
            reply.read()
            status = reply.status
        except (OSError, http.client.HTTPException) as error:
            self.own.connection = None
            status = repr(error)
        with self.lock:
            self.said.append(status)
            self.ledger.noted(provider_id, answer, status if isinstance(status, int) else None)

    def step(self):
        with self.lock:
            provider_id = next(self.turns)
            self.called += 1
        self.call(provider_id)

    def finish(self):
        """Those that nobody got to."""
        for provider_id in self.ids[self.called:]:
            self.call(provider_id)


def roll(daemon):
    """Stop it in good order, if it was not told yet, and start it again."""
    assert daemon.stop() in (0, 75), daemon.tail()
    daemon.start()


def roll_gateway(house, name, other):
    """As docs/OPERATIONS.md says: the next one is not touched before this one is there again."""
    daemon = house.daemons[name]
    daemon.send(signal.SIGTERM)
    roll(house.daemons[other])  # while the gateway leaves
    roll(daemon)
    house.edge.until_state(name, "UP")


def test_rolling_restart_of_every_service():
    ledger = Ledger()
    with Pair({"stop_delay": "3s"}, pollers=2) as house:  # as compose.yaml has it
        house.start()
        others = itertools.cycle(("tracker", "dlq", "poller1", "tracker", "poller2"))
        with Callers(house, ledger, SMALL, threads=4, pause_s=0.02) as small, \
                Callers(house, ledger, LARGE, pad=PAD, threads=1, pause_s=0.2) as large:
            for name, _ in zip(itertools.cycle(NAMES), range(ROUNDS)):
                roll(house.daemons[next(others)])
                roll_gateway(house, name, next(others))
        for calls in (small, large):
            calls.finish()
            assert set(calls.said) == {200}, {word: calls.said.count(word) for word in set(calls.said)}
        assert len(small.said) > 500 and len(large.said) > 20
        rows = house.edge.rows()
        for name in NAMES:
            assert int(rows[name]["hrsp_2xx"]) > 200, rows[name]
        assert house.gateway.starts + house.gateway2.starts == 2 + ROUNDS
        verdict = settle(house, ledger).demand()
        assert verdict.acknowledged == len(small.said) + len(large.said)
        assert verdict.sources == {"callback": SMALL + LARGE}


def test_the_load_would_see_a_gap():
    """Gateways are killed in their turn, and the edge does not ask the other one: else the test above says
    nothing."""
    with Pair({}, NO_RETRY) as house:
        house.start()
        with Callers(house, Ledger(), SMALL, threads=4, pause_s=0.002) as calls:
            for name, _ in zip(itertools.cycle(NAMES), range(MANY)):
                house.daemons[name].restart()
                house.edge.until_state(name, "UP")
                if set(calls.said) != {200}:
                    break
        assert set(calls.said) > {200}
