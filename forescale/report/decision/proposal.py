"""A schedule as a person reviews it: its states and its terms, read at a moment, in local time."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from forescale.report.kit.local_time import UTC_TIME, LocalTime
from planner.ledger.minute_records import MinuteCount
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule

PROPOSED = "proposed"
OPEN_STATES = frozenset({PROPOSED})
NEGLIGIBLE = 0.005
"""Expected late minutes below which none are mentioned."""


@dataclass(frozen=True)
class Proposal:
    """at: when it is read. states: of a step in the ledger, by index; a step without one is proposed. in_shadow:
    nothing of it is deployed. max_lag_s: lag above which a minute is late, None if unknown. past: minutes of the week
    before it, of the shadow in shadow mode. ended: its outcome is being reported. reasons: of the states of steps, by
    index.
    """

    schedule_id: str
    schedule: ScalingSchedule
    at: datetime
    local: LocalTime = UTC_TIME
    states: Mapping[int, str] = field(default_factory=dict)
    in_shadow: bool = False
    max_lag_s: float | None = None
    past: MinuteCount | None = None
    ended: bool = False
    reasons: Mapping[int, str] = field(default_factory=dict)

    def state(self, step: int) -> str:
        return self.states.get(step, PROPOSED)

    @property
    def waiting(self) -> tuple[int, ...]:
        """Indices of the steps that a person still has to answer."""
        return tuple(index for index in range(len(self.schedule.steps)) if self.state(index) in OPEN_STATES)

    @property
    def asks(self) -> bool:
        """Whether an answer of a person decides anything."""
        return not self.in_shadow and not self.ended and self.schedule.basis.rung.plans and bool(self.waiting)

    @property
    def breaks_budget(self) -> bool:
        """Whether its own estimate exceeds what is allowed."""
        return not self._keeps(self.schedule.violation_minutes)

    @property
    def held(self) -> Alternative | None:
        """The running plan for the whole horizon, if it was costed."""
        return self._alternative(AlternativeKind.HOLD)

    @property
    def keeping(self) -> tuple[Alternative, ...]:
        """Plans that keep the budget within the limits of changes, the cheapest first, of those that were weighed."""
        costed = [each for each in self.schedule.alternatives if each.was_weighed and each.allowed]
        keeping = [each for each in costed if self._keeps(each.violation_minutes)]
        return tuple(sorted(keeping, key=lambda each: each.cost_instance_hours))

    def _keeps(self, minutes: float) -> bool:
        allowed = self.schedule.allowed_minutes
        return allowed is None or not minutes > allowed + NEGLIGIBLE

    def _alternative(self, kind: AlternativeKind) -> Alternative | None:
        return next((each for each in self.schedule.alternatives if each.kind is kind), None)
