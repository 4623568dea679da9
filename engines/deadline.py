"""A moment at which a request, or several that belong together, end, however their bytes come.

Timeouts of HTTP clients count from the last byte: a server that sends one a second is waited for without end.
"""

import logging
import socket
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from contextvars import ContextVar
from types import TracebackType
from typing import TypeVar

logger = logging.getLogger(__name__)

Answer = TypeVar("Answer")

NOTICE_S = 3.0
"""Whoever waits longer is told for what: within ten seconds, imports on a busy machine included."""

_operation_ends_s: ContextVar[float | None] = ContextVar("_operation_ends_s", default=None)
_given_up: list[threading.Thread] = []

_CONNECTED = ("connect_tcp.complete", "start_tls.complete", "connect_unix_socket.complete")


class Deadline:
    """Shuts down the connection of the request within the context when the time is up, which fails its read.

    trace: the request's extension of that name, by which httpcore reports its connection.
    """

    def __init__(self, left_s: float) -> None:
        self._ends_s = time.monotonic() + left_s
        self._timer = threading.Timer(max(0.0, left_s), self._shut_down)
        self._timer.daemon = True
        self._lock = threading.Lock()
        self._socket: socket.socket | None = None

    @property
    def passed(self) -> bool:
        return time.monotonic() >= self._ends_s

    def trace(self, event: str, report: dict[str, object]) -> None:
        stream = report.get("return_value")
        if not event.endswith(_CONNECTED) or stream is None:
            return
        with self._lock:
            self._socket = stream.get_extra_info("socket")  # type: ignore[attr-defined]  # httpcore's NetworkStream
        if self.passed:
            self._shut_down()

    def __enter__(self) -> "Deadline":
        self._timer.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._timer.cancel()

    def _shut_down(self) -> None:
        with self._lock:
            if self._socket is None:
                return
            with suppress(OSError):  # it is closed already
                self._socket.shutdown(socket.SHUT_RDWR)


def within(left_s: float, ask: Callable[[], Answer]) -> Answer:
    """The answer of a call whose client knows no deadline. Raises TimeoutError if it takes longer; the call then goes
    on in a thread that ends with the process, and its answer is dropped.
    """
    answers: list[Answer] = []
    errors: list[BaseException] = []

    def run() -> None:
        try:
            answers.append(ask())
        except BaseException as error:  # noqa: BLE001 - raised in the caller's thread
            errors.append(error)

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    thread.join(left_s)
    if errors:
        raise errors[0]
    if not answers:
        _given_up.append(thread)
        raise TimeoutError(f"no answer within {left_s:.2g} s")
    return answers[0]


def calls_go_on() -> bool:
    """Whether a call that `within` gave up still runs. A thread that wakes while Python ends aborts the process."""
    return any(thread.is_alive() for thread in _given_up)


@contextmanager
def altogether(what: str, most_s: float) -> Iterator[None]:
    """The exchanges within the block end within most_s together, and the wait for them is announced once."""
    with waiting(what, most_s):
        token = _operation_ends_s.set(time.monotonic() + left_s(most_s))
        try:
            yield
        finally:
            _operation_ends_s.reset(token)


def left_s(most_s: float) -> float:
    """Longest time of one exchange: most_s, or less if `altogether` leaves less. Never zero, which some clients read
    as no limit.
    """
    ends_s = _operation_ends_s.get()
    return most_s if ends_s is None else max(0.001, min(most_s, ends_s - time.monotonic()))


@contextmanager
def waiting(what: str, most_s: float) -> Iterator[None]:
    """Say what is waited for, and how long at most, if the block takes longer than NOTICE_S. Within `altogether`, that
    one says so.
    """
    if most_s <= NOTICE_S or _operation_ends_s.get() is not None:
        yield
        return
    timer = threading.Timer(NOTICE_S, lambda: logger.warning("still waiting for %s, at most %.3g s", what, most_s))
    timer.daemon = True
    timer.start()
    try:
        yield
    finally:
        timer.cancel()
