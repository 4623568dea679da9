"""A stand-in for a server of JSON: answers over real HTTP on loopback with what a test puts in.

It knows nothing of any engine: the tests give it answers in the shapes that those document.
"""

import json
import ssl
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

Query = dict[str, list[str]]
Answer = Callable[[Query], Any]


@dataclass
class JsonStandIn:
    """answers: body, or function of the query that gives it, per path; all else is answered as the server does 404.

    statuses: HTTP status of a path, 200 where none is given. A body of type str is sent as it is, else as JSON.
    busy: how many requests of a path get 503 before it answers; cut: how many are cut off without an answer.
    asked: (path, query) of the requests that came. headers: of the last of them.
    """

    url: str
    answers: dict[str, Any] = field(default_factory=dict)
    statuses: dict[str, int] = field(default_factory=dict)
    busy: dict[str, int] = field(default_factory=dict)
    cut: dict[str, int] = field(default_factory=dict)
    asked: list[tuple[str, Query]] = field(default_factory=list)
    headers: dict[str, str] = field(default_factory=dict)

    def answer(self, path: str, query: Query) -> tuple[int, bytes]:
        self.asked.append((path, query))
        if self.busy.get(path, 0):
            self.busy[path] -= 1
            return 503, b'{"error": "too busy"}'
        if path not in self.answers:
            return 404, b'{"message": "not found"}'
        given = self.answers[path]
        body = given(query) if callable(given) else given
        return self.statuses.get(path, 200), (body if isinstance(body, str) else json.dumps(body)).encode()


@contextmanager
def json_stand_in(certificate: Path | None = None, key: Path | None = None) -> Iterator[JsonStandIn]:
    """Over TLS where a certificate and its key are given."""

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            parts = urlsplit(self.path)
            stand_in.headers = dict(self.headers.items())
            if stand_in.cut.get(parts.path, 0):
                stand_in.cut[parts.path] -= 1
                stand_in.asked.append((parts.path, {}))
                self.close_connection = True
                return
            status, body = stand_in.answer(parts.path, parse_qs(parts.query))
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_GET()

        def log_message(self, format: str, *args: object) -> None:
            pass

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        if certificate is not None:
            tls = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            tls.load_cert_chain(certificate, key)
            server.socket = tls.wrap_socket(server.socket, server_side=True)
        scheme = "http" if certificate is None else "https"
        stand_in = JsonStandIn(f"{scheme}://127.0.0.1:{server.server_address[1]}")
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield stand_in
        finally:
            server.shutdown()
            serving.join()
