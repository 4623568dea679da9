"""How fast a query is in the minutes after rescales whose task managers keep their quotas: they compile within them."""

from collections.abc import Iterator
from dataclasses import dataclass, replace

import numpy as np
from bench import Plan, Query

from modeling.rescaling.warm_up import NEW_JVM
from planner.learned_warm_up import SpeedSample, learned_warm_up

COUNTS = (2, 4, 8, 4, 8)
"""Of each operator: up to 8 a rescale brings task managers that never ran the job, then none."""
WATCHED_S, FULL_FROM_S = 240.0, 180.0
AT_S = 60.0


@dataclass(frozen=True)
class Rise:
    """A rescale and what followed. samples: of speed, as a deployment would record them. paces: of the machine in each.
    told: share of full speed AT_S after the start, by what the deployments before it taught; deployments: how many
    those were, 0 for the default.
    """

    query: str
    parallelism: dict[str, int]
    samples: list[SpeedSample]
    paces: list[float]
    told: float
    deployments: int

    def share(self, at_s: float) -> float:
        """Of full speed, at the pace that the machine had at full speed."""
        number = next(number for number, each in enumerate(self.samples) if each.until_s > at_s)
        full = [number for number, each in enumerate(self.samples) if each.from_s >= FULL_FROM_S]
        paced = np.array([each.taken_per_s for each in self.samples]) / np.array(self.paces)
        return float(paced[number] / np.median(paced[full]))


def rises(query: Query, cores: float) -> Iterator[Rise]:
    before: list[list[SpeedSample]] = []
    for count in COUNTS:
        most = [query.topology.operator(name).max_parallelism for name in query.topology.order]
        plan = Plan(tuple(min(count, each) for each in most), cores)
        speeds = query.speeds(plan, WATCHED_S)
        full_per_s = float(np.median([each.taken_per_s for each, _ in speeds if each.from_s >= FULL_FROM_S]))
        samples = [replace(each, capacity_per_s=full_per_s) for each, _ in speeds]
        learned = learned_warm_up(before, NEW_JVM)
        at = next(each for each in samples if each.until_s > AT_S)
        lost_s = learned.warm_up.lost_s([at.from_s, at.until_s])
        yield Rise(
            query=query.name,
            parallelism=dict(zip(query.topology.order, plan.counts, strict=True)),
            samples=samples,
            paces=[pace for _, pace in speeds],
            told=1 - float(lost_s[1] - lost_s[0]) / (at.until_s - at.from_s),
            deployments=learned.deployments,
        )
        before.append(samples)


def rises_table(found: list[Rise]) -> str:
    """Shares of full speed at moments after the start."""
    moments_s = (10, 30, 60, 90, 120, 180)
    told = f"share at {AT_S:g} s, told"
    lines = [
        f"| query | plan | events/s at the end | {' | '.join(f'{each} s' for each in moments_s)} | {told} | error |",
        "|" + "---|" * (len(moments_s) + 5),
    ]
    for rise in found:
        cells = [
            rise.query,
            "·".join(str(count) for count in rise.parallelism.values()),
            f"{rise.samples[0].capacity_per_s:,.0f}",
            *(f"{rise.share(moment_s):.2f}" for moment_s in moments_s),
            f"{rise.told:.2f}{'' if rise.deployments else ' by default'}",
            f"{rise.told / rise.share(AT_S) - 1:+.1%}",
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)
