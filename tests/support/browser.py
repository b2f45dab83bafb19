"""A real Chromium, driven by tests/browser/driver.cjs.

    with Browser() as browser:
        browser.open(house.private.url + "/")
        browser.click(role="button", name="Pause sandbox…")
        assert browser.text(css="h1") == "Providers"

What is waited for has a deadline in the driver; a test that needs more uses until().
"""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

from support import npm

HERE = pathlib.Path(__file__).resolve().parents[1] / "browser"
FILES = ("package.json", "package-lock.json", "driver.cjs")
STOP_S = 20


class Failed(AssertionError):
    """The page is not as it was asked to be."""


class Browser:
    def __init__(self):
        self.program = shutil.which("chromium")
        if self.program is None:
            pytest.skip("chromium is not installed (package chromium): the dashboard is not tried in "
                        "a browser")
        self.folder = npm.install("browser", HERE, FILES, "the dashboard is not tried in a browser")
        self.process = None

    def __enter__(self):
        self.process = subprocess.Popen(["node", "driver.cjs"], cwd=self.folder, text=True,
                                        stdin=subprocess.PIPE, stdout=subprocess.PIPE,
                                        env={**os.environ, "CHROMIUM": self.program})
        self.version = self._answer()
        return self

    def __exit__(self, *_):
        self.process.stdin.close()
        try:
            self.process.wait(STOP_S)
        except subprocess.TimeoutExpired:
            self.process.kill()
            self.process.wait()

    def _answer(self):
        line = self.process.stdout.readline()
        if not line:
            raise Failed("the driver of the browser has ended")
        answer = json.loads(line)
        if "error" in answer:
            raise Failed(answer["error"])
        return answer["ok"]

    def do(self, op, **what):
        self.process.stdin.write(json.dumps({"op": op, **what}) + "\n")
        self.process.stdin.flush()
        return self._answer()

    def __getattr__(self, op):
        """browser.click(role=..., name=...) and so on: the driver's words."""
        if op.startswith("_"):
            raise AttributeError(op)
        return lambda **what: self.do(op, **what)

    def open(self, url, **what):
        return self.do("open", url=url, **what)

    def go(self, hash_):
        """Another view of the page."""
        return self.do("go", hash=hash_)

    def quiet(self, own):
        """Nothing was said on the console, and nobody was asked but our own origin."""
        said = self.do("noise")
        assert said == {"console": [], "origins": [own]}, said
