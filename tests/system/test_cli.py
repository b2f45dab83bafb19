"""What a person sees of a whole aldaba: through the command `aldaba`, and at the API."""
import json
import os
import re
import signal
import socket
import subprocess
import time

import pytest
from support.bus import Channel
from support.house import House, binary
from support.settings import to_yaml
from support.until import until

SOON_S = 10
CALM = {"callback": {"stale_after": "60s"}, "poll": {"schedule": {"give_up_after": "300s"}}}


@pytest.fixture(scope="module")
def house():
    with House(profile=CALM) as one:
        yield one.start()


def finish(house, answer="an answer"):
    """A task that a callback has ended."""
    task = house.register(house.submit(1, answer=answer, solve=0.05)[0])
    return house.ended(task["id"])


def problem(house, target):
    answer = house.private.get(target)
    assert answer.headers["content-type"] == "application/problem+json", answer
    return answer.status, answer.json()["detail"]


def said(done):
    """What the command said on stderr; every line of it names the command."""
    lines = done.stderr.splitlines()
    assert all(line.startswith("aldaba: ") for line in lines), done
    return done.stderr


def test_example(house):
    task = finish(house)
    shown = house.aldaba("task", task["id"])
    assert shown.returncode == 0 and "done, by callback" in shown.stdout
    assert house.aldaba("tasks", "--find", task["id"], "-q").stdout == f"{task['id']}\n"


# ---- the feed ----

def seq_of(position):
    lane, seq = position.split(":")
    return int(lane), int(seq)


def test_a_position_beyond_the_head_is_refused_at_once(house):
    lane, seq = seq_of(finish(house)["position"])
    status, detail = problem(house, f"/v1/events?after={lane}:{seq + 1000}")
    assert status == 400 and f"beyond the head of the feed, {lane}:{seq}" in detail
    answer = house.private.request("GET", "/v1/events",
                                   headers={"Last-Event-ID": f"{lane}:{seq + 1000}"})
    assert answer.status == 400
    tail = house.aldaba("tail", "--from", f"{lane}:{seq + 1000}", "--count", "1", timeout_s=SOON_S)
    assert tail.returncode == 1 and "beyond the head" in said(tail)
    with Channel(house.run, "consume") as channel:  # also when it asks to wait for more
        head = channel.ask("fetch", after=f"{lane}:{seq + 1000}", limit=1, bytes=1000,
                           wait_ms=600000, timeout_s=SOON_S)[0]
    assert head["rc"] == "invalid"


def test_a_position_of_another_lane_is_told_where_this_one_begins(house):
    finish(house)
    first = house.events()[0]
    tail = house.aldaba("tail", "--from", "987654:3", "--count", "1", timeout_s=SOON_S)
    assert "not in the lane of 987654:3" in said(tail)
    assert f"the oldest that is kept, {first['lane']}:{first['seq']}." in said(tail)
    assert tail.returncode == 0 and tail.stdout.startswith(f"{first['lane']}:{first['seq']} ")


@pytest.mark.parametrize("after", ["bad", "17", "0:", ":", "0:x", "-1:2"])
def test_what_is_no_position_is_told_how_one_looks(house, after):
    status, detail = problem(house, f"/v1/events?after={after}")
    assert status == 400 and "all, new, or LANE:SEQ" in detail


def test_tail_prints_where_to_go_on(house):
    finish(house)
    second, third = finish(house), finish(house)
    before = ":".join(map(str, (seq_of(second["position"])[0],
                                seq_of(second["position"])[1] - 1)))
    line = house.aldaba("tail", "--from", before, "--count", "1", timeout_s=SOON_S).stdout
    position = line.split()[0]
    assert position == second["position"] and second["id"] in line
    more = house.aldaba("tail", "--from", position, "--count", "1", "--json", timeout_s=SOON_S)
    event = json.loads(more.stdout)
    assert (event["task"], event["position"]) == (third["id"], third["position"])


# ---- queries ----

