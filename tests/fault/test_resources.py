"""What a process lives on becomes scarce: memory, descriptors, threads, a core, room in its files, a
quick disk. It may end, and is then started again; it may say no. Nothing that was acknowledged is
lost, and when there is enough again it is back by itself. Rows 4, 15, 16, 20 to 25 of the matrix
(README.md)."""
import contextlib
import os
import random
import resource
import time

import pytest
from inject import Faults, launch_under, needs_strace
from support import cgroup
from support.cgroup import Cgroup
from support.house import House
from support.knocker import Knocker
from support.load import Load
from support.oracle import Oracle
from support.tally import scale, seed, tally
from support.until import passes, until

SANDBOX = ("--fates", "ok=60,drop=20,double=10,conflict=5,early=5", "--solve", "0.2",
           "--callback-retries", "3", "--callback-timeout", "5")
SETTINGS = {"dlq": {"first_after": "500ms", "max_after": "2s", "tick": "100ms", "max_attempts": 1000}}
PROFILE = {"callback": {"parked_for": "1s"}}
SERVICES = ("gateway", "tracker", "dlq", "poller1")
TWO = scale(("gateway", "tracker"), SERVICES)
AGAIN_S = 40
MORE_BYTES = {"gateway": 1 << 20, "tracker": 1 << 20, "dlq": 1 << 16}
LARGE = 600_000  # characters of an answer
ENDS = (-9, -6, 69, 70, 71, 74, 75)  # killed, aborted by a library, or an end that says why

needs_root = pytest.mark.skipif(os.geteuid() != 0, reason="needs root, to take limits from a process")


def needs_group(kind):
    why = cgroup.reason(kind)
    return pytest.mark.skipif(bool(why), reason=why)


@pytest.fixture(scope="module")
def house():
    with House(sandbox=SANDBOX, settings=SETTINGS, profile=PROFILE, per_service={
            "gateway": {"gateway": {"resend_after": "1s"}}}) as one:
        yield one.start()


@pytest.fixture
def oracle(house):
    """Each test has its own, so that each begins from what is true then; all tasks are judged again
    by every one."""
    first = getattr(house, "ledger_of_all", None)
    one = Oracle(house, first)
    house.ledger_of_all = one.ledger
    return one


@contextlib.contextmanager
def limited(daemon, kind, value):
    """If it is started anew meanwhile, that one has no limit."""
    pid = daemon.pid
    soft, hard = resource.prlimit(pid, kind)
    resource.prlimit(pid, kind, (value, hard))
    try:
        yield
    finally:
        if daemon.alive() and daemon.pid == pid:
            resource.prlimit(pid, kind, (soft, hard))


def load_of(house, oracle, rate=40):
    return Load(house, rate=rate, ledger=oracle.ledger)


def revived(house, seconds):
    """Let time pass, and start again what has ended: {name: codes}"""
    ended = {}
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        for daemon in house.daemons.values():
            if not daemon.alive():
                ended.setdefault(daemon.name, []).append(daemon.process.returncode)
                daemon.launch()
        passes(0.05)
    return ended


def demand_known(ended):
    for name, codes in ended.items():
        assert set(codes) <= set(ENDS), f"{name} ended with {codes}"


# ---- memory ----

def large_callbacks(house, oracle, count):
    """Answers of 600 KB: to tasks that are known, and twice, so that there are letters as large."""
    knocker = Knocker(house, oracle.ledger, count, pad=LARGE)
    for provider_id in knocker.ids:
        for answer in ("a" * LARGE, "b" * LARGE):
            knocker.knock(provider_id, f"{provider_id}-{answer}")
    return knocker


def again_until_taken(house, knocker):
    for provider_id in knocker.ids:
        until(lambda: getattr(knocker.knock(provider_id, f"{provider_id}-{'a' * LARGE}"), "status",
                              None) == 200, AGAIN_S, "it does not recover")


@needs_group("memory")
@pytest.mark.parametrize("name", MORE_BYTES)
def test_row_4_killed_for_its_memory(house, oracle, name):
    """The kernel kills it when it takes more: in the middle of large callbacks and letters."""
    daemon = house.daemons[name]
    daemon.stop()  # one that had large ones before has room for them, which is not counted in the group
    daemon.launch().until_ready()
    with load_of(house, oracle), Cgroup("memory", MORE_BYTES[name]) as group:
        group.take(daemon)
        knocker = None
        for _ in range(4):
            if not daemon.alive():
                break
            knocker = large_callbacks(house, oracle, 6)
        until(lambda: not daemon.alive(), 10, f"{name} lives on so little more")
        assert daemon.process.returncode == -9, daemon.tail()
        house.revive()
        until(house.serving, AGAIN_S, "it is not back")
        again_until_taken(house, knocker)
    oracle.demand()


@pytest.mark.parametrize("name", TWO)
def test_row_23_no_more_memory(house, oracle, name):
    """Every request to the kernel for more is refused."""
    daemon = house.daemons[name]
    with load_of(house, oracle):
        passes(0.2)
        with limited(daemon, resource.RLIMIT_AS, daemon.vm_kib() * 1024):
            knocker = large_callbacks(house, oracle, 2)
            demand_known(revived(house, scale(0.5, 5)))
        until(house.serving, AGAIN_S, "it is not back")
        again_until_taken(house, knocker)
    oracle.demand()


# ---- files ----

def test_row_15_files_may_not_grow(house, oracle):
    """RLIMIT_FSIZE at the tracker, below what its log has: it refuses, the gateway keeps."""
    daemon = house.tracker
    with load_of(house, oracle):
        knocker = Knocker(house, oracle.ledger, 30)
        with limited(daemon, resource.RLIMIT_FSIZE, 4096):
            statuses = [knocker.knock().status for _ in range(10)]
            passes(scale(0.5, 5))
            assert set(statuses) <= {200, 503}
            assert daemon.alive(), daemon.tail()
        for provider_id in knocker.ids:
            until(lambda: knocker.knock(provider_id).status == 200, AGAIN_S, "it does not recover")
    oracle.demand(starts={"tracker": daemon.starts})


