"""The dashboard before a large store: ALDABA_TASKS tasks (20,000; try 1000000) and 10,000 dead letters. Each
view shows a page of it, soon; and all that match are replayed, however many they are."""
import os
import time

import pytest
from support import bus
from support.browser import Browser
from support.house import House
from support.peers import Sender
from support.until import until

TASKS = int(os.environ.get("ALDABA_TASKS", "20000"))
LETTERS = 10000
SOON_S = 5  # from a click to what was asked for, on a busy machine too
BATCH = 200
SENDER = "01JDLARGE00000000000000001"
CALM = {"callback": {"stale_after": "4h", "parked_for": "200ms", "quota_count": 100000},
        "poll": {"schedule": {"give_up_after": "24h"}}}
SETTINGS = {"dlq": {"first_after": "1h", "max_after": "1h", "tick": "50ms", "quota_count": 100000}}


def register(house, count):
    """So many tasks, asked for side by side."""
    with bus.Channel(house.run, "query") as query:
        for first in range(0, count, BATCH):
            asked = [query.tell("register", provider="sandbox", provider_id=f"t{n}", key=f"key-{n}")
                     for n in range(first, min(first + BATCH, count))]
            answers = {head["req"]: head["rc"] for head, *_ in
                       (query.receive(60) for _ in asked)}
            assert set(answers) == set(asked) and set(answers.values()) == {"ok"}, answers


def send_letters(house, count):
    """Callbacks of tasks that nobody knows."""
    with bus.Channel(house.run, "events") as channel:
        gateway = Sender(channel, SENDER).hello()
        for first in range(0, count, BATCH):
            got = gateway.deliver(*((n + 1, f"p{n}", f"answer{n}")
                                    for n in range(first, first + BATCH)))
            assert set(got) == {"parked"}, got
    until(lambda: house.get("/v1/status")["dlq"]["reason.unknown_task"] == count, 300,
          lambda: house.get("/v1/status")["dlq"])


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM, settings=SETTINGS) as one:
        one.start()
        register(one, TASKS)
        send_letters(one, LETTERS)
        yield one


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


def soon(what, work):
    """Do it, and tell how long it took."""
    begun = time.monotonic()
    work()
    took = time.monotonic() - begun
    print(f"{what}: {1000 * took:.0f} ms")
    assert took < SOON_S, (what, took)


def test_large(browser, house):
    page = browser

    def look(hash_, **what):
        page.go(hash_)
        page.wait(**what)

    soon("open", lambda: (page.open(house.private.url + "/"), page.wait(css="[data-tile=Books]")))
    until(lambda: page.text(css="[data-tile='Dead letters'] .figure") == f"{LETTERS:,}", SOON_S,
          "another number")
    soon("tasks", lambda: look("#/tasks", text="page 1"))
    assert page.count(css="tbody tr") == 50
    for number in range(2, 6):
        soon(f"page {number} of tasks", lambda: (page.click(role="button", name="Next"),
                                                 page.wait(text=f"page {number}"),
                                                 page.wait(css="tbody tr")))
    soon("tasks of a state", lambda: look("#/tasks?state=pending", text="page 1"))
    for key in (0, TASKS // 2, TASKS - 1):
        page.go("#/tasks")
        page.fill(label="Find a task", value=f"key-{key}")
        soon("a task by its key", lambda: (page.press(key="Enter"),
                                           page.wait(css=".timeline li")))
        assert f"t{key}" in page.text(css=".facts")
    soon("letters", lambda: look("#/letters", role="link", name="unknown_task"))
    page.wait(role="button", name="Next")
    assert f"{LETTERS:,}" in page.text(css="[aria-label='Groups of dead letters'] tbody tr")
    assert page.count(css="[aria-label='Dead letters'] tbody tr") == 50
    soon("a text in one of them", lambda: (page.go("#/letters?q=answer9999"), until(
        lambda: page.count(css="[aria-label='Dead letters'] tbody tr") == 1, SOON_S, "another number")))
    page.go("#/letters?reason=unknown_task")
    page.click(role="button", name="Replay all that match")
    page.check(role="radio", name="Believe it")
    page.fill(label="Letters a second", value="1000")
    page.click(role="button", name="Dry run")
    page.wait(css=".progress progress")
    replay = page.hash().rpartition("/")[2]
    until(lambda: house.get(f"/v1/replays/{replay}")["state"] == "done", 120,
          lambda: house.get(f"/v1/replays/{replay}"))
    page.wait(text=f"{LETTERS:,} of {LETTERS:,} (100 %)")
    page.wait(css="[aria-label=Results] tbody tr")
    assert page.texts(css="[aria-label=Results] tbody tr td:first-child") == [f"{LETTERS:,}"]
    page.quiet(house.private.url)
