"""The program that a kubeconfig names for its login, within bounds: the client reads all that it prints."""

import sys
from typing import Any

from engines.bounded_command import MOST_BYTES, TIME_OUT, TOO_LONG, bounding


def bound_logins(kubeconfig: Any, timeout_s: float) -> None:
    """Let every program of a kubeconfig as the client has read it, which is changed in place, run within bounds.

    A program that may ask the person at the terminal is left as it is.
    """
    at_terminal = sys.stdin is not None and sys.stdin.isatty()
    for user in kubeconfig["users"].value:
        body = user.safe_get("user")
        program = body.get("exec") if isinstance(body, dict) else None
        if not isinstance(program, dict) or (at_terminal and program.get("interactiveMode") != "Never"):
            continue
        command, arguments = program.get("command"), program.get("args") or []
        if isinstance(command, str) and all(isinstance(each, str) for each in arguments):
            first, *rest = bounding([command, *arguments], timeout_s)
            program.update(command=first, args=rest)


def beyond_its_bound(failure: str, timeout_s: float) -> str:
    """Which bound a login program exceeded, by the client's text of its failure; empty if none."""
    bounds = {
        TIME_OUT: f"did not end within {timeout_s:g} s",
        TOO_LONG: f"printed more than {MOST_BYTES >> 20} MiB",
    }
    return next((what for code, what in bounds.items() if failure.startswith(f"exec: process returned {code}")), "")
