"""`forescale plan list`: where the steps of schedules stand."""

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import SomeTopology
from forescale.cli.output import AsJson, console, plain, say_json, table


def list_steps(
    context: typer.Context,
    topology: SomeTopology = None,
    as_json: AsJson = False,
) -> None:
    """Every step of a topology, or of all, and where it stands."""
    from forescale.report.kit.step_reasons import reason_words

    workspace = workspace_of(context)
    name = None if topology is None else workspace.config(topology).topology
    steps = workspace.ledger.steps(topology=name)
    if as_json:
        body = [
            {
                "topology": step.topology,
                "step_id": step.id,
                "schedule_id": step.schedule_id,
                "deploy_at": step.deploy_at,
                "state": str(step.state),
                "parallelism": dict(step.plan.parallelism),
                "reason": reason_words(step),
            }
            for step in steps
        ]
        say_json({"topology": topology, "steps": body})
        return
    for each in sorted({step.topology for step in steps} if name is None else {name}):
        rows = [
            (s.id, f"{s.deploy_at:%Y-%m-%d %H:%M}", s.state, s.plan.brief(), reason_words(s))
            for s in steps
            if s.topology == each
        ]
        console.print(table(f"steps of {each}", ["step", "deploy at (UTC)", "state", "plan", "why"], rows))
    if name is None and not steps:
        plain("no topology has a step so far: `forescale plan TOPOLOGY` proposes some")
