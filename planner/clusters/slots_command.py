"""How a resource manager is asked for task slots: a command of the topology file, run without a shell."""

import subprocess
from collections.abc import Sequence
from dataclasses import dataclass

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
