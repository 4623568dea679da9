"""How quick a job is after a rescale to task managers that never ran it: as assumed, as learnt, and as measured."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
from bench import OVERLOAD_PER_S, Plan, Query

from modeling.rescaling.warm_up import NEW_JVM, WarmUp
from planner.learned_warm_up import SpeedSample, learned_warm_up

AFTER_S = 60.0
DOUBLED = (2, 4, 8)
"""Half of the task managers of each of these plans are new to the job."""


@dataclass(frozen=True)
class Warming:
    """A rescale. learnt: from those before it; NEW_JVM for want of them."""

    query: str
    counts: tuple[int, ...]
    samples: tuple[SpeedSample, ...]
    learnt: WarmUp

    @property
    def full_per_s(self) -> float:
        """Once NEW_JVM counts as warm."""
        return float(np.median([each.taken_per_s for each in self.samples if each.from_s >= NEW_JVM.warm_s]))

    @property
    def measured_per_s(self) -> float:
        """AFTER_S after the start."""
        return next(each.taken_per_s for each in self.samples if each.until_s >= AFTER_S)


def warmings(query: Query, cores: float) -> list[Warming]:
    order = query.topology.order
    query.calibrate_at(Plan((1,) * len(order), cores), OVERLOAD_PER_S)
    found: list[Warming] = []
    for count in DOUBLED:
        most = (query.topology.operator(name).max_parallelism for name in order)
        plan = Plan(tuple(min(count, each) for each in most), cores)
        learnt = learned_warm_up([each.samples for each in found], NEW_JVM).warm_up
        found.append(Warming(query.name, plan.counts, tuple(query.warming(plan)), learnt))
    return found


def warmings_table(found: Sequence[Warming]) -> str:
    lines = [
        "| query | plan | events/s in the first span | after 60 s | after 120 s | predicted full | share after 60 s | "
        "assumed | learnt before | capacity after 60 s, assumed | error | learnt | error |",
        "|" + "---|" * 13,
    ]
    for each in found:
        told_per_s, measured_per_s = each.samples[0].capacity_per_s, each.measured_per_s
        assumed, learnt = (float(curve.share(AFTER_S)) for curve in (NEW_JVM, each.learnt))
        cells = [
            each.query,
            "·".join(map(str, each.counts)),
            *(f"{rate:,.0f}" for rate in (each.samples[0].taken_per_s, measured_per_s, each.full_per_s, told_per_s)),
            *(f"{share:.2f}" for share in (measured_per_s / each.full_per_s, assumed, learnt)),
        ]
        for share in (assumed, learnt):
            cells += [f"{told_per_s * share:,.0f}", f"{told_per_s * share / measured_per_s - 1:+.1%}"]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
