"""Check the models with spin: `run.py [--large] [--jobs N] [MODEL ...]`.

Each model is searched whole within its bounds, once for what must never be and once, smaller, for what
must come about (under weak fairness). Then each of its mutants, -DBUG_..., which must be found, in the
way that is told here. One line for each: states, depth, seconds, and what was found. With --large the
bounds are larger and take minutes. Ends with 0 if all is as it should be, 77 if spin is not here.
"""
import argparse
import concurrent.futures
import dataclasses
import os
import pathlib
import re
import shutil
import subprocess
import sys
import tempfile
import time

HERE = pathlib.Path(__file__).resolve().parent
DEPTH = 2_000_000
SKIPPED = 77
ALWAYS, ENDS = "always", "ends"  # an assertion holds; the task ends


@dataclasses.dataclass(frozen=True)
class Search:
    """One model within bounds."""
    model: str
    kind: str
    bounds: dict
    bug: str = ""
    finds: str = ""  # in the text of what must be found; "" = nothing may be

    def name(self):
        bounds = " ".join(f"{name}={value}" for name, value in self.bounds.items())
        return f"{self.model} {self.bug or self.kind} {bounds}"


def good(model, kind, **bounds):
    return Search(model, kind, bounds)


def mutant(model, bug, finds, kind=ALWAYS, **bounds):
    return Search(model, kind, bounds, bug, finds)


CYCLE = "acceptance cycle"

QUICK = [
    good("courier", ALWAYS, ITEMS=2, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0),
    good("courier", ALWAYS, ITEMS=2, KILLS=0, CUTS=1, LOSSES=0, REPEATS=0),
    good("courier", ALWAYS, ITEMS=1, KILLS=2, CUTS=2, LOSSES=2, REPEATS=2),
    good("courier", ENDS, ITEMS=1, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1),
    good("letters", ALWAYS, ATTEMPTS=2, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0),
    good("letters", ALWAYS, ATTEMPTS=1, KILLS=0, CUTS=1, LOSSES=1, REPEATS=0),
    good("letters", ENDS, ATTEMPTS=1, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0),
    good("letters", ENDS, ATTEMPTS=1, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1, SCHEDULED=0, PERSON=0),
    good("jobs", ALWAYS, LEASES=2, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1, SLOW=1),
    good("jobs", ALWAYS, LEASES=3, KILLS=1, CUTS=1, LOSSES=1, REPEATS=0, SLOW=1),
    good("jobs", ENDS, LEASES=3, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0, SLOW=0),
    good("consumers", ALWAYS, EVENTS=2, INSTANCES=2, KILLS=1, STARTS=1, LOSSES=0, SLOW=0),
    good("consumers", ALWAYS, EVENTS=1, INSTANCES=2, KILLS=3, STARTS=1, LOSSES=1, SLOW=1),
    good("consumers", ENDS, EVENTS=1, INSTANCES=2, KILLS=1, STARTS=1, LOSSES=0, SLOW=0),
]

LARGE = [
    good("courier", ALWAYS, ITEMS=2, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1),
    good("courier", ENDS, ITEMS=2, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0),
    good("letters", ALWAYS, ATTEMPTS=2, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1),
    good("letters", ENDS, ATTEMPTS=1, KILLS=1, CUTS=0, LOSSES=1, REPEATS=0),
    good("letters", ENDS, ATTEMPTS=2, KILLS=1, CUTS=1, LOSSES=0, REPEATS=0),
    good("jobs", ALWAYS, LEASES=3, KILLS=1, CUTS=1, LOSSES=1, REPEATS=1, SLOW=2),
    good("jobs", ENDS, LEASES=4, KILLS=1, CUTS=0, LOSSES=0, REPEATS=0, SLOW=1),
    good("jobs", ENDS, LEASES=5, KILLS=1, CUTS=1, LOSSES=0, REPEATS=0, SLOW=1),
    good("consumers", ALWAYS, EVENTS=2, INSTANCES=2, KILLS=1, STARTS=1, LOSSES=1, SLOW=1),
    good("consumers", ENDS, EVENTS=2, INSTANCES=2, KILLS=1, STARTS=1, LOSSES=0, SLOW=1),
]

