"""`forescale plan edit`: another plan or time for a waiting step, with its cost estimated again before approval."""

import getpass
from typing import Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import Override
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds
from forescale.files.typed_plan import moment_of, parallelism_of
from modeling.wording import rounded
from planner.errors import PlanError


def edit(
    context: typer.Context,
    step: Annotated[str, typer.Argument(help="Id of a step, see `forescale plan list`.")],
    plan: Annotated[
        str, typer.Option(help="OPERATOR=INSTANCES, several with commas; the other operators keep theirs.")
    ] = "",
    parallelism: Annotated[list[str] | None, typer.Option("--set", help="OPERATOR=INSTANCES; repeat it.")] = None,
    at: Annotated[str | None, typer.Option(help="ISO time at which to ask for it, UTC where it has no offset.")] = None,
    by: Annotated[str, typer.Option(help="Who edits, kept in the ledger; the calling user if absent.")] = "",
    why: Annotated[str, typer.Option(help="Kept in the ledger.")] = "",
    approve: Annotated[bool, typer.Option("--approve", help="Approve the edited step at once.")] = False,
    override: Override = False,
    as_json: AsJson = False,
) -> None:
    """Give a step another plan or time, and show the effect."""
    from forescale.cli.schedule_answer import edit_answer
    from forescale.jobs.edit import edit as edited

    asked = parallelism_of("--plan", plan)
    for text in parallelism or []:
        asked |= parallelism_of("--set", text)
    if not asked and at is None:
        raise PlanError("nothing to edit; give --plan OPERATOR=INSTANCES, or --at TIME")
    with console.status(f"editing step {step}"):
        made = edit_answer(
            edited(
                workspace_of(context),
                step,
                parallelism=asked,
                deploy_at=None if at is None else moment_of("--at", at),
                by=by or getpass.getuser(),
                why=why,
                approve=approve,
                override=override,
            )
        )
    if as_json:
        say_json(made)
        return
    for warning in made.warnings:
        plain(warning)
    plain(f"schedule {made.schedule_id} in place of {made.in_place_of}: {made.change}")
    for limit in made.passed:
        plain(f"overridden: {limit}")
    columns = ["over the horizon", "instance-hours", "violation expected (min)", "probability"]
    both = (("before", made.before), ("edited", made.after))
    rows = [
        [name, f"{of.instance_hours:.1f}", rounded(of.violation_minutes, 2), f"{of.violation_probability:.0%}"]
        for name, of in both
    ]
    if made.after.price is not None:
        columns.append("price")
        rows = [[*row, rounded(of.price or 0.0)] for row, (_, of) in zip(rows, both, strict=True)]
    console.print(table("", columns, rows))
    for step_id, state in made.states.items():
        plain(f"{step_id}: {state}")
    plain(f"report: {made.report}")
    say_grounds(made.stands_on)
    if not approve:
        plain(f"approve with: forescale plan approve {made.schedule_id}")
