"""No secret is written down anywhere: a house with secrets of every kind, trouble of every kind, and
then all that the run wrote is searched for each of them, in whatever form."""
import base64
import contextlib
import glob
import hashlib
import hmac
import http.server
import itertools
import json
import os
import signal
import subprocess
import threading
import time
import urllib.parse

import pytest
from support.canary import leaks
from support.house import House, binary
from support.http import Client
from support.settings import free_port, merge
from support.signing import stamped, standard_webhooks
from support.until import until

SOON_S = 20
ODD = "k+/=&?%25 '\"<\\9f3a"  # every form of it differs from the others
RAW = {"new": b"\x01webhook-secret-new-7243\xfe", "old": b"\x02webhook-secret-old-9912\xfd"}
IN_FILES = {
    "poll": f"poll{ODD}e1",
    "header": "header-bearer-54321+/=%2F-e2",
    "hmac": f"hmac{ODD}e3",
    "api": "api-token-of-the-house-77531",
    "whsec_new": "whsec_" + base64.b64encode(RAW["new"]).decode(),
    "client": f"client{ODD}e7",
}
IN_VARIABLES = {
    "ALD_T_QUERY": f"query{ODD}e4",
    "ALD_T_BODY": f"body{ODD}e5",
    "ALD_T_STAMPED": f"stamped{ODD}e6",
    "ALD_T_HOOK": "hook-secret-in-a-header-+/=-90017",
    "ALD_T_API": "api-token-of-another-one-66211",
    "ALD_T_OLD": "whsec_" + base64.b64encode(RAW["old"]).decode(),
    "ALD_T_CLIENT": "key-of-another-client-5d0b7714",
}
SECRETS = {**IN_FILES, **IN_VARIABLES, **{f"raw {name}": raw for name, raw in RAW.items()},
           **{f"base64 {name}": base64.b64encode(raw).decode() for name, raw in RAW.items()}}
KEPT = ("callback.key", "callback.keys")  # what signs callback URLs is kept on purpose, and backed up
TROUBLES = ("echo", "code", "junk", "half", "redirect", "slow", "big", "status")


class Provider(http.server.BaseHTTPRequestHandler):
    """Says back what it was asked, in every form, or does what its path says."""
    protocol_version = "HTTP/1.1"
    turns = itertools.count()

    def said(self):
        """The secrets of the request, each as somebody might write it into a page of errors."""
        length = int(self.headers.get("Content-Length", 0))
        body = self.rfile.read(length).decode()
        query = urllib.parse.urlsplit(self.path).query
        plain = dict(urllib.parse.parse_qsl(query + "&" + body if body[:1] != "{" else query))
        words = [plain.get("key", ""), plain.get("token", ""),
                 self.headers.get("Authorization", "").removeprefix("Bearer ")]
        if body[:1] == "{":
            words.append(json.loads(body).get("clientKey", ""))
        encoded = [part.partition("=")[2] for part in query.split("&") if part[:3] in ("key", "tok")]
        for word in filter(None, words):
            encoded += [word, base64.b64encode(word.encode()).decode(), word.encode().hex(),
                        base64.urlsafe_b64encode(word.encode()).decode().rstrip("="),
                        json.dumps(word), urllib.parse.quote_plus(word).lower(),
                        urllib.parse.quote(word, safe="")]
        return encoded[next(self.turns) % len(encoded)] if encoded else ""

    def do_GET(self):
        said = self.said()
        what = self.path.split("/")[1].split("?")[0]
        if what == "junk":
            self.wfile.write(f"KEY {said}\r\n\r\n".encode())
            self.close_connection = True
            return
        if what == "slow":
            self.close_connection = True
            threading.Event().wait(1)
            return
        status = {"redirect": 302, "status": 403}.get(what, 200 if what in ("code", "half") else 500)
        body = f"{'ERROR_KEY' if what == 'code' else '<p>Bad request of'} {said}".encode()
        body *= 5000 if what == "big" else 1
        self.send_response(status, "No")
        self.send_header("Content-Length", len(body) + (10 if what == "half" else 0))
        self.send_header("Location", f"{self.path}&again={said}"[:2000])
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)
        self.close_connection = True

    do_POST = do_GET

    def log_message(self, *_):
        pass


