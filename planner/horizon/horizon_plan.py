"""Plans a horizon from new forecasts: combines ladder, outlook and budget for one search."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from math import inf

import numpy as np

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.rescaling.state import state_moves
from planner.decision_basis import BoundedSpan
from planner.errors import PlanError
from planner.horizon.budget import Budget
from planner.horizon.headroom import Headroom, Rungs
from planner.horizon.horizon_search import Course, Found, Turn, best_course, followed_course
from planner.horizon.kept_budget import Minutes, Question, best_kept, course_within
from planner.horizon.ladder import Ladder, capacity_ladder
from planner.horizon.outlook import Outlook, outlook
from planner.horizon.prices import ChangeTerms, DisruptionPrices, Prices
from planner.horizon.spans import KeptSpans, as_within, bounded_course, plans_within
from planner.horizon.stairs import stairs
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.pricing.plan_pricing import PlanPricing
from planner.search.remembered_plans import RememberedPlans

BEYOND = 1.3
"""The ladder's largest plan carries this multiple of the highest rate on any path."""
DRAINS = (1.0, 2.0, 4.0)
"""Multiples of drain_s within which plans of the ladder drain what waits now."""
MAX_BEYOND = 1.5
"""The ladder is rebuilt if it reaches this multiple of what it must: the search time grows with the number of plans."""
FIRST_PRICE_H = 3.0
"""Initial price of a violation minute, in instance-hours, from which the right one is searched."""
KEPT_PART = 0.5
"""Share of the price of a rescale that must be gained before an announced rescale is dropped."""
MIN_RESCALE_H, MAX_RESCALE_H = 0.1, 10_000.0
"""Range in which the price of a rescale is raised until there are few enough of them."""
STATIC_QUANTILE = 0.95
"""Quantile of the peak that one plan for the whole horizon carries, if no headroom gives one."""
RAISED = (1.15, 1.35, 1.7, 2.2)
"""Capacities over those that were searched, of schedules that are tried in case no searched one keeps the budget."""
DAY_S = 86400.0


@dataclass(frozen=True)
class Announced:
    """A turn of an earlier plan that is still to come: the job stops at epoch second stop_s for a plan. approved:
    nobody has to answer for it any more.
    """

    stop_s: float
    plan: Mapping[str, int]
    approved: bool = False


@dataclass(frozen=True)
class Present:
    """The state that a plan begins with. at_s: epoch seconds. running: the running plan; waiting: tuples at the
    sources; free_at_s: the earliest moment at which a change may be requested. changes: those of the last day, in epoch
    seconds. running_since_s: epoch second since which the plan runs.
    """

    at_s: float
    running: Mapping[str, int]
    waiting: float = 0.0
    free_at_s: float = 0.0
    announced: Sequence[Announced] = ()
    changes: Sequence[float] = ()
    running_since_s: float = -inf


@dataclass(frozen=True)
class ChangeRules:
    """closed: spans, in epoch seconds, in which no change is requested and the job does not stop for one. most_a_day:
    most changes within any 24 hours. asked_from_s: no change is requested before this epoch second, except those
    that are announced and approved: it leaves time for a review. bounded: instances that a person wants for a span.
    """

    closed: Sequence[tuple[float, float]] = ()
    most_a_day: int | None = None
    asked_from_s: float = -inf
    bounded: Sequence[BoundedSpan] = ()

    def closed_for(self, asked_s: float, back_s: float) -> tuple[float, float] | None:
        """The first closed span that overlaps a change from its request to the job's return, in epoch seconds."""
        return next(((begin, end) for begin, end in self.closed if asked_s < end and back_s > begin), None)


@dataclass(frozen=True)
class Change:
    """A plan that is requested at a moment, in epoch seconds."""

    plan: PhysicalPlan
    at_s: float


