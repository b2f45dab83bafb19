"""Installs what the benchmark measures aldaba against: Debian's packages, and packages of npm into a folder
of the build. What can't be had is said, and is no reason to stop.
"""
import glob
import json
import os
import shutil
import subprocess

HERE = os.path.dirname(os.path.abspath(__file__))
PEERS = os.path.join(HERE, "peers")
INSTALL_S = 900


class Missing(Exception):
    """It can't be installed, and this is why."""


def last_words(done):
    lines = [line for line in (done.stdout + done.stderr).splitlines() if line.strip()]
    return lines[-1][:200] if lines else f"exit code {done.returncode}"


def run(*argv, **more):
    try:
        return subprocess.run(argv, capture_output=True, text=True, timeout=INSTALL_S, check=False,
                              stdin=subprocess.DEVNULL, **more)
    except (OSError, subprocess.TimeoutExpired) as error:
        raise Missing(f"{argv[0]}: {error}") from error


def installed(package):
    done = run("dpkg-query", "-W", "-f", "${db:Status-Status} ${Version}", package)
    state, _, version = done.stdout.partition(" ")
    return version if done.returncode == 0 and state == "installed" else None


def debian(*packages):
    """{package: version}, after installing what is missing."""
    missing = [package for package in packages if not installed(package)]
    if missing:
        env = {**os.environ, "DEBIAN_FRONTEND": "noninteractive", "RUNLEVEL": "1"}
        sudo = [] if os.geteuid() == 0 else ["sudo", "-n"]
        run(*sudo, "apt-get", "update", "-qq")
        done = run(*sudo, "apt-get", "install", "-y", "-qq", "--no-install-recommends", *missing, env=env)
        if done.returncode != 0:
            raise Missing(f"packages {' '.join(missing)} can't be installed: {last_words(done)}")
    return {package: installed(package) for package in packages}


def npm(folder):
    """The packages of peers/package-lock.json, in this folder, together with the peers' programs.
    {package: version}"""
    for program in ("node", "npm"):
        if shutil.which(program) is None:
            debian("nodejs", "npm")
    os.makedirs(folder, exist_ok=True)
    for name in os.listdir(PEERS):
        shutil.copy(os.path.join(PEERS, name), folder)
    with open(os.path.join(PEERS, "package-lock.json"), encoding="utf-8") as file:
        lock = file.read()
    done_file = os.path.join(folder, "installed")
    if not os.path.exists(done_file) or open(done_file, encoding="utf-8").read() != lock:
        done = run("npm", "ci", "--ignore-scripts", "--no-audit", "--no-fund", cwd=folder)
        if done.returncode != 0:
            raise Missing(f"npm: {last_words(done)}")
        with open(done_file, "w", encoding="utf-8") as file:
            file.write(lock)
    with open(os.path.join(PEERS, "package.json"), encoding="utf-8") as file:
        return json.load(file)["dependencies"]


def compiled(folder, package):
    """The package has a part in C++, which is compiled here; node's headers are where node is."""
    if not glob.glob(os.path.join(folder, "node_modules", package, "build", "Release", "*.node")):
        prefix = os.path.dirname(os.path.dirname(os.path.realpath(shutil.which("node"))))
        env = {**os.environ, "npm_config_build_from_source": "true"}
        if os.path.exists(os.path.join(prefix, "include", "node", "node.h")):
            env["npm_config_nodedir"] = prefix
        done = run("npm", "rebuild", package, cwd=folder, env=env)
        if done.returncode != 0:
            raise Missing(f"{package} can't be compiled: {last_words(done)}")


def version_of(name):
    """What node says of itself."""
    return run(name, "--version").stdout.strip().lstrip("v")