class Quiet(http.server.ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, *_):
        pass


class Bearer(Client):
    def request(self, method, target, body=None, headers=None):
        headers = {"Authorization": f"Bearer {IN_FILES['api']}", **(headers or {})}
        return super().request(method, target, body, headers)


# ---- the house ----


def poll(url, **more):
    return merge({"request": {"method": "GET", "url": url}, "timeout": "500ms", "max_bytes": "8KiB",
                  "schedule": {"first_after": "100ms", "every": "100ms", "max_every": "200ms",
                               "max_requests": 400, "give_up_after": "60s"}}, more)


def profiles(folder, port):
    """{name: profile}. Those of a family poll with their key in the address."""
    of = f"http://127.0.0.1:{port}"
    file = {name: {"file": f"{folder}/secret-{name}"} for name in IN_FILES}
    calm = {"stale_after": "100ms", "parked_for": "300ms", "trust": "token"}
    plain = {name: {"family": "inphp", "secrets": {"key": file["poll"]}, "callback": calm,
                    "poll": poll(f"{of}/{name}/res.php")} for name in TROUBLES}
    plain["refused"] = merge(plain["echo"], {"poll": {"request": {
        "url": f"http://127.0.0.1:{free_port()}/res.php"}}})
    plain["nameless"] = merge(plain["echo"], {"poll": {"request": {
        "url": "http://nobody.invalid/res.php"}}})
    plain["plain-tls"] = merge(plain["echo"], {"poll": {"request": {
        "url": f"https://127.0.0.1:{port}/res.php"}}})
    plain["posted"] = merge(plain["echo"], {"poll": {"request": {"method": "POST"}}})
    ruled = {
        "ruled": {"extends": "twocaptcha-v1", "callback": calm,
                  "secrets": {"key": {"env": "ALD_T_QUERY"}, "head": file["header"]},
                  "submit": {"request": {"url": f"{of}/echo/in.php"}}, "budgets": [],
                  "poll": merge(poll(f"{of}/echo/ruled"), {
                      "request": {"headers": {"Authorization": "Bearer ${secret.head}"}},
                      "params": {"token": "${secret.key}"}})},
        "json": {"extends": "createtask-json", "secrets": {"key": {"env": "ALD_T_BODY"}},
                 "callback": calm, "submit": {"request": {"url": f"{of}/code/createTask"}},
                 "budgets": [], "poll": merge(poll(f"{of}/echo/json"), {
                     "request": {"method": "POST", "encode": "json"}})},
    }
    hooks = {
        "webhooks": {"standard_webhooks": {"secrets": ["${secret.new}", "${secret.old}"]}},
        "headed": {"header_secret": {"name": "X-Hook", "value": "${ALD_T_HOOK}"}},
        "signed": {"hmac": {"header": "X-Sign", "secret": "${secret.hmac}"}},
        "stamped": {"hmac": {"header": "X-Stamp", "format": "t_v", "secret": {
            "env": "ALD_T_STAMPED"}}},
    }
    guarded = {name: {"family": "inphp", "poll": "none",
                      "secrets": {"new": file["whsec_new"], "old": {"env": "ALD_T_OLD"},
                                  "hmac": file["hmac"]},
                      "callback": {"trust": "auth", "parked_for": "300ms", "auth": auth}}
               for name, auth in hooks.items()}
    return {**plain, **ruled, **guarded}


