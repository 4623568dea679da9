"""What Flink's instances share their cores with: a task manager, or the host that several task managers run on."""

import re
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from engines.flink.answers import TaskManager

_HOST = re.compile(r"@\[?(?P<host>[^\]/]+?)\]?:\d+(?:/|$)")
_ROUNDING = 1e-6


@dataclass(frozen=True)
class Processor:
    """What shares cores: a task manager, or a host. task_managers: ids of all in it. cores: None if unknown."""

    name: str
    task_managers: tuple[str, ...]
    cores: float | None


def processors(managers: Sequence[TaskManager], container_cores: float | None) -> Sequence[Processor]:
    """Where instances compete for cores. container_cores: of one task manager, if people declared them.

    Task managers of one host share its cores, unless the declared ones leave it some: then each has its own. Without
    an address, as in a test cluster of a single process, task managers share one JVM, whose CPU all of them report.
    """
    by_host: defaultdict[str, list[TaskManager]] = defaultdict(list)
    for manager in managers:
        if address := _HOST.search(manager.path):
            by_host[address["host"]].append(manager)
    found: list[Processor] = []
    for host, there in by_host.items():
        seen = [manager.hardware.cores for manager in there if manager.hardware is not None]
        of_host = float(max(seen)) if seen else None
        declared = container_cores if of_host is None or container_cores is None else min(container_cores, of_host)
        apart = len(there) == 1 or (
            declared is not None and (of_host is None or len(there) * declared < of_host * (1 - _ROUNDING))
        )
        if apart:
            found += [Processor(each.id, (each.id,), of_host if declared is None else declared) for each in there]
        else:
            found.append(Processor(host, tuple(each.id for each in there), of_host))
    return found


def cores_of_one(managers: Sequence[TaskManager]) -> tuple[float | None, str]:
    """Cores of one task manager, and the evidence: those of its host, over the task managers on it. None if they are
    unknown or differ.
    """
    known = processors(managers, None)
    each = {one.cores / len(one.task_managers) for one in known if one.cores is not None}
    if len(each) != 1 or sum(len(one.task_managers) for one in known) < len(managers):
        return None, ""
    one = known[0]
    cores = each.pop()
    if len(one.task_managers) == 1:
        return cores, f"each task manager sees {cores:g} cores (a quota below that shows only in its container)"
    return cores, f"{len(one.task_managers)} task managers share the {one.cores:g} cores of {one.name}"


@dataclass(frozen=True)
class Shared:
    """What one instance shares cores with over a span. cores_used: by all in it, also other jobs and the JVM."""

    container: str
    cores_used: float
    cores: float | None


def shared_processors(
    known: Sequence[Processor],
    task_manager_of: Mapping[tuple[str, int], str],
    spans_s: Mapping[tuple[str, int], float],
    cpu_s: Mapping[str, float],
) -> dict[tuple[str, int], Shared]:
    """By instance, where the CPU of all task managers of its processor is known.

    task_manager_of, spans_s: by instance. cpu_s: CPU seconds of each task manager, over the span of its instances:
    Flink collects both at once.
    """
    span_s: dict[str, float] = {}
    for at, manager in task_manager_of.items():
        span_s[manager] = max(span_s.get(manager, 0.0), spans_s.get(at, 0.0))
    longest_s = max(span_s.values(), default=0.0)
    shared: dict[str, Shared] = {}
    for processor in known:
        if not all(manager in cpu_s for manager in processor.task_managers) or longest_s <= 0:
            continue
        used = sum(cpu_s[manager] / (span_s.get(manager) or longest_s) for manager in processor.task_managers)
        shared |= {manager: Shared(processor.name, used, processor.cores) for manager in processor.task_managers}
    return {at: shared[manager] for at, manager in task_manager_of.items() if manager in shared}
