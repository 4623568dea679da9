"""Scores of a timeline: cost and violations per policy, over all seeds."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from modeling.arrays import Floats
from planner.pricing.instance_cost import HourlyCost, InstanceCost, hourly_cost
from planner.replay.own_budget import own_budget
from planner.replay.timeline import Timeline, Track

LAGS_S = (2.0, 10.0, 90.0)
LEVEL = 0.95


@dataclass(frozen=True)
class BudgetScore:
    """Of violations, as shares of all minutes. asked: the allowed share; used: mean over the seeds; overdrawn: mean
    excess of used over asked, 0 for seeds within it.
    """

    asked: float
    used: float
    overdrawn: float


@dataclass(frozen=True)
class Score:
    """One policy; means over the seeds. violation_share: of all minutes, at the target's lag; violation_minutes_at: per
    day, by lag in seconds. lag_p50_s …: of the lags of the minutes. recovery_s: from the beginning of a downtime to the
    end of the minute in which the backlog is gone, mean and longest over all downtimes, None without any; one that
    exceeds the replay counts up to its end. best: on the Pareto front of instance-hours and violation minutes.
    cpu_hours, memory_gib_hours, price: from the timeline's data on one instance, None without it.
    """

    policy: str
    seeds: int
    days: float
    instance_hours: float
    mean_instances: float
    violation_minutes: float
    violation_share: float
    violation_minutes_at: Mapping[float, float]
    budget: BudgetScore
    lag_p50_s: float
    lag_p95_s: float
    lag_p99_s: float
    recovery_mean_s: float | None
    recovery_longest_s: float | None
    rescales_per_day: float
    downtime_minutes: float
    best: bool
    cpu_hours: float | None = None
    memory_gib_hours: float | None = None
    price: float | None = None


@dataclass(frozen=True)
class Difference:
    """A policy compared with another one, paired by seed: mean, and 95 % confidence interval (Student's t), None for a
    single seed.
    """

    policy: str
    against: str
    instance_hours: float
    instance_hours_interval: tuple[float, float] | None
    violation_minutes: float
    violation_minutes_interval: tuple[float, float] | None


def scores(timeline: Timeline) -> list[Score]:
    """Of every policy, cheapest first."""
    found = [_score(name, timeline) for name in timeline.policies]
    points = {one.policy: (round(one.instance_hours, 6), round(one.violation_minutes, 6)) for one in found}
    best = {
        name: not any(other != mine and other[0] <= mine[0] and other[1] <= mine[1] for other in points.values())
        for name, mine in points.items()
    }
    ordered = sorted(found, key=lambda one: (one.instance_hours, one.violation_minutes))
    return [Score(**{**vars(one), "best": best[one.policy]}) for one in ordered]


def differences(timeline: Timeline, against: str) -> list[Difference]:
    """Of every other policy that shares a seed with `against`, in the order of the timeline."""
    seeds = {track.seed for track in timeline.of(against)}
    others = [name for name in timeline.policies if name != against]
    return [difference(timeline, name, against) for name in others if seeds & {t.seed for t in timeline.of(name)}]


def difference(timeline: Timeline, policy: str, against: str) -> Difference:
    """Over the seeds that both were replayed with."""
    mine, others = ({track.seed: track for track in timeline.of(name)} for name in (policy, against))
    seeds = sorted(set(mine) & set(others))
    hours = np.array([_hours(mine[seed]) - _hours(others[seed]) for seed in seeds])
    minutes = np.array([float(mine[s].violation.sum()) - float(others[s].violation.sum()) for s in seeds])
    return Difference(
        policy,
        against,
        float(hours.mean()),
        _interval(hours),
        float(minutes.mean()),
        _interval(minutes),
    )


def recoveries_s(track: Track) -> list[float]:
    """Of each downtime, in whole minutes."""
    down, waits = track.in_downtime > 0, (track.backlog > 0) | (track.in_downtime > 0)
    begins = np.flatnonzero(down & ~np.concatenate([[False], down[:-1]]))
    free = np.flatnonzero(~waits)
    found = []
    for begin in begins.tolist():
        at = int(np.searchsorted(free, begin))
        end = int(free[at]) if at < free.size else track.minute.size
        # The minute in which the backlog is worked off still belongs to the recovery.
        end += at < free.size and bool(track.backlog[end - 1] > 0)
        found.append(60.0 * (end - begin))
    return found


def _score(policy: str, timeline: Timeline) -> Score:
    tracks = timeline.of(policy)
    lag = np.concatenate([track.lag_s for track in tracks])
    recovered = [each for track in tracks for each in recoveries_s(track)]
    days = float(np.mean([track.days for track in tracks]))
    used, own = np.array([track.violation.mean() for track in tracks]), own_budget(policy)
    asked = timeline.allowed_share if own is None else own
    p50, p95, p99 = np.quantile(lag, (0.5, 0.95, 0.99)).tolist()
    return Score(
        policy=policy,
        seeds=len(tracks),
        days=days,
        instance_hours=float(np.mean([_hours(track) for track in tracks])),
        mean_instances=float(np.mean([track.instances.mean() for track in tracks])),
        violation_minutes=float(np.mean([track.violation.sum() for track in tracks])),
        violation_share=float(used.mean()),
        violation_minutes_at={bound: float(np.mean(lag > bound)) * 1440 for bound in LAGS_S},
        budget=BudgetScore(asked, float(used.mean()), float(np.maximum(0.0, used - asked).mean())),
        lag_p50_s=p50,
        lag_p95_s=p95,
        lag_p99_s=p99,
        recovery_mean_s=float(np.mean(recovered)) if recovered else None,
        recovery_longest_s=max(recovered, default=None),
        rescales_per_day=float(np.mean([track.changes_s.size / track.days for track in tracks])),
        downtime_minutes=float(np.mean([track.in_downtime.sum() / 60 for track in tracks])),
        best=False,
        **_costs(tracks, timeline.per_instance),
    )


def _costs(tracks: Sequence[Track], per_instance: Mapping[str, InstanceCost]) -> dict[str, float | None]:
    """Sums over the plan of each minute; means over the seeds."""
    hourly = [[hourly_cost(plan, per_instance) for plan in track.plans] for track in tracks]

    def mean(of: Callable[[HourlyCost], float | None]) -> float | None:
        sums = []
        for track, plans in zip(tracks, hourly, strict=True):
            values = [of(cost) for cost in plans]
            if None in values:
                return None
            sums.append(float(np.array(values, dtype=np.float64)[track.plan].sum()) / 60)
        return float(np.mean(sums))

    return {
        "cpu_hours": mean(lambda cost: cost.cores),
        "memory_gib_hours": mean(lambda cost: cost.memory_gib),
        "price": mean(lambda cost: cost.price),
    }


def _hours(track: Track) -> float:
    return float(track.instances.sum()) / 60


def _interval(values: Floats) -> tuple[float, float] | None:
    if values.size < 2:
        return None
    width = (
        float(scipy.special.stdtrit(values.size - 1, (1 + LEVEL) / 2)) * float(values.std(ddof=1)) / values.size**0.5
    )
    return float(values.mean()) - width, float(values.mean()) + width
