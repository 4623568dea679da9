"""Ranked plans for people: a table, best first, and below it why each is not the best."""

import math
from collections.abc import Mapping

from forescale.cli.evaluation_tables import seconds
from forescale.cli.output import console, plain, table
from forescale.jobs.ranking import Ranking
from modeling.inputs.targets import ANY
from planner.ranking import RankedPlan

MAX_SHOWN = 20
"""Number of plans in the table; --json lists all."""


def show_ranking(ranking: Ranking, names: Mapping[str, str]) -> None:
    """names: displayed name of each plan, by path."""
    shown = ranking.plans[:MAX_SHOWN]
    targets = [name for name in ranking.candidates.violations.probability if name != ANY]
    bounded = ranking.candidates.estimates.latency is not None
    columns = ["rank", "plan", "P(missed)", *targets, "cost", "changed", "headroom", "bottleneck"]
    rows = [
        (rank, names[ranking.name(each)], *_row(ranking, each, targets, bounded=bounded))
        for rank, each in enumerate(shown, 1)
    ]
    console.print(table("ranking", [*columns, *(["p95"] if bounded else [])], rows))
    best = shown[0]
    plain(f"best: {names[ranking.name(best)]}, misses a target with probability {best.probability:.3g}")
    for rank, each in enumerate(shown, 1):
        if each.excuse is not None:
            plain(f"{rank}. {names[ranking.name(each)]}: {each.excuse}")
    if len(ranking.plans) > len(shown):
        plain(f"{len(ranking.plans) - len(shown)} more plans rank behind; --json lists all")
    if ranking.against:
        plain(f"changed: instances started, stopped and moved, from {ranking.against}")
    for note in ranking.notes:
        plain(f"note: {note}")


def _row(ranking: Ranking, one: RankedPlan, targets: list[str], *, bounded: bool) -> tuple[object, ...]:
    """Bottleneck and latency are those at the load that leaves the least headroom."""
    found, number = ranking.candidates, one.number
    load = int(found.estimates.headroom_factor[number].argmin())
    cells: list[object] = [f"{one.probability:.1%}"]
    cells += [f"{found.probability(name)[number]:.1%}" for name in targets]
    cells.append(", ".join(f"{amount:.4g} {unit}" for amount, unit in one.weighed))
    cells.append("" if one.change is None else f"+{one.change.started} -{one.change.stopped} ~{one.change.moved}")
    known = math.isfinite(one.headroom)
    cells.append(f"{one.headroom - 1:+.0%}" if known else "no bound")
    cells.append(str(found.estimates.bottleneck_of(number, load)) if known else "")
    if bounded and found.estimates.latency is not None:
        cells.append(seconds(float(found.estimates.latency.p95_s[number, load])))
    return tuple(cells)
