"""One day of a shadow: its schedules' steps replayed over the true arrivals, beside the observations."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from modeling.inputs.topology import Topology
from planner.clusters.arrival_trace import NOTHING_WAITS
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.ledger.entries import Observation, ShadowDay
from planner.ledger.shadow_records import ShadowSpan
from planner.plan_model import PlanModel
from planner.replay.load import MAX_MISSING, Load, minute_load
from planner.replay.policies.fixed_plans import AtMoments
from planner.replay.reality import Differences, Reality
from planner.replay.run import Replayed, replay
from planner.shadow.observed import MINUTE_S, ran

DAY = timedelta(days=1)
MINUTES = 1440
UNKNOWN_BEGINNING = "what waited at its beginning is not known, since the history before it lacks windows"


@dataclass(frozen=True)
class ShadowWorld:
    """The conditions of a shadow's replay. max_lag_s: a minute with more lag is a violation."""

    model: PlanModel
    engine: EngineTerms
    max_lag_s: float

    @property
    def topology(self) -> Topology:
        return self.model.topology


def midnight(day: date) -> datetime:
    return datetime(day.year, day.month, day.day, tzinfo=UTC)


def whole_days(start: datetime, end: datetime) -> list[date]:
    """UTC days wholly within [start, end)."""
    first = (start.astimezone(UTC) + DAY - timedelta(microseconds=1)).date()
    return [first + number * DAY for number in range(max(0, (end.astimezone(UTC).date() - first).days))]


def accrued_day(
    world: ShadowWorld,
    span: ShadowSpan,
    day: date,
    series: Mapping[str, ArrivalSeries],
    observations: Sequence[Observation],
    *,
    earlier: Mapping[date, ShadowDay],
    at: datetime,
) -> ShadowDay:
    """The day as the ledger stores it. observations: of the day and some hours around it. earlier: days of the span
    that were accrued before; the backlog at the end of the last is carried over. at: now.

    Raises PlanError if more of the day's history is missing than is bridged, or if the topology's operators are not
    those of the shadow's plans.
    """
    if set(span.first.parallelism) != set(world.topology.order):
        raise PlanError(
            "the topology file has other operators than the shadow's plans; the next plan starts a new shadow"
        )
    start = midnight(day)
    if lack := _lacking(series, start, start + DAY):
        raise PlanError(lack)
    begin, known = _beginning(world, span, day, earlier)
    if begin < start and _lacking(series, begin, start):
        begin, known = start, False
    load = _load(series, begin, start + DAY)
    would = _replayed(world, span, load)
    rows = slice(-MINUTES, None)
    instances, late = would.instances[rows], would.lag_s[rows] > world.max_lag_s
    real = ran(observations, start.timestamp(), MINUTES)
    observed, measured = np.isfinite(real.instances), np.isfinite(real.lag_s)
    changed_s = [each.in_effect_s - start.timestamp() for each in would.decisions if each.in_effect_s is not None]
    changed = [int(each // MINUTE_S) for each in changed_s if 0 <= each < MINUTES * MINUTE_S]
    return ShadowDay(
        topology=world.topology.name,
        day=day,
        accrued_at=at,
        max_lag_s=world.max_lag_s,
        observed_minutes=int(observed.sum()),
        measured_minutes=int(measured.sum()),
        real_instance_hours=float(real.instances[observed].sum()) / 60,
        real_violation_minutes=int((real.lag_s[measured] > world.max_lag_s).sum()),
        real_rescales=real.rescales,
        instance_hours=float(instances.sum()) / 60,
        instance_hours_observed=float(instances[observed].sum()) / 60,
        violation_minutes=int(late.sum()),
        violation_minutes_measured=int(late[measured].sum()),
        rescales=len(changed),
        rescales_observed=int(real.followed[changed].sum()),
        backlog=float(would.backlog[-1]),
        notes=(*load.notes, *([] if known else [UNKNOWN_BEGINNING])),
    )


def _replayed(world: ShadowWorld, span: ShadowSpan, load: Load) -> Replayed:
    first = (float(load.start_s), span.plan_at(load.start).parallelism)
    later = [(step.deploy_at.timestamp(), step.plan.parallelism) for step in span.steps if load.start <= step.deploy_at]
    policy = AtMoments("shadow", [first, *later], "a step of a shadow schedule")
    reality = Reality(world.model, world.engine, Differences(), load.start_s, load.end_s, load.mean_per_s)
    return replay(policy, load, reality, first[1])


def _beginning(
    world: ShadowWorld, span: ShadowSpan, day: date, earlier: Mapping[date, ShadowDay]
) -> tuple[datetime, bool]:
    """When to start the replay so that it contains everything that affects the day: the last midnight without a backlog
    or a change under way, or the beginning of the shadow. And whether that is known; it is not after a day without a
    row.
    """
    while midnight(day) - DAY >= span.start:
        before = earlier.get(day - DAY)
        if before is None or (before.backlog <= NOTHING_WAITS and not _changing(world, span, midnight(day))):
            return midnight(day), before is not None
        day -= DAY
    return span.start, True


def _changing(world: ShadowWorld, span: ShadowSpan, at: datetime) -> bool:
    """Whether a step requested before may not run yet; policies are asked once a minute."""
    ahead = timedelta(seconds=world.engine.lead_s + world.engine.whole_s + MINUTE_S)
    return any(at - ahead < step.deploy_at < at for step in span.steps)


def _lacking(series: Mapping[str, ArrivalSeries], start: datetime, end: datetime) -> str:
    """Why these arrivals cannot be replayed; empty if they can."""
    for source, each in series.items():
        if each.start > start or each.end < end:
            return (
                f"the history of source {source!r} goes from {each.start:%Y-%m-%d %H:%M} to {each.end:%Y-%m-%d %H:%M} "
                "UTC; build what is missing"
            )
        first = int((start - each.start).total_seconds() // each.window_s)
        last = -int((each.start - end).total_seconds() // each.window_s)
        missing = float(np.isnan(each.counts[first:last]).mean())
        if missing > MAX_MISSING:
            return (
                f"the history of source {source!r} lacks {missing:.0%} of its windows, at most {MAX_MISSING:.0%} are "
                "bridged; build them again where what is missing can still be read"
            )
    return ""


def _load(series: Mapping[str, ArrivalSeries], begin: datetime, end: datetime) -> Load:
    """Minutes of [begin, end), whose missing windows `_lacking` has checked; some windows on either side continue the
    rates at the edges.
    """
    around = {}
    for source, each in series.items():
        wide = timedelta(seconds=2 * each.window_s)
        around[source] = each.between(max(each.start, begin - wide), min(each.end, end + wide))
    return minute_load(around, may_be_silent=True, most_missing=1.0).between(begin.timestamp(), end.timestamp())
