"""tests/fault/README.md has every row of the fault matrix, in order, and names tests that exist."""
import pathlib
import re

import pytest
from test_guarantees import TESTS, c_test_is_run, py_test_is_run

TEXT = (TESTS / "fault" / "README.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\d+) \| ([^|]+) \| ([^|]+) \|([^|]*)\|$", TEXT, re.MULTILINE)
NAMED = sorted(set(re.findall(r"`([a-z0-9_/]+\.(?:c|py))::([a-z0-9_]+)`", TEXT)))
LAST = 55


def test_every_row_is_there_once():
    assert [int(row[0]) for row in ROWS] == list(range(1, LAST + 1))


@pytest.mark.parametrize("row", ROWS, ids=lambda row: row[0])
def test_a_row_names_a_test(row):
    assert re.fullmatch(r"`[^`]+::[^`]+`(, `[^`]+::[^`]+`)*", row[2]), row


@pytest.mark.parametrize("file, name", NAMED)
def test_named_test_exists(file, name):
    path = TESTS / file
    assert path.is_file(), f"tests/{file} is not there"
    is_run = c_test_is_run if path.suffix == ".c" else py_test_is_run
    assert is_run(path, name), f"tests/{file} has no test {name} that is run"


def test_what_is_named_for_a_row_is_in_its_row():
    """test_row_N_... and test_row_N_and_M_... are named by these rows."""
    for path in (TESTS / "fault").glob("test_*.py"):
        for name in re.findall(r"^def (test_row_\w+)\(", path.read_text(encoding="utf-8"), re.MULTILINE):
            numbers = re.match(r"test_row_(\d+)(?:_and_(\d+))?", name).groups()
            for number in filter(None, numbers):
                assert f"{path.name}::{name}`" in ROWS[int(number) - 1][2], name


def test_each_file_is_run():
    """By ctest."""
    listed = pathlib.Path(TESTS / "fault" / "CMakeLists.txt").read_text(encoding="utf-8")
    for path in (TESTS / "fault").glob("test_*.py"):
        assert re.search(rf"\b{path.stem.removeprefix('test_')}\b", listed), path
