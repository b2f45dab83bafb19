"""Tasks that aldaba submits, and everything killed, stopped or taken away on the way: what is paid
for is bought at most once, and each task ends. A test's number is that of the rule in
docs/GUARANTEES.md."""
import http.client
import itertools
import json
import os
import random
import shutil
import signal
import sqlite3
import threading

import pytest
from support import bus
from support.house import House
from support.orders import Orders
from support.peers import HeldProvider, Sender
from support.seen import demand_audit
from support.settings import free_port, merge, sandbox_profile, shop_profile
from support.until import passes, stays, until

SOON_S = 10
CALM = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}
PARAMS = {"method": "test"}


def order(house, key=None, provider="sandbox", **params):
    headers = {"Idempotency-Key": key} if key else {}
    return house.post("/v1/tasks", {"provider": provider, "params": {**PARAMS, **params}},
                      **headers)


def bought(house, ref):
    return [entry for entry in house.provider_ledger().values() if entry["ref"] == ref]


def letters(house, task_id, state=""):
    found = house.dead_letters(task=task_id, **({"state": state} if state else {}))
    return [(letter["reason"], letter["state"]) for letter in found]


def until_letters(house, task_id, *wanted, state=""):
    until(lambda: letters(house, task_id, state) == list(wanted), SOON_S,
          lambda: letters(house, task_id, state))


def until_state(house, task_id, state):
    until(lambda: house.task(task_id)["state"] == state, SOON_S, lambda: house.task(task_id))


def knock(house, task, code, provider_id="77"):
    """The task's own callback."""
    path = task["callback_url"].removeprefix(house.public.url)
    answer = house.public.get(path, id=provider_id, code=code)
    assert (answer.status, answer.text) == (200, "OK")


@pytest.fixture
def held():
    """A house whose provider keeps each submission waiting."""
    with HeldProvider(free_port()) as provider:
        port = provider.server_port
        with House(describe=lambda _: shop_profile(port), profile=CALM) as house:
            house.start()
            house.held = provider
            yield house


def under_way(house):
    """A task whose submission has reached the provider."""
    task = order(house)
    until(lambda: house.held.asked, SOON_S, "nothing reaches the provider")
    assert house.task(task["id"])["state"] == "submitting"
    return task


# ---- 2: a lease gives a right, a report is a fact ----


def test_rule_2_the_poller_is_killed_while_the_provider_has_it(held):
    """Nobody knows: it is not sent again by anybody, a letter says so, and the callback ends both."""
    task = under_way(held)
    held.poller1.kill9()
    held.add_poller(2).start()
    until_letters(held, task["id"], ("submit_uncertain", "open"))
    stays(lambda: len(held.held.asked) == 1, 2, "it was sent a second time")
    assert held.books()["tasks"]["submitting"] == 1
    demand_audit(held)
    knock(held, task, "A")
    assert held.ended(task["id"])["result"] == "A"
    until_letters(held, task["id"], ("submit_uncertain", "resolved"), state="resolved")
    assert held.task(task["id"])["provider_id"] == "77"
    demand_audit(held)


def test_rule_2_the_poller_stands_still_while_the_provider_has_it(held):
    """Its report comes after the letter: a fact, however late."""
    task = under_way(held)
    held.poller1.pause()
    until_letters(held, task["id"], ("submit_uncertain", "open"))
    held.held.asked[0].put(b"OK|77")
    held.poller1.resume()
    until_state(held, task["id"], "pending")
    assert held.task(task["id"])["provider_id"] == "77"
    until_letters(held, task["id"], ("submit_uncertain", "resolved"), state="resolved")
    assert len(held.held.asked) == 1
    demand_audit(held)


def test_rule_2_the_tracker_is_killed_while_the_provider_has_it(held):
    """The poller keeps the answer for the next run: there is no doubt at all."""
    task = under_way(held)
    held.tracker.kill9()
    held.held.asked[0].put(b"OK|77")
    held.tracker.start()
    held.until_serving()
    until_state(held, task["id"], "pending")
    assert held.task(task["id"])["provider_id"] == "77"
    assert not held.dead_letters(task=task["id"]) and len(held.held.asked) == 1
    demand_audit(held)


