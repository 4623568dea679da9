"""Runs checks in parallel, each after the checks it needs and within its time limit."""

from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import Future
from dataclasses import dataclass
from enum import StrEnum
from threading import Thread
from typing import Any


class CheckVerdict(StrEnum):
    GOOD = "good"
    BAD = "bad"
    UNCHECKED = "not checked"


@dataclass(frozen=True)
class Finding:
    """of: the topology, empty for what all topologies share. detail: what was found. remedy: what helps, empty where
    nothing is wrong, and where the detail is the text of an error, which says it.
    """

    of: str
    check: str
    verdict: CheckVerdict
    detail: str
    remedy: str = ""


class AilmentError(Exception):
    """What a check found wrong."""

    def __init__(self, detail: str, remedy: str) -> None:
        super().__init__(f"{detail}; {remedy}")
        self.detail, self.remedy = detail, remedy


class NotUsedError(Exception):
    """There is nothing to check, which is not a fault; the text says why."""


@dataclass(frozen=True)
class Check:
    """run: returns what was found, in a line; raises AilmentError, NotUsedError, or an expected error. needs: names of
    checks, of the same topology or shared, that must pass first. limit_s: how long it may take. of: the topology,
    empty for what all topologies share.
    """

    name: str
    run: Callable[[], str]
    needs: Sequence[str] = ()
    limit_s: float = 10.0
    of: str = ""


Expected = tuple[type[Exception], ...]
"""Errors about wrong input or surroundings, each with its remedy; all others are defects."""


def examined(checks: Sequence[Check], expected: Expected) -> Iterator[Finding]:
    """One finding per check, in their order. A check starts as soon as the checks it needs have passed. Servers that
    do not answer are waited for in parallel, so the total time is that of the longest chain of needs.
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
    if lacking := [one.check for one in before if one.verdict is not CheckVerdict.GOOD]:
        verdict, detail, remedy = CheckVerdict.UNCHECKED, f"{' and '.join(lacking)} must be good first", ""
    else:
        verdict, detail, remedy = _run_check(check, expected)
    findings[check.of, check.name].set_result(Finding(check.of, check.name, verdict, detail, remedy))


def _run_check(check: Check, expected: Expected) -> tuple[CheckVerdict, str, str]:
    result: Future[str] = Future()
    _started(_run, check, result)
    try:
        return CheckVerdict.GOOD, result.result(check.limit_s), ""
    except NotUsedError as reason:
        return CheckVerdict.UNCHECKED, str(reason), ""
    except AilmentError as ailment:
        return CheckVerdict.BAD, ailment.detail, ailment.remedy
    except TimeoutError:
        return (
            CheckVerdict.BAD,
            f"no answer within {check.limit_s:g} s",
            "see whether the server it asks is overloaded, or unreachable over the network",
        )
    except Exception as error:  # noqa: BLE001 - a defect in one check must not hide what the others found
        if isinstance(error, (*expected, OSError, ValueError)):
            return CheckVerdict.BAD, " ".join(str(error).split()), ""  # errors of this project name the remedy
        return CheckVerdict.BAD, f"{type(error).__name__}: {error}", "this is a defect of forescale; report it"


def _run(check: Check, result: Future[str]) -> None:
    try:
        result.set_result(check.run())
    except BaseException as error:  # noqa: BLE001 - raised again by the thread that waits for it
        result.set_exception(error)


def _started(work: Callable[..., None], *of: Any) -> None:
    # A daemon thread: a check that hangs on a silent server must not keep the command from ending.
    Thread(target=work, args=of, daemon=True).start()
