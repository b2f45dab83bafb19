"""A gateway that is sent junk on both listeners: it stays up, honest callbacks are answered meanwhile
and all come to the tracker, memory and descriptors are where they were, and nothing is taken whose end
leaves a choice. More of it: ALDABA_JUNK=1000000 (inputs) ALDABA_JUNK_SEED=7 with pytest on this file."""
import os

import pytest
from support.house import binary
from support.http_junk import Honest, Storm
from support.until import until
from test_gateway import FORM, url, welcomed

INPUTS = int(os.environ.get("ALDABA_JUNK", "6000"))
SEED = int(os.environ.get("ALDABA_JUNK_SEED", "1"))
DEADLINE_S = max(25, INPUTS / 100)
GROWTH_KIB = 160 * 1024  # a sanitizer's own books are in it
PRIVATE = ("/v1/tasks", "/v1/tasks/7", "/v1/tasks/7/result", "/v1/consumers/c", "/v1/consumers/c/pull",
           "/v1/dead-letters", "/v1/dead-letters/01ARZ3NDEKTSV4RRFFQ69G5FB1", "/v1/replays", "/v1/status",
           "/healthz", "/readyz", "/metrics", "/in.php", "/createTask", "/nothing")

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


def test_junk_and_honest_callbacks():
    with welcomed() as (gate, tracker):
        def honest(number):
            return gate.public.request("POST", url(1), b"id=%d&code=honest" % number, FORM).status

        ports = {"public": gate.public.port, "private": gate.private.port}
        public = (url(1), url(2), "/callback/lan", "/callback/two", "/", "/nothing")
        Storm(SEED + 1, ports, public, PRIVATE).run(300, 10)  # what is made once is made
        rss, fds = gate.daemon.rss_kib(), gate.daemon.fds()
        with Honest(honest) as sender:
            storm = Storm(SEED, ports, public, PRIVATE).run(INPUTS, DEADLINE_S)
        told = (f"seed {SEED}: {storm.sent} inputs, {storm.answers} answers, {sender.taken} honest callbacks,"
                f" p99 {sender.slowest_s():.3f} s, grew {gate.daemon.rss_kib() - rss} KiB")
        print(told)
        assert gate.daemon.alive() and gate.daemon.starts == 1, f"{told}\n{gate.daemon.tail()}"
        assert not storm.wrong, f"{told}\ntaken, though unclear: {storm.wrong[0]}"
        assert not sender.failed and sender.taken > 50, f"{told}\n{sender.failed[:5]}"
        assert sender.slowest_s() < 2, told
        bodies = {item.get("body", b"") for item in tracker.items}
        missing = [n for n in range(sender.taken) if b"id=%d&code=honest" % n not in bodies]
        assert not missing, f"{told}\nacknowledged, not told to the tracker: {missing[:5]}"
        assert gate.daemon.rss_kib() - rss < GROWTH_KIB, told
        until(lambda: gate.daemon.fds() <= fds + 8, 15, lambda: f"{told}, keeps {gate.daemon.fds() - fds} descriptors")
        assert storm.sent >= min(INPUTS, 1000), told
