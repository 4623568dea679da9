"""Servers that answer with JSON over HTTP. Every failure becomes the caller's own error type and names the place."""

import random
import ssl
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from functools import cache
from pathlib import Path
from typing import TypedDict, Unpack
from urllib.parse import SplitResult, urlsplit

import httpx
from pydantic import SecretStr

from engines.bounded_answer import TooLargeError, bounded
from engines.deadline import Deadline, altogether, left_s, waiting
from engines.failover import Failover
from engines.redaction import as_quoted, login_secrets, without_logins, without_secrets
from engines.regular_file import MAX_SECRET_BYTES, check_regular

Failure = Callable[[str], Exception]
"""Makes an error from a message: the caller chooses the type that is raised."""

tls = cache(httpx.create_ssl_context)
"""Loading the trusted certificates takes longer than a request, so it is done once for all servers."""

OPERATION_REQUESTS = 3.0
"""Reading a state takes several requests: at most as long as three that take their full time."""

PAUSES_S = (0.1, 0.4)
"""Mean pauses before an idempotent call is retried: shorter outages are bridged, longer ones reported."""

_OF_THE_TRANSFER = frozenset({"content-encoding", "content-length", "transfer-encoding"})
_TOO_BUSY = frozenset({429, 502, 503, 504})
_BROKEN = (httpx.ReadError, httpx.WriteError, httpx.RemoteProtocolError)

Parameters = Mapping[str, str | int | Sequence[str]]


class Connection(TypedDict, total=False):
    """headers: sent with every request, never shown. ca_file: CA certificates that replace the default ones.
    certificate_file, key_file: client certificate; its file may also hold the key. standby_urls: further addresses of
    the same server; they get the same login. transport: replaces the network in tests of rare answers.
    """

    timeout_s: float
    headers: Mapping[str, SecretStr] | None
    ca_file: str | None
    certificate_file: str | None
    key_file: str | None
    standby_urls: Sequence[str]
    transport: httpx.BaseTransport | None


