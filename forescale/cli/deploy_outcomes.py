"""`forescale deploy outcomes`: measured values of deployments beside predicted ones, and what is learnt from them."""

from collections.abc import Sequence
from typing import Annotated, Any

import typer
from rich.table import Table

from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, console, plain, say_json, table
from planner.ledger.entries import Outcome, StepEntry

_COLUMNS = (
    ("downtime", "measured", "downtime_s"),
    ("downtime", "predicted", "downtime_s"),
    ("catch-up", "measured", "catch_up_s"),
    ("catch-up", "predicted", "catch_up_s"),
    ("lead time", "measured", "lead_s"),
)


def outcomes(
    context: typer.Context,
    topology: TopologyName,
    last: Annotated[int, typer.Option(min=1, max=1000, help="Number of deployments to show, the latest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Measured beside predicted values of past deployments.

    And what planning learns from them.
    """
    from forescale.report.kit.decision_words import learned_words

    workspace = workspace_of(context)
    config, ledger = workspace.config(topology), workspace.ledger
    known = ledger.outcomes(config.topology, limit=last)
    learned = workspace.situation(config).learned
    if as_json:
        say_json(
            {
                "topology": config.topology,
                "outcomes": [outcome_json(step, outcome) for step, outcome in known],
                "learned": {
                    "downtime_s": learned.learned.downtime.seconds,
                    "lead_s": learned.planning.lead_s,
                    "notes": learned_words(learned.facts),
                },
            }
        )
        return
    if known:
        console.print(outcome_table(config.topology, known))
    else:
        plain(f"no deployment of {config.topology} has an outcome so far")
    for what, note in learned_words(learned.facts).items():
        plain(f"{what} to plan with: {note}")


def outcome_table(topology: str, outcomes: Sequence[tuple[StepEntry, Outcome]]) -> Table:
    """A row per deployment; a dash where a value is unknown."""
    numbers = [what if how == "measured" else how for what, how, _ in _COLUMNS]
    rows = [
        (
            step.id,
            "-" if known.verified_at is None else f"{known.verified_at:%Y-%m-%d %H:%M}",
            str(step.state),
            step.plan.brief(),
            *(_seconds(known, how, name) for _, how, name in _COLUMNS),
        )
        for step, known in outcomes
    ]
    return table(f"deployments of {topology}", ["step", "in place at (UTC)", "state", "plan", *numbers], rows)


def outcome_json(step: StepEntry, known: Outcome) -> dict[str, Any]:
    return {
        "step_id": step.id,
        "schedule_id": step.schedule_id,
        "deploy_at": step.deploy_at,
        "verified_at": known.verified_at,
        "state": str(step.state),
        "parallelism": dict(step.plan.parallelism),
        "predicted": dict(known.predicted),
        "measured": dict(known.measured),
        "violation_minutes": known.violation_minutes,
    }


def _seconds(known: Outcome, how: str, name: str) -> str:
    numbers = known.predicted if how == "predicted" else known.measured
    if name in numbers:
        return f"{numbers[name]:.3g} s"
    at_least = numbers.get("catch_up_at_least_s") if name == "catch_up_s" else None
    return "-" if at_least is None else f"over {at_least:.3g} s"
