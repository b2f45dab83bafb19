"""What went wrong for others, played on a whole aldaba. Each test names its numbers in
tests/contract/field-cases.jsonl; cases that need no processes are rows of the unit tests."""
import itertools

import pytest
from support import bus
from support.house import House
from support.ledger import Ledger, settle
from support.seen import arrivals, knock, more, only_event
from support.settings import free_port
from support.stub import Stub
from support.until import passes, stays, until

SOON_S = 5
CALM = {"callback": {"stale_after": "120s", "plus": "auto"},  # no task is polled during its test
        "poll": {"schedule": {"give_up_after": "300s"}}}
FORM = "Content-Type: application/x-www-form-urlencoded"


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM) as one:
        yield one.start()


@pytest.fixture
def task(house):
    """A task with a token URL: its id, provider id and path."""
    made = house.reserve()
    provider_id = house.submit(1, fate="drop", answer="polled", solve=0)[0]
    house.attach(made["id"], provider_id)
    path = made["callback_url"].removeprefix(house.public.url)
    return {"id": made["id"], "provider_id": provider_id, "path": path}


def polling(url=None, **schedule):
    """A profile that polls soon and often."""
    pace = {"first_after": "200ms", "every": "100ms", "backoff": "100%", "max_every": "200ms",
            **schedule}
    poll = {"schedule": pace, **({"request": {"url": url}} if url else {})}
    return {"poll": poll, "callback": {"stale_after": "200ms"}}


def polls_by_result(house):
    """{word: polls that ended so}, over all pollers."""
    found = {}
    for name, value in house.metrics().items():
        if name.startswith("aldaba_polls_total{"):
            word = name.partition('result="')[2].partition('"')[0]
            found[word] = found.get(word, 0) + int(value)
    return found


# ---- polls that never arrive, polls that bring nonsense ----


def test_refused_connections_end_no_task():
    """15: nobody listens at the provider; then somebody does, and has the answer."""
    port = free_port()
    with House(profile=polling(f"http://127.0.0.1:{port}/res.php", max_requests=3)) as house:
        house.start()
        task = house.register("4711")
        until(lambda: sum(polls_by_result(house).values()) >= 8, 15, "it is not polled")
        assert house.task(task["id"])["state"] in ("pending", "polling")
        with Stub(lambda _: b"OK|from the stub", port):  # the answer to everything
            ended = house.ended(task["id"], 15)
        assert (ended["state"], ended["source"], ended["result"]) == ("done", "poll",
                                                                      "from the stub")
        assert house.poller1.starts == 1 and house.poller1.alive()


def test_names_that_do_not_resolve_use_no_budget():
    """16: what never left for the provider is no request: max_requests is not used up."""
    with House(profile=polling("http://provider.invalid/res.php", max_requests=2)) as house:
        house.start()
        task = house.register("4711")
        until(lambda: sum(polls_by_result(house).values()) >= 6, 30, "it does not try again")
        shown = house.task(task["id"])
        assert shown["state"] in ("pending", "polling") and shown["polls"] == 0
        knock(house, "4711", "called-back")
        assert only_event(house, task["id"])["result"] == b"called-back"


def test_a_provider_that_is_down_is_asked_again_and_never_charged_again():
    """18, 1, 7: a long row of 502s, then the answer; nothing is submitted a second time."""
    with House(profile=polling(max_requests=50)) as house:
        house.start()
        provider_id = house.submit(1, fate="drop", solve=0, answer="at last",
                                   moods=",".join(["html502"] * 20))[0]
        task = house.register(provider_id)
        ended = house.ended(task["id"], 30)
        assert (ended["state"], ended["result"]) == ("done", "at last")
        stats = house.provider_stats()
        assert stats["moods"]["html502"] == 20 and stats["polls"] == 21
        assert "/in.php" not in stats["requests"]
        assert polls_by_result(house)["unknown"] == 20


