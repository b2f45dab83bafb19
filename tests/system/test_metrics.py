"""/metrics of running services: sound by promtool, as docs/OPERATIONS.md lists it, without ids, and with all
that the alert rules and the dashboard look at. And the gauges that alerts need say what is so."""
import base64
import json
import os
import pathlib
import re
import time

import pytest
import yaml
from support import metrics, promtool
from support.disk import SmallDisk, may_mount
from support.house import House
from support.settings import shop_profile
from support.until import until

ROOT = pathlib.Path(__file__).resolve().parents[2]
FOLDER = ROOT / "services/deploy/prometheus"
SOON_S = 15
SINK_SECRET = "whsec_" + base64.b64encode(b"a secret for the test of metrics.").decode()
SERVICES = {"gateway", "tracker", "dlq", "poller"}
OURS = {"svc", "instance", "le"}


@pytest.fixture(scope="module", name="house")
def a_house():
    """One that has done a bit of everything."""
    with House(pollers=2, settings={"dlq": {"first_after": "1h", "max_after": "1h"}}) as one:
        one.start_sandbox()
        one.settings["sinks"] = {"nowhere": {"url": one.provider.url + "/_sandbox/nowhere",
                                             "secret": {"env": "ALD_TEST_SINK"}}}
        one.settings["providers"] = {"shop": shop_profile(one.provider.port), "sandbox": {
            "callback": {"parked_for": "100ms"}}}
        one.write_settings()
        for daemon in one.daemons.values():
            daemon.env["ALD_TEST_SINK"] = SINK_SECRET
        one.start_daemons()
        one.ended(one.post("/v1/tasks", {"provider": "shop", "params": {"method": "post"}})["id"])
        for provider_id in one.submit(3):
            one.ended(one.register(provider_id)["id"])
        assert one.public.get("/callback/sandbox", id="nobody", code="abc").status == 200
        until(one.dead_letters, SOON_S, "no letter")
        one.ended(one.register(one.submit(1, fate="drop")[0])["id"])
        yield one


@pytest.fixture(scope="module", name="canary")
def a_canary(house):
    """What a canary tells Prometheus."""
    path = os.path.join(house.folder, "canary.prom")
    assert house.aldaba("canary", "sandbox", "code=alive", "--textfile", path).returncode == 0
    with open(path, encoding="utf-8") as file:
        return file.read()


@pytest.fixture(name="page")
def a_page(house, canary):
    """All that there is to be scraped."""
    answer = house.private.get("/metrics")
    assert answer.headers["content-type"] == "text/plain; version=0.0.4"
    return answer.text + canary


def value(house, series):
    """The number of a series; of several the sum."""
    _, samples = metrics.of_scrape(house.private.get("/metrics").text)
    name, _, inside = series.partition("{")
    wanted = dict(re.findall(r'(\w+)="([^"]*)"', inside))
    found = [number for one, labels, number in samples
             if one == name and wanted.items() <= labels.items()]
    assert found, f"{series} is not there"
    return sum(found)


def test_example(house):
    assert value(house, 'aldaba_gateway_callbacks_total{result="answered"}') >= 4


def test_the_page_is_sound(page):
    done = promtool.run("check", "metrics", text=page)
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")


def test_the_page_is_as_documented(page):
    found, samples = metrics.of_scrape(page)
    documented = metrics.of_document()
    assert set(found) == set(documented)
    kinds = {name: metric.kind for name, metric in found.items()}
    assert kinds == {name: metric.kind for name, metric in documented.items()}
    assert {name: metric.meaning for name, metric in found.items()} == {
        name: metric.meaning for name, metric in documented.items()}
    for series, labels, _ in samples:
        metric = documented[metrics.family(series, kinds)]
        assert set(labels) - OURS == set(metric.labels), series


def test_no_label_is_an_id(house, page):
    _, samples = metrics.of_scrape(page)
    known = {task["id"] for task in house.tasks()} | {task["provider_id"] for task in house.tasks()}
    known |= {letter["id"] for letter in house.dead_letters()}
    said = {text for _, labels, _ in samples for name, text in labels.items() if name != "le"}
    assert not said & known
    assert not [text for text in said if re.fullmatch(r"\d{5,}|[0-9A-HJKMNP-TV-Z]{26}", text)]


def test_every_service_says_who_it_is(house, page):
    _, samples = metrics.of_scrape(page)
    who = {labels["svc"]: labels for name, labels, _ in samples if name == "aldaba_build_info"}
    assert set(who) == SERVICES
    version = house.aldaba("--version").stdout.split()[-1]
    assert {labels["version"] for labels in who.values()} == {version}
    instances = {labels["instance"] for name, labels, _ in samples if name == "aldaba_ready"}
    assert instances == {"gateway", "tracker", "dlq", "poller-p1", "poller-p2"}
    assert {number for name, _, number in samples if name == "aldaba_ready"} == {1.0}
    assert all(number > 0 for name, _, number in samples if name.startswith("aldaba_disk_"))


