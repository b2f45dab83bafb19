"""docs/asyncapi.yaml in the hands of a test: messages as MessagePack reads them, against the payloads."""
import pathlib

import jsonschema
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]


def is_string(_, value):
    return isinstance(value, (str, bytes))


CHECKER = jsonschema.Draft7Validator.TYPE_CHECKER.redefine("string", is_string)
Validator = jsonschema.validators.extend(jsonschema.Draft7Validator, type_checker=CHECKER)


class Document:
    def __init__(self, path=ROOT / "docs/asyncapi.yaml"):
        self.tree = yaml.safe_load(path.read_text(encoding="utf-8"))
        self.messages = {message["name"]: message
                         for message in self.tree["components"]["messages"].values()}

    def look(self, ref):
        node = self.tree
        for step in ref.removeprefix("#/").split("/"):
            node = node[step]
        return self.look(node["$ref"]) if isinstance(node, dict) and "$ref" in node else node

    def check(self, value):
        """A decoded frame: its kind, all that is required, nothing that is not named, and bin only
        where the document says binary."""
        payload = self.messages[value["k"]]["payload"]
        properties = {key: self.look(one["$ref"]) if "$ref" in one else one
                      for key, one in payload["properties"].items()}
        whole = {**payload, "properties": properties, "additionalProperties": False}
        problems = [error.message for error in Validator(whole).iter_errors(value)]
        problems += [f"{key} is {type(one).__name__}" for key, one in value.items() if isinstance(
            one, bytes) != (properties.get(key, {}).get("format") == "binary")]
        assert not problems, (problems, value)
        return value["k"]

    def operation(self, kind):
        """What is asked by a message of this kind: (kind of the answer's head, kinds behind it)."""
        for one in self.tree["operations"].values():
            if one["action"] == "receive" and self.look(one["messages"][0]["$ref"])["name"] == kind:
                return (self.look(one["reply"]["messages"][0]["$ref"])["name"],
                        set(one.get("x-frames", [])))
        raise KeyError(kind)

    def asked(self):
        """The kinds of all questions."""
        return {self.look(one["messages"][0]["$ref"])["name"]
                for one in self.tree["operations"].values() if one["action"] == "receive"}
