"""Prometheus counters that may count arrivals at Kubernetes workloads, found by the names of their pods."""

import re
from collections.abc import Sequence
from typing import TYPE_CHECKING

from planner.clusters.job_description import JobDescription

if TYPE_CHECKING:
    from engines.prometheus.server import PrometheusServer

_MAX_SERIES = 2000
_OF_WHAT_COMES = re.compile(r"request|message|record|event|consumed|received")
_OF_SOMETHING_ELSE = re.compile(r"client|sent|produce|error|fail|retr|reject|drop|_bytes|gc_|log4j|logback")


def workload_counters(
    server: "PrometheusServer", job: JobDescription, begin_ms: int, end_ms: int, remarks: list[str]
) -> dict[str, str]:
    """Per source the selector of the only counter that fits; adds the evidence and other findings to remarks."""
    selectors: dict[str, str] = {}
    for source in job.fed:
        labels = job.series[source]
        asked = f'{{{labels},__name__=~".+_(total|count)"}}'
        found = server.series([asked], begin_ms, end_ms, limit=_MAX_SERIES)
        names = sorted({each.get("__name__", "") for each in found})
        if (name := _only([each for each in names if _fits(each)])) is None:
            several = ", ".join(each for each in names if _fits(each)) or ", ".join(names[:10]) or "none"
            remarks.append(
                f"{source}: no single counter of its pods counts all arrivals; {server.place} has {several}."
            )
            continue
        count = sum(each.get("__name__") == name for each in found)
        selectors[source] = f"{name}{{{labels}}}"
        remarks.append(f"{source}: {server.place} has {count} series {selectors[source]}.")
    return selectors


def _fits(name: str) -> bool:
    return bool(_OF_WHAT_COMES.search(name)) and not _OF_SOMETHING_ELSE.search(name)


def _only(names: Sequence[str]) -> str | None:
    """The only name; a plain counter is preferred to the count of a histogram."""
    plain = [name for name in names if name.endswith("_total")]
    return plain[0] if len(plain) == 1 else names[0] if len(names) == 1 else None
