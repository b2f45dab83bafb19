"""Clients that their users install with npm, unmodified: in a folder of the build, with the versions
of tests/clients/package-lock.json, their connections redirected to this machine."""
import json
import os
import pathlib
import subprocess

from support import npm

TESTS = pathlib.Path(__file__).resolve().parents[1]
HERE = TESTS / "clients"
FILES = ("package.json", "package-lock.json", "redirect.cjs", "solve.cjs", "predict.cjs")
HOSTS = "2captcha.com,api.2captcha.com,rucaptcha.com,api.replicate.com"
RUN_S = 60


def install():
    """The folder with the clients. Skips the test, and says why, where they can't be had."""
    return npm.install("clients", HERE, FILES, "the real clients are not tested")


def start(folder, port, script, *arguments):
    """A client of its own process, whose provider is this port."""
    env = {**os.environ, "REDIRECT_HOSTS": HOSTS, "REDIRECT_PORT": str(port)}
    argv = ["node", "--require", "./redirect.cjs", script,
            *(word if isinstance(word, str) else json.dumps(word) for word in arguments)]
    return subprocess.Popen(argv, cwd=folder, env=env, stdout=subprocess.PIPE,
                            stderr=subprocess.PIPE, text=True)


def end(process):
    """The last line that it printed, as JSON; the packages print on their own."""
    try:
        out, err = process.communicate(timeout=RUN_S)
    except subprocess.TimeoutExpired:
        process.kill()
        raise
    assert process.returncode == 0, out + err
    return json.loads(out.splitlines()[-1])
