"""A webhook on loopback that takes messages as Apprise posts them."""

import json
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

from server_process import free_ports


class Webhook:
    """It keeps what it receives. status: with which it answers."""

    def __init__(self) -> None:
        self.messages: list[dict[str, str]] = []
        self.status = 200
        (self.port,) = free_ports(1)

    @property
    def url(self) -> str:
        return f"json://anna:sesame42@127.0.0.1:{self.port}/in"

    @property
    def titles(self) -> list[str]:
        return sorted(message["title"] for message in self.messages)

    @contextmanager
    def running(self) -> Iterator[None]:
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                if outer.status == 200:
                    outer.messages.append(body)
                self.send_response(outer.status)
                self.end_headers()

            def log_message(self, *_: object) -> None: ...

        server = ThreadingHTTPServer(("127.0.0.1", self.port), Handler)
        thread = threading.Thread(target=server.serve_forever, daemon=True)
        thread.start()
        try:
            yield
        finally:
            server.shutdown()
            server.server_close()
            thread.join()
