"""The options that the commands of `forescale history` have in common."""

from typing import Annotated

import typer

From = Annotated[str | None, typer.Option("--from", help="ISO time, UTC where it has no offset.")]
To = Annotated[str | None, typer.Option("--to", help="ISO time; the end of the history if absent.")]
Days = Annotated[float | None, typer.Option(help="How many days: up to --to, or from --from on; 7 if absent.")]
SnapshotId = Annotated[str | None, typer.Option("--snapshot", help="Id of a past commit; the one in force if absent.")]