class JsonServer:
    """One server.

    name: of the server, for messages. part: the part of it that is read. failure: makes the only type of error raised.
    example: an address, for the message about a mistyped one. place: for messages; user and password are left out and
    only sent with requests. Raises a failure if url is not an HTTP address.
    """

    def __init__(
        self,
        name: str,
        url: str,
        failure: Failure,
        *,
        part: str = "",
        example: str = "http://host:port",
        **connection: Unpack[Connection],
    ) -> None:
        self._failure = failure
        self._client, shown, self._secrets = _client(name, url, failure, example, **connection)
        self._timeout_s = self._client.timeout.read or 0.0
        self.address = shown
        self.place = f"{name} at {shown}" + (f", {part}" if part else "")

    def operation(self) -> AbstractContextManager[None]:
        """The requests within belong together: they end within the time of OPERATION_REQUESTS of them."""
        return altogether(self.place, OPERATION_REQUESTS * self._timeout_s)

    def failure(self, message: str) -> Exception:
        """The error with this message, without secrets: servers may repeat what they were sent."""
        return self._failure(without_secrets(message, self._secrets))

    def refusal(self, message: str) -> Exception:
        """The error for a login that is missing, has ended, or may not do what was asked."""
        return self.failure(message)

    def excerpt(self, value: object, length: int) -> str:
        """At most `length` characters of an answer, for a message. Secrets, and logins of whatever address the answer
        names, are removed before the cut, not halved by it.
        """
        return without_logins(without_secrets(str(value), self._secrets))[:length]

    def surprise(self, path: str, body: object) -> Exception:
        """The error for an answer that does not have the documented shape."""
        return self.failure(
            f"{self.place} answers {path} in a shape that is not documented ({self.excerpt(body, 120)!r}); "
            "check its version"
        )

    def get(self, path: str, parameters: Parameters | None = None) -> tuple[int, object]:
        """Status and body of the answer for any status, except a missing login, which raises a failure."""
        return self.call("GET", path, parameters, idempotent=True)

    def call(
        self,
        method: str,
        path: str,
        parameters: Parameters | None = None,
        *,
        body: object = None,
        idempotent: bool = False,
    ) -> tuple[int, object]:
        """Like get, for any method. body: sent as JSON.

        idempotent: whether calling twice does no harm. Only then is it retried, when an open connection breaks or the
        server is too busy. Never retried: an unreachable server, and a timeout, since the caller has already waited its
        full time. The time holds for the whole call, repeats included, however slowly bytes come.
        """
        request = path if method == "GET" else f"{method} {path}"
        pauses_s = list(PAUSES_S) if idempotent else []
        most_s = left_s(self._timeout_s)
        ends_s = time.monotonic() + most_s
        while True:
            try:
                response = self._exchanged(method, path, parameters, body, max(ends_s - time.monotonic(), 0.001))
            except httpx.TimeoutException:
                raise self.failure(
                    f"{self.place} did not answer {request} within {most_s:.3g} s; "
                    "see whether it is overloaded, or give it more time"
                ) from None
            except (httpx.HTTPError, httpx.InvalidURL) as error:
                if not (pauses_s and isinstance(error, _BROKEN)):
                    reason = " ".join(str(error).split()) or type(error).__name__
                    raise self.failure(
                        f"{self.place} cannot be reached: {reason}; check the address and the network"
                    ) from None
            else:
                if response.status_code not in _TOO_BUSY or not pauses_s:
                    return response.status_code, self._json(request, response)
            # Jitter, so that clients turned away together do not return together.
            time.sleep(pauses_s.pop(0) * random.uniform(0.5, 1.5))  # noqa: S311 - no secret

    def _exchanged(
        self, method: str, path: str, parameters: Parameters | None, body: object, most_s: float
    ) -> httpx.Response:
        """One request with its whole answer, within most_s seconds and MAX_ANSWER_BYTES."""
        with Deadline(most_s) as deadline, waiting(self.place, most_s):
            sent = self._client.build_request(
                method, path, params=parameters, json=body, timeout=most_s, extensions={"trace": deadline.trace}
            )
            try:
                response = self._client.send(sent, stream=True)
                try:
                    content = self._bounded(response, deadline)
                finally:
                    response.close()
            except _BROKEN:
                if deadline.passed:
                    raise httpx.ReadTimeout("the deadline has passed", request=sent) from None
                raise
        # The content is unpacked already.
        headers = [(name, value) for name, value in response.headers.multi_items() if name not in _OF_THE_TRANSFER]
        return httpx.Response(response.status_code, headers=headers, content=content, request=sent)

    def _bounded(self, response: httpx.Response, deadline: Deadline) -> bytes:
        # One packing grows at most a thousandfold per chunk; several on top of each other would fill the memory.
        packings = {part.strip().lower() for part in response.headers.get("Content-Encoding", "").split(",")}
        if not packings <= {"", "identity", "gzip"} or "," in response.headers.get("Content-Encoding", ""):
            raise self.failure(
                f"{self.place} packs its answer as {self.excerpt(response.headers['Content-Encoding'], 80)!r}, "
                "which was not asked for; see what stands between here and the server"
            )
        try:
            content = b"".join(bounded(response.iter_bytes()))
        except TooLargeError as error:
            raise self.failure(f"{self.place} {error}, or ask for less") from None
        if deadline.passed:  # a connection that was shut down may look like one that has sent everything
            raise httpx.ReadTimeout("the deadline has passed", request=response.request)
        return content

    def _json(self, request: str, response: httpx.Response) -> object:
        if response.status_code in (httpx.codes.UNAUTHORIZED, httpx.codes.FORBIDDEN):
            raise self.refusal(
                f"{self.place} refuses {request} with HTTP {response.status_code}; give a token or a login that may "
                f"{'read' if response.request.method == 'GET' else 'change it'}"
            )
        try:
            body: object = response.json()
        except (ValueError, RecursionError):
            raise self.failure(
                f"{self.place} answers {request} with HTTP {response.status_code} and no JSON "
                f"({self.excerpt(response.text, 80)!r}); check that the address is the server's own"
            ) from None
        return body