def test_rule_2_the_poller_stops_in_good_order(held):
    """What it can't finish in five seconds is uncertain."""
    task = under_way(held)
    assert held.poller1.stop() == 0
    until_letters(held, task["id"], ("submit_uncertain", "open"))
    held.add_poller(2).start()
    stays(lambda: len(held.held.asked) == 1, 2, "it was sent a second time")


@pytest.fixture
def alone():
    """A house without pollers, and a poller by hand."""
    with House(describe=shop_profile, profile=CALM, pollers=0,
               settings={"tracker": {"lease": "2s"}}) as house:
        house.start()
        yield house


def poller(house, name):
    return Sender(bus.Channel(house.run, "jobs"), f"01JD000000000000000000000{name}",
                  role="poller").hello()


def started(lease, num):
    return bus.pack("started", num=num, **{k: lease[k] for k in ("lease", "task", "attempt")})


def outcome(lease, num, then="accepted", **more):
    return bus.pack("outcome", num=num, provider="sandbox", then=then, at_ms=1,
                    **{k: lease[k] for k in ("lease", "task", "attempt")}, **more)


def test_rule_2_two_pollers_and_one_start(alone):
    """A takes the lease and stands still; B gets it and starts; A wakes up and asks: no. Then the
    tracker is killed before B hears its yes, which B is told again, and A still is not."""
    task = order(alone)
    one, two = poller(alone, "A"), poller(alone, "B")
    first = one.lease()
    assert (first["k"], first["task"], first["attempt"]) == ("submit", task["id"], 1)
    assert json.loads(first["submission"])["params"] == PARAMS
    second = two.lease()
    assert second["task"] == task["id"] and second["lease"] != first["lease"]
    assert two.batch_of(started(second, 1)) == ["applied"]
    assert one.batch_of(started(first, 1)) == ["duplicate"]
    alone.tracker.kill9()
    alone.tracker.start()
    alone.until_serving()
    one, two = poller(alone, "A"), poller(alone, "B")
    assert one.batch_of(started(first, 2)) == ["duplicate"]
    assert two.batch_of(started(second, 2)) == ["applied"]
    assert two.batch_of(outcome(second, 3, left=True, answered=True, provider_id="9")) == \
        ["progress"]
    assert two.batch_of(outcome(second, 4, left=True, answered=True, provider_id="9")) == \
        ["duplicate"]
    assert alone.task(task["id"])["provider_id"] == "9"
    assert not alone.dead_letters()


def test_rule_2_killed_between_hand_out_and_send(alone):
    """A hundred leases in the hands of a poller that dies before it starts any: a hundred tasks
    that are handed out again, and not one letter."""
    tasks = {order(alone, fate="drop", solve=600)["id"] for _ in range(100)}
    one = poller(alone, "A")
    one.channel.send(bus.pack("ready", poller=one.who["sender"], credit=200, busy=0))
    taken = set()
    while taken != tasks:
        taken |= {lease["task"] for lease in one.channel.receive()[1:]}
    alone.add_poller(1).start()
    for task_id in tasks:
        until_state(alone, task_id, "pending")
    assert not alone.dead_letters()
    assert len(alone.provider_ledger()) == 100


def test_rule_10_it_expires_and_the_receipt_comes_later(alone):
    short = {"provider": "sandbox", "params": PARAMS, "give_up_after": "3s", "stale_after": "1s"}
    task = alone.post("/v1/tasks", short)
    one = poller(alone, "A")
    lease = one.lease()
    assert one.batch_of(started(lease, 1)) == ["applied"]
    ended = alone.ended(task["id"])
    assert (ended["state"], ended["code"]) == ("expired", "submit_uncertain")
    assert letters(alone, task["id"]) == [("submit_uncertain", "open")]
    assert len(alone.events_of(task["id"])) == 1
    assert one.batch_of(outcome(lease, 2, left=True, answered=True, provider_id="9")) == \
        ["progress"]
    assert alone.task(task["id"])["provider_id"] == "9"
    assert alone.tasks(q="9")[0]["id"] == task["id"]
    demand_audit(alone)


