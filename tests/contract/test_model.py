"""The models of tests/model name their steps as the code does, and the table in their README is true."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
MODELS = sorted((ROOT / "tests" / "model").glob("*.pml"))
README = (ROOT / "tests" / "model" / "README.md").read_text(encoding="utf-8")
RUN = (ROOT / "tests" / "model" / "run.py").read_text(encoding="utf-8")


def steps(model):
    """(file, name) of each step that the code has, too."""
    return re.findall(r"/\* ([\w/.]+\.c) \*/\ninline (\w+)\(", model.read_text(encoding="utf-8"))


STEPS = sorted({step for model in MODELS for step in steps(model)})


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_a_step_has_a_file_or_is_the_models_own(model):
    inlines = re.findall(r"^inline (\w+)\(", model.read_text(encoding="utf-8"), re.MULTILINE)
    named = [name for _, name in steps(model)]
    assert [name for name in inlines if not name.startswith("model_")] == named


@pytest.mark.parametrize("file, name", STEPS)
def test_the_code_has_the_step(file, name):
    path = ROOT / file
    assert path.is_file(), f"{file} is not there"
    defined = re.search(rf"^[a-z][\w *]*\b(?:ald_)?{name}\(", path.read_text(encoding="utf-8"), re.MULTILINE)
    assert defined, f"{file} has no function {name}"


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_the_table_says_the_same(model):
    section = README.partition(f"\n### {model.stem}\n")[2].partition("\n### ")[0]
    listed = [(file, name) for file, names in re.findall(r"^\| `([\w/.]+\.c)` \| (.*) \|$", section, re.MULTILINE)
              for name in re.findall(r"`(\w+)`", names)]
    assert sorted(listed) == sorted(steps(model)) and listed


@pytest.mark.parametrize("model", MODELS, ids=lambda model: model.stem)
def test_each_mutant_is_run_and_each_search_is_there(model):
    text = model.read_text(encoding="utf-8")
    mutants = re.findall(r"^#ifndef (BUG_\w+)", text, re.MULTILINE)
    assert len(mutants) >= 2 and "ltl ends" in text
    assert sorted(mutants) == sorted(re.findall(rf'mutant\("{model.stem}", "(BUG_\w+)"', RUN))
    for kind in ("ALWAYS", "ENDS"):
        assert len(re.findall(rf'good\("{model.stem}", {kind}\b', RUN)) >= 2  # quick and large