REFUSED = {
    "/v1/tasks?state=nosuch": "accepted, submitting, pending, done, failed, lost, expired, cancelled",
    "/v1/tasks?state=polling": "accepted, submitting, pending, done",
    "/v1/tasks?sate=done": "state, provider, q, since, until, limit, cursor",
    "/v1/tasks?limit=many": "limit must be a whole number",
    "/v1/tasks?limit=1001": "limit must be at most 1000.",
    "/v1/dead-letters?limit=1001": "limit must be at most 1000.",
    "/v1/tasks?since=yesterday": "since must be a whole number",
    f"/v1/tasks?provider={'x' * 100}": "provider is longer than",
    "/v1/events?state=pending": "done, failed, lost, expired, cancelled",
    "/v1/events?from=all": "after, provider, state",
    "/v1/dead-letters?state=closed": "open, held, resolved, dropped",
    "/v1/dead-letters?reason=nosuch": "malformed, unauthenticated, unknown_task",
    "/v1/dead-letters?task=x": "task must be the id of a task",
    "/v1/tasks/17?wait=long": "wait is a number of seconds",
    "/v1/audit?deep=perhaps": "deep is 1 or 0",
    "/v1/status?verbose=1": "takes no query",
}


@pytest.mark.parametrize("target", REFUSED)
def test_queries_that_mean_nothing_are_refused(house, target):
    status, detail = problem(house, target)
    assert status == 400 and REFUSED[target] in detail


def test_every_reason_and_state_can_be_asked_for(house):
    with open(os.path.join(os.path.dirname(__file__), "..", "..", "docs", "PROTOCOL.md"),
              encoding="utf-8") as file:
        text = file.read()
    for heading, target in (("reasons", "/v1/dead-letters?reason="),
                            ("letter states", "/v1/dead-letters?state=")):
        table = text.split(f"### Words: {heading}\n", 1)[1].split("\n#", 1)[0]
        words = re.findall(r"^\| `([a-z_]+)` \|", table, re.MULTILINE)
        assert len(words) > 3
        for word in words:
            assert house.private.get(target + word).status == 200, word
    for state in ("accepted", "pending", "done", "failed", "lost", "expired", "cancelled", ""):
        assert house.private.get(f"/v1/tasks?state={state}").status == 200
    assert house.private.get("/readyz?from=lb").status == 200, "a probe asks as it likes"


def test_the_command_passes_the_refusal_on(house):
    done = house.aldaba("tasks", "--state", "nosuch")
    assert done.returncode == 1 and "expired, cancelled" in said(done) and not done.stdout


# ---- a task that was polled, and one that expired ----

def test_polls_and_timeline_of_ended_tasks():
    profile = {"callback": {"stale_after": "300ms"},
               "poll": {"schedule": {"first_after": "300ms", "every": "100ms", "max_every": "100ms",
                                     "give_up_after": "3s"}}}
    with House(profile=profile, settings={"tracker": {"last_poll_grace": "200ms"}}) as house:
        house.start()
        polled = house.register(house.submit(1, fate="drop", solve=1, answer="x")[0])
        never = house.register(house.submit(1, fate="never")[0])
        done, expired = house.ended(polled["id"]), house.ended(never["id"])
        for task in (done, expired):
            noted = [note["what"] for note in task["timeline"]]
            times = [note["at_ms"] for note in task["timeline"]]
            assert times == sorted(times) and noted[0] == "created"
            assert task["polls"] == sum(what.startswith("poll") for what in noted) > 0
        assert (done["source"], expired["state"], expired["source"]) == ("poll", "expired",
                                                                         "expired")
        event = json.loads(house.aldaba("tail", "--from", "all", "--state", "expired", "--count",
                                        "1", "--json", timeout_s=SOON_S).stdout)
        assert (event["task"], event["source"]) == (never["id"], "expired")
        shown = house.aldaba("task", never["id"]).stdout
        assert "expired" in shown and "manual" not in shown
        assert house.audit()["balanced"] is True
        results = house.audit()["results"]
        assert (results["manual"], results["expired"]) == (0, 1), "nobody's hand was in it"
        page = house.aldaba("audit").stdout
        assert "+ 0 manual" in page and "+ 1 expired" in page, page


# ---- settings ----

def check(folder, text, *words):
    path = folder / "aldaba.yaml"
    path.write_text(text)
    return subprocess.run([binary("aldaba"), *(words or ("config", "check")), "--config", path],
                          capture_output=True, text=True, timeout=SOON_S, check=False)


def test_all_that_is_wrong_with_settings_is_said_at_once(tmp_path):
    done = check(tmp_path, "gateway:\n  public: 127.0.0.1:99999\n  trusted_proxies: [1.2.3]\n"
                           "providers:\n  one: {family: none, poll: none}\n")
    lines = done.stderr.splitlines()
    assert done.returncode == 78 and len(lines) == 4 and not done.stdout
    for line, place in zip(lines, ("2:3", "3:21", "5:9")):
        assert line.startswith(f"{tmp_path}/aldaba.yaml:{place}: "), line
    assert lines[3] == "aldaba: 3 errors in the settings: mend what is named above."


