"""The process that owns a run, stored as tags, so that a later process can tell whether it is still alive."""

import os
import re
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from pathlib import Path

MAX_RUN_AGE = timedelta(hours=24)
"""A run without a known owner is left alone this long: no batch, calibration or replay record takes a day."""

_HOST, _PID, _STARTED, _PROCESS = "owner.host", "owner.pid", "owner.started_at", "owner.process"


@dataclass(frozen=True)
class RunOwner:
    """A process and its start. process: boot, pid namespace and start within that boot; empty if unknown."""

    host: str
    pid: int
    started_at: datetime
    process: str

    @classmethod
    def of_process(cls, pid: int) -> "RunOwner":
        """The owner for a process of this machine that starts now."""
        return cls(socket.gethostname(), pid, datetime.now(UTC), _process(pid))

    @classmethod
    def of_tags(cls, tags: Mapping[str, str]) -> "RunOwner | None":
        """The owner named by the tags; None if there is none."""
        try:
            started_at = datetime.fromisoformat(tags[_STARTED]).astimezone(UTC)
            return cls(tags[_HOST], int(tags[_PID]), started_at, tags[_PROCESS])
        except (KeyError, ValueError):
            return None

    def tags(self) -> dict[str, str]:
        return {
            _HOST: self.host,
            _PID: str(self.pid),
            _STARTED: self.started_at.isoformat(timespec="seconds"),
            _PROCESS: self.process,
        }

    def surely_dead(self) -> bool:
        """Whether it was a process of this machine, boot and pid namespace and has ended.

        Nothing is certain about processes of other machines or containers, or from before a reboot.
        """
        here = _scope()
        if not here or self.process.rpartition("/")[0] != here:
            return False
        return _ended(self.pid) or _process(self.pid) not in {"", self.process}


def abandoned_because(tags: Mapping[str, str], age: timedelta) -> str:
    """Why nobody works on a run marked as running any more; empty if somebody may."""
    owner = RunOwner.of_tags(tags)
    if owner is not None and owner.surely_dead():
        return f"process {owner.pid} of host {owner.host} ended without closing it"
    if age > MAX_RUN_AGE:
        known = f"process {owner.pid} of host {owner.host}" if owner else "whoever began it"
        return f"{known} has not closed it within {MAX_RUN_AGE / timedelta(hours=1):g} h"
    return ""


def _process(pid: int) -> str:
    """A globally unique identity of a process; empty if it cannot be determined."""
    scope = _scope()
    try:
        return f"{scope}/{_stat(pid)[19]}" if scope else ""
    except OSError:
        return ""


def _stat(pid: int) -> list[str]:
    """Fields from the third (state) of `man 5 proc_pid_stat`; the start is the 22nd. The name before them, in
    parentheses, may contain spaces and parentheses.
    """
    text = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8", errors="replace")
    return text.rpartition(")")[2].split()


def _scope() -> str:
    """Boot and pid namespace: within the same scope, a pid belongs to only one process at a time."""
    try:
        boot = Path("/proc/sys/kernel/random/boot_id").read_text(encoding="ascii").strip()
        namespace = re.sub(r"\D", "", Path("/proc/self/ns/pid").readlink().name)
    except OSError:
        return ""
    return f"{boot}/{namespace}"


def _ended(pid: int) -> bool:
    """Whether there is no such process, or only its exit code. Another user's process counts as existing."""
    try:
        os.kill(pid, 0)
        return _stat(pid)[0] == "Z"
    except ProcessLookupError:
        return True
    except OSError:
        return False
