"""docs/openapi.yaml is sound, and has the routes, the names in queries and the members of bodies that
the gateway's code has, and no others. That running services answer so is system/test_openapi.py."""
import pathlib
import re
import sys

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.openapi import METHODS, Document  # noqa: E402

GATEWAY = ROOT / "services/gateway"
DOCUMENT = Document()


def source(name):
    return (GATEWAY / name).read_text(encoding="utf-8")


def sources():
    return "".join(path.read_text(encoding="utf-8") for path in sorted(GATEWAY.glob("api/api_*.c")))


def routes(listener, prefix=""):
    return {(method, path) for where, path, method in DOCUMENT.operations
            if where == listener and path.startswith(prefix)}


def nodes(node, path=""):
    """Every mapping of the tree, with its place."""
    if isinstance(node, dict):
        yield path, node
        for key, value in node.items():
            yield from nodes(value, f"{path}/{key}")
    elif isinstance(node, list):
        for number, value in enumerate(node):
            yield from nodes(value, f"{path}/{number}")


def parameters(listener="private"):
    for path, item in DOCUMENT.tree["paths"].items():
        for method in METHODS:
            if (listener, path, method.upper()) in DOCUMENT.operations:
                for one in item.get("parameters", []) + item[method].get("parameters", []):
                    yield path, DOCUMENT.whole(one)


def facade_paths():
    return {path for path in re.findall(r'\{"(/[^"]*)", FACADE_', source("facade/facade_ask.c"))}


def test_example():
    assert DOCUMENT.tree["openapi"].startswith("3.1.")
    assert DOCUMENT.find("private", "GET", "/v1/tasks/17")["operationId"] == "showTask"
    assert DOCUMENT.find("private", "POST", "/v1/dead-letters/replay")["operationId"] == "startReplay"


def test_what_is_referred_to_is_there():
    for path, node in nodes(DOCUMENT.tree):
        if "$ref" in node:
            assert DOCUMENT.look(node["$ref"]) is not None, path
            assert set(node) == {"$ref"}, path


def test_schemas_are_schemas():
    schemas = [node["schema"] for _, node in nodes(DOCUMENT.tree)
               if isinstance(node.get("schema"), dict)]
    schemas += DOCUMENT.tree["components"]["schemas"].values()
    assert len(schemas) > 60
    for schema in schemas:
        jsonschema.Draft202012Validator.check_schema(DOCUMENT.closed(schema))


def test_every_part_is_used():
    used = {node["$ref"] for _, node in nodes(DOCUMENT.tree) if "$ref" in node}
    for group in ("parameters", "requestBodies", "responses", "schemas"):
        named = {f"#/components/{group}/{name}" for name in DOCUMENT.tree["components"][group]}
        told = {"#/components/schemas/StreamGap"}  # in the text of a stream
        assert not named - used - told, named - used - told


def test_operations_have_names_of_their_own():
    names = [operation["operationId"] for operation in DOCUMENT.operations.values()]
    assert len(names) == len(set(names))


def test_parts_of_paths_are_declared():
    for path in DOCUMENT.tree["paths"]:
        declared = {one["name"] for where, one in parameters("private") if where == path}
        declared |= {one["name"] for where, one in parameters("public") if where == path}
        assert set(re.findall(r"\{(\w+)\}", path)) <= declared, path


def test_routes_of_the_api():
    code = set(re.findall(r'\{"([A-Z]+)", "(/[^"]*)", api_', source("api/api.c")))
    documented = {(method, path) for method, path in routes("private") if path not in facade_paths()}
    assert len(code) >= 30 and code == documented


def test_paths_of_the_facade():
    code = facade_paths()
    assert len(code) >= 10 and code == {path for _, path in routes("private") if path in code}


def test_routes_of_the_door():
    text = source("intake.c")
    token, bare = (re.search(rf'{name}\[\] = "([^"]+)"', text)[1] for name in ("INTAKE_TOKEN", "INTAKE_BARE"))
    methods = set(re.findall(r'strcmp\(method, "([A-Z]+)"\)', text))
    assert methods == {"GET", "POST", "PUT"}
    for path in (token + "{provider}/{token}", token + "{provider}/{token}/{traceparent}", bare, bare + "/{provider}"):
        assert {method for method, where in routes("public") if where == path} == methods
    assert len(routes("public")) == 4 * len(methods) + 1  # and the file of a profile


def test_queries():
    code = set(re.findall(r'\.name = "([a-z_]+)"', sources()))
    documented = {one["name"] for path, one in parameters() if one["in"] == "query"
                  and path not in facade_paths()}
    assert len(code) >= 10 and code == documented


def members(schema):
    schema = DOCUMENT.whole(schema)
    for name, one in schema.get("properties", {}).items():
        yield name
        items = DOCUMENT.whole(one).get("items")
        if items:
            yield from members(items)


def test_members_of_bodies():
    code = set(re.findall(r'\{"([a-z_0-9]+)", JSON_IN_', sources())) | {"files"}
    documented = set()
    for (listener, path, _), operation in DOCUMENT.operations.items():
        if listener == "private" and path not in facade_paths() and "requestBody" in operation:
            content = DOCUMENT.whole(operation["requestBody"])["content"]
            documented |= set(members(content["application/json"]["schema"]))
    assert len(code) >= 25 and code == documented, code ^ documented



@pytest.mark.parametrize("schema", ["State", "Reason"])
def test_words(schema):
    """The closed lists are those of docs/PROTOCOL.md, which is held against the tables."""
    text = (ROOT / "docs/PROTOCOL.md").read_text(encoding="utf-8")
    section = text.partition(f"### Words: {schema.lower()}s\n")[2].partition("\n#")[0]
    words = re.findall(r"^\| `([a-z_]+)` \|", section, re.MULTILINE)
    assert words and set(words) == set(DOCUMENT.tree["components"]["schemas"][schema]["enum"])
