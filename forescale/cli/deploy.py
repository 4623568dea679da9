"""`forescale deploy`: review schedules, and deploy their steps or a plan of one's own."""

import getpass
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.deployment_outcomes import outcome_json, outcome_table
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.override_option import Override
from forescale.cli.topology_argument import SomeTopology, TopologyName
from forescale.files.file_error import FileError
from forescale.files.shown import shown
from forescale.plain_numbers import typed_count

if TYPE_CHECKING:
    from forescale.situation.workspace import Workspace

app = typer.Typer(help="Review and deploy.", no_args_is_help=True)
ScheduleId = Annotated[str, typer.Argument(help="Id of a schedule, see `forescale plan`.")]
Why = Annotated[str, typer.Option(help="Kept in the ledger.")]


@app.command()
def approve(context: typer.Context, schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Approve the proposed steps of a schedule: `deploy due` deploys them; under Airflow answer its review instead."""
    _reviewed(workspace_of(context), schedule, approve=True, why=why, as_json=as_json)


@app.command()
def veto(context: typer.Context, schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Call off the steps of a schedule that have not begun."""
    _reviewed(workspace_of(context), schedule, approve=False, why=why, as_json=as_json)


@app.command()
def step(
    context: typer.Context,
    step: Annotated[str, typer.Argument(help="Id of an approved step.")],
    as_json: AsJson = False,
) -> None:
    """Deploy a step that is due, verify it, and undo it if it does not hold."""
    _deployed(workspace_of(context), step, as_json=as_json)


@app.command()
def due(context: typer.Context, topology: TopologyName, as_json: AsJson = False) -> None:
    """Deploy every approved step whose time has come: by cron, without Airflow."""
    from forescale.jobs.deploy import deploy_due

    done = deploy_due(workspace_of(context), topology)
    if as_json:
        say_json(done)
    else:
        for step_id in done.expired:
            plain(f"{step_id}: expired")
        for deployment in done.deployed:
            plain(f"{deployment.step_id}: {deployment.state}, {deployment.detail}")
        for step_id, why in done.failed.items():
            plain(f"{step_id}: {why}")
        for why in done.held.values():
            plain(why)
    if done.failed:
        raise typer.Exit(1)


@app.command()
def plan(
    context: typer.Context,
    topology: TopologyName,
    file: Annotated[Path | None, typer.Option(help="Plan file (YAML).")] = None,
    parallelism: Annotated[list[str] | None, typer.Option("--set", help="OPERATOR=INSTANCES; repeat it.")] = None,
    why: Why = "",
    override: Override = False,
    as_json: AsJson = False,
) -> None:
    """Deploy a plan of your own at once; operators that are not named keep their parallelism."""
    from forescale.jobs.requested_deployment import request_deployment

    workspace = workspace_of(context)
    asked = _parallelism(workspace, topology, file, parallelism or [])
    requested = request_deployment(
        workspace,
        topology,
        parallelism=asked,
        deploy_at=None,
        by=getpass.getuser(),
        request_id=uuid.uuid4().hex,
        why=why,
        override=override,
    )
    _deployed(workspace, requested.step_id, as_json=as_json)


@app.command("list")
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


@app.command()
def outcomes(
    context: typer.Context,
    topology: TopologyName,
    last: Annotated[int, typer.Option(min=1, max=1000, help="Number of deployments to show, the latest.")] = 20,
    as_json: AsJson = False,
) -> None:
    """Measured beside predicted values of past deployments, and what planning learns from them."""
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


def _reviewed(workspace: "Workspace", schedule: str, *, approve: bool, why: str, as_json: bool) -> None:
    from forescale.jobs.review import review

    reviewed = review(workspace, schedule, approve=approve, by=getpass.getuser(), why=why)
    if as_json:
        say_json(reviewed)
        return
    for step_id, state in reviewed.steps.items():
        plain(f"{step_id}: {state}")


def _deployed(workspace: "Workspace", step_id: str, *, as_json: bool) -> None:
    from forescale.jobs.deploy import deploy

    with console.status(f"deploying step {step_id}"):
        deployment = deploy(workspace, step_id)
    if as_json:
        say_json(deployment)
    else:
        plain(f"step {step_id} is {deployment.state}: {deployment.detail}")


def _parallelism(workspace: "Workspace", topology: str, file: Path | None, given: list[str]) -> dict[str, int]:
    from forescale.files.plan import read_plan_file

    asked: dict[str, int] = {}
    if file is not None:
        asked |= read_plan_file(file, workspace.config(topology).as_topology()).parallelism
    for text in given:
        operator, _, text_of_count = text.partition("=")
        if not operator or (count := typed_count(text_of_count)) is None:
            raise FileError(f"--set {shown(text)} is not OPERATOR=INSTANCES; give it like --set 'count=2'")
        asked[operator] = count
    if not asked:
        raise FileError("nothing to deploy; give --file, or --set OPERATOR=INSTANCES")
    return asked
