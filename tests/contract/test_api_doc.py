"""docs/API.md names every route, query, member of a body and member of an answer that the gateway
has, and no route that it has not."""
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
DOC = (ROOT / "docs/API.md").read_text(encoding="utf-8")
GATEWAY = ROOT / "services/gateway"
WORDS = set(re.findall(r"[a-z_][a-z_0-9]*", " ".join(re.findall(r"`[^`]+`", DOC))))


def source(name):
    return (GATEWAY / name).read_text(encoding="utf-8")


def sources():
    return "".join(path.read_text(encoding="utf-8") for path in sorted(GATEWAY.glob("api_*.c")))


def test_routes():
    code = set(re.findall(r'\{"([A-Z]+)", "(/[^"]*)", api_', source("api.c")))
    documented = set(re.findall(r"^### `([A-Z]+) (/[^`]*)`", DOC, re.MULTILINE))
    assert len(code) >= 15 and code == documented


def test_queries():
    names = set(re.findall(r'\.name = "([a-z_]+)"', sources()))
    assert len(names) >= 10 and names <= WORDS, names - WORDS


def test_members_of_bodies():
    names = set(re.findall(r'\{"([a-z_]+)", JSON_IN_', sources()))
    assert len(names) >= 8 and names <= WORDS, names - WORDS


def test_members_of_answers():
    names = set(re.findall(r'(?:json_out_(?!base64)[a-z0-9_]+|view_value)\(out, "([a-z_]+)"',
                           source("json_view.c")))
    assert len(names) >= 40 and names <= WORDS, names - WORDS
