"""Metrics, as the sources declare them, as docs/OPERATIONS.md lists them, and as a scrape shows them."""
import collections
import pathlib
import re

ROOT = pathlib.Path(__file__).resolve().parents[2]
Metric = collections.namedtuple("Metric", "kind labels meaning")
KINDS = {"ALD_COUNTER": "counter", "ALD_GAUGE": "gauge", "ALD_GAUGE_MS": "gauge",
         "ALD_HISTOGRAM": "histogram"}
DECLARED = re.compile(r"\.kind = (ALD_\w+),(.*?)(?=\.kind = |\};|\n\n|\Z)", re.DOTALL)
HELP = re.compile(r'\.help\s*=\s*((?:"(?:[^"\\]|\\.)*"\s*)+)')
ROW = re.compile(r"^\| `(aldaba_[a-z_]+)` \| (\w+) \| ([^|]*) \| (.*) \|$", re.MULTILINE)


def strings(text):
    return re.findall(r'"((?:[^"\\]|\\.)*)"', text)


def of_code():
    """{name: Metric} of all sources."""
    found = {}
    for folder in ("services", "common"):
        for path in sorted((ROOT / folder).rglob("*.c")):
            text = path.read_text(encoding="utf-8").replace("\\\n", "\n")
            for kind, rest in DECLARED.findall(text):
                name = re.search(r'\.name\s*=\s*"(aldaba_[a-z_]+)"', rest)
                if not name:
                    continue
                meaning = "".join(strings(re.search(HELP, rest)[1]))
                label = re.search(r"\.label\s*=\s*\{([^}]*)\}", rest)
                found[name[1]] = Metric(KINDS[kind], tuple(strings(label[1])) if label else (), meaning)
    return found


def of_document():
    text = (ROOT / "docs/OPERATIONS.md").read_text(encoding="utf-8")
    return {name: Metric(kind, tuple(re.findall(r"`(\w+)`", labels)), meaning)
            for name, kind, labels, meaning in ROW.findall(text)}


def row(name, metric):
    """The line of the document."""
    labels = ", ".join(f"`{label}`" for label in metric.labels) or "–"
    return f"| `{name}` | {metric.kind} | {labels} | {metric.meaning} |"


def of_scrape(page):
    """({name: Metric}, [(series, labels, value)]) of a page of /metrics; a family without a series has
    no labels here."""
    found, samples = {}, []
    for line in page.splitlines():
        if line.startswith("# HELP "):
            _, _, name, meaning = line.split(" ", 3)
            found[name] = Metric("", (), meaning)
        elif line.startswith("# TYPE "):
            _, _, name, kind = line.split(" ")
            found[name] = found[name]._replace(kind=kind)
        elif line:
            series, _, value = line.rpartition(" ")
            name, _, inside = series.partition("{")
            samples.append((name, dict(re.findall(r'(\w+)="([^"]*)"', inside)), float(value)))
    return found, samples


def family(series, kinds):
    """The metric that a series is of."""
    for end in ("_bucket", "_sum", "_count"):
        if series.endswith(end) and kinds.get(series.removesuffix(end)) == "histogram":
            return series.removesuffix(end)
    return series
