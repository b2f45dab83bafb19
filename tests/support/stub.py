"""A small HTTP server of a test's own: a function answers what is asked, which is kept."""
import contextlib
import http.server
import json
import threading
import types
import urllib.parse

POLL_S = 0.05


class Asked:
    """One request, read whole."""

    def __init__(self, handler):
        self.method = handler.command
        self.target = handler.path
        self.path, _, self.query = handler.path.partition("?")
        self.headers = handler.headers
        self.length = int(handler.headers.get("Content-Length", 0))
        self.body = handler.rfile.read(self.length)

    @property
    def params(self):
        """Those of the query."""
        return dict(urllib.parse.parse_qsl(self.query))


class Stub(http.server.ThreadingHTTPServer):
    """Use as a context manager. answer(asked) returns bytes, or (status, bytes or a value for
    JSON), or (status, what, headers); None closes the connection without an answer. A header whose
    value is None is left out. A generator of bytes is sent piece by piece, until the peer has gone."""
    daemon_threads = True
    request_queue_size = 256

    def __init__(self, answer, port=0):
        super().__init__(("127.0.0.1", port), Handler)
        self.answer = answer
        self.heard = []  # every Asked
        self.url = f"http://127.0.0.1:{self.server_port}"
        self.thread = threading.Thread(target=self.serve_forever, args=(POLL_S,), daemon=True)

    def __enter__(self):
        self.thread.start()
        return self

    def __exit__(self, *_):
        self.shutdown()
        self.thread.join()
        self.server_close()


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def take(self):
        asked = Asked(self)
        self.server.heard.append(asked)
        said = self.server.answer(asked)
        if said is None:
            self.close_connection = True
            return
        status, what, *more = said if isinstance(said, tuple) else (200, said)
        pieces = what if isinstance(what, types.GeneratorType) else None
        raw = pieces or isinstance(what, bytes)
        body = b"" if pieces else what if raw else json.dumps(what).encode()
        headers = {"Content-Length": None if pieces else len(body),
                   "Content-Type": None if raw else "application/json",
                   **(more[0] if more else {})}
        self.send_response(status)
        for name, value in headers.items():
            if value is not None:
                self.send_header(name, str(value))
        if headers["Content-Length"] is None:
            self.send_header("Connection", "close")
        self.end_headers()
        with contextlib.suppress(OSError):
            self.wfile.write(body)
            for piece in pieces or ():
                self.wfile.write(piece)

    do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = take

    def log_message(self, *_):
        pass
