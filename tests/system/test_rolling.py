"""Two gateways behind the edge as it is shipped: each service is restarted in its turn, under load, and
who calls back sees nothing of it."""
import http.client
import itertools
import os
import signal
import threading
import urllib.parse

import pytest
from support.background import Background
from support.edge import NAMES, Edge, program
from support.house import House
from support.ledger import Ledger, settle
from support.settings import free_port
from support.until import passes, until

pytestmark = pytest.mark.skipif(not program(), reason="no haproxy: install it, or run ./check, which fetches it")

# Nothing but the callback ends a task, and no poll speaks in between.
CALM = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}
ROUNDS = int(os.environ.get("ALDABA_ROLLS", "3"))  # restarts of a gateway
SMALL, LARGE = 400, 40
PAD = 600_000  # more than the edge can hold, and so send again
SOON_S = 10
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


class Pair(House):
    """gateway: settings of both gateways. changes: of the edge's configuration."""

    def __init__(self, gateway, changes=None, **more):
        super().__init__(settings={"gateway": gateway}, profile=CALM, **more)
        public, private = free_port(), free_port()
        self.add("gateway2", "gateway", {"ALDABA__GATEWAY__NAME": "2",
                                         "ALDABA__GATEWAY__PUBLIC": f"127.0.0.1:{public}",
                                         "ALDABA__GATEWAY__PRIVATE": f"127.0.0.1:{private}"})
        self.edge = Edge(self.folder, [(self.public.port, self.private.port), (public, private)], changes)

    def processes(self):
        return [*super().processes(), self.edge]

    def start(self):
        super().start()
        self.edge.start()
        for name in NAMES:
            self.edge.until_state(name, "UP")
        return self

    def tasks_to_call(self, count, ledger):
        """Provider ids of registered tasks whose provider never calls by itself."""
        ids = self.submit(count, fate="drop", solve=600)
        for provider_id in ids:
            ledger.registered(provider_id, self.register(provider_id)["id"])
        return ids


def form(provider_id, pad):
    answer = f"answer-of-{provider_id}-" + "a" * pad
    return answer, urllib.parse.urlencode({"id": provider_id, "code": answer}).encode()


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
    with Pair({"stop_delay": "2s"}, pollers=2) as house:
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


KILLED = 6
NO_RETRY = {"    retry-on conn-failure empty-response response-timeout 503\n": ""}


@pytest.mark.parametrize("changes, unseen", [({}, True), (NO_RETRY, False)], ids=["shipped", "no-retry"])
def test_kill_under_way(changes, unseen):
    """A gateway is killed that owes answers: the other one is asked. Without the edge's part of it, the
    same test sees that it is owed."""
    ledger = Ledger()
    # The tracker stands still meanwhile, so that all of them wait for it, and then for their spool.
    with Pair({"ack_min": "2s", "ack_max": "2s"}, changes) as house:
        house.start()
        ids = house.tasks_to_call(KILLED, ledger)
        said = {}

        def call(provider_id):
            answer, body = form(provider_id, 0)
            said[provider_id] = house.edge.client.request("POST", "/callback/sandbox", body, FORM).status
            ledger.noted(provider_id, answer, said[provider_id])

        threads = [threading.Thread(target=call, args=(one,), daemon=True) for one in ids]
        house.tracker.pause()
        for thread in threads:
            thread.start()
        until(lambda: all(house.edge.under_way(name) == KILLED // 2 for name in NAMES), SOON_S,
              lambda: str({name: house.edge.under_way(name) for name in NAMES}))
        house.gateway2.kill9()
        house.tracker.resume()
        for thread in threads:
            thread.join(SOON_S)
        house.gateway2.start()
        statuses = sorted(said.values())
        if not unseen:
            assert statuses == [200] * (KILLED // 2) + [502] * (KILLED // 2)
            return
        assert statuses == [200] * KILLED
        for provider_id in ids:  # the dead one may have had it on disk before
            ledger.noted(provider_id, form(provider_id, 0)[0], None)
        settle(house, ledger).demand()


@pytest.mark.parametrize("delay, unseen", [("1s", True), ("0s", False)], ids=["delay", "no-delay"])
def test_a_callback_that_is_being_sent_is_waited_for(delay, unseen):
    """It is larger than what the edge could send again, and half of it has come when its gateway is told
    to stop: it gets its answer. Without a delay it does not."""
    ledger = Ledger()
    with Pair({"stop_delay": delay}) as house:
        house.start()
        provider_id = house.tasks_to_call(1, ledger)[0]
        answer, body = form(provider_id, PAD)
        client = house.edge.client
        peer = http.client.HTTPConnection(client.host, client.port, timeout=30)
        peer.putrequest("POST", "/callback/sandbox")
        for header, value in {**FORM, "Content-Length": str(len(body))}.items():
            peer.putheader(header, value)
        peer.endheaders()
        peer.send(body[:-1000])
        name = until(lambda: next((one for one in NAMES if house.edge.under_way(one)), None), SOON_S,
                     "it comes to no gateway")
        daemon = house.daemons[name]
        daemon.send(signal.SIGTERM)
        if unseen:
            house.edge.until_state(name, "DOWN")
            passes(1)
            assert daemon.alive(), daemon.tail()
        else:
            daemon.wait()
        try:
            peer.send(body[-1000:])
            status = peer.getresponse().status
        except (OSError, http.client.HTTPException):
            status = None
        peer.close()
        assert (status == 200) is unseen, status
        if unseen:
            ledger.noted(provider_id, answer, status)
            assert daemon.wait() in (0, 75)
            daemon.start()
            settle(house, ledger).demand()
