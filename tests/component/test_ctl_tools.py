"""What the operator's command does besides asking: help, completions, keys, the schema of the
settings, the live view; and what every command says and ends with when something is wrong."""
import contextlib
import fcntl
import json
import os
import pathlib
import pty
import re
import signal
import stat
import struct
import subprocess
import termios
import time

import pytest
from support.until import stays, until
from test_ctl import (ALDABA, BIG_ID, EVIL, LETTER, TASK, TIMEOUT_S, clean_environment, closed_port,
                      event_of, gateway, run, sse)

assert gateway  # a fixture
pytestmark = pytest.mark.skipif(ALDABA is None, reason="aldaba is not built here")

STATUS = {"away": [], "arrivals": {"received": 100}, "results": {"callback": 40, "poll": 2},
          "tasks": {"open": 3, "pending": 3, "done": 42}, "polls": {"answered": 2},
          "status": {"balanced": 1, "pollers": 2, "head": "0:42", "service_ms": 60000},
          "dlq": {"open": 1, "held": 0, "reason.conflict": 1}, "spool": {"items": 0, "writable": 1}}
PROVIDERS = {"providers": [
    {"name": name, "breaker": "closed", "open": 1, "stale_after_ms": 45000, "budgets": []}
    for name in ("sandbox", "shop")]}


def commands():
    """(name, its summary) of each, out of the help."""
    text = run("--help").stdout.partition("\n\n")[2].partition("\n\n")[0]
    return re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", text, re.MULTILINE)


def test_example():
    text = run("help", "restore").stdout
    assert text.startswith("aldaba restore DIR\n\nPuts a backup into store.data")
    for part in ("options:", "--verify", "examples:", "exit codes:", "NO_COLOR"):
        assert part in text, part


# ---- help ----

def test_help_of_every_command():
    names = commands()
    assert len(names) > 25 and {"top", "dlq ls", "keys new", "restore"} <= set(names)
    for name in names:
        shown = run("help", *name.split())
        assert (shown.returncode, shown.stderr) == (0, ""), shown
        assert shown.stdout == run(*name.split(), "--help").stdout
        assert f"\n  aldaba {name}" in shown.stdout or f"aldaba {name}" in shown.stdout
    group = run("help", "dlq").stdout
    assert "dlq replay" in group and "audit" not in group
    assert run("dlq", "--help").stdout == group
    assert run("help").stdout == run("--help").stdout


@pytest.mark.parametrize("words, says", [
    (("helf",), "did you mean 'help'?"), (("help", "taks"), "did you mean"),
    (("dlq", "lst"), "did you mean 'dlq ls'?"), (("dlq",), "needs a second word: ls, show"),
    (("help", "dlq", "lst"), "did you mean 'dlq ls'?"), (("tasks", "--provder", "x"), "--provider"),
    (("keys", "new", "curv"), "Did you mean curve?"), (("completion", "tcsh"), "bash, zsh and fish"),
    (("top", "--every", "5"), "such as 2s"), (("top", "--every", "1ms"), "from 100ms on")])
def test_what_may_be_meant(words, says):
    done = run(*words)
    assert (done.returncode, done.stdout) == (64, "") and says in done.stderr, done


# ---- errors: every command, in one style ----

WORDS = {  # what each needs to be asked at all
    "reserve": ("p",), "register": ("p", "1"), "attach": ("1", "2"), "submit": ("p", "a=b"),
    "canary": ("p", "a=b"),
    "task": ("1",), "cancel": ("1", "--yes"), "dlq show": ("L",), "dlq replay": ("L", "--yes"),
    "dlq drop": ("L", "--yes"), "provider status": (), "provider pause": ("p",),
    "provider resume": ("p",), "provider check": ("no.yaml",), "provider try": ("no.yaml", "poll"),
    "health": ("gateway",), "backup": ("d",), "restore": ("d",), "spool drain": ("d",),
    "keys new": ("callback", "no/k"), "completion": ("bash",), "consumers show": ("c",),
    "consumers rm": ("c", "--yes"), "dlq edit": ("L",), "dlq replays": ("ls",)}
