"""A backup made under load, everything wiped, and the backup put back: nothing of before it is lost,
nothing comes twice, and no number is given twice."""
import base64
import collections
import os
import shutil
import stat
import subprocess
import threading

import pytest
from support import bus
from support.disk import SmallDisk, may_mount
from support.house import ENDED, House, binary
from support.http import status_of
from support.load import Load
from support.until import passes, until

FATES = ("--fates", "ok=60,drop=15,double=10,conflict=15", "--solve", "0.3")
DATA_FILES = ["callback.key", "letters.db", "tracker.db"]
FILES = ["MANIFEST", *DATA_FILES]
LETTERS = {"dlq": {"first_after": "100ms", "factor": "100%", "max_after": "200ms", "tick": "20ms"}}
SOON_S = 20
LEASE_S = 10
DIES_S = 15  # the longest that a daemon's death may hold up the others
OTHER = "01ARZ3NDEKTSV4RRFFQ69G5FAW"


def data(house):
    return os.path.join(house.folder, "data")


def stop_all(house, end):
    for daemon in reversed(house.daemons.values()):
        if end == "kill":
            daemon.kill9()
        else:
            daemon.stop(30)


def restore(house, copy):
    """What README.md says."""
    shutil.rmtree(data(house))
    subprocess.run(["sha256sum", "--quiet", "-c", "MANIFEST"], cwd=copy, check=True)
    subprocess.run(["mkdir", "-m", "700", data(house)], check=True)
    subprocess.run(["cp", "-p", *(os.path.join(copy, name) for name in FILES), data(house)],
                   check=True)


def path_of(url):
    return "/" + url.split("/", 3)[3]


