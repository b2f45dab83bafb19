"""The dashboard in a real Chromium, before a whole aldaba: what each view shows is what the API says, and
each command does what its button says. The oracle is the API, asked beside the page."""
import json
import pathlib
import time

import pytest
from support.browser import Browser
from support.house import House
from support.until import until

SOON_S = 20
SHOTS = pathlib.Path(__file__).resolve().parents[2] / "build/browser/shots"
CALM = {"callback": {"stale_after": "300s", "parked_for": "200ms"},
        "poll": {"schedule": {"give_up_after": "600s"}}}
BY_HAND = {"dlq": {"first_after": "1h", "max_after": "1h", "tick": "50ms"}}
EVIL = "<script>document.title='gone'</script><img src=x onerror=\"document.title='gone'\">"
KINDS = {"light": {"scheme": "light"}, "dark": {"scheme": "dark"},
         "narrow": {"width": 390, "height": 844}}
VIEWS = ("#/", "#/tasks", "#/letters", "#/replays", "#/providers", "#/consumers", "#/actions")


@pytest.fixture(scope="module")
def browser():
    with Browser() as one:
        yield one


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM, settings=BY_HAND) as one:
        yield one.start()


@pytest.fixture
def page(browser, house):
    """The page, freshly opened; it may say nothing on its console and ask nobody else."""
    browser.open(house.private.url + "/")
    browser.wait(css="[data-live=live]")
    yield browser
    browser.quiet(house.private.url)


def token_task(house):
    """A task with a URL of its own: (id, provider id, path)."""
    made = house.reserve()
    provider_id = house.submit(1, fate="never")[0]
    house.attach(made["id"], provider_id)
    return made["id"], provider_id, made["callback_url"].removeprefix(house.public.url)


def letters(house, count):
    """Letters about a code that nobody knows, of tasks of their own, newest first, once the dlq has
    them: [(letter, task, provider's id)]."""
    tasks = {}
    for _ in range(count):
        task, provider_id, path = token_task(house)
        assert house.public.get(path, id=provider_id, code="ERROR_NOBODY_KNOWS").status == 200
        tasks[task] = provider_id
    def look():
        found = [one for one in house.dead_letters(reason="unmapped_status")
                 if one["task"] in tasks and one["outcome"] != "outbox"]
        return found if len(found) == count else None
    found = until(look, SOON_S, f"not {count} letters")
    return [(one["id"], one["task"], tasks[one["task"]]) for one in found]


def letter(house, id_):
    return house.get(f"/v1/dead-letters/{id_}")


def until_state(house, id_, state):
    until(lambda: letter(house, id_)["state"] == state, SOON_S, lambda: str(letter(house, id_)))


def faked(value, status=200):
    """An answer of the driver's, in the place of the gateway's."""
    return {"status": status, "body": value if isinstance(value, str) else json.dumps(value)}


def button(page, name, **more):
    page.click(role="button", name=name, **more)


def tile(page, name):
    return page.text(css=f"[data-tile='{name}'] .figure")


def newest_action(house):
    return house.get("/v1/actions", limit=1)["actions"][0]


# ---- what is shown ----


def test_example(page, house):
    """A task is found by its key, with all that happened to it."""
    provider_id = house.submit()[0]
    task = house.register(provider_id, key="order-16")["id"]
    house.ended(task)
    page.click(role="link", name="Tasks")
    page.fill(label="Find a task", value="order-16")
    page.press(key="Enter")
    page.wait(role="heading", name=f"Task {task}")
    page.wait(css=".timeline li")
    shown = page.texts(css=".timeline li")
    told = house.task(task)["timeline"]
    assert len(shown) == len(told) >= 3
    for line, fact in zip(shown, told):
        assert fact["what"] in line and fact["text"] in line
    assert house.task(task)["result"] in page.text(css=".bytes pre")


