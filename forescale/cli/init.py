"""`forescale init`: write a topology file from a running job, calibrate it, print the next command."""

from typing import TYPE_CHECKING, Annotated, Any

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.login_options import Login, login_fields
from forescale.cli.output import AsJson, check_output, console, plain, say_json
from forescale.jobs.init import DraftTarget, described_job, draft_topology, first_calibration, unmeasured_because
from forescale.wiring.engines.engine import JobRequest
from forescale.wiring.engines.registry import DESCRIBED
from modeling.errors import ModelError
from modeling.wording import count_of
from planner.errors import ClusterError

if TYPE_CHECKING:
    from forescale.jobs.calibrate import CalibratedTopology
    from forescale.jobs.init import DraftedTopology
    from forescale.situation.workspace import Workspace


def init(
    run: typer.Context,
    topology: Annotated[
        str | None,
        typer.Argument(help="Name of the topology, or the file to write, such as shop.yaml; the job's name if absent."),
    ] = None,
    flink: Annotated[
        str | None,
        typer.Option(
            help="Flink's REST interface, such as http://127.0.0.1:8081; with --kubernetes, that of a FlinkDeployment, "
            "if not its service's."
        ),
    ] = None,
    storm_ui: Annotated[str | None, typer.Option(help="Storm's UI, such as http://127.0.0.1:8080.")] = None,
    heron_tracker: Annotated[
        str | None, typer.Option(help="Heron's tracker, such as http://127.0.0.1:8888; with --job.")
    ] = None,
    kubernetes: Annotated[
        str | None, typer.Option(help="Namespace, such as shop; with --job, --workload or --selector.")
    ] = None,
    job: Annotated[
        str | None,
        typer.Option(
            help="Name of the job, topology or FlinkDeployment, the only one if absent; of Heron, "
            "CLUSTER/ROLE/ENVIRON/NAME or CLUSTER/ENVIRON/NAME, such as local/prod/words."
        ),
    ] = None,
    workload: Annotated[
        list[str] | None, typer.Option(help="deployment/NAME or statefulset/NAME that is an operator; repeatable.")
    ] = None,
    selector: Annotated[
        str | None, typer.Option(help="Labels of the workloads that are operators: part-of=shop.")
    ] = None,
    login: Login = None,
    kafka: Annotated[str | None, typer.Option(help="Kafka to look for arrivals at, such as broker:9092.")] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Prometheus to look for arrivals at: http://127.0.0.1:9090.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    measure: Annotated[bool, typer.Option("--calibrate/--no-calibrate", help="Measure a job that runs.")] = True,
    as_json: AsJson = False,
) -> None:
    """Write a topology file from a running job.

    Marks what is still a question, calibrates, and prints the next command.
    """
    workspace = workspace_of(run)
    places = {"flink": flink, "storm": storm_ui, "heron": heron_tracker, "kubernetes": kubernetes}
    kind = _engine_to_ask(places)
    target = DraftTarget(topology, force)
    if topology is not None:
        target.path(workspace.settings)  # is free, before the engine is asked
        check_output("topology", target.file, ModelError)
    place = str(places[kind])
    request = JobRequest(
        place, job, login_fields(login or []), tuple(workload or ()), selector, flink if kind != "flink" else None
    )
    with console.status(f"asking {DESCRIBED[kind].option} {kind}"):
        described = described_job(kind, request)
    with console.status("writing the topology file"):
        drafted = draft_topology(workspace, described, target, kafka=kafka, prometheus=prometheus)
    unmeasured = unmeasured_because(drafted) if measure else "--no-calibrate is given"
    calibration = None
    if not unmeasured:
        if not as_json:
            plain(f"wrote {drafted.path}")
        calibration, unmeasured = _measured(workspace, drafted)
    _say(drafted, calibration, unmeasured, as_json=as_json)


def _engine_to_ask(places: dict[str, str | None]) -> str:
    """The kind of engine to ask. Raises ClusterError."""
    kinds = [kind for kind, place in places.items() if place is not None]
    if set(kinds) == {"flink", "kubernetes"}:
        kinds.remove("flink")
    if len(kinds) != 1:
        asked = f"{listed} are" if (listed := " and ".join(DESCRIBED[kind].option for kind in kinds)) else "nothing is"
        every = ", ".join(jobs.option for jobs in DESCRIBED.values())
        raise ClusterError(f"{asked} given; say what to describe by one of {every}")
    return kinds[0]


def _measured(workspace: "Workspace", drafted: "DraftedTopology") -> "tuple[CalibratedTopology | None, str]":
    """The first calibration, or why there is none; the topology file is valid either way."""
    try:
        with console.status(f"measuring {drafted.topology}"):
            return first_calibration(workspace, drafted), ""
    except (ClusterError, ModelError) as error:
        return None, str(error)


def _say(
    drafted: "DraftedTopology", calibration: "CalibratedTopology | None", unmeasured: str, *, as_json: bool
) -> None:
    questions = drafted.open_after({} if calibration is None else calibration.made.profiles)
    if as_json:
        body: dict[str, Any] = {
            "topology": drafted.topology,
            "file": str(drafted.path),
            "job": drafted.job.name,
            "place": drafted.job.place,
            "runs": drafted.job.runs,
            "plan": {each.name: each.parallelism for each in drafted.job.operators},
            "questions": [{"line": each.line, "text": each.text} for each in questions],
            "profiles": None if calibration is None else str(calibration.path),
            "notes": {} if calibration is None else {name: of.notes for name, of in calibration.made.operators.items()},
            "not_calibrated": unmeasured,
            "next": drafted.following,
        }
        say_json(body)
        return
    plan = ", ".join(f"{each.name} {each.parallelism}" for each in drafted.job.operators)
    plain(f"{drafted.path}: {drafted.topology}, {plan}; good")
    for question in questions:
        plain(f"{drafted.path}:{question.line}: {question.text}")
    if calibration is not None:
        for name, operator in calibration.made.operators.items():
            service_s = calibration.made.profiles[name].service_s
            plain(f"{name}: {1000 * service_s:.4g} ms a tuple, of {count_of(operator.used, 'sample')}")
            for note in operator.notes:
                plain(f"{name}: {note}")
        plain(f"profiles: {calibration.path}")
    elif unmeasured:
        plain(f"not calibrated: {unmeasured}")
    plain(f"next: {drafted.following}")
