"""The facts of the machine and of the versions that figures depend on."""
import os
import platform
import re
import subprocess

from bench import measure

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))


def said(*argv):
    """What a program prints, both streams; empty where it can't be run."""
    try:
        done = subprocess.run(argv, capture_output=True, text=True, timeout=20, check=False)
    except (OSError, subprocess.TimeoutExpired):
        return ""
    return done.stdout + done.stderr


def first_version(*argv):
    found = re.search(r"\d+(?:\.\d+)+", said(*argv))
    return found[0] if found else ""


def processor():
    with open("/proc/cpuinfo", encoding="ascii", errors="replace") as file:
        names = [line.partition(":")[2].strip() for line in file if line.startswith("model name")]
    return names[0] if names else platform.machine()


def memory_gib():
    with open("/proc/meminfo", encoding="ascii") as file:
        return int(file.readline().split()[1]) / (1 << 20)


def commit():
    """The commit that is measured, and whether the tree is exactly that."""
    name = said("git", "-C", ROOT, "rev-parse", "--short=12", "HEAD").strip()
    if not re.fullmatch(r"[0-9a-f]{12}", name):
        return "unknown"
    return name + (" with changes" if said("git", "-C", ROOT, "status", "--porcelain").strip() else "")


def facts(folder):
    """Of this machine; folder: where the stores will be."""
    return {
        "commit": commit(),
        "processors": f"{os.cpu_count()} ({processor()})",
        "memory": f"{memory_gib():.0f} GiB",
        "kernel": platform.release(),
        "load_before": f"{os.getloadavg()[0]:.1f}",
        "fdatasync_of_4_KiB": f"{measure.fsync_us(folder):.0f} us",
        "versions": {"wrk": first_version("wrk", "--version"), "h2load": first_version("h2load", "--version")},
    }
