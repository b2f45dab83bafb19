"""What strangers, broken senders and odd proxies send: a clear answer, and nothing else happens."""
import base64
import socket

import pytest
import zmq
from support import bus
from support.house import House
from support.seen import only_event
from support.until import passes, stays, until

SOON_S = 5
MIB = 1 << 20


@pytest.fixture(scope="module")
def house():
    with House(profile={"callback": {"stale_after": "60s", "plus": "auto"},
                        "poll": {"schedule": {"give_up_after": "300s"}}}) as one:
        yield one.start()


def new_task(house, solve=0):
    """A task with a token URL: its id, provider id and path. A poll answers after `solve` seconds."""
    made = house.reserve()
    provider_id = house.submit(1, fate="drop", answer="polled", solve=solve)[0]
    house.attach(made["id"], provider_id)
    path = made["callback_url"].removeprefix(house.public.url)
    return {"id": made["id"], "provider_id": provider_id, "path": path}


@pytest.fixture
def task(house):
    return new_task(house)


def received(house):
    return house.books()["arrivals"].get("received", 0)


def head(method, target, *lines):
    return "\r\n".join([f"{method} {target} HTTP/1.1", "Host: x", *lines, "", ""]).encode()


def test_example(house, task):
    answer = house.public.raw(head("GET", f"{task['path']}?id={task['provider_id']}&code=X"))
    assert answer.startswith(b"HTTP/1.1 200 ") and answer.endswith(b"\r\n\r\nOK")
    assert only_event(house, task["id"])["result"] == b"X"


RESULTS = {
    "plus of base64 that was not encoded": ("ab+cd/ef==", b"ab+cd/ef=="),
    "plus and digits": ("abc21fa9+2cbef==", b"abc21fa9+2cbef=="),
    "an encoded space stays one": ("a%20b", b"a b"),
    "decoded exactly once": ("a%252Bb", b"a%2Bb"),
    "pipes": ("40|200|-120", b"40|200|-120"),
    "bytes that are no UTF-8": ("%C4%E3", b"\xc4\xe3"),
    "JSON in text": ("%5B%7B%22xMin%22%3A559%7D%5D", b'[{"xMin":559}]'),
}


@pytest.mark.parametrize("name", RESULTS)
def test_result_is_kept_to_the_byte(house, task, name):
    sent, want = RESULTS[name]
    target = f"{task['path']}?id={task['provider_id']}&code={sent}"
    assert house.public.raw_status(head("GET", target)) == 200
    assert only_event(house, task["id"])["result"] == want
    shown = house.task(task["id"])
    if name == "bytes that are no UTF-8":
        assert base64.b64decode(shown["result_base64"]) == want
    else:
        assert shown["result"] == want.decode()


def test_long_ids_are_not_rounded(house):
    for provider_id in ("20180814033130818988", "9123456789654321"):
        task = house.register(provider_id)
        body = b'{"id":%s,"code":"X"}' % provider_id.encode()
        status = house.public.raw_status(
            head("POST", "/callback", "Content-Type: application/json",
                 f"Content-Length: {len(body)}") + body)
        assert status == 200
        assert only_event(house, task["id"])["provider_id"] == provider_id


def test_chunked_body(house, task):
    body = f"id={task['provider_id']}&code=in+chunks".encode()
    half = len(body) // 2
    chunks = b"%x\r\n%s\r\n%x\r\n%s\r\n0\r\n\r\n" % (half, body[:half], len(body) - half,
                                                         body[half:])
    data = head("POST", task["path"], "Content-Type: application/x-www-form-urlencoded",
                "Transfer-Encoding: chunked") + chunks
    assert house.public.raw_status(data) == 200
    assert only_event(house, task["id"])["result"] in (b"in chunks", b"in+chunks")


def test_expect_100_continue(house, task):
    body = f"id={task['provider_id']}&code=expected".encode()
    with socket.create_connection(("127.0.0.1", house.public.port), timeout=SOON_S) as peer:
        peer.sendall(head("POST", task["path"], "Expect: 100-continue",
                          f"Content-Length: {len(body)}"))
        assert peer.recv(4096).startswith(b"HTTP/1.1 100 ")
        peer.sendall(body)
        assert peer.recv(4096).startswith(b"HTTP/1.1 200 ")
    assert only_event(house, task["id"])["result"] == b"expected"