def test_the_overview_is_the_status(page, house):
    task = house.reserve()["id"]
    for name, of in (("Open tasks", lambda s: s["tasks"]["open"]),
                     ("Pollers", lambda s: s["status"]["pollers"]),
                     ("Dead letters", lambda s: s["dlq"]["open"] + s["dlq"]["held"]),
                     ("Spool", lambda s: s["spool"]["items"]),
                     ("Parked", lambda s: s["status"]["parked"])):
        until(lambda: tile(page, name) == f"{of(house.get('/v1/status')):,}", SOON_S,
              lambda: f"{name}: {tile(page, name)}")
    oldest = str(house.get("/v1/status")["status"]["oldest_open"])
    page.wait(css=f"[data-tile='Oldest open task'] a[href='#/tasks/{oldest}']")
    assert "balanced" in tile(page, "Books")
    button(page, "Compare all")
    page.wait(text="all four ledgers were compared")
    assert house.audit()["balanced"]
    house.cancel(task)


def watched(status):
    """An answer to /v1/watch that says this and ends."""
    return faked(f"event: status\ndata: {json.dumps(status)}\n\n")


def test_books_that_do_not_balance_any_more(browser, house):
    """Also where all were compared before."""
    status = house.get("/v1/status")
    browser.open(house.private.url + "/", faked={"/v1/watch": watched(status)})
    button(browser, "Compare all")
    browser.wait(text="all four ledgers were compared")
    assert "not balanced" not in tile(browser, "Books")
    status["status"]["balanced"] = "tasks made, and open and ended"
    browser.fake(path="/v1/watch", **watched(status))
    browser.wait(css="[data-tile=Books].bad")
    assert "not balanced" in tile(browser, "Books")
    browser.wait(text="tasks made, and open and ended")


def test_rates_by_net(page, house):
    page.wait(css=".plot canvas")
    for provider_id in house.submit(20):
        house.register(provider_id)
    until(lambda: page.text(css="[data-net=callback]") not in ("–", "0.0"), SOON_S, "no rate")
    assert page.text(css="[data-net=replay]") in ("–", "0.0")


def test_who_is_away_is_said(page, house):
    house.tracker.pause()
    try:
        page.wait(text="The tracker does not answer")
    finally:
        house.tracker.resume()
    page.wait(css="[data-tile='Open tasks']")
    page.wait(text="The tracker does not answer", gone=True)


def test_the_page_comes_back_by_itself(browser, house):
    """Its gateway is killed and started again: what the console says of that is the browser's."""
    browser.open(house.private.url + "/")
    browser.wait(css="[data-live=live]")
    house.gateway.kill9()
    browser.wait(css="[data-live=lost]")
    house.gateway.start()
    browser.wait(css="[data-live=live]")


def test_a_silent_gateway_is_not_live(browser, house):
    """It stands still, and its connections stay."""
    browser.open(house.private.url + "/")
    browser.wait(css="[data-live=live]")
    house.gateway.pause()
    try:
        until(lambda: browser.count(css="[data-live=lost]") == 1, 3 * SOON_S, "it is called live")
    finally:
        house.gateway.resume()
    browser.wait(css="[data-live=live]")


@pytest.mark.parametrize("how", ["id", "provider_id", "key"])
def test_a_task_is_found(page, house, how):
    task = house.register(house.submit(1, fate="never")[0], key=f"order-{how}")
    page.go("#/tasks")
    page.fill(label="Find a task", value=f"  {task[how]} ")
    button(page, "Find")
    page.wait(role="heading", name=f"Task {task['id']}")
    assert page.hash() == f"#/tasks/{task['id']}"
    assert page.title() == f"Task {task['id']} · aldaba"


def test_nothing_is_found(page):
    page.go("#/tasks")
    page.fill(label="Find a task", value="no such key")
    button(page, "Find")
    page.wait(text="No task has no such key as its id")


def test_a_json_result_is_shown_to_the_digit(browser, house):
    """Also when it could not be had at first, and when a correction takes its place."""
    task = house.ended(house.register(house.submit()[0])["id"])
    of, result = f"/v1/tasks/{task['id']}", f"/v1/tasks/{task['id']}/result"
    told = {**task, "result": {"n": 1}, "result_type": "json", "position": "1:1",
            "trace": "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"}
    shown = "[aria-label=Result]"
    browser.open(f"{house.private.url}/#/tasks/{task['id']}", faked={
        of: faked(told), result: faked({"detail": "Not now."}, 503)})
    browser.wait(text="Not now.")
    assert told["trace"] in browser.text(css=".facts")
    browser.fake(path=result, **faked('{"n":12345678901234567890,"list":[],"of":[1.50]}'))
    button(browser, "Ask for the result again")
    browser.wait(css=shown)
    assert browser.text(css=shown) == \
        '{\n  "n": 12345678901234567890,\n  "list": [],\n  "of": [\n    1.50\n  ]\n}'
    browser.fake(path=result, **faked("2"))
    browser.fake(path=of, **faked({**told, "result": 2, "position": "1:2", "corrects": "1:1"}))
    until(lambda: browser.text(css=shown) == "2", SOON_S, lambda: browser.text(css=shown))


