"""compose.yaml, as it stands: brought up on a network of containers, used, its containers killed, scaled,
made anew and restored; and every result is found."""
import itertools
import json
import os
import re
import shutil
import signal
import ssl
import urllib.error
import urllib.request

import pytest
from support.background import Background
from support.compose import GATEWAYS, SERVICES, Composed
from support.podman import Podman, reason
from support.until import passes, until

WHY_NOT = reason("docker-compose", "openssl")
pytestmark = pytest.mark.skipif(bool(WHY_NOT), reason=WHY_NOT)

FATES = ("ok", "drop", "double", "late")
TASKS = 40
POLLERS = 3
END_S = 90
BACK_S = 30
BACKUP = "/var/backups/aldaba/first"


@pytest.fixture(scope="module", name="composed")
def all_of_it(tmp_path_factory):
    if not shutil.which("docker-compose"):
        pytest.skip("docker-compose is not installed")
    with Podman() as podman, Composed(podman, str(tmp_path_factory.mktemp("compose"))) as self:
        self.up(POLLERS)
        yield self


def submit(composed, key, fate="ok"):
    composed.aldaba("submit", "sandbox", "method=post", "body=iVBORw0", f"fate={fate}", "--key", key)


def ended(composed, keys):
    """The tasks of these keys, once all of them have ended."""
    def look():
        tasks = composed.tasks()
        return tasks if all(tasks[key]["ended_ms"] for key in keys) else None
    tasks = until(look, END_S, lambda: [composed.tasks()[key] for key in keys])
    return {key: tasks[key] for key in keys}


def call(composed, method, url, token="", **headers):
    """The status of a request from this machine, whoever signed the certificate."""
    context = ssl.create_default_context()
    context.check_hostname = False
    context.verify_mode = ssl.CERT_NONE
    if token:
        headers["Authorization"] = f"Bearer {token}"
    request = urllib.request.Request(url, method=method, headers=headers,
                                     data=b"id=771&code=the-answer" if method == "POST" else None)
    try:
        with urllib.request.urlopen(request, timeout=BACK_S, context=context) as answer:
            return answer.status
    except urllib.error.HTTPError as error:
        return error.code
    except OSError:
        return 0


def reserved(composed, key):
    """The path of a new task's callback URL."""
    url = json.loads(composed.aldaba("reserve", "sandbox", "--key", key, "--json"))["callback_url"]
    assert url.startswith("http://gateway:7780/cb/")
    return url.removeprefix("http://gateway:7780")


def test_example(composed):
    composed.aldaba("submit", "sandbox", "method=post", "body=iVBORw0", "--key", "first", "--wait")
    task = composed.tasks()["first"]
    assert (task["state"], task["source"]) == ("done", "callback")
    assert composed.ledger()[task["provider_id"]]["answer"] == task["result"]


@pytest.mark.parametrize("service", [*SERVICES, "sandbox", "edge"])
def test_each_is_closed(composed, service):
    for container in composed.containers(service):
        facts = composed.inspect(container)
        assert facts["Config"]["User"] == "65532:65532" and facts["HostConfig"]["ReadonlyRootfs"]
        with open(f"/proc/{facts['State']['Pid']}/status", encoding="ascii") as file:
            status = file.read()
        assert re.search(r"(?m)^CapBnd:\s*0+$", status) and re.search(r"(?m)^NoNewPrivs:\s*1$", status)
        assert composed.podman("exec", container, "sh", "-c", "touch /usr/x /etc/x 2>/dev/null || echo no"
                               ).strip() == "no"


def test_who_sees_what(composed):
    assert "sandbox.key" in composed.sh("poller", "ls /etc/aldaba/keys")
    for service in (*GATEWAYS, "tracker", "dlq"):
        assert composed.sh(service, "ls /etc/aldaba/keys") == ""
    for service in ("tracker", "dlq", "poller"):
        assert composed.sh(service, "ls /run/secrets 2>/dev/null || true") == ""
    for service in ("tracker", "dlq"):
        links = [line.split(":")[0].strip() for line in
                 composed.sh(service, "cat /proc/net/dev").splitlines() if ":" in line]
        assert links == ["lo"], "they speak to nobody"
    assert composed.sh("poller", "ls /var/lib/aldaba") == ""


def test_each_poller_has_a_name_and_a_health_of_its_own(composed):
    pollers = composed.containers("poller")
    sockets = {name.removeprefix("control-poller-") for name in
               composed.sh("tracker", "ls /run/aldaba").split()
               if name.startswith("control-poller-") and not name.endswith(".lock")}
    names = {composed.inspect(container)["Config"]["Hostname"] for container in pollers}
    assert len(pollers) == POLLERS and sockets == names
    assert json.loads(composed.aldaba("status", "--json"))["status"]["pollers"] == POLLERS
    for service in SERVICES:
        assert all(composed.healthy(container) for container in composed.containers(service)), service
    os.kill(composed.pid(pollers[0]), signal.SIGSTOP)
    try:
        assert [composed.healthy(container) for container in pollers] == [False, True, True]
    finally:
        os.kill(composed.pid(pollers[0]), signal.SIGCONT)


