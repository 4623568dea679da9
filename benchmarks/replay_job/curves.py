"""Cost at equal violations: a policy with several budgets is a curve, and a rival is compared where it stands on it."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np

Scores = Mapping[str, Mapping[str, Any]]
"""Scores of one replay: the fields of `planner.replay.scores.Score` by policy."""

SHARES = (0.001, 0.002, 0.005, 0.01, 0.02, 0.05)
"""Of the minutes in violation, at which two curves are compared."""


def hours_at(scores: Scores, names: Sequence[str], share: float) -> float | None:
    """Instance-hours of a policy, whose budgets have these names, where it violates in that share of the minutes.

    Between two budgets the logarithm of the hours is a straight line; a budget that costs more than a smaller one
    counts as that. Above the largest share the cost stays; None below the smallest.

    >>> scores = {
    ...     "planner": {"violation_share": 0.0, "instance_hours": 400.0},
    ...     "planner@0.02": {"violation_share": 0.02, "instance_hours": 100.0},
    ... }
    >>> [hours_at(scores, list(scores), share) for share in (0.0, 0.01, 0.5)]
    [400.0, 200.0, 100.0]
    >>> hours_at(scores, ["planner@0.02"], 0.01) is None
    True
    """
    points = sorted(
        (scores[name]["violation_share"], scores[name]["instance_hours"]) for name in names if name in scores
    )
    if not points or share < points[0][0]:
        return None
    shares, hours = np.array(points).T
    return float(np.exp(np.interp(share, shares, np.log(np.minimum.accumulate(hours)))))


def at_equal_violations(found: Sequence[Scores], ours: Sequence[str], rivals: Sequence[Sequence[str]]) -> str:
    """A table of our hours ÷ each rival's. rivals: names of one policy each. One with a single name is compared at its
    own violations; one with several budgets at each of SHARES that both curves reach, by the geometric mean.
    """
    head = ("rival", "÷ rival at equal violations: median; worst", "replays", "dearer than")
    lines = [head, ("---",) * len(head)]
    for names in rivals:
        there = [each for each in found if names[0] in each]
        ratios = [ratio for each in there if (ratio := _ratio(each, ours, names)) is not None]
        if there:
            spread = f"{np.median(ratios):.2f}; {max(ratios):.2f}" if ratios else "–"
            dearer = str(sum(ratio > 1 for ratio in ratios))
            lines.append((names[0], spread, f"{len(ratios)} of {len(there)}", dearer))
    return "\n".join(f"| {' | '.join(cells)} |" for cells in lines) + "\n"


def _ratio(scores: Scores, ours: Sequence[str], names: Sequence[str]) -> float | None:
    if len(names) == 1:
        own = hours_at(scores, ours, scores[names[0]]["violation_share"])
        return None if own is None else own / scores[names[0]]["instance_hours"]
    both = [(hours_at(scores, ours, share), hours_at(scores, names, share)) for share in SHARES]
    logs = [np.log(own / theirs) for own, theirs in both if own is not None and theirs is not None]
    return float(np.exp(np.mean(logs))) if logs else None