MUTANTS = [
    mutant("courier", "BUG_NO_GATE", "results_settled==1", ITEMS=1),
    mutant("courier", "BUG_REPEAT_PASSES_THE_GATE", "settled[n]", ITEMS=1),
    mutant("courier", "BUG_NO_START_UP_PROTOCOL", "results_settled==1", ITEMS=1),
    mutant("courier", "BUG_NO_DEDUP", "written[k]", ITEMS=1),
    mutant("courier", "BUG_MEMORY_SURVIVES_A_FAILED_SYNC", "settled[n]", ITEMS=1),
    mutant("courier", "BUG_FLOOR_WITHOUT_SPOOL", "spool[k]", ITEMS=1),
    mutant("courier", "BUG_SPOOL_FORGETS_WHAT_IS_SENT", "spool[k]", ITEMS=1),
    mutant("courier", "BUG_ANSWERED_BEFORE_SPOOLED", "spool[k]", ITEMS=1),
    mutant("courier", "BUG_SPOOL_DOES_NOT_SYNC", "spool[k]", ITEMS=1),
    mutant("courier", "BUG_NEVER_SENT_AGAIN", CYCLE, ENDS, ITEMS=1, KILLS=0, CUTS=0),
    mutant("letters", "BUG_NO_GATE", "letter_settled", KILLS=0, REPEATS=0),
    mutant("letters", "BUG_OUTBOX_FORGETS_WHAT_IS_SENT", "outbox_settled_row", KILLS=0,
           REPEATS=0, SCHEDULED=0),
    mutant("letters", "BUG_ACKNOWLEDGED_BEFORE_KEPT", "outbox_settled_row"),
    mutant("letters", "BUG_PURGED_BELOW_NO_FLOOR", "was_closed", KILLS=0, CUTS=0),
    mutant("letters", "BUG_JUDGED_AGAIN", "effects<=1"),
    mutant("letters", "BUG_ANSWER_OPENS_A_CLOSED_LETTER", "was_closed"),
    mutant("letters", "BUG_CLOSING_PASSES_ITS_LETTER", CYCLE, ENDS, ATTEMPTS=1, CUTS=0, REPEATS=0,
           SCHEDULED=0, PERSON=0),
    mutant("letters", "BUG_DROPPED_UNDER_WAY", "twice", REPEATS=0),
    mutant("letters", "BUG_NEVER_SENT_AGAIN", CYCLE, ENDS, ATTEMPTS=1, KILLS=0, CUTS=0),
    mutant("jobs", "BUG_NO_GATE", "attempt_settled", LEASES=2),
    mutant("jobs", "BUG_SENT_WITHOUT_START", "bought", LEASES=2),
    mutant("jobs", "BUG_STARTED_IS_LEASED_AGAIN", "bought", LEASES=2),
    mutant("jobs", "BUG_START_OF_ANY_LEASE", "bought", LEASES=3),
    mutant("jobs", "BUG_REPORT_OF_ANY_ATTEMPT", "bought", LEASES=3, SLOW=2),
    mutant("jobs", "BUG_LATE_REPORT_IS_DROPPED", "stage_settled", LEASES=2),
    mutant("jobs", "BUG_ENDED_AGAIN", "results<=1", LEASES=3),
    mutant("jobs", "BUG_LEASE_TWICE", "bought", LEASES=2),
    mutant("jobs", "BUG_NO_LEASE_END", CYCLE, ENDS, LEASES=3, CUTS=0, LOSSES=0, REPEATS=0, SLOW=0),
    mutant("consumers", "BUG_SAID_BEFORE_SETTLED", "told[", EVENTS=1),
    mutant("consumers", "BUG_COUNTED_AFTER_HAND_OUT", "plain[m]", EVENTS=1, KILLS=0, LOSSES=0, SLOW=0),
    mutant("consumers", "BUG_LAPSE_IS_NOT_COUNTED", "deaths[m]", EVENTS=1, KILLS=4, STARTS=0),
    mutant("consumers", "BUG_RANGE_SETTLES_OTHERS", "worked[", KILLS=0),
    mutant("consumers", "BUG_NACK_OF_ANYBODY", "told[", EVENTS=1, SLOW=2, STARTS=0, MAX_DELIVER=3),
    mutant("consumers", "BUG_NO_LEASE_END", CYCLE, ENDS, STARTS=0, SLOW=0),
]


@dataclasses.dataclass
class Found:
    states: int = 0
    depth: int = 0
    seconds: float = 0.0
    error: str = ""   # what the search found, "" = nothing
    trouble: str = ""  # why the search says nothing
    trail: str = ""