@pytest.fixture(scope="module")
def house():
    server = Quiet(("127.0.0.1", free_port()), Provider)
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    with pytest.MonkeyPatch.context() as environment, House() as one:
        for name, value in IN_VARIABLES.items():
            environment.setenv(name, value)
        for daemon in one.daemons.values():
            daemon.env.update(IN_VARIABLES)
        for name, value in IN_FILES.items():
            with open(f"{one.folder}/secret-{name}", "w", encoding="utf-8") as file:
                file.write(value)
        one.settings = {"log": {"level": "debug"}, "dlq": {"first_after": "200ms", "tick": "50ms"},
                        "gateway": {"tokens": [{"file": f"{one.folder}/secret-api"},
                                               {"env": "ALD_T_API"}]},
                        "facade": {"in_php": "ruled", "create_task": "json",
                                   "keys": [{"file": f"{one.folder}/secret-client"},
                                            {"env": "ALD_T_CLIENT"}],
                                   "pingback_allow": ["127.0.0.1"]},
                        "providers": profiles(one.folder, server.server_port)}
        one.private = Bearer(one.private.port)
        one.start()
        one.said = {}
        yield one
    server.shutdown()
    server.server_close()


def say(house, what, done):
    """Keep what a command printed."""
    house.said[f"{what} #{len(house.said)}"] = (done.stdout + done.stderr).encode()
    return done


def run(house, what, *argv, stdin=None):
    return say(house, what, subprocess.run(argv, capture_output=True, text=True, timeout=60,
                                           check=False, env={**os.environ, **house.env()},
                                           cwd=house.folder, input=stdin))


# ---- trouble ----


def knocks(name, body):
    """Headers of genuine and of bad senders of a profile."""
    now = time.time()
    mine, other = IN_FILES["whsec_new"], IN_VARIABLES["ALD_T_OLD"]
    sign = hmac.new(IN_FILES["hmac"].encode(), body, hashlib.sha256).hexdigest()
    stamp = stamped("X-Stamp", IN_VARIABLES["ALD_T_STAMPED"], body, now)
    hook = IN_VARIABLES["ALD_T_HOOK"]
    return {
        "webhooks": [standard_webhooks(mine, body, now), standard_webhooks(other, body, now),
                     standard_webhooks(mine, body, now - 4000), standard_webhooks(mine, b"", now),
                     {"webhook-id": mine, "webhook-timestamp": other, "webhook-signature": mine}],
        "headed": [{"X-Hook": hook}, {"X-Hook": hook + "x"}, {"Authorization": f"Bearer {hook}"},
                   {"X-Hook": hook, "x-hook": hook}],
        "signed": [{"X-Sign": sign}, {"X-Sign": sign[::-1]}, {"X-Sign": "zz"}, {}],
        "stamped": [stamp, {"X-Stamp": stamp["X-Stamp"] + "0"}, {"X-Stamp": "t=1,v0=00"}],
    }[name]


def call_back(house, name):
    path = house.reserve(provider=name)["callback_url"].removeprefix(house.public.url)
    SECRETS.setdefault(f"token of {name}", path.rpartition("/")[2])
    for number, target in itertools.product(range(5), (path, f"/callback/{name}")):
        body = f"id=4711{number}&code=some%20words".encode()
        form = {"Content-Type": "application/x-www-form-urlencoded"}
        for headers in knocks(name, body):
            house.public.request("POST", target, body, {**form, **headers})
    house.public.request("POST", path, b"id=%zz", form)
    house.public.request("DELETE", path)
    house.public.get(path + "x")


def ask_wrongly(house):
    """The API with tokens that are none, and in places where tokens do not belong."""
    stranger = Client(house.private.port)
    for token in (IN_FILES["api"] + "x", IN_VARIABLES["ALD_T_API"][:-1], ""):
        for target in ("/v1/tasks", "/v1/status", "/v1/nothing", "/v1/backup"):
            answer = stranger.request("POST", target, b"{}", {"Authorization": f"Bearer {token}"})
            house.said[f"refused {target} {len(house.said)}"] = answer.body
    answer = stranger.request("GET", "/metrics", None, {
        "Authorization": f"Bearer {IN_VARIABLES['ALD_T_API']}"})
    assert answer.status == 200
    house.said["metrics"] = answer.body
    for raw in (b"GET /v1/tasks HTTP/1.1\r\nHost: x\r\nAuthorization: Bearer " +
                IN_FILES["api"].encode() + b"\r\nBroken\r\n\r\n",
                b"POST /v1/tasks HTTP/1.1\r\nHost: x\r\nContent-Length: 9\r\nAuthorization: Bearer " +
                IN_FILES["api"].encode() + b"\r\n\r\n{"):
        house.said[f"raw {len(house.said)}"] = stranger.raw(raw, half_close=True, timeout_s=3)


