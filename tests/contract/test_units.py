"""The units of systemd: systemd itself finds nothing wrong with them, they are as closed as is promised,
and they run the programs that there are.

ALDABA_UNITS: the folder of the units as they are installed. ALDABA_DAEMONS: the programs.
"""
import os
import pathlib
import re
import shutil
import subprocess

import pytest

UNITS = pathlib.Path(os.environ["ALDABA_UNITS"])
DAEMONS = {os.path.basename(path): path for path in os.environ["ALDABA_DAEMONS"].split(":")}
NAMES = sorted(path.name for path in UNITS.iterdir() if path.suffix in (".service", ".target"))
SERVICES = [name for name in NAMES if name.endswith(".service")]
EXPOSURE_MAX = "20"  # tenths

pytestmark = pytest.mark.skipif(not shutil.which("systemd-analyze"),
                                reason="systemd-analyze is not here (package systemd)")


@pytest.fixture
def folder(tmp_path):
    """The units, with the programs of this build in the place of those that will be installed."""
    for name in NAMES:
        text = (UNITS / name).read_text(encoding="utf-8")
        text = re.sub(r"(?m)^ExecStart=\S*/(aldaba-\w+)", lambda at: "ExecStart=" + DAEMONS[at[1]], text)
        (tmp_path / name).write_text(text, encoding="utf-8")
    return tmp_path


def analyze(*words):
    return subprocess.run(["systemd-analyze", "--no-pager", *words], capture_output=True, text=True,
                          timeout=60, check=False)


def instance(path):
    return str(path).replace("@.service", "@1.service")


def test_example():
    assert NAMES == ["aldaba-dlq.service", "aldaba-gateway.service", "aldaba-gateway@.service",
                     "aldaba-poller@.service", "aldaba-tracker.service", "aldaba.target"]


def test_systemd_finds_nothing_wrong(folder):
    done = analyze("verify", "--man=no", *(instance(folder / name) for name in NAMES))
    assert done.returncode == 0 and not done.stdout + done.stderr, done.stdout + done.stderr


def test_systemd_would_find_something_wrong(folder):
    """Else the test above says nothing."""
    unit = folder / "aldaba-tracker.service"
    unit.write_text(unit.read_text().replace("WatchdogSec=60", "WatchdogSec=often\nWatchdogsec=60"))
    done = analyze("verify", "--man=no", str(unit))
    assert "often" in done.stderr and "Watchdogsec" in done.stderr, done.stderr


@pytest.mark.parametrize("name", SERVICES)
def test_exposure(folder, name):
    done = analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}", str(folder / name))
    assert done.returncode == 0 and "exposure level" in done.stdout, done.stdout + done.stderr


def test_exposure_would_be_seen(folder):
    unit = folder / "aldaba-gateway.service"
    unit.write_text(re.sub(r"(?m)^(SystemCall|Protect)\w+=.*$", "", unit.read_text()))
    assert analyze("security", "--offline=true", f"--threshold={EXPOSURE_MAX}",
                   str(unit)).returncode != 0


@pytest.mark.parametrize("name", SERVICES)
def test_what_every_service_does(name):
    lines = (UNITS / name).read_text(encoding="utf-8").splitlines()
    for line in ("Type=notify", "Restart=always", "User=aldaba", "RuntimeDirectory=aldaba",
                 "RuntimeDirectoryPreserve=yes", "PartOf=aldaba.target", "WantedBy=aldaba.target"):
        assert line in lines, line
    assert any(re.fullmatch(r"WatchdogSec=[0-9]+", line) for line in lines)


def test_the_target_wants_all():
    wants = re.search(r"(?m)^Wants=(.*)$", (UNITS / "aldaba.target").read_text())[1].split()
    more = "aldaba-gateway@.service"  # a second one needs addresses first
    assert sorted([more, *(name.replace("@1.", "@.") for name in wants)]) == SERVICES
