"""Every claim of a schedule, reckoned again from evaluate and the rules in docs/decision.md."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime, timedelta
from math import ceil, isfinite

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from model_cases import Case, cases

from modeling.estimate import Estimate
from modeling.evaluate import evaluate
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.recovery import catch_up_s
from planner.demand import Demand
from planner.limits import Limits, RescaleTerms
from planner.scaling_schedule import ScalingSchedule, ScheduledStep
from planner.schedule import make_schedule

START = datetime(2026, 3, 2, 20, 0, tzinfo=UTC)
SLOT_S = 900
ROUNDING = 1 + 1e-9


@dataclass(frozen=True)
class Question:
    """What make_schedule is asked. rates_per_s: of each slot, per source."""

    case: Case
    rates_per_s: tuple[dict[str, float], ...]
    current: PhysicalPlan
    limits: Limits
    rescale: RescaleTerms
    made_at: datetime
    running_since: datetime | None
    known: dict[tuple[object, ...], Estimate] = field(default_factory=dict, repr=False)

    @property
    def demand(self) -> Demand:
        sources = self.case.topology.sources
        return Demand(START, SLOT_S, 0.95, {s: np.array([slot[s] for slot in self.rates_per_s]) for s in sources})

    @property
    def schedule(self) -> ScalingSchedule:
        return make_schedule(
            self.case.topology,
            self.case.profiles,
            self.demand,
            self.current,
            made_at=self.made_at,
            limits=self.limits,
            rescale=self.rescale,
            running_since=self.running_since,
        )

    def estimate(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Estimate:
        asked = (*sorted(plan.parallelism.items()), *load_per_s.values())
        if asked not in self.known:
            self.known[asked] = evaluate(self.case.topology, self.case.profiles, plan, load_per_s)
        return self.known[asked]

    def holds(self, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> bool:
        told, slow = self.estimate(plan, load_per_s), self.limits.max_latency_s
        fast = slow is None or told.latency_s <= slow * ROUNDING
        return told.utilisation <= self.limits.max_utilisation * ROUNDING and fast

    def missed(self, plan: PhysicalPlan) -> list[bool]:
        return [not self.holds(plan, slot) for slot in self.rates_per_s]

    def drain_s(self, plan: PhysicalPlan, slot: int) -> float:
        load = self.rates_per_s[slot]
        scale = self.estimate(plan, load).saturation_scale
        return max(catch_up_s(rate, rate * scale if rate else 0.0, self.rescale.downtime_s) for rate in load.values())


@st.composite
def questions(draw: st.DrawFn, latencies: st.SearchStrategy[float | None], windows: bool = True) -> Question:
    case = draw(cases())
    if not windows:
        plain = {name: replace(profile, windowed={}) for name, profile in case.profiles.items()}
        case = Case(case.topology, plain, case.load_per_s)
    shares = st.sampled_from([0.0, 0.1, 0.4, 1.0, 1.3])
    slots = draw(st.integers(1, 9))
    rates = tuple({source: rate * draw(shares) for source, rate in case.load_per_s.items()} for _ in range(slots))
    some = draw(st.sampled_from(case.plans()))
    pinned = {name: draw(st.integers(count, 6)) for name, count in some.parallelism.items() if draw(st.booleans())}
    more = st.sampled_from([0, 2, 60])
    rescale = RescaleTerms(
        downtime_s=draw(st.sampled_from([0.0, 30.0, 400.0])),
        max_lag_s=draw(st.sampled_from([0.0, 180.0])),
        max_catch_up_s=draw(st.sampled_from([0.0, 100.0, 600.0])),
        safety_s=draw(st.sampled_from([0.0, 300.0, 2000.0])),
        min_dwell_s=draw(st.sampled_from([0.0, 1800.0])),
        cost_instance_hours=draw(st.sampled_from([0.0, 0.05, 0.5])),
    )
    ago_s = draw(st.sampled_from([None, 0, 900, 3600]))
    return Question(
        case,
        rates,
        draw(st.sampled_from(case.plans())),
        Limits(draw(st.sampled_from([0.5, 0.85])), draw(latencies), some.instances + draw(more), pinned),
        rescale,
        START + timedelta(seconds=draw(st.sampled_from([-600, 0, 400]))),
        None if ago_s is None else START - timedelta(seconds=ago_s),
    )


def grows(before: PhysicalPlan, after: PhysicalPlan) -> bool:
    return any(after.parallelism[name] > count for name, count in before.parallelism.items())


def slot_of(moment: datetime) -> int:
    return int((moment - START).total_seconds() // SLOT_S)


def check_moments(question: Question, schedule: ScalingSchedule) -> None:
    """One step after the other, each in place before its load as far as there is time, and once it has gone else."""
    terms, free_at = question.rescale, question.made_at
    before, needed_from = question.current, START
    for step in schedule.steps:
        assert step.replaces == before
        assert not step.plan.same_parallelism(before)
        assert step.deploy_at >= free_at
        assert step.needed_from >= needed_from
        assert step.in_place_at == step.deploy_at + timedelta(seconds=terms.downtime_s + step.catch_up_s)
        if grows(before, step.plan):
            in_time = step.in_place_at + timedelta(seconds=terms.safety_s - 1e-3) <= step.needed_from
            assert in_time or step.deploy_at == question.made_at
        else:
            assert step.deploy_at == max(question.made_at, step.needed_from)
        before, free_at, needed_from = step.plan, step.in_place_at, step.needed_until
    ends = [step.needed_from for step in schedule.steps[1:]] + [schedule.end] * bool(schedule.steps)
    assert [step.needed_until for step in schedule.steps] == ends


def check_steps(question: Question, schedule: ScalingSchedule) -> None:
    limits = question.limits
    for step in schedule.steps:
        first, last = slot_of(step.needed_from), slot_of(step.needed_until)
        spans = question.rates_per_s[first:last]
        peak = {source: max(slot[source] for slot in spans) for source in step.load_per_s}
        if not question.holds(step.plan, peak):
            peak = max(spans, key=lambda slot: question.estimate(step.plan, slot).utilisation)
        assert step.load_per_s == peak
        told = question.estimate(step.plan, step.load_per_s)
        assert (step.utilisation, step.saturation_scale) == (told.utilisation, told.saturation_scale)
        assert step.bottleneck == str(told.bottleneck)
        assert step.cost_instance_hours == pytest.approx(step.plan.instances * (last - first) * SLOT_S / 3600)
        assert step.plan.instances <= limits.max_instances
        assert all(step.plan.parallelism[name] <= most for name, most in limits.max_parallelism.items())
        under = [question.drain_s(step.plan, slot) for slot in slots_of_drain(step, len(question.rates_per_s))]
        assert step.catch_up_s == pytest.approx(min(question.rescale.max_catch_up_s, max(under)))


def slots_of_drain(step: ScheduledStep, slots: int) -> range:
    """From its deployment until its load has come; its own slot where it comes late or only takes instances away."""
    first = slot_of(step.needed_from)
    if not grows(step.replaces, step.plan):
        return range(first, first + 1)
    early = min(max(0, slot_of(step.deploy_at)), max(0, first - 1))
    # Of a moment that is nearly on a slot's edge.
    late = step.in_place_at > step.needed_from
    return range(early, min(slots, max(first + late, early + 1)))


def short_s(question: Question, steps: tuple[ScheduledStep, ...]) -> float:
    """Seconds in which the target is missed, each once: the plan in charge or the one that runs early is too small;
    and downtime beyond the lag and drain beyond the catch-up, in slots that are not missed anyway.
    """
    terms, slots = question.rescale, len(question.rates_per_s)
    plans = [question.current] * slots
    for step in steps:
        plans[slot_of(step.needed_from) :] = [step.plan] * (slots - slot_of(step.needed_from))
    missed = [question.missed(plan)[slot] for slot, plan in enumerate(plans)]
    rescales_s = 0.0
    for step in steps:
        first = slot_of(step.needed_from)
        begin = min(first, max(0, slot_of(step.deploy_at)))
        early = question.missed(step.plan)
        for slot in range(begin, first):
            missed[slot] |= early[slot]
    for step in steps:
        first = slot_of(step.needed_from)
        begin = min(first, max(0, slot_of(step.deploy_at)))
        drain_s = max(question.drain_s(step.plan, slot) for slot in slots_of_drain(step, slots))
        drain_s = drain_s if isfinite(drain_s) else terms.max_catch_up_s
        beyond_s = max(0.0, terms.downtime_s - terms.max_lag_s) + max(0.0, drain_s - terms.max_catch_up_s)
        end_s = (step.deploy_at - START).total_seconds() + terms.downtime_s + drain_s
        end = min(slots, max(first, ceil(end_s / SLOT_S)))
        rescales_s += min(beyond_s, SLOT_S * sum(not missed[slot] for slot in range(begin, end)))
    return SLOT_S * sum(missed) + rescales_s


def check_words(question: Question, schedule: ScalingSchedule) -> None:
    if "carries the forecast" in schedule.why:
        assert not any(question.missed(question.current))
    assert ("cannot be carried" in schedule.why) == (schedule.short_s >= 1)
    assert ("hold it" in schedule.why) == (not schedule.steps)
    hold = schedule.alternatives[0]
    assert hold.short_s == SLOT_S * sum(question.missed(question.current))
    assert hold.cost_instance_hours == pytest.approx(question.current.instances * question.demand.slots * SLOT_S / 3600)
    for other in schedule.alternatives:
        if "as long" in other.excuse:
            assert other.short_s == pytest.approx(schedule.short_s)
        elif "misses the target" in other.excuse:
            assert other.short_s > schedule.short_s
        elif "as good as" in other.excuse:
            price = question.rescale.cost_instance_hours
            own = schedule.cost_instance_hours + price * len(schedule.steps)
            assert other.cost_instance_hours + price * other.rescales == pytest.approx(own)
            assert other.short_s == pytest.approx(schedule.short_s)
        elif "instance-hours more" in other.excuse:
            more = float(other.excuse.split("costs ")[1].split()[0])
            price = question.rescale.cost_instance_hours
            own = schedule.cost_instance_hours + price * len(schedule.steps)
            assert more > 0
            assert more == pytest.approx(other.cost_instance_hours + price * other.rescales - own, rel=0.01)
        else:
            raise AssertionError(other.excuse)


def check_excuses(question: Question, schedule: ScalingSchedule) -> None:
    """A plan that is excused misses what is said under the load of some step, and the change mends it."""
    loads = [step.load_per_s for step in schedule.steps]
    for excuse in schedule.excuses:
        if excuse.target == "utilisation":
            assert any(
                question.estimate(excuse.plan, load).operators[excuse.operator].utilisation == excuse.value
                for load in loads
            )
            assert excuse.value > excuse.bound
        if excuse.mendable:
            plan = PhysicalPlan(excuse.plan.topology, {**excuse.plan.parallelism, **excuse.change})
            if excuse.target != "fit":
                assert any(question.holds(plan, load) and not question.holds(excuse.plan, load) for load in loads)


def check(question: Question) -> None:
    schedule = question.schedule
    check_moments(question, schedule)
    check_steps(question, schedule)
    assert schedule.short_s == pytest.approx(short_s(question, schedule.steps), abs=1e-2)
    spans = [(schedule.current, START), *((step.plan, step.needed_from) for step in schedule.steps)]
    ends = [step.needed_from for step in schedule.steps] + [schedule.end]
    hours = sum(
        plan.instances * (end - begin).total_seconds() / 3600 for (plan, begin), end in zip(spans, ends, strict=True)
    )
    assert schedule.cost_instance_hours == pytest.approx(hours)
    check_words(question, schedule)
    check_excuses(question, schedule)


@settings(max_examples=15, deadline=None)
@given(questions(st.none(), windows=False))
@pytest.mark.slow
def test_schedule__is_what_it_says_of_itself(question: Question) -> None:
    check(question)


@pytest.mark.slow
@settings(max_examples=200, deadline=None)
@given(questions(st.one_of(st.none(), st.floats(0.001, 0.2))))
def test_schedule__is_what_it_says_of_itself_within_a_latency(question: Question) -> None:
    check(question)
