"""What was found by throwing things at a whole aldaba: each of these once did harm."""
import os
import re
import socket
from concurrent.futures import ThreadPoolExecutor

import pytest
from support.house import House
from support.until import until

SOON_S = 10

DEEP = {"objects": b'{"a":' * 2047,
        "arrays": b"[" * 2047,
        "a whole one": b'{"params":' * 2000 + b"1" + b"}" * 2000,
        "endless": b"[" * 500_000}


@pytest.fixture(scope="module")
def house():
    with House() as one:
        yield one.start()


def test_example(house):
    """JSON of 12 KiB, all of it brackets, overran the stack of the thread that read it."""
    answer = house.private.request("POST", "/v1/tasks", b'{"params":' + b"[" * 12_000, {})
    assert (answer.status, "brackets" in answer.json()["detail"]) == (400, True)
    assert house.gateway.alive(), house.gateway.tail()


@pytest.mark.parametrize("name", DEEP)
@pytest.mark.parametrize("method, path", [
    ("POST", "/v1/tasks"), ("POST", "/v1/tasks/1/cancel"), ("POST", "/v1/tasks/1/attach"),
    ("POST", "/v1/dead-letters/1/replay"), ("DELETE", "/v1/dead-letters/1"),
    ("POST", "/v1/backup")])
def test_deep_json_is_refused(house, method, path, name):
    answer = house.private.request(method, path, DEEP[name], {})
    assert 400 <= answer.status < 500, answer
    assert house.gateway.alive(), house.gateway.tail()


@pytest.mark.parametrize("line", [
    b"GET /callback?id=1&code=X HTTP/1.0\r\nSet-Cookie: a=b", b"GET / x\r\nfoo", b"GET / HTTP/9.9",
    b"G\x01T / HTTP/1.1", b"GET", b"GET /" + b"a" * 400_000])
@pytest.mark.parametrize("door", ["public", "private"])
def test_a_refusal_repeats_nothing(house, door, line):
    """What can't be read at all is answered by words of our own."""
    answer = getattr(house, door).raw(line + b"\r\nHost: 127.0.0.1\r\n\r\n", timeout_s=3)
    assert not answer or answer.startswith(b"HTTP/1.1 "), answer[:200]
    assert b"foo" not in answer and b"Cookie" not in answer and b"9.9" not in answer, answer[:200]


@pytest.mark.parametrize("count", [61, 62, 63, 64, 100, 1000])
@pytest.mark.parametrize("hidden", ["length", "chunks"])
def test_no_header_hides_behind_others(house, count, hidden):
    """The 65th header was not seen. If it was the length of the body, the body was taken for the
    next request, which a proxy in front had never looked at."""
    inner = b"GET /callback/nobody HTTP/1.1\r\nHost: x\r\n\r\n"
    lines = b"".join(b"X-%d: y\r\n" % number for number in range(count))
    framing, body = b"Content-Length: %d" % len(inner), inner
    if hidden == "chunks":
        framing, body = b"Transfer-Encoding: chunked", b"%x\r\n%s\r\n0\r\n\r\n" % (len(inner), inner)
    request = b"POST /callback?id=1&code=X HTTP/1.1\r\nHost: x\r\n" + lines + framing + b"\r\n\r\n"
    with socket.create_connection(("127.0.0.1", house.public.port), timeout=SOON_S) as peer:
        peer.sendall(request + body + b"GET /last HTTP/1.1\r\nHost: x\r\nConnection: close\r\n\r\n")
        answer = b""
        while chunk := peer.recv(4096):
            answer += chunk
    assert re.findall(rb"HTTP/1.1 (\d+)", answer) in ([b"200", b"404"], [b"400"]), answer


def sanitized(daemon):
    with open(f"/proc/{daemon.pid}/maps", encoding="utf-8") as maps:
        return "libasan" in maps.read()


def test_memory_of_large_bodies_is_given_back():
    """Buffers of all sizes up to some MiB on many threads: what was freed stayed with the process,
    more with each hundred requests."""
    with House(pollers=0) as house:
        house.start()
        if sanitized(house.gateway):
            pytest.skip("the sanitizer's allocator is another one")

        def knock(number):
            body = b"id=%d&code=" % number + b"c" * (100_000 + number * 37_813 % 2_900_000)
            form = {"Content-Type": "application/x-www-form-urlencoded"}
            return house.public.request("POST", "/callback", body, form).status

        with ThreadPoolExecutor(50) as threads:
            assert set(threads.map(knock, range(1000))) <= {200, 503}
        until(lambda: house.gateway.rss_kib() < 150 * 1024, SOON_S,
              lambda: f"{house.gateway.rss_kib()} KiB are kept")


@pytest.fixture
def stopped():
    """A house with a task that has ended and a letter; its daemons are down."""
    with House(pollers=0) as one:
        one.start()
        task = one.register("1")
        for code in ("A", "B"):
            assert one.public.get("/callback", id="1", code=code).status == 200
        one.ended(task["id"])
        until(one.dead_letters, SOON_S, "no letter")
        for daemon in one.daemons.values():
            assert daemon.stop() == 0
        yield one


def damage(house, name, how):
    path = os.path.join(house.folder, "data", name)
    if how == "gone":
        os.remove(path)
    else:
        with open(path, "r+b") as file:
            size = os.path.getsize(path)
            file.write(os.urandom(size) if how == "garbage" else bytes(size))
            if how == "empty":
                file.truncate(0)


SAID = [("tracker", "tracker.db", "gone", "store.behind"), ("tracker", "tracker.db", "empty",
                                                            "store.behind"),
        ("tracker", "tracker.mark", "garbage", "mark.gone"),
        ("tracker", "tracker.mark", "zeros", "mark.gone"),
        ("tracker", "callback.key", "gone", "keys.gone"),
        ("dlq", "letters.db", "gone", "store.behind"), ("dlq", "letters.db", "empty",
                                                       "store.behind"),
        ("dlq", "letters.db.mark", "garbage", "mark.gone"),
        ("gateway", "spool/spool.db", "gone", "spool.gone"),
        ("gateway", "spool/spool.db", "empty", "spool.gone")]


@pytest.mark.parametrize("service, name, how, event", SAID)
def test_what_was_lost_is_said(stopped, service, name, how, event):
    daemon = stopped.daemons[service]
    assert not [line for line in daemon.lines() if event in line]
    damage(stopped, name, how)
    daemon.start()
    assert len([line for line in daemon.lines() if f"ev={event} " in line]) == 1, daemon.tail()


@pytest.mark.parametrize("service, name, how", [
    ("tracker", "tracker.db", "garbage"), ("tracker", "callback.key", "zeros"),
    ("tracker", "callback.key", "empty"), ("dlq", "letters.db", "garbage"),
    ("gateway", "spool/spool.db", "zeros")])
def test_what_cannot_be_used_is_refused(stopped, service, name, how):
    """One sentence that names the file, and nothing is made in its place."""
    daemon = stopped.daemons[service]
    damage(stopped, name, how)
    assert daemon.launch().wait() == 69
    (line,) = [line for line in daemon.lines() if line.startswith(f"aldaba-{service}: ")]
    assert os.path.join(stopped.folder, "data", name) in line
