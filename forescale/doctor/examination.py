"""Checks that wait for one another, run side by side, each for no longer than it may."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from threading import Thread
from typing import Any


class Verdict(StrEnum):
    GOOD = "good"
    BAD = "bad"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """of: the topology, empty for what all share. detail: what was found; remedy: what helps, empty where nothing is
    wrong or the detail tells it.
    """

    of: str
    check: str
    verdict: Verdict
    detail: str
    remedy: str = ""


class AilmentError(Exception):
    """What a check found wrong."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(f"{detail}; {remedy}")
        self.detail, self.remedy = detail, remedy


class NotUsedError(Exception):
    """There is nothing to check, and that is no fault; the text says why."""


@dataclass(frozen=True)
class Check:
    """run: what was found, in a line; raises AilmentError, NotUsedError, or what is expected. needs: checks, of the
    same topology or of what all share, that must be good before. limit_s: how long it may take. of: the topology, empty
    for what all share.
    """

    name: str
    run: Callable[[], str]
    needs: Sequence[str] = ()
    limit_s: float = 10.0
    of: str = ""


Expected = tuple[type[Exception], ...]
"""Errors that say what is wrong with the world, and how to mend it; all others are defects."""


def examined(checks: Sequence[Check], expected: Expected) -> Iterator[Finding]:
    """One finding a check, in their order. Each begins as soon as what it needs is good, so that servers that do not
    answer are waited for side by side: all of it takes as long as the longest chain of needs.
    """
    findings: _Findings = {(check.of, check.name): Future() for check in checks}
    for check in checks:
        _started(_examine, check, findings, expected)
    for check in checks:
        yield findings[check.of, check.name].result()


_Findings = Mapping[tuple[str, str], Future[Finding]]


def _examine(check: Check, findings: _Findings, expected: Expected) -> None:
    needed = [(check.of, need) if (check.of, need) in findings else ("", need) for need in check.needs]
    before = [findings[key].result() for key in needed]
    if lacking := [one.check for one in before if one.verdict is not Verdict.GOOD]:
        verdict, detail, remedy = Verdict.UNCHECKED, f"{' and '.join(lacking)} must be good first", ""
    else:
        verdict, detail, remedy = _found(check, expected)
    findings[check.of, check.name].set_result(Finding(check.of, check.name, verdict, detail, remedy))


def _found(check: Check, expected: Expected) -> tuple[Verdict, str, str]:
    result: Future[str] = Future()
    _started(_run, check, result)
    try:
        return Verdict.GOOD, result.result(check.limit_s), ""
    except NotUsedError as reason:
        return Verdict.UNCHECKED, str(reason), ""
    except AilmentError as ailment:
        return Verdict.BAD, ailment.detail, ailment.remedy
    except TimeoutError:
        return (
            Verdict.BAD,
            f"no answer within {check.limit_s:g} s",
            "see whether what it asks is overloaded or cut off by the network",
        )
    except Exception as error:  # noqa: BLE001 - a defect in one check must not hide what the others found
        if isinstance(error, (*expected, OSError, ValueError)):
            # Errors of this project end with the remedy.
            detail, _, remedy = " ".join(str(error).split()).rpartition("; ")
            return Verdict.BAD, detail or remedy, remedy if detail else ""
        return Verdict.BAD, f"{type(error).__name__}: {error}", "this is a defect of forescale; report it"


def _run(check: Check, result: Future[str]) -> None:
    try:
        result.set_result(check.run())
    except BaseException as error:  # noqa: BLE001 - the one who waits for it raises it
        result.set_exception(error)


def _started(work: Callable[..., None], *of: Any) -> None:
    # A daemon: what hangs in a server's silence does not keep the command from ending.
    Thread(target=work, args=of, daemon=True).start()