LOCAL = {"provider check", "provider ls", "provider try", "config check", "config print",
         "config schema", "keys new", "completion", "help", "restore", "fsck", "spool drain"}


def one_style(done):
    """Each line names the command, is a sentence, and says what to do."""
    lines = done.stderr.splitlines()
    assert lines, done
    for line in lines:
        assert line.startswith("aldaba: "), done
        sentence = line.removeprefix("aldaba: ")
        assert sentence[0] in "'-/" or not sentence[0].islower(), line
    return done.stderr


@pytest.mark.parametrize("name", commands() if ALDABA else [])
def test_wrong_usage_is_64(name):
    for words in ((*name.split(), "--nonsense"), (*name.split(), *["x"] * 70)):
        done = run(*words)
        assert (done.returncode, done.stdout) == (64, ""), done
        one_style(done)
    if name in WORDS and WORDS[name] and name not in ("provider status",):
        done = run(*name.split())
        assert done.returncode == 64 and f"aldaba {name} " in one_style(done), done


@pytest.mark.parametrize("name", commands() if ALDABA else [])
def test_nobody_there_is_69(name, tmp_path):
    if name in LOCAL:
        pytest.skip("it asks nobody")
    url = f"http://127.0.0.1:{closed_port()}"
    done = run(*name.split(), *WORDS.get(name, ()), "--url", url)
    assert done.returncode == 69, done
    said = one_style(done)
    assert url in said and "Start it, or name another with --url or --config" in said


@pytest.mark.parametrize("name", commands() if ALDABA else [])
def test_wrong_settings_are_78(name, tmp_path):
    if name in {"provider check", "provider try", "config schema", "keys new", "completion", "help",
                "spool drain"}:
        pytest.skip("it reads no settings, or another program does")
    bad = tmp_path / "bad.yaml"
    bad.write_text("gateway: {privat: x}\n")
    done = run(*name.split(), *WORDS.get(name, ()), "--config", bad)
    assert done.returncode == 78 and f"{bad}:1:11: " in done.stderr, done
    assert "did you mean gateway.private?" in done.stderr
    missing = run(*name.split(), *WORDS.get(name, ()), "--config", tmp_path / "none.yaml")
    assert missing.returncode == 78 and "none.yaml" in missing.stderr, missing


@pytest.mark.parametrize("answer, code, says", [
    ((404, {"detail": "There is no such task."}), 1, "There is no such task. (404)"),
    ((401, {}), 1, "ALDABA_TOKEN"), ((503, {"detail": "Not now."}), 75, "try again in a moment"),
    ((200, b"<html>", "text/html"), 1, "no gateway of aldaba"), ((500, {}), 1, "answered 500")])
def test_refusals_say_what_to_do(gateway, answer, code, says):
    gateway.plan("GET", "/v1/tasks/1", answer)
    done = run("task", "1", "--url", gateway.url)
    assert done.returncode == code and says in one_style(done), done


# ---- texts ----

def test_a_text_for_people_has_no_backslashes_of_ours(gateway):
    said = 'it said "no\\yes"'
    gateway.plan("GET", "/v1/tasks/1", (200, {**TASK, "state": "failed", "code": said}))
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": [{**LETTER, "cause": said}]}))
    gateway.plan("GET", "/v1/status", (409, {"detail": said}))
    assert said in run("task", "1", "--url", gateway.url).stdout
    assert said in run("dlq", "ls", "--url", gateway.url).stdout
    assert said in run("status", "--url", gateway.url).stderr
    gateway.plan("GET", "/v1/tasks/1", (200, {**TASK, "code": said, "key": EVIL}))
    assert "\\x1b[2J" in run("task", "1", "--url", gateway.url).stdout, "but no terminal is steered"


