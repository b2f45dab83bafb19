"""What every fault test ends in, whatever went wrong: one oracle.

    oracle = Oracle(house)                            # before anything goes wrong
    with Load(house, ledger=oracle.ledger):
        ...
    oracle.demand()                                   # the fault is over

Nothing that was acknowledged is lost, one result event a task, each double answer has its one letter,
the books balance (`aldaba audit --deep`), every process is back to ready by itself, and none keeps
memory, descriptors or threads. A process that has ended is started again, as a supervisor does; one
that lives gets no help.
"""
from support.bus import Channel, Silent
from support.ledger import Ledger, demand_conflict_letters, settle
from support.until import until

READY_S = 40
SETTLE_S = 90
REST_S = 20
GROWTH_KIB = 64 * 1024
SPARE_FDS = 12  # connections that are made when they are first needed
SPARE_THREADS = 2
WARM = ("warm-this", "warm-that")


def name_on_the_bus(name):
    """poller1 is the poller p1; others have the name of their service."""
    return f"poller-p{name.removeprefix('poller')}" if name.startswith("poller") else name


def is_well(house, name):
    """It answers on its control channel that it is well."""
    try:
        with Channel(house.run, f"control-{name_on_the_bus(name)}") as channel:
            return channel.ask("control", timeout_s=5, what="health")[0]["rc"] == "ok"
    except Silent:
        return False


def unwell(house):
    return [name for name in house.daemons if not is_well(house, name)]


def warm(house, ledger):
    """Everything has been used once: a callback, a letter, lists, the feed."""
    provider_id = house.submit(1, fate="drop", solve=600)[0]
    task = house.register(provider_id)
    ledger.registered(provider_id, task["id"])
    for answer in WARM:
        status = house.public.get("/callback/sandbox", id=provider_id, code=answer).status
        ledger.noted(provider_id, answer, status)
        assert status == 200
    until(lambda: house.events_of(task["id"]), READY_S, "no event")
    until(lambda: house.dead_letters(task=task["id"]), READY_S, "no letter")
    assert house.aldaba("audit", "--deep").returncode == 0
    house.metrics()


def judge(house, ledger, deadline_s=SETTLE_S):
    """All of it but what processes keep, for which one has to have looked before."""
    house.revive()
    house.until_serving(READY_S)
    until(lambda: not unwell(house), READY_S, lambda: f"not well: {unwell(house)}")
    verdict = settle(house, ledger, deadline_s).demand()
    demand_conflict_letters(house, ledger, deadline_s)
    until(lambda: house.aldaba("audit", "--deep").returncode == 0, REST_S,
          lambda: house.aldaba("audit", "--deep").stdout)
    return verdict


def kept_fds(daemon):
    """Without connections that are kept to be used again. A poller finds out that one was closed when
    it is about to use it."""
    states = ("01", "08") if daemon.name.startswith("poller") else ("01",)
    return daemon.fds() - daemon.connections(states)


class Oracle:
    """Made of a house that is well. ledger: one to go on with."""

    def __init__(self, house, ledger=None):
        self.house = house
        self.ledger = Ledger() if ledger is None else ledger
        until(lambda: not unwell(house), READY_S, lambda: f"not well: {unwell(house)}")
        warm(house, self.ledger)
        self.before = {name: (daemon.rss_kib(), kept_fds(daemon), daemon.threads())
                       for name, daemon in house.daemons.items()}

    def demand(self, deadline_s=SETTLE_S, starts=None):
        """The Verdict. starts: {name: how often it may have been started}; others as it came."""
        verdict = judge(self.house, self.ledger, deadline_s)
        self.demand_rest()
        for name, most in (starts or {}).items():
            assert self.house.daemons[name].starts <= most, self.house.daemons[name].tail()
        return verdict

    def demand_rest(self):
        """Memory, descriptors and threads are where they were."""
        for name, (rss, fds, threads) in self.before.items():
            daemon = self.house.daemons[name]
            until(lambda: kept_fds(daemon) <= fds + SPARE_FDS, REST_S,
                  lambda: f"{name} keeps {kept_fds(daemon)} descriptors, {fds} before")
            until(lambda: daemon.threads() <= threads + SPARE_THREADS, REST_S,
                  lambda: f"{name} keeps {daemon.threads()} threads, {threads} before")
            assert daemon.rss_kib() <= rss + GROWTH_KIB, \
                f"{name} grew from {rss} to {daemon.rss_kib()} KiB"
