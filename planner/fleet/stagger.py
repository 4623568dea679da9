"""Keeps large rescales of different topologies apart: moves them earlier if possible, else reports them.

An engine that starts many instances at once loads the nodes, the image registry and the checkpoint store that all
topologies share.
"""

from bisect import bisect_left, insort
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta

import numpy as np

from modeling.arrays import Floats, Ints
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import FleetTerms, Quota, Stagger
from planner.horizon.horizon_plan import ChangeRules
from planner.horizon.prices import ChangeTerms
from planner.near_rescale import KeptBy, NearRescale
from planner.scaling_schedule import ScalingSchedule, ScheduledStep


@dataclass(frozen=True)
class ChangeBounds:
    """Bounds on the changes of one topology, whoever requests them."""

    terms: ChangeTerms
    rules: ChangeRules


@dataclass(frozen=True)
class Staggered:
    """holdings: in their order, with moved steps. moved: what they were. stuck: by topology, its rescales that stay
    close to those of others.
    """

    holdings: tuple[Holding, ...]
    moved: tuple[NearRescale, ...]
    stuck: Mapping[str, tuple[NearRescale, ...]]


@dataclass(frozen=True)
class _Rescale:
    """A step of a topology, by its index, and when it is requested."""

    topology: str
    number: int
    at_s: float
    started: int


def started(step: ScheduledStep) -> int:
    """Instances that a step starts."""
    before = step.replaces.parallelism
    return sum(max(0, count - before.get(name, 0)) for name, count in step.plan.parallelism.items())


def staggered(holdings: Sequence[Holding], terms: FleetTerms, bounds: Mapping[str, ChangeBounds]) -> Staggered:
    """From the last rescale back: each stays where it is or moves earlier, so that those after it need not wait.

    bounds: for each topology that may be planned again. A step stays if moving it would put it before the start of the
    schedule, before its topology has dwelt, within a closed span, or exceed a quota.
    """
    if terms.stagger is None:
        return Staggered(tuple(holdings), (), {})
    now = {each.name: each for each in holdings}
    uses = [QuotaUse(quota, holdings) for quota in terms.quotas]
    moved, placed = list[NearRescale](), list[_Rescale]()
    stuck: dict[str, tuple[NearRescale, ...]] = {}
    for rescale in sorted(_large(holdings, terms.stagger), key=lambda each: (-each.at_s, -each.started, each.topology)):
        at_s, other = _free(rescale, placed, terms.stagger.apart_s)
        if other is None:
            _place(rescale, placed)
            continue
        holding = now[rescale.topology]
        near = NearRescale(
            rescale.topology,
            holding.schedule.steps[rescale.number].deploy_at,
            rescale.started,
            other.topology,
            other.started,
            abs(rescale.at_s - other.at_s),
        )
        earlier = replace(near, earlier_s=rescale.at_s - at_s)
        changed = holding.with_schedule(_asked_earlier(holding.schedule, rescale.number, earlier))
        own = [each for each in uses if holding.name in each.quota.topologies]
        kept = _unmovable(near, holding, rescale, at_s, bounds[holding.name]) or _passed(near, own, holding, changed)
        if kept is not None:
            stuck[holding.name] = (*stuck.get(holding.name, ()), kept)
            _place(rescale, placed)
            continue
        for use in own:
            use.change(holding, changed)
        now[rescale.topology] = changed
        moved.append(earlier)
        _place(replace(rescale, at_s=at_s), placed)
    return Staggered(tuple(now[each.name] for each in holdings), tuple(moved), stuck)


def _large(holdings: Sequence[Holding], stagger: Stagger) -> list[_Rescale]:
    return [
        _Rescale(each.name, number, step.deploy_at.timestamp(), count)
        for each in holdings
        if not each.fixed
        for number, step in enumerate(each.schedule.steps)
        if (count := started(step)) >= stagger.large_instances
    ]


def _place(rescale: _Rescale, placed: list[_Rescale]) -> None:
    insort(placed, rescale, key=_latest_first)


def _latest_first(rescale: _Rescale) -> float:
    return -rescale.at_s


def _free(rescale: _Rescale, placed: Sequence[_Rescale], apart_s: float) -> tuple[float, _Rescale | None]:
    """The last moment, no later than its own, apart from all placed ones; and the one that it moves earlier for, None
    if it need not move. placed: the latest first.
    """
    at_s, first = rescale.at_s, None
    for number in range(bisect_left(placed, -at_s - apart_s, key=_latest_first), len(placed)):
        other = placed[number]
        if at_s - other.at_s >= apart_s - 1e-6:
            break
        if other.topology != rescale.topology and abs(other.at_s - at_s) < apart_s - 1e-6:
            at_s, first = other.at_s - apart_s, first or other
    return at_s, first


