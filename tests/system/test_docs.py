"""What the documents tell people to write and to type, played as it stands there."""
import http.server
import json
import os
import pathlib
import re
import shlex
import signal
import subprocess
import textwrap
import threading
import urllib.request

import pytest
from support.house import KEY, House, binary
from support.until import until

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
FENCE = re.compile(r"^(?P<lead> *)```(?P<language>\w+)\n(?P<text>.*?)^(?P=lead)```$", re.M | re.S)
SCRIBE_KEY = "key-of-the-scribe-41"
SOON_S = 15


def blocks(document, heading, language):
    """The fenced texts of a language below a heading, up to the next one of its kind."""
    text = (ROOT / document).read_text(encoding="utf-8")
    level = heading.partition(" ")[0]
    section = text.partition(f"\n{heading}\n")[2].partition(f"\n{level} ")[0]
    found = [textwrap.dedent(block["text"]) for block in FENCE.finditer(section)
             if block["language"] == language]
    assert found, f"{document} has no {language} below {heading}"
    return found


def put(house, name, text):
    folder = pathlib.Path(house.folder) / "providers.d"
    folder.mkdir(exist_ok=True)
    (folder / name).write_text(text, encoding="utf-8")


def read_again(house, name):
    """What `kill -HUP` does."""
    checked = house.aldaba("config", "check")
    assert checked.returncode == 0, checked
    for daemon in house.daemons.values():
        daemon.send(signal.SIGHUP)
    until(lambda: all(any("ev=reload.done" in line for line in daemon.lines())
                      for daemon in house.daemons.values()), SOON_S,
          lambda: f"{name} is not read: {house.tails()}")


def test_example():
    assert "profile: shop" in "".join(blocks("README.md", "## First real use", "yaml"))


# ---- README.md ----


def typed(line, house):
    """A line of `aldaba ...` out of a document."""
    words = shlex.split(line, comments=True)
    assert words[0] == "aldaba"
    return house.aldaba(*words[1:])


def test_an_own_provider_beside_the_settings():
    """While everything runs: a file in providers.d, a SIGHUP, and a task is submitted."""
    text = next(block for block in blocks("README.md", "## First real use", "yaml")
                if "profile: shop" in block)
    commands = next(block for block in blocks("README.md", "## First real use", "sh")
                    if "aldaba submit shop" in block).splitlines()
    with House() as house:
        house.start()
        (pathlib.Path(house.folder) / "sandbox.key").write_text(KEY, encoding="utf-8")
        put(house, "shop.yaml", text.replace("/PATH/var", house.folder)
            .replace("PORT", str(house.provider.port)))
        read_again(house, "shop")
        submit = next(line for line in commands if line.startswith("aldaba submit"))
        done = typed(submit, house)
        assert done.returncode == 0 and "done" in done.stdout, done
        again = typed(submit, house)
        assert again.returncode == 0, again
        assert house.provider_stats()["requests"]["/in.php"] == 1
        picture = pathlib.Path(house.folder) / "page.png"
        picture.write_bytes(b"\x89PNG and more \x00\xff")
        done = house.aldaba("submit", "shop", "method=post", f"file=@{picture}", "--wait")
        assert done.returncode == 0 and "done" in done.stdout, done
        assert house.provider_stats()["requests"]["/in.php"] == 2


# ---- docs/PROVIDERS.md ----


class Scribe(http.server.BaseHTTPRequestHandler):
    """The service that the description is of. A job whose audio has `later` in its name is not called
    back; one without audio is refused."""
    protocol_version = "HTTP/1.1"

    def answer(self, status, value):
        body = json.dumps(value).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def allowed(self):
        return self.headers["Authorization"] == f"Bearer {SCRIBE_KEY}"

    def do_POST(self):
        job = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        if not self.allowed() or "audio" not in job:
            self.answer(422 if self.allowed() else 401, {"reason": "no_audio"})
            return
        self.server.jobs.append(job)
        name = f"job-{len(self.server.jobs)}"
        self.answer(201, {"job": name})
        if "later" not in job["audio"]:
            call = urllib.request.Request(job["notify"], json.dumps(
                {"job": name, "state": "done", "text": "hello"}).encode(),
                {"Content-Type": "application/json"})
            threading.Timer(0.3, urllib.request.urlopen, (call,)).start()

    def do_GET(self):
        self.answer(200 if self.allowed() else 401,
                    {"job": self.path.rpartition("/")[2], "state": "done", "text": "polled"})

    def log_message(self, *_):
        pass


@pytest.fixture
def scribe():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Scribe)
    server.jobs = []
    threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True).start()
    yield server
    server.shutdown()
    server.server_close()


def described():
    return blocks("docs/PROVIDERS.md", "## In ten minutes", "yaml")[0]


def test_the_description_of_ten_minutes_is_tried(tmp_path):
    (tmp_path / "scribe.yaml").write_text(described(), encoding="utf-8")
    checked = subprocess.run([binary("aldaba"), "provider", "check", "scribe.yaml"], cwd=tmp_path,
                             capture_output=True, text=True, check=False)
    assert checked.returncode == 0, checked
    script = blocks("docs/PROVIDERS.md", "## In ten minutes", "sh")[0]
    wanted = re.search(r"^# (\{.*\})$", script, re.M)[1]
    done = subprocess.run(["bash", "-c", f'aldaba() {{ "$ALDABA" "$@"; }}\n{script}'], cwd=tmp_path,
                          env={**os.environ, "ALDABA": binary("aldaba")}, capture_output=True,
                          text=True, check=False)
    assert done.stdout.strip() == wanted, done


def test_the_description_of_ten_minutes_runs(scribe, monkeypatch):
    """The text as it stands there, but for the service's host."""
    monkeypatch.setenv("SCRIBE_KEY", SCRIBE_KEY)
    command = next(block for block in blocks("docs/PROVIDERS.md", "## In ten minutes", "sh")
                   if block.startswith("aldaba submit"))
    with House() as house:
        put(house, "scribe.yaml", described().replace(
            "https://api.scribe.example", f"http://127.0.0.1:{scribe.server_port}"))
        for daemon in house.daemons.values():
            daemon.env["SCRIBE_KEY"] = SCRIBE_KEY
        house.start()
        done = typed(command, house)
        assert done.returncode == 0 and "hello" in done.stdout, done
        assert set(scribe.jobs[0]) == {"audio", "notify", "model"}
        assert scribe.jobs[0]["model"] == "large" and "/cb/" in scribe.jobs[0]["notify"]
        polled = house.post("/v1/tasks", {"provider": "scribe", "params": {"audio": "later.mp3"},
                                          "stale_after": "1s"})
        ended = house.ended(polled["id"])
        assert (ended["result"], ended["source"]) == ("polled", "poll")
        refused = house.post("/v1/tasks", {"provider": "scribe", "params": {"video": "x"}})
        ended = house.ended(refused["id"])
        assert (ended["state"], ended["code"]) == ("failed", "no_audio")
