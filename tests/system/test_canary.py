"""`aldaba canary`: a task of its own goes the whole way, and what is in that way is named."""
import json
import os
import signal
import subprocess
import urllib.request

import pytest
from support import stub
from support.house import House, binary
from support.settings import free_port, shop_profile
from support.until import until

SOON_S = 20


@pytest.fixture(scope="module", name="house")
def a_house():
    with House(describe=shop_profile) as house:
        yield house.start()


def canary(house, *words):
    return house.aldaba("canary", "sandbox", "code=alive", *words)


def test_example(house):
    done = canary(house, "--json")
    assert done.returncode == 0, done
    said = json.loads(done.stdout)
    assert said["back"] and said["failed"] == "" and said["provider"] == "sandbox"
    task = house.task(said["task"])
    assert (task["state"], task["source"], task["result"], task["meta"]) == ("done", "callback", "alive", "canary")
    assert not house.provider_ledger(), "the provider was asked for something"
    assert canary(house).stdout.startswith(f"sandbox: task ") and canary(house, "-q").stdout == ""


def test_a_body_of_ones_own(house):
    done = house.aldaba("canary", "sandbox", "--body", "code=by+hand", "--type",
                        "application/x-www-form-urlencoded", "--json")
    assert house.task(json.loads(done.stdout)["task"])["result"] == "by hand"


@pytest.mark.parametrize("words", [(), ("code",), ("code=x", "--body", "y"), ("code=x", "--within", "2m"),
                                   ("code=x", "--every", "1ms")])
def test_what_is_wrong_is_said(house, words):
    done = house.aldaba("canary", "sandbox", *words)
    assert done.returncode == 64 and done.stderr.startswith("aldaba: "), done


def test_a_body_that_is_no_text(house, tmp_path):
    path = tmp_path / "body"
    path.write_bytes(b"code=alive&more=\0cut")
    done = house.aldaba("canary", "sandbox", "--body", f"@{path}")
    assert done.returncode == 64 and "a byte 0" in done.stderr, done


def test_no_such_provider(house):
    done = house.aldaba("canary", "nobody", "code=x")
    assert done.returncode == 1 and "no task could be made" in done.stderr, done


def metrics(path):
    with open(path, encoding="ascii") as file:
        return dict(line.rsplit(" ", 1) for line in file if not line.startswith("#"))


def test_it_dies_where_callbacks_do(house):
    """Nobody listens at the public address; then somebody does who takes and loses; then all is well."""
    path = os.path.join(house.folder, "canary.prom")
    assert canary(house, "--textfile", path).returncode == 0
    before = metrics(path)
    assert before['aldaba_canary_up{provider="sandbox"}'] == "1\n"
    assert float(before['aldaba_canary_duration_seconds{provider="sandbox"}']) < SOON_S
    house.settings = {"gateway": {"public_url": f"http://127.0.0.1:{free_port()}"}}
    house.write_settings()
    house.gateway.restart()
    house.until_serving()
    done = canary(house, "--textfile", path, "--json")
    said = json.loads(done.stdout)
    assert done.returncode == 1 and not said["back"] and "was not answered at http://127.0.0.1:" in said["failed"]
    assert house.task(said["task"])["state"] == "cancelled"
    assert metrics(path)['aldaba_canary_up{provider="sandbox"}'] == "0\n"
    house.settings = {}
    house.write_settings()
    house.gateway.restart()
    house.until_serving()
    house.tracker.pause()
    try:
        done = canary(house, "--within", "1s")
    finally:
        house.tracker.resume()
    assert done.returncode in (1, 75) and "no task could be made" in done.stderr, done
    assert canary(house).returncode == 0


def test_again_and_again(house):
    path = os.path.join(house.folder, "every.prom")
    argv = [binary("aldaba"), "--config", house.config_path(""), "canary", "sandbox", "code=alive", "--every", "1s",
            "--textfile", path]
    with subprocess.Popen(argv, stdout=subprocess.PIPE, text=True) as process:
        lines = [process.stdout.readline() for _ in range(2)]
        assert all(" is back after " in line for line in lines), lines
        until(lambda: os.path.exists(path), SOON_S, "no file")
        process.send_signal(signal.SIGTERM)
        assert process.wait(SOON_S) != 0
    assert float(metrics(path)['aldaba_canary_back_timestamp_seconds{provider="sandbox"}']) > 1e9


def test_a_task_whose_answer_was_lost_is_flown_by_the_next(house):
    """Nothing is left behind by canaries that can't be made: they ask by one key until it is answered."""
    lost = []

    def forward(asked):
        request = urllib.request.Request(house.private.url + asked.target, data=asked.body or None,
                                         headers=dict(asked.headers), method=asked.method)
        with urllib.request.urlopen(request, timeout=SOON_S) as answer:
            body = answer.read()
        if asked.method == "POST" and asked.path == "/v1/tasks" and len(lost) < 2:
            lost.append(json.loads(body)["id"])
            return None
        return answer.status, body, {"Content-Type": answer.headers["Content-Type"]}

    before = {task["id"] for task in house.tasks(provider="sandbox")}
    with stub.Stub(forward) as between:
        argv = [binary("aldaba"), "--url", between.url, "canary", "sandbox", "code=alive", "--every", "1s"]
        with subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True) as process:
            line = process.stdout.readline()
            process.send_signal(signal.SIGTERM)
            process.wait(SOON_S)
    assert len(lost) == 2 and lost[0] == lost[1] and f"task {lost[0]} is back" in line, (lost, line)
    made = {task["id"]: task["state"] for task in house.tasks(provider="sandbox") if task["id"] not in before}
    assert made.pop(lost[0]) == "done" and len(made) <= 1, made  # the next may have begun
