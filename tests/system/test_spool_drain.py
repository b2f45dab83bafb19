"""A gateway is scaled in, or its host dies, and what it had acknowledged comes in by
`aldaba spool drain` while another one serves."""
import contextlib
import os
import shutil
import sqlite3
import subprocess
from concurrent.futures import ThreadPoolExecutor

from support.daemon import Daemon
from support.house import House, binary
from support.seen import arrivals, demand_audit, knock, more, only_event
from support.until import until
from test_jwks import second_gateway

SOON_S = 15
CALM = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}
THREADS = 8
COUNT = 900  # less than a network may leave of what nobody vouches for, and so in bytes
LONG = "e" * 5000  # so that they go out in many rounds


def fresh(house):
    return house.submit(1, fate="drop", solve=600)[0]


def spool(house):
    return os.path.join(house.folder, "spool2")


def rows(house):
    where = f"file:{spool(house)}/spool.db?mode=ro"
    with contextlib.closing(sqlite3.connect(where, uri=True)) as db:
        return db.execute("SELECT count(*) FROM spool").fetchone()[0]


def drain_command(house):
    env = {**os.environ, **house.env()}
    return [binary("aldaba"), "--config", house.config_path(""), "spool", "drain", spool(house)], env


def drain(house):
    argv, env = drain_command(house)
    return subprocess.run(argv, env=env, cwd=house.folder, capture_output=True, text=True,
                          timeout=60, check=False)


def leave(house, client, provider_ids, code):
    """The tracker is away; so many callbacks are acknowledged at the second gateway, which dies."""
    house.tracker.kill9()

    def one(provider_id):
        answer = client.get("/callback/sandbox", id=provider_id, code=code)
        assert (answer.status, answer.text) == (200, "OK")
    with ThreadPoolExecutor(THREADS) as pool:
        list(pool.map(one, provider_ids))
    house.second.kill9()
    assert rows(house) == len(provider_ids)
    house.tracker.start()
    house.until_serving()


def test_rule_20_the_spool_of_a_gateway_that_is_gone_is_adopted():
    with House(profile=CALM) as house:
        house.start()
        client = second_gateway(house)
        provider_ids = [fresh(house) for _ in range(12)]
        tasks = [house.register(provider_id)["id"] for provider_id in provider_ids]
        before = arrivals(house)
        leave(house, client, provider_ids, "from the spool")
        refused = subprocess.run([*drain_command(house)[0][:-1],
                                  os.path.join(house.folder, "data", "spool")],
                                 env=drain_command(house)[1], capture_output=True, text=True,
                                 timeout=60, check=False)
        assert refused.returncode == 69 and "A gateway has this spool" in refused.stderr, refused
        knock(house, provider_ids[0], "from the spool")  # the provider calls twice, and here
        extra = fresh(house)
        house.register(extra)
        done = drain(house)
        assert done.returncode == 0 and "12 callbacks went" in done.stderr, done
        knock(house, extra, "at the door")
        for task_id in tasks:
            assert only_event(house, task_id)["result"] == b"from the spool"
        until(lambda: more(arrivals(house), before).get("received") == 14, SOON_S,
              lambda: str(more(arrivals(house), before)))
        assert more(arrivals(house), before) == {"received": 14, "applied": 13, "duplicate": 1}
        assert rows(house) == 0
        assert drain(house).returncode == 0, "again, for nothing"
        assert more(arrivals(house), before)["received"] == 14
        demand_audit(house)
        assert house.get("/v1/status")["spool"]["items"] == 0


def leave_many(house, client):
    """Callbacks of tasks that nobody has registered yet; and the arrivals before them."""
    before = arrivals(house)
    leave(house, client, [f"nobodys-{n}" for n in range(COUNT)], LONG)
    return before


def demand_each_once(house, before):
    assert rows(house) == 0
    until(lambda: more(arrivals(house), before).get("received", 0) >= COUNT, SOON_S,
          lambda: str(more(arrivals(house), before)))
    demand_audit(house)
    assert more(arrivals(house), before) == {"received": COUNT, "parked": COUNT}


def test_killed_again_and_again_each_is_counted_once():
    with House(profile=CALM) as house:
        house.start()
        before = leave_many(house, second_gateway(house))
        argv, env = drain_command(house)
        one = Daemon("drain", argv, house.folder, env)
        middle = 0
        while middle < 4 and rows(house) > 0:
            left = rows(house)
            one.launch()
            while rows(house) == left and one.alive():
                pass
            one.kill9()
            middle += 0 < rows(house) < left
        assert middle > 0, "no kill fell into the work"
        done = drain(house)
        assert done.returncode == 0, done
        demand_each_once(house, before)


def test_the_tracker_dies_meanwhile():
    with House(profile=CALM) as house:
        house.start()
        before = leave_many(house, second_gateway(house))
        argv, env = drain_command(house)
        one = Daemon("drain", argv, house.folder, env).launch()
        middle = 0
        for _ in range(3):
            left = rows(house)
            while rows(house) == left and one.alive():
                pass
            house.tracker.kill9()
            middle += 0 < rows(house)
            house.tracker.start()
        assert middle > 0, "no kill fell into the work"
        assert one.wait(40) == 0, one.tail()
        demand_each_once(house, before)


def test_a_copy_is_drained_while_its_gateway_lives():
    """Nobody should. But then what both hold counts once, and what comes later is not lost."""
    with House(profile=CALM) as house:
        house.start()
        client = second_gateway(house)
        # One that never met the tracker would take numbers of its own run that it knows for another's.
        until(lambda: any(" ev=courier.back " in line for line in house.second.lines()), SOON_S, "not met")
        before = arrivals(house)
        house.tracker.kill9()
        for n in range(5):
            assert client.get("/callback/sandbox", id=f"both-{n}", code="x").status == 200
        house.second.pause()
        copy = os.path.join(house.folder, "copy")
        shutil.copytree(spool(house), copy)
        house.tracker.start()
        house.until_serving()
        argv, env = drain_command(house)
        done = subprocess.run([*argv[:-1], copy], env=env, cwd=house.folder, capture_output=True,
                              text=True, timeout=60, check=False)
        assert done.returncode == 0 and "5 callbacks went" in done.stderr, done
        house.second.resume()
        for n in range(5):
            assert client.get("/callback/sandbox", id=f"later-{n}", code="x").status == 200
        until(lambda: rows(house) == 0, SOON_S, "the gateway's own are not settled")
        until(lambda: more(arrivals(house), before).get("received", 0) >= 10, SOON_S,
              lambda: str(more(arrivals(house), before)))
        assert more(arrivals(house), before) == {"received": 10, "parked": 10}
        demand_audit(house)
