"""The gateway's listeners on raw sockets: odd targets, heads that leave a choice, crowds of clients
that send nothing, and too few descriptors."""
import contextlib
import os
import socket
import time

import pytest
from support.http import status_of, whole
from support.house import binary
from support.until import passes, stays, until
from test_gateway import Gate, head_of, url, welcomed

SOON_S = 15
BODY = b"abc"
CHUNKS = b"3\r\nabc\r\n0\r\n\r\n"

pytestmark = pytest.mark.skipif(not binary("aldaba-gateway"), reason="no aldaba-gateway is built")


@pytest.fixture(scope="module")
def door():
    with welcomed() as pair:
        yield pair


def request(line, *lines, body=b"", end="\r\n"):
    return end.join([line, *lines, "", ""]).encode("latin-1") + body


def post(*lines, body=BODY, target=None, version="1.1"):
    return request(f"POST {target or url(1)} HTTP/{version}", *lines, body=body)


def lf_at_the_end(*lines):
    return request(f"POST {url(1)} HTTP/1.1", *lines)[:-4] + b"\n\n"


def taken(door, data, **more):
    """Send these bytes: the answer, and the (query, body) that the tracker was told."""
    gate, tracker = door
    before = len(tracker.items)
    answer = gate.public.raw(data, **more)
    return answer, [(item.get("query", b""), item.get("body", b"")) for item in
                    tracker.items[before:]]


def test_example(door):
    answer, items = taken(door, post("Host: x", "Content-Length: 3"))
    assert status_of(answer) == 200 and items == [(b"", BODY)]


# ---- targets ----

@pytest.mark.parametrize("target, query", [
    ("http://provider.example{}", b""), ("http://provider.example{}?a=1", b"a=1"),
    ("HTTP://provider.example:7780{}?a=1", b"a=1"), ("https://provider.example:443{}", b""),
    ("https://provider.example{}?when=12:30&to=http://x/y?z", b"when=12:30&to=http://x/y?z"),
    ("http://mydomain.com{}", b""), ("http://[::1]:80{}?a=1", b"a=1"), ("http://{}?a=1", b"a=1"),
])
@pytest.mark.parametrize("lines, body", [
    (["Content-Length: 3"], BODY), (["Transfer-Encoding: chunked"], CHUNKS),
    (["Content-Length: 3", "Expect: 100-continue"], BODY),
])
def test_a_target_with_a_host_is_served(door, target, query, lines, body):
    target = target.format(url(1))
    answer, items = taken(door, post("Host: x", *lines, body=body, target=target))
    assert status_of(answer) == 200, answer
    assert items == [(query, BODY)]
    assert b"Connection: close" in answer


@pytest.mark.parametrize("method, target, status", [
    ("OPTIONS", "*", 204), ("GET", "*", 400), ("GET", "http://x", 404), ("GET", "http://x?a=/b", 404),
    ("GET", "http://x/v1/tasks", 404), ("OPTIONS", "http://x/", 404), ("GET", f"ws://x{url(1)}", 400),
    ("GET", f"ftp://x{url(1)}", 400), ("GET", "callback", 400), ("CONNECT", "x:80", 400),
    ("DELETE", f"http://x{url(1)}", 405),
])
def test_other_targets_have_an_answer(door, method, target, status):
    head = request(f"{method} {target} HTTP/1.1", "Host: x")
    answer, items = taken(door, head + head_of(url(2), method="GET"))
    assert status_of(answer) == status and answer.count(b"HTTP/1.1 ") == 1
    assert b"Connection: close" in answer
    assert not items


def test_targets_of_the_api(door):
    gate, _ = door
    host = f"127.0.0.1:{gate.private.port}"
    with_host = request(f"GET http://{host}/healthz?x=1 HTTP/1.1", f"Host: {host}")
    assert gate.private.raw_status(with_host) == 200
    assert gate.private.raw_status(request("OPTIONS * HTTP/1.1", f"Host: {host}")) == 204


# ---- where a request ends ----

