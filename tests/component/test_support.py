"""The tests' own tools: a checker that can't fail proves nothing: each of its words is provoked."""
import signal
import sys
import types

import pytest
from support import bus, oracle
from support.daemon import Daemon, Failed
from support.heard import Heard
from support.http import Client, status_of, whole
from support.ledger import Ledger
from support.settings import free_port, merge, to_yaml
from support.until import Late, stays, until

SOON_S = 10
PROGRAM = """
import signal, sys
signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGTERM})  # else it could come just before a pause
print('ready service=x public=123', file=sys.stderr, flush=True)
signal.sigwait({signal.SIGTERM})
sys.exit(7)
"""


def program(folder, text):
    return Daemon("x", [sys.executable, "-c", text], str(folder))


def test_example(tmp_path):
    daemon = program(tmp_path, PROGRAM).start()
    try:
        assert daemon.facts["public"] == "123"
        first = daemon.pid
        daemon.restart()
        assert daemon.pid != first and daemon.starts == 2
        daemon.pause()
        daemon.resume()
        assert daemon.stop() == 7
    finally:
        daemon.clean()


def test_daemon_that_never_gets_ready(tmp_path):
    with pytest.raises(Failed, match="ended with 3 before(.|\n)*the reason"):
        program(tmp_path, "import sys; print('the reason', file=sys.stderr); sys.exit(3)").start()
    silent = program(tmp_path, "import signal; signal.pause()").launch()
    try:
        with pytest.raises(Late):
            silent.until_ready(0.3)
        silent.kill9()
        assert silent.process.returncode == -signal.SIGKILL
    finally:
        silent.clean()


def test_no_port_is_given_twice():
    ports = [free_port() for _ in range(600)]  # by chance alone eight of them would meet another
    assert len(set(ports)) == len(ports)


def test_until_and_stays():
    numbers = iter(range(100))
    assert until(lambda: next(numbers) == 3, SOON_S, "never") is True
    with pytest.raises(Late, match="the reason"):
        until(lambda: False, 0.05, "the reason")
    with pytest.raises(AssertionError, match="it ended"):
        stays(lambda: next(numbers) < 8, SOON_S, "it ended")


def test_settings_as_yaml():
    base = {"a": {"b": "30s", "c": 1}, "d": "x"}
    value = merge(base, {"a": {"c": [True, "127.0.0.1"]}, "d": None})
    assert value == {"a": {"b": "30s", "c": [True, "127.0.0.1"]}}
    assert to_yaml(value) == "a:\n  b: 30s\n  c: [true, 127.0.0.1]"
    assert to_yaml({"u": "http://127.0.0.1:80/x", "e": "", "s": "a: b"}) == \
        'u: http://127.0.0.1:80/x\ne: ""\ns: "a: b"'


def test_messages_as_maps():
    frame = bus.pack("hello", sender="x", n=5)
    assert frame.startswith(b"\x84\xa1k\xa5hello\xa1v\x01")
    assert bus.unpack(frame) == {"k": "hello", "v": 1, "sender": "x", "n": 5}
    with pytest.raises(AssertionError):
        bus.unpack(b"\x81\xa1v\x01")


def test_raw_answers():
    answer = b"HTTP/1.1 100 Continue\r\n\r\nHTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nO"
    assert not whole(answer) and whole(answer + b"K")
    assert status_of(answer + b"K") == 200
    assert status_of(b"") is None
    with pytest.raises(OSError):
        Client(free_port()).get("/")


def play(callbacks, events, received=None, tasks=("7",), audit=0):
    """A house at rest: provider task `7` is aldaba's task `t7`. callbacks: (answer, status)."""
    calls = [{"answer": answer, "status": status} for answer, status in callbacks]
    received = len(calls) if received is None else received
    feed = [{"task": "t7", "provider_id": "7", "state": "done", "source": "callback", **event}
            for event in events]
    house = types.SimpleNamespace(
        provider_ledger=lambda: {"7": {"answer": "A", "callbacks": calls}},
        events=lambda: feed,
        books=lambda: {"arrivals": {"received": received, "applied": received}},
        aldaba=lambda *_: types.SimpleNamespace(returncode=audit, stdout="", stderr=""))
    ledger = Ledger()
    for provider_id in tasks:
        ledger.registered(provider_id, f"t{provider_id}")
    return ledger.check(house)


