#!/usr/bin/env python3
"""Run the fuzzers: tests/fuzz/run.py --minutes 30, or --inputs 100000000, over all targets together.

    tests/fuzz/run.py --minutes N [--only wire,api] [--jobs 2] [--seed S]
    tests/fuzz/run.py --inputs N ...
    tests/fuzz/run.py --merge          make corpus/*.pack of what was found, minimised
    tests/fuzz/run.py --table          what has been done so far

Build them first: cmake --preset fuzz && ninja -C build/fuzz fuzzers. What is found goes to
build/fuzz/found: NAME is the corpus, NAME.crash the inputs that ended the program, totals.json the
sums of all runs. An input that ended a program is kept in tests/fuzz/broke/NAME when it is mended.
"""
import argparse
import concurrent.futures
import json
import os
import pathlib
import random
import re
import shutil
import subprocess
import sys
import tempfile
import time

import seeds

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
KEPT_BYTES = 72 * 1024  # of a pack; all of them together are below 1.5 MiB
ITEM_BYTES = 4096
SLICE_SECONDS = 60
OPTIONS = ["-timeout=10", "-rss_limit_mb=2048", "-malloc_limit_mb=256", "-print_final_stats=1", "-max_len=8192"]
# A small quarantine keeps the inputs in the processor's cache.
ENVIRONMENT = {**os.environ, "ASAN_OPTIONS": "quarantine_size_mb=8:thread_local_quarantine_size_kb=64"}


def packed(path):
    """The inputs of a pack: each is its length in decimal, a line feed, its bytes."""
    data, at, items = path.read_bytes() if path.exists() else b"", 0, []
    while at < len(data):
        end = data.index(b"\n", at)
        length = int(data[at:end])
        items.append(data[end + 1:end + 1 + length])
        at = end + 1 + length
    return items


def pack(path, items):
    path.parent.mkdir(exist_ok=True)
    path.write_bytes(b"".join(b"%d\n%s" % (len(item), item) for item in items))


class Target:
    """One fuzzer, its corpus, and what it has done."""

    def __init__(self, name, build):
        self.name = name
        self.program = build / "tests" / "fuzz" / f"fuzz_{name}"
        self.found = build / "found" / name
        self.crash = build / "found" / f"{name}.crash"
        self.inputs, self.seconds, self.edges, self.runs, self.log = 0, 0.0, 0, 0, ""

    def prepare(self):
        self.found.mkdir(parents=True, exist_ok=True)
        self.crash.mkdir(exist_ok=True)
        for number, item in enumerate(packed(HERE / "corpus" / f"{self.name}.pack")):
            (self.found / f"kept-{number:05}").write_bytes(item)
        if self.name == "wire":
            seeds.main(ROOT / "proto" / "vectors", self.found)

    def folders(self):
        return [str(path) for path in (self.found, HERE / "seeds" / self.name, HERE / "broke" / self.name)
                if path.is_dir()]

    def crashes(self):
        return sorted(self.crash.iterdir()) if self.crash.is_dir() else []

    def run(self, seed, seconds, inputs):
        bound = [f"-runs={inputs}"] if inputs else []
        bound.append(f"-use_value_profile={int(seed % 4 == 0)}")  # finds more, and is slower
        begun = time.monotonic()
        done = subprocess.run(
            [str(self.program), *OPTIONS, *bound, f"-seed={seed}", f"-max_total_time={seconds}",
             f"-artifact_prefix={self.crash}/", *self.folders()],
            capture_output=True, check=False, cwd=self.crash, env=ENVIRONMENT)
        text = done.stderr.decode(errors="replace")
        self.seconds += time.monotonic() - begun
        self.runs += 1
        self.inputs += sum(int(number) for number in re.findall(r"stat::number_of_executed_units:\s*(\d+)", text))
        self.edges = max([self.edges, *(int(number) for number in re.findall(r"cov: (\d+)", text))])
        if done.returncode != 0:
            self.log = text[-6000:]
            print(f"{self.name}: ended with {done.returncode}, seed {seed}\n{self.log}", file=sys.stderr)
        return done.returncode == 0

    def merge(self):
        """The fewest inputs that reach what all of them reach, the small ones first, within the bounds."""
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([str(self.program), "-merge=1", "-use_value_profile=0", f"-max_len={ITEM_BYTES}",
                            "-timeout=10", folder, *self.folders()], capture_output=True, check=False)
            items = sorted((path.read_bytes() for path in pathlib.Path(folder).iterdir()), key=lambda b: (len(b), b))
        kept, size = [], 0
        for item in items:
            if size + len(item) > KEPT_BYTES:
                break
            kept.append(item)
            size += len(item) + 6
        pack(HERE / "corpus" / f"{self.name}.pack", kept)
        return f"{self.name:10} {len(items):6} inputs, kept {len(kept):6}, {size} bytes"


