"""Answers that the library requests reads, for programs that read them whole."""

from functools import wraps
from typing import Any

from engines.bounded_answer import bounded


def bound_answers(adapter: Any) -> None:
    """From here on, what this class of adapters brings is read up to MAX_ANSWER_BYTES, and then fails with
    TooLargeError. Idempotent.
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