def test_unknown_codes_are_kept_and_the_deadline_ends_the_task():
    """13, 14, 19, 21: a word that nobody knows is asked again until the deadline; then one event
    says that it is over, and with which word."""
    with House(settings={"tracker": {"last_poll_grace": "2s"}},
               profile=polling(max_requests=5, give_up_after="3s")) as house:
        house.start()
        tasks = {}
        for mood in ("error*", "notready*", "empty*", "html200*"):
            provider_id = house.submit(1, fate="drop", solve=0, moods=mood)[0]
            tasks[mood] = house.register(provider_id)["id"]
        for mood, task_id in tasks.items():
            ended = house.ended(task_id, 20)
            assert (ended["state"], ended["result"]) == ("expired", None), (mood, ended)
        said = [note["text"] for note in house.task(tasks["error*"])["timeline"]]
        assert any("ERROR_SOMETHING_NEW" in text for text in said), said
        stays(lambda: len(house.events()) == len(tasks), 1, "an end was published twice")
        assert len(house.dead_letters(reason="expired")) == len(tasks)
        assert house.aldaba("audit").returncode == 0


def test_all_callbacks_stop():
    """69, 78, 24: from one moment on no callback comes. The polls carry the load, within what
    each task may ask; the books show where results come from."""
    with House(profile=polling(max_requests=5)) as house:
        house.start()
        ledger = Ledger()
        for provider_id in house.submit(20) + house.submit(150, fate="drop", solve=0.3):
            ledger.registered(provider_id, house.register(provider_id)["id"])
        verdict = settle(house, ledger).demand()
        assert verdict.sources["poll"] >= 150
        results = house.books()["results"]
        assert results["poll"] == verdict.sources["poll"]
        assert results["callback"] + results["late"] == len(ledger.tasks) - results["poll"]
        metrics = house.metrics()
        exported = {name.partition('ledger="results.')[2].partition('"')[0]: value
                    for name, value in metrics.items() if 'ledger="results.' in name}
        assert exported["poll"] == results["poll"]
        polls = [entry["polls"] for entry in house.provider_ledger().values()]
        assert max(polls) <= 5 + 1, "a task asked more often than it may"


# ---- nobody to ask ----


def taken_in_silence():
    """A provider that takes each job with 202, and never says another word."""
    numbers = itertools.count(1)
    return Stub(lambda _: (202, {"job_id": f"j{next(numbers)}"}))


def silent_profile(port):
    """It has no address to ask at, so its profile says what is done when the callback is late."""
    return {"secrets": {}, "id": {"max_len": 64}, "poll": "none", "recover": {"on_stale": "alert"},
            "codes": {"_default": {"class": "unknown"}},
            "submit": {"request": {"method": "POST", "url": f"http://127.0.0.1:{port}/jobs",
                                   "encode": "json"},
                       "callback_param": {"in": "body", "name": "webhook"},
                       "rules": [{"when": [{"http": "2xx"}, {"json": "/job_id", "is": "scalar"}],
                                  "then": "accepted", "id": {"json": "/job_id"}}]},
            "callback": {"body": "json", "id": {"json": "/job_id"}, "auth": {"url_token": "path"},
                         "trust": "token", "stale_after": "1s",
                         "rules": [{"when": [{"json": "/text", "is": "present"}], "then": "done",
                                    "result": {"json": "/text"}}]}}


