"""Fault tests: real processes whose system calls fail, whose disks lose power, whose files rot, whose
clocks jump, whose peers send junk. They run the programs in $ALDABA_BIN (better a release build: a
sanitizer and a tracer do not go together). What needs root or a tool that is absent is skipped, and
says so."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support import daemon  # noqa: E402
from support.house import binary  # noqa: E402
from support.plugin import no_programs, pytest_runtest_makereport, skips  # noqa: E402, F401
from support.tally import tally  # noqa: E402


def sanitized():
    with open(binary("aldaba-tracker"), "rb") as file:
        return b"__asan_init" in file.read()


def reason_to_skip():
    absent = no_programs()
    if not absent and sanitized():
        return "the programs are built with a sanitizer: set ALDABA_SYSTEM_BIN to a release build"
    return absent


pytest_collection_modifyitems = skips(pathlib.Path(__file__).parent, reason_to_skip)


def pytest_sessionfinish():
    """How many processes were killed, for tests/fault/run."""
    if daemon.kills:
        tally("kills", **daemon.kills)
