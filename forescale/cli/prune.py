"""`forescale prune`: remove old, unused data, after listing it and asking."""

from collections.abc import Sequence
from dataclasses import replace
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, plain, say_json

if TYPE_CHECKING:
    from forescale.jobs.prune import Removable


def prune(
    context: typer.Context,
    older_than: Annotated[float, typer.Option(min=1, max=36_525, help="Days; newer data stays.")] = 90.0,
    keep: Annotated[
        int, typer.Option(min=1, max=1_000_000, help="Newest of each kind that stay, however old they are.")
    ] = 300,
    dry_run: Annotated[bool, typer.Option("--dry-run", help="Only list what would be removed.")] = False,
    yes: Annotated[bool, typer.Option("--yes", help="Remove without asking.")] = False,
    as_json: AsJson = False,
) -> None:
    """Remove old runs, models and pages not in use; asks first.

    Forecasts, reports and replays too.
    """
    from forescale.jobs.prune import Retention, prunable
    from forescale.jobs.prune import prune as pruned

    workspace = workspace_of(context)
    retention = Retention(timedelta(days=older_than), keep, datetime.now(UTC))
    done = prunable(workspace, retention)
    if not as_json:
        for one in done.removable:
            plain(f"{one.kind} {one.name}, of {one.dated:%Y-%m-%d}")
    if done.removable and not dry_run:
        if not yes:
            typer.confirm(f"remove {_in_words(done.removable)}?", abort=True, err=True)
        done = replace(pruned(workspace, retention, done.removable), removable=done.removable)
    if as_json:
        say_json(done)
    elif not done.removable:
        plain("nothing is old enough and unused")
    else:
        plain(f"removed {_in_words(done.removed)}" if done.removed else "nothing was removed")
    for topology, why in done.untracked.items():
        typer.echo(f"forescale: runs and model versions of {topology} are left: {why}", err=True)
    if done.untracked:
        raise typer.Exit(1)


def _in_words(removables: "Sequence[Removable]") -> str:
    from forescale.jobs.prune import counted

    return ", ".join(f"{count} × {kind}" for kind, count in counted(removables).items())