@dataclass(frozen=True)
class HorizonPlan:
    """The turns that were found, with all inputs of the search. cheapest: source of the ladder's plans. course, found:
    on paths that the search has not seen, if the forecast has enough of them, since the search fits its turns to its
    own paths; late is a plan there that falls behind, not one that is fuller than a person wants. allowed_minutes: the
    budget, None if each minute has a fixed price; own_minutes: what it would be if the past had used its share.
    pricing: None if only instances are weighed. unpacked: by index, why plans of the ladder cannot be packed; the
    search avoids these. least: min_parallelism by operator. headroom: of every plan that is turned to.
    """

    cheapest: RememberedPlans
    ahead: Outlook
    ladder: Ladder
    course: Course
    terms: ChangeTerms
    prices: Prices
    found: Found
    allowed_minutes: float | None
    pricing: PlanPricing | None = None
    unpacked: Mapping[int, PlanError] = field(default_factory=dict)
    least: Mapping[str, int] = field(default_factory=dict)
    own_minutes: float = 0.0
    headroom: Headroom | None = None

    def plan_of(self, turn: Turn) -> PhysicalPlan:
        return self.ladder.plans[turn.plan]

    def downtime_s(self, before: int, plan: int) -> float:
        """Of a change between two plans of the ladder."""
        return float(self.course.downtimes_s(self.terms)[before, plan])

    @property
    def within_budget(self) -> bool:
        """By the paths that the search has not seen."""
        return self.allowed_minutes is None or self.found.violation_minutes <= self.allowed_minutes


def room_between(closed: Sequence[tuple[float, float]], stop_s: Floats) -> Floats:
    """Seconds from the closed span before each stop and to the one after it, shape (stops, 2); -1 within one.

    >>> room_between([(100.0, 200.0), (500.0, 600.0)], np.array([50.0, 150.0, 260.0])).tolist()
    [[inf, 50.0], [-1.0, -1.0], [60.0, 240.0]]
    """
    room_s = np.full((stop_s.size, 2), inf)
    for begin_s, end_s in closed:
        before, after = stop_s <= begin_s, stop_s >= end_s
        room_s[before, 1] = np.minimum(room_s[before, 1], begin_s - stop_s[before])
        room_s[after, 0] = np.minimum(room_s[after, 0], stop_s[after] - end_s)
        room_s[~(before | after)] = -1.0
    return room_s


NO_RULES = ChangeRules()
NO_DISRUPTION = DisruptionPrices()


def most_a_day(before_s: Sequence[float], changes_s: Sequence[float]) -> int:
    """Most changes within any 24 hours that end with one of changes_s; all times in seconds from the same origin."""
    every = sorted([*before_s, *changes_s])
    return max((sum(end_s - DAY_S < at_s <= end_s for at_s in every) for end_s in changes_s), default=0)


