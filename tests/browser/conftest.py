"""The dashboard in a real browser, before real processes. The tests run the programs in $ALDABA_BIN (a folder with
all of them, or a build tree) and are skipped without."""
import os
import pathlib
import sys

import pytest

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.house import binary  # noqa: E402
from support.plugin import pytest_runtest_makereport  # noqa: E402, F401

HERE = pathlib.Path(__file__).parent
PROGRAMS = ("aldaba-gateway", "aldaba-tracker", "aldaba-poller", "aldaba-dlq", "aldaba")


def pytest_collection_modifyitems(items):
    absent = [name for name in PROGRAMS if binary(name) is None]
    if absent:
        for item in (one for one in items if HERE in one.path.parents):
            item.add_marker(pytest.mark.skip(reason=f"not in $ALDABA_BIN: {', '.join(absent)}"))
