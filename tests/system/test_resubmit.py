"""Tasks that were taken and are submitted again: late ones, and those that failed by a code that says
so. Each is bought 1 + max_resubmits times at most, whatever is killed on the way, and ends once. A
test's number is that of the rule in docs/GUARANTEES.md."""
import itertools
import json
import random
import signal
import sqlite3

import pytest
from support.house import House
from support.peers import HeldProvider
from support.seen import demand_audit, only_event
from support.settings import free_port, merge, shop_profile
from support.until import passes, stays, until

SOON_S = 10
MOST = 2
CODED = {"recover": {"max_resubmits": MOST}, "callback": {"stale_after": "20s"}}
BUYABLE = ("submit_failed", "submit_uncertain", "expired")  # a person may have it made anew
SAYS_SO = "ERROR_CAPTCHA_UNSOLVABLE"


def mute(port):
    """The shop without a way to poll it."""
    profile = merge(shop_profile(port), {"recover": {"on_stale": "resubmit", "max_resubmits": MOST}})
    return {**profile, "poll": "none"}


def coded(port):
    return merge(shop_profile(port), CODED)


_refs = iter(range(1, 1 << 30))


def order(house, more=None, **params):
    ref = f"r{next(_refs)}"
    task = house.post("/v1/tasks", {"provider": "sandbox", "give_up_after": "30s", **(more or {}),
                                    "params": {"method": "test", "ref": ref, "solve": 0, **params}})
    return task, ref


def bought(house, ref):
    found = [entry for entry in house.provider_ledger().values() if entry["ref"] == ref]
    return sorted(found, key=lambda entry: int(entry["id"]))


def until_bought(house, task, ref, count):
    """So many have been taken, and the task has the id of the last one."""
    def look():
        found = bought(house, ref)
        return len(found) == count and house.task(task["id"])["provider_id"] == found[-1]["id"]
    until(look, SOON_S, lambda: (bought(house, ref), house.task(task["id"])))
    return bought(house, ref)


def knock(house, entry, code):
    """The callback of one attempt, as the provider was asked for it."""
    path = entry["pingback"].removeprefix(house.public.url)
    assert house.public.get(path, id=entry["id"], code=code).status == 200


def letters(house, task_id, **filters):
    found = house.dead_letters(task=task_id, **filters)
    return [(letter["reason"], letter["state"]) for letter in found]


def notes(house, task_id, what):
    return [line["text"] for line in house.task(task_id)["timeline"] if line["what"] == what]


def figure(house, name):
    return sum(value for key, value in house.metrics().items() if key.startswith(name))


def bodies(house):
    with sqlite3.connect(f"file:{house.folder}/data/tracker.db?mode=ro", uri=True) as store:
        (count,) = store.execute("SELECT COUNT(*) FROM submits WHERE body IS NOT NULL").fetchone()
    store.close()
    return count


# ---- a callback that is late ----


def test_example():
    with House(describe=mute) as house:
        house.start()
        task, ref = order(house, fate="drop,ok")
        ended = house.ended(task["id"])
        first, second = bought(house, ref)
        assert (ended["state"], ended["source"]) == ("done", "callback")
        assert (ended["result"], ended["provider_id"]) == (second["answer"], second["id"])
        assert (ended["attempts"], ended["resubmits"]) == (2, 1)
        assert first["pingback"] != second["pingback"], "both attempts have one token"
        assert notes(house, task["id"], "resubmitted") == \
            [f"1 of 2: no callback has come in time; attempt 1 was {first['id']}"]
        assert "resubmitted" in house.aldaba("task", task["id"]).stdout
        assert sum("ev=task.resubmitted" in line for line in house.tracker.lines()) == 1
        assert figure(house, "aldaba_resubmits_total{") == 1
        only_event(house, task["id"])
        demand_audit(house)


def test_what_was_set_aside_is_looked_at_first():
    """A callback to the own address of a task that cannot be read: nothing is bought in its place."""
    with House(describe=mute) as house:
        house.start()
        task, ref = order(house, more={"stale_after": "3s"}, fate="drop")
        (first,) = until_bought(house, task, ref, 1)
        path = first["pingback"].removeprefix(house.public.url)
        assert house.public.get(f"{path}?id=%zz").status == 200
        (letter,) = until(lambda: letters(house, task["id"]), SOON_S, "no letter")
        assert letter[1] == "open"
        until(lambda: notes(house, task["id"], "late"), SOON_S, "it is not said")
        assert "see its letter" in notes(house, task["id"], "late")[0]
        stays(lambda: len(bought(house, ref)) == 1, 2, "it is bought again")
        knock(house, first, "A")
        assert house.ended(task["id"])["result"] == "A"
        demand_audit(house)


