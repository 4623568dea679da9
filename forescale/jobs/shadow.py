"""Shadow mode, day by day: cost and violations of what would have run, in the ledger beside what really ran."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import date, timedelta

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.store import read_history
from forescale.codec import Moment
from forescale.files.topology import TopologyConfig
from forescale.jobs.observe import in_shadow_mode
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.known_profiles import unmeasured_notes
from forescale.situation.past import accrued_days
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from modeling.errors import ModelError
from planner.errors import PlanError
from planner.ledger.entries import ShadowDay
from planner.provenance import Ground
from planner.shadow.accrual import DAY, ShadowWorld, accrued_day, midnight, whole_days
from planner.shadow.comparison import Comparison, compared
from planner.shadow.observed import MAX_APART_S


@dataclass(frozen=True)
class Shadow:
    """since: when the shadow began. plan: the one that would run now, in brief. days: from the ledger, oldest first;
    total: of these days. pending: why a past day is not accrued. notes: for the reader. stands_on: of days accrued now.
    """

    topology: str
    since: Moment
    plan: str
    max_lag_s: float
    days: tuple[ShadowDay, ...]
    total: Comparison
    pending: Mapping[str, str]
    notes: tuple[str, ...]
    stands_on: tuple[Ground, ...] = ()


def shadow(workspace: Workspace, topology: str, *, days: int | None = None) -> Shadow:
    """Accrue new days, and return the last `days` of them; None: all since the shadow began.

    Raises PlanError for a topology that is not in shadow mode, or for which nothing was planned or observed in it;
    HistoryError without a history.
    """
    config = in_shadow_mode(workspace.config(topology))
    ledger, now = workspace.ledger, workspace.clock.now()
    span = ledger.shadow.span(config.topology)
    if span is None:
        raise PlanError(
            f"nothing was planned for topology {config.topology!r} in shadow mode yet; run `forescale plan "
            f"{config.topology}`"
        )
    if ledger.shadow.last_observed(config.topology) is None:
        raise PlanError(
            f"nobody has observed what topology {config.topology!r} runs; run `forescale replay "
            f"{config.topology} --live --observe` every few minutes, or turn on the DAG shadow"
        )
    pending = accrue(workspace, config)
    kept = accrued_days(ledger, span, config.topology)
    if days is not None:
        earliest = now.date() - days * DAY
        kept = tuple(day for day in kept if day.day >= earliest)
        pending = {day: why for day, why in pending.items() if day >= earliest}
    situation = workspace.situation(config)
    return Shadow(
        config.topology,
        span.start,
        span.plan_at(now).brief(),
        config.planning.max_lag_s,
        kept,
        compared(kept),
        {day.isoformat(): why for day, why in pending.items()},
        tuple(_notes(situation, kept)),
        (*grounds(situation), *rescale_grounds(situation)),
    )


def accrue(workspace: Workspace, config: TopologyConfig) -> dict[date, str]:
    """Record every whole past day of the shadow whose arrivals are known; returns why others are not. Recorded days
    stay as they are.

    Raises HistoryError if there is no history at all.
    """
    span, now = workspace.ledger.shadow.span(config.topology), workspace.clock.now()
    if span is None:
        return {}
    kept = {day.day: day for day in accrued_days(workspace.ledger, span, config.topology)}
    due = [day for day in whole_days(span.start, now) if day not in kept]
    if not due:
        return {}
    series = _series(workspace, config)
    world = _world(workspace, config)
    around, pending = timedelta(seconds=MAX_APART_S), {}
    for day in due:
        start = midnight(day)
        observed = workspace.ledger.shadow.observations(config.topology, start - around, start + DAY + around)
        try:
            _check_whole(config, series, day)
            kept[day] = accrued_day(world, span, day, series, observed, earlier=kept, at=now)
        except (PlanError, ModelError) as error:
            pending[day] = str(error)
            continue
        workspace.ledger.shadow.record_day(kept[day])
    return pending


def _series(workspace: Workspace, config: TopologyConfig) -> dict[str, ArrivalSeries]:
    history = read_history(workspace.settings.history_dir, config.topology)
    return {source: history.source(source) for source in config.as_topology().sources}


def _world(workspace: Workspace, config: TopologyConfig) -> ShadowWorld:
    """The simulated world, with the downtime and lead time that the shadow's schedules assume."""
    situation = workspace.situation(config)
    return ShadowWorld(situation.model, situation.learned.engine, config.planning.max_lag_s)


def _check_whole(config: TopologyConfig, series: Mapping[str, ArrivalSeries], day: date) -> None:
    """Raises PlanError while the history of the day may still change."""
    lateness = timedelta(seconds=config.arrivals.lateness_s)
    reached = min(each.end for each in series.values())
    if reached < midnight(day) + DAY + lateness:
        raise PlanError(
            f"the history reaches to {reached:%Y-%m-%d %H:%M} UTC and changes for {lateness} more "
            f"(arrivals.lateness_s); run `forescale history build {config.topology}` later"
        )


def _notes(situation: Situation, days: tuple[ShadowDay, ...]) -> list[str]:
    config, notes = situation.config, unmeasured_notes(situation.profiles)
    total = compared(days)
    if total.observed_minutes < 0.9 * total.minutes:
        notes.append(
            f"what ran is known for {total.observed_minutes / total.minutes:.0%} of the time; run `forescale "
            f"replay {config.topology} --live --observe` every few minutes, or turn on the DAG shadow"
        )
    if targets := sorted({day.max_lag_s for day in days} - {config.planning.max_lag_s}):
        notes.append(f"some days were accrued with a target of {targets[0]:g} s of lag, which then held")
    return [*notes, *(f"{day.day}: {note}" for day in days for note in day.notes)]
