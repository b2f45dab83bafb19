"""The manual pages say what the programs and the tables say, and a formatter finds nothing wrong with
them. ALDABA_MAN: the folder of the built pages. ALDABA_CTL, ALDABA_DAEMONS: the programs."""
import json
import os
import re
import shutil
import subprocess

import pytest

MAN = os.environ["ALDABA_MAN"]
CTL = os.environ["ALDABA_CTL"]
DAEMONS = {os.path.basename(path): path for path in os.environ["ALDABA_DAEMONS"].split(":")}
PAGES = sorted(name for name in os.listdir(MAN) if re.search(r"\.[15]$", name))


def page(name):
    with open(os.path.join(MAN, name), encoding="utf-8") as file:
        return file.read()


def plain(name):
    """What it says, without the marks of roff."""
    text = re.sub(r"\\f.", "", page(name))
    for mark, means in ((r"\-", "-"), (r"\(aq", "'"), (r"\&", ""), (r"\e", "\\"),
                        (r"\(ga", "`"), (r"\(ti", "~"), (r"\(ha", "^")):
        text = text.replace(mark, means)
    return text


def said(*words):
    return subprocess.run(words, capture_output=True, text=True, check=True, timeout=30).stdout


def options(text):
    return set(re.findall(r"(?<![\w-])--([a-z][a-z-]+)", text))


def test_example():
    assert PAGES == ["aldaba-dlq.1", "aldaba-gateway.1", "aldaba-poller.1", "aldaba-tracker.1",
                     "aldaba.1", "aldaba.yaml.5"]


@pytest.mark.parametrize("name", PAGES)
def test_a_formatter_finds_nothing_wrong(name):
    if not shutil.which("man"):
        pytest.skip("man is not here")
    path = os.path.join(MAN, name)
    environment = {**os.environ, "MANWIDTH": "80", "LC_ALL": "C.UTF-8", "MAN_KEEP_STDERR": "1"}
    done = subprocess.run(["man", "--warnings", "-E", "UTF-8", "-l", "-Tutf8", "-Z", path],
                          capture_output=True, text=True, timeout=60, check=False, env=environment)
    assert done.returncode == 0 and done.stdout and not done.stderr, done.stderr[:1000]


@pytest.mark.parametrize("name", PAGES)
def test_mandoc_finds_nothing_wrong(name):
    if not shutil.which("mandoc"):
        pytest.skip("mandoc is not here")
    done = subprocess.run(["mandoc", "-Tlint", "-W", "warning", os.path.join(MAN, name)],
                          capture_output=True, text=True, timeout=60, check=False)
    assert not done.stdout + done.stderr, done.stdout


@pytest.mark.parametrize("name", sorted(DAEMONS))
def test_options_of_a_daemon(name):
    told = options(said(DAEMONS[name], "--help"))
    listed = re.findall(r"^\.TP\n(.*)$", plain(f"{name}.1"), re.MULTILINE)
    assert options("\n".join(listed)) == told


def test_every_command_and_its_options():
    text = plain("aldaba.1")
    names = re.findall(r"^  ([a-z]+(?: [a-z]+)?)  +\S", said(CTL, "--help").partition("\n\n")[2]
                       .partition("\n\n")[0], re.MULTILINE)
    assert len(names) > 25
    for name in names:
        section = text.partition(f'\n.SS "aldaba {name}')[2].partition("\n.SS ")[0]
        told = said(CTL, "help", *name.split())
        own = options(told.partition("with every command:")[0])
        assert own <= options(section), (name, own - options(section))


def test_every_setting():
    settings = json.loads(said(CTL, "config", "schema"))["properties"]
    text = plain("aldaba.yaml.5")
    missing = [f"{group}.{key}" for group, of in settings.items() if "properties" in of
               for key in of["properties"] if f"\n{group}.{key} (" not in text]
    assert not missing