def test_times_have_the_units_of_the_settings(gateway):
    status = {**STATUS, "spool": {"items": 1, "oldest_ms": 300000},
              "provider": {"sandbox.blocked_ms": 7200000}}
    gateway.plan("GET", "/v1/status", (200, status))
    text = run("status", "--url", gateway.url).stdout
    assert "the oldest for 5m\n" in text and "for another 2h: it refuses" in text
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    assert "  45s" in run("provider", "status", "--url", gateway.url).stdout


def test_status_names_the_sinks_that_get_nothing(gateway):
    status = {**STATUS, "consumer": {"mailer.lag": 7, "shop.lag": 0, "shop.paused": 1, "till.down": 1}}
    gateway.plan("GET", "/v1/status", (200, status))
    lines = [line for line in run("status", "--url", gateway.url).stdout.splitlines() if "sink" in line]
    assert len(lines) == 2 and "shop answered 410" in lines[0] and "till is down" in lines[1]


def test_a_task_that_is_never_polled(gateway):
    late = {**TASK, "state": "pending", "stale_at_ms": 1767225700000, "never_polled": True}
    gateway.plan("GET", "/v1/tasks/1", (200, late))
    text = run("task", "1", "--url", gateway.url).stdout
    assert "late from" in text and "polled from" not in text
    gateway.plan("GET", "/v1/providers", (200, {"providers": [{**PROVIDERS["providers"][0],
                                                               "never_polled": True}]}))
    assert "never" in run("provider", "status", "--url", gateway.url).stdout


@pytest.mark.parametrize("words", [("tasks",), ("dlq", "ls")])
def test_a_provider_that_is_mistyped(gateway, words):
    gateway.plan("GET", "/v1/tasks", (200, {"tasks": [], "cursor": ""}))
    gateway.plan("GET", "/v1/dead-letters", (200, {"letters": [], "cursor": ""}))
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    for name, code, says in (("shpo", 1, "did you mean shop?"), ("x", 1, "lists them"),
                             ("shop", 0, "")):
        done = run(*words, "--provider", name, "--url", gateway.url)
        assert done.returncode == code and says in one_style(done), done


def test_tail_of_a_provider_that_is_mistyped(gateway):
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    gateway.plan("GET", "/v1/events", (200, sse(("0:1", event_of(1))), "text/event-stream"))
    done = run("tail", "--provider", "sandbx", "-n", "1", "--url", gateway.url)
    assert done.returncode == 0 and "did you mean sandbox?" in done.stderr, done


# ---- submit --dry-run ----

def test_a_dry_run_asks_nobody(gateway):
    done = run("submit", "shop", "a=b", "n:=1", "--dry-run", "--url", gateway.url)
    assert json.loads(done.stdout) == {"provider": "shop", "params": {"a": "b", "n": 1}}
    assert done.returncode == 0 and not gateway.heard
    assert run("submit", "shop", "a", "--dry-run").returncode == 64


# ---- keys ----

def test_keys_of_the_api(tmp_path):
    first, second = (run("keys", "new", "api").stdout for _ in range(2))
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}\n", first) and first != second
    path = tmp_path / "token"
    told = run("keys", "new", "api", path)
    assert told.returncode == 0 and "gateway.tokens" in told.stdout
    assert re.fullmatch(r"[A-Za-z0-9_-]{43}\n", path.read_text())
    assert stat.S_IMODE(path.stat().st_mode) == 0o600
    assert path.read_text().strip() not in told.stdout + told.stderr
    assert run("keys", "new", "api", path).returncode == 1


def test_keys_of_curve(tmp_path):
    auth = pytest.importorskip("zmq.auth")
    path = tmp_path / "tracker.cert"
    told = run("keys", "new", "curve", path)
    assert told.returncode == 0, told
    secret = tmp_path / "tracker.cert_secret"
    for file in (path, secret):
        assert stat.S_IMODE(file.stat().st_mode) == 0o600
    public, nothing = auth.load_certificate(str(path))
    pair = auth.load_certificate(str(secret))
    assert nothing is None and pair[0] == public and len(pair[1]) == 40
    import zmq
    assert zmq.curve_public(pair[1]) == public, "they belong together"
    again = run("keys", "new", "curve", path)
    assert again.returncode == 1 and auth.load_certificate(str(secret)) == pair
    os.unlink(secret)
    assert run("keys", "new", "curve", path).returncode == 1
    assert not secret.exists(), "half a pair is no pair"
    told = json.loads(run("keys", "new", "callback", tmp_path / 'a "k"', "--json").stdout)
    assert told == {"file": str(tmp_path / 'a "k"')}


