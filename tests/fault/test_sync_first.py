"""A 200 leaves after its callback is on disk: one strace writes down, in one order, what tracker and gateway
write, sync and send. Of each callback there is a write of its words to a store's log, then a sync of that log
that came back well, and then the 200. With a tracker it is the tracker's store; without one, the spool. Each
sync begins late, so that who does not wait for it is seen."""
import os
import re
import signal
import subprocess

import pytest
from inject import needs_strace
from support.house import House
from support.until import until

pytestmark = needs_strace

CALLS = "pwrite64,pwritev,write,writev,fsync,fdatasync,sendto,sendmsg"
CALM = {"callback": {"stale_after": "300s"}, "poll": {"schedule": {"give_up_after": "600s"}}}
SLOW = "fsync,fdatasync:delay_enter=30000"  # microseconds
TRACE_S = 20
COUNT = 12
LINE = re.compile(r"^(\d+) +(.*)$")
CALL = re.compile(r"^(\w+)\((\d+)(?:<([^>]*)>)?(.*)$", re.DOTALL)
SYNCS = ("fsync", "fdatasync")


class Trace:
    """strace at both processes while the context lasts; lines() afterwards."""

    def __init__(self, *daemons):
        self.daemons = daemons
        self.log = os.path.join(daemons[0].folder, "order.strace")

    def __enter__(self):
        pids = [word for daemon in self.daemons for word in ("-p", str(daemon.pid))]
        argv = ["strace", "-f", "-y", "-q", "-s", "70000", "-o", self.log, "-e", f"trace={CALLS}",
                "-e", f"inject={SLOW}", *pids]
        self.tracer = subprocess.Popen(argv, stdin=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        until(self.attached, TRACE_S, "strace does not take hold")
        return self

    def attached(self):
        assert self.tracer.poll() is None, "strace ended"
        return all(f"TracerPid:\t{self.tracer.pid}\n" in open(f"/proc/{daemon.pid}/task/{thread}/status").read()
                   for daemon in self.daemons for thread in os.listdir(f"/proc/{daemon.pid}/task"))

    def __exit__(self, *_):
        self.tracer.send_signal(signal.SIGINT)
        self.tracer.wait(TRACE_S)

    def lines(self):
        with open(self.log, encoding="utf-8", errors="replace") as log:
            return log.read().splitlines()


def calls(lines):
    """(begun, ended, call, path, arguments, result) of each call; begun and ended are numbers of lines."""
    open_calls = {}
    for number, line in enumerate(lines):
        thread, text = LINE.match(line).groups()
        if text.startswith("<..."):
            begun, head = open_calls.pop(thread, (None, ""))
            if begun is None:
                continue  # begun before the trace
            text = head + text.partition("resumed>")[2]
        elif text.endswith("<unfinished ...>"):
            open_calls[thread] = (number, text.removesuffix("<unfinished ...>"))
            continue
        else:
            begun = number
        call = CALL.match(text)
        if call:
            name, _, path, rest = call.groups()
            yield begun, number, name, path or "", rest, rest.rpartition(" = ")[2].split(" ")[0]


def disorder(lines, words, store):
    """What is wrong, as [(word, what)]. Callbacks come one at a time, so the first 200 after one was sent is
    its own: each answer must stand behind its word's write to the store's log and a sync of it that began
    after the write."""
    wrong, words = [], list(words)
    written = synced = None
    for begun, ended, name, path, rest, result in sorted(calls(lines)):
        if path.endswith(f"/{store}-wal") and words:
            if name.startswith("pwrite") and words[0] in rest and written is None:
                written = ended
            elif name in SYNCS and written is not None and begun > written and result == "0":
                synced = min(synced or ended, ended)
        elif "HTTP/1.1 200" in rest:
            word = words.pop(0)
            if written is None:
                wrong.append((word, "200 before its write"))
            elif synced is None or synced > begun:
                wrong.append((word, "200 before its sync"))
            written = synced = None
    return wrong + [(word, "no 200") for word in words]


def registered(house, count):
    ids = house.submit(count, fate="drop", solve=600)
    for provider_id in ids:
        house.register(provider_id)
    return ids


def knock(house, ids, words):
    for provider_id, word in zip(ids, words):
        answer = house.public.get("/callback/sandbox", id=provider_id, code=word)
        assert (answer.status, answer.text) == (200, "OK")


@pytest.mark.parametrize("store", ["tracker.db", "spool.db"])
def test_a_200_comes_after_the_sync(store):
    words = [f"word{number:04}of{os.getpid()}" for number in range(COUNT)]
    with House(pollers=0, profile=CALM) as house:
        house.start()
        ids = registered(house, COUNT)
        traced = [house.tracker, house.gateway]
        if store == "spool.db":
            house.tracker.kill9()
            traced = [house.gateway]
        with Trace(*traced) as trace:
            knock(house, ids, words)
        wrong = disorder(trace.lines(), words, store)
        assert not wrong, (wrong, "\n".join(line[:200] for line in trace.lines()))


LOG = "/data/tracker.db-wal"
GOOD = (f'7 pwrite64(9<{LOG}>, "..one..", 4096, 32) = 4096', f"8 fdatasync(9<{LOG}> <unfinished ...>",
        '7 sendto(4<socket:[1]>, "acks", 4, 0, NULL, 0) = 4', "8 <... fdatasync resumed>) = 0",
        '5 sendto(6<socket:[2]>, "HTTP/1.1 200 OK", 15, 0, NULL, 0) = 15')


@pytest.mark.parametrize("order,found", [
    ((0, 1, 2, 3, 4), []), ((0, 1, 2, 4, 3), ["200 before its sync"]), ((1, 3, 0, 4), ["200 before its sync"]),
    ((0, 4, 1, 3), ["200 before its sync"]), ((4, 0, 1, 3), ["200 before its write"]),
    ((0, 1, 3), ["no 200"]), ((0, 4), ["200 before its sync"])])
def test_another_order_is_found(order, found):
    wrong = disorder([GOOD[number] for number in order], ["one"], "tracker.db")
    assert [what for _, what in wrong] == found


def test_a_sync_that_fails_is_none():
    bad = [line.replace("resumed>) = 0", "resumed>) = -1 EIO (Input/output error)") for line in GOOD]
    assert disorder(bad, ["one"], "tracker.db") == [("one", "200 before its sync")]