def test_rule_16_the_first_one_answers_after_all():
    """Its token and its id name the task, over a start; the second one's answer comes too late."""
    with House(describe=mute) as house:
        house.start()
        for kill in (False, True):
            task, ref = order(house, more={"stale_after": "2s"}, fate="drop")
            first, second = until_bought(house, task, ref, 2)
            assert house.task(task["id"])["state"] == "pending"
            if kill:
                house.tracker.kill9()
                house.tracker.start()
                house.until_serving()
            knock(house, first, "A")
            assert house.ended(task["id"])["result"] == "A"
            knock(house, second, "A")
            assert not letters(house, task["id"])
            knock(house, second, "B")
            until(lambda: letters(house, task["id"]) == [("conflict", "open")], SOON_S,
                  lambda: letters(house, task["id"]))
            stays(lambda: len(bought(house, ref)) == 2, 3, "an ended task is bought again")
            only_event(house, task["id"])
        demand_audit(house)


def test_an_early_failure_of_the_first_one_ends_nothing():
    with House(describe=mute) as house:
        house.start()
        task, ref = order(house, more={"stale_after": "2s"}, fate="drop")
        first, second = until_bought(house, task, ref, 2)
        knock(house, first, SAYS_SO)
        stays(lambda: house.task(task["id"])["state"] == "pending" and len(bought(house, ref)) == 2,
              1, "the first one's failure did something")
        knock(house, second, "A")
        assert house.ended(task["id"])["result"] == "A"
        knock(house, first, SAYS_SO)
        assert not letters(house, task["id"])
        only_event(house, task["id"])
        demand_audit(house)


def test_after_the_last_one_somebody_is_told():
    with House(describe=mute) as house:
        house.start()
        task, ref = order(house, more={"give_up_after": "9s"}, fate="drop")
        until(lambda: notes(house, task["id"], "late"), SOON_S, lambda: house.task(task["id"]))
        assert len(bought(house, ref)) == 1 + MOST
        assert bodies(house) == 1, "a person can't have it made anew"
        assert figure(house, "aldaba_tasks_late_total{") == 1
        passes(2)  # that time has gone on is on disk each second
        house.tracker.kill9()
        house.tracker.start()
        house.until_serving()
        ended = house.ended(task["id"], 20)
        assert (ended["state"], ended["resubmits"]) == ("expired", MOST)
        assert len(bought(house, ref)) == 1 + MOST
        (letter,) = house.dead_letters(task=task["id"])
        assert (letter["reason"], letter["state"]) == ("expired", "open")
        assert len(notes(house, task["id"], "late")) == 1
        assert bodies(house) == 1
        until(lambda: house.aldaba("dlq", "drop", letter["id"], "--yes").returncode == 0, SOON_S,
              "it can't be dropped")
        until(lambda: bodies(house) == 0, SOON_S, "what can't be needed any more is kept")
        only_event(house, task["id"])
        demand_audit(house)


def test_what_its_caller_submitted_is_only_late():
    with House(describe=mute) as house:
        house.start()
        (provider_id,) = house.submit(1, fate="drop", solve=0)
        task = house.register(provider_id)
        until(lambda: notes(house, task["id"], "late"), SOON_S, lambda: house.task(task["id"]))
        assert len(house.provider_ledger()) == 1
        assert "resubmits" not in house.task(task["id"])


# ---- a failure by a code ----


@pytest.mark.parametrize("trust", ["token", "hint"])
def test_a_code_that_says_so(trust):
    """By a callback that is believed, or by the poll that one which is not asks for."""
    with House(describe=coded, profile={"callback": {"trust": trust}}) as house:
        house.start()
        task, ref = order(house, fate="error,ok")
        ended = house.ended(task["id"])
        first, second = bought(house, ref)
        assert (ended["state"], ended["result"]) == ("done", second["answer"])
        assert (ended["attempts"], ended["resubmits"]) == (2, 1)
        assert notes(house, task["id"], "resubmitted") == \
            [f"1 of 2: it failed by {SAYS_SO}; attempt 1 was {first['id']}"]
        assert first["fate"] == "error"
        only_event(house, task["id"])
        demand_audit(house)


