"""What a run of the benchmark has found, as rows: each with its limits beside it, as a table for people, as
Markdown and as JSON. Measures nothing.

A limit has a floor, which must be reached, and where the goal is higher an aim. `up` means that more is
better. A row without a value says why it has none.
"""
import dataclasses
import json
import statistics

MARKS = ("<!-- the table of tests/bench/run begins -->", "<!-- the table of tests/bench/run ends -->")
HEADS = ("part", "what", "measured", "floor", "aim", "verdict", "notes")


@dataclasses.dataclass
class Limit:
    floor: float | None = None
    aim: float | None = None
    up: bool = True

    def holds(self, value, bound):
        return value >= bound if self.up else value <= bound

    def verdict(self, value):
        if self.floor is None and self.aim is None:
            return ""
        if self.floor is not None and not self.holds(value, self.floor):
            return "not reached"
        if self.aim is None or self.holds(value, self.aim):
            return "reached"
        return "not reached" if self.floor is None else "floor reached, aim not"


@dataclasses.dataclass
class Row:
    part: str
    what: str
    value: float | None = None
    unit: str = ""
    limit: Limit = dataclasses.field(default_factory=Limit)
    notes: str = ""
    rounds: list = dataclasses.field(default_factory=list)

    @property
    def verdict(self):
        return "not measured" if self.value is None else self.limit.verdict(self.value)

    def cells(self):
        sign = ">= " if self.limit.up else "<= "
        bounds = ("" if bound is None else sign + number(bound)
                  for bound in (self.limit.floor, self.limit.aim))
        value = "" if self.value is None else number(self.value) + self.unit_text()
        return (self.part, self.what, value, *bounds, self.verdict, self.notes)

    def unit_text(self):
        return self.unit if self.unit in ("", "x", "%") else f" {self.unit}"


def row(part, what, rounds, limit=None, unit="x", notes=""):
    """The median of the rounds' values."""
    values = [float(value) for value in rounds]
    return Row(part, what, statistics.median(values), unit, limit or Limit(), notes, values)


def absent(part, what, why, limit=None):
    return Row(part, what, limit=limit or Limit(), notes=why)


def number(value):
    """Three digits that count, and no more of a large number than its whole part."""
    if abs(value) >= 100 or value == int(value):
        return f"{value:,.0f}"
    return f"{value:.2f}" if abs(value) >= 0.1 else f"{value:.2g}"


class Report:
    """The rows of one or several runs on one machine. faults: what makes figures worthless, as a callback
    that was answered 200 and is not in the books; each begins with its part."""

    def __init__(self, facts=None):
        self.facts = facts or {}
        self.rows = []
        self.faults = []

    def add(self, one):
        self.rows.append(one)
        return one

    def take(self, other):
        """Another run: a part that it has takes the place of an earlier one. Facts that differ are all said."""
        newer = {one.part for one in other.rows}
        self.rows = [one for one in self.rows if one.part not in newer] + other.rows
        self.faults = [fault for fault in self.faults if fault.partition(":")[0] not in newer] + other.faults
        versions = {**self.facts.get("versions", {}), **other.facts.get("versions", {})}
        for key, value in other.facts.items():
            if key == "versions":
                continue
            before = self.facts.get(key, value)
            self.facts[key] = before if value in str(before).split("; ") else f"{before}; {value}"
        self.facts["versions"] = versions

    def table(self):
        """For a terminal."""
        lines = [HEADS, *(one.cells() for one in self.rows)]
        widths = [max(len(line[i]) for line in lines) for i in range(len(HEADS) - 1)]
        text = ("  ".join([*(cell.ljust(width) for cell, width in zip(line, widths)), line[-1]]).rstrip()
                for line in lines)
        return "\n".join([*self.said(), *text, *(f"NOT PROVED: {fault}" for fault in self.faults)])

    def markdown(self):
        lines = [f"| {' | '.join(HEADS)} |", "| --- | --- | ---: | ---: | ---: | --- | --- |"]
        for one in self.rows:
            lines.append("| " + " | ".join(cell.replace("|", "\\|") for cell in one.cells()) + " |")
        faults = [f"- **Not proved**: {fault}" for fault in self.faults]
        said = [f"- {line}" for line in self.said()]
        return "\n".join([*said, "", *lines, *(["", *faults] if faults else [])]) + "\n"

    def said(self):
        """The machine and the versions, in sentences."""
        facts = dict(self.facts)
        versions = facts.pop("versions", {})
        lines = [f"{key.replace('_', ' ')}: {value}" for key, value in facts.items()]
        if versions:
            lines.append("versions: " + ", ".join(f"{name} {version}" for name, version in
                                                  sorted(versions.items())))
        return lines

    def json(self):
        rows = [{**dataclasses.asdict(one), "verdict": one.verdict} for one in self.rows]
        return json.dumps({"facts": self.facts, "rows": rows, "faults": self.faults}, indent=1) + "\n"

    @staticmethod
    def read(text):
        said = json.loads(text)
        report = Report(said["facts"])
        report.faults = said["faults"]
        for one in said["rows"]:
            del one["verdict"]
            report.add(Row(**{**one, "limit": Limit(**one["limit"])}))
        return report


def put_into(text, table):
    """A document with this table between its two marks."""
    before, first, rest = text.partition(MARKS[0])
    _, last, after = rest.partition(MARKS[1])
    if not first or not last:
        raise ValueError(f"the document has no lines {MARKS[0]} and {MARKS[1]}")
    return f"{before}{first}\n\n{table.strip()}\n\n{last}{after}"