def ask_as_a_client(house):
    """The facade with keys that are good, wrong and in the wrong place. Clients hear what the provider
    says, which says back what it was asked."""
    stranger = Client(house.private.port)
    tasks = []
    for key in (IN_FILES["client"], IN_VARIABLES["ALD_T_CLIENT"]):
        for one in (key, key + "x", key[:-1], f"{key}&key={key}"):
            quoted = urllib.parse.quote(one, safe="&=")
            asked = [("GET", f"/in.php?key={quoted}&method=userrecaptcha&pingback=http://127.0.0.1:1/",
                      None),
                     ("POST", "/in.php", f"method=test&key={quoted}".encode()),
                     ("POST", f"/in.php?key={quoted}", b"method=post&body="),
                     *(("GET", f"/res.php?key={quoted}&action={action}&id=1", None) for action in
                       ("get", "getbalance", "reportbad", "nothing", "", quoted)),
                     ("GET", f"/res.php?action=get&id={quoted}&key={quoted}", None),
                     ("PUT", f"/in.php?key={quoted}", b"")]
            asked += [("POST", path, json.dumps({"clientKey": one, "taskId": taskid, "task": task})
                       .encode()) for path in ("/createTask", "/getTaskResult", "/getBalance")
                      for taskid, task in ((1, {"type": "T"}), (one, one))]
            asked.append(("POST", "/createTask", f'{{"clientKey": "{one}", '.encode()))
            for method, target, body in asked:
                form = {"Content-Type": "application/json" if target[1] in "cg" else FORM}
                answer = stranger.request(method, target, body, form)
                house.said[f"client {method} {target[:9]} {len(house.said)}"] = answer.body
                word, _, task = answer.text.partition("|")
                tasks += [task] if word == "OK" and task.isdigit() else []
    assert len(tasks) >= 2, "nothing was submitted"
    for task in tasks:
        house.cancel(task)


FORM = "application/x-www-form-urlencoded"
BROKEN = ("callback.trust", "callback.stale_after", "callback.max_body", "callback.plus",
          "callback.quota_count", "callback.auth.on_fail", "callback.auth.hmac.format",
          "callback.auth.hmac.header", "callback.auth.ed25519.message", "callback.auth.source_ips",
          "callback.verification_file.path", "callback.nothing", "poll.timeout", "poll.request.url",
          "poll.request.method", "poll.schedule.every", "poll.schedule.backoff", "poll", "family",
          "dialect", "extends", "version", "secrets.key", "secrets", "callback", "budgets")
BROKEN_RULED = ("id.pattern", "id.max_len", "id.from_url", "poll.request.encode", "poll.rules",
                "poll.request.headers.X-Odd", "callback.body", "callback.methods", "callback.trust",
                "recover.on_stale", "codes.A.class", "codes.A.wait", "submit.callback_param.in")


def at(path, value):
    for key in reversed(path.split(".")):
        value = {key: value}
    return value


def settings_with(house, providers=None, **more):
    """The path of a settings file with something laid over the house's."""
    before, path = house.settings, house.config_path("")
    with open(path, encoding="utf-8") as file:
        text = file.read()
    house.settings = merge(merge(before, {"providers": providers or {}}), more)
    house.write_settings()
    odd = os.path.join(house.folder, "broken.yaml")
    os.replace(path, odd)
    with open(path, "w", encoding="utf-8") as file:
        file.write(text)
    house.settings = before
    return odd


