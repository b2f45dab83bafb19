"""A spool's numbering that is used by another one as well: new callbacks must not be taken for its repeats, answered and
thrown away. Each callback here is of a task of its own, so one that is lost leaves its task open."""
import os
import shutil

import pytest
from support.daemon import Daemon
from support.house import House, binary
from support.http import Client
from support.settings import free_port
from support.until import until

SOON_S = 20
COUNT = 20
CALM = {"callback": {"trust": "id", "stale_after": "200s"}, "poll": {"schedule": {"give_up_after": "300s"}}}


@pytest.fixture(name="house")
def a_house():
    with House(profile=CALM) as one:
        yield one.start()


def call(house, word, *doors):
    """Callbacks of so many new tasks, by turns at the doors; the tasks."""
    doors = doors or (house.public,)
    tasks = []
    for i in range(COUNT):
        tasks.append(house.register(f"{word}{i}")["id"])
        assert doors[i % len(doors)].post_form("/callback/sandbox", id=f"{word}{i}", code=word).status == 200
    return tasks


def none_is_lost(house, tasks):
    for task in tasks:
        assert house.ended(task)["source"] == "callback"
    until(lambda: house.aldaba("audit").returncode == 0, SOON_S, lambda: house.aldaba("audit").stdout)


def said(daemon, word):
    return [line for line in daemon.lines() if f" ev={word} " in line]


def spool_of(house):
    return os.path.join(house.folder, "data", "spool")


def set_back(house):
    house.gateway.stop()
    kept = spool_of(house) + ".kept"
    shutil.copytree(spool_of(house), kept)
    house.gateway.start()
    house.until_serving()
    before = call(house, "between")
    house.gateway.stop()
    shutil.rmtree(spool_of(house))
    os.rename(kept, spool_of(house))
    return before


def one_bit_of_its_log(house):
    house.gateway.restart()
    house.until_serving()
    before = call(house, "between")
    house.gateway.kill9()
    with open(os.path.join(spool_of(house), "spool.db-wal"), "r+b") as log:
        log.seek(100)
        byte = log.read(1)[0]
        log.seek(100)
        log.write(bytes([byte ^ 1]))
    return before


@pytest.mark.parametrize("away", [False, True], ids=["live", "spooled"])
@pytest.mark.parametrize("how", [set_back, one_bit_of_its_log])
def test_an_older_numbering(house, how, away):
    before = how(house)
    if away:
        house.tracker.stop()
        house.gateway.launch().until_ready(SOON_S)
        for i in range(COUNT):
            assert house.public.post_form("/callback/sandbox", id=f"after{i}", code="after").status == 200
        house.tracker.start()
        house.until_serving()
        tasks = [house.register(f"after{i}")["id"] for i in range(COUNT)]
    else:
        house.gateway.start()
        house.until_serving()
        tasks = call(house, "after")
    none_is_lost(house, before + tasks)
    assert len(said(house.gateway, "spool.renumbered")) == 1
    house.gateway.restart()
    house.until_serving()
    none_is_lost(house, call(house, "later"))
    assert not said(house.gateway, "spool.renumbered")  # the new id is on disk


def test_two_live_by_one_spool(house):
    house.gateway.stop()
    shutil.copytree(spool_of(house), os.path.join(house.folder, "data", "spool-two"))
    house.gateway.start()
    house.until_serving()
    door = free_port()
    two = Daemon("two", [binary("aldaba-gateway"), "--config", house.config_path("gateway"), "--set",
                         "gateway.name=two", "--set", f"gateway.public=127.0.0.1:{door}", "--set",
                         f"gateway.private=127.0.0.1:{free_port()}"], house.folder, house.env())
    try:
        two.start()
        none_is_lost(house, call(house, "both", house.public, Client(door)))
        until(lambda: said(house.tracker, "events.copied"), SOON_S, "the tracker has not noticed")
        assert len(said(house.gateway, "spool.renumbered")) == 1 and len(said(two, "spool.renumbered")) <= 1
    finally:
        two.clean()


def test_starts_change_no_id(house):
    for _ in range(3):
        house.gateway.restart()
        house.until_serving()
        none_is_lost(house, call(house, "again"))
        house.tracker.restart()
        house.until_serving()
        assert not said(house.gateway, "spool.renumbered")
