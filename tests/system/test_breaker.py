"""What was found by throwing things at a whole aldaba: each of these once did harm."""
import pytest
from support.house import House

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
