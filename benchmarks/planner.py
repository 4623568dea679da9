"""Whether the search over a horizon finds the cheapest schedule, and how long planning takes.

    python benchmarks/planner.py [--cases 1000] [--grids 60] [--json]

*Optimal*: the search on small cases (at most 4 operators of at most 8 instances, 6 rungs, 12 steps; load, terms and
prices drawn by seed) against every sequence of changes, which tests/every_course.py follows with its own queue. Then
the ladder: the cheapest sequence over its plans against the cheapest over all parallelisms, with one source and with
two whose peaks lie apart.

*Fast*: a topology of ten operators and some 200 instances at its peak, 24 hours in 5-minute steps, 200 sample paths.
It prints the time of ladder, outlook and search within the violation budget as deployed (with thinned paths and steps),
and that of the search alone over all steps with 200 paths and 20 capacities each. The rival is the schedule one would
write by hand: each hour the cheapest plan for that hour's p95. All costs are over every path, every capacity and every
step. One process; set OMP_NUM_THREADS=1, or threads of the linear algebra are counted too.
"""

import argparse
import json
import sys
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from itertools import pairwise, product
from pathlib import Path

import numpy as np
from scipy.special import ndtri

# A script's own folder comes first, and this one is named like the package that it measures.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from every_course import cheapest_course
from every_course_cases import horizon_case

from forecasting.forecast import Forecast
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.rescaling.state import Restored
from modeling.rescaling.state_restore import NO_RESTORE, StateRestore
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import HorizonPlan, HorizonPlanner, Present
from planner.horizon.horizon_search import Course, Found, Turn, best_course, followed_course
from planner.horizon.kept_budget import course_within
from planner.horizon.outlook import CAPACITY_ERROR
from planner.horizon.prices import ChangeTerms, Prices
from planner.limits import Limits
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.offer import Offer
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.pricing.plan_pricing import ContainerPricing, PlanPricing
from planner.pricing.site_prices import SitePrices

START = datetime(2026, 3, 2, tzinfo=UTC)
STEP_S, STEPS, PATHS, CAPACITIES = 300, 288, 200, 20
PEAK_PER_S, OPERATORS, INSTANCES, UTILISATION = 2000.0, 10, 200, 0.85
TERMS = ChangeTerms(lead_s=300.0, downtime_s=60.0, apart_s=0.0, max_lag_s=90.0, react_s=600.0)
RESCALE_H, ALLOWED = 1.0, 0.005
CORES, MAX_P95_LATENCY_S = 8.0, 0.4
STATE_GIB, RESTORE_S_PER_GIB = 2.0, 20.0


@dataclass(frozen=True)
class Optimality:
    """within: share of cases that cost at most 1 % more than the cheapest. worst: largest extra cost, as a fraction."""

    what: str
    cases: int
    within: float
    exact: float
    mean: float
    worst: float


@dataclass(frozen=True)
class Planned:
    """cpu_s: None if not measured. hours, violation_minutes, cost_h: of its turns over the whole case; cost_h uses the
    same price per violation minute for all.
    """

    what: str
    cpu_s: float | None
    rescales: int
    hours: float
    violation_minutes: float
    cost_h: float


def topology() -> Topology:
    """A chain with an extra stream past every third operator."""
    names = [f"o{number}" for number in range(OPERATORS)]
    chain = [Stream(a, b) for a, b in pairwise(names)]
    skips = [Stream(names[at], names[at + 2]) for at in range(0, OPERATORS - 2, 3)]
    return Topology("bench", tuple(Operator(name) for name in names), (*chain, *skips))


