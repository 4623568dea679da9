"""The optimum that was found in hindsight, carried out: it knows all that comes, and nobody can have it."""

from collections.abc import Mapping

from planner.replay.hindsight import Hindsight
from planner.replay.policy import Decision, Seen


class InHindsight:
    """It is replayed without lead time: who knows all ahead orders in time."""

    name = "hindsight"
    every_s = 60.0

    def __init__(self, found: Hindsight) -> None:
        self.first: Mapping[str, int] = found.changes[0][1]
        self._found, self._next = found, 1

    def decide(self, seen: Seen) -> Decision | None:
        due = None
        while self._next < len(self._found.changes) and self._found.changes[self._next][0] <= seen.at_s:
            due = self._found.changes[self._next][1]
            self._next += 1
        return None if due is None else Decision(due, "the plan that proved best")
