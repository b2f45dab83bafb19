"""`aldaba spool drain DIR` on the spool of a gateway that was killed. The test is the tracker."""
import contextlib
import os
import shutil
import signal
import sqlite3
import subprocess

import pytest
from support import bus
from support.daemon import Daemon
from support.house import binary
from support.until import stays, until
from test_gateway import SOON_S, Tracker, url, welcomed

END_S = 30

pytestmark = pytest.mark.skipif(not binary("aldaba") or not binary("aldaba-gateway"),
                                reason="not both programs are built")


@contextlib.contextmanager
def left_behind(count):
    """A gateway that was killed with so many callbacks in its spool, and no tracker."""
    with welcomed() as (gate, tracker):
        gate.gone(tracker)
        for task in range(1, count + 1):
            assert gate.public.get(url(task)).status == 200
        gate.daemon.kill9()
        assert rows(gate.spool) == count
        yield gate


def rows(folder, table="spool"):
    with contextlib.closing(sqlite3.connect(f"file:{folder}/spool.db?mode=ro", uri=True)) as db:
        return db.execute(f"SELECT count(*) FROM {table}").fetchone()[0]


def command(gate, folder, *words):
    return [binary("aldaba"), "--config", gate.config, "spool", "drain", folder, *words]


def env():
    beside = os.path.dirname(binary("aldaba-gateway"))
    return {**os.environ, "PATH": f"{beside}:{os.environ['PATH']}"}


def drain(gate, folder=None, *words):
    done = subprocess.run(command(gate, folder or gate.spool, *words), env=env(), cwd=gate.folder,
                          capture_output=True, text=True, timeout=END_S, check=False)
    assert done.stdout == ""
    return done


def in_background(gate, *words):
    return Daemon("drain", command(gate, gate.spool, *words), gate.folder, env())


def seen(folder):
    """All that lies in a folder, to the byte."""
    found = {}
    for name in sorted(os.listdir(folder)):
        with open(os.path.join(folder, name), "rb") as file:
            found[name] = file.read()
    return found


# ---- out it goes ----

def test_example():
    with left_behind(10) as gate:
        tracker = gate.tracker(instance="T2", keys=bytes([2]) + bytes(32))
        before = {*os.listdir(gate.spool), *os.listdir(gate.run)}
        with open(os.path.join(gate.spool, "callback.keys"), "rb") as file:
            keys = file.read()
        done = drain(gate)
        assert done.returncode == 0, done
        assert "10 callbacks went to the tracker; none waits in " + gate.spool in done.stderr
        assert sorted(tracker.tasks()) == list(range(1, 11))
        assert all(item["spooled"] for item in tracker.items)
        assert rows(gate.spool) == 0
        assert tracker.hellos[0]["spool_items"] == 10
        told = tracker.hellos[-1].get("spool_items", 0)
        assert told == 0, "the tracker still thinks that some lie here"
        last = max(item["num"] for item in tracker.items)
        assert tracker.hellos[-1]["floor"] == last + 1, "that would settle what others may number"
        for head in tracker.heads:  # it took nothing at a door: the books have it already
            assert [head.get(name, 0) for name in
                    ("acknowledged", "spooled", "answered", "unanswered", "refused")] == [0] * 5
        assert {*os.listdir(gate.spool), *os.listdir(gate.run)} <= before, "it has made something"
        with open(os.path.join(gate.spool, "callback.keys"), "rb") as file:
            assert file.read() == keys


def test_empty_is_done():
    with left_behind(0) as gate:
        tracker = gate.tracker()
        done = drain(gate)
        assert done.returncode == 0 and "0 callbacks went" in done.stderr, done
        assert tracker.hellos[-1].get("spool_items", 0) == 0 and not tracker.items
        gate.gone(tracker)
        assert drain(gate).returncode == 0, "nobody is needed for nothing"