def totals(path, targets):
    """Add this run to all before it."""
    sums = json.loads(path.read_text()) if path.exists() else {}
    for target in targets:
        row = sums.setdefault(target.name, {"inputs": 0, "seconds": 0.0, "edges": 0})
        row["inputs"] += target.inputs
        row["seconds"] += target.seconds
        row["edges"] = max(row["edges"], target.edges)
        row["crashes"] = len(target.crashes())
        row["corpus"] = len(list(target.found.iterdir())) if target.found.is_dir() else 0
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(json.dumps(sums, indent=1))
    return sums


def table(sums):
    print(f"{'target':10} {'inputs':>12} {'per s':>8} {'edges':>7} {'corpus':>7} {'crashes':>7}")
    for name, row in sorted(sums.items()):
        rate = row["inputs"] / row["seconds"] if row["seconds"] else 0
        print(f"{name:10} {row['inputs']:12} {rate:8.0f} {row['edges']:7} {row.get('corpus', 0):7}"
              f" {row.get('crashes', 0):7}")
    print(f"{'all':10} {sum(row['inputs'] for row in sums.values()):12}")


def fuzz(targets, args, randoms):
    """Each target for its share of the time, or of the inputs."""
    share = max(1, int(args.minutes * 60 * args.jobs / len(targets))) if args.minutes else 24 * 3600
    inputs = args.inputs // len(targets) if args.inputs else 0
    broken = []

    def one(target):
        left = inputs
        end = time.monotonic() + share
        while time.monotonic() < end and (not inputs or left > 0) and len(target.crashes()) < 20:
            before = target.inputs
            seed = randoms.randrange(1, 2**31)
            slice_s = max(1, min(SLICE_SECONDS, int(end - time.monotonic())))
            begun = time.monotonic()
            if not target.run(seed, slice_s, left):
                broken.append(target.name)
                if time.monotonic() - begun < 2:
                    break  # it fails at once
            left -= target.inputs - before

    with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
        list(pool.map(one, targets))
    return broken


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--build", type=pathlib.Path, default=ROOT / "build" / "fuzz")
    parser.add_argument("--only", help="targets, joined by commas")
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--minutes", type=float)
    parser.add_argument("--inputs", type=int)
    parser.add_argument("--seed", type=int, default=random.SystemRandom().randrange(1, 2**31))
    parser.add_argument("--merge", action="store_true")
    parser.add_argument("--table", action="store_true")
    args = parser.parse_args()
    names = sorted(path.stem[5:] for path in HERE.glob("fuzz_*.c"))
    if args.only:
        names = [name for name in args.only.split(",") if name in names]
    targets = [Target(name, args.build) for name in names]
    path = args.build / "found" / "totals.json"
    if args.table:
        table(totals(path, []))
        return 0
    if args.merge:
        targets = [target for target in targets if target.program.exists()]
    missing = [target.name for target in targets if not target.program.exists()]
    if missing or not targets:
        print(f"not built: {', '.join(missing) or 'anything'}; see the head of this file", file=sys.stderr)
        return 69
    for target in targets:
        target.prepare()
    if args.merge:
        with concurrent.futures.ThreadPoolExecutor(args.jobs) as pool:
            for line in pool.map(Target.merge, targets):
                print(line)
        return 0
    if not args.minutes and not args.inputs:
        parser.error("say --minutes or --inputs")
    print(f"seed {args.seed}", flush=True)
    broken = fuzz(targets, args, random.Random(args.seed))
    table(totals(path, targets))
    if broken:
        print(f"broken, with seed {args.seed}: {', '.join(sorted(set(broken)))}")
    return 1 if broken else 0


if __name__ == "__main__":
    if shutil.which("clang") is None:
        print("clang is not here", file=sys.stderr)
    sys.exit(main())
