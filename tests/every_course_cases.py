"""Small cases of a search over a horizon, drawn at random: at most 4 operators of at most 8 instances each."""

from dataclasses import dataclass, replace
from itertools import product

import numpy as np

from modeling.arrays import Floats
from planner.horizon.horizon_plan import room_between
from planner.horizon.horizon_search import Course
from planner.horizon.prices import ChangeTerms, Prices

MOST_RUNGS = 6


@dataclass(frozen=True)
class HorizonCase:
    """closed: spans of the course in which nothing may change, in seconds from its beginning."""

    course: Course
    terms: ChangeTerms
    prices: Prices
    closed: tuple[tuple[float, float], ...] = ()


def ladder(counts: Floats, capacity: Floats) -> Floats:
    """Numbers of the plans that no plan of as many instances or fewer carries as much as; ascending in both."""
    order = np.lexsort((-capacity, counts))
    best = np.maximum.accumulate(np.r_[-np.inf, capacity[order][:-1]])
    return order[capacity[order] > best * (1 + 1e-12)]


def priced_case(seed: int) -> HorizonCase:
    """The same where containers of 1 to 6 instances are paid for and state that moves, in place of instances."""
    case, rng = horizon_case(seed), np.random.default_rng([seed, 1])
    instances, room = case.course.instances, int(rng.integers(1, 7))
    price_h = np.ceil(instances / room) * room * rng.uniform(0.7, 1.4)
    moved_gib = rng.uniform(0, 4) * np.abs(1 - instances[:, None] / np.maximum(instances[:, None], instances))
    prices = replace(case.prices, moved_gib_h=float(rng.choice([0.0, 0.2])))
    return replace(case, course=replace(case.course, price_h=price_h, moved_gib=moved_gib), prices=prices)


def stateful_case(seed: int) -> HorizonCase:
    """The same where state is read again by all instances at once, or the part that moves, and in a third of the cases
    a span is closed.
    """
    case, rng = horizon_case(seed), np.random.default_rng([seed, 2])
    instances, edges_s = case.course.instances, case.course.edges_s
    largest = rng.uniform(0, 900) / instances[None, :] * np.ones((instances.size, 1))
    moved = rng.uniform(0, 600) * np.abs(1 - instances[:, None] / np.maximum(instances[:, None], instances))
    restore_s = largest if rng.random() < 0.5 else moved
    closed: tuple[tuple[float, float], ...] = ()
    if rng.random() < 1 / 3:
        begin_s = float(rng.uniform(0, edges_s[-1]))
        closed = ((begin_s, begin_s + float(rng.uniform(60, 0.4 * edges_s[-1]))),)
    room_s = room_between(closed, edges_s[:-1]) if closed else None
    return replace(case, course=replace(case.course, restore_s=restore_s, room_s=room_s), closed=closed)


def horizon_case(seed: int) -> HorizonCase:
    """Load that wanders or peaks, with errors of forecast and capacity; all terms and prices of a change drawn too."""
    rng = np.random.default_rng(seed)
    operators, most = int(rng.integers(1, 5)), 8
    work_s = rng.uniform(0.3, 1.0, operators)
    grid = np.array(list(product(range(1, most + 1), repeat=operators)), dtype=np.float64)
    counts, capacity = grid.sum(axis=1), (grid / work_s).min(axis=1)
    rungs = ladder(counts, capacity)
    rungs = rungs[np.unique(np.linspace(0, rungs.size - 1, MOST_RUNGS).round().astype(int))]
    steps, paths = int(rng.integers(6, 13)), int(rng.integers(1, 9))
    step_s = float(rng.choice([300, 600, 900]))
    top = capacity[rungs[-1]]
    shape = rng.choice(["wave", "peak", "steps"])
    hours = np.arange(steps)
    if shape == "wave":
        level = 0.5 + 0.4 * np.sin(hours * rng.uniform(0.2, 1.5) + rng.uniform(0, 6))
    elif shape == "peak":
        level = np.full(steps, rng.uniform(0.15, 0.5))
        begin = int(rng.integers(1, steps))
        level[begin : begin + int(rng.integers(1, 5))] = rng.uniform(0.5, 1.0)
    else:
        level = np.repeat(rng.uniform(0.1, 0.95, steps), int(rng.integers(1, 4)))[:steps]
    errors = rng.uniform(0, 0.2) * (rng.standard_normal(paths) + 0.5 * rng.standard_normal((steps, paths)))
    rate = np.maximum(0.02, level)[:, None] * np.exp(errors) * top
    carried = capacity[rungs][:, None, None] * np.exp(rng.uniform(0, 0.06) * rng.standard_normal(paths))
    course = Course(
        np.arange(steps + 1) * step_s,
        rate,
        carried,
        counts[rungs],
        int(rng.integers(rungs.size)),
        waiting=float(rng.choice([0.0, 0.0, rng.uniform(0, 600) * top / 2])),
        free_s=float(rng.choice([0.0, 0.0, rng.uniform(0, 2 * step_s)])),
        counts=grid[rungs],
    )
    terms = ChangeTerms(
        lead_s=float(rng.choice([0, 120, 300, 600])),
        downtime_s=float(rng.choice([0, 30, 120, 300, 700])),
        apart_s=float(rng.choice([0, 0, 600, 1800])),
        max_lag_s=float(rng.choice([30, 90, 180])),
        react_s=float(rng.choice([np.inf, 600, 900, 1200])),
    )
    prices = Prices(
        float(np.exp(rng.uniform(np.log(0.1), np.log(30.0)))),
        float(rng.choice([0.1, 0.5, 1.0, 5.0])),
        float(rng.choice([0.0, 0.0, 0.05])),
    )
    return HorizonCase(course, terms, prices)
