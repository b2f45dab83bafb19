"""Every recorded message means to `aldaba provider try` what it must, and a bad description of a provider is refused
with everything that is wrong in it."""

import json
import os
import pathlib
import subprocess

import pytest

HERE = pathlib.Path(__file__).parent
ALDABA = os.environ["ALDABA_CTL"]
SAMPLES = [json.loads(line) for line in (HERE / "provider-samples.jsonl").read_text(encoding="utf-8").splitlines()]
BUNDLED = sorted(path.stem for path in (HERE.parents[1] / "proto" / "providers").glob("*.yaml"))


def aldaba(*words, text=""):
    return subprocess.run([ALDABA, *words], input=text, capture_output=True, text=True, timeout=60, check=False)


def tried(profile, stage, message):
    ran = aldaba("provider", "try", profile, stage, text=json.dumps(message, ensure_ascii=False))
    assert ran.returncode == 0, ran.stderr
    assert ran.stdout.count("\n") == 1
    return json.loads(ran.stdout)


def test_example():
    out = tried("twocaptcha-v1", "callback", {"body": "id=51555263943&code=ANSWER"})
    assert out == {"then": "done", "id": "51555263943", "result": "ANSWER", "rule": "callback.2"}


@pytest.mark.parametrize("sample", SAMPLES, ids=lambda sample: f"{sample['profile']}-{sample['why']}")
def test_sample(sample):
    out = tried(sample["profile"], sample["stage"], sample["msg"])
    assert {key: out.get(key) for key in sample["expect"]} == sample["expect"], out


def test_samples_are_of_all_bundled():
    assert {sample["profile"] for sample in SAMPLES} == set(BUNDLED)


def test_bundled_are_listed_and_good():
    listed = [json.loads(line) for line in aldaba("provider", "ls", "--json").stdout.splitlines()]
    assert listed == [{"profile": name} for name in BUNDLED]
    files = [str(path) for path in sorted((HERE.parents[1] / "proto" / "providers").glob("*.yaml"))]
    assert aldaba("provider", "check", *files).returncode == 0


@pytest.mark.parametrize("content, said", [
    (None, "There is no such file."), ("a: [", "This is not well-formed YAML"),
    ("a: *x\na: 1\n", "There is no &x before the alias *x.")])
def test_a_description_that_can_not_be_read(tmp_path, content, said):
    path = tmp_path / "x.yaml"
    if content is not None:
        path.write_text(content, encoding="utf-8")
    for words in (("check",), ("try",)):
        ran = aldaba("provider", *words, str(path), *(("poll",) if words == ("try",) else ()))
        assert ran.returncode == 78 and said in ran.stderr and "null" not in ran.stderr, ran
        assert all(line.startswith((str(path), "aldaba: ")) for line in ran.stderr.splitlines()), ran


def test_providers_of_the_settings_are_listed(tmp_path):
    (tmp_path / "providers.d").mkdir()
    (tmp_path / "providers.d" / "b.yaml").write_text(WORDS, encoding="utf-8")
    settings = tmp_path / "a.yaml"
    settings.write_text("providers:\n  shop: { extends: replicate }\n  plain: { family: inphp, poll: none }\n",
                        encoding="utf-8")
    listed = aldaba("provider", "ls", "--json", "--config", str(settings)).stdout.splitlines()
    assert list(map(json.loads, listed)) == [
        {"provider": "shop", "extends": "replicate", "file": str(settings), "line": 2},
        {"provider": "plain", "family": "inphp", "file": str(settings), "line": 3},
        {"provider": "words", "file": str(tmp_path / "providers.d" / "b.yaml"), "line": 1},
        *({"profile": name} for name in BUNDLED)]
    rows = [line.split() for line in aldaba("provider", "ls", "--config", str(settings)).stdout.splitlines()]
    assert rows[1][:4] == ["shop", "provider", "extends", "replicate"] and rows[1][4].endswith("a.yaml:2")
    assert rows[3][:6] == ["words", "provider", "rules", "of", "its", "own"]
    assert [row[:2] for row in rows[4:]] == [[name, "profile"] for name in BUNDLED]
    names = aldaba("provider", "ls", "-q", "--config", str(settings)).stdout
    assert names.split() == ["shop", "plain", "words"]
    settings.write_text("providers: 1\n", encoding="utf-8")
    wrong = aldaba("provider", "ls", "--config", str(settings))
    assert wrong.returncode == 78 and "a.yaml:1:1: " in wrong.stderr and "replicate" in wrong.stdout


WORDS = """profile: words
id: {}
poll:
  request: { method: GET, url: "https://h.example/${id}" }
  schedule: { every: 5s, give_up_after: 5m }
  rules:
    - { when: [ { json: /result, eq: ready } ], then: done, result: { json: /answer } }
    - { when: [ { json: /result, in: [aborted, refused] } ], then: failed, code: { json: /result } }
    - { when: [ { json: /status, eq: error } ], then: failed, code: { json: /status }, detail: { json: /error } }
callback: none
codes: {}
"""