def profiles(of: Topology) -> dict[str, OperatorProfile]:
    """Unlike operators that together need INSTANCES at the peak."""
    parts = np.linspace(0.5, 1.5, OPERATORS) / OPERATORS
    shares = {stream.name: 1 / len(of.outputs(stream.upstream)) for stream in of.streams}
    entering = {of.sources[0]: 1.0}
    for name in of.order[1:]:
        entering[name] = sum(entering[s.upstream] * shares[s.name] for s in of.inputs(name))
    return {
        name: OperatorProfile(
            name,
            float(part) * INSTANCES * UTILISATION / PEAK_PER_S / entering[name],
            {s.name: shares[s.name] for s in of.outputs(name)},
        )
        for name, part in zip(of.order, parts, strict=True)
    }


def forecast(source: str, seed: int = 1) -> Forecast:
    """A day from a fifth of the peak to the peak and back; paths differ in level, in a random walk and step by step."""
    rng = np.random.default_rng(seed)
    hours = (np.arange(STEPS) + 0.5) * STEP_S / 3600.0
    wave = 0.2 + 0.7 * np.maximum(0.0, np.sin((hours - 6) / 24 * 2 * np.pi)) ** 0.7
    wave += 0.1 * np.exp(-(((hours - 19) / 1.0) ** 2))
    walk = np.cumsum(rng.normal(0.0, 0.006, (PATHS, STEPS)), axis=1)
    level = rng.normal(0.0, 0.05, (PATHS, 1))
    paths = PEAK_PER_S * wave * np.exp(level + walk + rng.normal(0.0, 0.02, (PATHS, STEPS)))
    return Forecast(
        issued_at=START,
        topology="bench",
        source=source,
        start=START,
        step_s=STEP_S,
        quantiles=(0.5, 0.95),
        rate_per_s=np.quantile(paths, (0.5, 0.95), axis=0).T,
        peak_per_s={STEP_S * STEPS: np.quantile(paths.max(axis=1), (0.5, 0.95))},
        paths_per_s=paths,
        forecaster={STEP_S * STEPS: "made up"},
        trained_from=START - timedelta(days=7),
        trained_to=START,
        history_digest="",
        seed=seed,
    )


def optimality(what: str, off: Sequence[float]) -> Optimality:
    of = np.array(off)
    shares = float((of <= 0.01).mean()), float((of <= 1e-6).mean())
    return Optimality(what, of.size, *shares, float(of.mean()), float(of.max()))


def against_every_course(cases: int) -> Optimality:
    off = []
    for seed in range(cases):
        case = horizon_case(seed)
        found = best_course(case.course, case.terms, case.prices)
        off.append(found.cost_h / cheapest_course(case.course, case.terms, case.prices)[0] - 1)
    return optimality("search, against every sequence of changes", off)


def of_ladder(cases: int, sources: int) -> Optimality:
    """Each source has its own operator of 1 to 4 instances, and both share a third. 5 steps, 2 paths; the second source
    peaks while the first one rests.
    """
    off = []
    for seed in range(cases):
        rng = np.random.default_rng(seed)
        grid = np.array(list(product(range(1, 5), repeat=sources + 1)), dtype=np.float64)
        steps, work_s = np.arange(5), rng.uniform(0.5, 1.0, sources + 1)
        wave = 0.55 + 0.4 * np.sin(steps * rng.uniform(0.5, 1.2) + rng.uniform(0, 6))
        waves = np.array([wave, 1.1 - wave][:sources]) * rng.uniform(2.0, 4.0, (sources, 1))
        rates = waves[:, :, None] * np.exp(0.1 * rng.standard_normal((sources, 5, 2)))
        total = rates.sum(axis=0)
        # Busy seconds per second of each operator: from its own source, for the last operator from all sources.
        busy = [*(work_s[at] * rates[at] / total for at in range(sources)), work_s[-1] * np.ones_like(total)]
        capacity = np.min([grid[:, at, None, None] / each for at, each in enumerate(busy)], axis=0)
        counts = grid.sum(axis=1)
        # The planner's ladder climbs to each source's peak, and to all of these at once.
        peaks = [rates.reshape(sources, -1)[:, int(rates[at].argmax())] for at in range(sources)]
        tops = [np.append(work_s[:-1] * peak, work_s[-1] * peak.sum()) for peak in (*peaks, rates.max(axis=(1, 2)))]
        climbed = np.concatenate([np.outer(np.linspace(0.0, 3.0, 600), top) for top in tops])
        needed = np.minimum(4, np.ceil(climbed).clip(1)).astype(int)
        rungs = [int(np.flatnonzero((grid == plan).all(axis=1))[0]) for plan in np.unique(needed, axis=0)]
        terms = ChangeTerms(300.0, 60.0, 0.0, 90.0)
        prices = Prices(float(rng.choice([0.3, 3.0, 30.0])), float(rng.choice([0.1, 1.0])))
        costs = []
        for some in (np.array(rungs), np.arange(counts.size)):
            running = int(np.flatnonzero(some == rungs[0])[0])
            course = Course(1800.0 * np.arange(6), total, capacity[some], counts[some], running)
            known_h = best_course(course, terms, prices).cost_h
            costs.append(cheapest_course(course, terms, prices, known_h * (1 + 1e-9))[0])
        off.append(costs[0] / costs[1] - 1)
    return optimality(f"ladder, against all parallelisms, {sources} source{'s' * (sources > 1)}", off)


