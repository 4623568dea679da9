"""Canaries: strings of their own in the place of secrets, and whether a message, file or row holds one."""

import json
import re
import sqlite3
import threading
from base64 import b64encode
from collections.abc import Iterator
from contextlib import closing, contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, get_args

from pydantic import SecretStr, ValidationError

from forescale.settings import Settings

USER = "anna"
URLS = {
    "ledger_url": f"postgresql+psycopg://{USER}:{{}}@127.0.0.1:9/ledger",
    "airflow_database_url": f"postgresql+psycopg://{USER}:{{}}@127.0.0.1:9/airflow",
    "notify_urls": f"json://{USER}:{{}}@127.0.0.1:9/in",
}
"""Of secrets that are addresses: nobody listens there."""

ADDRESSES = [name for name in Settings.model_fields if name.endswith(("_url", "_uri", "_ui"))]
"""Settings that may have a password in them, whatever their type."""

_CANARY = re.compile(rb"canary7q[a-z0-9]+z|" + b64encode(f"{USER}:canary7".encode()) + rb"[A-Za-z0-9+/=]+")
"""Plain, or as the header of a login bears it."""


def canary(name: str) -> str:
    """What stands for the secret of that name. No encoding of URLs, JSON or YAML changes it."""
    return f"canary7q{re.sub('[^a-z0-9]', '', name.lower())}z"


def url_with(secret: str, address: str = "127.0.0.1:9") -> str:
    return f"http://{USER}:{secret}@{address}"


def planted_settings(*without: str) -> dict[str, str]:
    """Environment variables with a canary in each setting that the model calls a secret, in each that holds the
    settings of others, and as the password of each address.
    """
    fields = {name: field.annotation for name, field in Settings.model_fields.items() if name not in without}
    planted = {name: _planted(name, of) for name, of in fields.items()}
    return {f"FORESCALE_{name.upper()}": value for name, value in planted.items() if value}


def _planted(name: str, of: Any) -> str:
    """Empty for what holds no secret, and for an address that is refused with a password in it."""
    if of == dict[str, str]:
        return json.dumps({"spark.hadoop.fs.s3a.secret.key": canary(name)})
    if SecretStr in (of, *get_args(of)):
        return URLS.get(name, "{}").format(canary(name))
    address = url_with(canary(name))
    return address if name in ADDRESSES and _is_taken(name, address) else ""


def _is_taken(name: str, value: str) -> bool:
    try:
        Settings.model_validate({name: value})
    except ValidationError:
        return False
    return True


def canaries_in(text: str | bytes) -> set[str]:
    return {found.decode() for found in _CANARY.findall(text.encode() if isinstance(text, str) else text)}


def canaries_below(*folders: Path) -> dict[str, set[str]]:
    """By file, those that its bytes or the rows of its database hold."""
    files = [path for folder in folders for path in sorted(folder.rglob("*")) if path.is_file()]
    found = {path: canaries_in(path.read_bytes()) for path in files}
    for path in files:
        # After all bytes: who closes a database last removes the files beside it.
        found[path] |= canaries_in("\n".join(_rows(path)))
    return {str(path): names for path, names in found.items() if names}


def _rows(path: Path) -> Iterator[str]:
    """A value that lies on several pages of the file is whole in its row alone."""
    if path.suffix == ".db" and path.exists():
        with closing(sqlite3.connect(path)) as database:
            yield from database.iterdump()


@contextmanager
def echo(status: int = 500) -> Iterator[tuple[str, set[str]]]:
    """A server that answers whatever is asked with a failure that repeats the request: its address, and the canaries
    that it was sent.
    """
    came = set[str]()

    class Handler(BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            body = json.dumps({"errors": [f"cannot {self.path} with {dict(self.headers.items())}"]}).encode()
            came.update(canaries_in(body))
            self.send_response(status)
            self.end_headers()
            self.wfile.write(body)

        def do_POST(self) -> None:
            self.do_GET()

        def do_PATCH(self) -> None:
            self.do_GET()

        def log_message(self, *_: object) -> None: ...

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as server:
        serving = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.02})
        serving.start()
        try:
            yield f"http://127.0.0.1:{server.server_address[1]}", came
        finally:
            server.shutdown()
            serving.join()