def test_nobody_can_be_asked_and_no_callback_comes():
    """24: taken with 202, then silence. It is said when the callback is late, once; nothing is sent
    again, and the task ends at its deadline, with one event and one letter."""
    with taken_in_silence() as server, House(settings={
            "tracker": {"last_poll_grace": "1s"},
            "providers": {"silent": silent_profile(server.server_port)}}) as house:
        house.start()
        made = house.post("/v1/tasks", {"provider": "silent", "params": {"media_url": "x"},
                                        "give_up_after": "6s"})

        def notes(what):
            return [note for note in house.task(made["id"])["timeline"] if note["what"] == what]

        until(lambda: notes("late"), SOON_S, lambda: house.task(made["id"]))
        shown = house.task(made["id"])
        assert (shown["state"], shown["provider_id"]) == ("pending", "j1")
        assert sum("ev=task.late" in line for line in house.tracker.lines()) == 1
        assert [value for name, value in house.metrics().items()
                if name.startswith("aldaba_tasks_late_total{") and 'provider="silent"' in name] == [1]
        ended = house.ended(made["id"], 20)
        assert (ended["state"], ended["source"], ended["polls"]) == ("expired", "expired", 0)
        assert len(notes("late")) == 1 and len(server.heard) == 1
        assert len(house.events_of(made["id"])) == 1
        letters = until(lambda: house.dead_letters(task=made["id"]), SOON_S, "no letter")
        assert [letter["reason"] for letter in letters] == ["expired"]
        assert house.aldaba("audit").returncode == 0


# ---- order and copies ----


def test_a_late_word_that_is_no_end_changes_nothing(house):
    """31: `done`, then `not ready`."""
    provider_id = house.submit(1, fate="drop", solve=600)[0]
    task = house.register(provider_id)
    before = arrivals(house)
    knock(house, provider_id, "the-end")
    knock(house, provider_id, "CAPCHA_NOT_READY")
    assert only_event(house, task["id"])["result"] == b"the-end"
    assert more(arrivals(house), before) == {"received": 2, "applied": 1, "duplicate": 1}
    assert not house.dead_letters(task=task["id"])


def test_a_second_copy_later(house):
    """36: 200 to both, one event, one duplicate."""
    provider_id = house.submit(1, fate="drop", solve=600)[0]
    task = house.register(provider_id)
    before = arrivals(house)
    knock(house, provider_id, "twice")
    only_event(house, task["id"])
    passes(0.3)
    knock(house, provider_id, "twice")
    only_event(house, task["id"])
    assert more(arrivals(house), before) == {"received": 2, "applied": 1, "duplicate": 1}


def test_a_copy_after_everything_was_restarted_and_the_task_was_purged():
    """32: the provider tries again a day later; the task may be gone by then, its memory is not."""
    with House(profile=CALM, settings={"store": {"keep_results": "1s", "keep_evidence": "1s"}}) \
            as house:
        house.start()
        provider_id = house.submit(1, fate="drop", solve=600)[0]
        task = house.register(provider_id)
        knock(house, provider_id, "a-day-ago")
        only_event(house, task["id"])
        house.tracker.restart()
        house.until_serving()
        knock(house, provider_id, "a-day-ago")
        gone = f"/v1/tasks/{task['id']}"
        until(lambda: house.private.get(gone).status in (404, 410), 30, "it is never purged")
        house.tracker.restart()
        house.until_serving()
        knock(house, provider_id, "a-day-ago")
        assert more(arrivals(house), dict.fromkeys(arrivals(house), 0)) == {
            "received": 3, "applied": 1, "duplicate": 2}
        assert house.aldaba("audit").returncode == 0


def test_callbacks_and_polls_at_the_same_moment():
    """33: two copies on two connections while a poll brings the same answer."""
    profile = {"callback": {"stale_after": "1s"}}
    with House(pollers=2, profile=profile, sandbox=("--pingback", "mixed")) as house:
        house.start()
        ledger = Ledger()
        for provider_id in house.submit(150, fate="double", solve=1):
            ledger.registered(provider_id, house.register(provider_id)["id"])
        verdict = settle(house, ledger).demand()
        assert verdict.acknowledged == 300
        assert sum(verdict.sources.values()) == 150
        assert not house.dead_letters(reason="conflict")


def test_pending_callback_and_then_silence():
    """37: the first word is no end; the polls go on watching."""
    with House() as house:
        house.start()
        provider_id = house.submit(1, fate="drop", solve=1.5, answer="polled")[0]
        task = house.register(provider_id)
        before = arrivals(house)
        knock(house, provider_id, "CAPCHA_NOT_READY")
        assert more(arrivals(house), before) == {"received": 1, "progress": 1}
        ended = house.ended(task["id"], 15)
        assert (ended["source"], ended["result"]) == ("poll", "polled")


