"""One decision as the report shows it: the schedule, its basis and, later, its outcome."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime

from forecasting.arrivals.history import ArrivalHistory
from forecasting.forecast import Forecast
from forescale.report.decision.proposal import Proposal
from forescale.report.kit.error import ReportError
from forescale.report.kit.local_time import UTC_TIME, LocalTime
from modeling.estimate import Estimate
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from planner.lag_record import LagRecord
from planner.ledger.entries import Outcome, ShadowDay
from planner.ledger.minute_records import MinuteCount
from planner.replay.last_day import LastDay
from planner.scaling_schedule import ScalingSchedule


@dataclass(frozen=True)
class CapacityStep:
    """What the plan that runs over [start, end) can process.

    mst_per_s: maximum sustainable throughput per source. usable_per_s: mst_per_s less headroom.
    """

    start: datetime
    end: datetime
    plan: PhysicalPlan
    mst_per_s: Mapping[str, float]
    usable_per_s: Mapping[str, float]


@dataclass(frozen=True)
class DecisionOutcome:
    """What happened after the decision.

    arrivals: real ones. lag: measured. steps: by index into the schedule's steps, without those of which nothing is
    known.
    """

    arrivals: ArrivalHistory
    lag: LagRecord
    steps: Mapping[int, Outcome] = field(default_factory=dict)


@dataclass(frozen=True)
class DecisionReport:
    """Everything a reviewer needs to approve, edit or veto one schedule.

    history: recent arrivals, None if there are none. forecasts: per source. capacity: of the schedule, oldest first.
    profiles: as the model used them; declared: from the topology file. max_utilisation, max_lag_s: the targets.
    now_estimate: the current plan under the planned peak, None if there is no forecast of it. step_estimates: each
    step's plan under its own planned load, by index, empty without a forecast. local: time zone of its times.
    links: MLflow run URL per source. states: of a step in the ledger, by index into the schedule's steps; a step
    without one is proposed. reasons: of these states, by index. shadow_days: of a schedule made in shadow mode, those
    accrued by then; None for any other.
    past: minutes of the week before it, of the shadow in shadow mode. last_day: the day before it under other policies,
    None if unknown.
    Raises ReportError if parts belong to different topologies or a step index does not exist.
    """

    schedule_id: str
    schedule: ScalingSchedule
    history: ArrivalHistory | None
    forecasts: Mapping[str, Forecast]
    capacity: tuple[CapacityStep, ...]
    profiles: Mapping[str, OperatorProfile]
    declared: Mapping[str, OperatorProfile]
    max_utilisation: float
    max_lag_s: float
    now_estimate: Estimate | None
    step_estimates: Mapping[int, Estimate] = field(default_factory=dict)
    links: Mapping[str, str] = field(default_factory=dict)
    states: Mapping[int, str] = field(default_factory=dict)
    outcome: DecisionOutcome | None = None
    shadow_days: tuple[ShadowDay, ...] | None = None
    past: MinuteCount | None = None
    last_day: LastDay | None = None
    local: LocalTime = UTC_TIME
    reasons: Mapping[int, str] = field(default_factory=dict)

    def __post_init__(self) -> None:
        where = f"report of schedule {self.schedule_id!r} for topology {self.topology!r}"
        parts = {} if self.history is None else {"history": self.history.topology}
        parts |= {f"forecast of {source!r}": forecast.topology for source, forecast in self.forecasts.items()}
        for part, topology in parts.items():
            if topology != self.topology:
                raise ReportError(
                    f"{where}: the {part} is of topology {topology!r}; give what the schedule was made from"
                )
        known = range(len(self.schedule.steps))
        outcomes = self.outcome.steps if self.outcome else {}
        if odd := sorted({*self.states, *outcomes} - set(known)):
            raise ReportError(f"{where}: step {odd[0]} does not exist; steps count from 0 and there are {len(known)}")
        for step in self.capacity:
            if step.end <= step.start:
                raise ReportError(f"{where}: capacity from {step.start} to {step.end}; a span ends after it starts")

    @property
    def topology(self) -> str:
        return self.schedule.topology

    @property
    def proposal(self) -> Proposal:
        """What the first screen says, as it stands when the decision is made."""
        return Proposal(
            self.schedule_id,
            self.schedule,
            self.schedule.made_at,
            self.local,
            self.states,
            self.shadow_days is not None,
            self.max_lag_s,
            self.past,
            self.outcome is not None,
            self.reasons,
        )

    @property
    def quantile(self) -> float:
        return self.schedule.quantile

    def state(self, step: int) -> str:
        return self.proposal.state(step)
