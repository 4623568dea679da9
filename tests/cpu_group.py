"""A CPU quota for running processes: a control group of its own (cgroup v1), as a container has one."""

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from forescale.local.errors import ServiceError

ROOT = Path("/sys/fs/cgroup/cpu")
PERIOD_S = 0.1
_FIRST_IN_LINE = "65536"
"""Shares beside which other work of the machine hardly counts: the processes get their quota."""


@dataclass(frozen=True)
class CpuGroup:
    """A control group that exists. folder: of its files."""

    folder: Path

    def hold(self, cores: float | None) -> None:
        """All its processes together get that many cores at most; None: without a bound."""
        quota_us = -1 if cores is None else round(cores * PERIOD_S * 1e6)
        (self.folder / "cpu.cfs_quota_us").write_text(str(quota_us))

    def throttled_s(self) -> float:
        """Seconds that processors waited for the next period, since the group exists."""
        fields = dict(line.split() for line in (self.folder / "cpu.stat").read_text().splitlines())
        return int(fields["throttled_time"]) / 1e9


@contextlib.contextmanager
def cpu_group(name: str, pid: int, cores: float | None = None) -> Iterator[CpuGroup]:
    """A group with all threads of the process until the block ends. Raises ServiceError where none can be made."""
    group = CpuGroup(ROOT / name)
    try:
        group.folder.mkdir()
    except OSError as error:
        raise ServiceError(
            f"no CPU quota can be set on this machine: {error}; run as root where cgroup v1 is mounted at {ROOT}"
        ) from None
    try:
        (group.folder / "cpu.shares").write_text(_FIRST_IN_LINE)
        (group.folder / "cpu.cfs_period_us").write_text(str(round(PERIOD_S * 1e6)))
        group.hold(cores)
        (group.folder / "cgroup.procs").write_text(str(pid))
        yield group
    finally:
        with contextlib.suppress(OSError):  # the process may have ended
            (ROOT / "cgroup.procs").write_text(str(pid))
        group.folder.rmdir()
