"""The benchmark's tables on invented numbers: medians, limits, what was not measured, what is written and read
again. And docs/PERFORMANCE.md says what each part is."""
import ast
import json
import pathlib
import re
import sys
import types

import pytest

TESTS = pathlib.Path(__file__).resolve().parents[1]
sys.path[:0] = [str(TESTS), str(TESTS / "fault")]

from bench import limits, offered, packages, part_flat, part_peers, part_retention, report  # noqa: E402
from bench.report import Limit, Report  # noqa: E402

import soak  # noqa: E402

BENCH = TESTS / "bench"
TEXT = (TESTS.parent / "docs" / "PERFORMANCE.md").read_text(encoding="utf-8")
PARTS = sorted(path.stem.removeprefix("part_") for path in BENCH.glob("part_*.py"))
LONGEST = 500


def invented():
    found = Report({"processors": "2 (a processor)", "versions": {"redis-server": "7.0", "wrk": "4.1"}})
    found.add(report.row("peers", "aldaba / webdis, 64 connections", [0.7, 0.9, 0.8, 5.0, 0.1],
                         Limit(0.8, 1.2), notes="45,300/s; fsync"))
    found.add(report.row("flat", "restart until ready", [12.34], Limit(10, up=False), "s"))
    found.add(report.row("idle", "processor | of the busiest", [0.03], Limit(1, up=False), "%"))
    found.add(report.absent("peers", "aldaba / nats", "no package", Limit(2)))
    found.add(report.row("peers", "aldaba", [41234.5], unit="/s"))
    return found


def test_example():
    lines = [re.split(r"  +", line) for line in invented().table().splitlines()]
    assert lines[0] == ["processors: 2 (a processor)"]
    assert lines[1] == ["versions: redis-server 7.0, wrk 4.1"]
    assert lines[3:] == [
        ["peers", "aldaba / webdis, 64 connections", "0.80x", ">= 0.80", ">= 1.20", "floor reached, aim not",
         "45,300/s; fsync"],
        ["flat", "restart until ready", "12.34 s", "<= 10", "not reached"],
        ["idle", "processor | of the busiest", "0.03%", "<= 1", "reached"],
        ["peers", "aldaba / nats", ">= 2", "not measured", "no package"],
        ["peers", "aldaba", "41,234 /s"]]


@pytest.mark.parametrize("limit,value,verdict", [
    (Limit(), 7, ""), (Limit(0.8, 1.2), 0.79, "not reached"), (Limit(0.8, 1.2), 0.8, "floor reached, aim not"),
    (Limit(0.8, 1.2), 1.19, "floor reached, aim not"), (Limit(0.8, 1.2), 1.2, "reached"),
    (Limit(4), 3.99, "not reached"), (Limit(4), 4, "reached"), (Limit(None, 0.7), 0.69, "not reached"),
    (Limit(None, 0.7), 0.7, "reached"), (Limit(2.0, up=False), 2.01, "not reached"),
    (Limit(2.0, up=False), 2.0, "reached"), (Limit(2.0, 1.0, up=False), 1.5, "floor reached, aim not")])
def test_verdicts(limit, value, verdict):
    assert limit.verdict(value) == verdict


@pytest.mark.parametrize("value,text", [
    (0, "0"), (5000000, "5,000,000"), (0.0123, "0.012"), (0.456, "0.46"), (1.2, "1.20"), (99.99, "99.99"),
    (123.4, "123"), (3, "3")])
def test_numbers(value, text):
    assert report.number(value) == text


def test_markdown_is_a_table():
    lines = invented().markdown().splitlines()
    rows = [line for line in lines if line.startswith("| ")]
    assert len(rows) == 2 + 5
    assert {len(re.split(r"(?<!\\)\|", row)) for row in rows} == {len(report.HEADS) + 2}


def test_what_is_written_is_read_again():
    found = invented()
    found.faults.append("books differ")
    assert Report.read(found.json()).json() == found.json()
    assert [row["verdict"] for row in json.loads(found.json())["rows"]] == [
        "floor reached, aim not", "not reached", "reached", "not measured", ""]
    assert "NOT PROVED: books differ" in found.table() and "books differ" in found.markdown()