# ---- the schema of the settings ----

def test_the_schema_has_every_setting(tmp_path):
    schema = json.loads(run("config", "schema").stdout)
    assert json.loads(run("config", "schema", "--json").stdout) == schema
    (tmp_path / "empty.yaml").write_text("{}")
    printed = json.loads(run("config", "print", "--json", "-c", tmp_path / "empty.yaml").stdout)
    gateway_ = schema["properties"]["gateway"]
    assert gateway_["additionalProperties"] is False
    assert gateway_["properties"]["public"]["default"] == "127.0.0.1:7780"
    assert set(printed) <= set(schema["properties"])
    for group in set(printed) - {"providers", "sinks"}:
        assert set(printed[group]) == set(schema["properties"][group]["properties"]), group


def test_the_schema_says_what_the_check_says(tmp_path):
    """Of each value: is it one for the key? jsonschema is the other reader."""
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    schema = json.loads(run("config", "schema").stdout)
    cases = ["gateway: {public: '127.0.0.1:80'}", "gateway: {public: 80}", "gateway: {threads: 4}",
             "gateway: {threads: 0}", "gateway: {threads: x}", "gateway: {ack_min: 5}",
             "gateway: {ack_min: 5ms}", "gateway: {ack_min: 5 ms}", "gateway: {max_body: 4MiB}",
             "gateway: {max_body: 4MB}", "gateway: {nonsense: 1}", "nonsense: {}",
             "dlq: {factor: 200%}", "dlq: {factor: 200}", "log: {level: debug}",
             "log: {level: loud}", "gateway: {tokens: [{env: PATH}]}", "gateway: {tokens: [secret]}",
             "gateway: {trusted_proxies: [127.0.0.1]}", "gateway: {trusted_proxies: 127.0.0.1}",
             "gateway: {threads: '${THREADS:-8}'}", "providers: {p: 5}",
             "sinks: {s: {url: 'http://h/', secret: {env: X}}}", "sinks: {s: {secret: {env: X}, ur: 1}}"]
    for text in cases:
        path = tmp_path / "aldaba.yaml"
        path.write_text(text + "\n")
        good = run("config", "check", "--config", path).returncode == 0
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(yaml.safe_load(text)))
        assert good == (not errors), (text, good, errors)


def test_descriptions_that_come_with_aldaba_fit_the_schema():
    jsonschema = pytest.importorskip("jsonschema")
    yaml = pytest.importorskip("yaml")
    schema = json.loads(run("config", "schema").stdout)
    root = pathlib.Path(__file__).resolve().parents[2]
    files = sorted(path for path in root.glob("proto/providers/*.yaml"))
    assert files
    for path in files:
        profile = yaml.safe_load(path.read_text())
        errors = list(jsonschema.Draft202012Validator(schema).iter_errors(
            {"providers": {"p": profile}}))
        assert not errors, (path, errors[0].message, list(errors[0].absolute_path))


# ---- completions ----

def complete(*words, environment=None):
    """What bash offers for the last of the words."""
    script = run("completion", "bash").stdout + """
COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _aldaba; printf '%s\\n' "${COMPREPLY[@]}"
"""
    done = subprocess.run(["bash", "-c", script, "bash", "aldaba", *words], capture_output=True,
                          text=True, timeout=TIMEOUT_S, check=True, env=environment)
    assert not done.stderr, done
    return sorted(done.stdout.split())


