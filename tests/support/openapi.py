"""docs/openapi.yaml in the hands of a test: which operation a request is, and whether an answer is one
that the document promises.

    watched = Watched(house.private, Document(), "private")
    watched.get("/v1/tasks")          # asserts, and notes (operation, status)
"""
import json
import pathlib

import jsonschema
import yaml

from support.http import Client

ROOT = pathlib.Path(__file__).resolve().parents[2]
METHODS = ("get", "put", "post", "delete", "patch")
PUBLIC_PORT = "7780"


class Document:
    def __init__(self, path=ROOT / "docs/openapi.yaml"):
        self.tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.operations = {}  # (listener, path, METHOD): operation
        for path, item in self.tree["paths"].items():
            servers = item.get("servers", self.tree["servers"])
            listener = "public" if PUBLIC_PORT in servers[0]["url"] else "private"
            for method in METHODS:
                if method in item:
                    self.operations[listener, path, method.upper()] = item[method]

    def look(self, ref):
        node = self.tree
        for step in ref.removeprefix("#/").split("/"):
            node = node[step.replace("~1", "/").replace("~0", "~")]
        return node

    def whole(self, node):
        """The node, or what it refers to."""
        return self.look(node["$ref"]) if "$ref" in node else node

    def find(self, listener, method, path):
        """The operation of a request; of several the one with most words of the path in it."""
        steps = path.strip("/").split("/")
        best = None
        for (where, pattern, verb), operation in self.operations.items():
            words = pattern.strip("/").split("/")
            if where != listener or verb != method or len(words) != len(steps):
                continue
            literal = [word == step for word, step in zip(words, steps)]
            if all(same or word.startswith("{") for same, word in zip(literal, words)):
                best = max(best, (literal, pattern, operation), key=lambda one: one[0]) if best else (
                    literal, pattern, operation)
        assert best, f"{method} {path} of the {listener} listener is not in the document"
        return best[2]

    def statuses(self):
        """Every (operationId, status) that the document names."""
        return {(operation["operationId"], status) for operation in self.operations.values()
                for status in operation["responses"] if status != "default"}

    def closed(self, schema):
        """A schema as it is checked here: what it does not name is a mistake, and references are
        written out. NAME_base64 may stand for any text."""
        if isinstance(schema, list):
            return [self.closed(one) for one in schema]
        if not isinstance(schema, dict):
            return schema
        if "$ref" in schema:
            return self.closed(self.look(schema["$ref"]))
        out = {key: self.closed(value) for key, value in schema.items()}
        if "properties" in schema:
            out["properties"] = {name: self.closed(one) for name, one in schema["properties"].items()}
            out.setdefault("patternProperties", {"_base64$": {"type": "string"}})
            out.setdefault("additionalProperties", False)
        return out

    def check(self, schema, value, what):
        problems = [f"{list(error.absolute_path)}: {error.message}" for error in
                    jsonschema.Draft202012Validator(self.closed(schema)).iter_errors(value)]
        assert not problems, (what, problems, value)

    def answer_schema(self, operation, answer):
        """The media type's schema for this answer, None where it has no content."""
        responses = operation["responses"]
        found = responses.get(str(answer.status), responses.get("default"))
        assert found, (operation["operationId"], answer, "status is not in the document")
        found = self.whole(found)
        for name in found.get("headers", {}):
            assert name.lower() in answer.headers, (operation["operationId"], name, answer.headers)
        if "content" not in found:
            assert not answer.body, (operation["operationId"], answer)
            return None
        media = answer.headers.get("content-type", "").partition(";")[0]
        assert media in found["content"], (operation["operationId"], media, answer)
        return found["content"][media]["schema"]

    def check_answer(self, operation, answer):
        schema = self.answer_schema(operation, answer)
        if schema is None:
            return
        media = answer.headers["content-type"]
        value = json.loads(answer.body) if "json" in media else answer.text
        self.check(schema, value, operation["operationId"])

    def check_request(self, operation, body, headers):
        """What was answered 2xx was a request of the document."""
        if not body or "json" not in headers.get("Content-Type", "json"):
            return
        given = self.whole(operation["requestBody"])["content"]
        if "application/json" in given:
            self.check(given["application/json"]["schema"], json.loads(body),
                       f"request of {operation['operationId']}")


class Watched(Client):
    """A client whose every answer is held against the document."""

    def __init__(self, client, document, listener):
        super().__init__(client.port, client.host, client.timeout_s)
        self.document = document
        self.listener = listener
        self.seen = set()

    def request(self, method, target, body=None, headers=None):
        answer = super().request(method, target, body, headers)
        operation = self.document.find(self.listener, method, target.partition("?")[0])
        self.document.check_answer(operation, answer)
        if answer.status < 300 and self.listener == "private":
            self.document.check_request(operation, body, headers or {})
        self.seen.add((operation["operationId"], str(answer.status)))
        return answer
