"""docs/PROTOCOL.md says what the C tables say: each message with its fields, each closed list of
words. And its examples of a subscriber and of a durable consumer run as they stand there."""
import collections
import json
import os
import pathlib
import re
import subprocess
import sys
import threading

import msgpack
import pytest
import zmq

TOP = pathlib.Path(__file__).resolve().parents[2]
sys.path.insert(0, str(TOP / "tests"))
from support import readers  # noqa: E402
from support.until import until  # noqa: E402

PROTOCOL = (TOP / "docs" / "PROTOCOL.md").read_text(encoding="utf-8")
VECTORS = TOP / "proto" / "vectors"
WAIT_MS = 20000


def tables():
    """What dump_schemas prints: ({(kind, version): {key: facts}}, {list: words}, facts)."""
    schemas, words, facts = collections.defaultdict(dict), collections.defaultdict(list), {}
    text = subprocess.run([os.environ["ALDABA_DUMP"]], check=True, capture_output=True, text=True)
    for row in map(json.loads, text.stdout.splitlines()):
        if "kind" in row:
            name = (row.pop("kind"), row.pop("version"))
            schemas[name][row.pop("key")] = row
        elif "list" in row:
            words[row["list"]].append(row["word"])
        else:
            facts.update(row)
    return schemas, words, facts


SCHEMAS, WORDS, FACTS = tables()


def sections(heading):
    """{match of the heading's group(s): text down to the next heading}"""
    found = {}
    for match in re.finditer(heading, PROTOCOL, re.MULTILINE):
        rest = PROTOCOL[match.end():]
        end = re.search(r"^#{1,4} ", rest, re.MULTILINE)
        name = match.groups() if len(match.groups()) > 1 else match.group(1)
        assert name not in found, f"two sections about {name}"
        found[name] = rest[:end.start()] if end else rest
    return found


def rows(section):
    """The cells of a section's first table, without its head."""
    lines = [line for line in section.splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split("|")] for line in lines[2:]]


MESSAGES = {(kind, int(version)): text for (kind, version), text
            in sections(r"^#### `([a-z.]+)` (\d+)$").items()}
LISTS = sections(r"^### Words: ([a-z ]+)$")


def test_every_message_is_described_and_no_other():
    assert set(MESSAGES) == set(SCHEMAS)


@pytest.mark.parametrize("message", SCHEMAS, ids=lambda message: message[0])
def test_fields(message):
    said = {}
    for key, kind, limit, required, what in rows(MESSAGES[message]):
        assert what, f"{key} is not explained"
        said[key.strip("`")] = {"type": kind, "limit": int(limit.replace(",", "") or 0),
                                "required": {"yes": True, "": False}[required]}
    assert said == SCHEMAS[message]


@pytest.mark.parametrize("name", WORDS)
def test_words(name):
    assert [row[0].strip("`") for row in rows(LISTS[name])] == WORDS[name]
    assert all(row[1] for row in rows(LISTS[name]))


def test_no_list_of_words_that_the_code_does_not_have():
    assert set(LISTS) == set(WORDS)


def test_length_of_a_token():
    assert f"{FACTS['token']} characters of base64url" in PROTOCOL


def test_links_lead_somewhere():
    names = {re.sub(r"[^a-z0-9 -]", "", title.lower()).replace(" ", "-")
             for title in re.findall(r"^#+ (.+)$", PROTOCOL, re.MULTILINE)}
    assert set(re.findall(r"\]\(#([^)]+)\)", PROTOCOL)) <= names


def example():
    return re.search(r"```python\n(.*?)```", PROTOCOL, re.DOTALL).group(1)


def tracker(router, heard):
    """Answers two fetches: by a page with one golden event, then by an end."""
    event = bytes.fromhex(json.loads((VECTORS / "event.v1.json").read_text())["hex"])
    for page in ([event], []):
        if not router.poll(WAIT_MS):
            return
        who, frame = router.recv_multipart()
        ask = msgpack.unpackb(frame)
        heard.append(ask)
        head = {"k": "events", "v": 1, "req": ask["req"], "rc": "ok" if page else "busy",
                "position": "0:19", "head": "0:19"}
        late = {**head, "req": ask["req"] + 1000}
        router.send_multipart([who, msgpack.packb(late)])
        router.send_multipart([who, msgpack.packb(head), *page])


def test_the_subscriber_runs(tmp_path):
    router = zmq.Context.instance().socket(zmq.ROUTER)
    router.linger = 0
    router.bind(f"ipc://{tmp_path}/consume")
    heard = []
    peer = threading.Thread(target=tracker, args=(router, heard))
    peer.start()
    ran = subprocess.run([sys.executable, "-c", example(), str(tmp_path), "0:17"], timeout=30,
                         capture_output=True, text=True)
    peer.join()
    router.close()
    assert [ask["after"] for ask in heard] == ["0:17", "0:19"], ran.stderr
    assert [(ask["k"], ask["v"]) for ask in heard] == [("fetch", 1)] * 2
    event = json.loads((VECTORS / "event.v1.json").read_text())["fields"]
    assert ran.stdout.startswith(f"{event['task']} {event['state']} ")
    assert len(ran.stdout.splitlines()) == 1
    assert "busy" in ran.stderr and ran.returncode == 1


def test_the_durable_consumer_runs(tmp_path):
    """Its first answer is lost and it is told once to wait; it settles what it printed."""
    script = re.findall(r"```python\n(.*?)```", PROTOCOL, re.DOTALL)[1]
    with readers.Readers(tmp_path) as tracker:
        for number in range(250):
            tracker.publish(result=b"r%d" % number)
        lost = []
        tracker.lose = lambda kind, ask: not lost and not lost.append(ask)
        tracker.busy = 1
        with subprocess.Popen([sys.executable, "-c", script, str(tmp_path), "books"],
                              stdout=subprocess.PIPE, text=True) as ran:
            try:
                until(lambda: "books" in tracker.consumers and len(
                    tracker.consumers["books"].settled) == 250, 60, "it did not settle all")
            finally:
                ran.kill()
            lines = ran.stdout.read().splitlines()
    assert lines == [f"{1001 + number} done b'r{number}'" for number in range(250)] and lost