def be_wrong(house):
    """A secret, from a variable, where something else belongs: what is said about it?"""
    odd, mixed = "${ALD_T_HOOK}", "x${ALD_T_QUERY}"
    wrong = [(path, value, "echo") for path in BROKEN for value in (odd, mixed, [odd])]
    wrong += [(path, value, "ruled") for path in BROKEN_RULED for value in (odd, mixed)]
    for path, value, name in wrong:
        file = settings_with(house, {name: at(path, value)})
        run(house, f"check {path}", binary("aldaba"), "--config", file, "config", "check")
    for key in ("bus.max_item", "gateway.public", "gateway.trusted_proxies", "gateway.tokens",
                "gateway.read_tokens", "log.level", "tracker.id", "store.keep_results", "gateway.nothing",
                "facade.in_php", "facade.create_task", "facade.keys", "facade.pingback_allow"):
        lists = key.endswith(("proxies", "tokens", "keys", "allow"))
        file = settings_with(house, **at(key, [odd] if lists else odd))
        for program in ("gateway", "poller"):
            done = run(house, f"start with {key}", binary(f"aldaba-{program}"), "--config", file)
            assert done.returncode == 78, (key, done)
    for name, content in {"whsec_new": "whsec_" + ODD, "poll": f"{IN_FILES['poll']}\nmore",
                          "hmac": IN_FILES["hmac"] * 300}.items():
        odd_file = f"{house.folder}/secret-odd"
        with open(odd_file, "w", encoding="utf-8") as file:
            file.write(content)
        where = {"whsec_new": ("webhooks", "new"), "poll": ("echo", "key"), "hmac": ("signed", "hmac")}
        profile, secret = where[name]
        file = settings_with(house, {profile: {"secrets": {secret: {"file": odd_file}}}})
        for program in ("gateway", "poller"):
            run(house, f"start with an odd {name}", "timeout", "3", binary(f"aldaba-{program}"),
                "--config", file, "--set", f"bus.run={house.folder}/elsewhere")
        os.unlink(odd_file)
    run(house, "flag", binary("aldaba-gateway"), "--config", house.config_path(""), "--set",
        "gateway.tokens=env:ALD_T_API", "--set", "facade.keys=env:ALD_T_CLIENT", "--print-config")


def read_on_hup(house):
    """A reading anew that goes wrong, at a line with a secret in it, and one that goes right."""
    path = house.config_path("")
    with open(path, encoding="utf-8") as file:
        good = file.read()
    for value in ("${ALD_T_HOOK}", "x${ALD_T_QUERY}"):
        os.replace(settings_with(house, {"echo": at("callback.trust", value)}), path)
        for daemon in house.daemons.values():
            daemon.send(signal.SIGHUP)
    until(lambda: all("reload" in daemon.tail(400) or "hup" in daemon.tail(400)
                      for daemon in house.daemons.values()), SOON_S, "nobody says a word")
    with open(path, "w", encoding="utf-8") as file:
        file.write(good)
    for daemon in house.daemons.values():
        daemon.send(signal.SIGHUP)


def look_everywhere(house):
    """Everything that can be asked for."""
    aldaba = [binary("aldaba"), "--config", house.config_path("")]
    letters = [letter["id"] for letter in house.dead_letters()]
    tasks = [task["id"] for task in house.tasks()]
    words = [["status"], ["audit"], ["audit", "--deep"], ["config", "print"], ["config", "check"],
             ["provider", "status"], ["provider", "ls"], ["tasks", "--limit", "0"], ["dlq", "ls"],
             ["provider", "check", house.config_path("")], ["tail", "--from", "all", "-n", "5"],
             ["health", "gateway"], ["backup", f"{house.folder}/copy"],
             ["dlq", "replay", "--yes", letters[0]], ["dlq", "drop", "--yes", letters[-1]],
             *(["dlq", "show", letter] for letter in letters[:20]), *(["task", task] for task in tasks)]
    for line in words:
        for flags in ([], ["--json"]):
            run(house, " ".join(line), *aldaba, *flags, *line)
    for name in ("ruled", "json", "echo", "webhooks"):
        run(house, f"try {name}", *aldaba, "provider", "try", name, "poll", stdin=json.dumps(
            {"http": 403, "body": "ERROR_KEY_DOES_NOT_EXIST"}))
    for program in ("gateway", "tracker", "poller", "dlq"):
        for flag in ("--print-config", "--check-config"):
            run(house, f"{program} {flag}", binary(f"aldaba-{program}"), "--config",
                house.config_path(""), flag)
    for target in ("/v1/tasks", "/v1/status", "/v1/audit", "/v1/providers", "/v1/dead-letters",
                   "/metrics", "/readyz", "/healthz",
                   *(f"/v1/tasks/{task}" for task in tasks),
                   *(f"/v1/dead-letters/{letter}" for letter in letters)):
        house.said[f"GET {target}"] = house.private.get(target).body