def test_completion_of_commands():
    assert complete("st") == ["status"]
    assert {"drop", "ls", "show"} <= set(complete("dlq", ""))
    assert {"ls", "pause", "show"} <= set(complete("dlq", "replays", ""))
    assert complete("he") == ["health", "help"]
    assert complete("--json", "conf") == ["config"]
    assert complete("help", "dl") == ["dlq"] and "ls" in complete("help", "dlq", "")
    firsts = {name.split()[0] for name in commands()}
    assert set(complete("")) == firsts


def test_completion_of_options_and_words():
    assert complete("tail", "--fr") == ["--from"] and complete("tail", "--from", "") == ["all", "new"]
    assert complete("tail", "--from", "=", "a") == ["all"]
    assert complete("tasks", "--state", "do") == ["done"]
    assert complete("tasks", "--state", "p") == ["pending"], "the API refuses polling"
    assert complete("tail", "--state", "") == ["cancelled", "done", "expired", "failed", "lost"]
    assert complete("dlq", "ls", "--state", "h") == ["held"]
    assert "conflict" in complete("dlq", "ls", "--reason", "")
    assert complete("health", "t") == ["tracker"]
    assert complete("keys", "new", "c") == ["callback", "curve"]
    assert complete("provider", "try", "x", "p") == ["poll"]
    assert complete("completion", "") == ["bash", "fish", "zsh"]
    assert complete("dlq", "replay", "a") == ["all"]
    assert "--believe" not in complete("dlq", "drop", "--")
    assert complete("-c", "x.yaml", "stat") == ["status"]


def test_completion_of_files_and_providers(tmp_path):
    (tmp_path / "one.yaml").write_text("gateway: {}\nproviders: {shop: {extends: replicate}}\n")
    environment = clean_environment(ALDABA_CONFIG=str(tmp_path / "one.yaml"),
                                    PATH=f"{os.path.dirname(ALDABA)}:{os.environ['PATH']}")
    assert complete("tasks", "--provider", "", environment=environment) == ["shop"]
    assert complete("submit", "sh", environment=environment) == ["shop"]
    assert complete("config", "check", "-c", f"{tmp_path}/o") == [f"{tmp_path}/one.yaml"]
    assert complete("provider", "check", f"{tmp_path}/o") == [f"{tmp_path}/one.yaml"]


def test_completion_of_consumers(gateway):
    gateway.plan("GET", "/v1/consumers", (200, {"consumers": [{"name": "mailer"}, {"name": "books"}]}))
    environment = clean_environment(ALDABA_URL=gateway.url,
                                    PATH=f"{os.path.dirname(ALDABA)}:{os.environ['PATH']}")
    assert complete("consumers", "show", "", environment=environment) == ["books", "mailer"]
    assert complete("consumers", "rm", "m", environment=environment) == ["mailer"]
    assert complete("tail", "--consumer", "b", environment=environment) == ["books"]


@pytest.mark.parametrize("shell, words", [("bash", ("-n",)), ("zsh", ("-n",)),
                                          ("fish", ("--no-execute",))])
def test_completions_can_be_read(tmp_path, shell, words):
    script = run("completion", shell)
    assert script.returncode == 0 and len(script.stdout) > 1000
    path = tmp_path / f"aldaba.{shell}"
    path.write_text(script.stdout)
    try:
        done = subprocess.run([shell, *words, path], capture_output=True, text=True, check=False,
                              timeout=TIMEOUT_S)
    except FileNotFoundError:
        pytest.skip(f"{shell} is not here")
    assert (done.returncode, done.stderr) == (0, "")


# ---- top ----

def faster(step):
    return {**STATUS, "results": {"callback": 40 + step, "poll": 2},
            "arrivals": {"received": 100 + 2 * step}}


def test_top_without_a_terminal_is_one_page(gateway):
    gateway.plan("GET", "/v1/status", (200, STATUS), (200, STATUS), (200, faster(5)))
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    done = run("top", "--every", "100ms", "--url", gateway.url)
    assert (done.returncode, done.stderr) == (0, "") and "\x1b" not in done.stdout, done
    for part in ("gateway answers", "balance; feed head 0:42", "3 open: 3 pending",
                 "1 open, 0 held: 1 conflict", "sandbox", "shop"):
        assert part in done.stdout, part
    rate = float(re.search(r"([0-9.]+)/s callback", done.stdout)[1])
    assert 0 < rate <= 50


