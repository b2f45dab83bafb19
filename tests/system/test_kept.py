"""Stores that an older aldaba left: today's programs start on them, lose nothing and go on. The files
are in kept/, and made by kept/make.py."""
import json
import pathlib
import sys
import tarfile

import pytest
from support.consume import Consumer
from support.house import House
from support.seen import demand_audit, only_event
from support.until import until

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE / "kept"))
from make import PROFILE, SETTINGS, SOON_S, knock, register  # noqa: E402

KEPT = sorted(path.name.removesuffix(".tar.xz") for path in (HERE / "kept").glob("*.tar.xz"))


@pytest.fixture(scope="module", name="kept", params=KEPT)
def a_house(request):
    """(house on the kept stores, what was seen when they were made)"""
    with House(settings=SETTINGS, profile=PROFILE) as house:
        with tarfile.open(HERE / "kept" / f"{request.param}.tar.xz") as tar:
            tar.extractall(house.folder)
        data = pathlib.Path(house.folder, "data")
        seen = json.loads((data / "seen.json").read_text(encoding="utf-8"))
        house.start()
        yield house, seen


def test_example(kept):
    """All is as it was."""
    house, seen = kept
    for was in seen["tasks"]:
        task = house.task(was["id"])
        for member in ("state", "provider_id", "meta", "key", "result", "source", "polls", "position"):
            assert task[member] == was[member], (member, task, was)
        assert [line["what"] for line in task["timeline"]] == [line["what"] for line in was["timeline"]]
    events = [[event["task"], event["seq"], event["state"], event.get("result", b"").decode()]
              for event in house.events()]
    assert events == seen["events"]
    assert [letter["id"] for letter in house.dead_letters(state="open")] == seen["letters"]
    demand_audit(house)


def test_its_urls_and_keys_are_good(kept):
    """A callback URL that the provider has had since then, and an Idempotency-Key."""
    house, seen = kept
    *_, open_one, keyed = seen["tasks"]
    path = "/cb/" + open_one["callback_url"].partition("/cb/")[2]
    knock(house, path, f"id={open_one['provider_id']}&code=late")
    assert only_event(house, open_one["id"])["result"] == b"late"
    again = register(house, 6, **{"Idempotency-Key": "kept-key"})
    assert again["id"] == keyed["id"]


def test_what_was_early_is_matched(kept):
    house, _ = kept
    task = house.post("/v1/tasks", {"provider": "sandbox", "provider_id": "kept-parked"})
    assert only_event(house, task["id"])["result"] == b"early"


def test_a_consumer_goes_on(kept):
    """Behind what it had acknowledged; what it was given and lost comes again."""
    house, seen = kept
    with Consumer(house.run, "billing") as billing:
        billing.open()
        events = until(lambda: billing.pull(wait_ms=1000, limit=10), SOON_S, "no event")
        assert events[0]["seq"] == seen["acked"] + 1 and events[0]["redelivered"]


def test_a_duplicate_is_known(kept):
    """Of a task that had ended then."""
    house, seen = kept
    before = len(house.events())
    done = seen["tasks"][0]
    knock(house, "/callback/sandbox", f"id={done['provider_id']}&code={done['result']}")
    until(lambda: [line["what"] for line in house.task(done["id"])["timeline"]].count("callback") >= 3,
          SOON_S, lambda: house.task(done["id"])["timeline"])
    assert len(house.events()) == before
    demand_audit(house)
