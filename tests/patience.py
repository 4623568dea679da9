"""Waiting for what a test needs, instead of for a time that a busy machine makes too short."""

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def until(condition: Callable[[], T], within_s: float = 120.0, every_s: float = 0.2) -> T:
    """The first value of the condition that holds; AssertionError, with its last one, after within_s."""
    deadline = time.monotonic() + within_s
    while not (value := condition()):
        assert time.monotonic() < deadline, f"not within {within_s:g} s: {value!r}"
        time.sleep(every_s)
    return value
