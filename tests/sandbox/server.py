"""A small HTTP/1.1 server on asyncio streams, for a provider that is allowed to misbehave.

Keep-alive, bodies with a length or in chunks, `Expect: 100-continue`. A handler gets a Request and
gives a Reply; how the reply is written (whole, dripping, cut, without end) is the reply's `manner`.
It does not do TLS, compression or pipelining in parallel.
"""
import asyncio
import dataclasses
import json
import urllib.parse

HEAD_MAX = 512 * 1024
BODY_MAX = 64 * 1024 * 1024
IDLE_S = 300

REASONS = {
    200: "OK", 202: "Accepted", 400: "Bad Request", 404: "Not Found", 405: "Method Not Allowed",
    413: "Content Too Large", 429: "Too Many Requests", 500: "Internal Server Error",
    502: "Bad Gateway", 503: "Service Unavailable",
}


class BadRequest(Exception):
    """What the peer sent is no request of HTTP/1.1."""


@dataclasses.dataclass
class Request:
    method: str
    target: str
    headers: dict
    body: bytes = b""
    keep_alive: bool = True

    @property
    def path(self):
        return urllib.parse.urlsplit(self.target).path

    @property
    def query(self):
        return urllib.parse.urlsplit(self.target).query

    def params(self):
        """Query and body as one dict; the body is read as what it looks like, since clients of
        this protocol often declare something else. The body's value wins."""
        values = dict(urllib.parse.parse_qsl(self.query, keep_blank_values=True))
        values.update(body_params(self.headers.get("content-type", ""), self.body))
        return values


def body_params(content_type, body):
    """The fields of a form (urlencoded or multipart) or of a JSON object; {} for anything else."""
    if not body.strip():
        return {}
    _, _, boundary = content_type.partition("boundary=")
    if content_type.startswith("multipart/form-data") and boundary:
        return multipart_params(boundary.split(";")[0].strip().strip('"').encode(), body)
    if body.lstrip()[:1] == b"{":
        try:
            fields = json.loads(body)
        except ValueError:
            return {}
        return {k: v if isinstance(v, str) else json.dumps(v) for k, v in fields.items()}
    return dict(urllib.parse.parse_qsl(body.decode("utf-8", "replace"), keep_blank_values=True))


def multipart_params(boundary, body):
    values = {}
    for part in body.split(b"--" + boundary)[1:]:
        head, found, content = part.partition(b"\r\n\r\n")
        if not found:
            continue
        for line in head.decode("latin-1").split("\r\n"):
            name, _, value = line.partition(":")
            if name.strip().lower() == "content-disposition":
                name = value.partition('name="')[2].partition('"')[0]
                values[name] = content.removesuffix(b"\r\n").decode("utf-8", "replace")
    return values


@dataclasses.dataclass
class Reply:
    """manner: whole, drip (a byte each pace_s), half (cut after half of the body), endless (the
    body again and again in chunks until size bytes), hang (nothing until the peer goes), cut (closed without a
    word)."""

    status: int = 200
    body: bytes = b""
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple = ()
    manner: str = "whole"
    pace_s: float = 0.2
    size: int = 0

    def head(self, length, keep_alive):
        lines = [f"HTTP/1.1 {self.status} {REASONS.get(self.status, 'Unknown')}",
                 f"Content-Type: {self.content_type}"]
        lines += [f"{name}: {value}" for name, value in self.headers]
        lines.append("Transfer-Encoding: chunked" if length is None
                     else f"Content-Length: {length}")
        lines.append("Connection: keep-alive" if keep_alive else "Connection: close")
        return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


def text(body, status=200, **more):
    return Reply(status=status, body=body.encode(), **more)


def as_json(value, status=200, **more):
    return Reply(status=status, body=json.dumps(value).encode(), content_type="application/json",
                 **more)


