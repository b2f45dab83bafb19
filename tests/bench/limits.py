"""What the benchmark is held to. A floor is what the design can give; where an aim stands beside it, that is
what is wanted and may be out of reach: docs/PERFORMANCE.md says what stands in the way."""
from bench.report import Limit

# aldaba's rate as a share of a peer's, by connections; 0 stands for any number of them.
PEERS = {
    "empty": {16: Limit(0.35, 0.45), 64: Limit(0.45, 0.60)},
    "webdis": {0: Limit(0.8, 1.2)},
    "express": {0: Limit(4)},
    "bullmq": {0: Limit(6)},
    "flask": {0: Limit(15)},
}
P99_WEBDIS = Limit(1.0, up=False)

FLAT_RATE = Limit(0.7)
FLAT_TICK = Limit(1.5, up=False)  # "the same", as far as processor time can be measured
FLAT_RESTART_S = Limit(10, up=False)
FLAT_BYTES = Limit(200, up=False)

POLLS_HELD = Limit(5000, 10000)
POLLS_CURL = Limit(0.7)
POLLS_WRK = Limit(None, 0.7)
POLLS_TWO = Limit(1.6)
POLLS_TWO_PROCESSORS = 4  # fewer, and none is free for a second poller
POLLS_BATCH = Limit(0.8)  # of the batch's size

DRAIN_RATE = Limit(0.8)
DRAIN_P99 = Limit(2.0, up=False)

FEED_SLOW = Limit(0.9)  # others with a slow consumer beside them, to without: what noise leaves of 1

RETENTION_P99 = Limit(1.5, up=False)
RETENTION_GROWTH = Limit(1.05, up=False)

IDLE_CPU = Limit(1.0, up=False)  # percent of a processor
IDLE_MIB = Limit(60, up=False)


def of_peer(name, connections):
    by_connections = PEERS.get(name, {})
    return by_connections.get(connections, by_connections.get(0, Limit()))
