"""System calls that fail, or that their process does not survive: strace, at a program from its
first instruction on, or at one that runs already.

A rule is strace's own: `fdatasync:error=EIO:when=3+`. strace counts the calls of each thread by
itself; the files of a service are written by one thread.
"""
import os
import shutil
import signal
import subprocess

import pytest

from support.until import until

ATTACH_S = 10

needs_strace = pytest.mark.skipif(
    os.geteuid() != 0 or shutil.which("strace") is None,
    reason="needs root and strace, to make system calls fail")


def _argv(rules, log, *more):
    calls = sorted({name for rule in rules for name in rule.partition(":")[0].split(",")})
    injections = [word for rule in rules for word in ("-e", f"inject={rule}")]
    return ["strace", "-f", "-q", "-o", log, "-e", f"trace={','.join(calls)}", *injections, *more]


def launch_under(daemon, *rules):
    """Start it with the rules in force from its first instruction on. The process is the daemon's
    own (-D: the tracer is a grandchild that ends with it)."""
    plain = daemon.argv
    daemon.argv = [*_argv(rules, "/dev/null", "-D"), "--", *plain]
    try:
        return daemon.launch()
    finally:
        daemon.argv = plain


class Faults:
    """The rules are in force while the context lasts; the process lives on without them. path: only
    for calls about this file."""

    def __init__(self, daemon, *rules, path=None):
        self.daemon = daemon
        self.rules = rules
        self.only = ["-P", path] if path else []
        self.log = os.path.join(daemon.folder, f"{daemon.name}.strace")
        self.tracer = None

    def __enter__(self):
        open(self.log, "wb").close()
        argv = _argv(self.rules, self.log, *self.only, "-p", str(self.daemon.pid))
        self.tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.attached, ATTACH_S, f"strace does not take hold of {self.daemon.name}")
        return self

    def __exit__(self, *_):
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.wait(ATTACH_S)

    def attached(self):
        assert self.tracer.poll() is None, "strace ended"
        return all(tracer == self.tracer.pid for tracer in self.tracers())

    def tracers(self):
        folder = f"/proc/{self.daemon.pid}/task"
        for thread in os.listdir(folder):
            with open(f"{folder}/{thread}/status", encoding="ascii") as status:
                yield next(int(line.split()[1]) for line in status if line.startswith("TracerPid"))

    def fired(self):
        """How many calls were made to fail so far."""
        with open(self.log, "rb") as log:
            return log.read().count(b"(INJECTED)")
