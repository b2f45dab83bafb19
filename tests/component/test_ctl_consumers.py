"""`aldaba consumers` and `aldaba tail --consumer` against a gateway that the test plays."""
import json

import pytest
from test_ctl import ALDABA, event_of, gateway, run, sse  # noqa: F401 (a fixture)

pytestmark = pytest.mark.skipif(ALDABA is None, reason="aldaba is not built here")

MAILER = {"name": "mailer", "provider": "sandbox", "state": "done", "mode": "shared",
          "position": "0:7", "handed": "0:9", "lag": 12, "pending": 2, "instances": 1,
          "max_deliver": 5, "ack_wait_ms": 30000, "max_ack_pending": 1000, "rejected": 1,
          "made_ms": 1767225600123, "asked_ms": None, "oldest_ms": 1767225600123, "sink": False}
PATH = "/v1/consumers/mailer"


def page(*numbers, gap=None):
    return 200, {"events": [event_of(n) for n in numbers], "position": "0:0", "head": "0:9", "gap": gap}


def bodies(gateway, path):
    return [json.loads(asked.body) for asked in gateway.heard if asked.path == path]


def test_list_show_and_rm(gateway):  # noqa: F811
    gateway.plan("GET", "/v1/consumers", (200, {"consumers": [MAILER, {**MAILER, "name": "web", "sink": True}]}))
    gateway.plan("GET", PATH, (200, MAILER))
    gateway.plan("DELETE", PATH, (204, b""))
    listed = run("consumers", "ls", "--url", gateway.url).stdout
    assert "mailer" in listed and "0:7" in listed and "sink" in listed and "12" in listed
    assert run("consumers", "ls", "-q", "--url", gateway.url).stdout == "mailer\nweb\n"
    assert json.loads(run("consumers", "show", "mailer", "--json", "--url", gateway.url).stdout) == MAILER
    assert "2026-01-01" in run("consumers", "show", "mailer", "--url", gateway.url).stdout
    assert run("consumers", "rm", "mailer", "--url", gateway.url).returncode == 1  # nobody says yes
    assert not [asked for asked in gateway.heard if asked.method == "DELETE"]
    assert run("consumers", "rm", "mailer", "-y", "--url", gateway.url).stdout == "forgotten: mailer\n"


def test_none_says_how_to_make_one(gateway):  # noqa: F811
    gateway.plan("GET", "/v1/consumers", (200, {"consumers": []}))
    answer = run("consumers", "ls", "--url", gateway.url)
    assert answer.returncode == 0 and "tail --consumer NAME --ack" in answer.stderr


def test_looking_takes_nothing_from_it(gateway):  # noqa: F811
    """Without --ack the feed is read from where the consumer stands, and it is not asked for events."""
    gateway.plan("GET", PATH, (200, MAILER))
    gateway.plan("GET", "/v1/events", (200, sse(("0:8", event_of(8))), "text/event-stream"))
    assert run("tail", "--consumer", "mailer", "-n", "1", "--url", gateway.url).returncode == 0
    query = gateway.last().query
    assert "after=0%3A7" in query and "provider=sandbox" in query and "state=done" in query
    assert {asked.method for asked in gateway.heard} == {"GET"}


def test_what_was_printed_is_settled(gateway):  # noqa: F811
    gateway.plan("PUT", PATH, (200, MAILER))
    gateway.plan("POST", PATH + "/pull", page(), page(1, 2, gap={"before": "0:1", "why": "retention"}), page(3))
    gateway.plan("POST", PATH + "/settle", (204, b""))
    answer = run("tail", "--consumer", "mailer", "--ack", "--from", "all", "-n", "3", "--json", "--url",
                 gateway.url)
    assert answer.returncode == 0, answer
    assert [json.loads(line)["seq"] for line in answer.stdout.splitlines()] == [1, 2, 3]
    assert "before 0:1" in answer.stderr
    assert bodies(gateway, PATH) == [{"from": "all"}]
    pulls = bodies(gateway, PATH + "/pull")
    assert [pull["settle"] for pull in pulls] == [[], [], [{"lane": 0, "seq": 1}, {"lane": 0, "seq": 2}]]
    assert pulls[2]["gap_seen"] == "0:1" and pulls[2]["limit"] == 1
    assert bodies(gateway, PATH + "/settle")[0]["settle"] == [{"lane": 0, "seq": 3}]
    assert len({pull["instance"] for pull in pulls}) == 1


def test_what_was_not_answered_is_settled_again(gateway):  # noqa: F811
    gateway.plan("PUT", PATH, (200, MAILER))
    gateway.plan("POST", PATH + "/pull", page(1), (0, None), (503, {"detail": "full"}), page(2))
    gateway.plan("POST", PATH + "/settle", (204, b""))
    answer = run("tail", "--consumer", "mailer", "--ack", "-n", "2", "--url", gateway.url)
    assert answer.returncode == 0 and "Nobody answers" in answer.stderr
    assert [len(pull["settle"]) for pull in bodies(gateway, PATH + "/pull")] == [0, 1, 1, 1]


def test_what_goes_wrong_is_said(gateway):  # noqa: F811
    gateway.plan("GET", PATH, (404, {"detail": "There is no consumer mailer."}))
    gateway.plan("PUT", PATH, (409, {"detail": "mode is shared."}))
    assert "no consumer mailer" in run("tail", "--consumer", "mailer", "--url", gateway.url).stderr
    refused = run("tail", "--consumer", "mailer", "--ack", "--url", gateway.url)
    assert refused.returncode == 1 and "mode is shared." in refused.stderr
    assert run("tail", "--ack", "--url", gateway.url).returncode == 64
