"""aldaba as the benchmark runs it: a house on the disk that is measured, tasks registered by the thousand,
callbacks shot at them, and the proof that the books hold what was answered."""
import os
import shutil
import tempfile

from bench import measure
from support import house as houses
from support.http import Client
from support.settings import free_port, merge
from support.until import until

PATIENT = {
    "callback": {"stale_after": "12h"},
    "poll": {"schedule": {"give_up_after": "24h"}},
}
FIRST_ID = 10**11  # provider ids of one length


class Stand:
    """faults: what is not proved, in sentences."""

    def __init__(self, args, settings=None, pollers=0, profile=None):
        self.args = args
        self.folder = tempfile.mkdtemp(prefix="bench-", dir=args.dir)
        self.ids = os.path.join(self.folder, "ids")
        self.next_id = FIRST_ID
        common = {"store": {"data": os.path.join(self.folder, "data")},
                  "gateway": {"threads": args.http_threads}, "tracker": {"max_open": 100000000}}
        self.house = houses.House(pollers=pollers, settings=merge(common, settings or {}),
                                  profile=merge(PATIENT, profile or {}))
        self.faults = []

    def __enter__(self):
        os.mkdir(os.path.join(self.folder, "data"), 0o700)
        self.house.__enter__()
        try:
            self.house.provider = Client(free_port())  # nobody: nothing is polled here
            self.house.write_settings()
            self.house.start_daemons()
        except BaseException:
            self.__exit__()
            raise
        return self

    def __exit__(self, *_):
        self.house.__exit__()
        shutil.rmtree(self.folder, ignore_errors=True)

    @property
    def tracker(self):
        return self.house.daemons["tracker"]

    def pids(self):
        return {name: daemon.pid for name, daemon in self.house.daemons.items() if daemon.alive()}

    def register(self, count):
        """New open tasks; their first provider id."""
        first = self.next_id
        measure.register(self.house.run, first, count)
        self.next_id += count
        return first

    def fresh(self, count, strangers=0):
        """The same, and the ids stand shuffled in self.ids; behind them those of so many tasks that are not
        registered, for peers that need more."""
        first = self.register(count)
        self.next_id += strangers
        measure.write_ids(self.ids, first, count, strangers)
        return first

    def shoot(self, count, connections, seconds, pause_ms=0):
        """wrk over the ids in self.ids, and the proof."""
        before = self.arrivals()
        shot = measure.shoot(self.house.public.url, self.ids, 0, count, connections, seconds,
                             self.args.wrk_threads, pause_ms)
        self.prove(before, shot.requests - shot.bad, connections, shot.bad + shot.lost)
        return shot

    def arrivals(self):
        return measure.arrivals(self.house.run)

    def prove(self, before, answered, connections, failed=0):
        """Applied = acknowledged. wrk goes away without its last answers, one a connection."""
        def delta():
            after = self.arrivals()
            return {name: after[name] - before.get(name, 0) for name in after
                    if after[name] != before.get(name, 0)}

        def settled():
            first, second = delta(), delta()
            return first if first == second and first.get("received", 0) >= answered else None

        got = until(settled, 60, lambda: f"{delta()} in the books, but {answered} were answered")
        applied, twice = got.get("applied", 0), got.get("duplicate", 0)
        whole = applied + twice == got.get("received", 0) <= answered + connections
        if failed or not whole or twice > connections:
            self.faults.append(f"books {got}, answered 200: {answered}, other answers or none: {failed}")
        return applied

    def audit(self):
        done = self.house.aldaba("audit", timeout_s=600)
        if done.returncode != 0:
            self.faults.append(f"aldaba audit: {done.stdout}{done.stderr}")