BODY = b"id=1&code=X"
REFUSED = {
    "both framing headers": head("POST", "/callback", "Content-Length: 11",
                                 "Transfer-Encoding: chunked") + b"b\r\n" + BODY + b"\r\n0\r\n\r\n",
    "two lengths": head("POST", "/callback", "Content-Length: 11", "Content-Length: 5") + BODY,
    "a length that is no number": head("POST", "/callback", "Content-Length: 11abc") + BODY,
    "a negative length": head("POST", "/callback", "Content-Length: -1") + BODY,
    "NUL in the id": head("GET", "/callback?id=12%0034&code=X"),
    "NUL in the code": head("GET", "/callback?id=1234&code=a%00b"),
    "NUL in the body": head("POST", "/callback", "Content-Length: 9") + b"a=b\0c&d=e",
    "a broken escape": head("GET", "/callback?id=12%zz&code=X"),
    "no id": head("GET", "/callback?code=X"),
    "broken JSON": head("POST", "/callback", "Content-Type: application/json",
                        "Content-Length: 10") + b'{"id":"1",',
    "an id without end": head("GET", f"/callback?id={'9' * 5000}&code=X"),
}


@pytest.mark.parametrize("name", REFUSED)
def test_bare_form_refuses_and_keeps_nothing(house, name):
    before = received(house)
    status = house.public.raw_status(REFUSED[name])
    assert status is not None and 400 <= status < 500, status
    assert received(house) == before


@pytest.mark.parametrize("query", ["id=12%0034&code=X", "code=a%00b", "id=%zz"])
def test_what_comes_by_a_genuine_token_is_kept(house, task, query):
    """A 4xx would end the retries of some providers: it is stored as a letter and answered 200."""
    assert house.public.raw_status(head("GET", f"{task['path']}?{query}")) == 200
    letters = until(lambda: house.dead_letters(reason="malformed", task=task["id"]), SOON_S, "none")
    assert len(letters) == 1
    # What can't be read makes us ask the provider; it is not believed itself.
    assert all(event["source"] == "poll" for event in house.events_of(task["id"]))


def test_ids_are_text_and_never_paths(house):
    for provider_id in ("../../../../tmp/x", "a/../b", "$(reboot)", "a'; drop table tasks; --",
                        "\u00e4\u6f22"):
        task = house.register(provider_id)
        answer = house.public.get("/callback", id=provider_id, code="X")
        assert answer.status == 200
        assert only_event(house, task["id"])["provider_id"] == provider_id
    refused = house.private.post_json("/v1/tasks", {"provider": "sandbox",
                                                    "provider_id": "a\r\nFAKE=1"})
    assert refused.status == 400
    assert house.public.get("/callback", id="a\r\nFAKE=1", code="X").status == 400
    lines = house.gateway.lines() + house.tracker.lines()
    assert not any(line.startswith("FAKE") for line in lines)


def test_repeated_keys_have_one_meaning(house):
    status = house.public.raw_status(head("GET", "/callback?id=501&id=502&code=X&code=Y"))
    assert status in (200, 400)


def test_truncated_bodies_are_never_acknowledged(house, task):
    before = received(house)
    whole = f"id={task['provider_id']}&code=cut".encode()
    declared = head("POST", task["path"], f"Content-Length: {len(whole) + 50}")
    chunked = head("POST", task["path"], "Transfer-Encoding: chunked")
    for data in (declared + whole, chunked + b"%x\r\n" % (len(whole) + 50) + whole,
                 chunked + b"%x\r\n%s\r\n" % (len(whole), whole)):
        status = house.public.raw_status(data, half_close=True)
        assert status is None or status >= 400, status
    assert received(house) == before
    assert not house.events_of(task["id"])


def test_silent_and_half_sent_requests_do_not_stop_the_others(house, task):
    peers = [socket.create_connection(("127.0.0.1", house.public.port)) for _ in range(30)]
    try:
        for peer in peers:
            peer.sendall(b"GET /call")
        answer = house.public.get(task["path"], id=task["provider_id"], code="X")
        assert answer.status == 200
    finally:
        for peer in peers:
            peer.close()


def test_bodies_up_to_the_limit(house, task):
    code = b"c" * (3 * MIB)
    body = b"id=%s&code=%s" % (task["provider_id"].encode(), code)
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    assert house.public.request("POST", task["path"], body, form).status == 200
    assert only_event(house, task["id"])["result"] == code


def send_done(house, task, code):
    """Its callback. Returns the task's id."""
    body = b"id=%s&code=" % task["provider_id"].encode() + code
    assert house.public.request("POST", task["path"], body,
                                {"Content-Type": "application/x-www-form-urlencoded"}).status == 200
    return task["id"]


def largest(task, code):
    """A body of exactly 1 MiB."""
    start = b"id=%s&code=" % task["provider_id"].encode()
    return start + code + b"c" * (MIB - len(start) - len(code))


