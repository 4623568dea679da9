"""Task managers in control groups of their own: quotas that come and go, and the CPU that they used."""

import contextlib
import time
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import psutil
from cpu_group import CpuGroup, cpu_group

from forescale.local.flink.local_cluster import LocalFlink


@dataclass(frozen=True)
class CpuSpan:
    """Cores that each task manager used over a span, by place, and how busy all other processes kept the machine, in
    cores.
    """

    cores: tuple[float, ...]
    others: float


@dataclass(frozen=True)
class Quotas:
    groups: Sequence[CpuGroup]
    processes: Sequence[psutil.Process]

    @property
    def count(self) -> int:
        return len(self.groups)

    def hold(self, cores: float | None) -> None:
        for group in self.groups:
            group.hold(cores)

    def begun(self) -> tuple[float, list[float], float]:
        """A moment, for `since`."""
        busy = psutil.cpu_times()
        return time.monotonic(), [_used_s(each) for each in self.processes], sum(busy) - busy.idle - busy.iowait

    def since(self, began: tuple[float, list[float], float]) -> CpuSpan:
        now, used_s, busy_s = self.begun()
        span_s = now - began[0]
        cores = tuple((new - old) / span_s for new, old in zip(used_s, began[1], strict=True))
        return CpuSpan(cores, (busy_s - began[2]) / span_s - sum(cores))


def _used_s(process: psutil.Process) -> float:
    times = process.cpu_times()
    return float(times.user + times.system)


@contextlib.contextmanager
def quotas(flink: LocalFlink) -> Iterator[Quotas]:
    """A group for each task manager, without a bound at first, and one for the job manager.

    Raises ServiceError where none can be made.
    """
    with contextlib.ExitStack() as stack:
        groups = [stack.enter_context(cpu_group(f"forescale-nexmark-{pid}", pid)) for pid in flink.task_manager_pids]
        stack.enter_context(cpu_group(f"forescale-nexmark-{flink.job_manager_pid}", flink.job_manager_pid))
        yield Quotas(groups, [psutil.Process(pid) for pid in flink.task_manager_pids])
