"""A decision as `plan` and `edit` return it: what the ledger has of it, and what it was made from."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path

from forecasting.forecast import Forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.approvals import needs_review
from forescale.jobs.report import WrittenReport
from forescale.jobs.violation_budget import BudgetUse, budget_use
from planner.decision_basis import DecisionBasis
from planner.ledger.entries import ScheduleEntry, StepEntry
from planner.ledger.ledger import Ledger
from planner.replay.last_day import LastDay


@dataclass(frozen=True)
class ProposedSchedule:
    """config: of the topology, by which it was made. steps: of the entry, in order, in the state that they are in.
    peaks_per_s: of the forecasts, by source, horizon and quantile. budget: of violations. report: its page. asks: a
    person has to approve some of it. last_day: the day before under other policies, None if unknown. earlier_at: when
    it was made, if it was not made now as it answers the same question. model_notes: on what the model leaves out.
    """

    config: TopologyConfig
    entry: ScheduleEntry
    steps: tuple[StepEntry, ...]
    peaks_per_s: Mapping[str, Mapping[int, Mapping[float, float]]]
    budget: BudgetUse
    report: Path
    asks: bool = True
    last_day: LastDay | None = None
    earlier_at: datetime | None = None
    model_notes: tuple[str, ...] = ()

    @property
    def topology(self) -> str:
        return self.entry.schedule.topology

    @property
    def basis(self) -> DecisionBasis:
        return self.entry.schedule.basis

    @property
    def schedule_id(self) -> str:
        return self.entry.id


def proposed(
    config: TopologyConfig,
    ledger: Ledger,
    entry: ScheduleEntry,
    forecasts: Mapping[str, Forecast],
    written: WrittenReport,
    last_day: LastDay | None,
) -> ProposedSchedule:
    """forecasts: of each source, empty if there was nothing to plan by."""
    return ProposedSchedule(
        config,
        entry,
        tuple(ledger.steps(schedule_id=entry.id)),
        {
            source: {
                horizon_s: dict(zip(forecast.quantiles, peak.tolist(), strict=True))
                for horizon_s, peak in forecast.peak_per_s.items()
            }
            for source, forecast in forecasts.items()
        },
        budget_use(ledger, entry),
        written.path,
        needs_review(ledger, entry),
        last_day,
        model_notes=written.notes,
    )
