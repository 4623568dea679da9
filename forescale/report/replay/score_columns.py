"""Columns shared by a replay's tables on the command line and on its page: further columns, paired differences."""

from collections.abc import Callable, Sequence

from planner.replay.scores import Difference, Score

_AMOUNTS: tuple[tuple[str, Callable[[Score], float | None], str], ...] = (
    ("CPU-hours", lambda score: score.cpu_hours, ",.1f"),
    ("GiB-hours", lambda score: score.memory_gib_hours, ",.1f"),
    ("price", lambda score: score.price, ",.2f"),
)


def further_columns(scores: Sequence[Score]) -> list[tuple[str, list[str]]]:
    """Pairs of column name and cells, one cell per score."""
    return [*_budget_columns(scores), *_cost_columns(scores)]


def _cost_columns(scores: Sequence[Score]) -> list[tuple[str, list[str]]]:
    """Cost columns with a value for every score."""
    columns = []
    for name, of, form in _AMOUNTS:
        known = [value for score in scores if (value := of(score)) is not None]
        if len(known) == len(scores):
            columns.append((name, [format(value, form) for value in known]))
    return columns


def _budget_columns(scores: Sequence[Score]) -> list[tuple[str, list[str]]]:
    """Columns on allowed violations: the allowed share of minutes, if policies differ in it, and the minutes beyond it.
    Empty where no violations are allowed: then all of them are too many.
    """
    if not any(score.budget.asked for score in scores):
        return []
    over = ("overdrawn", [f"{score.budget.overdrawn:.2%}" if score.budget.overdrawn else "–" for score in scores])
    if len({score.budget.asked for score in scores}) == 1:
        return [over]
    return [("allowed", [f"{score.budget.asked:.2%}" for score in scores]), over]


DIFFERENCE_COLUMNS = ("policy", "instance-hours", "with 95 %", "violation minutes", "of them, with 95 %")


def difference_cells(one: Difference) -> tuple[str, ...]:
    """The mean and its 95 % interval; a single seed gives no interval."""
    return (
        one.policy,
        f"{one.instance_hours:+,.1f}",
        _interval(one.instance_hours_interval),
        f"{one.violation_minutes:+,.1f}",
        _interval(one.violation_minutes_interval),
    )


def _interval(interval: tuple[float, float] | None) -> str:
    return "–" if interval is None else f"{interval[0]:+,.1f} … {interval[1]:+,.1f}"