class Strangers:
    """Letters come, are tried again and are dropped, all the time."""

    def __init__(self, house):
        self.house = house
        self.ending = threading.Event()
        self.thread = threading.Thread(target=self.run, daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.ending.set()
        self.thread.join()

    def run(self):
        number = 0
        while not self.ending.wait(0.02):
            number += 1
            self.house.public.get("/callback", id=f"77{number:07}", code="STRANGE")
            if number % 5 == 0:
                page = self.house.get("/v1/dead-letters", limit=2, reason="unknown_task")
                for letter in page["letters"]:
                    self.house.private.request("DELETE", f"/v1/dead-letters/{letter['id']}", b"", {})


def facts(event):
    return tuple(event.get(key, "") for key in ("task", "provider_id", "state", "source", "result"))


@pytest.mark.parametrize("end", ["stop", "kill"])
def test_example(end):
    with House(sandbox=FATES, settings=LETTERS, profile={"callback": {"parked_for": "1s"}}) as house:
        house.start()
        reserved = [house.reserve() for _ in range(5)]
        copy = os.path.join(house.folder, "copy")
        with Load(house, rate=80) as load, Strangers(house):
            until(lambda: len(load.ledger.tasks) > 100 and len(house.events()) > 50 and
                  house.dead_letters(reason="conflict"), SOON_S * 2, "there is no load")
            known = dict(load.ledger.tasks)
            before = list(house.events())
            open_letters = {letter["id"] for letter in house.dead_letters(reason="conflict")}
            made = house.aldaba("backup", copy)
            assert made.returncode == 0, made.stdout + made.stderr
            passes(1)
        last = house.events()[-1]
        assert last["lane"] == 0 and last["seq"] >= len(before)
        stop_all(house, end)
        assert sorted(os.listdir(copy)) == FILES
        assert {stat.S_IMODE(os.stat(os.path.join(copy, name)).st_mode) for name in FILES} == {0o600}
        restore(house, copy)
        house.start_daemons()

        # Callback URLs that were given out are good still.
        for number, task in enumerate(reserved):
            answer = house.public.get(path_of(task["callback_url"]), id=f"9{number}", code=f"r{number}")
            assert answer.status == 200, answer
        # All that was known ends, once, and what had ended is as it was.
        until(lambda: all(house.task(task)["state"] in ENDED for task in known.values()), 60,
              "a task goes on")
        until(lambda: house.books()["tasks"].get("open", 0) == 0, 60, "a task goes on")
        after = house.events()
        counts = collections.Counter(event["task"] for event in after)
        assert set(counts.values()) == {1}, counts.most_common(3)
        assert {facts(event) for event in before} <= {facts(event) for event in after}
        assert {task["id"] for task in reserved} | set(known.values()) <= {*map(str, counts)}
        assert open_letters <= {letter["id"] for letter in house.dead_letters(reason="conflict")}
        # Numbers: another lane, and in it they go on; an old position is told that it has a gap.
        assert {event["lane"] for event in after} == {after[0]["lane"]} and after[0]["lane"] > 0
        with bus.Channel(house.run, "consume") as channel:
            head, *items = channel.ask("fetch", after=f"0:{last['seq']}")
            assert (head["rc"], head["gap"], items[0]["seq"]) == ("ok", True, 1)
        until(lambda: house.aldaba("audit").returncode == 0, SOON_S,
              lambda: house.aldaba("audit").stdout)
        assert house.aldaba("audit", "--deep").returncode == 0


def test_a_second_restore_begins_another_lane():
    """Of one backup: what the first one's life has told must not be told again as something else."""
    with House(pollers=0) as house:
        house.start()
        copy = os.path.join(house.folder, "copy")

        def ended(provider_id):
            task = house.register(provider_id)
            assert house.public.get("/callback", id=provider_id, code="C").status == 200
            house.ended(task["id"])
            event = house.events()[-1]
            return event["lane"], event["seq"]

        numbers = [ended("1")]
        assert house.aldaba("backup", copy).returncode == 0
        numbers.append(ended("2"))
        for provider_id in ("3", "4"):
            stop_all(house, "kill")
            restore(house, copy)
            house.start_daemons()
            numbers.append(ended(provider_id))
        assert len(set(numbers)) == len({lane for lane, _ in numbers}) + 1 == 4, numbers


def test_a_backup_is_whole_or_is_not():
    with House(pollers=0) as house:
        house.start()
        copy = os.path.join(house.folder, "copy")
        house.dlq.stop()
        refused = house.aldaba("backup", copy)
        assert (refused.returncode != 0, "dlq" in refused.stderr) == (True, True), refused
        assert not os.path.exists(copy) and not os.path.exists(copy + ".partial")
        house.dlq.start()
        until(lambda: house.aldaba("health", "dlq").returncode == 0, SOON_S, "no dlq")
        assert house.aldaba("backup", copy).returncode == 0
        again = house.aldaba("backup", copy)
        assert (again.returncode != 0, "not empty" in again.stderr) == (True, True), again
        unmounted = os.path.join(house.folder, "disk", "copy")
        nowhere = house.aldaba("backup", unmounted)
        assert nowhere.returncode != 0 and "No such file" in nowhere.stderr, nowhere
        assert not os.path.exists(os.path.dirname(unmounted)), "it may be a disk's, not mounted"
        os.mkdir(copy + "2.partial")
        broken = house.aldaba("backup", copy + "2")
        assert (broken.returncode != 0, "partial" in broken.stderr) == (True, True), broken


def held(house):
    """Does the dlq hold for a backup?"""
    with bus.Channel(house.run, "letters") as channel:
        head, *_ = channel.ask("letter.drop", letter=OTHER)
    assert head["rc"] in ("busy", "notfound"), head
    return head["rc"] == "busy"


class Backup:
    """`aldaba backup`, stuck in the tracker's half: the tracker stands still."""

    def __init__(self, house, copy):
        self.house = house
        self.copy = copy

    def __enter__(self):
        self.house.tracker.pause()
        self.process = subprocess.Popen(
            [binary("aldaba"), "--config", self.house.config_path(""), "backup", self.copy],
            env={**os.environ, **self.house.env()}, stderr=subprocess.PIPE, text=True)
        until(lambda: held(self.house), SOON_S, "the letters are not held")
        return self

    def made(self):
        _, said = self.process.communicate(timeout=SOON_S)
        assert self.process.returncode == 0 and sorted(os.listdir(self.copy)) == FILES, said

    def failed(self, may_be_made=False):
        """It ends soon, with a failure, and leaves nothing. Returns what it says. None: it was made, whole."""
        _, said = self.process.communicate(timeout=DIES_S)
        if may_be_made and self.process.returncode == 0:
            assert sorted(os.listdir(self.copy)) == FILES, said
            return None
        assert self.process.returncode > 0, said
        assert not os.path.exists(self.copy) and not os.path.exists(self.copy + ".partial"), said
        return said

    def __exit__(self, *_):
        self.process.kill()
        self.process.wait()
        self.process.stderr.close()


def test_a_slow_backup_holds_to_its_end():
    """The tracker takes longer than the hold is given for at once."""
    with House(pollers=0, settings={"bus": {"heartbeat": "10s"}}) as house:
        house.start()
        with Backup(house, os.path.join(house.folder, "copy")) as backup:
            passes(LEASE_S + 1)
            assert held(house)
            house.tracker.resume()
            backup.made()
            assert not held(house)


def test_the_dlq_is_started_again_under_a_backup():
    """Its hold is gone with it. That it holds for another backup makes this one no better."""
    with House(pollers=0) as house:
        house.start()
        with Backup(house, os.path.join(house.folder, "copy")) as backup:
            house.dlq.restart()
            with bus.Channel(house.run, "letters") as letters:
                other = {"dir": os.path.join(house.folder, "other"), "hold": OTHER}
                assert letters.ask("backup", hold_ms=60000, **other)[0]["rc"] == "ok"
                house.tracker.resume()
                assert "not held" in backup.failed()
                assert held(house)
                assert letters.ask("backup", release=True, **other)[0]["rc"] == "ok"
        again = house.aldaba("backup", os.path.join(house.folder, "again"))
        assert again.returncode == 0, again


@pytest.mark.parametrize("end", ["kill", "restart"])
def test_the_tracker_dies_under_a_backup(end):
    with House(pollers=0) as house:
        house.start()
        with Backup(house, os.path.join(house.folder, "copy")) as backup:
            house.tracker.kill9()
            if end == "restart":
                house.tracker.start()
            # One that is there again may be the first to be asked: letters are held before it is.
            said = backup.failed(may_be_made=end == "restart")
            assert said is None or "tracker" in said, said
            assert not held(house)


def test_the_gateway_dies_under_a_backup():
    with House(pollers=0) as house:
        house.start()
        with Backup(house, os.path.join(house.folder, "copy")):
            house.gateway.kill9()
            until(lambda: not held(house), DIES_S, "the letters are held for nobody")


@pytest.mark.skipif(not may_mount(), reason="needs root to mount a small tmpfs")
def test_a_full_disk_is_told():
    with House(pollers=0) as house, SmallDisk(f"{house.folder}/small", 1024) as disk:
        house.start()
        disk.fill()
        full = house.aldaba("backup", f"{disk.path}/copy")
        assert (full.returncode > 0, "full" in full.stderr) == (True, True), full
        assert os.listdir(disk.path) == ["ballast"] and not held(house)


def test_an_altered_key_is_refused():
    with House(pollers=0) as house:
        house.start()
        url = house.reserve()["callback_url"]
        path = os.path.join(data(house), "callback.key")
        house.tracker.stop()
        with open(path, "r+b") as file:
            key = file.read()
            file.seek(20)
            file.write(bytes([key[20] ^ 4]))
        assert house.tracker.launch().wait() == 69
        (line,) = [line for line in house.tracker.lines() if line.startswith("aldaba-tracker: ")]
        assert path in line and "altered" in line, line
        with open(path, "r+b") as file:
            file.write(key)
        house.tracker.start()
        assert status_of(house.public.raw(
            f"GET {path_of(url)}?id=1&code=A HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n"
            .encode())) == 200


def test_a_key_is_changed_on_purpose():
    """As README says: a new one in front of the old one, whose URLs stay genuine."""
    with House(pollers=0) as house:
        house.start()
        path = os.path.join(data(house), "callback.key")
        urls = [house.reserve()["callback_url"]]
        with open(path, "rb") as file:
            old = file.read()
        new = old
        while new[0] == old[0]:  # one of 256 has the same number, which is refused
            made = os.path.join(house.folder, f"new-{len(urls)}-{os.urandom(4).hex()}")
            assert house.aldaba("keys", "new", "callback", made).returncode == 0
            with open(made, "rb") as file:
                new = file.read()
        with open(path, "wb") as file:
            file.write(new + old)
        house.tracker.restart()
        house.until_serving()
        urls.append(house.reserve()["callback_url"])
        assert token_key(urls[1]) == new[0]
        for url in urls:
            assert house.public.get(f"{path_of(url)}?id=1&code=A").status == 200
        with open(path, "wb") as file:
            file.write(old + old)
        house.tracker.stop()
        assert house.tracker.launch().wait() == 69
        assert any("make the new one again" in line for line in house.tracker.lines())


def token_key(url):
    """The number of the key that signed."""
    return base64.urlsafe_b64decode(url.rsplit("/", 1)[1] + "==")[0]


@pytest.mark.parametrize("service, name", [
    ("tracker", "tracker.db"), ("tracker", "tracker.db.lock"), ("tracker", "tracker.mark"),
    ("tracker", "callback.key"), ("dlq", "letters.db"), ("dlq", "letters.db.mark"),
    ("gateway", "spool/spool.db"), ("gateway", "spool/spool.db.lock")])
def test_a_pipe_in_place_of_a_file(service, name):
    """Opening one waits for its other end, in silence and for ever."""
    with House(pollers=0) as house:
        house.start_sandbox()
        house.write_settings()
        path = os.path.join(data(house), name)
        os.makedirs(os.path.dirname(path), exist_ok=True)
        os.mkfifo(path, 0o600)
        daemon = house.daemons[service]
        assert daemon.launch().wait(SOON_S) == 69
        (line,) = [line for line in daemon.lines() if line.startswith(f"aldaba-{service}: ")]
        assert path in line and "named pipe" in line, line