VALUES = [{}, [], [[]], {"a": {}}, {"a": [1, {"b": None}], "c": "}],{[\\\": "}, "text", 10 ** 30, True,
          [["", "\\", '"', "ü\n"], [-1, 2]]]


def test_json_is_laid_out(page):
    for value in VALUES:
        text = json.dumps(value, separators=(",", ":"))
        assert page.call(module="/ui/format.js", name="layOut", args=[text]) == json.dumps(value, indent=2)


def test_a_member_is_cut_out(page):
    def cut(text):
        return page.call(module="/ui/format.js", name="member", args=[text, "own"])

    for value in VALUES:
        around = json.dumps({"a": {"own": 1}, "b": "own", "own": value, "c": ["own", ":"]})
        assert cut(around) == json.dumps(value)
        assert cut(json.dumps({"own": value}, indent=1)) == json.dumps({"own": value}, indent=1)[10:-2]
    assert cut('{"a":{"own":1},"b":["own",{"own":2}]}') is None and cut("{}") is None


@pytest.mark.parametrize("value", [[{"word": "w", "at": n} for n in range(100000)], "x" * (8 << 20)],
                         ids=["many", "long"])
def test_large_json_is_laid_out_soon(page, value):
    begun = time.monotonic()
    assert page.call(module="/ui/format.js", name="layOut", args=[json.dumps(value)]) == json.dumps(value, indent=2)
    assert time.monotonic() - begun < SOON_S


def test_lists_have_pages(page, house):
    """Rows that come meanwhile move nothing."""
    for provider_id in house.submit(60, fate="never"):
        house.register(provider_id)
    page.go("#/tasks?state=pending")
    page.wait(text="page 1")
    first = page.texts(css="tbody tr td:first-child")
    assert len(first) == 50
    house.register(house.submit(1, fate="never")[0])
    page.wait(role="button", name="Next")
    button(page, "Next")
    page.wait(text="page 2")
    page.wait(css="[aria-label=Tasks]")
    second = page.texts(css="tbody tr td:first-child")
    assert second and set(second).isdisjoint(first)
    button(page, "Back")
    page.wait(text="page 1")


def test_a_task_is_cancelled(page, house):
    task = house.register(house.submit(1, fate="never")[0])["id"]
    page.go(f"#/tasks/{task}")
    button(page, "Cancel it…")
    button(page, "Cancel", exact=True)  # no: the dialog is left
    assert house.task(task)["state"] == "pending"
    button(page, "Cancel it…")
    button(page, "Stop waiting")
    page.wait(text=f"Task {task} is cancelled.")
    assert house.task(task)["state"] == "cancelled"
    page.wait(css=".facts .state.rest")
    assert page.count(role="button", name="Cancel it…") == 0
    action = newest_action(house)
    assert (action["what"], action["of"], action["by"]) == (
        "POST /v1/tasks/{id}/cancel", task, "dashboard")


# ---- dead letters ----


def test_groups_and_their_filter(page, house):
    made = letters(house, 2)
    page.go("#/letters")
    page.wait(role="link", name="unmapped_status")
    told = {(one["reason"], f"{one['count']:,}", one["cause"])
            for one in house.get("/v1/dead-letters", group=1)["groups"]}
    table = "[aria-label='Groups of dead letters'] tbody tr"
    until(lambda: {tuple(row.split("\t")[:3]) for row in page.texts(css=table)} == told, SOON_S,
          lambda: str((page.texts(css=table), told)))
    page.click(css=f"{table} a", nth=[row.split("\t")[0] for row in page.texts(css=table)]
               .index("unmapped_status"))
    until(lambda: "reason=unmapped_status" in page.hash(), SOON_S, page.hash)
    rows = until(lambda: page.texts(css="[aria-label='Dead letters'] tbody tr"), SOON_S, "no letters")
    assert any(made[0][0] in row for row in rows) and all("unmapped_status" in row for row in rows)


