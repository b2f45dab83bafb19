"""promtool, which checks metrics and alert rules: $ALDABA_PROMTOOL, one of the machine, or the one that
./check puts into build/tools."""
import os
import pathlib
import shutil
import subprocess

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]


def path():
    found = [os.environ.get("ALDABA_PROMTOOL"), shutil.which("promtool"), ROOT / "build/tools/promtool"]
    return next((str(one) for one in found if one and os.access(one, os.X_OK)), None)


def run(*arguments, text=None):
    """What it says; the test is skipped where there is none."""
    program = path()
    if not program:
        pytest.skip("no promtool: install the package prometheus, or run ./check, which fetches it")
    return subprocess.run([program, *map(str, arguments)], input=text, capture_output=True, text=True,
                          check=False, timeout=300)
