"""docs/GUARANTEES.md names tests that exist, and that are run."""
import pathlib
import re

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
TEXT = (TESTS.parent / "docs" / "GUARANTEES.md").read_text(encoding="utf-8")
NAMED = sorted(set(re.findall(r"`([a-z0-9_/]+\.(?:c|py|pml))::([a-z0-9_]+)`", TEXT)))
UNTESTED = "no test of its own"


def c_test_is_run(path, name):
    """It is defined, and stands in a list of tests."""
    text = path.read_text(encoding="utf-8")
    defined = re.search(rf"^static void {name}\(void \*\*", text, re.MULTILINE)
    listed = re.search(rf"\b(?:cmocka_unit_test\w*|[A-Z_]+)\({name}\b", text)
    built = path.stem.removeprefix("test_") in (path.parent / "CMakeLists.txt").read_text()
    return defined and listed and built


def py_test_is_run(path, name):
    text = path.read_text(encoding="utf-8")
    return re.search(rf"^def {name}\(", text, re.MULTILINE) and path.name.startswith("test_")


def pml_search_is_run(path, name):
    """`always` and `ends` are what a model is searched for."""
    return re.search(rf'\bgood\("{path.stem}", {name.upper()}\b', (path.parent / "run.py").read_text())


IS_RUN = {".c": c_test_is_run, ".py": py_test_is_run, ".pml": pml_search_is_run}


def test_there_are_claims():
    assert len(NAMED) > 80


@pytest.mark.parametrize("file, name", NAMED)
def test_named_test_exists(file, name):
    path = TESTS / file
    assert path.is_file(), f"tests/{file} is not there"
    assert IS_RUN[path.suffix](path, name), f"tests/{file} has no test {name} that is run"


def test_every_mention_of_a_test_has_the_form_that_is_checked():
    assert TEXT.count("::") - TEXT.count("`folder/file::test`") == len(
        re.findall(r"`[a-z0-9_/]+\.(?:c|py|pml)::[a-z0-9_]+`", TEXT))


def blocks():
    """Guarantees by their headings, and each row of a table, which must name a test."""
    promised = TEXT.partition("## What is not promised")[0]
    yield from re.findall(r"^### \d.*?(?=^### |\Z)", promised, re.MULTILINE | re.DOTALL)
    rest = TEXT.partition("## Killed at any point")[2]
    yield from (line for line in rest.splitlines()
                if line.startswith("| ") and not line.startswith(("| ---", "| step", "| rule")))


@pytest.mark.parametrize("block", blocks(), ids=lambda block: block[:40].strip("#| "))
def test_every_claim_names_a_test_or_says_that_there_is_none(block):
    assert "::" in block or UNTESTED in block


def test_all_six_are_there():
    assert re.findall(r"^### (\d)\.", TEXT, re.MULTILINE) == list("123456")
