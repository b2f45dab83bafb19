"""docs/asyncapi.yaml has the messages of the feed and of readers as the C tables have them ($ALDABA_DUMP
prints those). That running services say so is system/test_asyncapi.py."""
import json
import os
import pathlib
import subprocess
import sys

import jsonschema
import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support.asyncapi import Document  # noqa: E402

DOCUMENT = Document()
SCALARS = {"u64": {"$ref": "#/components/schemas/u64"}, "i64": {"$ref": "#/components/schemas/i64"},
           "id": {"$ref": "#/components/schemas/id"}, "bool": {"type": "boolean"}}


@pytest.fixture(scope="module", name="tables")
def the_tables():
    dump = os.environ.get("ALDABA_DUMP")
    if not dump:
        pytest.skip("ALDABA_DUMP names no program: build the target dump_schemas")
    done = subprocess.run([dump], capture_output=True, text=True, check=True)
    found = {}
    for line in map(json.loads, done.stdout.splitlines()):
        if "kind" in line:
            found.setdefault(line["kind"], []).append(line)
    return found


def schema_of(field):
    if field["type"] in SCALARS:
        return SCALARS[field["type"]]
    binary = {"format": "binary"} if field["type"] == "bytes" else {}
    return {"type": "string", **binary, "maxLength": field["limit"]}


def test_example():
    DOCUMENT.check({"k": "head", "v": 1, "position": "0:3", "at_ms": 17})
    for wrong in ({"k": "head", "v": 1, "position": b"0:3", "at_ms": 17},
                  {"k": "head", "v": 1, "position": "0:3"},
                  {"k": "head", "v": 1, "position": "0:3", "at_ms": 17, "other": 1}):
        with pytest.raises(AssertionError):
            DOCUMENT.check(wrong)


def test_messages_are_those_of_the_tables(tables):
    for kind, message in DOCUMENT.messages.items():
        payload = message["payload"]
        want = {field["key"]: schema_of(field) for field in tables[kind]}
        have = {key: one for key, one in payload["properties"].items() if key not in ("k", "v")}
        assert have == want, kind
        assert payload["properties"]["k"] == {"const": kind}
        required = {field["key"] for field in tables[kind] if field["required"]}
        assert set(payload["required"]) == {"k", "v"} | required, kind


def test_every_question_of_readers_is_there(tables):
    questions = {kind for kind in tables if kind == "fetch" or kind.startswith("consumer.")}
    assert len(questions) >= 7 and DOCUMENT.asked() == questions


def test_what_is_referred_to_is_there():
    def walk(node):
        if isinstance(node, dict):
            if "$ref" in node:
                assert DOCUMENT.look(node["$ref"]) is not None, node
            for one in node.values():
                walk(one)
        elif isinstance(node, list):
            for one in node:
                walk(one)
    walk(DOCUMENT.tree)
    for message in DOCUMENT.messages.values():
        jsonschema.Draft7Validator.check_schema(message["payload"])
        assert set(message.get("x-frames", [])) <= set(DOCUMENT.messages)


def test_topics_and_channels():
    """The words of docs/PROTOCOL.md, which is held against the tables."""
    text = (ROOT / "docs/PROTOCOL.md").read_text(encoding="utf-8")
    channels = DOCUMENT.tree["channels"]
    assert channels["results"]["address"].startswith("result.") and "| `result.` |" in text
    assert channels["heads"]["address"] == "head." and "| `head.` |" in text
    for server in DOCUMENT.tree["servers"].values():
        assert f"| `{server['pathname'].strip('/')}` |" in text