def _unmovable(
    near: NearRescale, holding: Holding, rescale: _Rescale, at_s: float, bounds: ChangeBounds
) -> NearRescale | None:
    """Why a step cannot be requested at a moment; None if it can."""
    if at_s < holding.schedule.start.timestamp():
        return replace(near, kept_by=KeptBy.NOW)
    if rescale.number:
        before = holding.schedule.steps[rescale.number - 1]
        if at_s < before.in_place_at.timestamp() + bounds.terms.apart_s:
            return replace(near, kept_by=KeptBy.DWELL, since=before.deploy_at)
    step = holding.schedule.steps[rescale.number]
    back_s = at_s + bounds.terms.stops_after_s(step.replaces, step.plan) + step.downtime_s
    if (span := bounds.rules.closed_for(at_s, back_s)) is not None:
        begins, ends = (datetime.fromtimestamp(edge_s, UTC) for edge_s in span)
        return replace(near, kept_by=KeptBy.FREEZE, since=begins, until=ends)
    return None


class QuotaUse:
    """The total as a step function of time. An update costs as much as it moves, independent of the fleet's size."""

    def __init__(self, quota: Quota, holdings: Sequence[Holding]) -> None:
        """Ignores holdings of topologies outside the quota."""
        self.quota = quota
        own = [each for each in holdings if each.name in quota.topologies]
        changes = [_changes(each) for each in own]
        at_s = np.concatenate([np.empty(0), *(begins_s for begins_s, _ in changes)])
        more = np.concatenate([np.empty(0, dtype=np.int64), *(each for _, each in changes)])
        order = np.argsort(at_s, kind="stable")
        first = sum(each.running for each in own)
        self._begins_s: Floats = np.concatenate([[-np.inf], at_s[order]])
        """A moment may occur several times; its last entry counts from then on."""
        self._held: Ints = first + np.concatenate([[0], np.cumsum(more[order])])

    def passed_by(self, before: Holding, changed: Holding) -> bool:
        """Whether the quota is exceeded at a moment at which the changed holding has more than before."""
        edges_s = _edges_s(before, changed)
        if not edges_s.size:
            return False
        first, last = np.searchsorted(self._begins_s, edges_s[[0, -1]], side="left")
        at_s = np.concatenate([edges_s[:-1], self._begins_s[first:last]])
        held = self._held[np.searchsorted(self._begins_s, at_s, side="right") - 1]
        more = changed.held(at_s) - before.held(at_s)
        return bool(((more > 0) & (held + more > self.quota.instances)).any())

    def change(self, before: Holding, changed: Holding) -> None:
        """Replace one holding with another."""
        edges_s = _edges_s(before, changed)
        if not edges_s.size:
            return
        places = np.searchsorted(self._begins_s, edges_s, side="right")
        self._held = np.insert(self._held, places, self._held[places - 1])
        self._begins_s = np.insert(self._begins_s, places, edges_s)
        inside = slice(places[0], places[-1] + edges_s.size)
        at_s = self._begins_s[inside]
        self._held[inside] += changed.held(at_s) - before.held(at_s)


def _changes(holding: Holding) -> tuple[Floats, Ints]:
    """When a holding changes, in epoch seconds, and by how many instances."""
    at_s = np.array([step.deploy_at.timestamp() for step in holding.schedule.steps])
    return at_s, np.diff(holding.held(np.concatenate([[-np.inf], at_s])))


def _edges_s(before: Holding, changed: Holding) -> Floats:
    """Moments at which either of two holdings of a topology changes, from the first to the end of the last difference,
    in epoch seconds; empty if they are equal.
    """
    at_s = np.append(moments_s([before, changed]), np.inf)
    which = np.flatnonzero(before.held(at_s) != changed.held(at_s))
    return at_s[which[0] : which[-1] + 2] if which.size else at_s[:0]


def _passed(near: NearRescale, uses: Sequence[QuotaUse], before: Holding, changed: Holding) -> NearRescale | None:
    """Why a changed holding does not fit its quotas; None if it does."""
    for use in uses:
        if use.passed_by(before, changed):
            return replace(near, kept_by=KeptBy.QUOTA, quota=use.quota.name, quota_instances=use.quota.instances)
    return None


def _asked_earlier(schedule: ScalingSchedule, number: int, moved: NearRescale) -> ScalingSchedule:
    """The schedule with one step earlier: its plan is in place that much earlier and paid for that much longer."""
    steps = list(schedule.steps)
    step, earlier = steps[number], timedelta(seconds=moved.earlier_s)
    hours = earlier / timedelta(hours=1)
    steps[number] = replace(
        step,
        deploy_at=step.deploy_at - earlier,
        in_place_at=step.in_place_at - earlier,
        cost_instance_hours=step.cost_instance_hours + hours * step.plan.instances,
        moved=moved,
    )
    if number:
        before = steps[number - 1]
        steps[number - 1] = replace(
            before,
            needed_until=before.needed_until - earlier,
            cost_instance_hours=before.cost_instance_hours - hours * before.plan.instances,
        )
    more_h = hours * (step.plan.instances - step.replaces.instances)
    price = None if schedule.price is None else schedule.price + hours * (step.more_per_hour or 0.0)
    cost_h = schedule.cost_instance_hours + more_h
    return replace(schedule, steps=tuple(steps), cost_instance_hours=cost_h, price=price)