def test_a_code_that_says_so_each_time():
    with House(describe=coded) as house:
        house.start()
        task, ref = order(house, fate="error")
        ended = house.ended(task["id"])
        assert (ended["state"], ended["code"]) == ("failed", SAYS_SO)
        assert (len(bought(house, ref)), ended["resubmits"]) == (1 + MOST, MOST)
        assert not letters(house, task["id"])
        only_event(house, task["id"])
        demand_audit(house)


def test_unless_it_is_switched_on_a_code_is_the_end():
    with House(describe=shop_profile) as house:
        house.start()
        task, ref = order(house, fate="error")
        assert house.ended(task["id"])["code"] == SAYS_SO
        assert len(bought(house, ref)) == 1 and bodies(house) == 0


# ---- killed on the way ----


@pytest.fixture
def held():
    """A house whose provider keeps each submission waiting; a callback is late after two seconds."""
    with HeldProvider(free_port()) as provider:
        port = provider.server_address[1]
        with House(describe=lambda _: mute(port), profile={"callback": {"stale_after": "2s"}}) as house:
            house.start()
            house.held = provider
            yield house


def answer(house, provider_id):
    until(lambda: house.held.asked, SOON_S, "nothing reaches the provider")
    house.held.asked.pop(0).put(f"OK|{provider_id}".encode())


def second_under_way(house):
    """A task that was taken as 71, and whose second submission is at the provider."""
    task, _ = order(house)
    answer(house, 71)
    until(lambda: house.held.asked, SOON_S, "it is not submitted again")
    assert house.task(task["id"])["provider_id"] == "71"
    return task


def call_of(house, task, provider_id, code):
    path = task["callback_url"].removeprefix(house.public.url)
    assert house.public.get(path, id=provider_id, code=code).status == 200


def test_rule_2_the_tracker_is_killed_while_the_provider_has_the_second_one(held):
    task = second_under_way(held)
    held.tracker.kill9()
    answer(held, 72)
    held.tracker.start()
    held.until_serving()
    until(lambda: held.task(task["id"])["provider_id"] == "72", SOON_S, lambda: held.task(task["id"]))
    call_of(held, task, 71, "A")
    assert held.ended(task["id"])["result"] == "A"
    assert not held.dead_letters() and not held.held.asked
    only_event(held, task["id"])
    demand_audit(held)


def test_rule_10_the_poller_is_killed_while_the_provider_has_the_second_one(held):
    """Nobody knows: it is not sent again, however late; the first one's callback ends both."""
    task = second_under_way(held)
    held.poller1.kill9()
    held.add_poller(2).start()
    until(lambda: letters(held, task["id"]) == [("submit_uncertain", "open")], SOON_S,
          lambda: letters(held, task["id"]))
    stays(lambda: len(held.held.asked) == 1, 5, "it was sent a third time")
    call_of(held, task, 71, "A")
    assert held.ended(task["id"])["result"] == "A"
    until(lambda: letters(held, task["id"], state="resolved") == [("submit_uncertain", "resolved")],
          SOON_S, lambda: letters(held, task["id"]))
    only_event(held, task["id"])
    demand_audit(held)


def test_rule_2_killed_before_it_leaves(held):
    """It is decided, and there is no poller: one decision, however often the tracker is killed."""
    task, _ = order(held)
    answer(held, 71)
    until(lambda: held.task(task["id"])["state"] == "pending", SOON_S, "it was not taken")
    held.poller1.kill9()
    until(lambda: held.task(task["id"]).get("resubmits") == 1, SOON_S, lambda: held.task(task["id"]))
    for _ in range(3):
        held.tracker.kill9()
        held.tracker.start()
        held.until_serving()
        passes(1)
    assert held.task(task["id"])["resubmits"] == 1
    held.poller1.start()
    answer(held, 72)
    until(lambda: held.task(task["id"])["provider_id"] == "72", SOON_S, lambda: held.task(task["id"]))
    call_of(held, task, 72, "A")
    assert held.ended(task["id"])["result"] == "A"
    demand_audit(held)


@pytest.mark.parametrize("describe,fates", [
    (mute, ("drop,ok", "drop", "ok", "drop,drop,ok", "early")),
    (coded, ("error,ok", "error", "ok", "error,error,ok", "error,early"))])
