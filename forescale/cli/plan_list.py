"""`forescale plan list`: where the steps of schedules stand."""

from typing import TYPE_CHECKING

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import SomeTopology
from forescale.cli.output import AsJson, console, plain, say_json, table

if TYPE_CHECKING:
    from planner.ledger.entries import StepEntry
    from planner.ledger.ledger import Ledger

LISTED, LISTED_OF_EACH = 500, 100
"""Steps that are read, the newest: of one topology, and of each where none is named."""


def list_steps(
    context: typer.Context,
    topology: SomeTopology = None,
    as_json: AsJson = False,
) -> None:
    """The newest steps, of one topology or all, and where each is."""
    workspace = workspace_of(context)
    ledger = workspace.ledger
    names = ledger.step_topologies() if topology is None else [workspace.config(topology).topology]
    limit = LISTED_OF_EACH if topology is None else LISTED
    steps = {name: ledger.newest_steps(name, limit=limit) for name in names}
    earlier = {name: sum(ledger.step_counts(name).values()) - len(steps[name]) for name in names}
    if as_json:
        body = [
            {
                "topology": step.topology,
                "step_id": step.id,
                "schedule_id": step.schedule_id,
                "deploy_at": step.deploy_at,
                "state": str(step.state),
                "parallelism": dict(step.plan.parallelism),
                "reason": _why(ledger, step),
            }
            for name in names
            for step in steps[name]
        ]
        more = {name: count for name, count in earlier.items() if count > 0}
        say_json({"topology": topology, "steps": body, "earlier": more})
        return
    for name in names:
        rows = [(s.id, f"{s.deploy_at:%Y-%m-%d %H:%M}", s.state, s.plan.brief(), _why(ledger, s)) for s in steps[name]]
        console.print(table(f"steps of {name}", ["step", "deploy at (UTC)", "state", "plan", "why"], rows))
        if earlier[name] > 0:
            how = f"; `forescale plan list {name}` lists more" if topology is None else ""
            plain(f"the {limit} newest of {name}; earlier ones are in the ledger: {earlier[name]}{how}")
    if not names:
        plain("no topology has a step so far: `forescale plan TOPOLOGY` proposes some")


def _why(ledger: "Ledger", step: "StepEntry") -> str:
    """Why it is in its state; of a plan by hand also who asked for it and why, which its later states do not say."""
    from forescale.report.kit.step_reasons import made_words, reason_words
    from planner.ledger.step_state import Maker, StepState

    if step.made_by is not Maker.PERSON or step.state is StepState.APPROVED:
        return reason_words(step)
    return "; ".join(filter(None, [made_words(ledger.events(step.id)[0]), reason_words(step)]))
