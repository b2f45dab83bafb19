"""What a person has done again out of dead letters, and what comes after an end: a task is made anew,
and bought once, whatever is killed; an answer that comes too late is published as a correction. A
test's number is that of the rule in docs/GUARANTEES.md."""
import collections
import http.client
import itertools
import json
import random
import threading

import pytest
from support.background import Background
from support.house import House
from support.peers import HeldProvider
from support.seen import demand_audit
from support.settings import free_port, shop_profile
from support.until import passes, stays, until

SOON_S = 15
END_S = 60
PARAMS = {"method": "test"}
SHORT = {"give_up_after": "2s", "stale_after": "1s"}
QUICK = {"poll": {"schedule": {"first_after": "300ms", "every": "200ms", "max_every": "400ms"}}}


def order(house, key=None, expect=(202,), give_up=None, meta="", **params):
    body = {"provider": "sandbox", "params": {**PARAMS, **params}, "meta": meta, **(give_up or {})}
    headers = {"Idempotency-Key": key} if key else {}
    return house.post("/v1/tasks", body, expect, **headers)


def bought(house, ref):
    return [entry for entry in house.provider_ledger().values() if entry["ref"] == ref]


def only_letter(house, task_id, reason):
    def look():
        found = [one for one in house.dead_letters(task=task_id) if one["reason"] == reason]
        return found if found and found[0]["outcome"] != "outbox" else None
    (letter,) = until(look, SOON_S, lambda: house.dead_letters(task=task_id))
    return letter


def replay(house, letter, **word):
    return house.private.post_json(f"/v1/dead-letters/{letter['id']}/replay", word)


def closed(house, letter, outcome):
    def look():
        one = house.get(f"/v1/dead-letters/{letter['id']}")
        return one if one["state"] == "resolved" else None
    one = until(look, SOON_S, lambda: house.get(f"/v1/dead-letters/{letter['id']}"))
    assert one["outcome"] == outcome, one
    return one


def knock(house, task, code, provider_id):
    """The task's own callback."""
    path = task["callback_url"].removeprefix(house.public.url)
    answer = house.public.get(path, id=provider_id, code=code)
    assert (answer.status, answer.text) == (200, "OK")


def demand_whole(house):
    """The books balance, and the stores say so, too."""
    demand_audit(house)
    looked = house.aldaba("fsck")
    assert looked.returncode == 0 and "all is whole" in looked.stdout, looked


@pytest.fixture
def house():
    with House(describe=shop_profile, profile=QUICK) as one:
        one.start()
        yield one


# ---- 7: a new task ----


