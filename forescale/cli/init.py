"""`forescale init`: a topology file from what runs, or from answers; calibrated, and with the next command."""

from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forescale.cli.installation import settings_of
from forescale.cli.interview import interview
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.jobs.init import DraftTarget, described_job, draft_topology, first_calibration
from forescale.wiring.engines.engine import JobRequest
from forescale.wiring.engines.registry import DESCRIBED, SAMPLED
from modeling.errors import ModelError
from planner.errors import ClusterError

if TYPE_CHECKING:
    from forescale.jobs.calibrate import CalibratedTopology
    from forescale.jobs.init import DraftedTopology


def init(
    context: typer.Context,
    flink: Annotated[str | None, typer.Option(help="Address of Flink's REST interface.")] = None,
    storm_ui: Annotated[str | None, typer.Option(help="Address of Storm's UI.")] = None,
    heron_tracker: Annotated[
        str | None, typer.Option(help="Address of Heron's tracker; with --job, --cluster and --environ.")
    ] = None,
    interactive: Annotated[bool, typer.Option("--interactive", help="Ask for what no engine tells.")] = False,
    job: Annotated[str | None, typer.Option(help="Name of the job or topology; the only one if absent.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Of Heron.")] = None,
    environ: Annotated[str | None, typer.Option(help="Of Heron.")] = None,
    role: Annotated[str | None, typer.Option(help="Of Heron.")] = None,
    kafka: Annotated[str | None, typer.Option(help="Servers (host:port) where arrivals are looked for.")] = None,
    prometheus: Annotated[str | None, typer.Option(help="Address where arrivals are looked for.")] = None,
    name: Annotated[str | None, typer.Option(help="Of the topology; after the job if absent.")] = None,
    out: Annotated[
        Path | None, typer.Option(help="File to write; NAME.yaml in the folder of topology files if absent.")
    ] = None,
    force: Annotated[bool, typer.Option("--force", help="Replace the file if it is there.")] = False,
    measure: Annotated[bool, typer.Option("--calibrate/--no-calibrate", help="Measure a job that runs.")] = True,
    spans: Annotated[int, typer.Option(min=1, help="Spans for which Flink is watched.")] = 2,
    as_json: AsJson = False,
) -> None:
    """Write a topology file from what runs, with what is still open marked; calibrate, and tell the next command."""
    settings = settings_of(context)
    given = {"flink": flink, "storm": storm_ui, "heron": heron_tracker}
    addresses = {kind: address for kind, address in given.items() if address is not None}
    asked = [DESCRIBED[kind].option for kind in addresses] + (["--interactive"] if interactive else [])
    if len(asked) != 1:
        every = ", ".join([*(jobs.option for jobs in DESCRIBED.values()), "--interactive"])
        raise ClusterError(f"{' and '.join(asked) or 'nothing'} is given; say what to describe by one of {every}")
    target = DraftTarget(name, out, force)
    target.check()
    if interactive:
        drafted = draft_topology(settings, interview(job or name), target, kafka=kafka, prometheus=prometheus)
        _say(drafted, None, "", as_json=as_json)
        return
    kind, url = addresses.popitem()
    request = JobRequest(url, job, cluster, environ, role)
    with console.status(f"asking {DESCRIBED[kind].option} {kind}"):
        drafted = draft_topology(settings, described_job(kind, request), target, kafka=kafka, prometheus=prometheus)
    calibration, unmeasured = None, _not_measured(drafted, kind, measure)
    if not unmeasured:
        if not as_json:
            plain(f"wrote {drafted.path}")
        try:
            with console.status(f"measuring {drafted.topology}"):
                calibration = first_calibration(settings, drafted, kind, request, spans)
        except (ClusterError, ModelError) as error:  # the file is there and good
            unmeasured = str(error)
    _say(drafted, calibration, unmeasured, as_json=as_json)


def _not_measured(drafted: "DraftedTopology", kind: str, measure: bool) -> str:
    """Why nothing is measured, before it is tried; empty where it can be."""
    if not measure:
        return "--no-calibrate is given"
    if kind not in SAMPLED:
        return "this engine gives no samples"
    return "" if drafted.job.runs else f"the job is {drafted.job.state}"


def _say(
    drafted: "DraftedTopology", calibration: "CalibratedTopology | None", unmeasured: str, *, as_json: bool
) -> None:
    if as_json:
        body: dict[str, Any] = {
            "topology": drafted.topology,
            "file": str(drafted.path),
            "job": drafted.job.name,
            "place": drafted.job.place,
            "runs": drafted.job.runs,
            "plan": {each.name: each.parallelism for each in drafted.job.operators},
            "questions": [asdict(question) for question in drafted.questions],
            "profiles": None if calibration is None else str(calibration.path),
            "not_calibrated": unmeasured,
            "next": drafted.following,
        }
        say_json(body)
        return
    plan = ", ".join(f"{each.name} {each.parallelism}" for each in drafted.job.operators)
    plain(f"{drafted.path}: {drafted.topology}, {plan}; good")
    for question in drafted.questions:
        plain(f"{drafted.path}:{question.line}: {question.text}")
    if calibration is not None:
        for name, operator in calibration.made.operators.items():
            service_s = calibration.made.profiles[name].service_s
            plain(f"{name}: {1000 * service_s:.4g} ms a tuple, of {operator.used} samples")
        plain(f"profiles: {calibration.path}")
    elif unmeasured:
        plain(f"not calibrated: {unmeasured}")
    plain(f"next: {drafted.following}")
