"""One task, five arrivals: a callback of nobody's yet that lies in a letter, a callback, the same
again, a poll, a late callback, and the letter replayed; many tasks at once, while every process and
the consumers are killed. Each task has one event, and each durable consumer acknowledges each event:
in order if it wants that, and what comes twice was in somebody's hands at a kill."""
import concurrent.futures
import http.client
import os
import random
import time

from support.background import task_for_certain
from support.heard import Heard, consumers_of
from support.house import House
from support.ledger import Ledger
from support.oracle import judge
from support.tally import scale, seed, tally
from support.until import passes, until

TASKS = int(os.environ.get("ALDABA_FIVE_TASKS", scale(1500, 5000)))
SEED = seed()
THREADS = 6
POLLED_S = 0.9  # callbacks are late after 1 s
CONSUMERS = {"inorder": ("ordered", 2), "crowd": ("shared", 3)}  # name: (mode, instances)
SETTINGS = {"dlq": {"first_after": "2s", "factor": "150%", "max_after": "10s", "tick": "100ms",
                    "max_attempts": 1000, "quota_count": 1000000, "quota_bytes": "1GiB"}}
PROFILE = {"callback": {"parked_for": "1s", "stale_after": "1s"},
           "poll": {"schedule": {"give_up_after": "10m"}}}


def knock(house, provider_id, answer, ledger):
    """A callback, until it is answered 2xx."""
    while True:
        try:
            reply = house.public.post_form("/callback/sandbox", id=provider_id, code=answer)
            status = reply.status
        except (OSError, http.client.HTTPException):
            status = None
        ledger.noted(provider_id, answer, status)
        if status == 200:
            return
        passes(0.1)


class Nemesis:
    """Kills a process or a consumer every now and then; remembers when whom. Not in a thread: what
    a thread has started dies with it."""

    def __init__(self, house, consumers):
        self.victims = [*house.daemons.values(), *consumers]
        self.luck = random.Random(SEED)
        self.kills = []  # (monotonic ns, name)

    def strike(self):
        passes(self.luck.uniform(0.05, 0.6))
        victim = self.luck.choice(self.victims)
        self.kills.append((time.monotonic_ns(), victim.name))
        victim.kill9()
        passes(self.luck.choice((0, 0, 0.3)))
        victim.start(40)

    def rage(self, futures):
        """Until these are through."""
        while not all(one.done() for one in futures):
            self.strike()
        for one in futures:
            one.result()


def arrivals(house, ledger, answers, chunk):
    """Register these, while their callbacks come; then once more when they have ended."""
    luck = random.Random(chunk[0])
    for provider_id in chunk:
        answer = answers[provider_id]
        task = task_for_certain(house, f"key-{provider_id}", provider="sandbox",
                                provider_id=provider_id)
        ledger.registered(provider_id, task["id"])
    soon, late = chunk[::2], chunk[1::2]  # the late ones are being polled when they are called back
    luck.shuffle(soon)
    for several, pause_s in ((soon, 0), (late, POLLED_S)):
        passes(pause_s)
        for provider_id in several * 2:
            knock(house, provider_id, answers[provider_id], ledger)
    for provider_id in chunk:
        knock(house, provider_id, answers[provider_id], ledger)


def replay(house):
    """All letters, by one job."""
    while True:
        try:
            answer = house.private.post_json("/v1/dead-letters/replay",
                                             {"reason": "unknown_task", "rate": 1000})
            if answer.status == 202:
                return answer.json()["id"]
        except (OSError, http.client.HTTPException):
            pass
        passes(0.2)


def settled(house, name):
    """The tracker has it on disk that this consumer is through with every event. What the consumer
    has heard of that is less, if it was killed just then."""
    consumer = house.get(f"/v1/consumers/{name}")
    return consumer["lag"] == 0 and consumer["pending"] == 0


def test_five_arrivals():
    with House(pollers=2, settings=SETTINGS, profile=PROFILE) as house:
        house.start()
        ledger = Ledger()
        ids = house.submit(TASKS, fate="drop", solve=0.01)
        answers = {entry["id"]: entry["answer"] for entry in house.provider_ledger().values()}
        consumers = consumers_of(house, CONSUMERS)
        for consumer in consumers:
            consumer.start()
        try:
            run(house, ledger, ids, answers, consumers)
        finally:
            for consumer in consumers:
                consumer.clean()


def run(house, ledger, ids, answers, consumers):
    chunks = [ids[at:at + 20] for at in range(0, len(ids), 20)]
    nemesis = Nemesis(house, consumers)
    with concurrent.futures.ThreadPoolExecutor(THREADS) as pool:
        nemesis.rage([pool.submit(knock, house, one, answers[one], ledger) for one in ids])
        nemesis.rage([pool.submit(replay, house),
                      *(pool.submit(arrivals, house, ledger, answers, chunk) for chunk in chunks),
                      pool.submit(replay, house)])
    verdict = judge(house, ledger, 120)
    events = {(event["lane"], event["seq"]) for event in house.events()}
    assert len(events) == TASKS
    until(lambda: all(settled(house, name) for name in CONSUMERS), 60,
          lambda: house.get("/v1/consumers"))
    heard = {name: Heard(house, name, count) for name, (_, count) in CONSUMERS.items()}
    assert all(one.got() == events for one in heard.values())
    again = {name: one.demand(nemesis.kills, CONSUMERS[name][0] == "ordered")
             for name, one in heard.items()}
    tally("five arrivals", seed=SEED, kills=len(nemesis.kills), tasks=TASKS, delivered_again=again)
    print(verdict)
    assert len(nemesis.kills) >= TASKS / 300
    assert set(verdict.sources) >= {"callback", "replay"}, verdict
    until(lambda: not house.dead_letters(reason="unknown_task"), 60,
          lambda: f"{len(house.dead_letters(reason='unknown_task'))} letters stay open")
    until(lambda: house.aldaba("audit", "--deep").returncode == 0, 20,
          lambda: house.aldaba("audit", "--deep").stdout)
