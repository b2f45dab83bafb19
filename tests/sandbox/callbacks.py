"""The provider's side of a callback: an HTTP client with bounded concurrency, kept connections,
optional retries, and the ability to break off in the middle.

Every try is written into its task's ledger before it begins and completed when it ends, so that
what was acknowledged can be told from what was only sent.
"""
import asyncio
import collections
import time
import urllib.parse

from fates import ERROR_CODE

BREAK = "broken"


class Pool:
    """Idle connections by address; at most `limit` each."""

    def __init__(self, limit):
        self.limit = limit
        self.idle = collections.defaultdict(list)

    def take(self, address):
        while self.idle[address]:
            reader, writer = self.idle[address].pop()
            if not reader.at_eof() and not writer.is_closing():
                return reader, writer
            writer.close()
        return None

    def give(self, address, connection):
        if len(self.idle[address]) < self.limit:
            self.idle[address].append(connection)
        else:
            connection[1].close()


def encode_get(url, fields):
    parts = urllib.parse.urlsplit(url)
    query = "&".join(filter(None, (parts.query, urllib.parse.urlencode(fields))))
    return f"GET {parts.path or '/'}?{query} HTTP/1.1\r\nHost: {parts.netloc}\r\n\r\n".encode(), b""


def encode_post(url, fields):
    body = urllib.parse.urlencode(fields).encode()
    return encode_body(url, body, {"Content-Type": "application/x-www-form-urlencoded"})


def encode_body(url, body, headers):
    parts = urllib.parse.urlsplit(url)
    target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
    head = f"POST {target} HTTP/1.1\r\nHost: {parts.netloc}\r\n"
    head += "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    head += f"Content-Length: {len(body)}\r\n\r\n"
    return head.encode(), body


async def read_status(reader):
    """(status, may be kept) of the answer, its body read and dropped."""
    head = await reader.readuntil(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    status = int(first.split(" ")[1])
    if status == 100:
        return await read_status(reader)
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    if headers.get("transfer-encoding", "").lower() == "chunked":
        while True:
            size = int((await reader.readuntil(b"\r\n")).split(b";")[0], 16)
            await reader.readexactly(size)
            await reader.readuntil(b"\r\n")
            if size == 0:
                break
    elif "content-length" in headers:
        await reader.readexactly(int(headers["content-length"]))
    else:
        await reader.read()
        return status, False
    return status, headers.get("connection", "keep-alive").lower() != "close"


class Caller:
    """Sends callbacks. `under_way` counts those not finished, waiting ones included."""

    def __init__(self, options):
        self.options = options
        self.pool = Pool(options.callback_concurrency)
        self.gate = asyncio.Semaphore(options.callback_concurrency)
        self.under_way = 0
        self.sent = 0
        self.by_status = collections.Counter()
        self.running = set()

    def begin(self, task, answer, method, manner="whole"):
        """Send a callback in the background; the returned future ends with the last try."""
        self.under_way += 1
        job = asyncio.ensure_future(self.call(task, answer, method, manner))
        self.running.add(job)
        job.add_done_callback(self.running.discard)
        return job

    async def call(self, task, answer, method, manner):
        try:
            for number in range(1 + self.options.callback_retries):
                if number:
                    await asyncio.sleep(self.options.retry_wait)
                if await self.try_once(task, answer, method, manner):
                    return
        finally:
            self.under_way -= 1

    async def try_once(self, task, answer, method, manner):
        """True when nothing is left to try."""
        async with self.gate:
            entry = {"at_ms": int(time.time() * 1000), "answer": answer, "method": method,
                     "status": None, "broken": manner == BREAK}
            task.callbacks.append(entry)
            self.sent += 1
            try:
                entry["status"] = await asyncio.wait_for(
                    self.exchange(task, answer, method, manner), self.options.callback_timeout)
            except (OSError, ValueError, IndexError, asyncio.TimeoutError,
                    asyncio.IncompleteReadError, asyncio.LimitOverrunError) as error:
                entry["error"] = type(error).__name__
            self.by_status[str(entry["status"])] += 1
        status = entry["status"]
        return manner == BREAK or status is not None and 200 <= status < 300

    async def exchange(self, task, answer, method, manner):
        """The status of the answer; None when it was broken off on purpose."""
        fields = {"id": task.id, "code": answer}
        if task.encode is not None:
            head, body = encode_body(task.pingback,
                                     *task.encode(task, answer, answer == ERROR_CODE))
        else:
            encode = encode_get if method == "get" and manner != BREAK else encode_post
            head, body = encode(task.pingback, fields)
        parts = urllib.parse.urlsplit(task.pingback)
        address = (parts.hostname, parts.port or 80)
        kept = self.pool.take(address) if manner != BREAK else None
        reader, writer = kept or await asyncio.open_connection(*address)
        done = False
        try:
            if manner == BREAK:
                writer.write(head + body[:len(body) // 2])
                await writer.drain()
                return None
            writer.write(head + body)
            await writer.drain()
            status, keep = await read_status(reader)
            done = keep
            return status
        finally:
            if done:
                self.pool.give(address, (reader, writer))
            else:
                writer.close()