def test_a_letter_is_looked_at_tried_dry_put_right_and_replayed(page, house):
    id_, task, provider_id = letters(house, 1)[0]
    button(page, "dashboard…")
    page.fill(label="Your name", value="ana")
    button(page, "Save")
    page.go(f"#/letters/{id_}")
    page.wait(text="ERROR_NOBODY_KNOWS")
    came = letter(house, id_)["original"]["query"]
    assert page.text(css="[aria-label=Query]") == came

    button(page, "Replay…")
    button(page, "Dry run")
    page.wait(css=".dry")
    assert "would stay" in page.text(css=".dry")
    assert "ERROR_NOBODY_KNOWS" in page.text(css=".dry")
    button(page, "Cancel", exact=True)
    assert letter(house, id_)["attempts"] == 0

    button(page, "Edit…")
    page.fill(label="query", value=f"id={provider_id}&code=put%20right")
    button(page, "Save")
    page.wait(text="Another message stands in its place")
    now = letter(house, id_)
    assert (now["revision"], now["original"]["query"]) == (2, f"id={provider_id}&code=put%20right")
    assert now["timeline"][-1]["by"] == "ana"
    assert house.task(task)["state"] == "pending"
    page.choose(label="Message", value="1")
    until(lambda: page.text(css="[aria-label=Query]") == came, SOON_S, "another message")
    assert page.count(role="button", name="Replay…") == 1
    assert page.count(role="button", name="Edit…") == 0, "an edit would begin with a message of before"
    page.choose(label="Message", value="2")
    until(lambda: page.text(css="[aria-label=Query]") == now["original"]["query"], SOON_S, "another message")
    assert page.count(role="button", name="Edit…") == 1

    button(page, "Replay…")
    button(page, "Dry run")
    page.wait(css=".dry .state.good")
    button(page, "Replay", exact=True)
    page.wait(text="It is tried again")
    assert house.ended(task)["result"] == "put right"
    until_state(house, id_, "resolved")
    page.wait(css=".facts .state.good")
    assert page.count(role="button", name="Replay…") == 0
    assert newest_action(house)["by"] == "ana"


def test_another_ones_edit_is_not_overwritten(page, house):
    id_, _, provider_id = letters(house, 1)[0]
    page.go(f"#/letters/{id_}")
    button(page, "Edit…")
    page.fill(label="query", value="id=1&code=mine")
    answer = house.private.post_json(f"/v1/dead-letters/{id_}", {
        "revision": 1, "by": "ben", "query": f"id={provider_id}&code=his"}, method="PATCH")
    assert answer.status == 200
    page.wait(css="main section select")  # the page behind the dialog has seen it
    button(page, "Save")
    until(lambda: page.count(css="dialog .said .wrong") == 1 or letter(house, id_)["revision"] == 3, SOON_S,
          "nothing is said")
    assert letter(house, id_)["original"]["query"] == f"id={provider_id}&code=his"
    said = page.noise()["console"]
    assert len(said) == 1 and "409" in said[0]  # what Chromium says of any such answer
    page.open(house.private.url + "/")


def test_what_strangers_send_is_text(page, house):
    _, _, path = token_task(house)
    assert house.public.request("POST", path, EVIL.encode(), {
        "Content-Type": "application/json"}).status == 200
    id_ = until(lambda: [one for one in house.dead_letters(reason="malformed", q="onerror")
                         if one["outcome"] != "outbox"], SOON_S, "no letter")[0]["id"]
    page.go(f"#/letters/{id_}")
    page.wait(css="[aria-label=Body]")
    assert page.text(css="[aria-label=Body]") == EVIL
    assert page.count(css="pre *") == 0 and page.title() == f"Dead letter {id_} · aldaba"


def test_a_message_that_is_no_callback_is_shown(browser, house):
    told = letter(house, letters(house, 1)[0][0])
    told.pop("original")
    of = f"/v1/dead-letters/{told['id']}"
    browser.open(f"{house.private.url}/#/letters/{told['id']}", faked={
        of: faked({**told, "original_base64": "AAEC"})})
    browser.wait(css="[aria-label=Message]")
    assert browser.text(css="[aria-label=Message]") == "AAEC"