def _client(
    name: str,
    url: str,
    failure: Failure,
    example: str,
    *,
    timeout_s: float = 10.0,
    headers: Mapping[str, SecretStr] | None = None,
    ca_file: str | None = None,
    certificate_file: str | None = None,
    key_file: str | None = None,
    standby_urls: Sequence[str] = (),
    transport: httpx.BaseTransport | None = None,
) -> tuple[httpx.Client, str, list[str]]:
    """A client, its address as messages may show it, and the secrets that they must not."""
    # Never show a URL that cannot be parsed: it may contain a password.
    wrong = failure(f"the address of {name} is not a URL; give it like {example}")
    parts, *standbys = [_checked(address, wrong) for address in (url, *standby_urls)]
    if not timeout_s > 0:
        raise failure(f"{name}: timeout_s {timeout_s}; give a positive number of seconds")
    shown = " or ".join(_shown(each) for each in (parts, *standbys))
    sent = {"Accept-Encoding": "gzip"} | {key: value.get_secret_value() for key, value in (headers or {}).items()}
    logins = (each for one in (parts, *standbys) for each in login_secrets(one))
    secrets = as_quoted([*_of_headers(value.get_secret_value() for value in (headers or {}).values()), *logins])
    certificates = _certificates(name, failure, ca_file, certificate_file, key_file)
    limits = httpx.Limits(max_keepalive_connections=0)
    if standbys:
        inner = transport or httpx.HTTPTransport(verify=certificates, trust_env=False, limits=limits)
        transport = Failover([httpx.URL(address) for address in (url, *standby_urls)], inner)
    try:
        # No proxy from the environment: the server is inside the network. No idle connections: nobody closes us.
        client = httpx.Client(
            base_url=url.rstrip("/"),
            timeout=timeout_s,
            headers=sent,
            transport=transport,
            trust_env=False,
            verify=certificates,
            limits=limits,
        )
    except (httpx.InvalidURL, ValueError):
        raise wrong from None
    return client, shown, secrets


def _of_headers(values: Iterable[str]) -> Iterator[str]:
    """Secrets in header values; also the parts of one such as `Bearer TOKEN`, which may be repeated in part."""
    for value in values:
        yield from (value, value.strip(), *value.split()[-1:])


def _checked(url: str, wrong: Exception) -> SplitResult:
    try:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.port == 0:
            raise wrong
    except ValueError:
        raise wrong from None
    if "@" in parts.path + parts.query + parts.fragment:
        # With a slash in the password, the parsed host and path are parts of the password.
        raise wrong
    return parts


def _shown(parts: SplitResult) -> str:
    return parts._replace(netloc=parts.netloc.rpartition("@")[2], query="", fragment="").geturl().rstrip("/")


def _certificates(
    name: str, failure: Failure, ca_file: str | None, certificate_file: str | None, key_file: str | None
) -> ssl.SSLContext:
    """TLS context with the CA certificates and the client certificate."""
    if ca_file is None and certificate_file is None:
        return tls(trust_env=False)
    try:
        certificates = httpx.create_ssl_context(trust_env=False)
        if ca_file is not None:
            check_regular(Path(ca_file), MAX_SECRET_BYTES)
            certificates = ssl.create_default_context(cafile=ca_file)
    except OSError as error:
        reason = "it holds no certificate in PEM" if isinstance(error, ssl.SSLError) else error.strerror
        raise failure(f"{name}: ca_file {ca_file} cannot be read: {reason}; give a file of certificates") from None
    if certificate_file is not None:
        try:
            for file in filter(None, (certificate_file, key_file)):
                check_regular(Path(file), MAX_SECRET_BYTES)
            # Pass an empty password: without one, OpenSSL prompts for that of an encrypted key.
            certificates.load_cert_chain(certificate_file, key_file, password="")
        except OSError as error:
            reason = "they hold no pair in PEM" if isinstance(error, ssl.SSLError) else error.strerror
            of = f"certificate_file {certificate_file}" + (f" with key_file {key_file}" if key_file else "")
            raise failure(
                f"{name}: {of} cannot be used: {reason}; give a certificate and its unencrypted key"
            ) from None
    return certificates
