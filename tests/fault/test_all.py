"""Everything at once: every few seconds two or three of the other files' faults begin together, under
mixed load, and end a little later; processes are killed and stand still all the while. Then all heals.
Row 55 of the matrix (README.md)."""
import contextlib
import glob
import os
import resource
import time

import zmtp
from inject import Faults
from support import bus, cgroup
from support.cgroup import Cgroup
from support.consume import Consumer, Refused
from support.crowd import Crowd
from support.disk import SmallDisk, may_mount
from support.mixed import Mixed, MixedHouse
from support.nemesis import Nemesis
from support.oracle import Oracle
from support.peers import Sender
from support.tally import scale, seed, tally
from support.until import passes

STORM_S = scale(15, 100)
KINDS = ("gateway", "tracker", "dlq", "poller1")
MOODS = "html502,html200,empty,huge,slow,half,hang,error,server,429,truth=4"
CLOCKS = glob.glob("/usr/lib/*/faketime/libfaketimeMT.so.1")
OVER = (OSError, AssertionError)  # whoever is struck may be killed meanwhile


class Deeds:
    """What may go wrong, each as a context: it goes wrong while the context lasts."""

    def __init__(self, house, disk, luck):
        self.house = house
        self.disk = disk
        self.luck = luck
        self.clock = os.path.join(house.folder, "clock")

    def names(self):
        plain = [self.crowd, self.junk, self.moods, self.glutton, self.liar, self.no_descriptors,
                 self.no_memory, self.small_files]
        if self.disk:
            plain.append(self.full_disk)
        if os.geteuid() == 0:
            plain += [self.slow_sync, self.failing_sync, self.failing_write]
        if not cgroup.reason("cpu"):
            plain.append(self.starved)
        if CLOCKS:
            plain.append(self.another_time)
        return plain

    def daemon(self):
        return self.house.daemons[self.luck.choice(KINDS)]

    @contextlib.contextmanager
    def crowd(self):
        port = self.luck.choice((self.house.public.port, self.house.private.port))
        crowd = Crowd(port, 60, self.luck.choice((b"", b"GET /callback")))
        crowd.start()
        yield
        crowd.__exit__()

    @contextlib.contextmanager
    def junk(self):
        for name in ("events", "query", "jobs", "consume", "letters"):
            with contextlib.suppress(OSError):
                peer = zmtp.greet(f"{self.house.run}/{name}")
                peer.sendall(zmtp.frame(self.luck.randbytes(150)) * 200)
                peer.close()
        yield

    @contextlib.contextmanager
    def moods(self):
        self.house.provider.request("POST", f"/_sandbox/moods?weights={MOODS}")
        yield
        self.house.provider.request("POST", "/_sandbox/moods?weights=")

    @contextlib.contextmanager
    def glutton(self):
        with contextlib.suppress(bus.Silent, Refused, AssertionError), \
                Consumer(self.house.run, "inorder", "glutton") as glutton:
            glutton.ask_once("consumer.pull", (), 1, {"consumer": "crowd", "instance": "glutton",
                                                      "limit": 200, "wait_ms": 0})
        yield

    @contextlib.contextmanager
    def liar(self):
        with contextlib.suppress(bus.Silent, Exception), bus.Channel(self.house.run, "jobs") as channel:
            channel.socket.sndtimeo = 300
            liar = Sender(channel, "01JZ000000000000000000000X", role="poller")
            channel.send(bus.pack("hello", role="poller", floor=1, **liar.who))
            channel.send(bus.pack("ready", poller=liar.who["sender"], credit=1_000_000, busy=0))
        yield

    @contextlib.contextmanager
    def limited(self, kind, value):
        daemon = self.daemon()
        soft = None
        with contextlib.suppress(OSError, KeyError):
            soft, hard = resource.prlimit(daemon.pid, kind)
            pid = daemon.pid
            resource.prlimit(pid, kind, (value(daemon), hard))
        yield
        with contextlib.suppress(OSError):
            if soft is not None and daemon.pid == pid:
                resource.prlimit(pid, kind, (soft, hard))

    def no_descriptors(self):
        return self.limited(resource.RLIMIT_NOFILE, lambda daemon: daemon.fds())

    def no_memory(self):
        return self.limited(resource.RLIMIT_AS, lambda daemon: daemon.vm_kib() * 1024)

    def small_files(self):
        return self.limited(resource.RLIMIT_FSIZE, lambda _: 8192)

    @contextlib.contextmanager
    def full_disk(self):
        self.disk.fill()
        yield
        self.disk.free()

    @contextlib.contextmanager
    def rules(self, *rules):
        faults = Faults(self.daemon(), *rules)
        with contextlib.suppress(*OVER):
            faults.__enter__()
        yield
        with contextlib.suppress(*OVER):
            faults.__exit__()

    def slow_sync(self):
        return self.rules("fdatasync,fsync:delay_enter=80000")

    def failing_sync(self):
        return self.rules("fdatasync,fsync:error=EIO:when=3")

    def failing_write(self):
        return self.rules("pwrite64:error=ENOSPC:when=5+3")

    @contextlib.contextmanager
    def starved(self):
        with Cgroup("cpu", 10_000) as group:
            with contextlib.suppress(OSError):
                group.take(self.daemon())
            yield

    @contextlib.contextmanager
    def another_time(self):
        self.set_clock(self.luck.choice((3600, -3600)))
        yield
        self.set_clock(0)

    def set_clock(self, offset_s):
        with open(f"{self.clock}.new", "w", encoding="ascii") as file:
            file.write(f"{offset_s:+d}\n")
        os.rename(f"{self.clock}.new", self.clock)

    def give_clock(self):
        if CLOCKS:
            self.set_clock(0)
            self.house.tracker.env.update(
                LD_PRELOAD=CLOCKS[0], FAKETIME_TIMESTAMP_FILE=self.clock, FAKETIME_NO_CACHE="1",
                FAKETIME_DONT_FAKE_MONOTONIC="1")


