#!/usr/bin/env python3
"""The torture of failpoints, long form: a fresh house for each process, failpoint and action, and n = 1, 2,
3 ... until a round passes without the rule being met.

    ALDABA_BIN=build/failpoints tests/fault/torture.py [--all] [--only NAME] [--process NAME]
        [--action WORD] [--most N] [--jobs N] [--minutes N] [--seed N]

Without --all the rules are taken in an order that the seed gives, until the minutes are over. Ends with 0 if
every round's ledger balanced. A rule that failed is told with the command that runs it again.
"""
import argparse
import collections
import concurrent.futures
import os
import random
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.dirname(HERE))
sys.path.insert(0, HERE)

import scene  # noqa: E402

ONE_S = 240


def plan(met, options):
    """[(process, failpoint, action)]"""
    rules = [(process, name, action) for process, names in sorted(met.items())
             for name in sorted(names) for action in ("crash", *scene.failures(name))]
    return [rule for rule in rules if options.only in (None, rule[1])
            and options.process in (None, rule[0]) and options.action in (None, rule[2])]


def run_one(process, rule):
    """"met", "untouched", or what went wrong."""
    argv = [sys.executable, os.path.abspath(__file__), "--one", process, rule]
    try:
        ran = subprocess.run(argv, capture_output=True, text=True, timeout=ONE_S, check=False)
    except subprocess.TimeoutExpired:
        return f"not over within {ONE_S} s"
    last = ran.stdout.strip().splitlines()[-1:] or [""]
    return last[0] if ran.returncode == 0 else ran.stdout[-4000:] + ran.stderr[-8000:]


def climb(rule, options, end):
    """n = 1, 2, 3 ... of one rule: ([n that were met], {n: what went wrong}, whole)"""
    process, name, action = rule
    met, wrong = [], {}
    for n in range(1, options.most + 1):
        if time.monotonic() > end:
            return met, wrong, False
        said = run_one(process, f"{name}:{action}:{n}")
        if said == "untouched":
            return met, wrong, True
        met.append(n)
        if said != "met":
            wrong[n] = said
    return met, wrong, options.most >= n


def tell(rule, found):
    process, name, action = rule
    met, wrong, whole = found
    print(f"{process:8} {name:24} {action:7} met {len(met):3}{'' if whole else '+'}"
          f"{'  WRONG at ' + str(sorted(wrong)) if wrong else ''}", flush=True)
    for n, said in sorted(wrong.items()):
        print(f"---- {sys.argv[0]} --one {process} {name}:{action}:{n}\n{said}", flush=True)


def torture(options):
    met = scene.met()
    rules = plan(met, options)
    random.Random(options.seed).shuffle(rules)
    end = time.monotonic() + (1e9 if options.all else options.minutes * 60)
    print(f"seed {options.seed}, {len(rules)} rules, met in a round: "
          f"{ {name: sum(names.values()) for name, names in met.items()} }", flush=True)
    sums = collections.Counter()
    with concurrent.futures.ThreadPoolExecutor(options.jobs) as pool:
        todo = {pool.submit(climb, rule, options, end): rule for rule in rules}
        for done in concurrent.futures.as_completed(todo):
            found = done.result()
            if found[0] or found[2]:
                tell(todo[done], found)
            sums.update(rules=bool(found[0] or found[2]), rounds=len(found[0]), wrong=len(found[1]))
    print(f"seed {options.seed}: {dict(sums)}")
    return 1 if sums["wrong"] else 0


def main():
    parser = argparse.ArgumentParser(description=__doc__.split("\n", 1)[0])
    parser.add_argument("--all", action="store_true")
    parser.add_argument("--one", nargs=2, metavar=("PROCESS", "RULE"))
    for name in ("--only", "--process", "--action"):
        parser.add_argument(name)
    for name, usual in (("--most", 1000), ("--jobs", os.cpu_count()), ("--minutes", 10),
                        ("--seed", int(time.time()) // 86400)):
        parser.add_argument(name, type=int, default=usual)
    options = parser.parse_args()
    if options.one:
        print("met" if scene.single(*options.one) else "untouched")
        return 0
    return torture(options)


if __name__ == "__main__":
    sys.exit(main())
