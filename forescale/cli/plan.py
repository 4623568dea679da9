"""`forescale plan`: make the scaling schedule of a topology."""

from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import settings_of
from forescale.cli.output import AsJson, console, plain, say_json, table

if TYPE_CHECKING:
    from forescale.jobs.plan import PlannedSchedule


def plan(
    context: typer.Context,
    topology: Annotated[str, typer.Argument(help="Topology file, or its name in the folder of topology files.")],
    as_json: AsJson = False,
) -> None:
    """Which plan from when, for the newest forecast. Proposes; nothing is deployed before it is approved."""
    from forescale.jobs.plan import plan as planned

    with console.status(f"planning for {topology}"):
        made = planned(settings_of(context), topology)
    if as_json:
        say_json(made)
        return
    show_schedule(made)
    if made.shadow:
        plain(f"shadow mode: nothing is deployed; what comes of it: forescale shadow {topology}")
    elif made.asks:
        plain(f"approve with: forescale deploy approve {made.schedule_id}; or forescale edit STEP")
    elif made.steps:
        plain("nothing to approve: all of it was approved before, or is within planning.auto_approve")


def show_schedule(made: "PlannedSchedule") -> None:
    plain(f"schedule {made.schedule_id}: {made.why} ({made.cost_instance_hours:.0f} instance-hours)")
    if made.cause and made.rung.plans:
        plain(f"planned by: {made.rung.words}: {made.cause}")
    if made.steps:
        rows = [(f"{step.deploy_at:%Y-%m-%d %H:%M}", step.plan, step.state, step.step_id) for step in made.steps]
        console.print(table("", ["deploy at (UTC)", "plan", "state", "step"], rows))
    plain(f"report: {made.report}")
