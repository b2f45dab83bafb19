"""services/deploy/prometheus: every alert has a test that it passes and that no other threshold passes,
all that a person needs to act, and metrics that there are."""
import json
import pathlib
import re
import sys

import pytest
import yaml

ROOT = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(ROOT / "tests"))

from support import promtool  # noqa: E402

FOLDER = ROOT / "services/deploy/prometheus"
RULES = FOLDER / "aldaba.rules.yaml"
TESTS = FOLDER / "aldaba.rules.test.yaml"
ALERTS = [rule for group in yaml.safe_load(RULES.read_text(encoding="utf-8"))["groups"]
          for rule in group["rules"]]
OPERATIONS = (ROOT / "docs/OPERATIONS.md").read_text(encoding="utf-8")
FIRING = 'ALERTS{alertstate="firing"}'
THRESHOLD = re.compile(r"(?<=[<>=] )\d+(?:\.\d+)?")
WANTED = ("CallbacksStopped", "OldestPending", "SpoolGrowing", "DeadLetters", "BooksUnbalanced",
          "ProviderBlocked", "DiskFilling", "NoData")


def anchors(text):
    """The anchors of a document's headings, as they are made where documents are shown."""
    headings = re.findall(r"^#+ (.+)$", text, re.MULTILINE)
    return {re.sub(r"[^a-z0-9 _-]", "", heading.lower()).replace(" ", "-") for heading in headings}


def metrics_of(expression):
    return set(re.findall(r"\baldaba_[a-z_]+", expression))


def documented():
    """Names of series by the table of metrics: those of a histogram are three."""
    rows = re.findall(r"^\| `(aldaba_[a-z_]+)` \| (\w+) \|", OPERATIONS, re.MULTILINE)
    return {name + end for name, kind in rows
            for end in (("_bucket", "_sum", "_count") if kind == "histogram" else ("",))}


def test_example():
    names = [alert["alert"] for alert in ALERTS]
    assert len(names) == len(set(names)) and all(f"Aldaba{one}" in names for one in WANTED)
    assert anchors("# One: `two` three\n") == {"one-two-three"}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_an_alert_says_what_to_do(alert):
    notes = alert["annotations"]
    assert set(notes) == {"summary", "description", "runbook_url"}
    assert all(notes.values()) and alert["labels"]["severity"] in ("page", "ticket")
    document, _, anchor = notes["runbook_url"].partition("#")
    assert document == "docs/OPERATIONS.md" and anchor == alert["alert"].lower()
    assert anchor in anchors(OPERATIONS)
    assert metrics_of(alert["expr"]) <= documented()


def test_every_runbook_of_an_alert_has_its_alert():
    sections = re.findall(r"^#+ (Aldaba\w+)$", OPERATIONS, re.MULTILINE)
    assert sorted(sections) == sorted(alert["alert"] for alert in ALERTS)


def test_rules_are_sound():
    done = promtool.run("check", "rules", RULES)
    assert done.returncode == 0 and f"{len(ALERTS)} rules found" in done.stdout, done


def test_rules_pass_their_tests():
    done = promtool.run("test", "rules", TESTS)
    assert done.returncode == 0 and "SUCCESS" in done.stdout + done.stderr, done


def minutes(text):
    return {"m": 1, "h": 60}[text[-1]] * int(text[:-1])


def mutants(alert):
    """The alert with one number changed: each threshold up and down, and how long it must hold."""
    yield dict(alert)  # not changed: it must pass
    for match in THRESHOLD.finditer(alert["expr"]):
        number = float(match[0])
        for other in (number * 2 + (number == 0), number / 2 - (number == 0)):
            begin, end = match.span()
            yield {**alert, "expr": f"{alert['expr'][:begin]}{other:g}{alert['expr'][end:]}"}
    if "for" in alert:
        for other in (minutes(alert["for"]) * 120, minutes(alert["for"]) * 30):
            yield {**alert, "for": f"{other}s"}


def renamed(check, old, new):
    """A check of the tests, of another name."""
    assert check["expr"] == FIRING
    samples = [{**one, "labels": one["labels"].replace(f'"{old}"', f'"{new}"')}
               for one in check["exp_samples"]]
    return {**check, "expr": f'ALERTS{{alertstate="firing",alertname="{new}"}}', "exp_samples": samples}


@pytest.mark.parametrize("alert", ALERTS, ids=lambda alert: alert["alert"])
def test_no_other_threshold_passes(tmp_path, alert):
    """All of them at once, each an alert of its own beside the others."""
    name = alert["alert"]
    groups = [group for group in yaml.safe_load(TESTS.read_text(encoding="utf-8"))["tests"]
              if group["name"].partition(":")[0] == name]
    assert groups, f"{name} has no test"
    rules = [{**form, "alert": f"{name}_m{number}"} for number, form in enumerate(mutants(alert))]
    tests = [{**group, "promql_expr_test": [renamed(check, name, rule["alert"]) for rule in rules
                                            for check in group["promql_expr_test"]]}
             for group in groups]
    (tmp_path / "rules.yaml").write_text(json.dumps({"groups": [{"name": "m", "rules": rules}]}))
    (tmp_path / "tests.yaml").write_text(json.dumps(
        {"rule_files": ["rules.yaml"], "evaluation_interval": "1m", "tests": tests}))
    done = promtool.run("test", "rules", tmp_path / "tests.yaml")
    said = done.stdout + done.stderr
    assert "FAILED" in said, said
    failed = set(re.findall(r'expr: "ALERTS.*?alertname=\\"(\w+)\\"', said))
    same, *changed = rules
    assert len(changed) >= 2 and same["alert"] not in failed, said
    passed = [rule for rule in changed if rule["alert"] not in failed]
    assert not passed, passed


# ---- the dashboard ----

BOARD = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
PANELS = [panel for panel in BOARD["panels"] if panel["type"] != "row"]


def test_panels_of_the_dashboard():
    """Each says what it shows, asks the source that was chosen, and covers no other."""
    assert len(PANELS) > 20 and len({panel["id"] for panel in BOARD["panels"]}) == len(BOARD["panels"])
    covered = set()
    for panel in PANELS:
        assert panel["title"] and panel["description"].endswith(".") and panel["targets"]
        sources = [one["datasource"]["uid"] for one in (panel, *panel["targets"])]
        assert set(sources) == {"${datasource}"}
        place = panel["gridPos"]
        cells = {(x, y) for x in range(place["x"], place["x"] + place["w"])
                 for y in range(place["y"], place["y"] + place["h"])}
        assert not cells & covered and place["x"] + place["w"] <= 24, panel["title"]
        covered |= cells


def test_expressions_of_the_dashboard(tmp_path):
    """They are PromQL, over metrics that are documented."""
    rules = []
    for panel in PANELS:
        for target in panel["targets"]:
            expression = target["expr"].replace("$__rate_interval", "5m").replace("$provider", ".*")
            assert "$" not in expression and metrics_of(expression) <= documented(), expression
            rules.append({"record": f"panel:n{len(rules)}", "expr": expression})
    (tmp_path / "panels.yaml").write_text(json.dumps({"groups": [{"name": "p", "rules": rules}]}))
    done = promtool.run("check", "rules", tmp_path / "panels.yaml")
    assert done.returncode == 0 and f"{len(rules)} rules found" in done.stdout, done