@pytest.mark.parametrize("reason", ["submit_failed", "expired"])
def test_rule_7_what_can_be_bought(house, reason):
    """Refused without the word, and without a person's yes; then one new task, which each tells of the
    other. What was submitted is shown nowhere, and forgotten with the letter."""
    canary = "canary-parameter-77e1"
    how = {"orders": "pageurl", "solve": 0} if reason == "submit_failed" else {"fate": "never"}
    old = order(house, key="k", give_up=SHORT, meta="shelf 9", ref="a", token=canary, **how)
    assert house.ended(old["id"])["state"] == {"submit_failed": "failed", "expired": "expired"}[reason]
    letter = only_letter(house, old["id"], reason)
    before = len(bought(house, "a"))
    for word in ({}, {"believe": True}, {"publish": True}):
        answer = replay(house, letter, **word)
        assert answer.status == 400 and answer.json()["detail"].endswith("."), answer
    assert "buy" in replay(house, letter).json()["detail"]
    plain = house.aldaba("dlq", "replay", letter["id"], "--yes")
    assert plain.returncode == 1 and "--buy" in plain.stderr
    asked = house.aldaba("dlq", "replay", letter["id"], "--buy")
    assert asked.returncode == 1 and "paid for" in asked.stderr and old["id"] in asked.stderr
    assert len(house.tasks()) == 1 and len(bought(house, "a")) == before
    done = house.aldaba("dlq", "replay", letter["id"], "--buy", "--yes")
    assert done.returncode == 0, done
    new_id = house.task(old["id"])["replaced_by"]
    assert f"replaced by task {new_id}" in done.stdout
    new = house.task(new_id)
    assert (new["replaces"], new["meta"], new["key"]) == (old["id"], "shelf 9", "")
    assert closed(house, letter, "replaced")["history"][-1]["detail"] == new_id
    assert "replaced" in [line["what"] for line in house.task(old["id"])["timeline"]]
    assert "replaces" in [line["what"] for line in new["timeline"]]
    if reason == "submit_failed":
        assert house.ended(new_id)["state"] == "done"
    until(lambda: len(bought(house, "a")) == before + 1, SOON_S, lambda: bought(house, "a"))
    assert replay(house, letter, buy=True).status == 409
    assert order(house, key="k", expect=(200,), give_up=SHORT, meta="shelf 9", ref="a", token=canary,
                 **how)["id"] == old["id"]
    shown = [json.dumps(house.task(one)) for one in (old["id"], new_id)]
    shown.append(json.dumps(house.get(f"/v1/dead-letters/{letter['id']}")))
    shown += [open(daemon.log, encoding="utf-8").read() for daemon in house.daemons.values()]
    assert not [text for text in shown if canary in text]
    stays(lambda: len(bought(house, "a")) == before + 1, 1, "it was bought twice")
    demand_whole(house)


def test_rule_7_nothing_to_buy(house):
    """Who was registered has no parameters: the desk says why."""
    (provider_id,) = house.submit(1, fate="never")
    old = house.register(provider_id, give_up_after="2s", stale_after="1s")
    house.ended(old["id"])
    letter = only_letter(house, old["id"], "expired")
    refused = house.aldaba("dlq", "replay", letter["id"], "--buy", "--yes")
    assert refused.returncode == 1 and "did not submit" in refused.stderr, refused
    one = house.get(f"/v1/dead-letters/{letter['id']}")
    assert one["state"] == "open" and one["history"][-1]["outcome"] == "still"
    assert len(house.tasks()) == 1
    assert house.aldaba("dlq", "drop", letter["id"], "--yes").returncode == 0
    demand_whole(house)


def test_rule_7_uncertain_and_both_answered():
    """Nobody knows of the first one. It is made anew by a person who was told so, and then both are
    answered: each has its own end."""
    with HeldProvider(free_port()) as provider:
        port = provider.server_port
        calm = {"callback": {"stale_after": "120s"}, "poll": {"schedule": {"give_up_after": "300s"}}}
        with House(describe=lambda _: shop_profile(port), profile=calm) as house:
            house.start()
            old = order(house)
            until(lambda: provider.asked, SOON_S, "nothing reaches the provider")
            house.poller1.kill9()
            letter = only_letter(house, old["id"], "submit_uncertain")
            assert "may still answer" in replay(house, letter).json()["detail"]
            asked = house.aldaba("dlq", "replay", letter["id"], "--buy")
            assert asked.returncode == 1 and "both are paid for" in asked.stderr
            house.poller1.start()
            assert house.aldaba("dlq", "replay", letter["id"], "--buy", "--yes").returncode == 0
            until(lambda: len(provider.asked) == 2, SOON_S, "the second one does not leave")
            provider.asked[1].put(b"OK|78")
            new_id = house.task(old["id"])["replaced_by"]
            until(lambda: house.task(new_id)["state"] == "pending", SOON_S, "it is not taken")
            new = house.task(new_id)
            knock(house, new, "B", "78")
            knock(house, old, "A", "77")
            assert house.ended(new_id)["result"] == "B"
            ended = house.ended(old["id"])
            assert (ended["result"], ended["provider_id"]) == ("A", "77")
            stays(lambda: len(provider.asked) == 2, 2, "it was sent a third time")
            demand_whole(house)