def test_row_55_all_at_once():
    with MixedHouse() as house, contextlib.ExitStack() as stack:
        disk = SmallDisk(f"{house.folder}/small", 64 * 1024) if may_mount() else None
        if disk:
            house.per_service["tracker"] = {"store": {"data": disk.path}}
            house.add("tracker", "tracker")
            stack.enter_context(disk)
            stack.callback(house.tracker.clean)
        run(house, disk)


def run(house, disk):
    nemesis = Nemesis(house.daemons.values(), seed())
    deeds = Deeds(house, disk, nemesis.luck)
    deeds.give_clock()
    house.start()
    oracle = Oracle(house)
    done = []
    with Mixed(oracle, rate=20) as mixed:
        nemesis.victims += mixed.lodgers
        end = time.monotonic() + STORM_S
        while time.monotonic() < end:
            several = nemesis.luck.sample(deeds.names(), nemesis.luck.choice((2, 3)))
            with contextlib.ExitStack() as stack:
                stack.enter_context(nemesis.trouble("tracker"))
                for deed in several:
                    nemesis.revive()
                    stack.enter_context(deed())
                    done.append(deed.__name__)
                nemesis.rage(nemesis.luck.uniform(1, scale(2, 5)), 0.35)
            nemesis.go_on(all_of_them=True)
            passes(nemesis.luck.uniform(0, 0.5))
        nemesis.heal()
        house.until_serving(40)
        passes(1)
    print(f"seed {seed()}, {nemesis.kills} kills, {nemesis.pauses} pauses, {done}, {nemesis.strange}")
    verdict = mixed.demand(nemesis)
    tally("all at once", seed=seed(), kills=nemesis.kills, pauses=nemesis.pauses, faults=len(done),
          tasks=len(oracle.ledger.tasks), acknowledged=verdict.acknowledged)
    assert len(done) >= STORM_S / 3
    bad = [one for one in nemesis.strange if one[1] < 0 and one[1] not in (-9, -6)]
    assert not bad, f"ended by a signal that no library sends: {bad}"
