"""`forescale deploy`: review schedules, and deploy their steps or a plan of one's own."""

import getpass
import uuid
from pathlib import Path
from typing import Annotated, Any

import typer

from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.files.shown import shown
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of, topology_config

app = typer.Typer(help="Review and deploy.", no_args_is_help=True)
ScheduleId = Annotated[str, typer.Argument(help="Id of a schedule, as `forescale plan` shows it.")]
Why = Annotated[str, typer.Option(help="Kept in the ledger.")]


@app.command()
def approve(schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Approve the proposed steps of a schedule: `deploy due` deploys them; under Airflow answer its review instead."""
    _reviewed(schedule, approve=True, why=why, as_json=as_json)


@app.command()
def veto(schedule: ScheduleId, why: Why = "", as_json: AsJson = False) -> None:
    """Call off the steps of a schedule that have not begun."""
    _reviewed(schedule, approve=False, why=why, as_json=as_json)


@app.command()
def step(step: Annotated[str, typer.Argument(help="Id of an approved step.")], as_json: AsJson = False) -> None:
    """Deploy a step that is due, verify it, and undo it if it does not hold."""
    _deployed(step, as_json=as_json)


@app.command()
def due(topology: Annotated[str, typer.Argument(help="Topology file, or its name.")], as_json: AsJson = False) -> None:
    """Deploy every approved step whose time has come; for cron, where no Airflow does it."""
    from forescale.jobs.deploy import deploy_due

    done = deploy_due(topology)
    if as_json:
        say_json(done)
    else:
        for step_id in done["expired"]:
            plain(f"{step_id}: expired")
        for answer in done["deployed"]:
            plain(f"{answer['step_id']}: {answer['state']}, {answer['detail']}")
        for step_id, why in done["failed"].items():
            plain(f"{step_id}: {why}")
    if done["failed"]:
        raise typer.Exit(1)


@app.command()
def plan(
    topology: Annotated[str, typer.Argument(help="Topology file, or its name.")],
    file: Annotated[Path | None, typer.Option(help="Plan file (YAML).")] = None,
    parallelism: Annotated[list[str] | None, typer.Option("--set", help="OPERATOR=INSTANCES; repeat it.")] = None,
    as_json: AsJson = False,
) -> None:
    """Deploy a plan of one's own at once; operators that are not named keep what they run with."""
    from forescale.jobs.deploy import request_deployment

    asked = _parallelism(topology, file, parallelism or [])
    made = request_deployment(topology, parallelism=asked, when=None, by=getpass.getuser(), request_id=uuid.uuid4().hex)
    _deployed(made["step_id"], as_json=as_json)


@app.command("list")
def list_steps(
    topology: Annotated[str, typer.Argument(help="Topology file, or its name.")], as_json: AsJson = False
) -> None:
    """Every step of a topology and where it stands."""
    settings = Settings()
    steps = ledger_of(settings).steps(topology=topology_config(topology, settings).topology)
    if as_json:
        body = [
            {
                "step_id": step.id,
                "schedule_id": step.schedule_id,
                "deploy_at": step.deploy_at,
                "state": str(step.state),
                "parallelism": dict(step.plan.parallelism),
                "reason": step.reason,
            }
            for step in steps
        ]
        say_json({"topology": topology, "steps": body})
        return
    rows = [(s.id, f"{s.deploy_at:%Y-%m-%d %H:%M}", s.state, s.plan.brief(), s.reason) for s in steps]
    console.print(table(f"steps of {topology}", ["step", "deploy at (UTC)", "state", "plan", "why"], rows))


def _reviewed(schedule: str, *, approve: bool, why: str, as_json: bool) -> None:
    from forescale.jobs.review import review

    answer = review(schedule, approve=approve, by=getpass.getuser(), why=why)
    if as_json:
        say_json(answer)
        return
    for step_id, state in answer["steps"].items():
        plain(f"{step_id}: {state}")


def _deployed(step_id: str, *, as_json: bool) -> None:
    from forescale.jobs.deploy import deploy

    with console.status(f"deploying step {step_id}"):
        answer: dict[str, Any] = deploy(step_id)
    if as_json:
        say_json(answer)
    else:
        plain(f"step {step_id} is {answer['state']}: {answer['detail']}")


def _parallelism(topology: str, file: Path | None, given: list[str]) -> dict[str, int]:
    from forescale.files.plan import PlanFileError, read_plan_file

    asked: dict[str, int] = {}
    if file is not None:
        asked |= read_plan_file(file, topology_config(topology, Settings()).as_topology()).parallelism
    for text in given:
        operator, _, count = text.partition("=")
        if not (operator and count.isdecimal()):
            raise PlanFileError(f"--set {shown(text)} is not OPERATOR=INSTANCES; give it like --set 'count=2'")
        asked[operator] = int(count)
    if not asked:
        raise PlanFileError("nothing to deploy; give --file, or --set OPERATOR=INSTANCES")
    return asked
