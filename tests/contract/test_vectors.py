"""The golden vectors, read by python3-msgpack: another program's view of the messages."""
import base64
import hashlib
import hmac
import json
import pathlib

import msgpack
import pytest

VECTORS = pathlib.Path(__file__).resolve().parent.parent.parent / "proto" / "vectors"
FILES = sorted(VECTORS.glob("*.v*.json"))


def load(path):
    return json.loads(path.read_text(encoding="utf-8"))


def unpack(text):
    pairs = []
    msgpack.unpackb(bytes.fromhex(text), raw=False, object_pairs_hook=lambda p: pairs.extend(p))
    return pairs


def shown(value):
    return value.hex() if isinstance(value, bytes) else value


def check(vector, fields, text):
    pairs = unpack(text)
    keys = [key for key, _ in pairs]
    assert keys[:2] == ["k", "v"]
    assert len(set(keys)) == len(keys)
    assert [value for _, value in pairs[:2]] == [vector["kind"], vector["version"]]
    got = [(key, type(value) is bool, shown(value)) for key, value in pairs[2:]]
    want = [(key, type(value) is bool, value) for key, value in fields.items()]
    assert got == want


def test_there_are_vectors():
    assert len(FILES) >= 37


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_every_field(path):
    vector = load(path)
    assert path.name == f"{vector['kind']}.v{vector['version']}.json"
    check(vector, vector["fields"], vector["hex"])


@pytest.mark.parametrize("path", FILES, ids=lambda p: p.name)
def test_required_fields_only(path):
    vector = load(path)
    required = vector["required"]["fields"]
    check(vector, required, vector["required"]["hex"])
    assert set(required) <= set(vector["fields"])


@pytest.mark.parametrize("row", load(VECTORS / "token.json"), ids=lambda r: r["token"][:9])
def test_token(row):
    raw = base64.urlsafe_b64decode(row["token"] + "==")
    assert len(row["token"]) == 34
    assert (raw[0], raw[8]) == (row["key_id"], row["attempt"])
    assert int.from_bytes(raw[1:8], "big") == int(row["task"])
    signed = row["provider"].encode() + b"\0" + raw[:9]
    assert raw[9:] == hmac.new(bytes.fromhex(row["key"]), signed, hashlib.sha256).digest()[:16]
