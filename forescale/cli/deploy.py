"""`forescale deploy due` and `now`: deploy approved steps, or a plan of one's own."""

import getpass
import uuid
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import Override, TopologyName, completed, only_topology, topology_names
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.codec import to_json
from forescale.files.file_error import FileError
from forescale.files.shown import shown
from forescale.plain_numbers import typed_count
from modeling.wording import count_of
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.deploy import DueSteps
    from forescale.situation.workspace import Workspace
    from planner.deployment import Deployment


def due(context: typer.Context, topology: TopologyName, as_json: AsJson = False) -> None:
    """Deploy every approved step whose time has come.

    By cron, without Airflow.
    """
    from forescale.jobs.deploy import deploy_due
    from forescale.report.kit.step_reasons import why_words

    workspace = workspace_of(context)
    done = deploy_due(workspace, topology)
    if as_json:
        say_json({**to_json(done), "deployed": [_fields(each) for each in done.deployed]})
    else:
        for step_id in done.expired:
            plain(f"{step_id}: expired")
        for deployment in done.deployed:
            plan = workspace.ledger.step(deployment.step_id).plan.brief()
            plain(f"{deployment.step_id} ({plan}): {deployment.state}, {why_words(deployment.why)}")
        for step_id, why in done.failed.items():
            plain(f"{step_id}: {why}")
        for why in done.held.values():
            plain(why)
        if done.were_none:
            plain(f"nothing is due: {_coming(done)}")
    if done.failed:
        raise typer.Exit(1)


def _coming(done: "DueSteps") -> str:
    """When the next step is, or why there is none."""
    unanswered = f"{count_of(done.unanswered, 'step')} to approve or veto"
    if done.coming is not None:
        also = f"; {unanswered}" if done.unanswered else ""
        step = done.coming
        return f"step {step.step_id} ({step.plan}) is the next, at {step.deploy_at:%Y-%m-%d %H:%M} UTC{also}"
    return f"no step is approved; {unanswered}" if done.unanswered else "no step is planned"


def now(
    context: typer.Context,
    what: Annotated[
        str | None,
        typer.Argument(
            metavar="[STEP|TOPOLOGY]",
            help="Id of an approved step, or with --set or --file a topology: the only one of its folder if absent.",
            autocompletion=completed,
        ),
    ] = None,
    file: Annotated[Path | None, typer.Option(help="Plan file (YAML).")] = None,
    parallelism: Annotated[
        list[str] | None, typer.Option("--set", help="OPERATOR=INSTANCES; repeat it. The others keep theirs.")
    ] = None,
    why: Annotated[str, typer.Option(help="Kept in the ledger, of a plan of your own.")] = "",
    override: Override = False,
    as_json: AsJson = False,
) -> None:
    """Deploy a step that is due, or a plan of your own.

    Verifies it, and undoes it if it does not hold.
    """
    workspace = workspace_of(context)
    if file is None and not parallelism:
        if what is None or what in topology_names(context):
            raise FileError(
                "nothing to deploy; name a step (`forescale plan list`), or give --set OPERATOR=INSTANCES or --file"
            )
        _deployed(workspace, what, as_json=as_json)
        return
    topology = only_topology(context, what)
    assert topology is not None
    from forescale.jobs.requested_deployment import request_deployment

    requested = request_deployment(
        workspace,
        topology,
        parallelism=_parallelism(workspace, topology, file, parallelism or []),
        deploy_at=None,
        by=getpass.getuser(),
        request_id=uuid.uuid4().hex,
        why=why,
        override=override,
    )
    _deployed(workspace, requested.step_id, as_json=as_json)


def _deployed(workspace: "Workspace", step_id: str, *, as_json: bool) -> None:
    from forescale.jobs.deploy import check_runs_on, deploy, deploy_now_words
    from forescale.report.kit.step_reasons import reason_words, why_words
    from planner.ledger.step_state import CALLED_OFF

    with console.status(f"deploying step {step_id}"):
        check_runs_on(workspace, step_id)
        deployment = deploy(workspace, step_id)
    step = workspace.ledger.step(step_id)
    if deployment.state in CALLED_OFF:
        raise PlanError(
            f"step {step_id} ({step.plan.brief()}) is not deployed: it is {deployment.state} ({reason_words(step)}); "
            f"to deploy its plan all the same: `{deploy_now_words(step.plan, step.replaces)}`"
        )
    if as_json:
        say_json(_fields(deployment))
    else:
        plain(f"step {step_id} ({step.plan.brief()}) is {deployment.state}: {why_words(deployment.why)}")


def _fields(deployment: "Deployment") -> dict[str, Any]:
    """For JSON: its cause as a fact and, as `detail`, in words."""
    from forescale.report.kit.step_reasons import why_words

    return {**to_json(deployment), "detail": why_words(deployment.why)}


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
    return asked