def test_settings_that_do_not_fit_each_other(tmp_path):
    """The check refuses what a daemon refuses, and the other way round."""
    (tmp_path / "aldaba.yaml").write_text(
        "gateway:\n  public: 127.0.0.1:7780\n  private: 0.0.0.0:7780\n"
        "  public_url: cb.example.org\n  default_provider: nope\n")
    for command in (["aldaba", "config", "check"], ["aldaba-tracker"], ["aldaba-gateway"]):
        done = subprocess.run([binary(command[0]), *command[1:], "--config", "aldaba.yaml"],
                              check=False, cwd=tmp_path, capture_output=True, text=True,
                              timeout=SOON_S)
        assert done.returncode == 78, (command, done)
        for place, what in (("5:3", "no such provider"), ("3:3", "a port of its own"),
                            ("3:3", "not a loopback address"), ("4:3", "which is no URL")):
            assert re.search(f"aldaba.yaml:{place}: .*{what}", done.stderr), (command, done)


def test_what_depends_on_providers_is_said_with_its_place(tmp_path):
    done = check(tmp_path, "gateway: {default_provider: two}\nproviders:\n"
                           "  one: {family: inphp, poll: none, callback: {max_body: 100MiB}}\n")
    assert done.returncode == 78
    assert "aldaba.yaml:1:11: gateway.default_provider is \"two\"" in done.stderr
    assert "aldaba.yaml:3:47: one: callback.max_body must not" in done.stderr


def test_a_check_without_a_file_is_no_good_news(tmp_path):
    if os.path.exists("/etc/aldaba/aldaba.yaml"):
        pytest.skip("this machine has settings of its own")
    environment = {k: v for k, v in os.environ.items() if not k.startswith("ALDABA")}
    done = subprocess.run([binary("aldaba"), "config", "check"], capture_output=True, text=True,
                          timeout=SOON_S, check=False, env=environment)
    assert done.returncode == 78 and "--config" in said(done) and not done.stdout
    for nothing in ("", "# all of it is gone\n", "null\n"):
        wrong = check(tmp_path, nothing)
        assert wrong.returncode == 78 and "aldaba.yaml: The file is empty" in wrong.stderr, wrong
    empty = check(tmp_path, "{}")
    assert empty.returncode == 0 and "0 providers" in empty.stdout
    assert "Nobody can call back" in said(empty)


def test_settings_are_printed_with_their_providers(house, tmp_path):
    text = house.aldaba("config", "print").stdout
    assert "providers:\n  sandbox:\n" in text and "    family: \"inphp\"\n" in text
    assert 'key: "***"' in text and "stale_after: 1m\n" in text
    printed = json.loads(house.aldaba("config", "print", "--json").stdout)
    assert printed["gateway"]["public"] == f"127.0.0.1:{house.public.port}"
    assert printed["gateway"]["threads"] == 128 and printed["gateway"]["trusted_proxies"] == []
    sandbox = printed["providers"]["sandbox"]
    assert sandbox["callback"]["auth"]["source_ips"] == ["127.0.0.1"]
    assert sandbox["secrets"]["key"] == "***"
    none = check(tmp_path, "{}", "config", "print", "--json")
    assert json.loads(none.stdout)["providers"] == {}


# ---- a port that is taken ----

@pytest.mark.parametrize("which", ["public", "private"])
def test_a_port_that_is_taken(tmp_path, which):
    with socket.create_server(("127.0.0.1", 0)) as taken, socket.create_server(
            ("127.0.0.1", 0)) as probe:
        free = probe.getsockname()[1]
        probe.close()
        address = f"127.0.0.1:{taken.getsockname()[1]}"
        ports = {"public": f"127.0.0.1:{free}", "private": "127.0.0.1:0", which: address}
        path = tmp_path / "aldaba.yaml"
        path.write_text(to_yaml({"bus": {"run": str(tmp_path / "run")},
                                 "store": {"data": str(tmp_path)}, "gateway": ports}) + "\n")
        done = subprocess.run([binary("aldaba-gateway"), "--config", path], capture_output=True,
                              text=True, timeout=SOON_S, check=False)
    assert done.returncode == 69
    assert f"aldaba-gateway: cannot listen on {address}: Address already in use: another process " \
           f"listens there; stop it, or change gateway.{which}." in done.stderr


# ---- health and status ----

def health(house, service):
    begun = time.monotonic()
    done = house.aldaba("health", service)
    assert time.monotonic() - begun < 8, "2 s, and what a busy machine needs for a process"
    return done