UNCLEAR = {
    "a blank before the colon": post("Host: x", "Content-Length : 3"),
    "two of them": post("Host: x", "Content-Length  : 3"),
    "a blank before another colon": post("Host : x", "Content-Length: 3"),
    "chunks in 1.0": post("Host: x", "Transfer-Encoding: chunked", body=CHUNKS, version="1.0"),
    "both": post("Host: x", "Content-Length: 3", "Transfer-Encoding: chunked", body=CHUNKS),
    "both, turned": post("Host: x", "Transfer-Encoding: chunked", "Content-Length: 3", body=CHUNKS),
    "an unknown coding": post("Host: x", "Transfer-Encoding: xchunked", body=CHUNKS),
    "two codings": post("Host: x", "Transfer-Encoding: gzip, chunked", body=CHUNKS),
    "no coding": post("Host: x", "Transfer-Encoding: identity", "Content-Length: 3"),
    "chunked twice": post("Host: x", *["Transfer-Encoding: chunked"] * 2, body=CHUNKS),
    "two lengths": post("Host: x", "Content-Length: 3", "Content-Length: 2"),
    "a list of lengths": post("Host: x", "Content-Length: 3, 3"),
    "a sign": post("Host: x", "Content-Length: +3"),
    "a minus": post("Host: x", "Content-Length: -3"),
    "hexadecimal": post("Host: x", "Content-Length: 0x3"),
    "a word behind": post("Host: x", "Content-Length: 3 3"),
    "no digits": post("Host: x", "Content-Length:"),
    "too many digits": post("Host: x", "Content-Length: 99999999999999999999"),
    "a folded line": post("Host: x", "X: a", " b", "Content-Length: 3"),
    "a fold at the end": post("Host: x", "Content-Length: 3", " "),
    "a fold at the begin": post(" Content-Length: 3", "Host: x"),
    "a line without a name": post("Host: x", ": a", "Content-Length: 3"),
    "a name that is no text": post("Host: x", "\xe4: a", "Content-Length: 3"),
    "the first one": post("\xe4: a", "Content-Length: 3"),
    "a line without a colon": post("Host: x", "Content-Length 3"),
    "LF for all": request(f"POST {url(1)} HTTP/1.1", "Host: x", "Content-Length: 3", end="\n"),
    "LF once": post("Host: x", "X: a\nContent-Length: 3"),
    "LF and no value": post("Host: x", "X:\nContent-Length: 3"),
    "LF behind the first line": request(f"POST {url(1)} HTTP/1.1\nX: y", "Content-Length: 3"),
    "LF at the end": f"POST {url(1)} HTTP/1.1\r\nHost: x\r\nX: y\n\n".encode(),
    "CR LF LF at the end": f"POST {url(1)} HTTP/1.1\r\nHost: x\r\n\n".encode(),
    "LF at the end, CR NUL in the body": lf_at_the_end("Host: x", "Content-Length: 5") + b"\r\0abc",
    "and a short body": lf_at_the_end("Host: x", "Content-Length: 1") + b"\r\0abc",
    "two empty lines before": b"\r\n\r\n" + post("Host: x", "Content-Length: 3"),
    "two of LF": b"\n\n" + post("Host: x", "Content-Length: 3"),
    "many": b"\r\n" * 6 + post("Host: x", "Content-Length: 3"),
    "a blank line before": b" \r\n" + post("Host: x", "Content-Length: 3"),
    "CR in a value": post("Host: x", "X: a\rContent-Length: 3"),
    "CR in a name": post("Host: x", "X\r: a", "Content-Length: 3"),
    "NUL in a value": post("Host: x", "X: a\0b", "Content-Length: 3"),
    "NUL in a name": post("Host: x", "X\0: a", "Content-Length: 3"),
    "NUL in a length": post("Host: x", "Content-Length: 3\0"),
    "a tab (the library's)": post("Host: x", "X:\ta", "Content-Length: 3"),
    "more lines than are seen": post("Host: x", *["X: a"] * 63, "Content-Length: 3"),
    "no line at all": post(),
    "with a host in the target": post("Host: x", "Content-Length : 3", target=f"http://x{url(1)}"),
}


@pytest.mark.parametrize("name", UNCLEAR)
def test_what_leaves_a_choice_is_400(door, name):
    """And what stands behind it, however it is cut, is no request."""
    behind = head_of(url(2), "Content-Length: 0") + head_of(url(3), "Content-Length: 0")
    answer, items = taken(door, UNCLEAR[name] + behind)
    assert status_of(answer) in (400, 411), answer
    assert b"Connection: close" in answer and answer.count(b"HTTP/1.1 ") == 1
    assert not items