# ---- 3, 15: blocks come from our own connections; budgets count submissions ----


def provider_view(house):
    return house.get("/v1/providers", name="sandbox")["providers"][0]


def test_rule_3_a_refusal_of_ours_blocks_the_account_and_a_callback_does_not():
    with House(describe=shop_profile, profile=CALM) as house:
        house.start()
        task = order(house, ref="a", fate="drop", solve=600)
        until_state(house, task["id"], "pending")
        provider_id = house.task(task["id"])["provider_id"]
        path = task["callback_url"].removeprefix(house.public.url)
        assert house.public.get(path, id=provider_id, code="ERROR: 1003").status == 200
        assert not provider_view(house)["blocked_why"]
        blocked = order(house, ref="b", orders="ban1003")
        until(lambda: provider_view(house)["blocked_why"] == "ERROR: 1003", SOON_S,
              lambda: provider_view(house))
        third = order(house, ref="c")
        stays(lambda: not bought(house, "c") and not bought(house, "b"), 2, "it was submitted")
        assert {house.task(one["id"])["state"] for one in (blocked, third)} == {"accepted"}
        knock(house, task, "A", provider_id)
        assert house.ended(task["id"])["result"] == "A"
        assert provider_view(house)["blocked_why"] == "ERROR: 1003"


def busiest(moments, window_s):
    return max((sum(begin <= at < begin + window_s for at in moments) for begin in moments),
               default=0)


def test_rule_15_budgets_count_submissions_over_kills():
    budgets = [{"name": "in.php", "requests": 4, "per": "1s"}]
    with House(describe=shop_profile, profile={**CALM, "budgets": budgets}, pollers=2) as house:
        house.start()
        tasks = [order(house, ref=f"r{i}", solve=0) for i in range(16)]
        moments = []
        for count in (3, 8):
            def seen(n=count):
                moments[:] = house.provider.get("/_sandbox/times", path="/in.php").json()
                return len(moments) >= n
            until(seen, SOON_S, "nothing is submitted")
            house.tracker.kill9()
            house.tracker.start()
            house.until_serving()
        for task in tasks:
            assert house.ended(task["id"])["state"] in ("done", "expired")
        moments = house.provider.get("/_sandbox/times", path="/in.php").json()
        assert busiest(moments, 1.0) <= 4, moments
        assert all(len(bought(house, f"r{i}")) == 1 for i in range(16))
        assert provider_view(house)["budgets"][0]["limit"] == 4


# ---- 8: the books ----


def test_rule_8_each_state_is_counted(held):
    first = under_way(held)
    second = order(held)
    held.poller1.pause()  # it has taken the second, perhaps: it is accepted or submitting
    books = held.books()["tasks"]
    states = [held.task(task["id"])["state"] for task in (first, second)]
    assert books["submitting"] == states.count("submitting")
    assert books["accepted"] == states.count("accepted")
    assert books["accepted"] + books["submitting"] == books["open"] == 2
    held.poller1.resume()
    for answer in (b"OK|1", b"OK|2"):
        until(lambda: held.held.asked, SOON_S, "it is not asked")
        held.held.asked.pop(0).put(answer)
    for task in (first, second):
        until_state(held, task["id"], "pending")
    assert held.books()["tasks"]["pending"] == 2
    demand_audit(held)


# ---- 16: an id of the provider's may come again ----


def test_rule_16_two_submissions_and_one_id(held):
    first = under_way(held)
    held.held.asked.pop(0).put(b"OK|7")
    until_state(held, first["id"], "pending")
    second = under_way(held)
    held.held.asked.pop(0).put(b"OK|7")
    until_letters(held, second["id"], ("submit_uncertain", "open"))
    assert held.task(first["id"])["provider_id"] == "7"
    knock(held, second, "B", "")
    assert held.ended(second["id"])["result"] == "B"
    knock(held, first, "A", "7")
    assert held.ended(first["id"])["result"] == "A"
    until_letters(held, second["id"], ("submit_uncertain", "resolved"), state="resolved")
    third = under_way(held)
    held.held.asked.pop(0).put(b"OK|7")  # that of a task which has ended
    until_state(held, third["id"], "pending")
    demand_audit(held)


