"""Two gateways behind the edge as it is shipped: what each does so that one can be away."""
import http.client
import os
import re
import signal
import threading

import pytest
from support.edge import NAMES, program
from support.ledger import Ledger, settle
from support.pair import FORM, NO_RETRY, PAD, Pair, form
from support.until import passes, until

pytestmark = pytest.mark.skipif(not program(), reason="no haproxy: install it, or run ./check, which fetches it")

KILLED = 6
SOON_S = 10


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


def test_a_gateway_with_a_name():
    """It shares bus and data with the other one, is seen in its metrics, and stands in the way of a
    restore, as any does; its spool is told of."""
    with Pair({}) as house:
        house.start()
        page = house.private.get("/metrics").text
        for instance in ("gateway", "gateway-2"):
            line = f'aldaba_ready{{svc="gateway",instance="{instance}"}} 1'
            assert line in page, page
        backup = os.path.join(house.folder, "backup")
        assert house.aldaba("backup", backup).returncode == 0
        for name in ("gateway", "poller1", "dlq", "tracker"):
            house.daemons[name].stop()
        refused = house.aldaba("restore", backup, "--yes")
        assert refused.returncode == 69 and "the gateway-2 is running" in refused.stderr, refused
        house.gateway2.stop()
        restored = house.aldaba("restore", backup, "--yes")
        assert restored.returncode == 0, restored
        assert re.search(r"spool drain \S+/spool-2\n", restored.stderr), restored.stderr


def test_a_gateway_that_stands_still():
    """It takes a callback and says nothing: the other one is asked, within the patience of the edge."""
    ledger = Ledger()
    with Pair({}) as house:
        house.start()
        ids = house.tasks_to_call(2, ledger)
        house.gateway2.pause()
        for provider_id in ids:  # one of them comes to it
            answer, body = form(provider_id, 0)
            status = house.edge.client.request("POST", "/callback/sandbox", body, FORM).status
            ledger.noted(provider_id, answer, status)
            assert status == 200
            house.edge.until_state("gateway", "UP")
        assert int(house.edge.rows()["gateway2"]["wretr"]) + int(house.edge.rows()["gateway2"]["wredis"]) > 0
        house.gateway2.resume()
        for provider_id in ids:  # what it was told before it woke up, it keeps now
            ledger.noted(provider_id, form(provider_id, 0)[0], None)
        settle(house, ledger).demand()


def test_neither_is_ready():
    """They don't know the keys of callback URLs yet: their own word comes through, with when to come again."""
    with Pair({"retry_after": "7s"}) as house:
        house.start_sandbox()
        house.write_settings()
        for name in NAMES:
            house.daemons[name].start()
        house.edge.start()
        for name in NAMES:
            house.edge.until_state(name, "DOWN")
        answer = house.edge.client.get("/cb/sandbox/" + "A" * 34, id=1)
        assert (answer.status, answer.headers.get("retry-after")) == (503, "7"), answer.headers
