"""Stands before the Prometheus of a soak: has nothing of a time to come, and may send a byte a second.

    python relay.py PORT UPSTREAM CLOCK_FILE SLOW_FILE

Prometheus holds the arrivals of all days; a real one would have none after now, whatever a job's clock says. While
SLOW_FILE exists, and always for paths below /slow, an answer comes a byte a second and never ends.
"""

import json
import sys
import time
import urllib.error
import urllib.request
from contextlib import suppress
from datetime import datetime
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

LOOPBACK = "127.0.0.1"
SLOW = "/slow"


def up_to(now_s: float, answer: Any) -> Any:
    """The answer of a query without the points after now, and without the series that have no others."""
    data = answer.get("data") if isinstance(answer, dict) else None
    if not isinstance(data, dict) or "result" not in data:
        return answer
    series = [{**one, "values": [point for point in one["values"] if point[0] <= now_s]} for one in data["result"]]
    return answer | {"data": data | {"result": [one for one in series if one["values"]]}}


def serve(port: int, upstream: str, clock: Path, slow: Path) -> None:
    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.close_connection = True
            with suppress(OSError):  # the caller has left
                if self.path.startswith(SLOW) or slow.exists():
                    self._drip()
                else:
                    self._pass_on()

        do_POST = do_GET  # noqa: N815

        def _drip(self) -> None:
            self._head(200)
            while True:
                self.wfile.write(b" ")
                time.sleep(1)

        def _pass_on(self) -> None:
            try:
                with urllib.request.urlopen(f"{upstream}{self.path}", timeout=60) as answer:
                    status, body = answer.status, answer.read()
            except urllib.error.HTTPError as error:
                status, body = error.code, error.read()
            now_s = datetime.fromisoformat(clock.read_text()).timestamp()
            with suppress(ValueError):  # it is no JSON
                body = json.dumps(up_to(now_s, json.loads(body))).encode()
            self._head(status)
            self.wfile.write(body)

        def _head(self, status: int) -> None:
            self.send_response(status)
            self.send_header("Content-Type", "application/json")
            self.end_headers()

        def log_message(self, *_: object) -> None:
            """Nothing."""

    ThreadingHTTPServer.daemon_threads = True
    ThreadingHTTPServer((LOOPBACK, port), Handler).serve_forever()


if __name__ == "__main__":
    serve(int(sys.argv[1]), sys.argv[2], Path(sys.argv[3]), Path(sys.argv[4]))
