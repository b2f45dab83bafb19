"""System tests: real processes, real sockets. They run the programs in $ALDABA_BIN (a folder with
all of them, or a build tree) and are skipped without."""
import os
import pathlib
import sys

sys.path.insert(0, os.path.dirname(os.path.dirname(os.path.abspath(__file__))))

from support.plugin import pytest_runtest_makereport, skips  # noqa: E402, F401

pytest_collection_modifyitems = skips(pathlib.Path(__file__).parent)
