"""Tables of many replays, in Markdown: cost against rivals and violations, never one without the other."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import numpy as np

Scores = Mapping[str, Mapping[str, Any]]
"""Of one replay, by policy: the fields of `planner.replay.scores.Score`."""

RIVALS = ("hindsight", "planner-perfect", "static-peak", "flink-autoscaler", "flink-autoscaler-tuned")
Key = TypeVar("Key")


def by_policy(found: Mapping[Key, Scores], policies: tuple[str, ...]) -> str:
    """Every policy over all replays."""
    return _table("policy", [(name, list(found.values()), name) for name in policies])


def by_group(found: Mapping[Key, Scores], what: str, group: Callable[[Key], str], policy: str) -> str:
    """One policy, per group of replays."""
    groups: dict[str, list[Scores]] = {}
    for key, scores in found.items():
        groups.setdefault(group(key), []).append(scores)
    return _table(what, [(name, of, policy) for name, of in groups.items()])


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
    """Median and worst."""
    return f"{form.format(np.median(values))}; {form.format(max(values))}" if values else "–"
