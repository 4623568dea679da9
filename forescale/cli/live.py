"""`forescale replay --live`: a topology in shadow mode, day by day, and what its cluster runs now."""

from pathlib import Path
from typing import TYPE_CHECKING

from forescale.cli.output import check_page, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds, say_placeholders
from forescale.codec import to_json
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.shadow import Shadow
    from forescale.situation.workspace import Workspace


def show(workspace: "Workspace", topology: str, days: int | None, plot: Path | None, *, as_json: bool) -> None:
    """What forescale would have cost and violated, had it acted, beside what really ran."""
    from forescale.jobs.shadow import shadow

    check_page(plot, PlanError)
    with console.status(f"replaying what would have run of {topology}"):
        record = shadow(workspace, topology, days=days)
    if plot is not None:
        from forescale.files.atomic import write_whole
        from forescale.report.shadow.page import render_shadow_page

        page = render_shadow_page(record.topology, record.since, record.plan, record.days, record.pending, record.notes)
        write_whole(page, plot)
    if as_json:
        say_json(to_json(record) | ({"plot": str(plot)} if plot else {}))
        return
    _say(record)
    if plot is not None:
        plain(f"drawn in {plot}")


def observe(workspace: "Workspace", topology: str, *, as_json: bool) -> None:
    """Record what the cluster runs now."""
    from forescale.jobs.observe import observe as observed
    from forescale.report.kit.wording import duration

    seen = observed(workspace, topology)
    if as_json:
        say_json(seen)
        return
    lag = f"lag {duration(seen.lag_s)}" if seen.lag_s is not None else f"lag unknown: {seen.unmeasured}"
    plain(f"{seen.observed_at:%Y-%m-%d %H:%M:%S} UTC: {seen.plan}, {seen.status}; {lag}")


def _say(record: "Shadow") -> None:
    from forescale.report.decision.shadow_table import COLUMNS, comparison_sentences, row_of
    from planner.shadow.comparison import compared

    say_placeholders(record.stands_on, record.topology)
    title = f"{record.topology} in shadow mode since {record.since:%Y-%m-%d %H:%M} UTC"
    rows = [(f"{day.day}", *row_of(compared([day]))) for day in record.days]
    if record.days:
        console.print(table(title, COLUMNS, [*rows, ("all", *row_of(record.total))]))
    else:
        plain(f"{title}: no whole day has been accrued yet")
    for day, why in record.pending.items():
        plain(f"{day} is not accrued: {why}")
    for sentence in comparison_sentences(record.days):
        plain(f"{sentence.label}: {sentence.text}")
    for note in record.notes:
        plain(note)
    plain(f"forescale would run {record.plan} now")
    say_grounds(record.stands_on)