# ---- the wire ----


def test_more_bytes_than_declared(house, task):
    """66: 16 bytes are declared and 60 come: 16 are the body, and the rest is no callback."""
    body = f"code=ab&id={task['provider_id']}".encode()
    extra = b"x" * 44 + b"\r\n\r\n"
    before = arrivals(house)
    head = f"POST {task['path']} HTTP/1.1\r\nHost: x\r\n{FORM}\r\nContent-Length: {len(body)}\r\n"
    answer = house.public.raw(head.encode() + b"Connection: keep-alive\r\n\r\n" + body + extra,
                              half_close=True)
    assert answer.startswith(b"HTTP/1.1 200 ")
    assert only_event(house, task["id"])["result"] == b"ab"
    assert more(arrivals(house), before) == {"received": 1, "applied": 1}
    assert house.gateway.starts == 1 and house.gateway.alive()


@pytest.mark.parametrize("lost", ["?myId=1", "/?myId=1"])
def test_parameters_get_lost(house, task, lost):
    """68, 62, 63: of the URL's own parameters only the first comes back, or none at all. The task
    is known from the path, and is polled."""
    assert house.public.get(task["path"] + lost).status == 200
    ended = house.ended(task["id"], SOON_S)
    assert (ended["source"], ended["result"]) == ("poll", "polled")
    assert house.public.get("/callback" + lost).status in (400, 404), "no id is no callback"


def test_parameters_of_our_own_url_survive(house):
    """68: the caller's parameters in the URL do not hide the provider's."""
    made = house.reserve()
    url = made["callback_url"] + "?myId=1&myCat=2"
    for method in ("get", "post"):
        provider_id = house.submit(1, pingback=url, method_of_pingback=method, answer="same",
                                   solve=0.05)[0]
        until(lambda: house.provider_ledger()[provider_id]["callbacks"], SOON_S, "no callback")
        house.until_provider_rests()
        calls = house.provider_ledger()[provider_id]["callbacks"]
        assert [call["status"] for call in calls] == [200]
    assert house.events_of(made["id"])[0]["result"] == b"same"


@pytest.mark.parametrize("size_kib", [136, 1500])
def test_bodies_over_the_limit_of_a_profile(size_kib):
    """59, 60: 413 before the body is read; the token names the task, whose poll comes forward,
    once the tracker is there to hear of it."""
    profile = {"callback": {"stale_after": "120s", "max_body": "100KiB"},
               "poll": {"schedule": {"give_up_after": "300s"}}}
    with House(profile=profile) as house:
        house.start()
        for away in (False, True):
            made = house.reserve()
            provider_id = house.submit(1, fate="drop", answer="polled", solve=0)[0]
            house.attach(made["id"], provider_id)
            path = made["callback_url"].removeprefix(house.public.url)
            if away:
                house.tracker.kill9()
            head = (f"POST {path} HTTP/1.1\r\nHost: x\r\n{FORM}\r\n"
                    f"Content-Length: {size_kib << 10}\r\n\r\n").encode()
            assert house.public.raw_status(head + b"code=cut") == 413
            if away:
                house.tracker.start()
                house.until_serving()
            ended = house.ended(made["id"], 15)
            assert (ended["source"], ended["result"]) == ("poll", "polled")


# ---- what 200 means ----


@pytest.mark.parametrize("tracker", ["there", "away"])
def test_killed_right_after_the_answer(tracker):
    """71, 72: the gateway is killed the moment its 200 is read, with the tracker there and away."""
    with House(profile=CALM) as house:
        house.start()
        tasks = {}
        for provider_id in house.submit(8, fate="drop", solve=600):
            tasks[provider_id] = house.register(provider_id)["id"]
        if tracker == "away":
            house.tracker.kill9()
        for provider_id in tasks:
            knock(house, provider_id, f"kept-{provider_id}")
            house.gateway.kill9()
            house.gateway.launch().until_ready()
        if tracker == "away":
            house.tracker.start()
        house.until_serving()
        for provider_id, task_id in tasks.items():
            ended = house.ended(task_id, 20)
            assert (ended["state"], ended["result"]) == ("done", f"kept-{provider_id}")
        assert house.aldaba("audit").returncode == 0


