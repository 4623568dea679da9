"""A server on loopback that answers oddly: slowly, without end, in a tiny archive, with a page, or not now."""

import gzip
import threading
import time
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Answer = Callable[[BaseHTTPRequestHandler], None]
PAGE = b"<!doctype html><html><title>Sign in</title><form>password</form></html>"


def a_byte_at_a_time(request: BaseHTTPRequestHandler, pause_s: float = 0.3) -> None:
    _head(request)
    while True:
        request.wfile.write(b" ")
        time.sleep(pause_s)


def head_a_byte_at_a_time(request: BaseHTTPRequestHandler, pause_s: float = 0.3) -> None:
    for number in range(10**6):
        request.wfile.write(b"HTTP/1.1 200 OK\r\nX-Header: "[number : number + 1] or b"x")
        time.sleep(pause_s)


def without_end(request: BaseHTTPRequestHandler, status: int = 200) -> None:
    _head(request, status=status)
    while True:
        request.wfile.write(b" " * 2**16)


def gzip_bomb(request: BaseHTTPRequestHandler) -> None:
    """512 MiB of spaces in half a MiB."""
    packed = gzip.compress(b" " * 2**20) * 512
    _head(request, {"Content-Encoding": "gzip", "Content-Length": str(len(packed))})
    request.wfile.write(packed)


def login_page(request: BaseHTTPRequestHandler) -> None:
    whole(request, 200, PAGE, "text/html")


def busy(request: BaseHTTPRequestHandler) -> None:
    request.send_response(429)
    request.send_header("Retry-After", "3600")
    request.send_header("Content-Length", "2")
    request.end_headers()
    request.wfile.write(b"{}")


def never(request: BaseHTTPRequestHandler) -> None:
    time.sleep(60)


def json_of(text: str) -> Answer:
    return lambda request: whole(request, 200, text.encode(), "application/json")


def whole(request: BaseHTTPRequestHandler, status: int, body: bytes, kind: str) -> None:
    request.send_response(status)
    request.send_header("Content-Type", kind)
    request.send_header("Content-Length", str(len(body)))
    request.end_headers()
    request.wfile.write(body)


def _head(request: BaseHTTPRequestHandler, headers: dict[str, str] | None = None, status: int = 200) -> None:
    request.send_response(status)
    for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
        request.send_header(name, value)
    request.end_headers()


@contextmanager
def odd_server(answer: Answer, well: Collection[str] = ()) -> Iterator[str]:
    """The address of a server that answers so, but for the paths in `well`."""

    class Handler(BaseHTTPRequestHandler):
        def _answer(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length", 0)))
            with suppress(OSError):  # the client has left
                json_of("{}")(self) if self.path in well else answer(self)
            self.close_connection = True

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = do_HEAD = _answer  # noqa: N815

        def log_message(self, *_: object) -> None:
            """Nothing."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        server.daemon_threads = True
        server.block_on_close = False
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True)
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}"
        finally:
            server.shutdown()
            serving.join()