class Replays(Background):
    """A person who has each letter bought, says so until there is an answer, and often once more."""

    def __init__(self, house, letters, luck):
        super().__init__(threads=2, pause_s=0.05, endless=False, last_s=200)
        self.house = house
        self.letters = iter(letters)
        self.lock = threading.Lock()
        self.luck = luck

    def step(self):
        with self.lock:
            letter = next(self.letters, None)
            pause_s, again = self.luck.uniform(0.1, 0.5), self.luck.randrange(3)
        if letter is None:
            return False
        while not self.said(letter):
            passes(0.1)
        for _ in range(again):
            self.said(letter)
        passes(pause_s)
        return True

    def said(self, letter):
        try:
            return replay(self.house, letter, buy=True).status in (200, 409)
        except (OSError, http.client.HTTPException):
            return False


# What the first request of each order comes to, and the reason of the letter that it leaves.
KINDS = (({"orders": "pageurl"}, "submit_failed", 0),
         ({"orders": "took-cut", "fate": "never"}, "submit_uncertain", 1),
         ({"fate": "never"}, "expired", 1))


def test_rule_7_one_replay_buys_once_whatever_is_killed():
    """Ninety letters are bought while tracker, dlq, poller and gateway are killed at random: each has
    one task in its place, which reached the provider at most once."""
    luck = random.Random(11)
    kills = 0
    with House(describe=shop_profile, profile=QUICK, pollers=2) as house:
        house.start()
        letters, refs = {}, {}
        for number in range(90):
            how, reason, _ = KINDS[number % 3]
            refs[order(house, give_up=SHORT, ref=f"r{number}", solve=number % 2, **how)["id"]] = number
        for task, number in refs.items():
            letters[task] = only_letter(house, task, KINDS[number % 3][1])
        for task in refs:
            house.ended(task)  # the uncertain ones, too: as expired
        names = itertools.cycle(("tracker", "dlq", "poller1", "tracker", "dlq", "gateway", "poller2"))
        with Replays(house, letters.values(), luck) as replays:
            while replays.busy() or kills < 50:
                passes(luck.uniform(0.05, 0.5))
                house.daemons[next(names)].kill9()
                house.revive()
                kills += 1
        house.until_serving()
        news = {}
        for task, letter in letters.items():
            closed(house, letter, "replaced")
            news[task] = house.task(task)["replaced_by"]
            assert house.task(news[task])["replaces"] == task
        for new in news.values():
            house.ended(new, END_S)
        assert len(house.tasks()) == 2 * len(refs) and len(set(news.values())) == len(refs)
        house.until_provider_rests()
        for task, number in refs.items():
            first = KINDS[number % 3][2]
            again = len(bought(house, f"r{number}")) - first
            assert 0 <= again <= 1, (number, bought(house, f"r{number}"))
            unsure = house.task(news[task])["code"] == "submit_uncertain"
            assert again == 1 or unsure, (number, house.task(news[task]))
        assert kills >= 50
        demand_whole(house)


def bulk(house, **body):
    return house.post("/v1/dead-letters/replay", {"by": "ana", **body}, (202,))["id"]


def bulk_end(house, job):
    """What came of it: how many by result and why."""
    one = until(lambda: (view := house.get(f"/v1/replays/{job}"))["state"] == "done" and view, END_S,
                lambda: house.get(f"/v1/replays/{job}"))
    came = collections.Counter()
    for count in one["counts"]:
        came[count["result"], count.get("why", "")] += count["count"]
    return came