def test_under_its_own_numbers_and_by_any_path():
    with left_behind(3) as gate:
        tracker = gate.tracker()
        senders = {hello["sender"] for hello in tracker.hellos}
        moved = os.path.join(gate.folder, "rescued")
        os.rename(gate.spool, moved)
        assert drain(gate, "rescued").returncode == 0
        assert not os.path.exists(gate.spool), "the settings name it, the command another"
        os.rename(moved, gate.spool)
        gate.start()
        until(lambda: len({hello["sender"] for hello in tracker.hellos}) == 1, SOON_S, str(senders))
        assert gate.public.get(url(9)).status == 200
        until(lambda: len(tracker.items) == 4, SOON_S, "it does not come")  # spooled or not
        numbers = [item["num"] for item in tracker.items]
        assert numbers == sorted(set(numbers))


def test_no_secret_of_a_provider_is_needed():
    with left_behind(2) as gate:
        with open(gate.config, encoding="utf-8") as file:
            settings = file.read()
        head, _, _ = settings.partition("providers:")
        assert head != settings
        with open(gate.config, "w", encoding="utf-8") as file:
            file.write(head + "providers: {two: {family: inphp, poll: none, callback: {trust: auth, "
                              "auth: {header_secret: {name: X, value: {env: ALD_NOT_THERE}}}}}}\n")
        tracker = gate.tracker()
        assert drain(gate).returncode == 0
        assert sorted(tracker.tasks()) == [1, 2]


# ---- it is refused ----

def test_a_spool_that_a_gateway_has():
    with welcomed() as (gate, tracker):
        gate.gone(tracker)
        assert gate.public.get(url(1)).status == 200
        done = drain(gate)
        assert done.returncode == 69 and "A gateway has this spool" in done.stderr, done
        assert rows(gate.spool) == 1
        gate.until_spooled(1)  # the gauge follows within a moment
        again = gate.tracker()
        gate.until_spooled(0)
        assert again.tasks() == [1]


def no_folder(_):
    return None


def empty_folder(path):
    os.mkdir(path)


def empty_file(path):
    os.mkdir(path)
    with open(os.path.join(path, "spool.db"), "wb"):
        pass


def zeros(path):
    os.mkdir(path)
    with open(os.path.join(path, "spool.db"), "wb") as file:
        file.write(bytes(8192))


def other_database(path, application=0x616C6454):
    os.mkdir(path)
    with contextlib.closing(sqlite3.connect(os.path.join(path, "spool.db"))) as db:
        db.execute(f"PRAGMA application_id={application}")
        db.execute("CREATE TABLE something(x)")
        db.commit()


def nameless_database(path):
    other_database(path, 0)


def another_name(path):
    other_database(path)
    os.rename(os.path.join(path, "spool.db"), os.path.join(path, "tracker.db"))


@pytest.mark.parametrize("make", [no_folder, empty_folder, empty_file, zeros, other_database,
                                  nameless_database, another_name])
def test_no_spool_is_refused_and_left_as_it_is(make):
    with left_behind(1) as gate:
        gate.tracker()
        path = os.path.join(gate.folder, "other")
        make(path)
        before = seen(path) if os.path.exists(path) else None
        done = drain(gate, path)
        assert done.returncode == 69 and path in done.stderr, done
        assert (seen(path) if os.path.exists(path) else None) == before
        assert rows(gate.spool) == 1, "the one of the settings is not touched"


def test_usage():
    with left_behind(0) as gate:
        assert drain(gate, gate.spool, "--patience", "soon").returncode == 64
        assert drain(gate, gate.spool, "--deep").returncode == 64
        shutil.rmtree(gate.spool)
        assert drain(gate).returncode == 69


# ---- it can't be done now ----

def test_no_tracker():
    with left_behind(5) as gate:
        done = drain(gate, gate.spool, "--patience", "300ms")
        assert done.returncode == 75, done
        assert f"5 are left in {gate.spool}" in done.stderr and "no tracker answers" in done.stderr
        assert f"ipc://{gate.run}/events" in done.stderr and rows(gate.spool) == 5
        shutil.rmtree(gate.run)  # not so much as a folder where it would be
        assert drain(gate, gate.spool, "--patience", "100ms").returncode == 75
        assert not os.path.exists(gate.run)
        os.mkdir(gate.run, 0o700)
        tracker = gate.tracker()
        assert drain(gate).returncode == 0
        assert sorted(tracker.tasks()) == [1, 2, 3, 4, 5] and rows(gate.spool) == 0