def look_at_processes(house):
    """{name: bytes} of what others may see of our processes: they start none of their own."""
    seen = {}
    for name, daemon in house.daemons.items():
        with open(f"/proc/{daemon.pid}/cmdline", "rb") as file:
            seen[f"command line of {name}"] = file.read()
        for path in glob.glob(f"/proc/{daemon.pid}/task/*/children"):
            with open(path, encoding="ascii") as file:
                assert not file.read().strip(), f"{name} has started something"
    return seen


def environments(house):
    """What was not given in a variable is in none."""
    seen = {}
    for name, daemon in house.daemons.items():
        with open(f"/proc/{daemon.pid}/environ", "rb") as file:
            seen[f"environment of {name}"] = file.read()
    return seen


def written(house):
    """{path: bytes} of every file of the house."""
    found = {}
    for path in glob.glob(f"{house.folder}/**/*", recursive=True):
        if os.path.isfile(path) and not os.path.basename(path).startswith("secret-"):
            with open(path, "rb") as file:
                found[os.path.relpath(path, house.folder)] = file.read()
    return found


def callback_keys(house):
    """The key of a record, which has more than its key."""
    with open(f"{house.folder}/data/callback.key", "rb") as file:
        record = file.read()
    return {f"callback key {start}": record[start:start + 16]
            for start in range(1, len(record) - 16, 16)}


def no_leaks(secrets, places):
    found = leaks(secrets, places)
    assert not found, "\n".join(f"{name} in {place}: {around!r}" for name, place, around in found[:20])


def test_example():
    assert leaks(SECRETS, {"a": b"x" + base64.b64encode(b"ab" + IN_FILES["poll"].encode())})
    assert leaks(SECRETS, {"a": urllib.parse.quote(IN_FILES["hmac"]).encode()})
    assert not leaks(SECRETS, {"a": b"nothing of the kind"})


def test_no_secret_is_written_anywhere(house):
    polled = [*TROUBLES, "refused", "nameless", "plain-tls", "posted", "ruled", "json"]
    made = [house.register(f"{9000 + i}{copy:02}", provider=name) for i, name in enumerate(polled)
            for copy in range(16 if name == "code" else 4)]  # some wait long after each answer
    for name in ("webhooks", "headed", "signed", "stamped"):
        call_back(house, name)
    ask_wrongly(house)
    ask_as_a_client(house)
    for task in made:
        until(lambda: len(house.task(task["id"])["timeline"]) >= 3, SOON_S,  # noqa: B023
              lambda: f"it is not polled: {house.task(task['id'])}")  # noqa: B023
        house.cancel(task["id"])
    assert next(Provider.turns) > 100, "the provider was hardly asked"
    until(lambda: len(house.dead_letters(reason="unauthenticated")) >= 4, SOON_S, "no letters")
    be_wrong(house)
    read_on_hup(house)
    look_everywhere(house)
    processes = look_at_processes(house)
    no_leaks({name: value for name, value in SECRETS.items() if name in IN_FILES},
             environments(house))
    for daemon in house.daemons.values():
        daemon.stop(30)
    files = written(house)
    assert sum(name.endswith((".log", ".db")) for name in files) > 8, list(files)
    keys = callback_keys(house)
    kept = [name for name, content in files.items() if leaks(keys, {name: content})]
    assert kept and all(os.path.basename(name) in KEPT for name in kept), kept
    no_leaks(SECRETS, {**files, **processes, **house.said})
    no_leaks(keys, {**processes, **house.said})