def test_an_event_is_shown_to_the_digit(browser, house):
    told = letter(house, letters(house, 1)[0][0])
    told.pop("original")
    event = {"of": {"event": [1]}, "n": 12345678901234567890}
    browser.open(f"{house.private.url}/#/letters/{told['id']}", faked={
        f"/v1/dead-letters/{told['id']}": faked({**told, "event": event, "state": "resolved"})})
    browser.wait(css="[aria-label=Event]")
    assert browser.text(css="[aria-label=Event]") == json.dumps(event, indent=2)


def test_a_letter_is_dropped(page, house):
    id_ = letters(house, 1)[0][0]
    page.go(f"#/letters/{id_}")
    button(page, "Drop…")
    button(page, "Drop", exact=True)
    page.wait(text="The letter is dropped.")
    assert letter(house, id_)["state"] == "dropped"


def test_a_group_with_a_long_cause_is_looked_at(page, house):
    """Its cause is longer than a filter may be, and another group is like it."""
    house.private.post_json("/v1/consumers/picky", {"from": "new"}, method="PUT")
    for why in ("ä" * 70, "ö" * 70):
        house.cancel(house.reserve()["id"])
        event = house.post("/v1/consumers/picky/pull", {"limit": 1, "wait": "5s"})["events"][0]
        assert house.private.post_json("/v1/consumers/picky/settle", {"settle": [
            {"lane": event["lane"], "seq": event["seq"], "verb": "reject", "reason": why}]}).status == 204

    def look():
        found = [one for one in house.dead_letters(consumer="picky") if one["outcome"] != "outbox"]
        return found if len(found) == 2 else None
    newer, older = until(look, SOON_S, "not two letters")
    page.go("#/letters")
    page.wait(label=f"Choose {newer['id']}")
    page.click(css="[aria-label='Groups of dead letters'] tr:has-text('picky: ä') td:first-child a")
    page.wait(label=f"Choose {newer['id']}", gone=True)
    page.wait(label=f"Choose {older['id']}")
    house.private.request("DELETE", "/v1/consumers/picky")


@pytest.mark.parametrize("text", ["", "short", "ä" * 20, "a" + "ä" * 20, "日" * 20, "a" + "😀" * 20, "x" * 40])
def test_a_text_is_cut(page, text):
    """A name may have 32 bytes."""
    whole = text.encode()[:32].decode(errors="ignore")
    assert page.call(module="/ui/format.js", name="cut", args=[text, 32]) == whole


def test_a_long_name(page, house):
    button(page, "dashboard…")
    name = "José Ñandú Fernández de la Cruz"
    page.fill(label="Your name", value=name)
    button(page, "Save")
    page.go("#/providers")
    button(page, "Pause sandbox…")
    button(page, "Pause", exact=True)
    button(page, "Resume sandbox")
    page.wait(text="sandbox is asked again.")
    assert newest_action(house)["by"] == name.encode()[:32].decode(errors="ignore") != name


def choose_letters(page, ids):
    for id_ in ids:
        page.check(label=f"Choose {id_}")


def test_chosen_letters_are_tried_dry_replayed_and_dropped(page, house):
    made = letters(house, 4)
    four = [id_ for id_, _, _ in made]
    page.go("#/letters?reason=unmapped_status")
    page.wait(label=f"Choose {four[0]}")
    choose_letters(page, four[:2])
    page.wait(text="2 of this page chosen")
    button(page, "Replay them…")
    button(page, "Dry run")
    page.wait(text="2 of 2 went well.")
    lines = page.texts(css=".lines li")
    assert len(lines) == 2 and all("would" in line for line in lines)
    assert [letter(house, id_)["attempts"] for id_ in four] == [0] * 4

    choose_letters(page, four[:2])
    button(page, "Replay them…")
    button(page, "Replay", exact=True)
    page.wait(css=".each progress")
    until(lambda: [letter(house, id_)["attempts"] for id_ in four] == [1, 1, 0, 0], SOON_S,
          lambda: str([letter(house, id_)["attempts"] for id_ in four]))

    choose_letters(page, four[2:])
    button(page, "Replay them…")
    page.check(role="radio", name="Have the task made anew")
    button(page, "Cancel", exact=True)
    button(page, "Replay them…")
    page.wait(css="dialog[open]")
    assert page.count(css="dialog input[value='']:checked") == 1, "it would be bought because others nearly were"
    button(page, "Cancel", exact=True)
    button(page, "Drop them…")
    button(page, "Drop", exact=True)
    until(lambda: [letter(house, id_)["state"] for id_ in four] == ["open", "open", "dropped",
                                                                    "dropped"], SOON_S,
          lambda: str([letter(house, id_)["state"] for id_ in four]))