def test_top_as_lines(gateway):
    gateway.plan("GET", "/v1/status", (200, STATUS), (200, STATUS), (200, faster(5)), (0, None),
                 (0, None), (200, faster(9)))  # a connection that was closed is tried once more
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    done = run("top", "--json", "-n", "4", "--every", "100ms", "--url", gateway.url)
    first, second, away, back = map(json.loads, done.stdout.splitlines())
    assert first["rates"]["callback"] is None and second["rates"]["callback"] > 0
    assert second["reasons"] == {"conflict": 1} and second["balanced"] is True
    assert away["gateway"] is False and away["rates"]["callback"] is None
    assert back["gateway"] is True and back["rates"]["callback"] is None
    assert done.returncode == 0


class Terminal:
    """The command in a terminal of 24 lines and 80 columns, which remembers all that it is told."""

    def __init__(self, *words, rows=24, columns=80):
        self.main, side = pty.openpty()
        self.size(rows, columns)
        self.before = termios.tcgetattr(side)
        self.side = side
        self.told = b""
        self.process = subprocess.Popen(
            [ALDABA, *map(str, words)], stdin=side, stdout=side, stderr=side,
            env=clean_environment(NO_COLOR="1"), start_new_session=True)

    def __enter__(self):
        os.set_blocking(self.main, False)
        return self

    def __exit__(self, *_):
        if self.process.poll() is None:
            self.process.kill()
            self.process.wait()
        os.close(self.main)
        os.close(self.side)

    def size(self, rows, columns):
        fcntl.ioctl(self.main, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))

    def read(self):
        with contextlib.suppress(BlockingIOError, OSError):
            while chunk := os.read(self.main, 65536):
                self.told += chunk
        return self.told

    def page(self):
        """The lines of the last whole page."""
        pages = self.read().decode("utf-8", "replace").split("\x1b[H")
        whole = [page for page in pages if page.endswith("\x1b[J") or "\x1b[J" in page]
        last = whole[-1].partition("\x1b[J")[0] if whole else ""
        return re.split(r"\r+\n", last.replace("\x1b[K", ""))

    def shows(self, text):
        until(lambda: any(text in line for line in self.page()), TIMEOUT_S,
              lambda: f"no {text!r} in {self.page()}")

    def key(self, keys):
        os.write(self.main, keys)

    def restored(self):
        """It is as it was: the first screen, the cursor, and how lines are read."""
        told = self.read()
        assert told.count(b"\x1b[?1049h") == told.count(b"\x1b[?1049l") > 0, told[-200:]
        assert told.count(b"\x1b[?25l") == told.count(b"\x1b[?25h") > 0
        assert termios.tcgetattr(self.side) == self.before


@pytest.fixture
def alive(gateway):
    gateway.plan("GET", "/v1/status", (200, STATUS))
    gateway.plan("GET", "/v1/providers", (200, PROVIDERS))
    return gateway


def top(gateway, *words, **more):
    return Terminal("top", "--every", "200ms", *words, "--url", gateway.url, **more)


def test_top_in_a_terminal(alive):
    with top(alive) as terminal:
        terminal.shows("3 open: 3 pending")
        page = terminal.page()
        assert len(page) == 24 and max(map(len, page)) <= 80, page
        assert page[-1].startswith("q quit  p pause")
        terminal.shows("> sandbox")
        terminal.key(b"j")
        terminal.shows("> shop")
        terminal.key(b"\x1b[A")
        terminal.shows("> sandbox")
        terminal.key(b"?")
        terminal.shows("pause: what is shown stays")
        terminal.key(b"?")
        terminal.shows("3 open")
        terminal.key(b"p")
        terminal.shows("PAUSED")
        asked = len(alive.heard)
        stays(lambda: len(alive.heard) == asked, 0.6, "a pause asks somebody")  # three looks long
        terminal.key(b"p")
        until(lambda: len(alive.heard) > asked, TIMEOUT_S, "it does not go on")
        terminal.key(b"q")
        assert terminal.process.wait(TIMEOUT_S) == 0
        terminal.restored()


