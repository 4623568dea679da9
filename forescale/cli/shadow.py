"""`forescale shadow`: what `forescale replay --live` is called in older releases."""

from pathlib import Path
from typing import Annotated, Any

import typer
from typer.core import TyperGroup

from forescale.cli import live
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson
from forescale.cli.topology_argument import TopologyName


class _ShowsByDefault(TyperGroup):
    """`shadow TOPOLOGY` is `shadow show TOPOLOGY`."""

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        names = {*self.commands, "--help"}
        return super().parse_args(ctx, args if args and args[0] in names else ["show", *args])


app = typer.Typer(cls=_ShowsByDefault, help="Cost and violations in shadow mode, beside what really ran.")


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
    """Days of a topology in shadow mode."""
    live.show(workspace_of(context), topology, days, plot, as_json=as_json)


@app.command()
def observe(context: typer.Context, topology: TopologyName, as_json: AsJson = False) -> None:
    """Record what the cluster runs now."""
    live.observe(workspace_of(context), topology, as_json=as_json)