def test_all_that_match_are_replayed_with_progress(page, house):
    """Parked callbacks whose tasks are registered afterwards."""
    ids = house.submit(30, fate="never")
    for provider_id in ids:
        assert house.public.get("/callback/sandbox", id=provider_id, code="early").status == 200
    until(lambda: house.get("/v1/status")["dlq"]["reason.unknown_task"] == 30, SOON_S, "no letters")
    tasks = [house.register(provider_id)["id"] for provider_id in ids[:20]]
    page.go("#/letters?reason=unknown_task")
    button(page, "Replay all that match…")
    page.check(role="radio", name="Believe it")
    button(page, "Dry run")
    page.wait(text="a dry run (nothing is done)")
    page.wait(text="(100 %)")
    assert {house.task(task)["state"] for task in tasks} == {"pending"}

    page.go("#/letters?reason=unknown_task")
    button(page, "Replay all that match…")
    page.fill(label="Letters a second", value="5")
    button(page, "Replay all", exact=True)
    page.wait(css=".progress progress")
    button(page, "Pause", exact=True)
    page.wait(role="button", name="Resume")
    replay = page.hash().rpartition("/")[2]
    until(lambda: house.get(f"/v1/replays/{replay}")["state"] == "paused", SOON_S, "it goes on")
    told = house.get(f"/v1/replays/{replay}")
    assert told["scanned"] < told["total"]
    button(page, "Resume", exact=True)
    page.wait(text="(100 %)")
    for task in tasks:
        assert house.ended(task)["result"] == "early"
    until(lambda: len(house.dead_letters(reason="unknown_task")) == 10, SOON_S, "letters stay")
    told = house.get(f"/v1/replays/{replay}")
    rows = page.texts(css="[aria-label=Results] tbody tr")
    assert [int(row.split("\t")[0]) for row in rows] == [one["count"] for one in told["counts"]]

    page.go("#/letters?reason=unknown_task")
    button(page, "Replay all that match…")
    page.fill(label="Letters a second", value="1")
    button(page, "Replay all", exact=True)
    button(page, "Cancel it")
    page.wait(css=".state.rest")
    page.go("#/replays")
    page.wait(css="[aria-label='Bulk replays'] tbody tr")
    states = [row.split("\t")[1] for row in page.texts(css="[aria-label='Bulk replays'] tbody tr")][:3]
    assert [state.split()[-1] for state in states] == [
        one["state"] for one in house.get("/v1/replays")["replays"][:3]]
    assert states[0].split()[-1] == "cancelled"


# ---- providers, consumers, people ----


def test_a_provider_is_paused_and_resumed(page, house):
    page.go("#/providers")
    page.wait(css="[data-provider=sandbox] .state.good")
    button(page, "Pause sandbox…")
    button(page, "Pause", exact=True)
    page.wait(css="[data-provider=sandbox] .state.warn")
    assert house.get("/v1/providers")["providers"][0]["paused"]
    button(page, "Resume sandbox")
    page.wait(css="[data-provider=sandbox] .state.good")
    assert not house.get("/v1/providers")["providers"][0]["paused"]
    facts = house.get("/v1/providers")["providers"][0]
    assert f"of the last {facts['callbacks']:,}" in page.text(css="[data-provider=sandbox]")


def test_consumers_and_their_lag(page, house):
    house.private.request("PUT", "/v1/consumers/mailer", b'{"from": "all"}')
    page.go("#/consumers")
    row = "[aria-label=Consumers] tbody tr"
    page.wait(text="mailer")
    told = house.get("/v1/consumers")["consumers"][0]
    assert told["lag"] > 0
    assert page.text(css=row).split("\t")[2] == f"{told['lag']:,}"
    button(page, "Forget mailer")
    button(page, "Forget it")
    page.wait(text="mailer is forgotten.")
    assert house.get("/v1/consumers")["consumers"] == []