def test_ledger_is_content():
    verdict = play([("A", 200), ("A", 200), ("A", None)], [{"result": b"A"}]).demand()
    assert (verdict.attempt, verdict.acknowledged, verdict.ok) == (3, 2, 2)
    assert play([("A", 503)], [{"result": b"A", "source": "poll"}]).demand().recovered == 1


PROBLEMS = {
    "lost": play([("A", 200)], []).lost,
    "unended": play([("A", None)], []).unended,
    "duplicated": play([("A", 200)], [{"result": b"A"}, {"result": b"A"}]).duplicated,
    "unexpected answer": play([("A", 200)], [{"result": b"B"}]).unexpected,
    "unexpected code": play([("A", 200)], [{"state": "failed", "code": "X"}]).unexpected,
    "unexpected task": play([("A", 200)], [{"result": b"A", "task": "t8"}]).unexpected,
    "unexpected id": play([("A", 200)], [{"result": b"A", "provider_id": "8"}]).unexpected,
    "too few received": play([("A", 200)], [{"result": b"A"}], received=0).books,
    "too many received": play([("A", 200)], [{"result": b"A"}], received=2).books,
    "audit fails": play([("A", 200)], [{"result": b"A"}], audit=1).books,
}


@pytest.mark.parametrize("name", PROBLEMS)
def test_ledger_finds(name):
    assert len(PROBLEMS[name]) == 1
    assert play([("A", 200)], [{"result": b"A"}]).problems() == {}


def test_ledger_demands():
    with pytest.raises(AssertionError, match="lost=1"):
        play([("A", 200)], []).demand()


def test_a_provider_id_is_one_task():
    ledger = Ledger()
    ledger.registered("7", "t7")
    ledger.registered("7", "t7")
    with pytest.raises(AssertionError):
        ledger.registered("7", "t8")


@pytest.mark.parametrize("what, fault", [
    ("descriptors", {"fds": 100}), ("threads", {"threads": 40}), ("grew", {"rss": 1 << 20})])
def test_the_oracle_finds(what, fault, monkeypatch):
    """What a process keeps when all is over. What is lost or doubled the ledger finds, see above."""
    monkeypatch.setattr(oracle, "REST_S", 0)

    def demand(rss=5000, fds=20, threads=8):
        one = oracle.Oracle.__new__(oracle.Oracle)
        one.before = {"tracker": (5000, 17, 8)}
        one.house = types.SimpleNamespace(daemons={"tracker": types.SimpleNamespace(
            name="tracker", rss_kib=lambda: rss, fds=lambda: fds, connections=lambda states: 3,
            threads=lambda: threads)})
        one.demand_rest()

    demand()
    with pytest.raises(AssertionError, match=what):
        demand(**fault)


def heard(tmp_path, *instances):
    """What these logs say: a list of lines of each instance."""
    for number, lines in enumerate(instances):
        (tmp_path / f"crowd{number}.events").write_text("".join(f"{line}\n" for line in lines))
    return Heard(types.SimpleNamespace(folder=str(tmp_path)), "crowd", len(instances))


def test_a_consumer_may_read_late_what_was_on_its_way(tmp_path):
    logs = ["got 100 0 7 0 90", "ack 300 0 7"], ["got 310 0 7 1 290"]
    assert heard(tmp_path, *logs).demand([(95, "tracker")], ordered=False) == 1
    assert heard(tmp_path, *logs).demand([], ordered=False, troubles=[(10, 95, "tracker")]) == 1
    logs = ["got 100 0 7 1 90", "ack 300 0 7"], ["got 120 0 7 0 80"]  # the first to be sent, the last to be read
    assert heard(tmp_path, *logs).demand([(95, "tracker")], ordered=False) == 1


@pytest.mark.parametrize("again, strikes, says", [
    ("got 310 0 7 1 305", [(95, "tracker")], "asked after its ack"),
    ("got 310 0 7 1 290", [(80, "tracker"), (200, "crowd1")], "nobody was struck"),
    ("got 310 0 7 0 290", [(95, "tracker")], "does not say so"),
])
def test_what_a_consumer_must_not_hear(tmp_path, again, strikes, says):
    with pytest.raises(AssertionError, match=says):
        heard(tmp_path, ["got 100 0 7 0 90", "ack 300 0 7"], [again]).demand(strikes, ordered=False)
