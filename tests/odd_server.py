"""A server on loopback that answers oddly: slowly, without end, in a tiny archive, with a page, or not now."""

import gzip
import socket
import threading
import time
from collections.abc import Callable, Collection, Iterator, Mapping
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


def cut_short(request: BaseHTTPRequestHandler) -> None:
    _head(request, {"Content-Length": "5000"})
    request.wfile.write(b'{"jobs": [')


def cut_chunk(request: BaseHTTPRequestHandler) -> None:
    _head(request, {"Transfer-Encoding": "chunked"})
    request.wfile.write(b'5\r\n{"a":\r\nff\r\nxx')


def raw(content: bytes) -> Answer:
    def answer(request: BaseHTTPRequestHandler) -> None:
        request.wfile.write(content)

    return answer


def of_status(status: int, body: bytes = PAGE, kind: str = "text/html", **headers: str) -> Answer:
    return lambda request: whole(request, status, body, kind, headers)


def never(request: BaseHTTPRequestHandler) -> None:
    time.sleep(60)


def json_of(text: str) -> Answer:
    return lambda request: whole(request, 200, text.encode(), "application/json")


def whole(
    request: BaseHTTPRequestHandler, status: int, body: bytes, kind: str, headers: Mapping[str, str] | None = None
) -> None:
    request.send_response(status)
    for name, value in {"Content-Type": kind, "Content-Length": str(len(body)), **(headers or {})}.items():
        request.send_header(name.replace("_", "-"), value)
    request.end_headers()
    request.wfile.write(body)


def _head(request: BaseHTTPRequestHandler, headers: dict[str, str] | None = None, status: int = 200) -> None:
    request.send_response(status)
    for name, value in ({"Content-Type": "application/json"} | (headers or {})).items():
        request.send_header(name, value)
    request.end_headers()


JSON = "application/json"
ODD_HTTP: dict[str, Answer] = {
    "cut short": cut_short,
    "a chunk that is cut": cut_chunk,
    "nothing": raw(b""),
    "another protocol": raw(b"\0\1\2 SSH-2.0\r\n\r\n"),
    "HTTP 0.9": raw(b"hello\n"),
    "a status that is none": raw(b"HTTP/1.1 abc\r\n\r\n"),
    "status 999": raw(b"HTTP/1.1 999 What\r\nContent-Length: 2\r\n\r\n{}"),
    "thousands of 100 Continue": raw(b"HTTP/1.1 100 Continue\r\n\r\n" * 2000),
    "204": raw(b"HTTP/1.1 204 No Content\r\n\r\n"),
    "a header of 1 MiB": raw(b"HTTP/1.1 200 OK\r\nX: " + b"a" * 2**20 + b"\r\n\r\n{}"),
    "5,000 headers": raw(b"HTTP/1.1 200 OK\r\n" + b"X: a\r\n" * 5000 + b"\r\n{}"),
    "a negative length": raw(b"HTTP/1.1 200 OK\r\nContent-Length: -1\r\n\r\n{}"),
    "two lengths": raw(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nContent-Length: 9\r\n\r\n{}"),
    "a page of 500": of_status(500),
    "a page of 503": of_status(503),
    "a page of 403": of_status(403),
    "401": of_status(401, b"{}", JSON),
    "a redirection without end": of_status(302, b"", Location="/again"),
    "a redirection to a file": of_status(302, b"", Location="file:///etc/passwd"),
    "a redirection to nowhere": of_status(301, b""),
    "nothing as JSON": of_status(200, b"", JSON),
    "bytes that are no UTF-8": of_status(200, b'{"a": "\xff\xfe"}', JSON),
    "no gzip": of_status(200, b"{}", JSON, Content_Encoding="gzip"),
    "brotli": of_status(200, b"{}", JSON, Content_Encoding="br"),
    "a picture": of_status(200, b"\x89PNG" + b"\0" * 100, "image/png"),
    "busy": busy,
    "a key twice": json_of('{"a": 1, "a": 2}'),
    "a number of 5,000 digits": json_of('{"jobs": ' + "9" * 5000 + "}"),
    "half a character": json_of('{"jobs": "\\ud800"}'),
}
"""Answers of proxies, broken servers and other programs; each is whole within a second."""


@contextmanager
def odd_server(answer: Answer, well: Collection[str] = ()) -> Iterator[str]:
    """The address of a server that answers so, but for the paths in `well`. At the end no connection stays open: a
    client that still reads in a thread of its own would keep the process.
    """
    connections: list[socket.socket] = []

    class Handler(BaseHTTPRequestHandler):
        def setup(self) -> None:
            super().setup()
            connections.append(self.connection)

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
            for connection in connections:
                with suppress(OSError):  # it is closed already
                    connection.shutdown(socket.SHUT_RDWR)