CLEAR = {
    "no blanks": post("Host:x", "Content-Length:3"),
    "lines without a value": post("Host: x", "X:", "Y: ", "Content-Length: 3", "Z:"),
    "any case": post("host: x", "CONTENT-LENGTH: 3"),
    "chunks in any case": post("Host: x", "Transfer-Encoding: Chunked", body=CHUNKS),
    "a trailer": post("Host: x", "Transfer-Encoding: chunked",
                      body=b"3\r\nabc\r\n0\r\nX: y\r\n\r\n"),
    "1.0": post("Content-Length: 3", version="1.0"),
    "63 lines": post("Host: x", *["X: a"] * 61, "Content-Length: 3"),
    "a value that is no UTF-8": post("Host: x", "X: \xe4", "Content-Length: 3"),
    "an empty line before": b"\r\n" + post("Host: x", "Content-Length: 3"),
    "LF before": b"\n" + post("Host: x", "Content-Length: 3"),
    "a head as long as can be": None,
}
LONG = 320 * 1024 - len(post("Host: x", "X: ", "Content-Length: 3", body=b""))
CLEAR["a head as long as can be"] = post("Host: x", "X: " + "a" * LONG, "Content-Length: 3")


@pytest.mark.parametrize("name", CLEAR)
def test_what_is_clear_is_served(door, name):
    answer, items = taken(door, CLEAR[name])
    assert status_of(answer) == 200, answer
    assert items == [(b"", BODY)]


def test_an_end_that_another_request_left_is_none(door):
    """The library keeps its buffer: behind the second head's LF LF is what ended the first."""
    gate, tracker = door
    first = post("Host: x", "Content-Length: 0", body=b"")
    for body in (b"", b"\r\0" * 200):
        with socket.create_connection(("127.0.0.1", gate.public.port), timeout=SOON_S) as client:
            before = len(tracker.items)
            client.sendall(post("Host: x", f"Content-Length: {len(body)}", body=body))
            until(lambda: len(tracker.items) == before + 1, SOON_S, "the first is taken")
            assert b" 200 " in client.recv(4096)
            client.sendall(first[:-4] + b"\n\n")
            assert b" 200 " not in client.recv(4096)
            assert len(tracker.items) == before + 1


@pytest.mark.parametrize("body, served", [(b"\xff\xff\xfb", False), (b"\xff", False), (b"\xff\xfb\x90", True),
                                          (b"\xff\xd8\xff", True), (b"\xff\xfea\0", True)])
def test_a_body_that_looks_like_the_end_of_a_head(door, body, served):
    """Refused where it could be one: not as chunks, and not the beginning of a sound, an image, a text."""
    answer, _ = taken(door, post("Host: x", f"Content-Length: {len(body)}", body=body))
    assert status_of(answer) == (200 if served else 400)
    chunks = b"%x\r\n%s\r\n0\r\n\r\n" % (len(body), body)
    answer, items = taken(door, post("Host: x", "Transfer-Encoding: chunked", body=chunks))
    assert status_of(answer) == 200
    assert items == [(b"", body)]


@pytest.mark.parametrize("body", [
    b"3;a=b\r\nabc\r\n0\r\n\r\n", b"3\r\nabc\r\n0;a\r\n\r\n",  # extensions
    b"3 \r\nabc\r\n0\r\n\r\n", b"3\nabc\n0\n\n", b"0x3\r\nabc\r\n0\r\n\r\n", b"+3\r\nabc\r\n0\r\n\r\n",
    b"-3\r\nabc\r\n0\r\n\r\n", b"fffffffffffffffff\r\nabc\r\n0\r\n\r\n", b"3\r\nabcd\r\n0\r\n\r\n",
])
def test_chunks_that_are_not_taken(door, body):
    """Extensions of chunks are a limit of the library (docs/GUARANTEES.md): never acknowledged. And
    none of the others lets what stands behind become a request."""
    data = post("Host: x", "Transfer-Encoding: chunked", body=body) + head_of(url(2), method="GET")
    answer, items = taken(door, data, half_close=True)
    assert answer == b"" and not items


# ---- crowds ----

def silent(port, count, data):
    """Connections that have begun a request and send no more."""
    peers = []
    for _ in range(count):
        peer = socket.socket()
        peer.setblocking(False)
        peer.connect_ex(("127.0.0.1", port))
        peers.append(peer)
    for peer in peers:
        with contextlib.suppress(OSError):
            peer.send(data)
    return peers