# ---- 19: the profile is taken away, and put back ----


def restart(house):
    for name in ("gateway", "poller1", "tracker"):
        house.daemons[name].kill9()
    house.write_settings()
    for name in ("tracker", "gateway", "poller1"):
        house.daemons[name].start()
    house.until_serving()


def test_rule_19_a_profile_that_is_taken_away():
    """Its task waits with all that it needs; a genuine callback is stored, and is no 404."""
    with House(describe=shop_profile) as house:
        house.start_sandbox()
        shop = shop_profile(house.provider.port)
        house.settings["providers"] = {"shop": merge(shop, CALM)}
        house.write_settings()
        house.start_daemons()
        waits = order(house, ref="w", provider="shop", orders="noslot", fate="drop")
        taken = order(house, ref="t", provider="shop", fate="drop", solve=600)
        until_state(house, taken["id"], "pending")
        del house.settings["providers"]
        restart(house)
        knock(house, taken, "A", house.provider_ledger() and bought(house, "t")[0]["id"])
        assert bus.figures(house.run, "status")["status"]["orphans"] == 2
        heard = len(house.provider.get("/_sandbox/heard").json())
        stays(lambda: len(house.provider.get("/_sandbox/heard").json()) == heard, 1,
              "it is submitted without a profile")
        house.settings["providers"] = {"shop": merge(shop, CALM)}
        restart(house)
        until_state(house, waits["id"], "pending")
        assert len(bought(house, "w")) == 1 and len(bought(house, "t")) == 1
        (letter,) = house.dead_letters(reason="unmapped_status")
        assert house.private.request("POST", f"/v1/dead-letters/{letter['id']}/replay", b"{}",
                                     {}).status == 200
        assert house.ended(taken["id"])["result"] == "A"


def hang_up(house):
    """SIGHUP to all, and each has read its settings."""
    def count(svc):
        return sum(value for name, value in house.metrics().items()
                   if name.startswith("aldaba_reloads_total") and f'svc="{svc}"' in name
                   and 'result="ok"' in name)
    names = ("tracker", "gateway", "poller")
    before = {svc: count(svc) for svc in names}
    for svc in names:
        house.daemons["poller1" if svc == "poller" else svc].send(signal.SIGHUP)
    until(lambda: all(count(svc) > before[svc] for svc in names), SOON_S, "not all have read")


def test_rule_19_a_profile_that_goes_while_a_task_waits():
    """Read again without the profile: what waits is still submitted, as it was ordered; nothing new
    is taken. And one that waits is submitted as the profile says by then."""
    with House(describe=shop_profile, profile=CALM) as house:
        house.start_sandbox()
        shop = merge(shop_profile(house.provider.port), CALM)
        house.settings["providers"] = {"shop": shop}
        house.write_settings()
        house.start_daemons()
        goes = order(house, provider="shop", ref="g", orders="noslot", fate="drop")
        until(lambda: house.provider.get("/_sandbox/heard").json(), SOON_S, "it is not asked")
        house.settings["providers"] = {}
        house.write_settings()
        hang_up(house)
        refused = house.private.post_json("/v1/tasks", {"provider": "shop", "params": PARAMS})
        assert refused.status == 400, refused
        until_state(house, goes["id"], "pending")
        knock(house, goes, "A", bought(house, "g")[0]["id"])
        assert house.ended(goes["id"])["result"] == "A"
        moved = order(house, ref="m", orders="noslot", fate="drop")
        until(lambda: len(house.provider.get("/_sandbox/heard").json()) == 3, SOON_S, "not asked")
        house.settings.pop("providers")
        house.profile = merge(CALM, {"submit": {"params": {"moved": "yes"}}})
        house.write_settings()
        hang_up(house)
        until_state(house, moved["id"], "pending")
        heard = house.provider.get("/_sandbox/heard").json()
        assert [request["params"].get("moved") for request in heard[-2:]] == [None, "yes"]
        assert len(bought(house, "m")) == 1
        demand_audit(house)


