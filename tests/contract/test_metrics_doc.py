"""docs/OPERATIONS.md has a row for every metric of the sources, as it is declared there, and no other."""
import pathlib
import sys

import pytest

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support import metrics  # noqa: E402

CODE = metrics.of_code()
DOCUMENTED = metrics.of_document()
LABELS = {"ledger", "provider", "reason", "result", "source", "state", "version"}


def test_the_metrics_are_found():
    assert len(CODE) > 60
    assert CODE["aldaba_gateway_auth_total"].labels == ("provider", "result")
    assert CODE["aldaba_gateway_callbacks_total"].kind == "counter"


@pytest.mark.parametrize("name", sorted(CODE | DOCUMENTED))
def test_a_metric_is_as_documented(name):
    assert name in CODE, f"{name} is documented, and there is no such metric"
    wanted = metrics.row(name, CODE[name])
    assert DOCUMENTED.get(name) == CODE[name], f"docs/OPERATIONS.md should have this row:\n{wanted}"


@pytest.mark.parametrize("name", sorted(CODE))
def test_a_metric_has_a_proper_name(name):
    """Base units at the end, and no label that may be an id or a stranger's word."""
    metric = CODE[name]
    assert set(metric.labels) <= LABELS
    assert name.endswith("_total") == (metric.kind == "counter")
    assert not name.endswith(("_ms", "_milliseconds", "_kib", "_mb", "_minutes"))
    if metric.kind == "histogram":
        assert name.endswith("_seconds")