def test_a_later_run_takes_the_place_of_an_earlier_one():
    whole, later = invented(), Report({"commit": "b", "load_before": "0.1", "versions": {"nginx": "1.22"}})
    whole.facts["commit"] = "a"
    whole.faults = ["flat: it broke off", "peers: books differ"]
    later.add(report.row("flat", "restart, another word", [9], Limit(10, up=False), "s"))
    for _ in range(2):
        whole.take(later)
    assert [row.verdict for row in whole.rows if row.part == "flat"] == ["reached"]
    assert len(whole.rows) == 5 and whole.faults == ["peers: books differ"]
    assert whole.facts == {"commit": "a; b", "load_before": "0.1", "processors": "2 (a processor)",
                           "versions": {"redis-server": "7.0", "wrk": "4.1", "nginx": "1.22"}}


def test_a_table_goes_between_its_marks():
    text = f"before\n{report.MARKS[0]}\n\nold\n\n{report.MARKS[1]}\nafter\n"
    once = report.put_into(text, "| new |")
    assert "old" not in once and once.startswith("before\n") and once.endswith("after\n")
    assert report.put_into(once, "| new |") == once
    with pytest.raises(ValueError):
        report.put_into("a document", "| new |")


@pytest.mark.parametrize("name,connections,floor,aim", [
    ("empty", 16, 0.35, 0.45), ("empty", 64, 0.45, 0.6), ("webdis", 16, 0.8, 1.2), ("webdis", 64, 0.8, 1.2),
    ("express", 64, 4, None), ("bullmq", 16, 6, None), ("flask", 64, 15, None), ("nginx", 16, None, None),
    ("empty", 7, None, None)])
def test_limits_of_peers(name, connections, floor, aim):
    limit = limits.of_peer(name, connections)
    assert (limit.floor, limit.aim) == (floor, aim)


class Invented:
    durable, versions = "none", {"invented": "1.0"}

    def __init__(self, name):
        self.name, self.title = name, f"the peer {name}"


def test_a_peer_that_cant_be_had_is_a_row_and_the_rest_goes_on(monkeypatch, capsys):
    def ready(name, _args):
        if name == "webdis":
            raise packages.Missing("package webdis can't be installed: no network")
        return Invented(name)

    monkeypatch.setattr(part_peers, "ready", ready)
    args = types.SimpleNamespace(peers=["empty", "webdis", "flask"], connections=[16, 64])
    found, versions = Report(), {}
    assert [peer.name for peer in part_peers.wake(args, found, versions)] == ["empty", "flask"]
    assert [(row.verdict, row.notes, row.limit.floor) for row in found.rows] == [
        ("not measured", "package webdis can't be installed: no network", 0.8)] * 2
    assert versions == {"invented": "1.0"} and "no network" in capsys.readouterr().out


def test_a_ratio_is_of_one_round_and_a_row_their_median():
    found = Report()
    part_peers.write(found, {"flask": Invented("flask")}, 64,
                     {"aldaba": [30, 10, 20], "flask": [1, 1, 4]})  # 30, 10, 5: not 20 / 1
    ours, flask = found.rows
    assert (ours.value, ours.verdict) == (20, "")
    assert (flask.value, flask.verdict, flask.rounds) == (10, "not reached", [30, 10, 5])


@pytest.mark.parametrize("requests,small,said", [(935, False, False), (936, False, True), (1000, True, False)])
def test_a_rate_that_callbacks_ran_out_of_is_said(requests, small, said):
    shot, args = types.SimpleNamespace(requests=requests), types.SimpleNamespace(small=small)
    assert bool(part_peers.used_up(args, "nginx", shot, 1000, 64)) == said


# ---- what is worked out of what was measured ----

def log(*lines):
    return [f"{start}\t200\t{took}" for start, took in lines]


@pytest.mark.parametrize("lines,rps,want", [
    (log((0, 500), (100000, 500), (200000, 500)), 10, [0.5, 0.5, 0.5]),
    # The second was due at 100 ms and could not leave before the first was answered, nor could the third.
    (log((0, 250000), (250010, 1000), (251020, 1000)), 10, [250, 151.01, 52.02]),
    # Both were due when h2load looked, at 0: the second waited for the first.
    (log((0, 3000), (3010, 1000)), 1000, [3, 3.01])])
