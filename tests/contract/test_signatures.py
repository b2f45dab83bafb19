"""The signature vectors once more, by a verifier that shares nothing with aldaba's."""
import base64
import binascii
import hashlib
import hmac
import json
import pathlib
import re
import sys

import pytest

HERE = pathlib.Path(__file__).resolve().parent
sys.path.insert(0, str(HERE.parent))
from support import ed25519  # noqa: E402

ROWS = json.loads((HERE / "signature-vectors.json").read_text(encoding="utf-8"))


def decoded(text, encoding):
    try:
        return base64.b64decode(text, validate=True) if encoding == "base64" else bytes.fromhex(text)
    except (ValueError, binascii.Error):
        return b""


def in_time(text, row, block):
    if not re.fullmatch("[0-9]{1,12}", text):
        return False
    return abs(row["now"] - int(text)) <= int(block.get("tolerance", "300s")[:-1])


def mac(key, *parts):
    return hmac.new(key, b"".join(parts), hashlib.sha256).digest()


def header_secret(block, row, headers, body):
    return headers.get(block["name"].lower()) == row["secret"]


def standard_webhooks(block, row, headers, body):
    ident, stamp, signatures = (headers.get(f"webhook-{name}", "")
                                for name in ("id", "timestamp", "signature"))
    if not ident or not in_time(stamp, row, block):
        return False
    want = mac(base64.b64decode(row["secret"].removeprefix("whsec_")), f"{ident}.{stamp}.".encode(),
               body)
    return any(decoded(word[3:], "base64") == want
               for word in signatures.split() if word.startswith("v1,"))


def hmac_of(block, row, headers, body):
    value = headers.get(block["header"].lower(), "")
    encoding = block.get("encoding", "hex")
    key = row["secret"].encode()
    if block.get("format") != "t_v":
        prefix = block.get("prefix", "")
        return value.startswith(prefix) and decoded(value[len(prefix):], encoding) == mac(key, body)
    pairs = [part.split("=", 1) for part in value.split(",") if "=" in part]
    stamps = [text for name, text in pairs if name == "t"]
    if len(stamps) != 1 or not in_time(stamps[0], row, block):
        return False
    want = mac(key, f"{stamps[0]}.".encode(), body)
    return any(decoded(text, encoding) == want for name, text in pairs if name == block["version"])


def ed25519_of(block, row, headers, body):
    names = {key: name.lower() for key, name in block["headers"].items()}
    if not in_time(headers.get(names["ts"], ""), row, block):
        return False
    values = {f"header.{name}": value.encode() for name, value in headers.items()}
    values |= {"body": body, "sha256hex.body": hashlib.sha256(body).hexdigest().encode()}
    pieces = re.split(r"\$\{([^}]+)\}", block["message"])
    message = b"".join(values[piece.lower()] if place % 2 else piece.encode()
                       for place, piece in enumerate(pieces))
    signature = decoded(headers.get(names["sig"], ""), block.get("sig_encoding", "hex"))
    keys = [base64.urlsafe_b64decode(key + "=") for key in block["keys"]]
    return any(ed25519.verify(key, signature, message) for key in keys)


SCHEMES = {"header_secret": header_secret, "standard_webhooks": standard_webhooks,
           "hmac": hmac_of, "ed25519": ed25519_of}


@pytest.mark.parametrize("row", ROWS, ids=[f"{row['scheme']}: {row['name']}" for row in ROWS])
def test_vector(row):
    headers = {name.lower(): value.strip() for name, value in row["headers"].items()}
    holds = [SCHEMES[name](block, row, headers, row["body"].encode())
             for name, block in row["auth"].items()]
    assert all(holds) == row["ok"]


def test_every_word_has_a_vector():
    assert {row["why"] for row in ROWS} == {"ok", "missing", "malformed", "version", "stale", "future",
                                            "mismatch"}


def test_the_oracle_itself():
    """RFC 8032, 7.1, the second test."""
    seed = bytes.fromhex("4ccd089b28ff96da9db6c346ec114e0f5b8a319f35aba624da8cf6ed4fb8a6fb")
    public = bytes.fromhex("3d4017c3e843895a92b70aa74d1b7ebc9c982ccf2ec4968cc0cd55f12af4660c")
    signature = bytes.fromhex("92a009a9f0d4cab8720e820b5f642540a2b27b5416503f8fb3762223ebdb69da"
                              "085ac1e43e15996e458f3613d0f11d8c387b2eaeb4302aeeb00d291612bb0c00")
    assert ed25519.public_key(seed) == public
    assert ed25519.sign(seed, b"\x72") == signature
    assert ed25519.verify(public, signature, b"\x72")
    assert not ed25519.verify(public, signature, b"\x73")
