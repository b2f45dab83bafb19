"""Secrets that can be found again: in whatever form somebody may have written them down."""
import base64
import html
import json
import urllib.parse

LEAST = 8  # shorter pieces would be found everywhere


def percents(text):
    """The ways in which a text stands in an address or a form."""
    whole = "".join(f"%{byte:02x}" for byte in text.encode())
    return {urllib.parse.quote(text, safe=""), urllib.parse.quote_plus(text, safe=""),
            urllib.parse.quote(text), whole, whole.upper()}


def base64s(raw):
    """Base64 of a text that holds raw, wherever its three-byte groups begin."""
    found = set()
    for lead in range(3):
        whole = base64.b64encode(b"\0" * lead + raw)
        first = (lead * 8 + 5) // 6  # the digits that hold bits of what stands before
        last = (lead + len(raw)) * 8 // 6
        part = whole[first:last]
        found |= {part, part.replace(b"+", b"-").replace(b"/", b"_")}
    return found


def forms(secret):
    """{bytes} of a secret (bytes, or a text): raw, percent-encoded, escaped, base64 and hex."""
    raw = secret if isinstance(secret, bytes) else secret.encode()
    found = {raw, raw.hex().encode(), raw.hex().upper().encode(), *base64s(raw)}
    if not isinstance(secret, bytes):
        texts = percents(secret) | {html.escape(secret), json.dumps(secret)[1:-1],
                                    json.dumps(secret)[1:-1].replace("/", "\\/")}
        found |= {text.encode() for text in texts}
    assert all(len(form) >= LEAST for form in found), secret
    return found


def leaks(secrets, places):
    """[(name of the secret, place, what stands around it)]: secrets are {name: bytes or text},
    places {name: bytes}. What is percent-encoded in part is found as well."""
    found = []
    for place, content in places.items():
        plain = urllib.parse.unquote_to_bytes(content) if b"%" in content else b""
        for name, secret in secrets.items():
            for form in forms(secret):
                for text in (content, plain):
                    at = text.find(form)
                    if at >= 0:
                        found.append((name, place, text[max(0, at - 120):at + 120]))
                        break
    return found