class HorizonPlanner:
    """Keeps the ladder, the cheapest plans and the price of a violation minute from one forecast to the next."""

    def __init__(
        self,
        model: PlanModel,
        limits: Limits,
        terms: ChangeTerms,
        rescale_h: float,
        least: Mapping[str, int] | None = None,
        pricing: PlanPricing | None = None,
        disruption: DisruptionPrices = NO_DISRUPTION,
        headroom: Headroom | None = None,
    ) -> None:
        """rescale_h: instance-hours that avoiding a rescale is worth. least: min_parallelism by operator. pricing: of
        plans, None to count instances. disruption: costs of a change besides rescale_h. headroom: of every plan that
        is turned to; None if the budget alone decides it.
        """
        self._headroom = headroom
        self._least, self._pricing = least or {}, pricing
        self._of_instances = {} if pricing is None else pricing.of_instances
        self.cheapest = RememberedPlans(model, limits, self._of_instances)
        self.terms = terms
        self._prices = Prices(FIRST_PRICE_H, rescale_h, disruption.started_h, disruption.moved_gib_h)
        self._ladder: Ladder | None = None
        self._restore_s: Floats | None = None
        self._highest: Mapping[str, float] = {}

    @property
    def topology(self) -> Topology:
        return self.cheapest.topology

    @property
    def prices(self) -> Prices:
        """Those of the last schedule."""
        return self._prices

    def believe(self, profiles: Profiles, arrival_cv2: float | Arrivals) -> None:
        """Use these profiles from now on."""
        model = self.cheapest.model.believing(profiles, arrival_cv2)
        self.cheapest = RememberedPlans(model, self.cheapest.limits, self._of_instances)
        self._ladder = None

    def planned(
        self,
        forecasts: Mapping[str, Forecast],
        present: Present,
        budget: Budget,
        rules: ChangeRules = NO_RULES,
        candidates: Sequence[Mapping[str, int]] = (),
    ) -> HorizonPlan | None:
        """The best schedule, or None if the forecasts have ended. candidates: additional plans that may be chosen.
        Raises PlanError or ModelError for inputs that do not fit together.
        """
        ahead = outlook(forecasts, self.topology.sources, present.at_s, self.terms.lead_s)
        if ahead is None:
            return None
        announced = [each for each in present.announced if self._fits(each.plan)]
        proposed = [plan for plan in candidates if self._fits(plan)]
        draining = self._draining(ahead, present.waiting)
        wanted = [present.running, *(each.plan for each in announced), *proposed, *draining]
        ladder = self._climbed(ahead, wanted)
        spans = [each for each in rules.bounded if each.overlaps(ahead.start_s, ahead.start_s + ahead.edges_s[-1])]
        if spans:
            within = [plan for plan in plans_within(ladder, spans) if self._fits(plan)]
            ladder = self._climbed(ahead, [*wanted, *within])
        turn_h = self._turn_h(ahead, ladder, present.running, announced, rules.asked_from_s)
        running = ladder.number(present.running)
        if running is not None and not self._fits(present.running):
            turn_h[:, running] = inf
        prices_h, unpacked = self._priced(ladder)
        turn_h[:, list(unpacked)] = inf
        course = self._course(ahead, ladder, present, turn_h, prices_h, rules.closed)
        course = replace(course, announced=self._turns_of(announced, ladder, ahead))
        # What waits now is drained once: a rescue of later stays until the load is gone, and would hold that plan.
        ordinary = min((sum(plan.values()) for plan in draining), default=inf)
        rescuers = int((ladder.instances < ordinary).sum())
        course = replace(course, rescuers=rescuers)
        allowed, own = budget.minutes(60 * ahead.hours), budget.own_minutes(60 * ahead.hours)
        judged, by = course, ahead
        unseen = outlook(forecasts, self.topology.sources, present.at_s, self.terms.lead_s, unseen=True)
        if unseen is not None:
            judged, by = self._course(unseen, ladder, present, turn_h, prices_h, rules.closed), unseen
            judged = replace(judged, rescuers=rescuers)
        instead = as_within(ladder, ahead, spans) if spans else None
        may_stop = np.isfinite(turn_h)
        rungs = Rungs(ahead, ladder, course, self.terms, may_stop, self._prices.rescale_h, instead)
        question = self._question(rungs, judged, present, rules, spans)
        kept = best_kept(question, budget.priced(self._prices, 60 * ahead.hours), allowed, own)
        self._prices = replace(self._prices, violation_h=kept.prices.violation_h, most_late_s=kept.prices.most_late_s)
        if ladder.has_headroom:
            judged = replace(judged, capacity_per_s=by.capacity_per_s(ladder.to_the_full))
        return HorizonPlan(
            self.cheapest,
            ahead,
            ladder,
            judged,
            self.terms,
            kept.prices,
            followed_course(judged, kept.found.turns, self.terms, kept.prices) if ladder.has_headroom else kept.found,
            allowed,
            self._pricing,
            unpacked,
            self._least,
            own,
            headroom=self._headroom,
        )

    def _question(
        self, rungs: Rungs, judged: Course, present: Present, rules: ChangeRules, spans: Sequence[BoundedSpan]
    ) -> Question:
        """judged: with the paths that judge what was found on the others. spans: of the rules, within the horizon."""
        course, headroom = rungs.course, self._headroom
        if rungs.instead is not None:
            course = bounded_course(course, rungs.instead)

        def too_many(turns: Sequence[Turn]) -> bool:
            before_s = [at_s - rungs.ahead.start_s for at_s in present.changes]
            stops_s = [turn.stop_s for turn in turns]
            return rules.most_a_day is not None and most_a_day(before_s, stops_s) > rules.most_a_day

        def search(prices: Prices, allowed: float | None, minutes_of: Minutes) -> tuple[Found, Prices]:
            found, at = course_within(course, self.terms, prices, allowed, minutes_of)
            now = at
            while too_many(found.turns):
                if now.rescale_h >= MAX_RESCALE_H:
                    # No price removes enough of them, as the rescues that would replace them cost it too.
                    return followed_course(course, (), self.terms, at), at
                now = replace(now, rescale_h=max(MIN_RESCALE_H, 2 * now.rescale_h))
                found = best_course(course, self.terms, now)
            return found, at

        def admitted(turns: Sequence[Turn]) -> bool:
            return not turns or not too_many(turns)

        keeping = KeptSpans(rungs, spans, admitted)

        def adapted(turns: tuple[Turn, ...]) -> list[tuple[Turn, ...]]:
            several = [turns] if headroom is None else rungs.with_headroom(turns, headroom)
            return [keeping.kept(each) for each in several] if spans else several

        def others(turns: Sequence[Turn]) -> list[tuple[Turn, ...]]:
            if headroom is None or headroom.each_moment:
                share, quantile = 1.0, STATIC_QUANTILE
            else:
                share, quantile = headroom.most, headroom.quantile
            static = rungs.carrying(rungs.use.of(quantile), share)
            larger = [rungs.raised(turns, factor) for factor in RAISED]
            return [rungs.possible(course.announced), rungs.at_once(static), *larger]

        def fewer(turns: tuple[Turn, ...]) -> list[tuple[Turn, ...]]:
            return [rungs.possible([*turns[:at], *turns[at + 1 :]]) for at in range(len(turns))]

        def judge(turns: tuple[Turn, ...], at: Prices) -> Found:
            return followed_course(judged, turns, self.terms, at)

        return Question(search, adapted, admitted, judge, others, fewer, keeping.broken_s)

    def followed(
        self,
        forecasts: Mapping[str, Forecast],
        present: Present,
        several: Sequence[Sequence[Change]],
        budget: Budget,
        violation_h: float,
    ) -> list[HorizonPlan] | None:
        """Cost and violations of each of several sequences of changes, all on one course. violation_h: price of a
        violation minute, in instance-hours. None if the forecasts have ended. Raises PlanError for a change that would
        stop the job after their end.
        """
        of = forecasts, self.topology.sources, present.at_s, self.terms.lead_s
        ahead = outlook(*of, unseen=True) or outlook(*of)
        if ahead is None:
            return None
        running = PhysicalPlan(self.topology.name, dict(present.running))
        plans = [running, *(change.plan for changes in several for change in changes)]
        ladder = self._climbed(ahead, [plan.parallelism for plan in plans])
        turns = [self._turns(changes, ladder, running, ahead) for changes in several]
        ahead = ahead.split([turn.stop_s for each in turns for turn in each])
        prices_h, unpacked = self._priced(ladder)
        if beyond := [turn.plan for each in turns for turn in each if turn.plan in unpacked]:
            raise PlanError(f"{ladder.plans[beyond[0]].brief()} cannot be packed: {unpacked[beyond[0]]}")
        turn_h = np.zeros((ahead.steps, len(ladder.plans)))
        course = self._course(ahead, ladder.to_the_full, present, turn_h, prices_h)
        prices = replace(budget.priced(self._prices, 60 * ahead.hours), violation_h=violation_h)
        allowed = budget.minutes(60 * ahead.hours)
        several_found = [followed_course(course, each, self.terms, prices) for each in turns]
        return [
            HorizonPlan(
                self.cheapest,
                ahead,
                ladder,
                course,
                self.terms,
                prices,
                found,
                allowed,
                self._pricing,
                unpacked,
            )
            for found in several_found
        ]

    def _turns(
        self, changes: Sequence[Change], ladder: Ladder, running: PhysicalPlan, ahead: Outlook
    ) -> tuple[Turn, ...]:
        turns, before = [], running
        for change in changes:
            number = ladder.number(change.plan.parallelism)
            assert number is not None, "the ladder was made with it"
            asked_s = max(0.0, change.at_s - ahead.start_s)
            stop_s = asked_s + self.terms.stops_after_s(before, change.plan)
            if stop_s >= ahead.edges_s[-1]:
                end = datetime.fromtimestamp(ahead.start_s + float(ahead.edges_s[-1]), UTC)
                raise PlanError(
                    f"{change.plan.brief()} would be in place after {end:%Y-%m-%d %H:%M} UTC, where the forecast ends; "
                    "give an earlier time"
                )
            turns.append(Turn(number, asked_s, stop_s))
            before = change.plan
        return tuple(turns)

    def _turns_of(self, announced: Sequence[Announced], ladder: Ladder, ahead: Outlook) -> tuple[Turn, ...]:
        """Announced turns that stop within the horizon, in order."""
        turns = []
        for each in sorted(announced, key=lambda turn: turn.stop_s):
            step, plan = self._step_of(each, ahead), ladder.number(each.plan)
            if 0 <= step < ahead.steps and plan is not None:
                stop_s = float(ahead.edges_s[step])
                turns.append(Turn(plan, stop_s, stop_s))
        return tuple(turns)

    def _priced(self, ladder: Ladder) -> tuple[Floats | None, dict[int, PlanError]]:
        """Price of each plan for an hour, as it is and as it is weighed, in instance-hours, shape (2, plans), or None
        if only instances are weighed; and for plans that cannot be packed the reason, by index. Such a plan has the
        price of as many instances elsewhere, and at least that of any other plan.
        """
        model, unpacked = self.cheapest.model, dict[int, PlanError]()
        for number, plan in enumerate(ladder.plans):
            if (why := model.unpacked_because(plan.parallelism)) is not None:
                unpacked[number] = why
        if self._pricing is None:
            return None, unpacked
        prices_h = np.stack([ladder.instances, ladder.instances])
        for number, plan in enumerate(ladder.plans):
            try:
                price, weighed = (
                    of(plan.parallelism) for of in (self._pricing.per_hour, self._pricing.weighed_per_hour)
                )
            except PlanError as error:
                unpacked[number] = error
            else:
                prices_h[:, number] = np.array([price, weighed]) / self._pricing.instance_per_hour
        if unpacked and len(unpacked) < len(ladder.plans):
            apart = list(unpacked)
            dearest_h = np.delete(prices_h, apart, axis=1).max(axis=1, keepdims=True)
            prices_h[:, apart] = np.maximum(prices_h[:, apart], dearest_h)
        return prices_h, unpacked

    def _moved_gib(self, ladder: Ladder) -> Floats | None:
        """State that changes its instance between each two plans; None if that costs nothing."""
        profiles = self.cheapest.model.profiles
        state_gib = {name: gib for name in self.topology.order if (gib := profiles[name].state_gib)}
        if not (self._prices.moved_gib_h and state_gib):
            return None
        return state_moves(self.topology, state_gib, ladder.plans).moved_gib

    def _course(
        self,
        ahead: Outlook,
        ladder: Ladder,
        present: Present,
        turn_h: Floats,
        prices_h: Floats | None,
        closed: Sequence[tuple[float, float]] = (),
    ) -> Course:
        running = ladder.number(present.running)
        if running is None:
            raise PlanError(f"the ladder of topology {self.topology.name!r} lacks the plan that runs")
        return Course(
            ahead.edges_s,
            ahead.total_per_s,
            ahead.capacity_per_s(ladder),
            ladder.instances,
            running,
            present.waiting,
            max(0.0, present.free_at_s - ahead.start_s),
            turn_h,
            np.array([list(plan.parallelism.values()) for plan in ladder.plans], dtype=np.float64),
            None if prices_h is None else prices_h[0],
            self._moved_gib(ladder),
            self._restore_s,
            room_between(closed, ahead.start_s + ahead.edges_s[:-1]) if closed else None,
            up_s=present.running_since_s - ahead.start_s,
            weighed_h=None if prices_h is None else prices_h[1],
        )

    def _fits(self, plan: Mapping[str, int]) -> bool:
        """Whether a plan is within the present limits."""
        limits, known = self.cheapest.limits, self.topology.max_parallelism
        return (
            plan.keys() == known.keys()
            and sum(plan.values()) <= limits.max_instances
            and all(
                self._least.get(name, 1) <= count <= min(known[name], limits.max_parallelism.get(name, count))
                for name, count in plan.items()
            )
        )

    def _turn_h(
        self,
        ahead: Outlook,
        ladder: Ladder,
        running: Mapping[str, int],
        announced: Sequence[Announced],
        asked_from_s: float,
    ) -> Floats:
        """Price of a stop besides its change: lower if announced, infinite where forbidden."""
        before = PhysicalPlan(self.topology.name, dict(running))
        lead_s = np.array([self.terms.stops_after_s(before, plan) for plan in ladder.plans])
        early = ahead.start_s + ahead.edges_s[:-1, None] - lead_s < asked_from_s
        turn_h = np.where(ahead.changes[:, None] & ~early, np.zeros(len(ladder.plans)), inf)
        for turn in announced:
            step, plan = self._step_of(turn, ahead), ladder.number(turn.plan)
            if 0 <= step < ahead.steps and plan is not None and (turn.approved or not early[step, plan]):
                turn_h[step, plan] = -KEPT_PART * self._prices.rescale_h
        return turn_h

    @staticmethod
    def _step_of(turn: Announced, ahead: Outlook) -> int:
        # Within a millisecond: moments are stored to the microsecond.
        return ahead.step_at(turn.stop_s - ahead.start_s + 1e-3)

    def _mixes(self, ahead: Outlook) -> list[dict[str, float]]:
        """Loads beyond all paths in which one of several sources peaks, as they need not peak together."""
        sources, rates = self.topology.sources, ahead.rate_per_s
        if len(sources) == 1:
            return []
        moments = [np.unravel_index(int(rates[source].argmax()), rates.shape[1:]) for source in range(len(sources))]
        return [dict(zip(sources, (BEYOND * rates[:, step, path]).tolist(), strict=True)) for step, path in moments]

    def _draining(self, ahead: Outlook, waiting: float) -> list[Mapping[str, int]]:
        """Plans that drain what waits now within drain_s, and within multiples of it, where that takes more than the
        ladder carries.
        """
        most = BEYOND * ahead.rate_per_s.max(axis=(1, 2))
        now = ahead.rate_per_s[:, 0].max(axis=1)
        lags = (waiting + float(now.sum()) * self.terms.downtime_s) / np.array(DRAINS) / self.terms.drain_s
        loads = [(1 + lag / now.sum()) * now for lag in lags.tolist()] if now.any() and waiting > 0 else []
        beyond = [load for load in loads if load.sum() > most.sum()]
        plans = [self.cheapest.plan(dict(zip(self.topology.sources, load.tolist(), strict=True))) for load in beyond]
        return [plan.parallelism for plan in plans if self._fits(plan.parallelism)]

    def _climbed(self, ahead: Outlook, wanted: Sequence[Mapping[str, int]]) -> Ladder:
        """The ladder that reaches beyond all paths and includes the wanted plans."""
        most = BEYOND * ahead.rate_per_s.max(axis=(1, 2))
        highest = dict(zip(self.topology.sources, most.tolist(), strict=True))
        enough = highest.keys() == self._highest.keys() and all(
            rate <= self._highest[source] <= MAX_BEYOND * rate for source, rate in highest.items()
        )
        known = self._ladder is not None and all(self._ladder.number(plan) is not None for plan in wanted)
        if self._ladder is None or not enough or not known:
            self._highest = highest
            loads = [*self._mixes(ahead), self._highest]
            self._ladder = self._climbing(loads, wanted)
            if self.terms.max_step < inf:
                between = stairs([plan.parallelism for plan in self._ladder.plans], self.terms.max_step)
                self._ladder = self._climbing(loads, [*wanted, *between])
            restore = self.terms.restore
            self._restore_s = restore.between_s(self.topology, self._ladder.plans) if restore.takes_time else None
        return self._ladder

    def _climbing(self, loads: Sequence[Mapping[str, float]], wanted: Sequence[Mapping[str, int]]) -> Ladder:
        also = [PhysicalPlan(self.topology.name, {name: plan[name] for name in self.topology.order}) for plan in wanted]
        price_of = None if self._pricing is None else self._pricing.weighed_per_hour
        return capacity_ladder(self.cheapest, loads, also, self._least, price_of)