def test_lost_callbacks_and_killed_containers(composed):
    """Each is killed with tasks under way, and comes back by its restart policy."""
    keys = []
    victims = [composed.containers(service)[0] for service in SERVICES]
    for number in range(TASKS):
        key = f"task-{number}"
        submit(composed, key, FATES[number % len(FATES)])
        keys.append(key)
        if number % 8 == 5:
            victim = victims.pop()
            before = composed.pid(victim)
            os.kill(before, signal.SIGKILL)
            until(lambda: composed.pid(victim) not in (0, before), BACK_S, f"{victim} stays away")
            until(lambda: composed.aldaba("health", "gateway", check=False).strip() == "ready", BACK_S,
                  lambda: composed("logs", "--no-color", "--tail", "20"))
    assert not victims
    tasks, ledger = ended(composed, keys), composed.ledger()
    for key, task in tasks.items():
        assert task["state"] == "done", task
        assert task["result"] == ledger[task["provider_id"]]["answer"], task
    lost = [task for task in tasks.values() if ledger[task["provider_id"]]["fate"] == "drop"]
    assert len(lost) == TASKS // len(FATES) and {task["source"] for task in lost} == {"poll"}
    assert "the books balance" in composed.aldaba("audit")
    events = [json.loads(line) for line in
              composed.aldaba("tail", "--from", "all", "--count", len(composed.tasks()), "--json").splitlines()]
    for key, task in tasks.items():
        found = [event for event in events if event["task"] == task["id"]]
        assert len(found) == 1 and found[0]["result"] == task["result"], key


def test_the_api_wants_its_token(composed):
    url = f"http://127.0.0.1:{composed.api}/v1/tasks"
    assert call(composed, "GET", url) == 401
    assert call(composed, "GET", url, composed.token) == 200


def test_tls_in_front(composed):
    url = f"https://127.0.0.1:{composed.edge}"
    path = reserved(composed, "by-tls")
    assert call(composed, "POST", url + path, **{"X-Forwarded-For": "192.0.2.1"}) == 200
    assert ended(composed, ["by-tls"])["by-tls"]["result"] == "the-answer"
    assert call(composed, "GET", url + "/v1/tasks", composed.token) == 404, "the API is not there"


def test_scaled_and_made_anew(composed):
    """Fewer pollers, more; and a gateway with another address, which the edge finds."""
    for pollers in (1, POLLERS):
        composed.up(pollers)
        until(lambda: json.loads(composed.aldaba("status", "--json"))["status"]["pollers"] == pollers,
              BACK_S, lambda: composed.aldaba("status"))
    composed("rm", "--stop", "--force", "gateway")
    composed.up(POLLERS)
    path = reserved(composed, "anew")
    until(lambda: call(composed, "POST", f"https://127.0.0.1:{composed.edge}{path}") == 200, BACK_S,
          "the edge does not find the gateway again")
    assert composed.tasks()["first"]["state"] == "done"


class Callers(Background):
    """Callbacks through the edge, one after the other, for tasks that were reserved before."""

    def __init__(self, composed, count):
        super().__init__(2, 0.05)
        self.composed = composed
        self.keys = [f"rolling-{number}" for number in range(count)]
        self.paths = [reserved(composed, key) for key in self.keys]
        self.turns = itertools.cycle(self.paths)
        self.said = []

    def step(self):
        self.said.append(call(self.composed, "POST",
                              f"https://127.0.0.1:{self.composed.edge}{next(self.turns)}"))


def test_restarted_one_after_the_other(composed):
    """As docs/INSTALL.md says; and one is made anew, with another address."""
    def health(service):
        return composed("exec", "-T", service, "aldaba", "health", service.rstrip("2"), "-q", check=False,
                        code=True) == 0
    with Callers(composed, 40) as callers:
        for service, words in (("tracker", ["restart"]), ("gateway", ["restart"]), ("dlq", ["restart"]),
                               ("gateway2", ["up", "-d", "--no-build", "--no-deps", "--force-recreate"]),
                               ("poller", ["restart"])):
            composed(*words, service)
            until(lambda: health(service), BACK_S, f"{service} does not come back")
            passes(3)
    assert set(callers.said) == {200}, {said: callers.said.count(said) for said in set(callers.said)}
    assert len(callers.said) > 200
    tasks = ended(composed, callers.keys)
    assert {task["source"] for task in tasks.values()} == {"callback"}
    assert "the books balance" in composed.aldaba("audit")


def test_restored(composed):
    composed.aldaba("backup", BACKUP)
    before = set(composed.tasks())
    composed.aldaba("submit", "sandbox", "method=post", "body=iVBORw0", "--key", "later", "--wait")
    composed("stop", *SERVICES)
    for service in ("tracker", "dlq"):
        composed("run", "--rm", "--no-deps", service, "aldaba", "restore", BACKUP, "--yes")
    composed.up(POLLERS)
    assert set(composed.tasks()) == before
    assert "the books balance" in composed.aldaba("audit")


def test_down_and_up(composed):
    """What is kept is in the volumes."""
    before = set(composed.tasks())
    composed("down")
    composed.up(1)
    assert set(composed.tasks()) == before
    composed.aldaba("submit", "sandbox", "method=post", "body=iVBORw0", "--key", "last", "--wait")
    assert composed.tasks()["last"]["state"] == "done"
