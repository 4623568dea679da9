"""How a resource manager is asked for task slots: a command of the topology file, run without a shell."""

import subprocess
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from datetime import datetime

from planner.clock import Clock

TOTAL, LACKING = "{slots_total}", "{slots_lacking}"


@dataclass(frozen=True)
class SlotsCommand:
    """arguments: the program and what it is given; `{slots_total}` becomes how many slots the cluster is to have in
    all, `{slots_lacking}` how many more that is than now. Asked again with the same total, it must do no harm.

    timeout_s: of the command itself. wait_s: until the slots are there once it has ended well.
    """

    arguments: Sequence[str]
    timeout_s: float = 60.0
    wait_s: float = 300.0

    def trouble(self, total: int, lacking: int) -> str | None:
        """Runs it; why it failed, or None."""
        words = [word.replace(TOTAL, str(total)).replace(LACKING, str(lacking)) for word in self.arguments]
        shown = f"cluster.slots_command {words[0]!r} for {lacking} more slots"
        try:
            # What it writes is never repeated: it may hold a login of the resource manager.
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
"""How many slots lack now, and what to say of it."""


def await_slots(
    command: SlotsCommand,
    clock: Clock,
    total: int,
    lacking: Lacking,
    *,
    poll_s: float,
    latest: datetime | None = None,
) -> str | None:
    """Asks for slots and waits for them; why they did not come, or None.

    total: slots that the cluster has now. latest: when whoever asks no longer needs them; None: only the settings bound
    the wait.
    """
    count, _ = lacking()
    left_s = float("inf") if latest is None else (latest - clock.now()).total_seconds()
    if left_s <= 0:
        return f"{count} slots lack, and the step is of no use after {latest:%Y-%m-%d %H:%M:%S} UTC; nobody was asked"
    if trouble := replace(command, timeout_s=min(command.timeout_s, left_s)).trouble(total + count, count):
        return trouble
    waited_s = 0.0
    while (told := lacking())[0]:
        if latest is not None and clock.now() >= latest:
            return (
                f"{told[1]}; cluster.slots_command ended well {waited_s:g} s ago, and the step is of no use after "
                f"{latest:%Y-%m-%d %H:%M:%S} UTC: it was not waited for longer. See what keeps the slots, or raise "
                "planning.lead_s"
            )
        if waited_s >= command.wait_s:
            return f"{told[1]}; cluster.slots_command ended well {waited_s:g} s ago, see what keeps them"
        clock.wait(poll_s)
        waited_s += poll_s
    return None