def test_a_request_counts_from_when_it_was_due(lines, rps, want):
    assert [round(ms, 2) for _, ms in offered.delays(lines, rps)] == want


def test_other_answers_are_counted():
    others = offered.collections.Counter()
    assert len(offered.delays(["0\t200\t5", "10000\t503\t5", "20000\t-1\t5"], 100, others)) == 1
    assert others == {503: 1, -1: 1}


def test_percentiles_of_a_stretch_of_time():
    one = offered.Offered(100, 200)
    one.moments = [(us, us / 1000) for us in range(100)]
    assert (one.bad, one.p50_ms, one.p99_ms) == (100, 0.05, 0.099)
    assert one.at(0.5, 90) == 0.095 and one.at(0.5, 0, 10) == 0.005 and one.at(0.5, 200) is None
    one.warm_us = 50
    assert (one.answered, one.p50_ms, one.at(0.5, 0, 60)) == (100, 0.075, 0.055)


def test_growth_is_of_the_last_third():
    assert part_retention.growth([1, 2, 3, 10, 9, 8, 8, 10, 5]) == 1
    assert part_retention.growth([1, 2, 3, 4, 5, 6, 7, 8, 12]) == 2


def test_a_pool_gives_each_id_once():
    pool = part_flat.Pool()
    pool.add(100, 50)
    taken = pool.take(20) + pool.take(30)
    assert sorted(taken) == list(range(100, 150)) and taken != sorted(taken) and not pool.ids


# ---- the suite itself ----

def test_no_module_is_long():
    for path in (*BENCH.glob("*.py"), BENCH / "run"):
        assert len(path.read_text(encoding="utf-8").splitlines()) < LONGEST, path


def test_the_lock_file_names_no_registry():
    for name in ("package.json", "package-lock.json"):
        text = (BENCH / "peers" / name).read_text(encoding="utf-8")
        assert '"resolved"' not in text and "https://registry" not in text
    assert json.loads((BENCH / "peers" / "package.json").read_text())["dependencies"]["better-sqlite3"][:3] == "12."


@pytest.mark.parametrize("part", PARTS)
def test_the_document_tells_each_part(part):
    assert f"### `{part}`" in TEXT
    assert re.search(rf"\bpart_{part}\b", (BENCH / "run").read_text(encoding="utf-8"))


def test_the_document_has_a_place_for_the_table():
    assert report.put_into(TEXT, "| a table |").count("| a table |") == 1


def test_the_document_names_each_peer():
    tree = ast.parse((BENCH / "peer.py").read_text(encoding="utf-8"))
    titles = [node.value.elts[1].value for node in ast.walk(tree) if isinstance(node, ast.Assign)
              and isinstance(node.value, ast.Tuple) and len(node.value.elts) >= 2
              and isinstance(node.targets[0], ast.Tuple) and node.targets[0].elts[0].id == "name"
              and node.targets[0].elts[1].id == "title"]
    assert len(titles) == 8
    for title in titles:
        assert f"| {title} |" in TEXT, title


def soaked(**last):
    """Windows of a soak whose figures are all one, but in its last third."""
    flat = {"rss_kib": {"tracker": 100_000}, "fds": {"tracker": 50}, "threads": {"tracker": 6},
            "bytes": {"tracker.db": 100 << 20}, "p50_ms": 5.0, "p99_ms": 40.0}
    return [{"s": s, **flat, **(last if s > 700 else {})} for s in range(20, 1020, 20)]


def test_a_soak_that_is_flat():
    assert soak.verdict(soaked(), 60) == 0
    assert soak.verdict(soaked(p50_ms=5.5), 60) == 0


@pytest.mark.parametrize("last", [
    {"rss_kib": {"tracker": 115_000}}, {"fds": {"tracker": 60}}, {"threads": {"tracker": 10}},
    {"bytes": {"tracker.db": 130 << 20}}, {"p50_ms": 8.0}, {"p99_ms": 80.0}])
def test_a_soak_that_is_not(last):
    assert soak.verdict(soaked(**last), 60) == 1


def test_a_soak_that_is_too_short():
    assert soak.verdict(soaked()[:5], 60) == 1
