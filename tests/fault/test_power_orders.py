"""Power loss in every order (power.py). A record of a house at work, and some twenty thousand disks
that a cut in it may have left: nothing that was acknowledged is missing on any of them, the books
balance, marks are never ahead of their stores. Some are given to the real programs. And the replayer
finds what it should: a disk that lies about files or about folders, and an engine that syncs less."""
import contextlib
import os
import re
import shutil
import sqlite3
import tempfile

import pytest
from power import CALM, build, key, record, replay, replay_parts, token
from support.house import House

SEED = int(os.environ.get("ALDABA_POWER_SEED", "1"))
STATES = int(os.environ.get("ALDABA_POWER_STATES", "20000"))
KEPT = 3
TEXTS = {
    "tracker.db": ("SELECT result FROM results", "SELECT message FROM arrivals",
                   "SELECT message FROM outbox", "SELECT task_key FROM tasks"),
    "letters.db": ("SELECT bytes FROM originals",),
    "spool/spool.db": ("SELECT bytes FROM spool",),
}


@pytest.fixture(scope="module", name="tools")
def made_tools():
    with tempfile.TemporaryDirectory() as folder:
        yield build(folder)


@pytest.fixture(scope="module", name="life")
def recorded_life(tools):
    """The folder of a record that is as it should be."""
    with tempfile.TemporaryDirectory() as folder:
        record(folder, tools[0], SEED, 800, wait_us=300)
        yield folder


def tokens_of(data):
    """The numbers of all whole tokens in the stores of this folder."""
    found = set()
    for name, queries in TEXTS.items():
        if not os.path.exists(f"{data}/{name}"):
            continue
        with contextlib.closing(sqlite3.connect(f"{data}/{name}")) as store:
            for query in queries:
                for (value,) in store.execute(query):
                    text = value if isinstance(value, bytes) else str(value or "").encode()
                    for number in {int(n) for n in re.findall(rb"k(\d+)-", text)}:
                        if token(number).encode() in text or key(number).encode() in text:
                            found.add(number)
    return found


def test_every_cut(tools, life):
    for code, facts, said in replay_parts(life, tools[1], SEED, STATES):
        assert code == 0, said
        assert int(facts["acknowledged"]) > 800, said
        assert int(facts["states"]) >= STATES * 0.45, said
        assert int(facts["unsynced"]) > int(facts["states"]) * 0.5, f"nothing was at stake: {said}"


def test_the_programs_start_on_such_disks(tools, life):
    with tempfile.TemporaryDirectory() as kept:
        code, _, said = replay(life, tools[1], SEED + 7, KEPT * 4, "--keep", kept, "--kept", KEPT)
        assert code == 0, said
        for number in range(KEPT):
            with House(pollers=0, profile=CALM) as house:
                house.sandbox.start()
                house.provider = house.public  # it is not asked
                house.write_settings()
                data = f"{house.folder}/data"
                os.rmdir(data)
                shutil.copytree(f"{kept}/{number}", data)
                checked = house.aldaba("fsck")
                assert checked.returncode == 0, (number, checked.stdout, checked.stderr)
                house.start_daemons()
                assert house.aldaba("audit", "--deep").returncode == 0
                for name in ("gateway", "tracker", "dlq"):
                    daemon = house.daemons[name]
                    assert not any("store.behind" in line for line in daemon.lines()), daemon.tail()
                    assert daemon.stop() == 0, daemon.tail()
                with open(f"{kept}/{number}.said", encoding="ascii") as file:
                    owed = {int(line) for line in file}
                assert owed, "nothing was acknowledged before this cut"
                lost = owed - tokens_of(data)
                assert not lost, f"state {number}: {len(lost)} of {len(owed)} lost: {sorted(lost)[:5]}"


@pytest.mark.parametrize("whose, states", [("files", 60), ("folders", 600)])
def test_a_disk_that_lies_is_found(tools, life, whose, states):
    code, facts, said = replay(life, tools[1], SEED, states, "--ignore", whose)
    assert code == 1 and int(facts["bad"]) > states * 0.2, said
    assert "acknowledged are lost" in said or "has a log" in said


def test_an_engine_that_syncs_less_is_found(tools):
    """synchronous=NORMAL: the log is synced before it is copied, and not at each commit."""
    with tempfile.TemporaryDirectory() as folder:
        record(folder, tools[0], SEED, 120, wait_us=0, broken="normal")
        code, facts, said = replay(folder, tools[1], SEED, 1000)
    assert code == 1 and int(facts["bad"]) > 100, said
    assert "acknowledged are lost" in said
