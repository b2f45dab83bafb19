#!/usr/bin/python3
"""Make a kept file: the stores of a house of the programs in ALDABA_BIN, stopped in the middle of its
work. test_kept.py starts today's programs on each.

    ALDABA_BIN=build/release tests/system/kept/make.py NAME

NAME is what the stores are of, as `tracker-9`: before a schema gets a new step, keep those of the old
one. A file that is there is never made again.
"""
import json
import os
import pathlib
import sys
import tarfile

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parents[1]))

from support.consume import Consumer  # noqa: E402
from support.house import House  # noqa: E402
from support.until import until  # noqa: E402

SOON_S = 20
# However late the file is looked at: nothing has become old. What is due is so by time of service.
NEVER = "3650d"
SETTINGS = {"store": {"keep_results": NEVER, "keep_evidence": NEVER, "keep_letters": NEVER,
                      "max_lag": NEVER},
            "dlq": {"first_after": "30d", "max_after": "30d"}}
PROFILE = {"callback": {"stale_after": "30d"}, "poll": {"schedule": {"give_up_after": "365d"}}}
FORM = {"Content-Type": "application/x-www-form-urlencoded"}


def knock(house, path, text):
    answer = house.public.request("POST", path, text.encode(), FORM)
    assert answer.status == 200, answer


def call(house, task, code):
    knock(house, task["callback_url"].removeprefix(house.public.url), f"id={task['provider_id']}&code={code}")


def register(house, number, **headers):
    return house.post("/v1/tasks", {"provider": "sandbox", "provider_id": f"kept-{number}",
                                    "meta": f"note {number}"}, **headers)


def work(house):
    """Something of each kind. What must be found again."""
    tasks = [register(house, number) for number in range(6)]
    keyed = register(house, 6, **{"Idempotency-Key": "kept-key"})
    for task in tasks[:3]:
        call(house, task, "OK-" + task["provider_id"])
    call(house, tasks[0], "OK-" + tasks[0]["provider_id"])  # twice
    for task in tasks[:3]:
        house.ended(task["id"])
    house.post(f"/v1/tasks/{tasks[3]['id']}/cancel", {})
    house.ended(tasks[3]["id"])
    knock(house, "/callback/sandbox", "id=kept-parked&code=early")
    knock(house, tasks[4]["callback_url"].removeprefix(house.public.url), "id=%00&code=x")
    letters = until(lambda: house.dead_letters(state="open"), SOON_S, "no letter")
    with Consumer(house.run, "billing") as billing:
        billing.open(start="all")
        first, *_ = until(lambda: billing.pull(wait_ms=1000, limit=1), SOON_S, "no event")
        billing.ack(first)
        billing.pull(wait_ms=0, limit=1)  # takes the acknowledgement along, and one that it loses
    return {"tasks": [house.task(task["id"]) for task in [*tasks, keyed]],
            "events": [[event["task"], event["seq"], event["state"], event.get("result", b"").decode()]
                       for event in house.events()],
            "letters": [letter["id"] for letter in letters],
            "acked": first["seq"]}


def main():
    out = HERE / f"{sys.argv[1]}.tar.xz"
    if out.exists():
        print(f"{out} is there already", file=sys.stderr)
        return 73
    with House(settings=SETTINGS, profile=PROFILE) as house:
        house.start()
        seen = work(house)
        for daemon in house.daemons.values():
            daemon.stop()
        with open(os.path.join(house.folder, "data", "seen.json"), "w", encoding="utf-8") as file:
            json.dump(seen, file, indent=1)
        with tarfile.open(out, "w:xz") as tar:
            for path in sorted(pathlib.Path(house.folder, "data").rglob("*")):
                if path.is_file() and path.suffix != ".lock":
                    tar.add(path, path.relative_to(house.folder))
    print(f"{out}: {out.stat().st_size} bytes")
    return 0


if __name__ == "__main__":
    sys.exit(main())
