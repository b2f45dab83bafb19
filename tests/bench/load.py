#!/usr/bin/env python3
"""How long a thousand profiles take to load, each with rules of its own in a file of its own:
`aldaba config check`, process and all.

    tests/bench/load.py [--bin BUILD] [--profiles 1000] [--rounds 5]
"""
import argparse
import glob
import os
import re
import resource
import statistics
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
ROOT = os.path.dirname(os.path.dirname(HERE))
sys.path.insert(0, os.path.dirname(HERE))

from support.house import binary  # noqa: E402

WANTED_S = 1.0


def write(folder, count):
    """Copies of the bundled descriptions that extend nothing, under names of their own."""
    whole = []
    for path in sorted(glob.glob(f"{ROOT}/proto/providers/*.yaml")):
        with open(path, encoding="utf-8") as file:
            text = file.read()
        if not re.search(r"^extends:", text, re.MULTILINE):
            whole.append(text)
    os.mkdir(f"{folder}/providers.d")
    for number in range(count):
        text = re.sub(r"^profile: .*$", f"profile: p{number}", whole[number % len(whole)],
                      flags=re.MULTILINE)
        with open(f"{folder}/providers.d/p{number:04}.yaml", "w", encoding="utf-8") as file:
            file.write(text)
    with open(f"{folder}/aldaba.yaml", "w", encoding="utf-8") as file:
        file.write(f"store: {{data: {folder}}}\n")


def cpu_s():
    spent = resource.getrusage(resource.RUSAGE_CHILDREN)
    return spent.ru_utime + spent.ru_stime


def main():
    parser = argparse.ArgumentParser(description=__doc__,
                                     formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--bin", default=os.environ.get("ALDABA_BIN", f"{ROOT}/build/release"))
    parser.add_argument("--profiles", type=int, default=1000)
    parser.add_argument("--rounds", type=int, default=5)
    args = parser.parse_args()
    os.environ["ALDABA_BIN"] = os.path.abspath(args.bin)
    times = []
    with tempfile.TemporaryDirectory(prefix="ald-") as folder:
        write(folder, args.profiles)
        for _ in range(args.rounds):
            began, before = time.perf_counter(), cpu_s()
            done = subprocess.run([binary("aldaba"), "--config", f"{folder}/aldaba.yaml", "config",
                                   "check"], capture_output=True, text=True, check=False)
            times.append((cpu_s() - before, time.perf_counter() - began))
            if done.returncode != 0 or str(args.profiles) not in done.stdout:
                sys.exit(done.stdout[-2000:] + done.stderr[-2000:])
    middle = statistics.median(cpu for cpu, _ in times)
    print(f"{args.profiles} profiles, each in a file of its own: {middle:.3f} s of CPU"
          f" (wanted {WANTED_S}), {statistics.median(wall for _, wall in times):.3f} s in all")
    return 0 if middle <= WANTED_S else 1


if __name__ == "__main__":
    sys.exit(main())
