"""Requests as no client should send them: whole ones, changed; and what happens to a listener that
gets them for a while. Seeded: the same seed, the same bytes."""
import random
import socket
import threading
import time

METHODS = (b"GET", b"POST", b"PUT", b"PATCH", b"DELETE", b"HEAD", b"OPTIONS", b"CONNECT", b"TRACE", b"get", b"PRI", b"")
VERSIONS = (b"HTTP/1.1", b"HTTP/1.0", b"HTTP/0.9", b"HTTP/2.0", b"HTTP/1.10", b"http/1.1", b"HTTP/1.", b"", b"HTTP/1.1 ")
HEADERS = (b"Host: x", b"Host: x", b"Host:", b"Connection: close", b"Connection: keep-alive", b"Connection: upgrade",
           b"Upgrade: websocket", b"Expect: 100-continue", b"Expect: 200-ok", b"Content-Type: application/json",
           b"Content-Type: application/x-www-form-urlencoded", b"Content-Type:", b"Accept-Encoding: gzip",
           b"Range: bytes=0-1", b"X-Forwarded-For: 1.2.3.4, 5.6.7.8", b"X-Forwarded-For: " + b"9." * 300,
           b"Authorization: Bearer x", b"Authorization: Basic ", b"If-None-Match: *", b"Cookie: " + b"a=b; " * 100,
           b"Origin: null", b"Trailer: X", b"TE: trailers", b"Content-Encoding: gzip", b"Idempotency-Key: k",
           b"Last-Event-ID: 1:2:3", b": nameless", b"No colon here", b"\xff\xfe: \xfd", b"X-Nul: a\0b")
LENGTHS = (b"Content-Length: %d", b"Content-Length:%d", b"content-length: %d", b"Content-Length: +%d",
           b"Content-Length: 0%d", b"Content-Length: %d, %d", b"Content-Length: %d ", b"Content-Length: 0x%d",
           b"Content-Length: -%d", b"Content-Length: %d99999999999999999999")
QUERIES = (b"", b"?id=7&code=x", b"?id=%00", b"?id=%", b"?id=%zz&code=%C4", b"?" + b"&" * 200, b"?a=" + b"A" * 20000,
           b"?id[]=7", b"?id=7;code=x", b"?=&=&", b"?%69d=7", b"?q=\x01\x02", b"?a b", b"?" + b"%41" * 3000)
BODIES = (b"", b"id=7&code=x", b"{}", b'{"id":7,"code":"x"}', b"[" * 3000, b'{"a":' * 500, b"\0" * 100, b"\xff" * 100,
          b"id=" + b"9" * 5000, b'{"errorId":0,"taskId":' + b"1" * 400 + b"}", b"x" * 70000,
          b'{"provider":"lan","provider_id":"1"}', b'{"settle":[{"lane":1,"seq":1}],"wait":"1ms"}')
# What leaves a choice where a request ends: none of these may be taken for a request with this body.
UNCLEAR = ([b"Content-Length: 3", b"Transfer-Encoding: chunked"], [b"Transfer-Encoding: chunked", b"Content-Length: 3"],
           [b"Content-Length: 3", b"Content-Length: 4"], [b"Content-Length: 3, 4"], [b"Content-Length : 3"],
           [b"X: y\r\n Content-Length: 3", b"Content-Length: 3"], [b"Content-Length: 3\nX: y"], [b"Content-Length: +3"],
           [b"Content-Length: 0x3"], [b"Transfer-Encoding : chunked"], [b"Transfer-Encoding: chunked, identity"])