def test_top_outlives_the_gateway(alive):
    with top(alive) as terminal:
        terminal.shows("3 open")
        alive.plan("GET", "/v1/status", (0, None))
        terminal.shows("does NOT answer")
        assert terminal.process.poll() is None
        alive.plan("GET", "/v1/status", (200, {**STATUS, "away": ["tracker"]}))
        terminal.shows("tracker does NOT answer")
        alive.plan("GET", "/v1/status", (200, faster(3)))
        terminal.shows("3 open")
        terminal.key(b"q")
        assert terminal.process.wait(TIMEOUT_S) == 0
        terminal.restored()


def test_top_begins_without_a_gateway():
    words = ("top", "--every", "200ms", "--url", f"http://127.0.0.1:{closed_port()}")
    with Terminal(*words) as terminal:
        terminal.shows("does NOT answer")
        terminal.key(b"q")
        assert terminal.process.wait(TIMEOUT_S) == 0
        terminal.restored()
    assert run(*words).returncode == 69, "without a terminal nobody sees it come"


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM, signal.SIGHUP, signal.SIGQUIT])
def test_a_signal_gives_the_terminal_back(alive, number):
    with top(alive) as terminal:
        terminal.shows("3 open")
        terminal.process.send_signal(number)
        assert terminal.process.wait(TIMEOUT_S) == -number, "it ends as one that did not catch it"
        terminal.restored()


def test_a_stopped_top_gives_the_terminal_back_meanwhile(alive):
    with top(alive) as terminal:
        terminal.shows("3 open")
        terminal.process.send_signal(signal.SIGTSTP)
        state = pathlib.Path(f"/proc/{terminal.process.pid}/stat")
        until(lambda: state.read_text().rpartition(")")[2].split()[0] == "T", TIMEOUT_S, "it runs")
        terminal.restored()
        terminal.process.send_signal(signal.SIGCONT)
        entered = terminal.read().count(b"\x1b[?1049h")
        until(lambda: terminal.read().count(b"\x1b[?1049h") == entered + 1 or entered == 2,
              TIMEOUT_S, "it does not come back")
        terminal.shows("3 open")
        terminal.key(b"q")
        assert terminal.process.wait(TIMEOUT_S) == 0
        terminal.restored()


def test_another_size_is_drawn_at_once(alive):
    with Terminal("top", "--every", "60s", "--url", alive.url) as terminal:
        terminal.shows("3 open")
        terminal.size(12, 60)
        terminal.process.send_signal(signal.SIGWINCH)
        until(lambda: len(terminal.page()) == 12, TIMEOUT_S, lambda: terminal.page())
        assert max(map(len, terminal.page())) <= 60
        terminal.key(b"q")
        assert terminal.process.wait(TIMEOUT_S) == 0


def test_a_gateway_that_hangs_keeps_nobody(alive):
    """While it is waited, the keys that end it are heard."""
    with top(alive) as terminal:
        terminal.shows("3 open")
        hanging = time.monotonic()
        terminal.process.send_signal(signal.SIGINT)
        assert terminal.process.wait(TIMEOUT_S) == -signal.SIGINT
        assert time.monotonic() - hanging < 5


def test_a_name_steers_no_terminal(alive):
    alive.plan("GET", "/v1/providers", (200, {"providers": [{**PROVIDERS["providers"][0],
                                                             "name": EVIL}]}))
    with top(alive) as terminal:
        terminal.shows("\\x1b[2J")
        assert terminal.read().count(b"\x1b[2J") == 1, "only our own"
        terminal.key(b"q")
        terminal.process.wait(TIMEOUT_S)