def test_it_waits_for_the_tracker_to_come():
    with left_behind(5) as gate:
        one = in_background(gate)
        one.start()
        assert one.facts["drains"] == "5"
        stays(one.alive, 0.5, "it has gone")
        tracker = gate.tracker()
        assert one.wait() == 0
        assert sorted(tracker.tasks()) == [1, 2, 3, 4, 5]


def test_the_tracker_takes_none():
    with left_behind(3) as gate:
        tracker = gate.tracker()
        tracker.judge = lambda item: "refused"
        done = drain(gate, gate.spool, "--patience", "500ms")
        assert done.returncode == 75 and "takes none now" in done.stderr, done
        assert rows(gate.spool) == 3


class Narrow(Tracker):
    """Takes no item of a common size."""

    def hear(self, frames):
        answers = super().hear(frames)
        if bus.unpack(answers[0][0])["k"] == "welcome":
            answers[0][0] = bus.pack("welcome", instance=self.instance, max_item=8, keys=self.keys,
                                     jwks=self.number)
        return answers


def test_larger_than_the_tracker_takes():
    with left_behind(3) as gate:
        gate.neighbours.append(Narrow(gate.run))
        done = drain(gate)  # at once: patience does not help
        assert done.returncode == 75 and "than the tracker takes" in done.stderr, done
        assert rows(gate.spool) == 3


def test_sigterm_leaves_in_good_order():
    with left_behind(4) as gate:
        one = in_background(gate)
        one.start()
        assert one.stop() == 75
        assert any(gate.spool in line and "4 are left" in line for line in one.lines()), one.tail()
        tracker = gate.tracker()
        tracker.judge = lambda item: None
        one.start()
        until(lambda: len(tracker.items) >= 4, SOON_S, "nothing is sent")
        one.send(signal.SIGTERM)
        tracker.judge = lambda item: "applied"
        assert one.wait(20) in (0, 75)
        assert drain(gate).returncode == 0 and rows(gate.spool) == 0


def test_one_that_is_damaged_stays_and_is_told():
    with left_behind(3) as gate:
        with contextlib.closing(sqlite3.connect(os.path.join(gate.spool, "spool.db"))) as db:
            db.execute("UPDATE spool SET at_ms = at_ms + 1"
                       " WHERE num = (SELECT min(num) FROM spool)")
            db.commit()
        tracker = gate.tracker()
        done = drain(gate)
        assert done.returncode == 1, done
        assert "1 callbacks can't be read" in done.stderr and "2 callbacks went" in done.stderr
        assert sorted(tracker.tasks()) == [2, 3]
        assert (rows(gate.spool), rows(gate.spool, "damaged")) == (0, 1)


# ---- kills ----

def test_killed_in_the_middle():
    """What was acknowledged and is deleted does not go again; all else does, under its number."""
    with left_behind(40) as gate:
        tracker = gate.tracker()
        taken = []

        def some(item):
            if len(taken) == 15:
                return None
            taken.append(item["num"])
            return "applied"
        tracker.judge = some
        one = in_background(gate)
        one.start()
        until(lambda: rows(gate.spool) == 25, SOON_S, "it does not go on")
        one.kill9()
        gate.gone(tracker)
        again = gate.tracker(instance="T2")
        done = drain(gate)
        assert done.returncode == 0 and "25 callbacks went" in done.stderr, done
        numbers = [item["num"] for item in again.items]
        assert len(numbers) == len(set(numbers)) == 25 and not set(numbers) & set(taken)
        assert rows(gate.spool) == 0


def test_killed_before_its_first_checkpoint_it_is_still_a_spool():
    """All that says what the file is lies in its log."""
    with left_behind(2) as gate:
        with open(os.path.join(gate.spool, "spool.db"), "rb") as file:
            header = file.read(100)
        logged = os.path.getsize(os.path.join(gate.spool, "spool.db-wal")) > 0
        assert logged and header[68:72] == bytes(4), "this tests nothing any more"
        gate.tracker()
        assert drain(gate).returncode == 0