def defines(search):
    flags = [f"-D{name}={value}" for name, value in search.bounds.items()]
    if search.bug:
        flags.append(f"-D{search.bug}=1")
    if search.kind == ENDS:
        flags.append("-DLIVE")
    return flags


def command(arguments, folder):
    return subprocess.run(arguments, cwd=folder, text=True, check=False,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)


def build(search, folder):
    """The searching program; None and why not."""
    source = str(HERE / f"{search.model}.pml")
    made = command(["spin", "-a", *defines(search), source], folder)
    if made.returncode != 0:
        return made.stdout
    ends = ["-DNFAIR=6"] if search.kind == ENDS else ["-DSAFETY", "-DNOCLAIM"]
    # A mutant is found at once: there the compiler takes the time.
    made = command(["gcc", "-O0" if search.bug else "-O1", "-w", "-DVECTORSZ=2048", "-DCOLLAPSE",
                    "-DMEMLIM=3000", *ends, "-o", "pan", "pan.c"], folder)
    return made.stdout if made.returncode != 0 else ""


def number(pattern, text):
    match = re.search(pattern, text)
    return int(float(match.group(1))) if match else 0


def read(output, found):
    found.states = number(r"([\d.e+]+) states, stored", output)
    found.depth = number(r"depth reached (\d+)", output)
    error = re.search(r"^pan:\d+: (.*?)(?: \(at depth \d+\))?$", output, re.MULTILINE)
    found.error = error.group(1) if error else ""
    if not re.search(r"errors: \d+", output):
        found.trouble = output[-2000:]
    for whole in ("max search depth too small", "out of memory", "reached -DMEMLIM"):
        if whole in output:
            found.trouble = whole


def trail(search, folder):
    """The steps to what was found, the last ones."""
    source = str(HERE / f"{search.model}.pml")
    steps = command(["spin", "-k", f"{search.model}.pml.trail", "-p", *defines(search), source],
                    folder).stdout
    lines = [line for line in steps.splitlines() if "proc" in line or "CYCLE" in line]
    return "\n".join(lines[-40:])


def run(search):
    begun = time.monotonic()
    found = Found()
    with tempfile.TemporaryDirectory(prefix="model-") as folder:
        found.trouble = build(search, folder)
        if not found.trouble:
            ends = ["-a", "-f"] if search.kind == ENDS else []
            read(command(["./pan", f"-m{DEPTH}", *ends], folder).stdout, found)
        if found.error and not search.bug:
            found.trail = trail(search, folder)
    found.seconds = time.monotonic() - begun
    return found


def verdict(search, found):
    """What is wrong; "" = all is as it should be."""
    if found.trouble:
        return f"no answer: {found.trouble}"
    if not search.bug:
        return f"found: {found.error}\n{found.trail}" if found.error else ""
    if not found.error:
        return "this mutant was not found"
    return "" if search.finds in found.error else f"found otherwise: {found.error}"


def say(search, found, wrong):
    what = wrong or (f"found: {found.error}" if search.bug else "holds")
    print(f"{'FAIL' if wrong else 'ok  '} {found.states:>10,} states  depth {found.depth:>7,}  "
          f"{found.seconds:6.1f} s  {search.name()}: {what}", flush=True)


def arguments():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--large", action="store_true", help="larger bounds; takes minutes")
    parser.add_argument("--jobs", type=int, default=os.cpu_count() or 1, help="searches at once")
    parser.add_argument("models", nargs="*", help="all, if none is named")
    return parser.parse_args()


def main():
    asked = arguments()
    missing = [tool for tool in ("spin", "gcc") if shutil.which(tool) is None]
    if missing:
        print(f"SKIPPED: no model was checked, as there is no {' and no '.join(missing)} here.")
        return SKIPPED
    searches = [search for search in [*(LARGE if asked.large else QUICK), *MUTANTS]
                if not asked.models or search.model in asked.models]
    failed = 0
    with concurrent.futures.ThreadPoolExecutor(max_workers=asked.jobs) as workers:
        for search, found in zip(searches, workers.map(run, searches)):
            wrong = verdict(search, found)
            failed += bool(wrong)
            say(search, found, wrong)
    print(f"{len(searches)} searches, {failed} of them not as they should be")
    return 1 if failed or not searches else 0


if __name__ == "__main__":
    sys.exit(main())