async def read_request(reader, writer):
    """The next request, or None when the peer has gone between two."""
    try:
        head = await asyncio.wait_for(reader.readuntil(b"\r\n\r\n"), IDLE_S)
    except (asyncio.IncompleteReadError, asyncio.TimeoutError, ConnectionError):
        return None
    except asyncio.LimitOverrunError as error:
        raise BadRequest("the head is too long") from error
    first, *lines = head.decode("latin-1").rstrip("\r\n").split("\r\n")
    words = first.split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1."):
        raise BadRequest("this is no request line")
    headers = {}
    for line in lines:
        name, _, value = line.partition(":")
        headers[name.strip().lower()] = value.strip()
    request = Request(words[0], words[1], headers)
    wish = headers.get("connection", "").lower()
    request.keep_alive = wish != "close" and (words[2] == "HTTP/1.1" or wish == "keep-alive")
    if headers.get("expect", "").lower() == "100-continue":
        writer.write(b"HTTP/1.1 100 Continue\r\n\r\n")
    request.body = await read_body(reader, headers)
    return request


async def read_body(reader, headers):
    if headers.get("transfer-encoding", "").lower() == "chunked":
        return await read_chunks(reader)
    try:
        length = int(headers.get("content-length", "0"))
    except ValueError as error:
        raise BadRequest("Content-Length is no number") from error
    if not 0 <= length <= BODY_MAX:
        raise BadRequest("the body is too long")
    return await reader.readexactly(length)


async def read_chunks(reader):
    body = bytearray()
    while True:
        line = await reader.readuntil(b"\r\n")
        try:
            size = int(line.split(b";")[0], 16)
        except ValueError as error:
            raise BadRequest("a chunk has no size") from error
        if size < 0 or len(body) + size > BODY_MAX:
            raise BadRequest("the body is too long")
        body += await reader.readexactly(size)
        await reader.readuntil(b"\r\n")
        if size == 0:
            return bytes(body)


async def write_reply(writer, reply, keep_alive):
    """True when the connection may serve another request."""
    body = reply.body
    if reply.manner == "cut":
        return False
    if reply.manner == "hang":
        await asyncio.sleep(IDLE_S)
        return False
    if reply.manner == "endless":
        writer.write(reply.head(None, False))
        left = reply.size
        while left > 0:
            writer.write(b"%x\r\n" % len(body) + body + b"\r\n")
            await writer.drain()
            left -= len(body)
        return False
    if reply.manner == "drip":
        writer.write(reply.head(len(body), False))
        for byte in body:
            writer.write(bytes([byte]))
            await writer.drain()
            await asyncio.sleep(reply.pace_s)
        return False
    if reply.manner == "half":
        writer.write(reply.head(len(body), False) + body[:len(body) // 2])
        await writer.drain()
        return False
    writer.write(reply.head(len(body), keep_alive) + body)
    await writer.drain()
    return keep_alive


class Server:
    """Serves handler(request) -> Reply (a coroutine) on one address."""

    def __init__(self, handler):
        self.handler = handler
        self.listener = None
        self.connections = set()

    async def start(self, host, port):
        """Listens; returns the port."""
        self.listener = await asyncio.start_server(self.serve, host, port, limit=HEAD_MAX,
                                                   backlog=4096)
        return self.listener.sockets[0].getsockname()[1]

    async def stop(self):
        self.listener.close()
        for task in list(self.connections):
            task.cancel()
        await asyncio.gather(*self.connections, return_exceptions=True)

    async def serve(self, reader, writer):
        task = asyncio.current_task()
        self.connections.add(task)
        try:
            await self.converse(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.LimitOverrunError,
                asyncio.CancelledError):
            pass  # the peer, or we, have gone: there is nobody to tell
        finally:
            self.connections.discard(task)
            writer.close()

    async def converse(self, reader, writer):
        go_on = True
        while go_on:
            try:
                request = await read_request(reader, writer)
            except BadRequest as error:
                await write_reply(writer, text(f"{error}\n", 400), False)
                return
            if request is None:
                return
            reply = await self.handler(request)
            go_on = await write_reply(writer, reply, request.keep_alive)
