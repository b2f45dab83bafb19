"""A process stands still: SIGSTOP at any moment, also inside a transaction and longer than its leases,
and somebody reads the store so long that its log can't be shortened. Rows 26, 27, 28 and 46 of the
matrix (README.md)."""
import sqlite3

import pytest
from inject import Faults, needs_strace
from support import bus
from support.house import House
from support.knocker import Knocker
from support.load import Load
from support.oracle import Oracle
from support.tally import scale, tally
from support.until import passes, until

SANDBOX = ("--fates", "ok=60,drop=20,double=10,conflict=5,early=5", "--solve", "0.2",
           "--callback-retries", "3", "--callback-timeout", "6")
WAL_MAX = 2 << 20
SETTINGS = {"dlq": {"first_after": "500ms", "max_after": "2s", "tick": "100ms", "max_attempts": 1000},
            "tracker": {"lease": "1s"}}
PROFILE = {"callback": {"parked_for": "1s"}, "poll": {"timeout": "1s"}}
PAUSE_S = scale(1.5, 6)


@pytest.fixture(scope="module")
def house():
    with House(pollers=2, sandbox=SANDBOX, profile=PROFILE, settings=dict(SETTINGS), per_service={
            "gateway": {"gateway": {"resend_after": "1s"}}}) as one:
        one.settings["store"] = {"data": f"{one.folder}/data", "wal_max": f"{WAL_MAX >> 20}MiB"}
        one.start()
        one.oracle = Oracle(one)
        yield one


def load_of(house, rate=40):
    return Load(house, rate=rate, ledger=house.oracle.ledger)


@pytest.mark.parametrize("name", ["gateway", "tracker", "dlq", "poller1"])
def test_row_26_a_process_stands_still(house, name):
    """Longer than leases, in the long form also than heartbeats: its work goes to others, and what it
    says late is taken once."""
    starts = {one: daemon.starts for one, daemon in house.daemons.items()}
    with load_of(house):
        passes(0.3)
        house.daemons[name].pause()
        passes(PAUSE_S)
        house.daemons[name].resume()
        passes(0.3)
    house.oracle.demand(starts=starts)


@needs_strace
@pytest.mark.parametrize("end", ["goes on", "is killed"])
def test_row_27_it_stands_still_in_a_transaction(house, end):
    """The tracker is stopped where it wants its log on disk, and has the store locked. Callbacks are
    taken all the while, by the gateway's spool."""
    with load_of(house, rate=20):
        knocker = Knocker(house, house.oracle.ledger, 12)
        with Faults(house.tracker, "fdatasync,fsync:signal=STOP:when=3"):
            until(lambda: "T" in state_of(house.tracker.pid), 10, "it does not stop")
            statuses = [knocker.knock().status for _ in range(8)]
            if end == "is killed":
                house.tracker.kill9()
        if end == "is killed":
            house.tracker.start()
        house.tracker.resume()
        assert set(statuses) == {200}
        assert knocker.slowest_s < 3, knocker.slowest_s
        house.until_serving(40)
        while knocker.waiting:
            assert knocker.knock().status == 200
    house.oracle.demand()


def state_of(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        return file.read().rpartition(")")[2].split()[0].upper()


def test_row_28_a_reader_starves_the_checkpoints(house):
    """Somebody of the same user has a transaction open in tracker.db: the log grows past its limit, the
    status says how large it is, nothing is refused; when the reader has gone it is short again."""
    def log_bytes():
        return bus.figures(house.run, "status")["status"]["wal_bytes"]

    starts = {one: daemon.starts for one, daemon in house.daemons.items()}
    reader = sqlite3.connect(f"file:{house.folder}/data/tracker.db?mode=ro", uri=True)
    reader.execute("BEGIN")
    reader.execute("SELECT count(*) FROM sqlite_master").fetchone()
    with load_of(house):
        knocker = Knocker(house, house.oracle.ledger, scale(40, 400), pad=100_000)
        while knocker.waiting:
            assert knocker.knock().status == 200
    most = log_bytes()
    assert most > WAL_MAX, most
    reader.close()
    with load_of(house):
        until(lambda: log_bytes() <= WAL_MAX, 20, lambda: f"the log stays at {log_bytes()}")
    house.oracle.demand(starts=starts)
    tally("starved checkpoints", log_bytes=most, after=log_bytes())


def test_row_46_two_pollers_of_one_name(house):
    """The second one is refused or serves: nobody's work is lost in between."""
    twin = house.add("poller9", "poller", {"ALDABA__POLLER__NAME": "p1"})
    with load_of(house):
        twin.launch()
        until(lambda: not twin.alive() or any(line.startswith("ready") for line in twin.lines()), 15,
              twin.tail)
        passes(1)
        code = twin.process.returncode
        twin.clean()
    del house.daemons["poller9"]
    assert code in (None, 69), twin.tail()
    house.oracle.demand()
