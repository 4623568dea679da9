"""make_schedule(): turns a horizon plan into a scaling schedule with the numbers that explain it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from math import isinf

import numpy as np

from modeling.excuse import Excuse
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.recovery import catch_up_s
from modeling.wording import count_of, rounded
from planner.decision_basis import NOTHING_KNOWN, BoundedSpan, DecisionBasis
from planner.disruption import disruptions
from planner.horizon.capacity_use import CapacityUse
from planner.horizon.headroom import Headroom
from planner.horizon.horizon_plan import HorizonPlan
from planner.horizon.horizon_search import Found, Turn, followed_course
from planner.horizon.spans import passed_spans
from planner.limits import too_many
from planner.pricing.placing import Placing
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule, ScheduledStep
from planner.search.cheapest_plan import cheapest_plan

MIN_PARALLELISM = "min_parallelism"
"""Target of an excuse for a running plan that is kept although it has fewer instances than min_parallelism."""
VIOLATION = "violation"
"""Target of an excuse for a plan that is within the limits but misses more than the chosen one."""
HEADROOM = "headroom"
"""Target of an excuse for a plan that misses no more than the chosen one, and is fuller than plans may be."""
WINDOWS = "windows"
"""Target of an excuse for a plan that has fewer instances than people want within a span."""
NEARLY_H, NEARLY_MINUTES = 0.05, 0.05
"""Differences in instance-hours and minutes up to these count as none."""


def make_schedule(
    planned: HorizonPlan,
    current: PhysicalPlan,
    *,
    quantile: float,
    basis: DecisionBasis = NOTHING_KNOWN,
    candidates: Mapping[str, PhysicalPlan] | None = None,
    placing: Placing | None = None,
) -> ScalingSchedule:
    """Pure. current: the running plan, with its packing. quantile: of the peaks that steps give as their load.
    candidates: proposed plans of the ladder, by name; each is reported as an alternative, with when it runs or why it
    does not. placing: gives the instances that a step moves to another container.
    """
    explanation = _Explanation(planned, quantile, basis.bounded)
    found, ahead = planned.found, planned.ahead
    plans = [current, *(planned.plan_of(turn) for turn in found.turns)]
    disrupted = disruptions(plans, planned.cheapest.topology, planned.cheapest.model.profiles, placing)
    steps = tuple(
        replace(explanation.step(number, before), disruption=of)
        for number, (before, of) in enumerate(zip(plans[:-1], disrupted, strict=True))
    )
    return ScalingSchedule(
        topology=current.topology,
        made_at=explanation.moment(0.0),
        start=explanation.moment(0.0),
        end=explanation.moment(float(ahead.edges_s[-1])),
        quantile=quantile,
        current=current,
        steps=steps,
        cost_instance_hours=found.instance_hours,
        violation_minutes=found.violation_minutes,
        violation_probability=float((found.late_minutes > 0).mean()),
        allowed_minutes=planned.allowed_minutes,
        violation_price_h=planned.prices.violation_h,
        alternatives=(*explanation.alternatives(), *explanation.proposals(candidates or {})),
        excuses=tuple(explanation.excuses(steps)),
        basis=basis,
        price=explanation.price(found),
        instance_price_per_hour=None if planned.pricing is None else planned.pricing.instance_per_hour,
        own_minutes=planned.own_minutes,
    )


class _Explanation:
    """Describes a horizon plan: its steps, alternatives and excuses."""

    def __init__(self, planned: HorizonPlan, quantile: float, spans: Sequence[BoundedSpan] = ()) -> None:
        self.planned, self.cheapest, self.quantile, self.spans = planned, planned.cheapest, quantile, spans
        self.use = CapacityUse(planned.ahead, planned.ladder)
        self.edges_s, self.turns = planned.course.edges_s, planned.found.turns
        self.ends_s = [*(turn.stop_s for turn in self.turns[1:]), float(self.edges_s[-1])]

    def moment(self, at_s: float) -> datetime:
        return datetime.fromtimestamp(self.planned.ahead.start_s, UTC) + timedelta(seconds=at_s)

    def load_per_s(self, plan: int, first: int, last: int) -> dict[str, float]:
        """When the plan is busiest."""
        peak = self.use.peak_per_s(plan, self.quantile, first, last)
        return dict(zip(self.cheapest.topology.sources, peak.tolist(), strict=True))

    def capacity_per_s(self, plan: int, step: int) -> float:
        """Mean over the sample paths."""
        carried = self.planned.course.capacity_per_s[plan]
        return float(carried[min(step, carried.shape[0] - 1)].mean())

    def followed(self, turns: Sequence[Turn]) -> Found:
        return followed_course(self.planned.course, turns, self.planned.terms, self.planned.prices)

    def price(self, found: Found) -> float | None:
        """In the currency of the prices; None if there are none."""
        return None if self.planned.pricing is None else found.paid_h * self.planned.pricing.instance_per_hour

    def price_per_hour(self, plan: int) -> float | None:
        pricing = self.planned.pricing
        return None if pricing is None else float(self.planned.course.prices_h[plan]) * pricing.instance_per_hour

    def amount(self, paid_h: float) -> str:
        """The weighed cost in words: a price if there is one."""
        pricing = self.planned.pricing
        if pricing is None:
            return f"{rounded(paid_h)} instance-hours"
        return f"a price of {rounded(paid_h * pricing.instance_per_hour)}"

    def step(self, number: int, before: PhysicalPlan) -> ScheduledStep:
        turn, until_s = self.turns[number], self.ends_s[number]
        plan, running = self.planned.plan_of(turn), self.running_before(number)
        downtime_s = self.planned.downtime_s(running, turn.plan)
        first, last = self.planned.ahead.span(turn.stop_s, until_s)
        load = self.load_per_s(turn.plan, first, last)
        usual_per_s = float(np.median(self.planned.course.rate_per_s[first]))
        capacity_per_s, warm_up = self.capacity_per_s(turn.plan, first), self.planned.terms.warm_up
        drain_s = catch_up_s(usual_per_s, capacity_per_s, downtime_s, warm_up, self.waiting_before(number))
        drain_s = min(drain_s, max(0.0, until_s - turn.stop_s - downtime_s))
        needed_s = self.needed_s(running, turn, first, last)
        model = self.cheapest.model
        estimate, (by_threads,) = model.estimate(plan, load), model.share_by_threads([plan], load)
        without = self.followed([*self.turns[:number], *self.turns[number + 1 :]])
        price, price_before = self.price_per_hour(turn.plan), self.price_per_hour(running)
        busy_before, busy_most = self.headroom(number, running, self.turns[max(0, number - 1)].stop_s)
        return ScheduledStep(
            deploy_at=self.moment(turn.asked_s),
            in_place_at=self.moment(turn.stop_s + downtime_s + drain_s),
            needed_from=self.moment(needed_s),
            needed_until=self.moment(until_s),
            plan=plan,
            replaces=before,
            load_per_s=load,
            bottleneck=estimate.bottleneck_text,
            utilisation=estimate.fullest,
            headroom_factor=estimate.headroom_factor * float(by_threads),
            downtime_s=downtime_s,
            catch_up_s=drain_s,
            cost_instance_hours=plan.instances * (until_s - turn.stop_s) / 3600.0,
            violation_minutes_without=without.violation_minutes,
            price_per_hour=price,
            more_per_hour=None if price is None or price_before is None else price - price_before,
            capacity_per_s=capacity_per_s,
            capacity_before_per_s=self.capacity_per_s(running, first),
            saved_h=without.paid_h - self.planned.found.paid_h,
            busy_before=busy_before,
            busy_most=busy_most,
        )

    def waiting_before(self, number: int) -> float:
        """Tuples that wait when the job stops for a turn: those of now, with what the median load adds and the plans
        before drain.
        """
        course, before = self.planned.course, self.turns[:number]
        stop_s, stops_s = self.turns[number].stop_s, [turn.stop_s for turn in before]
        edges_s = self.edges_s[self.edges_s < stop_s]
        waiting, plan, up_s = course.waiting, course.running, 0.0
        for from_s, to_s in pairwise(sorted({0.0, *edges_s.tolist(), *stops_s, stop_s})):
            for turn in before:
                if turn.stop_s == from_s:
                    up_s, plan = from_s + self.planned.downtime_s(plan, turn.plan), turn.plan
            step = self.planned.ahead.step_at(from_s)
            came = float(np.median(course.rate_per_s[step])) * (to_s - from_s)
            taken = self.capacity_per_s(plan, step) * max(0.0, to_s - max(from_s, up_s))
            waiting = max(0.0, waiting + came - taken)
        return waiting

    def running_before(self, number: int) -> int:
        return self.turns[number - 1].plan if number else self.planned.course.running

    def headroom(self, number: int, plan: int, since_s: float | None = None) -> tuple[float, float]:
        """How full a plan would be in place of a turn's, where its headroom counts, and how full it may be. since_s: if
        it had run since then.
        """
        headroom = self.planned.headroom or Headroom(self.quantile, 1.0)
        from_s = self.turns[number].stop_s if since_s is None else since_s
        first, last = self.planned.ahead.span(from_s, self.ends_s[number])
        used = self.use.of(headroom.quantile, first, last, each_moment=headroom.each_moment)[plan]
        share = float(self.planned.ladder.usable[plan])
        return float(used) * share, headroom.most * share

    def needed_s(self, running: int, turn: Turn, first: int, last: int) -> float:
        """When the load may exceed the capacity of the plan before; if it never does, when this plan is to run."""
        if self.planned.ladder.instances[turn.plan] <= self.planned.ladder.instances[running]:
            return turn.stop_s
        carried = self.planned.course.capacity_per_s[running]
        carried = carried[np.minimum(np.arange(first, last), carried.shape[0] - 1)]
        beyond = (self.planned.course.rate_per_s[first:last] > carried).mean(axis=1) > 1 - self.quantile
        return max(turn.stop_s, float(self.edges_s[first + int(beyond.argmax())])) if beyond.any() else turn.stop_s

    def alternatives(self) -> list[Alternative]:
        """Other schedules, costed over the same sample paths."""
        course = self.planned.course
        others = {AlternativeKind.HOLD: list[Turn]()}
        used = self.use.of(self.quantile)
        carries = np.flatnonzero(used <= 1)
        static = int(carries[course.weights_h[carries].argmin()] if carries.size else used.argmin())
        if static != course.running and (turns := self.at_once(static)):
            others[AlternativeKind.STATIC] = turns
        return [self.alternative(kind, turns) for kind, turns in others.items()]

    def proposals(self, candidates: Mapping[str, PhysicalPlan]) -> list[Alternative]:
        """Each proposed plan from the earliest possible moment, compared with the chosen schedule."""
        found = []
        for name, plan in candidates.items():
            number = self.planned.ladder.number(plan.parallelism)
            if number is None:
                continue
            held = number == self.planned.course.running
            since = [self.moment(turn.stop_s) for turn in self.turns if turn.plan == number]
            turns = [] if held else self.at_once(number)
            one = self.alternative(AlternativeKind.CANDIDATE, turns)
            found.append(replace(one, name=name, chosen_from=tuple(since)))
        return found

    def at_once(self, plan: int) -> list[Turn]:
        """The earliest allowed turn to a plan, or the earliest of all if none is; empty if the horizon ends before."""
        ladder, course = self.planned.ladder, self.planned.course
        lead_s = self.planned.terms.stops_after_s(ladder.plans[course.running], ladder.plans[plan])
        in_time = self.edges_s[:-1] >= course.free_s + lead_s - 1e-9
        allowed = in_time if course.turn_h is None else in_time & np.isfinite(course.turn_h[:, plan])
        later = self.edges_s[:-1][allowed if allowed.any() else in_time]
        return [Turn(plan, float(later[0]) - lead_s, float(later[0]))] if later.size else []

    def alternative(self, kind: AlternativeKind, turns: Sequence[Turn]) -> Alternative:
        found, chosen = self.followed(turns), self.planned.found
        plan = self.planned.ladder.plans[turns[-1].plan if turns else self.planned.course.running]
        return Alternative(
            "",
            found.instance_hours,
            len(turns),
            found.violation_minutes,
            price=self.price(found),
            kind=kind,
            parallelism=plan.parallelism,
            more_h=found.paid_h - chosen.paid_h,
            more_cost_h=found.cost_h - chosen.cost_h,
        )

    def excuses(self, steps: Sequence[ScheduledStep]) -> list[Excuse]:
        """For each chosen plan, why not the next smaller one; for a load or latency beyond all plans, why; and the
        smallest plan that cannot be packed.
        """
        excuses, instances = dict[str, Excuse](), self.planned.ladder.instances
        for number, turn in enumerate(self.turns):
            fewer = np.flatnonzero(instances < instances[turn.plan])
            if fewer.size and fewer[-1] != self.running_before(number):
                excuse = self.one_fewer(number, int(fewer[-1]))
                excuses |= {} if excuse is None else {excuse.plan_id: excuse}
        strongest = int(self.use.of(self.quantile).argmin())
        whole = self.load_per_s(strongest, 0, self.planned.ahead.steps)
        of = self.cheapest
        for load in (*(step.load_per_s for step in steps), whole):
            beyond = cheapest_plan(of.model, load, of.limits, of.price)
            if isinstance(beyond, Excuse):
                excuses[beyond.plan_id] = beyond
        if self.planned.unpacked:
            excuse = self.unpacked(min(self.planned.unpacked))
            excuses[excuse.plan_id] = excuse
        if not steps and (below := self.below_least()) is not None:
            excuses[below.plan_id] = below
        running = self.planned.ladder.plans[self.planned.course.running]
        for excess in too_many(running, of.limits):
            whose = f" of {excess.operator}" if excess.operator else ""
            reason = f"the running plan has {count_of(round(excess.value), 'instance')}{whose} > {excess.kind}"
            excuses[running.plan_id] = Excuse(
                running,
                excess.kind,
                excess.operator,
                excess.value,
                excess.bound,
                f"{reason} of {excess.bound:g}",
                "raise that to keep it",
            )
        return list(excuses.values())

    def unpacked(self, number: int) -> Excuse:
        """Why a plan cannot be packed; its bound is the size of the largest plan that can."""
        plan, ladder = self.planned.ladder.plans[number], self.planned.ladder
        packed = [float(count) for at, count in enumerate(ladder.instances) if at not in self.planned.unpacked]
        reason = f"it cannot be packed: {self.planned.unpacked[number]}"
        remedy = "offer more or larger containers, or more nodes, in the section packing"
        return Excuse(plan, "packing", "", float(plan.instances), max(packed, default=0.0), reason, remedy)

    def below_least(self) -> Excuse | None:
        """For the running plan, if it has fewer instances than planning.min_parallelism."""
        plan = self.planned.ladder.plans[self.planned.course.running]
        wanted = {name: least for name, least in self.planned.least.items() if plan.parallelism[name] < least}
        if not wanted:
            return None
        name, least = next(iter(wanted.items()))
        count = plan.parallelism[name]
        reason = (
            f"{count_of(count, 'instance')} of operator {name!r} < planning.min_parallelism of {least}: that runs "
            "already, and no change is worth its rescale"
        )
        give = ", ".join(f"{each} {fewest}" for each, fewest in wanted.items())
        remedy = f"deploy a plan with {give}, or lower min_parallelism"
        return Excuse(plan, MIN_PARALLELISM, name, float(count), float(least), reason, remedy, wanted)

    def one_fewer(self, number: int, smaller: int) -> Excuse | None:
        """None where no change may lead to the smaller plan, or from it."""
        chosen, plan = self.planned.found, self.planned.ladder.plans[smaller]
        turns = [*self.turns[:number], replace(self.turns[number], plan=smaller), *self.turns[number + 1 :]]
        turns = [
            turn for before, turn in pairwise([None, *turns]) if turn and not (before and before.plan == turn.plan)
        ]
        found = self.followed(turns)
        larger = self.planned.plan_of(self.turns[number]).parallelism
        change = {name: count for name, count in larger.items() if plan.parallelism[name] != count}
        give = ", ".join(f"{name} {count}" for name, count in change.items())
        from_s, until_s = (self.moment(at_s).timestamp() for at_s in (self.turns[number].stop_s, self.ends_s[number]))
        for _, name, count, least in passed_spans(plan.parallelism, from_s, until_s, self.spans):
            if larger[name] >= least > count:
                reason = f"planning.windows wants at least {count_of(least, 'instance')} of {name} while it would run"
                return Excuse(plan, WINDOWS, name, float(count), float(least), reason, f"give {give}", change)
        if isinf(found.cost_h):
            return None
        value, bound = found.violation_minutes, chosen.violation_minutes
        used, most = self.headroom(number, smaller)
        allowed = self.planned.allowed_minutes
        if used > most and (value - bound < NEARLY_MINUTES or (allowed is not None and value <= allowed)):
            reason = f"it would be {used:.0%} busy, and at most {most:.0%} is aimed for"
            return Excuse(plan, HEADROOM, "", used, most, reason, f"give {give}", change)
        # Two numbers that look alike are no reason.
        digits = next((each for each in (2, 3, 4) if rounded(value, each) != rounded(bound, each)), 2)
        reason = f"{rounded(value, digits)} min in violation are expected instead of {rounded(bound, digits)}, " + (
            f"for {self.amount(hours)} less"
            if (hours := chosen.paid_h - found.paid_h) > 0
            else f"and it costs {self.amount(-hours)} more with what the guard adds"
        )
        return Excuse(plan, VIOLATION, "", value, bound, reason, f"give {give}", change)
