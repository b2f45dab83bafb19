"""Files that rot, or that lost their end. The engine's log has a checksum: one flipped bit silently
drops every later commit. The tracker's own mark says so: loudly, in a new lane of the feed, and what
is open again is polled again. A row of a spool that was altered is moved aside and never believed."""
import contextlib
import os
import random
import shutil
import sqlite3
import tempfile

import pytest
from rot import rot
from support.bus import Channel
from support.house import House
from support.knocker import Knocker
from support.ledger import Ledger
from support.until import passes, until

TASKS = 60
FLIPS = int(os.environ.get("ALDABA_FLIPS", "200"))
ROT_SEED = int(os.environ.get("ALDABA_ROT_SEED", "1"))
ANSWERS_S = 3
STALE = {"callback": {"stale_after": "5s"}, "poll": {"schedule": {"give_up_after": "600s"}}}
CALM = {"callback": {"stale_after": "600s"}, "poll": {"schedule": {"give_up_after": "1200s"}}}


def flip(path, offset, bit=0):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1 << bit]))


def items_of(spool):
    """{number: item} as the engine reads a copy: pages also hold stale items, which no one reads"""
    with tempfile.TemporaryDirectory() as folder:
        copy = shutil.copytree(spool, f"{folder}/spool")
        with contextlib.closing(sqlite3.connect(f"{copy}/spool.db")) as store:
            return dict(store.execute("SELECT num, bytes FROM spool"))


def cut_tail(wal):
    os.truncate(wal, int(os.path.getsize(wal) * 0.8))


def flip_middle(wal):
    flip(wal, int(os.path.getsize(wal) * 0.8))


def feed_of(house):
    """Every event that can still be read, with gaps allowed: {task: [event]}"""
    found, position = {}, ""
    with Channel(house.run, "consume") as channel:
        while True:
            head, *items = channel.ask("fetch", after=position, limit=500, bytes=1 << 20,
                                         timeout_s=ANSWERS_S)
            for event in items:
                found.setdefault(event["task"], []).append(event)
            if head["position"] == position or (not items and head["position"] == head["head"]):
                return found
            position = head["position"]


@pytest.mark.parametrize("damage", [cut_tail, flip_middle])
def test_log_of_the_tracker(damage):
    with House(profile=STALE) as house:
        house.start()
        ids = house.submit(TASKS, fate="drop", solve=0)
        tasks = {provider_id: house.register(provider_id)["id"] for provider_id in ids}
        for provider_id in ids:
            answer = house.public.get("/callback/sandbox", id=provider_id, code=f"c-{provider_id}")
            assert answer.status == 200
        before = feed_of(house)
        assert len(before) == TASKS
        passes(1.5)  # the mark is synced once a second
        house.tracker.kill9()
        damage(f"{house.folder}/data/tracker.db-wal")
        house.tracker.start()
        said = [line for line in house.tracker.lines() if "store.behind" in line]
        assert said and "level=error" in said[0], house.tracker.tail()
        assert len(feed_of(house)) < TASKS, "nothing was damaged"
        until(lambda: len(feed_of(house)) == TASKS, 30, "tasks that were forgotten are not polled")
        after = feed_of(house)
        assert set(after) == set(tasks.values())
        again = [event for events in after.values() for event in events if event["source"] == "poll"]
        assert again and all(len(events) == 1 for events in after.values())
        old = {(event["lane"], event["seq"]) for events in before.values() for event in events}
        assert not any((event["lane"], event["seq"]) in old for event in again), "a number twice"
        assert min(e["lane"] for e in again) > max(lane for lane, _ in old), "not a new lane"
        assert house.aldaba("audit").returncode == 0