def test_kill_any_of_them(describe, fates):
    """Sixty orders that are bought again, lost answers and refusals among them, while each process
    is killed in turn: none is bought more than three times, and every one has one end."""
    words = itertools.cycle(("", "noslot", "", "took-cut", ""))
    luck = random.Random(11)
    profile = {"codes": {"ERROR_NO_SLOT_AVAILABLE": {"wait": "200ms"}}}
    with House(describe=describe, pollers=2, profile=profile) as house:
        house.start()
        names = itertools.cycle(("tracker", "poller1", "gateway", "poller2", "dlq"))
        tasks = {}
        for number in range(60):
            task, ref = order(house, more={"give_up_after": "15s", "stale_after": "1500ms"}
                              if describe is mute else {"give_up_after": "15s"},
                              fate=fates[number % len(fates)], orders=next(words))
            tasks[ref] = task["id"]
        for _ in range(20):
            passes(luck.uniform(0.2, 0.7))
            house.daemons[next(names)].kill9()
            house.revive()
        house.until_serving()
        ended = {ref: house.ended(task, 60) for ref, task in tasks.items()}
        house.until_provider_rests()
        again = 0
        for ref, end in ended.items():
            found = bought(house, ref)
            again += len(found) > 1
            assert 1 <= len(found) <= 1 + MOST, (ref, found)
            assert len(found) <= 1 + end.get("resubmits", 0), (ref, found, end)
            assert len(house.events_of(tasks[ref])) == 1
            if end["state"] == "done":
                assert end["result"] in [entry["answer"] for entry in found]
        assert again >= 20, "hardly anything was bought again"
        wait = {one["task"] for one in house.dead_letters() if one["reason"] in BUYABLE}
        assert bodies(house) == len(wait), "the parameters of what has ended are kept"
        demand_audit(house)


# ---- the profile changes its mind ----


def hang_up(house):
    """SIGHUP to the tracker, and it has read its settings."""
    before = figure(house, 'aldaba_reloads_total{svc="tracker"')
    house.tracker.send(signal.SIGHUP)
    until(lambda: figure(house, 'aldaba_reloads_total{svc="tracker"') > before, SOON_S, "not read")


def test_rule_19_recover_is_taken_away():
    """What was decided and has not left stays where it is, and of the rest nothing is decided: it is
    said that both are late, and the first one's callback ends them."""
    off = {"recover": {"on_stale": "alert", "max_resubmits": None}}
    with House(describe=mute, profile={"callback": {"stale_after": "2s"}}) as house:
        house.start()
        task, ref = order(house, fate="drop")
        until_bought(house, task, ref, 1)
        house.poller1.kill9()
        until(lambda: house.task(task["id"]).get("resubmits") == 1, SOON_S, "it is not decided")
        house.describe = lambda port: merge(mute(port), off)
        house.write_settings()
        hang_up(house)
        house.poller1.start()
        until(lambda: notes(house, task["id"], "resubmit.stopped"), SOON_S,
              lambda: house.task(task["id"]))
        until(lambda: notes(house, task["id"], "late"), SOON_S, lambda: house.task(task["id"]))
        other, second = order(house, fate="drop")
        until(lambda: notes(house, other["id"], "late"), SOON_S, lambda: house.task(other["id"]))
        house.describe = mute
        house.write_settings()
        hang_up(house)
        stays(lambda: len(bought(house, ref)) == len(bought(house, second)) == 1, 3, "bought again")
        for one, name in ((task, ref), (other, second)):
            knock(house, bought(house, name)[0], "A")
            assert house.ended(one["id"])["result"] == "A"
        demand_audit(house)


# ---- what is kept ----


def test_rule_24_what_is_kept_is_shown_nowhere():
    secret = "canary-parameter-7d21"
    with House(describe=mute, settings={"log": {"level": "debug"}}) as house:
        house.start()
        task, ref = order(house, fate="drop", token=secret)
        until_bought(house, task, ref, 2)
        assert bodies(house) == 1
        shown = [json.dumps(house.task(task["id"])), house.private.get("/metrics").text,
                 house.aldaba("task", task["id"]).stdout]
        house.post(f"/v1/tasks/{task['id']}/cancel", {})
        assert bodies(house) == 0
        shown += [open(daemon.log, encoding="utf-8").read() for daemon in house.daemons.values()]
        assert not [text for text in shown if secret in text]


def test_what_is_never_polled_is_late_and_not_polled_from():
    with House(describe=mute, pollers=0) as house:
        house.start()
        task = house.reserve()
        assert house.task(task["id"])["never_polled"] is True
        shown = house.aldaba("task", task["id"]).stdout
        assert "late from" in shown and "polled from" not in shown, shown
        assert "  never" in house.aldaba("provider", "status").stdout
    with House(pollers=0) as house:
        house.start()
        task = house.reserve()
        assert "never_polled" not in house.task(task["id"])
        assert "polled from" in house.aldaba("task", task["id"]).stdout
