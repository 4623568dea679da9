"""A moment at which a request, or several that belong together, end, however their bytes come.

Timeouts of HTTP clients count from the last byte: a server that sends one a second is waited for without end.
"""

import atexit
import logging
import os
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


class _Alarms:
    """Calls that are made when they fall due, all by one thread. Nearly all are cancelled before: the thread looks only
    when the earliest falls due, and ends when there is none. To start one for each takes longer than to cancel thirty.
    """

    _changed: threading.Condition
    _calls: dict[object, tuple[float, Callable[[], None]]]
    _thread: threading.Thread | None
    _looks_s: float

    def __init__(self) -> None:
        self._forget()
        os.register_at_fork(after_in_child=self._forget)
        atexit.register(self._end)

    def set(self, after_s: float, call: Callable[[], None]) -> object:
        """What `cancel` takes."""
        alarm, due_s = object(), time.monotonic() + after_s
        with self._changed:
            self._calls[alarm] = due_s, call
            if self._thread is None or not self._thread.is_alive():
                self._looks_s = due_s
                self._thread = threading.Thread(target=self._run, daemon=True)
                self._thread.start()
            elif due_s < self._looks_s:
                self._changed.notify()
        return alarm

    def cancel(self, alarm: object) -> None:
        with self._changed:
            self._calls.pop(alarm, None)

    def _run(self) -> None:
        while due := self._next_due():
            for call in due:
                call()

    def _next_due(self) -> list[Callable[[], None]]:
        with self._changed:
            while self._calls:
                now_s = time.monotonic()
                if due := [alarm for alarm, (due_s, _) in self._calls.items() if due_s <= now_s]:
                    return [self._calls.pop(alarm)[1] for alarm in due]
                self._looks_s = min(due_s for due_s, _ in self._calls.values())
                self._changed.wait(self._looks_s - now_s)
            self._thread = None
            return []

    def _forget(self) -> None:
        """As it begins, and in a forked process, which has no thread but its own."""
        self._changed = threading.Condition()
        self._calls = {}
        self._thread = None
        self._looks_s = 0.0

    def _end(self) -> None:
        """No thread is left that could wake while Python ends."""
        with self._changed:
            self._calls.clear()
            self._changed.notify()
            thread = self._thread
        if thread is not None:
            thread.join(1.0)


_alarms = _Alarms()


class Deadline:
    """Shuts down the connection of the request within the context when the time is up, which fails its read.

    trace: the request's extension of that name, by which httpcore reports its connection.
    """

    def __init__(self, left_s: float) -> None:
        self._ends_s = time.monotonic() + left_s
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
        self._alarm = _alarms.set(self._ends_s - time.monotonic(), self._shut_down)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        _alarms.cancel(self._alarm)

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
    alarm = _alarms.set(NOTICE_S, lambda: logger.warning("still waiting for %s, at most %.3g s", what, most_s))
    try:
        yield
    finally:
        _alarms.cancel(alarm)