# ---- 20: a store of before ----


def test_rule_20_a_store_of_the_version_before():
    """What it holds goes on; and one of this version is still read by the program of before."""
    with House(pollers=1) as house:
        house.start()
        (old,) = house.submit(1, fate="drop", solve=600)
        task = house.register(old)
        house.tracker.stop()
        with sqlite3.connect(f"{house.folder}/data/tracker.db") as store:
            assert store.execute("SELECT min_reader FROM meta").fetchone() == (1,)
            store.executescript("DROP TABLE submits; DROP TABLE ways; DROP TABLE pushes;"
                                "DROP TABLE jwks; DROP TABLE resubmits; DROP TABLE consumers;"
                                "DROP TABLE returns; DROP TABLE sums; DROP TABLE again;"
                                "DROP INDEX results_corrects;"
                                "ALTER TABLE results DROP COLUMN corrects;"
                                "ALTER TABLE outbox DROP COLUMN closes;"
                                "ALTER TABLE tasks DROP COLUMN trace;"
                                "UPDATE meta SET version = 2; PRAGMA user_version = 2;")
        store.close()
        house.settings["providers"] = {"shop": shop_profile(house.provider.port),
                                       "sandbox": sandbox_profile(house.provider.port)}
        restart(house)
        made = order(house, provider="shop", solve=0)
        assert house.ended(made["id"])["state"] == "done"
        assert house.public.get("/callback/sandbox", id=old, code="A").status == 200
        assert house.ended(task["id"])["result"] == "A"
        demand_audit(house)


# ---- 22: an answer that is late ----


def slow_post(house, body, answers, key=None):
    headers = {"Idempotency-Key": key} if key else {}

    def post():
        try:
            answers.append(house.private.post_json("/v1/tasks", body, headers))
        except (OSError, http.client.HTTPException) as error:
            answers.append(error)
    thread = threading.Thread(target=post, daemon=True)
    thread.start()
    return thread


def test_rule_22_without_an_answer_it_is_withdrawn():
    """The tracker stands still for longer than anybody waits. When it wakes up it finds the
    registration, which says that nobody wants it any more: nothing is made, and nothing bought."""
    with House(describe=shop_profile) as house:
        house.start()
        answers = []
        house.tracker.pause()
        thread = slow_post(house, {"provider": "sandbox", "params": {**PARAMS, "ref": "a"}},
                           answers)
        thread.join(20)
        assert answers[0].status == 504, answers
        house.tracker.resume()
        house.until_serving()
        stays(lambda: not house.tasks() and not bought(house, "a"), 3, "it was made")
        again = order(house, ref="b", solve=0)
        assert house.ended(again["id"])["state"] == "done"
        demand_audit(house)


def test_rule_22_with_a_key_it_stays():
    """The gateway is killed before it could answer; who asks again gets the same task."""
    with House(describe=shop_profile) as house:
        house.start()
        body = {"provider": "sandbox", "params": {**PARAMS, "ref": "a", "solve": 0}}
        answers = []
        house.tracker.pause()
        thread = slow_post(house, body, answers, key="k")
        passes(1)
        house.gateway.kill9()
        thread.join(20)
        house.tracker.resume()
        house.gateway.start()
        house.until_serving()
        again = house.post("/v1/tasks", body, **{"Idempotency-Key": "k"})
        assert house.ended(again["id"])["state"] == "done"
        assert len(house.tasks()) == 1 and len(bought(house, "a")) == 1
        demand_audit(house)


# ---- 23, 24: nothing shows what was given ----


