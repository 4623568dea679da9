"""`forescale shadow`: what forescale would have cost and violated, had it acted, beside what really ran."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer
from typer.core import TyperGroup

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, check_page, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds, say_placeholders
from forescale.cli.topology_argument import TopologyName
from forescale.codec import to_json
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.shadow import Shadow


class _ShowsByDefault(TyperGroup):
    """`shadow TOPOLOGY` is `shadow show TOPOLOGY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {*self.commands, "--help"}
        return super().parse_args(ctx, args if args and args[0] in names else ["show", *args])


app = typer.Typer(
    cls=_ShowsByDefault,
    help="Cost and violations in shadow mode, beside what really ran.",
)


@app.command()
def show(
    context: typer.Context,
    topology: TopologyName,
    days: Annotated[
        int | None, typer.Option(min=1, max=36500, help="Number of days to show, the latest; all if absent.")
    ] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a page (.html) with cost and violations by day.")] = None,
    as_json: AsJson = False,
) -> None:
    """Days of a topology in shadow mode. What `forescale shadow TOPOLOGY` does."""
    from forescale.jobs.shadow import shadow

    check_page(plot, PlanError)
    with console.status(f"replaying what would have run of {topology}"):
        found = shadow(workspace_of(context), topology, days=days)
    if plot is not None:
        from forescale.files.atomic import write_whole
        from forescale.report.shadow.page import render_shadow_page

        write_whole(
            render_shadow_page(found.topology, found.since, found.plan, found.days, found.pending, found.notes), plot
        )
    if as_json:
        say_json(to_json(found) | ({"plot": str(plot)} if plot else {}))
        return
    _show(found)
    if plot is not None:
        plain(f"drawn in {plot}")


@app.command()
def observe(context: typer.Context, topology: TopologyName, as_json: AsJson = False) -> None:
    """Record what the cluster runs now: every few minutes by cron, if the DAG shadow is off."""
    from forescale.jobs.observe import observe as observed
    from forescale.report.kit.wording import duration

    seen = observed(workspace_of(context), topology)
    if as_json:
        say_json(seen)
        return
    lag = f"lag {duration(seen.lag_s)}" if seen.lag_s is not None else f"lag unknown: {seen.unmeasured}"
    plain(f"{seen.observed_at:%Y-%m-%d %H:%M:%S} UTC: {seen.plan}, {seen.status}; {lag}")


def _show(record: "Shadow") -> None:
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
    for told in comparison_sentences(record.days):
        plain(f"{told.label}: {told.text}")
    for note in record.notes:
        plain(note)
    plain(f"forescale would run {record.plan} now")
    say_grounds(record.stands_on)