@pytest.mark.parametrize("damage", [cut_tail, flip_middle])
def test_log_that_forgets_what_is_no_result(damage):
    """Tasks that were registered and callbacks that are parked: the feed's numbers tell nothing of
    them, the mark counts them."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        for number in range(TASKS):
            house.register(str(10 ** 8 + number))
            answer = house.public.get("/callback/sandbox", id=str(2 * 10 ** 8 + number), code="c")
            assert answer.status == 200
        passes(1.5)  # the mark is synced once a second
        house.tracker.kill9()
        assert house.aldaba("fsck").returncode == 0
        damage(f"{house.folder}/data/tracker.db-wal")
        checked = house.aldaba("fsck")
        assert checked.returncode == 1 and "behind tracker.mark" in checked.stdout, checked
        house.tracker.start()
        said = [line for line in house.tracker.lines() if "store.behind" in line]
        assert said and "level=error" in said[0], house.tracker.tail()
        books = house.until_serving().books()
        facts = dict(word.partition("=")[::2] for word in said[0].split())
        assert int(facts["missing_callbacks"]) == TASKS - books["arrivals"]["received"] > 0
        assert int(facts["missing_tasks"]) == TASKS - books["tasks"]["created"] > 0
        passes(1.5)
        house.tracker.restart()
        assert not any("store.behind" in line for line in house.tracker.lines()), "again"


def test_a_flip_in_the_last_second_of_the_log():
    """The mark does not know of it yet; that good pages follow a bad one is said all the same."""
    with House(pollers=0, profile=CALM) as house:
        house.start()
        passes(1.5)
        for number in range(TASKS):
            house.register(str(10 ** 8 + number))
        house.tracker.kill9()
        wal = f"{house.folder}/data/tracker.db-wal"
        flip(wal, int(os.path.getsize(wal) * 0.9))
        house.tracker.start()
        assert any("store.log_cut" in line for line in house.tracker.lines()), house.tracker.tail()


def test_any_bit_of_a_closed_store():
    """rot.py: whatever bit is flipped, fsck finds it."""
    missed, counts = rot(FLIPS, ROT_SEED)
    assert not missed, (ROT_SEED, missed)
    assert all(counts[name] for name in ("tracker.db", "letters.db", "spool/spool.db")), counts


def test_flips_in_the_tracker_file():
    """It serves, or it refuses in one sentence; it never falls over its own file."""
    luck = random.Random(3)
    with House(pollers=0, profile=CALM) as house:
        house.start()
        knocker = Knocker(house, Ledger(), TASKS)
        while knocker.waiting:
            knocker.knock()
        house.tracker.kill9()
        house.tracker.start()  # the log is in the file now
        house.tracker.kill9()
        path = f"{house.folder}/data/tracker.db"
        shutil.copy(path, f"{path}.good")
        ends = {"serves": 0, "refuses": 0}
        for _ in range(24):
            shutil.copy(f"{path}.good", path)
            for side in ("-wal", "-shm"):
                if os.path.exists(path + side):
                    os.remove(path + side)
            for _ in range(8):
                flip(path, luck.randrange(os.path.getsize(path)), luck.randrange(8))
            house.tracker.launch()
            until(lambda: not house.tracker.alive() or any(
                line.startswith("ready") for line in house.tracker.lines()), 10, "neither")
            if house.tracker.alive():
                ends["serves"] += 1
                feed = feed_of_or_none(house)
                assert house.tracker.alive(), house.tracker.tail()
                assert feed is None or len(feed) <= TASKS
                house.tracker.kill9()
            else:
                ends["refuses"] += 1
                assert house.tracker.process.returncode == 69, house.tracker.tail()
                assert any("tracker.db" in line for line in house.tracker.lines())
        assert ends["serves"] and ends["refuses"], ends


def feed_of_or_none(house):
    try:
        return feed_of(house)
    except (AssertionError, KeyError):
        return None


def test_mark_is_junk():
    with House(pollers=0, profile=CALM) as house:
        house.start()
        knocker = Knocker(house, Ledger(), 10)
        while knocker.waiting:
            knocker.knock()
        house.tracker.kill9()
        with open(f"{house.folder}/data/tracker.mark", "r+b") as file:
            file.write(random.Random(1).randbytes(8192))
        house.tracker.start()
        house.until_serving()
        assert len(feed_of(house)) == 10


def test_flips_in_a_spool():
    luck = random.Random(4)
    with House(pollers=0, profile=CALM) as house:
        house.start()
        ledger = Ledger()
        knocker = Knocker(house, ledger, TASKS, pad=2000)
        house.tracker.kill9()
        while knocker.waiting:
            assert knocker.knock().status == 200
        for _ in range(2):  # the second start finds the log in the file
            house.gateway.kill9()
            house.gateway.start()
        house.gateway.kill9()
        path = f"{house.folder}/data/spool/spool.db"
        before = items_of(os.path.dirname(path))
        with open(path, "rb") as file:
            content = file.read()
        for provider_id in luck.sample(knocker.ids, 15):
            flip(path, content.rindex(f"knock-{provider_id}-kkk".encode()) + luck.randrange(5, 1000),
                 luck.randrange(8))
        after = items_of(os.path.dirname(path))
        hurt = sum(after[num] != before[num] for num in before)
        assert hurt >= 10, "the flips hit what is no longer part of the file"
        house.gateway.start()
        house.tracker.start()
        house.until_serving()
        until(lambda: len(house.events()) >= TASKS - hurt, 20, "the rest is not served")
        passes(0.5)
        events = house.events()
        assert len(events) == TASKS - hurt
        sent = {provider_id: f"knock-{provider_id}-{'k' * 2000}".encode() for provider_id in knocker.ids}
        assert all(event["result"] == sent[event["provider_id"]] for event in events)
        loud = [line for line in house.gateway.lines() if "damaged" in line and "level=error" in line]
        assert loud, house.gateway.tail()
