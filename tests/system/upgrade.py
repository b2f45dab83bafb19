#!/usr/bin/python3
"""One aldaba after another, under load: each service alone becomes the other version, and goes back.

    tests/system/upgrade.py REVISION                 builds that revision in build/old first
    tests/system/upgrade.py --old build/old/bin      programs that are built already
    [--new build/release] [--seconds 3]

First everything is old. Service by service it becomes new, so that each pair of versions speaks to each
other; then, service by service, old again: the stores were migrated meanwhile, and an older program of
the same kind must still open them. Last each service alone is new among old ones. Callbacks come all the
time: nothing that was acknowledged is lost, each task has one result, and the books balance."""
import argparse
import os
import pathlib
import subprocess
import sys

HERE = pathlib.Path(__file__).resolve().parent
ROOT = HERE.parents[1]
sys.path.insert(0, str(HERE.parent))

from support.house import House  # noqa: E402
from support.ledger import demand_conflict_letters, settle  # noqa: E402
from support.load import Load  # noqa: E402
from support.until import passes  # noqa: E402

FATES = "ok=60,drop=10,double=10,conflict=8,early=5,reorder=5,error=2"
SANDBOX = ("--fates", FATES, "--pingback", "mixed", "--solve", "0.3", "--seed", "11")


def arguments():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("revision", nargs="?")
    parser.add_argument("--old", type=pathlib.Path, help="where its programs are")
    parser.add_argument("--new", type=pathlib.Path, default=ROOT / "build" / "release")
    parser.add_argument("--seconds", type=float, default=3, help="of load between two changes")
    options = parser.parse_args()
    if bool(options.revision) == bool(options.old):
        parser.error("say a revision, or where its programs are")
    return options


def built(revision):
    """The programs of a revision, in a copy of its own."""
    source, out = ROOT / "build" / "old" / "source", ROOT / "build" / "old" / "bin"
    source.mkdir(parents=True, exist_ok=True)
    archive = subprocess.run(["git", "-C", ROOT, "archive", revision], check=True, capture_output=True)
    subprocess.run(["tar", "-x", "-C", source], input=archive.stdout, check=True)
    subprocess.run(["cmake", "--preset", "release", "-B", out, "-DALDABA_TESTS=OFF"], cwd=source, check=True,
                   stdout=subprocess.DEVNULL)
    subprocess.run(["ninja", "-C", out, "--quiet"], check=True)
    return out


class Change:
    """Daemons of two builds."""

    def __init__(self, house, old, new, seconds):
        self.house = house
        self.builds = {"old": old, "new": new}
        self.seconds = seconds
        self.changes = 0

    def program(self, daemon, version):
        name = os.path.basename(daemon.argv[0])
        return str(self.builds[version] / "services" / name.removeprefix("aldaba-") / name)

    def use(self, name, version):
        """Stopped as a supervisor stops it, and started again as that version."""
        daemon = self.house.daemons[name]
        daemon.argv[0] = self.program(daemon, version)
        if daemon.starts:
            daemon.stop()
            daemon.start()
            self.changes += 1
            self.house.until_serving()
            passes(self.seconds)


def main():
    options = arguments()
    old = (options.old or built(options.revision)).resolve()
    os.environ["ALDABA_BIN"] = str(options.new)
    with House(pollers=2, sandbox=SANDBOX) as house:
        change = Change(house, old, options.new.resolve(), options.seconds)
        names = list(house.daemons)
        for name in names:
            change.use(name, "old")
        house.start()
        with Load(house) as load:
            passes(options.seconds)
            for name in names:
                change.use(name, "new")
            for name in reversed(names):
                change.use(name, "old")
            for name in names:
                change.use(name, "new")
                change.use(name, "old")
            for name in names:
                change.use(name, "new")
        verdict = settle(house, load.ledger).demand()
        demand_conflict_letters(house, load.ledger)
        audit = house.aldaba("audit", "--deep")
        assert audit.returncode == 0, audit.stdout
    print(f"{change.changes} changes of version, {verdict.acknowledged} callbacks acknowledged: "
          "none lost, none doubled, the books balance")
    return 0


if __name__ == "__main__":
    sys.exit(main())
