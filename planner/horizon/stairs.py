"""Intermediate plans for pairs that differ by more instances than one change may start and stop."""

from collections.abc import Mapping, Sequence
from itertools import pairwise


def stairs(plans: Sequence[Mapping[str, int]], max_step: float) -> list[dict[str, int]]:
    """From each plan to the next one, in changes of at most max_step instances, one operator after the other.

    >>> stairs([{"a": 1, "b": 1}, {"a": 3, "b": 2}], 2)
    [{'a': 3, 'b': 1}]
    """
    found = []
    for before, after in pairwise(plans):
        plan = dict(before)
        while sum(abs(after[name] - count) for name, count in plan.items()) > max_step:
            left = int(max_step)
            for name, count in plan.items():
                moved = max(-left, min(left, after[name] - count))
                plan[name] += moved
                left -= abs(moved)
            found.append(dict(plan))
    return found
