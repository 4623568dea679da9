"""A replay as one self-contained page: cost and violations of each policy."""

from collections.abc import Sequence

from forescale.report.kit.page import rendered
from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import duration
from forescale.report.replay.figures import pareto_figure, timeline_figure
from forescale.report.replay.score_columns import DIFFERENCE_COLUMNS, difference_cells, further_columns
from modeling.wording import count_of
from planner.replay.contest import ALL_KNOWING
from planner.replay.own_budget import own_budget, policy_of
from planner.replay.scores import Score, differences, scores
from planner.replay.timeline import Timeline

AT_FIRST = ("planner", "flink-autoscaler", "static-peak", "hindsight")
"""Policies drawn at first, if they were replayed."""


def render_replay_page(timeline: Timeline, against: str | None = None) -> str:
    """The whole page. The same timeline gives the same text. against: the policy that the others are compared with."""
    found = scores(timeline)
    alike = [one for one in found if own_budget(one.policy) is None] or found
    shown = [name for name in AT_FIRST if name in timeline.policies] or list(timeline.policies[:3])
    over_time, pareto = timeline_figure(timeline, shown), pareto_figure(found, timeline.policies)
    return rendered(
        "replay.html.j2",
        "drawing.js report.js",
        [pareto, over_time],
        topology=timeline.topology,
        headline=_headline(alike),
        sentences=_sentences(timeline, found),
        pareto=pareto,
        over_time=over_time,
        scores=_table(found),
        against=against,
        differences=None if against is None else _difference_table(timeline, against),
    )


def _headline(scores: Sequence[Score]) -> str:
    able = [one for one in scores if policy_of(one.policy) not in ALL_KNOWING] or list(scores)
    if able[0].budget.asked and (within := [one for one in able if not one.budget.overdrawn]):
        cheapest = min(within, key=lambda one: one.instance_hours)
        return (
            f"{cheapest.policy} is the cheapest within the allowed violations, with "
            f"{cheapest.mean_instances:.1f} instances on average and {cheapest.violation_share:.2%} of all minutes"
        )
    least = min(able, key=lambda one: (one.violation_minutes, one.instance_hours))
    return (
        f"{least.policy} has the fewest violations, {least.violation_share:.2%} of all minutes, with "
        f"{least.mean_instances:.1f} instances on average"
    )


def _sentences(timeline: Timeline, scores: Sequence[Score]) -> list[Sentence]:
    one = scores[0]
    span = f"{one.days:.3g} days under each of {count_of(one.seeds, 'seed')}"
    late = f"a violation is a minute with more than {duration(timeline.max_lag_s)} of lag"
    if timeline.allowed_share:
        late += f", and {timeline.allowed_share:.2%} of all minutes may be one"
    return [Sentence("Replayed", f"{span}; {late}."), *(Sentence("Note", note) for note in timeline.notes)]


def _table(scores: Sequence[Score]) -> Table:
    further = further_columns(scores)
    columns = (
        *numbers("no."),
        *texts("policy"),
        *numbers(
            "instances", "instance-hours", "violations", "minutes", "lag p99", "longest recovery", "rescales a day"
        ),
        *numbers(*(name for name, _ in further)),
    )
    rows = tuple(
        (
            Cell(str(at + 1)),
            Cell(one.policy, strong=one.best),
            Cell(f"{one.mean_instances:.2f}"),
            Cell(f"{one.instance_hours:,.0f}"),
            Cell(f"{one.violation_share:.2%}"),
            Cell(f"{one.violation_minutes:,.0f}"),
            Cell(duration(one.lag_p99_s)),
            Cell("–" if one.recovery_longest_s is None else duration(one.recovery_longest_s)),
            Cell(f"{one.rescales_per_day:.1f}"),
            *(Cell(cells[at]) for _, cells in further),
        )
        for at, one in enumerate(scores)
    )
    return Table(columns, rows)


def _difference_table(timeline: Timeline, against: str) -> Table | None:
    found = [difference_cells(one) for one in differences(timeline, against)]
    name, *others = DIFFERENCE_COLUMNS
    return (
        Table((*texts(name), *numbers(*others)), tuple(tuple(map(Cell, cells)) for cells in found)) if found else None
    )