def answer_s(client, method, path):
    begun = time.monotonic()
    assert client.request(method, path).status == 200
    return time.monotonic() - begun


@pytest.mark.parametrize("data", [b"", b"GET /cb", head_of(url(1), "Content-Length: 9")])
def test_a_crowd_holds_up_callbacks_for_a_short_time(data):
    """40 clients on 4 threads: 50 s of patience with each in turn, were there no end to it."""
    with welcomed(gateway={"threads": 4, "request_timeout": "5s"}) as (gate, tracker):
        peers = silent(gate.public.port, 40, data)
        until(lambda: gate.daemon.fds() > 60, SOON_S, "they do not come in")
        assert answer_s(gate.private, "GET", "/healthz") < 2  # the API has threads of its own
        assert answer_s(gate.public, "POST", url(7)) < 20
        assert tracker.tasks() == [7]
        if data == b"GET /cb":
            peers[0].setblocking(True)
            peers[0].settimeout(SOON_S)
            assert status_of(peers[0].recv(4096)) == 408  # not 400: it may be genuine
        for peer in peers:
            peer.close()


def test_a_crowd_holds_up_the_api_for_a_short_time():
    with welcomed(gateway={"api_threads": 2, "api_waiters": 1}) as (gate, _):
        peers = silent(gate.private.port, 30, b"GET /v1")
        assert answer_s(gate.public, "POST", url(7)) < 2
        assert answer_s(gate.private, "GET", "/healthz") < 30  # 150 s otherwise
        for peer in peers:
            peer.close()


def test_idle_clients_and_streams_together():
    """600 clients that say nothing, on the 8 threads that 16 event streams leave of the 24 of the
    default: 19 s of patience with each in turn, did it not shrink."""
    with welcomed(gateway={"api_threads": 8, "api_waiters": 1}) as (gate, _):
        peers = silent(gate.private.port, 600, b"")
        took_s = answer_s(gate.private, "GET", "/healthz")
        for peer in peers:
            peer.close()
        assert took_s < 15, took_s


@pytest.mark.parametrize("data, status", [(b"GET /cb", 408), (b"", None)])
def test_a_late_head_is_408(data, status):
    """It may be the begin of a genuine callback: not 400."""
    with welcomed(gateway={"request_timeout": "500ms"}) as (gate, _):
        assert gate.public.raw_status(data) == status


def test_without_a_crowd_nobody_is_hurried():
    with welcomed(gateway={"threads": 4, "request_timeout": "5s"}) as (gate, _):
        peers = silent(gate.public.port, 3, head_of(url(1), "Content-Length: 3"))
        passes(1.5)
        for peer in peers:
            peer.setblocking(True)
            peer.settimeout(SOON_S)
            peer.sendall(BODY)
            assert whole(answer := peer.recv(4096)) and status_of(answer) == 200
            peer.close()


# ---- descriptors ----

def limited(gate, files):
    """The same program, which may have this many descriptors open."""
    gate.daemon.argv = ["/bin/sh", "-c", f'ulimit -n {files} && exec "$@"', "sh",
                        *gate.daemon.argv]
    return gate


def cpu_s(pid):
    with open(f"/proc/{pid}/stat", encoding="ascii") as file:
        fields = file.read().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def test_descriptors_do_not_run_out_by_connections():
    files = 150
    with Gate() as gate:
        tracker = gate.tracker()
        limited(gate, files).start()
        until(lambda: tracker.hellos, SOON_S, "no hello")
        peers = silent(gate.public.port, 400, b"") + silent(gate.private.port, 400, b"")
        until(lambda: gate.daemon.fds() > 80, SOON_S, "they do not come in")
        before = cpu_s(gate.daemon.pid)
        stays(lambda: gate.daemon.fds() < files - 10, 1, "the descriptors run out")
        assert cpu_s(gate.daemon.pid) - before < 0.4  # it spins if they do
        for peer in peers:
            peer.close()
        until(lambda: gate.public.request("POST", url(7)).status == 200, SOON_S, "no answer")


def test_too_few_descriptors_are_refused_at_the_start():
    with Gate() as gate:
        limited(gate, 100).daemon.launch()
        assert gate.daemon.wait() == 69
        assert any("100 files may be open (RLIMIT_NOFILE), 122 are needed: raise the limit or lower "
                   "gateway.threads" in line for line in gate.daemon.lines()), gate.daemon.tail()
