"""Control groups of a test's own: memory, number of threads, share of a core. v1 or v2, whichever the
machine has; without one, or without the right to make groups, reason() says why.

    with Cgroup("memory", 8 << 20) as group:
        group.take(daemon)
"""
import itertools
import os

from support.until import until

ROOT = "/sys/fs/cgroup"
PERIOD_US = 100_000
OLD = {"memory": ("memory.limit_in_bytes", "{}"), "pids": ("pids.max", "{}"),
       "cpu": ("cpu.cfs_quota_us", "{}")}
NEW = {"memory": ("memory.max", "{}"), "pids": ("pids.max", "{}"), "cpu": ("cpu.max", "{} 100000")}

_numbers = itertools.count(1)


def _parent(kind):
    """(folder in which groups are made, files) or None"""
    old = os.path.join(ROOT, kind)
    if os.path.exists(os.path.join(old, "cgroup.procs")):
        return old, OLD
    try:
        with open(os.path.join(ROOT, "cgroup.subtree_control"), encoding="ascii") as file:
            return (ROOT, NEW) if kind in file.read().split() else None
    except OSError:
        return None


def reason(kind):
    """Why there can be no such group; "" when there can."""
    if os.geteuid() != 0:
        return f"needs root, for a control group of {kind}"
    if _parent(kind) is None:
        return f"this machine has no control groups of {kind} that a test may use"
    try:
        with Cgroup(kind, {"memory": 1 << 30, "pids": 1000, "cpu": PERIOD_US}[kind]):
            return ""
    except OSError as error:
        return f"no control group of {kind} can be made: {error}"


class Cgroup:
    """limit: bytes, threads, or microseconds of each 100 ms."""

    def __init__(self, kind, limit):
        parent, files = _parent(kind)
        self.name, self.form = files[kind]
        self.home = parent
        self.path = os.path.join(parent, f"aldaba-test-{os.getpid()}-{next(_numbers)}")
        self.limit = limit

    def __enter__(self):
        os.mkdir(self.path)
        try:
            self.set(self.limit)
        except OSError:
            os.rmdir(self.path)
            raise
        return self

    def set(self, limit):
        self.limit = limit
        self.write(self.path, self.name, self.form.format(limit))

    def take(self, daemon):
        self.write(self.path, "cgroup.procs", daemon.pid)

    def wrap(self, argv):
        """A command line that is in the group from its first instruction on."""
        return ["/bin/sh", "-c", f'echo $$ > {self.path}/cgroup.procs && exec "$@"', "sh", *argv]

    def release(self, pid):
        self.write(self.home, "cgroup.procs", pid)

    @staticmethod
    def write(folder, name, value):
        with open(os.path.join(folder, name), "w", encoding="ascii") as file:
            file.write(f"{value}\n")

    def __exit__(self, *_):
        with open(os.path.join(self.path, "cgroup.procs"), encoding="ascii") as file:
            for pid in file.read().split():
                self.release(pid)
        until(self.removed, 10, f"{self.path} is in use")

    def removed(self):
        try:
            os.rmdir(self.path)
            return True
        except OSError:
            return False
