"""Every field case is held by tests that exist: field-cases.map against field-cases.jsonl."""
import json
import pathlib
import re

HERE = pathlib.Path(__file__).parent
ROOT = HERE.parent.parent
NAMED = re.compile(r"(?P<file>tests/[\w/.-]+)::(?P<test>test_\w+)(\[(?P<row>[^\]]+)\])?")


def read_cases():
    with open(HERE / "field-cases.jsonl", encoding="utf-8") as lines:
        return [json.loads(line) for line in lines]


def read_map():
    """{number: lines}"""
    held, number = {}, None
    for line in (HERE / "field-cases.map").read_text(encoding="utf-8").splitlines():
        if line.startswith("#") or not line.strip():
            continue
        if not line.startswith(" "):
            number = int(line)
            assert number not in held, f"{number} stands there twice"
            held[number] = []
        else:
            held[number].append(line.strip())
    return held


def missing(entry):
    """What is wrong with FILE::TEST[ROW], "" when the test exists."""
    found = NAMED.fullmatch(entry)
    if not found:
        return f"{entry}: neither FILE::TEST nor later"
    path = ROOT / found["file"]
    if not path.is_file():
        return f"{entry}: no such file"
    text = path.read_text(encoding="utf-8")
    head = rf"static void {found['test']}\(" if path.suffix == ".c" else rf"def {found['test']}\("
    if not re.search(head, text):
        return f"{entry}: no such test"
    if len(re.findall(rf"\b{found['test']}\b", text)) < 2 and path.suffix == ".c":
        return f"{entry}: the test is never run"
    if found["row"] and not re.search(rf'"{re.escape(found["row"])}\b', text):
        return f"{entry}: no such row"
    return ""


def test_example():
    assert not missing("tests/contract/test_case_map.py::test_example")
    assert missing("tests/contract/test_case_map.py::test_of_nobody")


def test_cases_are_whole_and_different():
    cases = read_cases()
    numbers = [case["case"] for case in cases]
    assert len(numbers) == len(set(numbers)) > 50
    for case in cases:
        assert set(case) == {"case", "kind", "source", "fault", "input", "right"}, case["case"]
        assert all(case[name] for name in case), case["case"]
        assert not case["fault"].startswith("Same"), f"{case['case']} refers to its neighbour"


def test_each_case_is_mapped():
    assert set(read_map()) == {case["case"] for case in read_cases()}


def test_each_case_is_held():
    held = read_map()
    for case in read_cases():
        lines = held[case["case"]]
        tests = [line for line in lines if not line.startswith("later: ")]
        assert lines, case["case"]
        assert tests, case["case"]


def test_each_named_test_exists():
    entries = [line for lines in read_map().values() for line in lines
               if not line.startswith("later: ")]
    wrong = list(filter(None, map(missing, entries)))
    assert not wrong, "\n".join(wrong)
