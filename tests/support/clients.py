"""Clients that their users install with npm, unmodified: in a folder of the build, with the versions
of tests/clients/package-lock.json, their connections redirected to this machine."""
import json
import os
import pathlib
import shutil
import subprocess

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
HERE = TESTS / "clients"
FILES = ("package.json", "package-lock.json", "redirect.cjs", "solve.cjs", "predict.cjs")
HOSTS = "2captcha.com,api.2captcha.com,rucaptcha.com,api.replicate.com"
AWAY = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "network")
INSTALL_S = 300
RUN_S = 60


def install():
    """The folder with the clients. Skips the test, and says why, where they can't be had."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (packages nodejs and npm): the real clients "
                        "are not tested")
    folder = TESTS.parent / "build" / "clients"
    folder.mkdir(parents=True, exist_ok=True)
    lock = (HERE / "package-lock.json").read_bytes()
    done = folder / "installed"
    for name in FILES:
        shutil.copy(HERE / name, folder / name)
    if done.exists() and done.read_bytes() == lock:
        return folder
    ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                         capture_output=True, text=True, timeout=INSTALL_S, check=False)
    if ran.returncode != 0 and any(word in ran.stderr for word in AWAY):
        pytest.skip(f"npm can't reach its registry, so the real clients are not tested: "
                    f"{ran.stderr[-300:]}")
    assert ran.returncode == 0, ran.stderr
    done.write_bytes(lock)
    return folder


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
