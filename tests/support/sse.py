"""A stream of /v1/events, read by hand: a few lines of a client of Server-Sent Events."""
import json
import socket

ANSWER_S = 20


class Ended(AssertionError):
    """The stream is over."""


class Stream:
    """status and headers; then next() gives (name, id, value) of each event. last_id is where to come
    again. receive: bytes of the socket's buffer, for one that reads slowly."""

    def __init__(self, port, query, last_id="", receive=None, timeout_s=ANSWER_S,
                 path="/v1/events"):
        self.last_id = last_id
        self.socket = socket.socket()
        if receive:
            self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, receive)
        self.socket.settimeout(timeout_s)
        self.socket.connect(("127.0.0.1", port))
        again = [f"Last-Event-ID: {last_id}"] if last_id else []
        lines = [f"GET {path}?{query} HTTP/1.1", "Host: localhost", *again, "", ""]
        self.socket.sendall("\r\n".join(lines).encode())
        self.file = self.socket.makefile("rb")
        self.status = int(self.file.readline().split()[1])
        self.headers = {}
        for line in iter(self.file.readline, b"\r\n"):
            name, _, value = line.decode().partition(":")
            self.headers[name.lower()] = value.strip()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.close()

    def close(self):
        self.file.close()
        self.socket.close()

    def next(self):
        name, id_, data = "message", self.last_id, []
        while True:
            line = self.file.readline()
            if not line.endswith(b"\n"):
                raise Ended
            line = line.decode().rstrip("\n")
            if not line and data:
                self.last_id = id_
                return name, id_, json.loads("\n".join(data))
            field, _, value = line.partition(": ")
            if field == "id":
                id_ = value
            elif field == "event":
                name = value
            elif field == "data":
                data.append(value)

    def results(self, count):
        """So many, one after the other: who settles them may be what the next one waits for."""
        while count > 0:
            name, _, value = self.next()
            if name == "result":
                count -= 1
                yield value