def cpu_s(work: Callable[[], object]) -> float:
    began = time.process_time()
    work()
    return time.process_time() - began


def whole(planned: HorizonPlan, paths: Floats, capacities: int) -> Course:
    """The course over all steps and paths, each path with this number of capacities."""
    parts = (np.arange(capacities) + 0.5) / capacities
    errors = np.tile(np.exp(CAPACITY_ERROR * ndtri(parts)), len(paths))
    return replace(
        planned.course,
        edges_s=STEP_S * np.arange(STEPS + 1.0),
        rate_per_s=np.ascontiguousarray(np.repeat(paths, capacities, axis=0).T),
        capacity_per_s=planned.ladder.capacity_per_s(np.ones((1, 1)))[:, :, None] * errors,
        turn_h=None,
    )


def by_the_hour(course: Course) -> list[Turn]:
    """Each hour the smallest plan that carries the hour's largest p95, in place when the hour begins."""
    high, carried = np.quantile(course.rate_per_s, 0.95, axis=1), course.capacity_per_s.mean(axis=(1, 2))
    turns, running, an_hour = list[Turn](), course.running, 3600 // STEP_S
    for at in range(0, STEPS, an_hour):
        enough = np.flatnonzero(carried >= high[at : at + an_hour].max())
        plan = int(enough[0]) if enough.size else carried.size - 1
        grows = course.instances[plan] > course.instances[running]
        stop_s = float(course.edges_s[max(0, at - 1)]) if grows else float(course.edges_s[at])
        asked_s = stop_s - (TERMS.lead_s if grows else 0.0)
        if plan != running and asked_s >= 0.0:
            turns.append(Turn(plan, asked_s, stop_s))
            running = plan
    return turns


def by_container(of: Topology) -> ContainerPricing:
    """One core per instance."""
    packer = FirstFitDecreasing(Offer(Site(ContainerSize(cores=CORES))))
    costs = {name: InstanceCost(1.0, 1024.0) for name in of.order}
    return ContainerPricing(Placing(of, profiles(of), costs, packer), SitePrices(1.0))