@pytest.mark.parametrize("body, then", [
    ('{"result":"aborted"}', "failed"),  # a word of the profile's own ends the task
    ('{"id":"t1","status":"error","error":"no such file"}', "failed"),
    ('{"result":"slept"}', "unknown"),  # and one that it does not know does not
    ('{"result":null}', "unknown"),
])
def test_words_of_an_end_are_the_profiles_own(tmp_path, body, then):
    path = tmp_path / "words.yaml"
    path.write_text(WORDS, encoding="utf-8")
    out = tried(str(path), "poll", {"body": body})
    assert out["then"] == then and "result" not in out, out


BAD = r"""profile: bad
extends: azure-lro
id: { max_len: 40, patern: "^x$" }
secrets: { key: { env: K }, other: literal }
submit:
  request: { method: POST, url: "ftp://h.example/", encode: json, headers: { A: "${secret.nobody}" } }
  params: { a: "${nothing}" }
  rules: [ { when: [ { json: status, eq: 1 } ], then: done, result: { json: /a~2 } } ]
poll:
  schedule: { first_after: soon, give_up_after: 6h }
  rules:
    - { when: [ { text_regex: "(a" } ], then: pendin }
    - { when: [ { http: 2x } ], then: code, code: { text: all }, class: perm }
fetch: { request: { url: "https://h.example/" }, rules: [ { when: [], then: done } ] }
callback: { id: { json: /id, form: id }, rules: [], trust: token, body: xml }
codes: { A: { class: wrong }, B: { class: lost, wait: 5 } }
"""

WANT = {
    (3, 20): "patern", (4, 29): "secret", (6, 28): "url must begin", (6, 78): "not declared", (7, 13): "${nothing}",
    (8, 24): "JSON pointer", (8, 71): "JSON pointer", (10, 15): "first_after", (12, 19): "pattern", (12, 41): "then",
    (13, 19): "status", (13, 66): "class", (14, 59): "result", (15, 30): "one place", (15, 53): "url_token",
    (15, 67): "body", (16, 15): "class", (16, 49): "wait",
}


def test_all_errors_at_once(tmp_path):
    path = tmp_path / "bad.yaml"
    path.write_text(BAD, encoding="utf-8")
    ran = aldaba("provider", "check", str(path))
    assert ran.returncode == 78 and ran.stdout == ""
    lines = [line for line in ran.stderr.splitlines() if line.startswith(str(path))]
    got = {tuple(int(part) for part in line.removeprefix(str(path) + ":").split(":")[:2]): line for line in lines}
    missing = {place: word for place, word in WANT.items() if word not in got.get(place, "")}
    assert not missing, ran.stderr
    assert len(lines) == len(WANT), ran.stderr


def test_bad_use(tmp_path):
    assert aldaba("provider", "try", "fal", "nowhere", text="{}").returncode == 64
    assert aldaba("provider", "try", "fal", "poll", text="[]").returncode == 64
    for wrong, word in (('{"status": 200}', "status"), ('{"body": {"a": 1}}', "body")):
        ran = aldaba("provider", "try", "fal", "poll", text=wrong)
        assert ran.returncode == 64 and word in ran.stderr, ran
    assert aldaba("provider", "try", str(tmp_path / "none.yaml"), "poll", text="{}").returncode == 78


OWN = """
profile: own
secrets: { key: { file: /nowhere } }
submit: { request: { method: POST, url: "https://h.example/jobs" }, rules: [] }
poll: none
recover: { on_stale: alert }
callback:
  id: { header: X-Job }
  rules:
    - { when: [ { header: x-state, ieq: Ready }, { json: /n, is: number } ], then: done, result: { json: /n } }
  auth: { url_token: path }
"""


def test_a_service_of_ones_own(tmp_path):
    path = tmp_path / "own.yaml"
    path.write_text(OWN, encoding="utf-8")
    message = {"headers": {"x-job": "j1", "X-STATE": "READY"}, "body": '{"n": 0.00085000}'}
    assert tried(str(path), "callback", message)["result"] == "0.00085000"
    message["body"] = '{"n": "1"}'
    assert tried(str(path), "callback", message) == {"then": "unknown", "id": "j1", "rule": "no-rule"}


def test_an_account_is_not_stopped_by_a_callback():
    out = tried("twocaptcha-v1", "callback", {"body": "id=1&code=ERROR_ZERO_BALANCE"})
    assert out["then"] == "hint" and "wait" not in out


RETRY = [("7", None, "7s"), ("Sun, 06 Nov 1994 08:50:07 GMT", "Sun, 06 Nov 1994 08:49:37 GMT", "30s"),
         ("Sun, 06 Nov 1994 08:50:07 GMT", None, None), ("soon", None, None), ("9999999999", None, "86400s")]


@pytest.mark.parametrize("after,date,want", RETRY)
def test_retry_after(after, date, want):
    headers = {"Retry-After": after} | ({"Date": date} if date else {})
    assert tried("replicate", "poll", {"http": 429, "headers": headers, "body": "{}"}).get("wait") == want