def test_rule_24_parameters_are_shown_nowhere():
    secret = "canary-parameter-5f3a"
    with House(describe=shop_profile, settings={"log": {"level": "debug"}}) as house:
        house.start()
        done = order(house, ref="a", token=secret, solve=0)
        house.ended(done["id"])
        unsure = order(house, ref="b", token=secret, orders="took-cut", fate="never")
        until_letters(house, unsure["id"], ("submit_uncertain", "open"))
        failed = order(house, ref="c", token=secret, orders="pageurl")
        house.ended(failed["id"])
        shown = [house.private.get("/metrics").text, house.aldaba("tasks").stdout,
                 house.aldaba("dlq", "ls").stdout, house.aldaba("status").stdout]
        for task in (done, unsure, failed):
            shown.append(json.dumps(house.task(task["id"])))
            shown += [json.dumps(house.get(f"/v1/dead-letters/{letter['id']}"))
                      for letter in house.dead_letters(task=task["id"])]
        shown += [open(daemon.log, encoding="utf-8").read() for daemon in house.daemons.values()]
        assert not [text for text in shown if secret in text]
        with sqlite3.connect(f"file:{house.folder}/data/tracker.db?mode=ro", uri=True) as store:
            kept = store.execute("SELECT task FROM submits WHERE body IS NOT NULL").fetchall()
        store.close()
        # Of those two a letter is open, out of which a person may have them made anew.
        assert kept == [(int(unsure["id"]),), (int(failed["id"]),)], kept


# ---- everything at once ----


@pytest.mark.parametrize("away", [False, True])
def test_a_backup_that_is_put_back_buys_nothing(tmp_path, away):
    """What waited to be submitted in the copy was submitted after it: it is not bought again. Nor
    when its profile was away at the first start."""
    with House(describe=shop_profile, profile=CALM) as house:
        house.start_sandbox()
        shop = {"shop": merge(shop_profile(house.provider.port), CALM)}
        house.settings["providers"] = shop
        house.write_settings()
        house.start_daemons()
        house.poller1.kill9()
        task = order(house, provider="shop", ref="a", fate="drop", solve=600)
        copy = str(tmp_path / "copy")
        assert house.aldaba("backup", copy).returncode == 0
        house.poller1.start()
        until_state(house, task["id"], "pending")
        for daemon in reversed(house.daemons.values()):
            daemon.stop(30)
        shutil.rmtree(f"{house.folder}/data")
        os.mkdir(f"{house.folder}/data", 0o700)
        for name in ("callback.key", "letters.db", "tracker.db"):
            shutil.copy(f"{copy}/{name}", f"{house.folder}/data/{name}")
        if away:
            del house.settings["providers"]
            house.write_settings()
        house.start_daemons()
        if away:
            assert bus.figures(house.run, "status")["status"]["orphans"] == 1
            house.settings["providers"] = shop
            house.write_settings()
            hang_up(house)
        until_letters(house, task["id"], ("submit_uncertain", "open"))
        stays(lambda: len(bought(house, "a")) == 1, 2, "it was bought again")
        knock(house, task, "A", bought(house, "a")[0]["id"])
        assert house.ended(task["id"])["result"] == "A"
        demand_audit(house)


def test_the_letter_closes_while_the_dlq_is_away():
    with House(describe=shop_profile) as house:
        house.start()
        task = order(house, ref="a", orders="took-cut", solve=3)
        until_letters(house, task["id"], ("submit_uncertain", "open"))
        house.dlq.kill9()
        assert house.ended(task["id"])["state"] == "done"
        house.dlq.start()
        until_letters(house, task["id"], ("submit_uncertain", "resolved"), state="resolved")
        demand_audit(house)


def test_kill_any_of_them():
    """A hundred and fifty orders, lost answers and refusals among them, while each process is killed
    in turn, again and again: nothing is bought twice, and every task has one end."""
    profile = {"codes": {"ERROR_NO_SLOT_AVAILABLE": {"wait": "200ms"}},
               "poll": {"schedule": {"give_up_after": "15s"}}}
    luck = random.Random(7)
    with House(describe=shop_profile, pollers=2, profile=profile) as house:
        house.start()
        names = itertools.cycle(("tracker", "poller1", "gateway", "poller2", "dlq"))
        kills = 0
        with Orders(house, 150) as orders:
            while orders.busy():
                passes(luck.uniform(0.2, 0.7))
                house.daemons[next(names)].kill9()
                house.revive()
                kills += 1
        states = orders.demand()
        assert len(states) == 150 and kills >= 5