class Junk:
    """public and private: targets that are served by the two listeners, as text."""

    def __init__(self, seed, public, private):
        self.luck = random.Random(seed)
        self.targets = {"public": [target.encode() for target in public],
                        "private": [target.encode() for target in private]}

    def one(self):
        """(listener, bytes, True when no answer to it may be 2xx)"""
        listener = self.luck.choice(("public", "public", "private"))
        if listener == "public" and self.luck.random() < 0.1:
            return listener, self.unclear(), True
        count = self.luck.choice((1, 1, 1, 2, 5, 20))
        data = b"".join(self.request(listener) for _ in range(count))
        return listener, self.harmed(data), False

    def unclear(self):
        lines = self.luck.choice(UNCLEAR)
        body = b"3\r\nabc\r\n0\r\n\r\n" if any(b"chunked" in line for line in lines) else b"abc"
        return b"\r\n".join([b"POST " + self.targets["public"][0] + b" HTTP/1.1", b"Host: x", *lines, b"", body])

    def request(self, listener):
        luck = self.luck
        body = luck.choice(BODIES)
        lines = luck.choices(HEADERS, k=luck.choice((1, 2, 3, 8, 70)))
        if luck.random() < 0.4:
            lines.append(b"Transfer-Encoding: " + luck.choice((b"chunked", b"chunked", b"gzip, chunked", b"Chunked", b"x")))
            body = self.chunks(body)
        if luck.random() < 0.7:
            text = luck.choice(LENGTHS)
            number = luck.choice((len(body), len(body), len(body), len(body) + 1, 0, 1 << 40))
            lines.append(text % ((number,) * text.count(b"%d")))
        luck.shuffle(lines)
        line = b" ".join((luck.choice(METHODS) if luck.random() < 0.3 else b"POST", self.target(listener),
                          luck.choice(VERSIONS) if luck.random() < 0.2 else b"HTTP/1.1"))
        end = b"\r\n" if luck.random() < 0.9 else luck.choice((b"\n", b"\r", b"\r\n\t", b"\n\r", b"\0\r\n"))
        return end.join([line, *lines, b"", b""]) + body

    def target(self, listener):
        luck = self.luck
        target = luck.choice(self.targets[listener]) + luck.choice(QUERIES)
        way = luck.randrange(12)
        if way == 0:
            return luck.choice((b"http://x", b"https://[::1]:1", b"ws://x", b"//x", b"HTTP://")) + target
        if way == 1:
            return luck.choice((b"*", b"/", b"", b"/../../etc/passwd", b"/%2e%2e/x", b"/cb/two/%00", b"/" + b"a" * 9000,
                                b"/\xc0\xae", b"/v1//tasks", b"/cb//" + b"/" * 500))
        if way == 2:
            return target.replace(b"/", luck.choice((b"//", b"/./", b"%2f", b"\\")), 1)
        return target

    def chunks(self, body):
        luck, out = self.luck, b""
        while body:
            size = luck.randrange(1, 200)
            out += b"%x%s\r\n%s\r\n" % (len(body[:size]), luck.choice((b"", b"", b"", b";x=y", b" ")), body[:size])
            body = body[size:]
        return out + luck.choice((b"0\r\n\r\n", b"0\r\n\r\n", b"0\r\nX: y\r\n\r\n", b"", b"ffffffffffffffff\r\n",
                                  b"-1\r\n\r\n", b"0x0\r\n\r\n", b"00000000000000000000\r\n\r\n", b"zz\r\n", b"0\n\n"))

    def harmed(self, data):
        """Now and then: cut, doubled, or with other bytes in it."""
        luck = self.luck
        way = luck.randrange(8)
        if way == 0:
            return data[:luck.randrange(len(data) + 1)]
        if way == 1:
            at = luck.randrange(len(data) + 1)
            return data[:at] + luck.randbytes(luck.randrange(1, 40)) + data[at:]
        if way == 2:
            out = bytearray(data)
            for _ in range(luck.randrange(1, 8)):
                out[luck.randrange(len(out))] = luck.choice(b"\0\r\n :%;,\xff0/")
            return bytes(out)
        if way == 3:
            at, size = luck.randrange(len(data)), luck.randrange(1, 60)
            return data[:at] + data[at:at + size] * luck.randrange(2, 50) + data[at + size:]
        return data


def spoken(port, data, timeout_s=3.0):
    """Send these bytes, then our end; all that comes back."""
    answer = b""
    try:
        with socket.create_connection(("127.0.0.1", port), timeout=timeout_s) as peer:
            peer.sendall(data)
            peer.shutdown(socket.SHUT_WR)
            while len(answer) < 1 << 20 and (some := peer.recv(65536)):
                answer += some
    except OSError:
        pass  # it may close before it has read all
    return answer


def agreed(answer):
    """Does it hold a 2xx? Only the first: what is pipelined behind an end is read by nobody."""
    return answer[:7] == b"HTTP/1." and answer[9:10] == b"2"


class Storm:
    """Threads that send junk to both listeners until there were so many inputs, or it is so late."""

    def __init__(self, seed, ports, public, private, threads=4):
        self.ports, self.sent, self.answers, self.wrong = ports, 0, 0, []
        self.lock = threading.Lock()
        self.junk = [Junk(seed * 1000 + number, public, private) for number in range(threads)]

    def run(self, inputs, deadline_s):
        end = time.monotonic() + deadline_s
        workers = [threading.Thread(target=self.work, args=(junk, inputs, end)) for junk in self.junk]
        for worker in workers:
            worker.start()
        for worker in workers:
            worker.join()
        return self

    def work(self, junk, inputs, end):
        while self.sent < inputs and time.monotonic() < end and not self.wrong:
            listener, data, forbidden = junk.one()
            answer = spoken(self.ports[listener], data)
            with self.lock:
                self.sent += 1
                self.answers += answer[:7] == b"HTTP/1."
                if forbidden and agreed(answer):
                    self.wrong.append((data, answer))


class Honest:
    """Somebody who sends good callbacks meanwhile, one after the other."""

    def __init__(self, send):
        self.send, self.taken, self.failed, self.took_s = send, 0, [], []
        self.over = threading.Event()
        self.thread = threading.Thread(target=self.work)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.over.set()
        self.thread.join()

    def work(self):
        while not self.over.is_set():
            begun = time.monotonic()
            try:
                status = self.send(self.taken)
            except OSError as error:
                status = error
            self.took_s.append(time.monotonic() - begun)
            if status == 200:
                self.taken += 1
            else:
                self.failed.append(status)
            self.over.wait(0.005)

    def slowest_s(self, share=0.99):
        took = sorted(self.took_s)
        return took[min(len(took) - 1, int(len(took) * share))]
