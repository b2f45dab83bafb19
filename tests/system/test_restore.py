"""`aldaba restore` and `aldaba fsck`: a backup is looked at without being touched, put back in one
step with the old folder kept, and what is wrong with files is found and named."""
import hashlib
import os
import random
import shutil
import sqlite3
import subprocess

import pytest
from support import bus
from support.house import House, binary
from support.load import Load
from support.until import passes, until
from test_backup import DATA_FILES, FATES, FILES, LETTERS, data, stop_all

SOON_S = 20


def seen(folder):
    """All that is in a folder, to the byte and to the time."""
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        with open(path, "rb") as file:
            facts = os.stat(path)
            found[name] = (file.read(), facts.st_mtime_ns, facts.st_mode)
    return found


def manifest(folder):
    """Written anew, as by somebody who means well."""
    lines = []
    for name in DATA_FILES:
        with open(os.path.join(folder, name), "rb") as file:
            lines.append(f"{hashlib.sha256(file.read()).hexdigest()}  {name}\n")
    with open(os.path.join(folder, "MANIFEST"), "w", encoding="ascii") as file:
        file.writelines(lines)


def befores(house):
    return sorted(name for name in os.listdir(house.folder) if name.startswith("data.before-"))


@pytest.fixture
def made():
    """A house with a bit of everything that was stopped, and its backup."""
    with House(pollers=0, profile={"callback": {"parked_for": "100ms"}}) as house:
        house.start()
        for number in range(5):
            task = house.register(str(number))
            assert house.public.get("/callback/sandbox", id=str(number), code="C").status == 200
            house.ended(task["id"])
        house.reserve()
        house.public.get("/callback/sandbox", id="stranger", code="X")
        until(lambda: house.dead_letters(reason="unknown_task"), SOON_S, "no letter")
        until(lambda: house.audit()["letters"]["outbox"] == 0, SOON_S, "it is on its way")
        copy = os.path.join(house.folder, "copy")
        assert house.aldaba("backup", copy).returncode == 0
        stop_all(house, "stop")
        yield house, copy


def test_example():
    """Under load: looked at while all runs, refused, put back, and life goes on."""
    with House(sandbox=FATES, settings=LETTERS) as house:
        house.start()
        copy = os.path.join(house.folder, "copy")
        with Load(house, rate=60) as load:
            until(lambda: len(load.ledger.tasks) > 60 and house.dead_letters(), SOON_S * 2,
                  "there is no load")
            assert house.aldaba("backup", copy).returncode == 0
            before = seen(copy)
            for _ in range(3):
                looked = house.aldaba("fsck")
                assert (looked.returncode, looked.stderr) == (0, ""), looked
                assert "all is whole" in looked.stdout
            verified = house.aldaba("restore", copy, "--verify")
            assert verified.returncode == 0 and "nothing was changed" in verified.stdout, verified
            assert f"{data(house)} has something in it" in verified.stdout
            alive = house.aldaba("restore", copy, "--yes")
            assert alive.returncode == 69 and "Stop the tracker" in alive.stderr, alive
            passes(1)
        known = {event["task"] for event in house.events()}
        stop_all(house, "kill")
        assert house.aldaba("fsck").returncode == 0, "a kill damages nothing"
        old = sorted(os.listdir(data(house)))
        asked = house.aldaba("restore", copy)
        assert asked.returncode == 1 and "--yes" in asked.stderr and not befores(house)
        restored = house.aldaba("restore", copy, "--yes")
        assert restored.returncode == 0, restored
        (aside,) = befores(house)
        assert aside in restored.stderr and "spool drain" in restored.stderr
        assert sorted(os.listdir(os.path.join(house.folder, aside))) == old
        assert sorted(os.listdir(data(house))) == sorted(DATA_FILES)
        assert seen(copy) == before, "a backup stays as it was made"
        house.start_daemons()
        after = house.events()
        assert after and {event["lane"] for event in after} == {after[0]["lane"]} != {0}
        assert {event["task"] for event in after} <= known | {event["task"] for event in after}
        until(lambda: house.aldaba("audit").returncode == 0, SOON_S,
              lambda: house.aldaba("audit").stdout)
        assert house.aldaba("fsck").returncode == 0


@pytest.mark.parametrize("place", ["absent", "empty"])
def test_into_an_empty_place(made, place):
    house, copy = made
    shutil.rmtree(data(house))
    if place == "empty":
        os.mkdir(data(house), 0o750)
    done = house.aldaba("restore", copy)
    assert done.returncode == 0 and not befores(house), done
    assert {name: bytes_ for name, (bytes_, *_) in seen(data(house)).items()} == \
        {name: bytes_ for name, (bytes_, *_) in seen(copy).items() if name != "MANIFEST"}
    assert os.stat(data(house)).st_mode & 0o777 == 0o700
    house.start_daemons()
    assert house.aldaba("audit").returncode == 0