def test_what_the_rules_and_the_dashboard_look_at_is_there(page):
    found, _ = metrics.of_scrape(page)
    series = set(found) | {name + end for name, metric in found.items() if metric.kind == "histogram"
                           for end in ("_bucket", "_sum", "_count")}
    rules = yaml.safe_load((FOLDER / "aldaba.rules.yaml").read_text(encoding="utf-8"))
    expressions = [rule["expr"] for group in rules["groups"] for rule in group["rules"]]
    board = json.loads((FOLDER / "grafana.json").read_text(encoding="utf-8"))
    drawn = [target["expr"] for panel in board["panels"] for target in panel.get("targets", [])]
    drawn += [one["query"]["query"] for one in board["templating"]["list"] if one["type"] == "query"]
    assert len(expressions) > 15 and len(drawn) > 20
    for expression in expressions + drawn:
        named = set(re.findall(r"\baldaba_[a-z_]+", expression))
        assert named or "up{" in expression, expression
        assert named <= series, (expression, named - series)


def test_the_words_of_selectors_come(page):
    """A selector with a label's value that never comes would look at nothing for ever. Sources are
    those of docs/PROTOCOL.md, which is held against the tables: not all of them come here."""
    _, samples = metrics.of_scrape(page)
    seen = {(name, text) for _, labels, _ in samples for name, text in labels.items()}
    text = (FOLDER / "aldaba.rules.yaml").read_text() + (FOLDER / "grafana.json").read_text()
    told = {(name, word) for name, words in re.findall(r'(\w+)=~?\\?"([a-z._|]+)\\?"', text)
            for word in words.split("|") if name != "job"}
    protocol = (ROOT / "docs/PROTOCOL.md").read_text(encoding="utf-8")
    section = protocol.partition("### Words: sources\n")[2].partition("\n#")[0]
    seen |= {("source", word) for word in re.findall(r"^\| `([a-z]+)` \|", section, re.MULTILINE)}
    assert len(told) > 10 and not told - seen, told - seen


def test_gauges_of_alerts(house):
    """What they say is what the API says."""
    assert value(house, "aldaba_books_balanced") == 1
    open_one = house.reserve()
    until(lambda: value(house, "aldaba_tasks_oldest_age_seconds") > 0.5, SOON_S, "nothing is owed")
    age_s = time.time() - open_one["created_ms"] / 1000
    assert abs(value(house, "aldaba_tasks_oldest_age_seconds") - age_s) < 2
    before = value(house, 'aldaba_task_seconds_count{source="callback"}')
    provider_id = house.submit(1)[0]
    house.ended(house.register(provider_id)["id"])
    assert value(house, 'aldaba_task_seconds_count{source="callback"}') == before + 1
    assert value(house, 'aldaba_task_seconds_count{source="poll"}') >= 1
    assert value(house, 'aldaba_gateway_stored_total{provider="sandbox"}') >= 5
    assert value(house, 'aldaba_submit_seconds_count{svc="poller"}') == 1
    house.private.request("POST", "/v1/providers/sandbox/pause")
    assert value(house, 'aldaba_provider_paused{provider="sandbox"}') == 1
    waits = house.register(house.submit(1, fate="drop")[0])
    until(lambda: value(house, 'aldaba_provider_overdue_seconds{provider="sandbox"}') > 0.2, SOON_S,
          "a task that waits for its poll is not told")
    house.private.request("POST", "/v1/providers/sandbox/resume")
    house.ended(waits["id"])
    until(lambda: value(house, 'aldaba_provider_overdue_seconds{provider="sandbox"}') == 0, SOON_S,
          "nothing waits any more")
    house.cancel(open_one["id"])


@pytest.mark.skipif(not may_mount(), reason="needs root to mount a small tmpfs")
def test_how_full_the_disk_is():
    """The tracker's own disk, not that of the others."""
    with House(pollers=0) as one:
        disk = SmallDisk(f"{one.folder}/small", 32 * 1024)
        one.per_service["tracker"] = {"store": {"data": disk.path}}
        one.add("tracker", "tracker")
        with disk:
            one.start()
            assert value(one, 'aldaba_disk_size_bytes{svc="tracker"}') == 32 << 20
            assert value(one, 'aldaba_disk_size_bytes{svc="dlq"}') > 32 << 20
            free_kib = value(one, 'aldaba_disk_free_bytes{svc="tracker"}') / 1024
            assert abs(free_kib - disk.left_kib()) < 512
            disk.fill()
            assert value(one, 'aldaba_disk_free_bytes{svc="tracker"}') < 64 << 10


def test_a_service_that_is_gone_is_missing(house):
    house.dlq.kill9()
    _, samples = metrics.of_scrape(house.private.get("/metrics").text)
    assert {labels["svc"] for _, labels, _ in samples} == SERVICES - {"dlq"}
    began = value(house, 'aldaba_start_time_seconds{svc="tracker"}')
    house.tracker.restart()
    house.revive()
    house.until_serving()
    assert value(house, 'aldaba_start_time_seconds{svc="tracker"}') > began