# ---- dead letters ----


def test_a_letter_that_never_helps_is_held():
    """28, 74, 77: an unknown id is answered 200, parked, and becomes a letter. Its attempts are
    counted over kills of the dlq and the tracker; after the last one it is held, once."""
    settings = {"dlq": {"first_after": "300ms", "factor": "100%", "max_after": "300ms",
                        "jitter": "0%", "tick": "50ms", "max_attempts": 4}}
    with House(settings=settings, profile={"callback": {"parked_for": "500ms"}}) as house:
        house.start()
        knock(house, "never registered", "X")
        letter = until(lambda: house.dead_letters(reason="unknown_task"), 10, "no letter")[0]["id"]
        most = 0
        for victim in (house.dlq, house.tracker):
            victim.restart()
            house.until_serving()
            attempts = house.get(f"/v1/dead-letters/{letter}")["attempts"]
            assert attempts >= most, "an attempt was forgotten"
            most = attempts
        held = until(lambda: house.dead_letters(state="held"), 20, "it is never held")
        assert [one["id"] for one in held] == [letter]

        def shown():
            return house.get(f"/v1/dead-letters/{letter}")

        assert [one["outcome"] for one in shown()["history"]] == ["still"] * 4
        stays(lambda: shown()["attempts"] == 4, 1, "it goes on")
        assert len(house.dead_letters()) == 1 and arrivals(house)["dead"] == 1
        # a person may still try, and that counts on
        house.register("never registered")
        house.post(f"/v1/dead-letters/{letter}/replay", {})
        until(lambda: not house.dead_letters(), 10, "the replay did not help")
        assert shown()["attempts"] == len(shown()["history"]) == 5
        assert house.aldaba("audit").returncode == 0


def test_a_letter_is_counted_when_it_is_handed_out():
    """75: who gets the letter dies with it in hand. The attempt is on disk before it is sent, not
    when it has failed: also over a kill of the dlq it is neither forgotten nor counted twice."""
    settings = {"dlq": {"first_after": "1h", "tick": "50ms", "max_attempts": 2}}
    with House(settings=settings, profile={"callback": {"parked_for": "300ms"}}) as house:
        house.start()
        knock(house, "never registered", "X")
        letter = until(lambda: house.dead_letters(reason="unknown_task"), 10, "no letter")[0]["id"]

        def ask(kind):
            with bus.Channel(house.run, "letters") as desk:
                return desk.ask(kind, letter=letter)

        def attempts():
            return ask("letter.show")[1].get("attempts", 0)

        until(lambda: ask("letter.show")[0]["rc"] == "ok", 10, "it does not come to the dlq")
        assert ask("letter.replay")[0]["rc"] == "ok"
        until(lambda: len(house.get(f"/v1/dead-letters/{letter}")["history"]) == 1, 10, "no answer")
        assert attempts() == 1
        house.tracker.pause()  # it takes what it is sent, and gets no further
        assert ask("letter.replay")[0]["rc"] == "ok"
        until(lambda: attempts() == 2, 10, "it is not handed out")
        house.tracker.kill9()
        house.dlq.restart()
        assert attempts() == 2
        house.tracker.start()
        house.until_serving()
        held = until(lambda: house.dead_letters(state="held"), 20, "it is never held")
        assert [one["id"] for one in held] == [letter] and held[0]["attempts"] == 2
        history = house.get(f"/v1/dead-letters/{letter}")["history"]
        assert [one["outcome"] for one in history] == ["still"] * 2
        assert house.aldaba("audit").returncode == 0
