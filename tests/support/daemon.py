"""A process under test: started in a folder of its own, found by its pid and by nothing else.

A daemon is ready when it has printed a line that begins with `ready` on stderr; the key=value pairs
of that line are its facts. Its stderr is kept in <folder>/<name>.log over all its runs.
"""
import collections
import ctypes
import os
import signal
import subprocess

from support.until import until

START_S = 20
STOP_S = 15
TAIL_LINES = 60
PR_SET_PDEATHSIG = 1

kills = collections.Counter()  # of this run: by kind of process, "total" and "pauses"

_libc = ctypes.CDLL(None, use_errno=True)


def note_kill(daemon):
    kills.update((daemon.name.rstrip("0123456789"), "total"))


def _die_with_parent():
    _libc.prctl(PR_SET_PDEATHSIG, signal.SIGKILL)


class Failed(AssertionError):
    """The process ended where it should not have."""


class Daemon:
    def __init__(self, name, argv, folder, env=None):
        self.name = name
        self.argv = [str(word) for word in argv]
        self.folder = folder
        self.env = {**os.environ, **(env or {})}
        self.log = os.path.join(folder, f"{name}.log")
        self.process = None
        self.facts = {}
        self.starts = 0
        self._log_from = 0

    @property
    def pid(self):
        return self.process.pid if self.process else None

    def alive(self):
        return self.process is not None and self.process.poll() is None

    def launch(self):
        """Start it and return at once; until_ready() waits."""
        assert not self.alive(), f"{self.name} is running already"
        with open(self.log, "ab") as log:
            self._log_from = log.tell()
            self.process = subprocess.Popen(
                self.argv, cwd=self.folder, env=self.env, stdin=subprocess.DEVNULL, stdout=log,
                stderr=log, preexec_fn=_die_with_parent)
        self.starts += 1
        return self

    def until_ready(self, deadline_s=START_S):
        self.facts = until(self._ready_facts, deadline_s,
                           lambda: f"{self.name} is not ready\n{self.tail()}")
        return self

    def start(self, deadline_s=START_S):
        return self.launch().until_ready(deadline_s)

    def _ready_facts(self):
        for line in self.lines():
            if line.startswith("ready"):
                return {"ready": "1", **dict(w.partition("=")[::2] for w in line.split()[1:])}
        if not self.alive():
            raise Failed(f"{self.name} ended with {self.process.returncode} before it was ready\n"
                         f"{self.tail()}")
        return None

    def lines(self):
        """What this run has printed so far."""
        with open(self.log, "rb") as log:
            log.seek(self._log_from)
            return log.read().decode("utf-8", "replace").splitlines()

    def tail(self, count=TAIL_LINES):
        """The end of the log of all runs, for people."""
        try:
            with open(self.log, "rb") as log:
                lines = log.read().decode("utf-8", "replace").splitlines()
        except OSError:
            lines = []
        state = "runs" if self.alive() else f"ended with {self.process and self.process.returncode}"
        return "\n".join([f"---- {self.name} (pid {self.pid}, {state}), end of {self.log}",
                          *lines[-count:]])

    def send(self, number):
        if self.alive():
            os.kill(self.pid, number)

    def kill9(self):
        """kill -9, and the process is gone when this returns."""
        if self.alive():
            note_kill(self)
        self.send(signal.SIGKILL)
        self.wait()

    def wait(self, deadline_s=STOP_S):
        """Its exit code (negative: the signal that ended it)."""
        until(lambda: not self.alive(), deadline_s,
              lambda: f"{self.name} does not end\n{self.tail()}")
        return self.process.returncode

    def stop(self, deadline_s=STOP_S):
        """SIGTERM; its exit code."""
        self.send(signal.SIGTERM)
        return self.wait(deadline_s)

    def pause(self):
        kills["pauses"] += 1
        self.send(signal.SIGSTOP)

    def resume(self):
        self.send(signal.SIGCONT)

    def restart(self):
        """kill -9 and start again."""
        self.kill9()
        return self.start()

    def clean(self):
        """Make sure that it is gone, whatever happened before."""
        if self.alive():
            self.resume()
            self.process.kill()
            self.process.wait()

    # ---- what the kernel says ----

    def rss_kib(self):
        return self._status("VmRSS")

    def vm_kib(self):
        return self._status("VmSize")

    def threads(self):
        return self._status("Threads")

    def fds(self):
        return len(os.listdir(f"/proc/{self.pid}/fd"))

    def connections(self, states=("01",)):
        """How many of them are TCP connections in these states (01: established, 08: the peer has
        closed it)."""
        links = set()
        for number in os.listdir(f"/proc/{self.pid}/fd"):
            try:
                links.add(os.readlink(f"/proc/{self.pid}/fd/{number}"))
            except OSError:
                pass  # closed meanwhile
        with open(f"/proc/{self.pid}/net/tcp", encoding="ascii") as table:
            rows = [line.split() for line in table][1:]
        return sum(row[3] in states and f"socket:[{row[9]}]" in links for row in rows)

    def _status(self, key):
        with open(f"/proc/{self.pid}/status", encoding="ascii") as status:
            for line in status:
                name, _, value = line.partition(":")
                if name == key:
                    return int(value.split()[0])
        raise KeyError(key)