def test_rule_4_the_largest_body_passes_by_each_way():
    """max_body as large as bus.max_item: at once, by the spool, as a letter and back, which each put
    something around it."""
    settings = {"bus": {"max_item": "1MiB"}, "gateway": {"max_body": "1MiB"},
                "poller": {"max_answer": "1MiB"}}
    profile = {"callback": {"stale_after": "60s", "max_body": "1MiB"},
               "poll": {"max_bytes": "1MiB", "schedule": {"give_up_after": "300s"}}}
    with House(settings=settings, profile=profile) as house:
        house.start()
        form = {"Content-Type": "application/x-www-form-urlencoded", "X-Long": "x" * 4000}
        tasks = [new_task(house, solve=600) for _ in range(3)]
        send = lambda task, code: house.public.request(  # noqa: E731
            "POST", task["path"], largest(task, code), form).status
        assert send(tasks[0], b"A") == 200
        assert only_event(house, tasks[0]["id"])["result"].startswith(b"Ac")
        assert send(tasks[1], b"ERROR_NEW_") == 200
        letter = until(lambda: house.dead_letters(reason="unmapped_status"), 10, "no letter")[0]
        page = f"/v1/dead-letters/{letter['id']}"
        until(lambda: house.get(page)["outcome"] != "outbox", 10, "it does not reach the dlq")
        said = house.post(f"{page}/replay", {"dry_run": True})["dry_run"]
        assert (said["disposition"], said["reason"]) == ("still", "unmapped_status")
        house.post(f"{page}/replay", {"by": "ana"})
        until(lambda: [one["outcome"] for one in house.get(page)["history"]] == ["still"], 10,
              "the attempt has no answer")
        house.tracker.stop()
        assert send(tasks[2], b"B") == 200
        house.tracker.start()
        assert only_event(house, tasks[2]["id"])["result"].startswith(b"Bc")
        house.until_serving()
        assert house.aldaba("audit").returncode == 0


@pytest.mark.parametrize("channel, kind, fields", [
    ("consume", "fetch", {"after": "all", "limit": 100}),
    ("query", "list", {"limit": 100}),
])
def test_a_peer_that_asks_and_never_listens(house, channel, kind, fields):
    """Questions by the thousand, no answer taken: others have theirs, as if it were not there."""
    for number in range(20):
        send_done(house, new_task(house, solve=600), b"R%d" % number)
    context = zmq.Context.instance()
    socket = context.socket(zmq.DEALER)
    socket.setsockopt(zmq.LINGER, 0)
    socket.setsockopt(zmq.SNDHWM, 0)
    socket.connect(f"ipc://{house.run}/{channel}")
    try:
        for req in range(1, 20001):
            socket.send(bus.pack(kind, req=req, **fields))
        for _ in range(20):
            passes(0.05)
            assert "tasks" in house.get("/v1/status")
        until(lambda: "tasks" in house.get("/v1/tasks?limit=1"), 20, "questions are answered no more")
        assert only_event(house, send_done(house, new_task(house, solve=600), b"LAST"))["result"] == b"LAST"
    finally:
        socket.close()


def test_rule_4_what_is_in_passes_a_lowered_limit():
    """A body in the spool, a letter on its way and one that is tried again, a result: bus.max_item is the
    door's alone."""
    sizes = lambda most: {"bus": {"max_item": most}, "gateway": {"max_body": most},  # noqa: E731
                          "poller": {"max_answer": "1MiB"}}
    kept = {"callback": {"stale_after": "60s", "max_body": "4MiB"},
            "poll": {"max_bytes": "1MiB", "schedule": {"give_up_after": "300s"}}}
    form = {"Content-Type": "application/x-www-form-urlencoded"}
    large = b"c" * (2 * MIB)
    with House(settings=sizes("4MiB"), profile=kept) as house:
        def send(task, code):
            body = b"id=%s&code=" % task["provider_id"].encode() + code
            return house.public.request("POST", task["path"], body, form).status

        house.start()
        ended, spooled, dead, refused = (new_task(house, solve=600) for _ in range(4))
        assert send(ended, large) == 200
        assert only_event(house, ended["id"])["result"] == large
        house.dlq.stop()
        assert send(dead, b"ERROR_NEW_" + large) == 200
        until(lambda: house.books()["letters"]["outbox"] == 1, 10, "no letter is made")
        house.tracker.kill9()
        assert send(spooled, large) == 200
        for daemon in house.daemons.values():
            daemon.kill9()
        house.settings, house.profile["callback"]["max_body"] = sizes("1MiB"), "1MiB"
        house.write_settings()
        house.start_daemons()
        assert send(refused, large) == 413
        assert only_event(house, spooled["id"])["result"] == large
        assert house.private.get(f"/v1/tasks/{ended['id']}/result").body == large
        until(lambda: house.books()["letters"]["outbox"] == 0, 20, "the letter does not reach the dlq")
        page = f"/v1/dead-letters/{house.dead_letters(task=dead['id'])[0]['id']}"
        assert large in house.private.get(page).body
        said = house.post(f"{page}/replay", {"dry_run": True})["dry_run"]
        assert (said["disposition"], said["reason"]) == ("still", "unmapped_status"), said
        house.post(f"{page}/replay", {"by": "ana"})
        until(lambda: [one["outcome"] for one in house.get(page)["history"]] == ["still"], 10,
              "the attempt has no answer")
        assert house.get("/v1/status")["letters"]["outbox_stuck"] == 0
        assert house.aldaba("audit").returncode == 0