def speed() -> list[Planned]:
    of = topology()
    forecasts = {of.sources[0]: forecast(of.sources[0])}
    paths = forecasts[of.sources[0]].paths_per_s
    budget = Budget(ALLOWED)

    def planner(
        max_p95_latency_s: float | None = None, pricing: PlanPricing | None = None, restore: StateRestore = NO_RESTORE
    ) -> HorizonPlanner:
        limits = Limits(UTILISATION, max_instances=2 * INSTANCES, max_p95_latency_s=max_p95_latency_s)
        return HorizonPlanner(
            PlanModel(of, profiles(of)), limits, replace(TERMS, restore=restore), RESCALE_H, pricing=pricing
        )

    running = planner().cheapest.plan({of.sources[0]: 0.25 * PEAK_PER_S})
    present = Present(START.timestamp(), running.parallelism)
    planner().planned(forecasts, present, budget)  # compiles before the measurement
    plans = list[HorizonPlan]()

    def plan(one: HorizonPlanner) -> None:
        planned = one.planned(forecasts, present, budget)
        assert planned is not None
        plans.append(planned)

    one = planner()
    anew_s = cpu_s(lambda: plan(one))
    again_s = min(cpu_s(lambda: plan(one)) for _ in range(3))
    state_gib = dict.fromkeys(of.order, STATE_GIB)
    moved = StateRestore(RESTORE_S_PER_GIB, state_gib, Restored.MOVED_KEY_GROUPS, parallel=True)
    moved_s = cpu_s(lambda: plan(planner(restore=moved)))
    packed_s = cpu_s(lambda: plan(planner(pricing=by_container(of))))
    quick_s = cpu_s(lambda: plan(planner(MAX_P95_LATENCY_S)))
    planned = plans[0]
    price = planned.prices
    full = whole(planned, paths, CAPACITIES)

    def row(what: str, spent_s: float | None, turns: Sequence[Turn]) -> Planned:
        found = followed_course(full, turns, TERMS, price)
        return Planned(what, spent_s, len(turns), found.instance_hours, found.violation_minutes, found.cost_h)

    rows = [
        row("ladder, outlook, search within the budget", anew_s, planned.found.turns),
        row("the same with the ladder that is known", again_s, plans[-4].found.turns),
    ]
    for what, spent_s, other in (
        (f"where {STATE_GIB:.0f} GiB an operator have key groups that move", moved_s, plans[-3]),
        (f"where containers of {CORES:.0f} cores are paid for", packed_s, plans[-2]),
        (f"within a p95 of {MAX_P95_LATENCY_S:.2g} s", quick_s, plans[-1]),
    ):
        found_h = other.found
        rows.append(
            Planned(
                what, spent_s, len(found_h.turns), found_h.instance_hours, found_h.violation_minutes, found_h.cost_h
            )
        )
    for count, capacities in ((PATHS, 1), (PATHS, CAPACITIES)):
        course, found = whole(planned, paths[:count], capacities), list[Found]()
        spent_s = cpu_s(lambda: found.append(best_course(course, TERMS, price)))  # noqa: B023
        rows.append(row(f"one search, 288 steps, {count} paths x {capacities}", spent_s, found[0].turns))
    found = list[Found]()
    spent_s = cpu_s(lambda: found.append(course_within(full, TERMS, price, planned.allowed_minutes)[0]))
    rows.append(row("all within the budget, from that price", spent_s, found[0].turns))
    rows.append(row("each hour a plan for its p95", cpu_s(lambda: by_the_hour(full)), by_the_hour(full)))
    rows.append(row("the running plan", None, []))
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--grids", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    cases = [against_every_course(given.cases), of_ladder(given.grids, 1), of_ladder(given.grids, 2)]
    rows = speed()
    if given.json:
        print(
            json.dumps({"optimality": [asdict(one) for one in cases], "plans": [asdict(row) for row in rows]}, indent=1)
        )
        return
    print("| | cases | within 1 % | exact | mean | worst |")
    print("|---|---|---|---|---|---|")
    for one in cases:
        print(f"| {one.what} | {one.cases} | {one.within:.1%} | {one.exact:.1%} | {one.mean:.2%} | {one.worst:.1%} |")
    print("\n| | CPU s | rescales | instance-hours | violation min | cost at one price |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        spent = "" if row.cpu_s is None else f"{row.cpu_s:.3f}"
        print(
            f"| {row.what} | {spent} | {row.rescales} | {row.hours:,.0f} | {row.violation_minutes:.2f} | "
            f"{row.cost_h:,.0f} |"
        )


if __name__ == "__main__":
    main()