def test_what_people_did(page, house):
    house.post("/v1/providers/sandbox/resume", {"by": "Ñandú <b>"})
    page.go("#/actions")
    page.wait(text="Ñandú <b>")
    row = page.text(css="[aria-label='What people did'] tbody tr")
    assert "resumed provider" in row and "sandbox" in row
    told = house.get("/v1/actions", limit=50)["actions"]
    until(lambda: page.count(css="[aria-label='What people did'] tbody tr") == len(told), SOON_S,
          "not all are there")


# ---- without a mouse, in the dark, on a small screen ----


def tab_to(page, text):
    """Tab until what has the focus says this; each stop must be seen."""
    for _ in range(60):
        page.press(key="Tab")
        if page.focus()["text"].startswith(text):
            assert page.outline() != "none"
            return
    raise AssertionError(f"Tab does not lead to {text!r}")


def test_pages_are_turned_by_keyboard(page, house):
    """A button keeps the focus while its page is asked for, and when there is no further one."""
    for provider_id in house.submit(51, fate="never"):
        house.register(provider_id)
    page.go("#/tasks?state=pending")
    page.wait(text="page 1")
    tab_to(page, "Next")
    for number in range(2, 12):
        page.press(key="Enter")
        page.wait(text=f"page {number}")
        assert page.focus()["text"] == "Next"
        page.wait(css="[aria-label=Tasks]")
        if page.count(css=".pager [aria-disabled=true]"):
            break
    page.press(key="Enter")  # there is no further one
    assert page.count(text=f"page {number}") == 1 and page.focus()["text"] == "Next"
    page.press(key="Shift+Tab")
    for back in range(number - 1, 0, -1):
        assert page.focus()["text"] == "Back"
        page.press(key="Enter")
        page.wait(text=f"page {back}")
        page.wait(css="[aria-label=Tasks]")
    assert page.focus()["text"] == "Back"


def test_by_keyboard_alone(page, house):
    id_ = letters(house, 1)[0][0]
    page.press(key="Tab")
    assert page.focus()["text"] == "To the content"
    tab_to(page, "Dead letters")
    page.press(key="Enter")
    page.wait(label=f"Choose {id_}")
    assert page.focus()["tag"] == "h1"
    tab_to(page, id_)
    page.press(key="Enter")
    page.wait(role="heading", name=f"Dead letter {id_}")
    tab_to(page, "Drop…")
    page.press(key="Enter")
    page.wait(css="dialog[open]")
    page.press(key="Tab", times=5)
    assert page.focus()["inDialog"] or page.focus()["tag"] == "body"  # the browser's own bar comes between
    page.press(key="Escape")
    page.wait(css="dialog[open]", gone=True)
    assert page.focus()["text"] == "Drop…" and letter(house, id_)["state"] == "open"
    page.press(key="Space")
    page.wait(css="dialog[open]")
    for _ in range(8):
        if page.focus()["text"] == "Drop":
            break
        page.press(key="Tab")
    page.press(key="Enter")
    page.wait(text="The letter is dropped.")
    assert letter(house, id_)["state"] == "dropped"


@pytest.mark.parametrize("kind", KINDS)
def test_everybody_can_read_it(browser, house, kind):
    """No view breaks a rule of axe, nothing is wider than the window, and the pictures are kept for
    people, in build/browser/shots."""
    id_, task, _ = letters(house, 1)[0]
    house.private.request("PUT", "/v1/consumers/reader", b'{"from": "all"}')
    house.post("/v1/providers/sandbox/resume", {"by": "ana"})
    replay = house.post("/v1/dead-letters/replay", {"dry_run": True, "by": "ana"})["id"]
    SHOTS.mkdir(parents=True, exist_ok=True)
    browser.open(house.private.url + "/", **KINDS[kind])
    browser.wait(css="[data-live=live]")
    found = {}
    for view in (*VIEWS, f"#/tasks/{task}", f"#/letters/{id_}", f"#/replays/{replay}", "#/nothing"):
        browser.go(view)
        browser.wait(css="main h1")
        browser.wait(text="Asking…", gone=True)
        browser.wait(css="main > *:nth-child(2)")
        found[view] = browser.axe()
        wide, window = browser.width()
        assert wide <= window, view
        browser.shot(path=str(SHOTS / f"{kind}-{view[2:].split('/')[0] or 'overview'}"
                                      f"{'-one' if view.count('/') > 1 else ''}.png"))
    browser.go(f"#/letters/{id_}")
    for name in ("Replay…", "Edit…", "Drop…"):
        button(browser, name)
        browser.wait(css="dialog[open]")
        found[name] = browser.axe()
        browser.shot(path=str(SHOTS / f"{kind}-dialog-{name[:-1].lower()}.png"))
        browser.press(key="Escape")
        browser.wait(css="dialog[open]", gone=True)
    assert {view: broken for view, broken in found.items() if broken} == {}
    browser.quiet(house.private.url)