def test_behind_a_link(made):
    """The folder is changed, on its own disk; the link stays."""
    house, copy = made
    real = os.path.join(house.folder, "elsewhere")
    os.rename(data(house), real)
    os.symlink(real, data(house))
    done = house.aldaba("restore", copy, "--yes")
    assert done.returncode == 0 and os.path.islink(data(house)), done
    assert sorted(os.listdir(real)) == sorted(DATA_FILES)
    assert [name for name in os.listdir(house.folder) if name.startswith("elsewhere.before-")]


def test_a_folder_of_somebody_else_is_left_alone(made):
    house, copy = made
    shutil.rmtree(data(house))
    os.mkdir(data(house))
    with open(os.path.join(data(house), "thesis.tex"), "w", encoding="ascii") as file:
        file.write("x")
    done = house.aldaba("restore", copy, "--yes")
    assert done.returncode == 1 and "is store.data right?" in done.stderr, done
    assert os.listdir(data(house)) == ["thesis.tex"] and not befores(house)


def damage(copy, what):
    path = os.path.join(copy, what)
    with open(path, "r+b") as file:
        size = file.seek(0, os.SEEK_END)
        file.seek(size // 2)
        byte = file.read(1)
        file.seek(size // 2)
        file.write(bytes([byte[0] ^ 4]))


@pytest.mark.parametrize("name", ["tracker.db", "letters.db", "callback.key"])
def test_a_file_that_is_another(made, name):
    house, copy = made
    old = seen_names(data(house))
    damage(copy, name)
    for words in (("--verify",), ("--yes",)):
        done = house.aldaba("restore", copy, *words)
        assert done.returncode == 1 and f"{name} is not the file that was backed up" in done.stdout
        assert "take another one" in done.stderr
    assert seen_names(data(house)) == old and not befores(house)


def seen_names(folder):
    return sorted(os.listdir(folder))


def test_a_backup_that_is_none(made):
    house, copy = made
    os.rename(os.path.join(copy, "MANIFEST"), os.path.join(copy, "M"))
    done = house.aldaba("restore", copy, "--verify")
    assert done.returncode == 1 and "no backup, or one that was not finished" in done.stdout, done
    nothing = house.aldaba("restore", os.path.join(house.folder, "nothing"), "--verify")
    assert nothing.returncode == 69 and "'aldaba backup'" in nothing.stderr, nothing


def altered(copy, name, sql):
    """A file that somebody changed, under a manifest that agrees."""
    with sqlite3.connect(os.path.join(copy, name)) as db:
        db.execute(sql)
    db.close()
    for end in ("-wal", "-shm"):
        if os.path.exists(os.path.join(copy, name + end)):
            os.unlink(os.path.join(copy, name + end))
    manifest(copy)


@pytest.mark.parametrize("name, sql, says", [
    ("tracker.db", "UPDATE books SET value = value + 1 WHERE name = 'tasks.created'",
     "tasks.created: the books say 7, there are 6 rows"),
    ("tracker.db", "DELETE FROM results WHERE seq = 2", "results.callback: the books say 5"),
    ("tracker.db", "DELETE FROM outbox", None),
    ("letters.db", "UPDATE letters SET live = 0, state = 'dropped'",
     "lies neither in its outbox nor in letters.db"),
    ("letters.db", "UPDATE originals SET bytes = x'00'", "is not as it came"),
    ("letters.db", "UPDATE tallies SET count = count + 1 WHERE count > 0", "are counted as"),
    ("letters.db", "DELETE FROM letters", "lies neither in its outbox nor in letters.db")])
def test_what_is_altered_is_found(made, name, sql, says):
    house, copy = made
    altered(copy, name, sql)
    done = house.aldaba("restore", copy, "--verify")
    if says is None:  # nothing was on its way: all that is wrong is that another hand wrote pages
        wrong = [line for line in done.stdout.splitlines() if line.startswith("problem")]
        assert all("is not as it was written" in line for line in wrong), done
    else:
        assert done.returncode == 1 and says in done.stdout, done


def test_a_key_of_somebody_else(made):
    house, copy = made
    path = os.path.join(copy, "callback.key")
    os.unlink(path)
    assert house.aldaba("keys", "new", "callback", path).returncode == 0
    manifest(copy)
    done = house.aldaba("restore", copy, "--verify")
    assert done.returncode == 1 and "callback URLs given out" in done.stdout, done
    os.chmod(path, 0o644)
    assert "chmod 600" in house.aldaba("restore", copy, "--verify").stdout


def test_a_newer_one_is_refused(made):
    house, copy = made
    altered(copy, "tracker.db", "UPDATE meta SET version = 999, min_reader = 999")
    done = house.aldaba("restore", copy, "--verify")
    assert done.returncode == 69 and "newer program" in done.stderr, done


def test_killed_again_and_again(made):
    """Whenever it is killed, the folder is the old one or the new one; the last run ends it."""
    house, copy = made
    old = {name: bytes_ for name, (bytes_, *_) in files_of(data(house)).items()}
    new = {name: bytes_ for name, (bytes_, *_) in files_of(copy).items() if name != "MANIFEST"}
    dice = random.Random(7)
    for _ in range(12):
        process = subprocess.Popen(
            [binary("aldaba"), "--config", house.config_path(""), "restore", copy, "--yes", "-q"],
            env={**os.environ, **house.env()}, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        try:
            process.wait(dice.uniform(0.001, 0.08))
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()
        now = {name: bytes_ for name, (bytes_, *_) in files_of(data(house)).items()}
        assert {name: now.get(name) for name in DATA_FILES} in \
            ({name: old.get(name) for name in DATA_FILES}, new)
    assert house.aldaba("restore", copy, "--yes").returncode == 0
    assert house.aldaba("fsck").returncode == 0
    assert not [name for name in os.listdir(house.folder) if name.endswith(".restoring")]
    kept = [{name: bytes_ for name, (bytes_, *_) in files_of(os.path.join(house.folder, aside)).items()}
            for aside in befores(house)]
    assert old in kept, "what was there first is there still"
    house.start_daemons()
    with bus.Channel(house.run, "query") as channel:
        assert channel.ask("status")[0]["rc"] == "ok"


def files_of(folder):
    found = {}
    for name in sorted(os.listdir(folder)):
        path = os.path.join(folder, name)
        if os.path.isfile(path) and name in DATA_FILES:
            with open(path, "rb") as file:
                found[name] = (file.read(),)
    return found


# ---- fsck ----

def test_fsck_finds_what_is_wrong(made):
    house, _ = made
    assert house.aldaba("fsck").returncode == 0
    os.rename(os.path.join(data(house), "callback.key"), os.path.join(house.folder, "key"))
    done = house.aldaba("fsck")
    assert done.returncode == 1 and "callback.key is not in" in done.stdout, done
    assert "put back the last backup" in done.stderr
    os.rename(os.path.join(house.folder, "key"), os.path.join(data(house), "callback.key"))
    with sqlite3.connect(os.path.join(data(house), "letters.db")) as db:
        db.execute("DELETE FROM letters")
    db.close()
    done = house.aldaba("fsck", "--json")
    assert done.returncode == 1 and '{"whole":false}' in done.stdout, done
    assert "neither in its outbox" in done.stdout
    damage(data(house), "tracker.db")
    done = house.aldaba("fsck")
    wrong = [line for line in done.stdout.splitlines() if line.startswith("problem")]
    assert done.returncode == 1 and any("tracker" in line for line in wrong), done
    assert "callback.key" not in done.stdout, "what was not looked at is not told of"
    os.unlink(os.path.join(data(house), "tracker.db"))
    done = house.aldaba("fsck")
    assert done.returncode == 69 and "There is no store" in done.stderr, done


def test_fsck_tells_what_waits_in_the_spool():
    with House(pollers=0) as house:
        house.start()
        url = house.reserve()["callback_url"]
        house.tracker.kill9()
        assert house.public.get("/" + url.split("/", 3)[3], id="1", code="A").status == 200
        until(lambda: "callbacks that wait: 1" in house.aldaba("fsck").stdout, SOON_S, "not spooled")
        assert house.aldaba("fsck").returncode == 0


@pytest.mark.parametrize("service", ["tracker", "dlq"])
def test_a_daemon_looks_at_its_own(made, service):
    """Without settings, and by itself."""
    house, copy = made
    done = subprocess.run([binary(f"aldaba-{service}"), "--verify", copy], capture_output=True,
                          text=True, timeout=SOON_S, check=False)
    assert (done.returncode, done.stderr) == (0, ""), done
    assert all(line.split()[0] in ("fact", "letter", "note") for line in done.stdout.splitlines())
    nothing = subprocess.run([binary(f"aldaba-{service}"), "--verify", house.run],
                             capture_output=True, text=True, timeout=SOON_S, check=False)
    assert nothing.returncode == 69 and nothing.stderr.startswith(f"aldaba-{service}: ")
    assert sorted(os.listdir(copy)) == FILES
