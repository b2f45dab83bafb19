#!/usr/bin/env python3
"""Services that are broken on purpose (common/base/bug.h), and the fault tests that must see it. For each bug
the programs are built with it in build/mutants, and its tests run until one of them fails; then the same
tests run against the same build without a bug. Prints a table; ends with 0 if every bug was seen and nothing
failed without one.

    tests/fault/mutants.py [BUG...] [--no-control]
"""
import argparse
import os
import re
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(ROOT, "build", "mutants")
ONE_S = 400

# Any of them may see it; the first is the one that is meant to.
SEEN_BY = {
    "sync_normal": ("test_power_orders.py::test_every_cut", "test_power_cut.py", "test_sync_first.py"),
    "ack_before_commit": ("test_failpoints.py::test_killed_in_a_commit", "test_sync_first.py"),
    "no_dedup": ("test_kill_points.py::test_tracker", "test_failpoints.py::test_errors"),
    "no_dirsync": ("test_power_names.py",),
}


def run(*argv, **more):
    return subprocess.run(argv, capture_output=True, text=True, check=False, **more)


def build(bug):
    """The programs with one bug, or with `none`. Only its file is compiled again."""
    for argv in (("cmake", "--preset", "failpoints", "-B", BUILD, f"-DALDABA_BUG={bug}"),
                 ("ninja", "-C", BUILD, "--quiet")):
        made = run(*argv, cwd=ROOT)
        if made.returncode != 0:
            sys.exit(f"{bug} can't be built:\n{made.stdout}{made.stderr}")


def outcome(test):
    """("passed" | "failed" | "skipped" | "broken", what pytest says of it)"""
    env = {**os.environ, "ALDABA_BIN": BUILD, "PYTHONDONTWRITEBYTECODE": "1",
           "ALDABA_FAULT_SEED": "1"}
    try:
        ran = run(sys.executable, "-m", "pytest", "-q", "-x", "-rfEs", "--tb=line", "-p",
                  "no:cacheprovider", os.path.join(HERE, test), env=env, timeout=ONE_S)
    except subprocess.TimeoutExpired:
        return "broken", f"not over within {ONE_S} s"
    failed = re.search(r"^FAILED \S*?([^/\s]+::\S+)(?: - (.*))?$", ran.stdout, re.MULTILINE)
    if ran.returncode == 1 and failed:
        return "failed", f"{failed.group(1)}: {(failed.group(2) or '')[:100]}"
    if ran.returncode == 0:
        ran_some = re.search(r"\d+ passed", ran.stdout)
        return ("passed", "") if ran_some else ("skipped", ran.stdout.strip().splitlines()[-1])
    return "broken", " ".join((ran.stdout + ran.stderr).split())[-200:]


def hunt(bug):
    """(was it seen, lines of the table)"""
    build(bug)
    lines = []
    for test in SEEN_BY[bug]:
        begun = time.monotonic()
        word, said = outcome(test)
        lines.append(f"| {bug} | {test} | {word} | {said} | {time.monotonic() - begun:.0f} s |")
        print(lines[-1], flush=True)
        if word == "failed":
            return True, lines
    return False, lines


def control(tests):
    """Without a bug nothing fails, or the tests see something else."""
    build("none")
    good = True
    for test in sorted(tests):
        word, said = outcome(test)
        print(f"| none | {test} | {word} | {said} | |", flush=True)
        good = good and word == "passed"
    return good


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("bugs", nargs="*", metavar="BUG", help=", ".join(SEEN_BY))
    parser.add_argument("--no-control", action="store_true")
    options = parser.parse_args()
    bugs = options.bugs or list(SEEN_BY)
    strange = [bug for bug in bugs if bug not in SEEN_BY]
    if strange:
        parser.error(f"there is no {strange[0]}")
    print("| bug | test | outcome | what it says | took |\n| --- | --- | --- | --- | --- |")
    seen = {bug: hunt(bug) for bug in bugs}
    used = {line.split(" | ")[1] for _, lines in seen.values() for line in lines}
    good = options.no_control or control(used)
    unseen = [bug for bug, (found, _) in seen.items() if not found]
    print(f"{len(bugs) - len(unseen)} of {len(bugs)} bugs were seen"
          + (f"; not: {', '.join(unseen)}" if unseen else "")
          + ("" if good else "; without a bug something fails, or can't run, too"))
    return 0 if good and not unseen else 1


if __name__ == "__main__":
    sys.exit(main())