def test_rule_7_in_bulk(house):
    """Many are bought by one bulk replay, each once, over kills; others are told why they were left,
    and a dry run tells what it would be, and buys nothing."""
    tasks = [order(house, give_up=SHORT, ref=f"r{number}", orders="pageurl", solve=0)["id"]
             for number in range(12)]
    (provider_id,) = house.submit(1, fate="never")
    given = house.register(provider_id, give_up_after="2s", stale_after="1s")
    letters = [only_letter(house, task, "submit_failed") for task in tasks]
    house.ended(given["id"])
    only_letter(house, given["id"], "expired")
    refused = house.private.post_json("/v1/dead-letters/replay", {"buy": True, "publish": True})
    assert refused.status == 400 and refused.json()["detail"].endswith("."), refused
    words = house.aldaba("dlq", "replay", "all", "--buy", "--believe", "--yes")
    assert words.returncode == 64 and "takes one" in words.stderr, words
    asked = house.aldaba("dlq", "replay", "all", "--buy")
    assert asked.returncode == 1 and "paid for" in asked.stderr, asked
    assert bulk_end(house, bulk(house)) == {("skipped", "unvouched"): 13}
    assert bulk_end(house, bulk(house, publish=True)) == {("skipped", "not_forged"): 13}
    dry = bulk_end(house, bulk(house, buy=True, dry_run=True))
    assert dry == {("replaced", ""): 12, ("still", "unsubmitted"): 1}, dry
    one = house.private.post_json(f"/v1/dead-letters/{letters[0]['id']}/replay",
                                  {"buy": True, "dry_run": True}).json()
    assert one["dry_run"]["disposition"] == "replaced" and "paid for" in one["dry_run"]["why"]
    told = house.aldaba("dlq", "replay", letters[0]["id"], "--buy", "--dry-run")
    assert told.returncode == 0 and "paid for" in told.stdout, told
    before = [len(bought(house, f"r{number}")) for number in range(12)]
    assert len(house.tasks()) == 13
    job = bulk(house, buy=True, rate=4)
    for name in ("dlq", "tracker", "dlq", "tracker"):
        passes(0.5)
        house.daemons[name].kill9()
        house.revive()
    house.until_serving()
    assert bulk_end(house, job) == {("replaced", ""): 12, ("still", ""): 1}
    assert house.get(f"/v1/replays/{job}")["buy"] is True
    news = {house.task(task)["replaced_by"] for task in tasks}
    assert len(news) == 12 and len(house.tasks()) == 25
    for new in news:
        house.ended(new, END_S)
    house.until_provider_rests()
    after = [len(bought(house, f"r{number}")) for number in range(12)]
    assert after == [count + 1 for count in before]
    demand_whole(house)


# ---- 9: what comes after the end ----


def expired(house, **params):
    task = order(house, give_up=SHORT, fate="never", **params)
    until(lambda: house.task(task["id"])["provider_id"], SOON_S, "it is not taken")
    task = house.task(task["id"])
    house.ended(task["id"])
    return task


def test_rule_9_a_late_answer_is_a_correction(house):
    """Another event, which names the first: in the feed, at the task, in the stream, in the books."""
    task = expired(house, ref="a")
    letter = only_letter(house, task["id"], "expired")
    knock(house, task, "A", task["provider_id"])
    ended = house.task(task["id"])
    assert (ended["state"], ended["result"], ended["source"]) == ("done", "A", "late")
    first, second = house.events_of(task["id"])
    assert (first["state"], first.get("corrects", "")) == ("expired", "")
    assert (second["state"], second["result"]) == ("done", b"A")
    assert second["corrects"] == f"{first['lane']}:{first['seq']}" == ended["corrects"]
    assert ended["position"] == f"{second['lane']}:{second['seq']}"
    what = [line["what"] for line in ended["timeline"]]
    assert what.index("result") < what.index("corrected")
    closed(house, letter, "applied")
    books = house.books()
    assert (books["tasks"]["expired"], books["tasks"].get("done", 0)) == (1, 0)
    assert books["corrections"] == {"published": 1, "applied": 1}
    knock(house, task, "A", task["provider_id"])
    knock(house, task, "B", task["provider_id"])
    assert len(house.events_of(task["id"])) == 2
    only_letter(house, task["id"], "conflict")
    tail = house.aldaba("tail", "--from", "all", "--count", "2", "--json")
    assert [json.loads(line)["state"] for line in tail.stdout.splitlines()] == ["expired", "done"]
    house.tracker.kill9()
    house.tracker.start()
    house.until_serving()
    assert house.task(task["id"])["result"] == "A"
    assert [one["state"] for one in house.tasks()] == ["done"]
    demand_whole(house)


