"""The network between aldaba and its provider, and the bus between two daemons: frames are lost, late,
doubled and out of order, the link is thin, cut both ways or one way, connections are reset. Rows 34 to
38 of the matrix (README.md). The bus is for one machine; over loopback TCP, and through a relay, it is
cut as well."""
import pytest
from cutter import Cutter
from netlab import Lab, reason
from support.house import House, new_sandbox
from support.http import Client
from support.load import Load
from support.oracle import Oracle
from support.settings import free_port
from support.tally import scale, seed, tally
from support.until import passes

SANDBOX = ("--fates", "ok=65,drop=15,double=10,conflict=5,early=5", "--solve", "0.2",
           "--callback-retries", "3", "--callback-timeout", "4")
SETTINGS = {"dlq": {"first_after": "500ms", "max_after": "2s", "tick": "100ms", "max_attempts": 1000}}
PARKED = {"parked_for": "1s"}
PHASE_S = scale(1, 15)

WHY = reason()


def each_or_all(names):
    """In the long form each has an oracle of its own, in the short one all have one."""
    return scale([tuple(names)], [(name,) for name in names])


def title(names):
    return names[0] if len(names) == 1 else "all"


class FarHouse(House):
    """Its provider is in the lab."""

    def __init__(self, lab):
        self.lab = lab
        super().__init__(settings=dict(SETTINGS), profile={
            "poll": {"request": {"url": f"http://{lab.away}:{{}}/res.php"}, "timeout": "3s"},
            "callback": {**PARKED, "auth": {"source_ips": [lab.away, lab.home]}}})
        port = free_port()
        self.profile["poll"]["request"]["url"] = f"http://{lab.away}:{port}/res.php"
        self.sandbox = new_sandbox(self.folder, "--port", port, "--host", "0.0.0.0", *SANDBOX)
        self.sandbox.argv = lab.inside(self.sandbox.argv)
        self.public = Client(self.public.port, lab.home)

    def start_sandbox(self):
        self.lab.start_relay(self.folder, seed())
        self.sandbox.start()
        self.provider = Client(int(self.sandbox.facts["port"]), self.lab.back)

    def write_settings(self):
        self.settings["gateway"] = {
            "public": f"{self.lab.home}:{self.public.port}",
            "private": f"127.0.0.1:{self.private.port}", "public_url": self.public.url,
            "default_provider": "sandbox"}
        super().write_settings()


@pytest.fixture(scope="module")
def far():
    with Lab() as lab, FarHouse(lab) as house:
        house.start()
        house.oracle = Oracle(house)
        yield house


TROUBLE = {
    "row 34, a twentieth is lost": {"loss": 5},
    "row 34, a fifth is lost": {"loss": 20},
    "row 35, late, doubled, out of order": {"delay_ms": 50, "jitter_ms": 40, "dup": 5, "reorder": 10},
    "row 36, no link": {"cut": "both"},
    "row 36, nothing reaches the provider": {"cut": "up"},
    "row 36, nothing comes from the provider": {"cut": "down"},
    "row 37, resets": {"reset": True},
    "row 38, a thin link": {"rate": 15_000},
}


@pytest.mark.skipif(bool(WHY), reason=WHY)
@pytest.mark.parametrize("names", each_or_all(TROUBLE), ids=title)
def test_provider_behind_a_bad_link(far, names):
    starts = {one: daemon.starts for one, daemon in far.daemons.items()}
    with Load(far, rate=40, ledger=far.oracle.ledger):
        for name in names:
            before = far.lab.figures()
            far.lab.link(**TROUBLE[name])
            passes(PHASE_S)
            after = far.lab.figures()
            far.lab.link()
            done = {key: after[key] - before[key] for key in after if key != "orders"}
            assert done["passed"] or "cut" in TROUBLE[name], (name, done)
            assert sum(done.values()) > done["passed"] or "rate" in TROUBLE[name], (name, done)
            tally(name, seed=seed(), **done)
    verdict = far.oracle.demand(starts=starts)
    tally("a bad link", seed=seed(), acknowledged=verdict.acknowledged)


# ---- the bus ----

CHANNELS = ("events", "jobs", "letters")


class CutHouse(House):
    """Its events, jobs and letters go over TCP, through relays."""

    def __init__(self):
        super().__init__(settings=dict(SETTINGS), profile={"callback": PARKED}, sandbox=SANDBOX,
                         per_service={name: {} for name in ("gateway", "poller", "tracker", "dlq")})
        self.cutters = {name: Cutter(free_port(), seed()) for name in CHANNELS}
        self.settings["bus"] = {"run": self.run, "heartbeat": "300ms",
                                **{name: f"tcp://127.0.0.1:{cutter.goal}"
                                   for name, cutter in self.cutters.items()}}
        through = {name: f"tcp://127.0.0.1:{cutter.port}" for name, cutter in self.cutters.items()}
        for service, names in (("gateway", ("events", "letters")), ("poller", ("jobs",)),
                               ("dlq", ("events",)), ("tracker", ("letters",))):
            self.per_service[service] = {"bus": {name: through[name] for name in names}}

    def __enter__(self):
        for cutter in self.cutters.values():
            cutter.__enter__()
        return super().__enter__()

    def __exit__(self, *what):
        super().__exit__(*what)
        for cutter in self.cutters.values():
            cutter.__exit__(*what)

    def each(self, deed):
        for cutter in self.cutters.values():
            deed(cutter)


@pytest.fixture(scope="module")
def cut():
    with CutHouse() as house:
        house.start()
        house.oracle = Oracle(house)
        yield house


def resets(house):
    for _ in range(scale(4, 40)):
        house.each(lambda cutter: cutter.cut(reset=True))
        passes(0.25)


def ends(house):
    for _ in range(scale(4, 40)):
        house.each(lambda cutter: cutter.cut(reset=False))
        passes(0.25)


def partition(*ways):
    def deed(house):
        house.each(lambda cutter: cutter.swallow(*ways))
        passes(scale(1.5, 10))  # longer than three heartbeats: a peer that is silent is gone
        house.each(lambda cutter: cutter.swallow())
    return deed


def thin(house):
    def set_link(rate, delay_s):
        for cutter in house.cutters.values():
            cutter.rate, cutter.delay_s = rate, delay_s
    set_link(50_000, 0.03)
    passes(PHASE_S)
    set_link(None, 0)


DEEDS = {"row 37, resets": resets, "row 36, connections end": ends,
         "row 36, no link": partition("up", "down"), "row 36, one way": partition("up"),
         "row 36, the other way": partition("down"), "row 38, a thin link": thin}


@pytest.mark.parametrize("names", each_or_all(DEEDS), ids=title)
def test_the_bus_is_cut(cut, names):
    starts = {one: daemon.starts for one, daemon in cut.daemons.items()}
    made = sum(cutter.made for cutter in cut.cutters.values())
    with Load(cut, rate=40, ledger=cut.oracle.ledger):
        for name in names:
            passes(0.2)
            DEEDS[name](cut)
    again = sum(cutter.made for cutter in cut.cutters.values()) - made
    assert again >= len(CHANNELS) or "thin" in names[0], "no connection was lost"
    verdict = cut.oracle.demand(starts=starts)
    tally("the bus is cut", seed=seed(), connections=again, acknowledged=verdict.acknowledged)