@needs_strace
@pytest.mark.parametrize("name", ["tracker", "gateway"])
def test_row_16_a_slow_disk(house, oracle, name):
    """Each sync takes 60 ms longer. Callbacks are taken in time, and nobody is thought to be dead."""
    starts = {one: daemon.starts for one, daemon in house.daemons.items()}
    with load_of(house, oracle):
        knocker = Knocker(house, oracle.ledger, 25)
        with Faults(house.daemons[name], "fdatasync,fsync:delay_enter=60000"):
            statuses = [knocker.knock().status for _ in knocker.ids[:scale(15, 25)]]
            assert house.serving()
        assert set(statuses) == {200}
        assert knocker.slowest_s < 3, knocker.slowest_s
        while knocker.waiting:
            knocker.knock()
    oracle.demand(starts=starts)


# ---- descriptors, threads, a core ----

@needs_strace
@pytest.mark.parametrize("name", TWO)
def test_row_20_an_open_fails_at_the_start(house, oracle, name):
    """The n-th open of a start fails: it ends and says so, or it serves. Nothing in between."""
    daemon = house.daemons[name]
    points = random.Random(seed()).sample(range(20, 90), scale(2, 25))
    with load_of(house, oracle, rate=10):
        for number in points:
            daemon.kill9()
            launch_under(daemon, f"openat:error=EMFILE:when={number}")
            until(lambda: not daemon.alive() or ready(daemon), 20,
                  lambda: f"neither ready nor ended\n{daemon.tail()}")
            assert daemon.alive() or daemon.process.returncode in (*ENDS, 78), daemon.tail()
        daemon.kill9()
        daemon.start()
    oracle.demand()


def ready(daemon):
    return any(line.startswith("ready") for line in daemon.lines())


@needs_root
@pytest.mark.parametrize("name", TWO)
def test_row_21_no_more_descriptors(house, oracle, name):
    """And its neighbours come anew meanwhile, so that it has to connect."""
    daemon = house.daemons[name]
    with load_of(house, oracle):
        with limited(daemon, resource.RLIMIT_NOFILE, daemon.fds()):
            neighbour = house.gateway if name == "tracker" else house.tracker
            neighbour.restart()
            demand_known(revived(house, scale(0.7, 5)))
        until(house.serving, AGAIN_S, "it is not back")
    oracle.demand()


@needs_group("pids")
@pytest.mark.parametrize("name", TWO)
def test_row_22_no_more_threads(house, oracle, name):
    """At the start: it ends. Once it runs it needs no more of them."""
    daemon = house.daemons[name]
    with load_of(house, oracle), Cgroup("pids", 1) as group:
        threads = daemon.threads()
        daemon.kill9()
        plain = daemon.argv
        daemon.argv = group.wrap(plain)
        for limit in sorted({1, 2, threads // 2, threads - 1}):
            group.set(limit)
            daemon.launch()
            until(lambda: not daemon.alive() or ready(daemon), 20, daemon.tail)
            assert daemon.alive() or daemon.process.returncode in ENDS, daemon.tail()
            daemon.kill9()
        daemon.argv = plain
        daemon.start()
        group.set(1)
        group.take(daemon)  # a limit below what it has: no new ones
        passes(scale(0.3, 3))
        assert daemon.alive(), daemon.tail()
        until(house.serving, AGAIN_S, "it does not serve")
    oracle.demand()


@needs_group("cpu")
def test_row_25_a_twentieth_of_a_core(house, oracle):
    """All of them together: slow, and nobody is taken for dead who is not; no task is given up."""
    starts = {one: daemon.starts for one, daemon in house.daemons.items()}
    with load_of(house, oracle, rate=20), Cgroup("cpu", 5000) as group:
        for daemon in house.daemons.values():
            group.take(daemon)
        passes(scale(3, 20))
        group.set(-1 if group.form == "{}" else "max")
    verdict = oracle.demand(starts=starts)
    assert {event["state"] for event in house.events()} == {"done"}, verdict


# ---- whatever may fail ----

CALLS = (("pwrite64", "EIO"), ("pwrite64", "ENOSPC"), ("fdatasync", "EIO"), ("pread64", "EIO"),
         ("openat", "EMFILE"), ("sendto", "ENOBUFS"), ("recvfrom", "ECONNRESET"), ("accept4", "ENFILE"),
         ("mmap", "ENOMEM"), ("epoll_wait", "EINTR"), ("poll", "EINTR"), ("unlink", "EIO"),
         ("ftruncate", "ENOSPC"), ("read", "EIO"), ("sendmsg", "ENOBUFS"), ("connect", "ENETDOWN"))


@needs_strace
def test_row_24_any_call_fails(house, oracle):
    """Each time another process, another call, another n-th one of it."""
    luck = random.Random(seed())
    fired = 0
    ended = {}
    with load_of(house, oracle):
        for _ in range(scale(4, 60)):
            name, (call, error) = luck.choice(SERVICES), luck.choice(CALLS)
            first, step = luck.randrange(1, 4), luck.randrange(1, 4)
            with Faults(house.daemons[name], f"{call}:error={error}:when={first}+{step}") as faults:
                passes(0.3)
                fired += faults.fired()
            for one, codes in revived(house, 0.2).items():
                ended.setdefault(one, []).extend([(call, error, code) for code in codes])
    oracle.demand()
    tally("any call", seed=seed(), failed=fired, ended={n: len(c) for n, c in ended.items()})
