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
    return "".join(path.read_text(encoding="utf-8") for path in sorted(GATEWAY.glob("api/api_*.c")))


def test_routes():
    code = set(re.findall(r'\{"([A-Z]+)", "(/[^"]*)", api_', source("api/api.c")))
    documented = set(re.findall(r"^### `([A-Z]+) (/[^`]*)`", DOC, re.MULTILINE))
    assert len(code) >= 15 and code == documented


def test_paths_of_the_facade():
    code = set(re.findall(r'\{"(/[^"]*)", FACADE_', source("facade/facade_ask.c")))
    words = set(re.findall(r"`(/[A-Za-z.]+)`", DOC))
    assert len(code) >= 5 and code <= words, code - words


def test_fields_of_the_facade():
    table = re.search(r"ASK_OURS.*?\};", source("facade/facade_ask.c"), re.DOTALL).group()
    names = set(re.findall(r'"(\w+)"', table))
    documented = set(re.findall(r"`(\w+)`", DOC))
    assert len(names) >= 7 and names <= documented, names - documented


def test_queries():
    names = set(re.findall(r'\.name = "([a-z_]+)"', sources()))
    assert len(names) >= 10 and names <= WORDS, names - WORDS


def test_members_of_bodies():
    names = set(re.findall(r'\{"([a-z_]+)", JSON_IN_', sources()))
    assert len(names) >= 8 and names <= WORDS, names - WORDS


def test_members_of_answers():
    event = (ROOT / "common/config/event_json.c").read_text(encoding="utf-8")
    names = set(re.findall(r'(?:ald_json_out_(?!base64)[a-z0-9_]+|ald_event_value)\(out, "([a-z_]+)"',
                           source("api/json_view.c") + source("api/json_view_desk.c") + event))
    assert len(names) >= 40 and names <= WORDS, names - WORDS
