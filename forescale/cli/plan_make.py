"""`forescale plan make`: make the scaling schedule of a topology, or of all of them under what they share."""

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import HELP, ONLY, completed, only_topology
from forescale.cli.output import MAX_PROCESSES, AsJson, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds
from modeling.wording import count_of, rounded
from planner.scaling_schedule import COMPARED

if TYPE_CHECKING:
    from forescale.cli.schedule_answer import AlternativeAnswer, FleetAnswer, ScheduleAnswer, StepAnswer
    from forescale.situation.workspace import Workspace
    from modeling.inputs.physical_plan import PhysicalPlan


def make(
    context: typer.Context,
    topology: Annotated[str | None, typer.Argument(show_default=ONLY, help=HELP, autocompletion=completed)] = None,
    every: Annotated[bool, typer.Option("--all", help="Plan every topology of that folder.")] = False,
    fleet: Annotated[
        Path | None, typer.Option(help="With --all: fleet file (YAML) with the quotas that topologies share.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_PROCESSES, help="With --all: processes; as many as cores if absent.")
    ] = None,
    spark: Annotated[
        bool, typer.Option("--spark", help="With --all: over the workers of FORESCALE_SPARK_MASTER, not processes.")
    ] = False,
    candidates: Annotated[
        Path | None,
        typer.Option(help="Plan file, or folder of plan files, to consider too; each gets a verdict."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Propose a schedule; nothing is deployed before approval."""
    if every:
        if topology is not None:
            raise typer.BadParameter(f"{topology} and --all are both given; leave one of them out")
        if candidates is not None:
            raise typer.BadParameter("--candidates needs one topology; name it instead of --all")
        if spark and workers is not None:
            raise typer.BadParameter("--workers and --spark exclude each other; the Spark master has its own workers")
        _plan_all(workspace_of(context), fleet, workers, spark, as_json)
        return
    if fleet is not None or workers is not None or spark:
        raise typer.BadParameter("--fleet, --workers and --spark need --all; give it instead of the topology")
    topology = only_topology(context, topology)
    assert topology is not None
    from forescale.cli.schedule_answer import schedule_answer
    from forescale.jobs.plan import plan

    workspace = workspace_of(context)
    proposed = None if candidates is None else _proposed(workspace, topology, candidates)
    with console.status(f"planning for {topology}"):
        made = schedule_answer(plan(workspace, topology, proposed))
    if as_json:
        say_json(made)
        return
    show_schedule(made)
    if made.shadow:
        plain(f"shadow mode: nothing is deployed; see its effect by: forescale replay {topology} --live")
    elif made.asks:
        plain(f"approve with: forescale plan approve {made.schedule_id}; or forescale plan edit STEP")
    elif made.steps:
        plain("nothing to approve: all of it was approved before, or is within planning.auto_approve")


def _proposed(workspace: "Workspace", topology: str, candidates: Path) -> "dict[str, PhysicalPlan]":
    """Candidate plans by file name."""
    from forescale.files.plan_folder import plan_paths, read_plan_files

    shape = workspace.config(topology).as_topology()
    return {Path(path).name: plan for path, plan in read_plan_files(plan_paths([candidates]), shape).items()}


def show_schedule(planned: "ScheduleAnswer") -> None:
    for warning in planned.warnings:
        plain(warning)
    price = "" if planned.price is None else f", at a price of {rounded(planned.price, 4)}"
    plain(f"schedule {planned.schedule_id}: {planned.why} ({planned.cost_instance_hours:.0f} instance-hours{price})")
    if planned.earlier_at is not None:
        plain(
            f"made {planned.earlier_at:%Y-%m-%d %H:%M} UTC: forecasts, running plan, files and calibration are still "
            "those that it was made from"
        )
    if planned.floor:
        plain("each plan is a lower bound (planning.mode): a scaler or a person decides above it")
    if planned.cause and planned.rung.plans:
        from forescale.report.kit.decision_words import RUNGS

        plain(f"planned by: {RUNGS[planned.rung]}: {planned.cause}")
    for excuse in planned.excuses:
        plain(f"not possible: {excuse}")
    if planned.steps:
        rows = [(f"{step.deploy_at:%Y-%m-%d %H:%M}", step.plan, step.state, step.step_id) for step in planned.steps]
        console.print(table("", ["deploy at (UTC)", "plan", "state", "step"], rows))
        for step in planned.steps:
            plain(f"{step.step_id}: {_change(step)}")
    for other in (*planned.alternatives, *planned.candidates):
        plain(f"{other.name}: {_cost(other) if other.kind in COMPARED else ''}{other.excuse}")
    if planned.last_day is not None:
        from forescale.report.decision.last_day_words import last_day_sentences

        for sentence in last_day_sentences(planned.last_day):
            plain(sentence)
    for note in planned.notes:
        plain(f"note: {note}")
    plain(f"report: {planned.report}")
    say_grounds(planned.stands_on)


def _cost(other: "AlternativeAnswer") -> str:
    """Of an alternative whose words compare it with nothing."""
    late, rescales = count_of(round(other.violation_minutes), "minute"), count_of(other.rescales, "rescale")
    price = "" if other.price is None else f" at a price of {rounded(other.price, 4)}"
    return f"{other.cost_instance_hours:.0f} instance-hours{price}, {late} in violation, {rescales}; "


def _change(step: "StepAnswer") -> str:
    """The disruption that a step causes, and the cost of its plan."""
    told = [] if step.disruption is None else [str(step.disruption)]
    told.append(f"down for {rounded(step.downtime_s)} s")
    if step.price_per_hour is not None and step.more_per_hour is not None:
        told.append(f"{rounded(step.price_per_hour, 4)} an hour ({step.more_per_hour:+.3g})")
    return "; ".join(told)


def _plan_all(workspace: "Workspace", fleet: Path | None, workers: int | None, spark: bool, as_json: bool) -> None:
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TaskID, TextColumn, TimeElapsedColumn

    from forescale.cli.schedule_answer import fleet_answer
    from forescale.jobs.plan_all import plan_all

    columns = (TextColumn("{task.description}"), BarColumn(), MofNCompleteColumn(), TimeElapsedColumn())
    with Progress(*columns, console=console, transient=True, disable=as_json) as progress:
        bars = dict[str, TaskID]()

        def advance(what: str, done: int, of: int) -> None:
            if what not in bars:
                bars[what] = progress.add_task(what, total=of)
            progress.update(bars[what], completed=done, total=of)

        made = fleet_answer(plan_all(workspace, fleet, workers=workers, spark=spark, progress=advance))
    if as_json:
        say_json(made)
    else:
        _show_fleet(made)
    if made.failures:
        raise typer.Exit(1)


def _show_fleet(fleet: "FleetAnswer") -> None:
    rows = [
        (
            each.topology,
            each.schedule_id,
            len(each.steps),
            f"{each.steps[0].deploy_at:%Y-%m-%d %H:%M}" if each.steps else "",
            each.steps[0].plan if each.steps else "hold",
            f"{each.cost_instance_hours:.0f}",
        )
        for each in fleet.schedules
    ]
    columns = ["topology", "schedule", "rescales", "first at (UTC)", "plan", "instance-hours"]
    console.print(table("", columns, rows))
    for topology, why in fleet.short.items():
        plain(f"{topology}: {why}")
    for sentence in (*fleet.moved, *fleet.stuck):
        plain(sentence)
    for topology in fleet.uncounted:
        plain(f"{topology}: its instances are unknown and not counted within the quotas")
    for topology, cause in fleet.failures.items():
        plain(f"{topology} is not planned for: {cause}")
    if any(each.steps and not each.shadow for each in fleet.schedules):
        plain("approve each with: forescale plan approve SCHEDULE")
