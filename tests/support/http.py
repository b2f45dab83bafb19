"""HTTP as a test needs it: simple requests, and bytes on a raw socket for the odd ones."""
import http.client
import json
import socket
import urllib.parse

TIMEOUT_S = 40


class Answer:
    def __init__(self, status, headers, body):
        self.status = status
        self.headers = {name.lower(): value for name, value in headers}
        self.body = body

    def json(self):
        return json.loads(self.body)

    @property
    def text(self):
        return self.body.decode("utf-8", "replace")

    def __repr__(self):
        return f"<{self.status} {self.body[:300]!r}>"


class Client:
    """Requests to one address. Each has a connection of its own: no state between two."""

    def __init__(self, port, host="127.0.0.1", timeout_s=TIMEOUT_S):
        self.host = host
        self.port = port
        self.timeout_s = timeout_s

    @property
    def url(self):
        return f"http://{self.host}:{self.port}"

    def request(self, method, target, body=None, headers=None):
        """Raises OSError or http.client.HTTPException when there is no whole answer."""
        connection = http.client.HTTPConnection(self.host, self.port, timeout=self.timeout_s)
        try:
            connection.request(method, target, body=body, headers=headers or {})
            answer = connection.getresponse()
            return Answer(answer.status, answer.getheaders(), answer.read())
        finally:
            connection.close()

    def get(self, target, **query):
        if query:
            target += "?" + urllib.parse.urlencode(query)
        return self.request("GET", target)

    def post_json(self, target, value, headers=None, method="POST"):
        return self.request(method, target, json.dumps(value).encode(),
                            {"Content-Type": "application/json", **(headers or {})})

    def post_form(self, target, method="POST", **fields):
        return self.request(method, target, urllib.parse.urlencode(fields).encode(),
                            {"Content-Type": "application/x-www-form-urlencoded"})

    def raw(self, data, half_close=False, timeout_s=10):
        """Send these very bytes; everything that comes back until the peer closes or is silent.
        With half_close our side of the connection ends after them."""
        with socket.create_connection((self.host, self.port), timeout=timeout_s) as peer:
            answer = b""
            try:
                peer.sendall(data)
                if half_close:
                    peer.shutdown(socket.SHUT_WR)
            except (TimeoutError, ConnectionError):
                pass  # it may have answered before it had read all
            try:
                while not whole(answer) and (chunk := peer.recv(65536)):
                    answer += chunk
            except (TimeoutError, ConnectionError):
                pass
            return answer

    def raw_status(self, data, **more):
        """The status of the last answer on that connection, None when there was none."""
        return status_of(self.raw(data, **more))


def status_of(answer):
    status = None
    while answer.startswith(b"HTTP/1."):
        status = int(answer[9:12])
        head, _, rest = answer.partition(b"\r\n\r\n")
        answer = rest if status == 100 else rest[content_length(head) or 0:]
    return status


def content_length(head):
    for line in head.split(b"\r\n"):
        name, _, value = line.partition(b":")
        if name.strip().lower() == b"content-length":
            return int(value)
    return None


def whole(answer):
    """True when these bytes hold a final answer with all of its body (as far as it says so)."""
    while True:
        head, found, rest = answer.partition(b"\r\n\r\n")
        if not found:
            return False
        if head[9:12] != b"100":
            length = content_length(head)
            return length is not None and len(rest) >= length
        answer = rest
