"""Who strikes processes at random instants: kill -9, and SIGSTOP with a SIGCONT some time later. Not in
a thread: what a thread has started dies with it."""
import contextlib
import heapq
import itertools
import random
import time

from support.until import passes


class Nemesis:
    """victims: Daemons. strikes: (monotonic ns, name), and troubles: (from ns, to ns, name), in which it
    may have given up its store, for whoever asks why something came twice."""

    def __init__(self, victims, seed):
        self.victims = list(victims)
        self.luck = random.Random(seed)
        self.kills = self.pauses = 0
        self.strikes = []
        self.troubles = []
        self.strange = []  # (name, code) of those that ended by themselves
        self.stopped = []  # (when it goes on, number, Daemon, since ns)
        self.stops = []  # (from ns, to ns, name)
        self.numbers = itertools.count()

    def note(self, daemon):
        self.strikes.append((time.monotonic_ns(), daemon.name))

    @contextlib.contextmanager
    def trouble(self, name):
        """Something is wrong with what it stands on."""
        since = time.monotonic_ns()
        yield
        self.troubles.append((since, time.monotonic_ns(), name))

    def strike(self, daemon=None):
        """One kill or pause; whoever was killed is starting when this returns."""
        self.revive()
        daemon = daemon or self.luck.choice(self.victims)
        (self.pause if self.luck.random() < 0.15 else self.kill)(daemon)

    def kill(self, daemon):
        self.note(daemon)
        daemon.kill9()
        self.kills += 1
        passes(self.luck.choice((0, 0, 0, 0, 0.05, 0.2)))
        daemon.launch()

    def pause(self, daemon):
        self.note(daemon)
        daemon.pause()
        self.pauses += 1
        end = time.monotonic() + self.luck.choice((0.05, 0.3, 1, 2.5))
        heapq.heappush(self.stopped, (end, next(self.numbers), daemon, time.monotonic_ns()))

    def go_on(self, all_of_them=False):
        """Those whose pause is over."""
        while self.stopped and (all_of_them or self.stopped[0][0] <= time.monotonic()):
            _, _, daemon, since = heapq.heappop(self.stopped)
            daemon.resume()
            self.note(daemon)
            self.stops.append((since, time.monotonic_ns(), daemon.name))

    def revive(self):
        """What a supervisor does."""
        for daemon in self.victims:
            if not daemon.alive():
                self.strange.append((daemon.name, daemon.process.returncode))
                self.note(daemon)
                daemon.launch()

    def rage(self, duration_s, mean_s, most=None):
        """Strike every mean_s or so."""
        end = time.monotonic() + duration_s
        while time.monotonic() < end and (most is None or self.kills < most):
            passes(self.luck.uniform(0, 2 * mean_s))
            self.go_on()
            self.strike()

    def heal(self):
        """All go on, all that ended are started."""
        self.go_on(all_of_them=True)
        self.revive()
        for daemon in self.victims:
            daemon.until_ready(40)