def test_colours_are_chosen_and_kept(page):
    button(page, "dashboard…")
    page.choose(label="Colours", value="dark")
    page.wait(css="html[data-theme=dark]")
    button(page, "Close", exact=True)
    page.reload()
    page.wait(css="html[data-theme=dark]")
    assert page.axe() == []


def test_the_chart_follows_the_colours(page):
    line = {"light": "#d4d9df", "dark": "#343d47"}  # --line of app.css
    until(lambda: line["light"] in page.colours(css=".plot canvas"), SOON_S, "no line of the light ones")
    button(page, "dashboard…")
    page.choose(label="Colours", value="dark")
    until(lambda: line["dark"] in page.colours(css=".plot canvas"), SOON_S, "no line of the dark ones")
    assert line["light"] not in page.colours(css=".plot canvas")


# ---- tokens ----


@pytest.fixture(scope="module")
def guarded():
    """A gateway that wants tokens."""
    with House(profile=CALM, settings={**BY_HAND, "gateway": {
            "tokens": [{"env": "ALD_T_WRITE"}], "read_tokens": [{"env": "ALD_T_READ"}]}}) as one:
        for daemon in one.daemons.values():
            daemon.env.update({"ALD_T_WRITE": "a-token-that-writes", "ALD_T_READ": "a-token-that-reads"})
        yield one.start()


def test_tokens(browser, guarded):
    bearer = {"Authorization": "Bearer a-token-that-writes"}
    browser.open(guarded.private.url + "/#/providers")
    browser.wait(text="This gateway asks for a token")
    assert browser.axe() == [] and browser.count(role="navigation") == 0
    browser.fill(label="Token", value="a-token-of-nobody")
    button(browser, "Enter")
    browser.wait(text="The gateway does not know this token.")

    browser.fill(label="Token", value="a-token-that-reads")
    button(browser, "Enter")
    browser.wait(css="[data-provider=sandbox]")
    browser.wait(text="read only")
    assert browser.count(role="button", name="Pause") == 0
    assert browser.axe() == []
    browser.go("#/letters")
    browser.wait(text="There are no open or held letters")
    assert browser.count(role="button", name="Replay") == 0

    button(browser, "dashboard…")
    browser.fill(label="Token", value="a-token-that-writes")
    button(browser, "Save")
    browser.go("#/providers")
    button(browser, "Pause sandbox…")
    button(browser, "Pause", exact=True)
    browser.wait(css="[data-provider=sandbox] .state.warn")
    told = guarded.private.request("GET", "/v1/providers", None, bearer).json()
    assert told["providers"][0]["paused"]
    browser.quiet(guarded.private.url)
    browser.open(guarded.private.url + "/")  # another tab does not know it
    browser.wait(text="This gateway asks for a token")


def test_a_token_that_is_taken_back(browser, guarded):
    """While the page is open: it asks for another one. What the console says of that is the browser's."""
    browser.open(guarded.private.url + "/")
    browser.fill(label="Token", value="a-token-that-reads")
    button(browser, "Enter")
    browser.wait(css="[data-live=live]")
    guarded.gateway.kill9()
    guarded.gateway.env["ALD_T_READ"] = "a-token-that-reads-now"
    guarded.gateway.start()
    browser.wait(text="The gateway does not know this token.")
    browser.fill(label="Token", value="a-token-that-reads-now")
    button(browser, "Enter")
    browser.wait(css="[data-live=live]")