def test_rule_9_a_person_publishes():
    """late_results: keep. The answer is a letter, read by a person and published."""
    with House(describe=shop_profile, profile={**QUICK, "late_results": "keep"}) as house:
        house.start()
        task = expired(house, ref="a")
        knock(house, task, "A", task["provider_id"])
        letter = only_letter(house, task["id"], "conflict")
        assert "given the task up" in letter["cause"]
        assert house.task(task["id"])["state"] == "expired"
        assert replay(house, letter).status == 400 and replay(house, letter, buy=True).status == 400
        expiry = only_letter(house, task["id"], "expired")
        past = house.aldaba("dlq", "replay", expiry["id"], "--buy", "--yes")
        assert past.returncode == 1 and "conflict" in past.stderr, past
        done = house.aldaba("dlq", "replay", letter["id"], "--publish", "--yes")
        assert done.returncode == 0 and "corrected" in done.stdout, done
        ended = house.task(task["id"])
        assert (ended["state"], ended["result"], ended["source"]) == ("done", "A", "manual")
        closed(house, letter, "corrected")
        closed(house, expiry, "applied")
        assert [one["state"] for one in house.events_of(task["id"])] == ["expired", "done"]
        demand_whole(house)


class Knocks(Background):
    """Late callbacks, each said until it is acknowledged, some twice, some with another answer after."""

    def __init__(self, house, tasks):
        super().__init__(threads=3, pause_s=0.01, endless=False, last_s=120)
        self.house = house
        self.work = iter([(task, code) for task in tasks for code in ("A", "A", "B")])
        self.lock = threading.Lock()

    def step(self):
        with self.lock:
            task, code = next(self.work, (None, None))
        if not task:
            return False
        while not self.said(task, code):
            passes(0.05)
        passes(0.1)
        return True

    def said(self, task, code):
        try:
            path = task["callback_url"].removeprefix(self.house.public.url)
            answer = self.house.public.get(path, id=task["provider_id"], code=code)
            return answer.status == 200
        except (OSError, http.client.HTTPException):
            return False


def test_rule_9_corrections_over_kills():
    """Forty tasks that were given up are answered late, at once and more than once, while tracker and
    gateway are killed: one correction each, and the books balance."""
    luck = random.Random(5)
    kills = 0
    with House(describe=shop_profile, profile=QUICK) as house:
        house.start()
        made = [order(house, give_up=SHORT, fate="never", ref=f"r{n}") for n in range(40)]
        tasks = []
        for task in made:
            until(lambda one=task: house.task(one["id"])["provider_id"], SOON_S, "not taken")
            tasks.append(house.task(task["id"]))
        for task in tasks:
            house.ended(task["id"])
        names = itertools.cycle(("tracker", "gateway", "tracker"))
        with Knocks(house, tasks) as knocks:
            while knocks.busy() or kills < 15:
                passes(luck.uniform(0.05, 0.4))
                house.daemons[next(names)].kill9()
                house.revive()
                kills += 1
        house.until_serving()
        until(lambda: all(house.task(one["id"])["state"] == "done" for one in tasks), SOON_S,
              "not all are corrected")
        events = house.events()
        for task in tasks:
            mine = [event for event in events if event["task"] == task["id"]]
            assert [event["state"] for event in mine] == ["expired", "done"], mine
            assert mine[1]["corrects"] == f"{mine[0]['lane']}:{mine[0]['seq']}"
        assert house.books()["corrections"]["published"] == 40
        demand_whole(house)