def test_body_over_the_limit_is_413_and_the_next_poll_comes_forward(house, task):
    body = b"id=%s&code=%s" % (task["provider_id"].encode(), b"c" * (5 * MIB))
    data = head("POST", task["path"], f"Content-Length: {len(body)}")
    assert house.public.raw_status(data + body[:1000]) == 413
    event = until(lambda: house.events_of(task["id"]), 15, "it is not polled")[0]
    assert (event["source"], event["result"]) == ("poll", b"polled")


def test_endless_chunks_are_413(house, task):
    chunk = b"10000\r\n" + b"c" * 65536 + b"\r\n"
    data = head("POST", task["path"], "Transfer-Encoding: chunked") + chunk * 90
    status = house.public.raw_status(data)
    assert status in (413, None), status  # None: the answer was lost with the connection
    assert not house.events_of(task["id"]) or only_event(house, task["id"])["source"] == "poll"


def test_queries_up_to_the_limit(house, task):
    target = f"{task['path']}?id={task['provider_id']}&code={'q' * 200_000}"
    assert house.public.raw_status(head("GET", target)) == 200
    assert len(only_event(house, task["id"])["result"]) == 200_000
    beyond = f"{task['path']}?id=1&code={'q' * 400_000}"
    status = house.public.raw_status(head("GET", beyond))
    assert status is None or 400 <= status < 500


def test_other_routes_and_methods(house):
    for target in ("/", "/etc/passwd", "/callback/../v1/tasks", "/v1/tasks", "/callback/nobody",
                   "/metrics", "/healthz", "/cb"):
        assert house.public.raw_status(head("GET", target)) == 404, target
    for method in ("DELETE", "HEAD", "OPTIONS", "BREW"):
        before = received(house)
        status = house.public.raw_status(head(method, "/callback?id=1&code=X"))
        assert status is None or 400 <= status < 600, method
        assert received(house) == before, method


def test_garbage_on_every_bus_socket(house, task):
    """10,000 messages of nonsense each: counted and dropped; nobody ends, nobody grows."""
    rss = {name: daemon.rss_kib() for name, daemon in house.daemons.items()}
    shapes = ([b""], [b"\xc1"], [b"\xdf\xff\xff\xff\xff"], [b"\x82\xa1k\xa5batch\xa1v\x01"],
              [b"x" * 900], [b"", b""], [b"\x82\xa1k\xa5hello\xa1v\x01", b"\x00" * 50],
              [b"\x81\xa1k\xa3get"], [b"\x93" * 64], [b"\xdd\xff\xff\xff\xff" * 4])
    for name in ("events", "query", "jobs", "consume", "letters"):
        sock = zmq.Context.instance().socket(zmq.DEALER)
        sock.linger, sock.sndtimeo = 2000, 10_000
        sock.connect(f"ipc://{house.run}/{name}")
        for number in range(10_000):
            sock.send_multipart(shapes[number % len(shapes)])
        sock.close()
    assert house.public.get(task["path"], id=task["provider_id"], code="after").status == 200
    assert only_event(house, task["id"])["result"] == b"after"
    for name, daemon in house.daemons.items():
        assert daemon.alive() and daemon.starts == 1, daemon.tail()
        assert daemon.rss_kib() - rss[name] < 32 * 1024, name


def test_connections_leave_nothing_behind(house):
    def call():
        assert house.public.get("/callback/nobody", id="1").status == 404

    for _ in range(50):
        call()
    before = house.gateway.fds(), house.gateway.threads()
    for _ in range(500):
        call()
    until(lambda: house.gateway.fds() <= before[0] + 2, SOON_S, "descriptors are left open")
    assert house.gateway.threads() == before[1]
    stays(house.gateway.alive, 0.1, "the gateway ended")
