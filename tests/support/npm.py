"""Packages of npm that a test needs: in a folder of the build, with the versions of a package-lock.json."""
import contextlib
import fcntl
import pathlib
import shutil
import subprocess

import pytest

BUILD = pathlib.Path(__file__).resolve().parents[2] / "build"
AWAY = ("ENOTFOUND", "EAI_AGAIN", "ECONNREFUSED", "ETIMEDOUT", "ENETUNREACH", "network")
INSTALL_S = 300


@contextlib.contextmanager
def alone(folder):
    """Tests that run beside each other may want the same folder: npm empties it first."""
    with open(folder / "lock", "wb") as lock:
        fcntl.flock(lock, fcntl.LOCK_EX)
        yield


def install(name, source, files, so):
    """build/NAME with these files of source, package-lock.json among them, and the packages. Skips the
    test where they can't be had, and says why and what follows (`so`)."""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            pytest.skip(f"{program} is not installed (packages nodejs and npm): {so}")
    folder = BUILD / name
    folder.mkdir(parents=True, exist_ok=True)
    with alone(folder):
        lock = (source / "package-lock.json").read_bytes()
        done = folder / "installed"
        for file in files:
            shutil.copy(source / file, folder / file)
        if done.exists() and done.read_bytes() == lock:
            return folder
        ran = subprocess.run(["npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund"], cwd=folder,
                             capture_output=True, text=True, timeout=INSTALL_S, check=False)
        if ran.returncode != 0 and any(word in ran.stderr for word in AWAY):
            pytest.skip(f"npm can't reach its registry, so {so}: {ran.stderr[-300:]}")
        assert ran.returncode == 0, ran.stderr
        done.write_bytes(lock)
        return folder
