"""docs/SETTINGS.md has a row for every setting, with its default and its meaning."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "SETTINGS.md").read_text(encoding="utf-8")
DOCUMENTED = {key: (default, meaning) for key, default, meaning in
              re.findall(r"^\| `([a-z0-9_.]+)` \| [^|]+ \| (\S+) \| (.+) \|$", TEXT, re.MULTILINE)}
ROW = re.compile(r'\{"([a-z_.]+)",\s*ALD_SETTING_\w+,\s*FIELD\([^)]*\),\s*"([^"]*)",(.*?)\}(?=,|\n)',
                 re.DOTALL)
UNDOCUMENTED = {"profile"}  # where a profile does not lie below its name
AUTH_TABLE = re.compile(r"AUTH_(\w*?)_?ROWS\[\] = \{(.*?)\n\};", re.DOTALL)
AUTH_BY_HAND = {"header_secret.value", "standard_webhooks.secret", "hmac.secret", "ed25519.keys"}


def rows(text):
    for key, default, rest in ROW.findall(text):
        pieces = re.findall(r"NULL|(?:\"[^\"]*\"\s*)+", rest)
        yield key, default, "".join(re.findall(r'"([^"]*)"', pieces[-1]))


def read(path):
    return (ROOT / path).read_text(encoding="utf-8")


def auth_rows():
    """Those of callback.auth: a table for each scheme, named after it."""
    for path in ("common/config/auth.c", "common/config/auth_schemes.c"):
        for table, text in AUTH_TABLE.findall(read(path)):
            scheme = {"": "", "keys": "ed25519.keys."}.get(table.lower(), f"{table.lower()}.")
            for key, default, meaning in rows(text):
                yield f"callback.auth.{scheme}{key}", default, meaning


CODE = {key: (default, meaning)
        for path in ("common/config/profile_form.c", "common/config/settings_rows.c")
        for key, default, meaning in rows(read(path)) if key not in UNDOCUMENTED}
CODE |= {f"budgets.{key}": (default, meaning)
         for key, default, meaning in rows(read("common/config/budget.c"))}
CODE |= {f"sinks.{key}": (default, meaning)
         for key, default, meaning in rows(read("common/config/sinks.c"))}
CODE |= {key: (default, meaning) for key, default, meaning in auth_rows()}
for name in AUTH_BY_HAND:
    DOCUMENTED.pop(f"callback.auth.{name}")
DOCUMENTED.pop("sinks.secret")  # read by hand, too


def test_the_rows_are_found():
    assert len(CODE) > 70 and "gateway.public" in CODE and "callback.trust" in CODE
    assert "callback.auth.on_fail" in CODE and "callback.auth.hmac.header" in CODE


@pytest.mark.parametrize("key", sorted(CODE | DOCUMENTED))
def test_setting_is_as_documented(key):
    assert key in CODE, f"{key} is documented, and there is no such setting"
    assert key in DOCUMENTED, f"{key} is not in docs/SETTINGS.md"
    default, meaning = DOCUMENTED[key]
    assert default.strip("`–") == CODE[key][0]
    assert meaning.replace("`", "") == CODE[key][1]
