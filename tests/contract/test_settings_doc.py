"""docs/SETTINGS.md has a row for every setting, with its default and its meaning."""
import pathlib
import re

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
TEXT = (ROOT / "docs" / "SETTINGS.md").read_text(encoding="utf-8")
DOCUMENTED = {key: (default, meaning) for key, default, meaning in
              re.findall(r"^\| `([a-z_.]+)` \| [^|]+ \| (\S+) \| (.+) \|$", TEXT, re.MULTILINE)}
ROW = re.compile(r'\{"([a-z_.]+)",\s*ALD_SETTING_\w+,\s*FIELD\([^)]*\),\s*"([^"]*)",(.*?)\}(?=,|\n)',
                 re.DOTALL)
UNDOCUMENTED = {"profile"}  # where a profile does not lie below its name


def rows(path):
    for key, default, rest in ROW.findall((ROOT / path).read_text(encoding="utf-8")):
        pieces = re.findall(r"NULL|(?:\"[^\"]*\"\s*)+", rest)
        yield key, default, "".join(re.findall(r'"([^"]*)"', pieces[-1]))


CODE = {key: (default, meaning)
        for path in ("common/config/profiles.c", "common/config/settings_rows.c")
        for key, default, meaning in rows(path) if key not in UNDOCUMENTED}
CODE |= {f"budgets.{key}": (default, meaning)
         for key, default, meaning in rows("common/config/budget.c")}


def test_the_rows_are_found():
    assert len(CODE) > 70 and "gateway.public" in CODE and "callback.trust" in CODE


@pytest.mark.parametrize("key", sorted(CODE | DOCUMENTED))
def test_setting_is_as_documented(key):
    assert key in CODE, f"{key} is documented, and there is no such setting"
    assert key in DOCUMENTED, f"{key} is not in docs/SETTINGS.md"
    default, meaning = DOCUMENTED[key]
    assert default.strip("`–") == CODE[key][0]
    assert meaning.replace("`", "") == CODE[key][1]