@pytest.fixture
def halted(house):
    """Stop a service, as a blocked disk does; it goes on after the test."""
    stopped = []

    def halt(name):
        os.kill(house.daemons[name].process.pid, signal.SIGSTOP)
        stopped.append(name)

    yield halt
    for name in stopped:
        os.kill(house.daemons[name].process.pid, signal.SIGCONT)
    until(lambda: house.private.get("/readyz").status == 200 and
          not house.get("/v1/status")["away"], SOON_S, "the services do not come back")


@pytest.mark.parametrize("service", ["gateway", "tracker", "dlq", "poller"])
def test_health_of_services_that_are_well(house, service):
    done = health(house, service)
    assert (done.returncode, done.stdout, done.stderr) == (0, "ready\n", "")


def test_health_of_one_poller(house, halted, monkeypatch):
    """Who has a name asks about that one, as a container does where the bus is that of all."""
    monkeypatch.setenv("ALDABA__POLLER__NAME", "p1")
    assert health(house, "poller").stdout == "ready\n"
    halted("poller1")
    assert health(house, "poller").returncode == 75
    monkeypatch.setenv("ALDABA__POLLER__NAME", "p2")
    assert health(house, "poller").returncode == 69


def test_health_of_pollers_of_which_one_hangs(house, halted):
    second = house.add_poller(2).start()
    try:
        halted("poller1")
        assert health(house, "poller").stdout == "ready\n"
    finally:
        second.stop()
        del house.daemons["poller2"]


@pytest.mark.parametrize("service", ["tracker", "dlq", "poller"])
def test_health_of_a_service_that_hangs(house, halted, service):
    halted("poller1" if service == "poller" else service)
    done = health(house, service)
    assert done.returncode == 75 and "does not answer within 2 s" in said(done)


def test_health_does_not_need_the_gateway(house, halted):
    halted("gateway")
    assert health(house, "tracker").returncode == 0
    assert health(house, "gateway").returncode == 75


def test_health_of_what_is_not_there(tmp_path):
    path = tmp_path / "aldaba.yaml"
    path.write_text(f"bus: {{run: {tmp_path}}}\n")
    for service in ("tracker", "dlq", "poller"):
        done = subprocess.run([binary("aldaba"), "health", service, "--config", path],
                              capture_output=True, text=True, timeout=SOON_S, check=False)
        assert done.returncode == 69 and f"Start aldaba-{service}" in said(done)


def test_status_is_a_page_that_can_be_read(house):
    finish(house)
    task = house.reserve()
    done = house.aldaba("status")
    lines = {line.partition("  ")[0].strip(): line for line in done.stdout.splitlines()}
    assert done.returncode == 0 and not done.stderr
    assert lines["services"].endswith("gateway answers, tracker answers, dlq answers, "
                                      "1 poller at work")
    assert "open: " in lines["tasks"] and "accepted" in lines["tasks"]
    assert "task " in lines["oldest"] and "open for" in lines["oldest"]
    assert "applied" in lines["callbacks"] and "done" in lines["ended"]
    assert lines["spool"].endswith("empty") and "none open" in lines["dead letters"]
    assert "balance" in lines["books"] and "feed head" in lines
    assert len(done.stdout.splitlines()) < 14 and "xor" not in done.stdout
    raw = json.loads(house.aldaba("status", "--json").stdout)
    assert raw["tasks"]["open"] >= 1 and raw["status"]["oldest_open_at_ms"] > 0
    assert int(raw["status"]["oldest_open"]) <= int(task["id"])


def test_status_says_who_is_away(house, halted):
    halted("dlq")
    text = house.aldaba("status").stdout
    assert "dlq does NOT answer" in text and "tracker answers" in text


# ---- one style of refusals ----

def closed_url():
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{probe.getsockname()[1]}"


def test_refusals_have_one_style_and_their_exit_codes(house):
    cases = (((), 64), (("nonsense",), 64), (("tasks", "--nonsense"), 64), (("task",), 64),
             (("status", "--url"), 64), (("health", "kitchen"), 64),
             (("task", "17"), 1), (("dlq", "show", "nosuch"), 1),
             (("cancel", "17", "--yes"), 1), (("status", "--url", closed_url()), 69))
    for words, code in cases:
        done = house.aldaba(*words)
        assert done.returncode == code and not done.stdout, (words, done)
        sentence = said(done).splitlines()[0].removeprefix("aldaba: ")
        assert sentence[0] in "'-" or sentence[0].isupper(), sentence
