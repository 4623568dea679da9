"""Tables of many replays, in Markdown: cost against rivals and violations, never one without the other."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import numpy as np

Scores = Mapping[str, Mapping[str, Any]]
"""Scores of one replay: the fields of `planner.replay.scores.Score` by policy."""

RIVALS = ("hindsight", "planner-perfect", "static-peak", "flink-autoscaler", "flink-autoscaler-tuned")
Key = TypeVar("Key")


def by_policy(found: Mapping[Key, Scores], policies: tuple[str, ...]) -> str:
    """One line per policy, over all replays."""
    return _table("policy", [(name, list(found.values()), name) for name in policies])


def by_group(found: Mapping[Key, Scores], what: str, group: Callable[[Key], str], policy: str) -> str:
    """One line per group of replays, for one policy."""
    groups: dict[str, list[Scores]] = {}
    for key, scores in found.items():
        groups.setdefault(group(key), []).append(scores)
    return _table(what, [(name, of, policy) for name, of in groups.items()])


def at_equal_terms(found: Mapping[Key, Scores], variants: Sequence[str], rivals: Sequence[str]) -> str:
    """Our planner with several budgets against each rival, with the best variant (budget) in each replay.

    Instance-hours are those of the cheapest variant that violates no more than the rival. Violations are the fewest
    among the variants that cost no more. A replay without such a variant is left out.
    """
    head = [
        "rival",
        "its violations",
        "cost at no more violations: median; worst",
        "replays",
        "dearer than",
        "violations at no more cost: median; worst",
        "replays",
    ]
    lines = [head, ["---"] * len(head)]
    for rival in rivals:
        both = [each for each in found.values() if rival in each and any(name in each for name in variants)]
        if not both:
            continue
        late = _spread([each[rival]["violation_share"] for each in both], "{:.2%}")
        costs = _best(both, variants, rival, "instance_hours", "violation_minutes")
        # A rival without a violation cannot be undercut.
        lates = _best(
            [each for each in both if _late(each, rival) > 0], variants, rival, "violation_minutes", "instance_hours"
        )
        lines.append(
            [
                rival,
                late,
                _spread(costs, "{:.2f}"),
                f"{len(costs)} of {len(both)}",
                f"{sum(cost > 1 for cost in costs)}",
                _spread(lates, "{:.2f}"),
                f"{len(lates)} of {len(both)}",
            ]
        )
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _best(of: list[Scores], variants: Sequence[str], rival: str, what: str, bounded: str) -> list[float]:
    """Smallest `what` over the rival's, among the variants whose `bounded` is at most the rival's."""
    ratios = []
    for each in of:
        able = [each[name][what] for name in variants if name in each and each[name][bounded] <= each[rival][bounded]]
        if able:
            ratios.append(min(able) / each[rival][what])
    return ratios


def _table(what: str, rows: list[tuple[str, list[Scores], str]]) -> str:
    head = [
        what,
        *(f"÷ {rival}" for rival in RIVALS),
        "÷ autoscaler where no more violations",
        "violations",
        "rescales a day",
    ]
    lines = [head, ["---"] * len(head)]
    for name, of, policy in rows:
        both = [each for each in of if policy in each]
        if both:
            lines.append([name, *_cells(both, policy)])
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _cells(of: list[Scores], policy: str) -> list[str]:
    ratios = [_spread(_ratios(of, policy, rival), "{:.2f}") for rival in RIVALS]
    fair = [each for each in of if _late(each, policy) <= _late(each, "flink-autoscaler")]
    some = _ratios(fair, policy, "flink-autoscaler")
    told = f"{np.median(some):.2f} ({len(fair)} of {len(of)})" if some else f"– (0 of {len(of)})"
    late = _spread([each[policy]["violation_share"] for each in of], "{:.2%}")
    return [*ratios, told, late, f"{np.median([each[policy]['rescales_per_day'] for each in of]):.1f}"]


def _ratios(of: list[Scores], policy: str, rival: str) -> list[float]:
    return [each[policy]["instance_hours"] / each[rival]["instance_hours"] for each in of if rival in each]


def _late(scores: Scores, policy: str) -> float:
    return float(scores[policy]["violation_minutes"]) if policy in scores else np.inf


def _spread(values: list[float], form: str) -> str:
    """Text with the median and the worst value."""
    return f"{form.format(np.median(values))}; {form.format(max(values))}" if values else "–"
