"""Answers of servers, read up to a largest size, however they are packed."""

from collections.abc import Callable, Iterable, Iterator
from functools import wraps
from typing import Any

MAX_ANSWER_BYTES = 256 * 2**20
"""Maximum size of an unpacked answer: far above a day of a thousand counters, far below the memory of a machine."""


class TooLargeError(OSError):
    """The answer is larger than it may be."""


def bounded(parts: Iterable[bytes], close: Callable[[], object] = lambda: None) -> Iterator[bytes]:
    """The same parts. Raises TooLargeError as soon as they are more than MAX_ANSWER_BYTES together, after `close`."""
    size = 0
    for part in parts:
        size += len(part)
        if size > MAX_ANSWER_BYTES:
            close()
            raise TooLargeError(
                f"answers with more than {MAX_ANSWER_BYTES // 2**20} MiB; see whether the address is the server's own"
            )
        yield part


def bound_answers(adapter: Any) -> None:
    """From here on, answers by this class of adapters of the library requests are read up to MAX_ANSWER_BYTES, and then
    fail with TooLargeError. Idempotent.
    """
    send = adapter.send
    if hasattr(send, "reads_bounded"):
        return

    @wraps(send)
    def reads_bounded(self: Any, *values: Any, **named: Any) -> Any:
        response = send(self, *values, **named)
        unbounded = response.raw.stream
        response.raw.stream = lambda *size, **how: bounded(unbounded(*size, **how), response.close)
        return response

    reads_bounded.reads_bounded = True  # type: ignore[attr-defined]
    adapter.send = reads_bounded
