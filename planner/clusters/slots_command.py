"""Requests task slots from a resource manager, by a command of the topology file that runs without a shell."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from planner.clock import Clock

TOTAL, LACKING = "{slots_total}", "{slots_lacking}"


@dataclass(frozen=True)
class SlotsCommand:
    """arguments: the program and its arguments; `{slots_total}` is replaced by the number of slots that the cluster is
    to have, `{slots_lacking}` by how many more than now. It must be harmless to run again with the same total.

    timeout_s: of the command itself. wait_s: until the slots are available after it has succeeded.
    """

    arguments: Sequence[str]
    timeout_s: float = 60.0
    wait_s: float = 300.0

    def trouble(self, total: int, lacking: int) -> str | None:
        """Run it. Returns why it failed, or None."""
        words = [word.replace(TOTAL, str(total)).replace(LACKING, str(lacking)) for word in self.arguments]
        shown = f"cluster.slots_command {words[0]!r} for {lacking} more slots"
        try:
            # Never show its output: it may contain a login of the resource manager.
            done = subprocess.run(
                words,
                stdin=subprocess.DEVNULL,
                stdout=subprocess.DEVNULL,
                stderr=subprocess.DEVNULL,
                timeout=self.timeout_s,
                check=False,
            )
        except subprocess.TimeoutExpired:
            return f"{shown} did not end within {self.timeout_s:g} s and was killed; see why, or give it more time"
        except OSError as error:
            return f"{shown} cannot be run: {error.strerror}; correct its path, or make it executable"
        if done.returncode:
            return f"{shown} ended with exit code {done.returncode}; run it by hand to see why"
        return None


Lacking = Callable[[], tuple[int, str]]
"""Returns the number of slots missing now, and a message about them."""


def await_slots(
    command: SlotsCommand,
    clock: Clock,
    total: int,
    lacking: Lacking,
    *,
    poll_s: float,
    latest: datetime | None = None,
) -> str | None:
    """Request slots and wait for them. Returns why they did not come, or None.

    total: slots that the cluster has now. latest: when the caller no longer needs them; None: only the settings limit
    the wait.
    """
    count, _ = lacking()
    left_s = float("inf") if latest is None else (latest - clock.now()).total_seconds()
    if left_s <= 0:
        return f"{count} slots are missing, and the step expired at {latest:%Y-%m-%d %H:%M:%S} UTC; none were requested"
    if trouble := replace(command, timeout_s=min(command.timeout_s, left_s)).trouble(total + count, count):
        return trouble
    waited_s = 0.0
    while (missing := lacking())[0]:
        if latest is not None and clock.now() >= latest:
            return (
                f"{missing[1]}; cluster.slots_command succeeded {waited_s:g} s ago, and the step expired at "
                f"{latest:%Y-%m-%d %H:%M:%S} UTC while waiting. See what delays the slots, or raise planning.lead_s"
            )
        if waited_s >= command.wait_s:
            return f"{missing[1]}; cluster.slots_command succeeded {waited_s:g} s ago; see what delays the slots"
        clock.wait(poll_s)
        waited_s += poll_s
    return None
