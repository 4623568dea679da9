"""`forescale calibrate`: measure what the operators of a topology cost, and write it as a profile file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from forecasting.errors import TrackingError
from forescale.cli.calibration_json import calibration_fields
from forescale.cli.calibration_tables import show_calibration
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, check_output, console, plain, say_json
from forescale.cli.topology_argument import TopologyOption
from forescale.files.shown import shown
from forescale.jobs.calibrate import calibrate as calibrated
from forescale.jobs.calibrate import track as kept
from forescale.jobs.measured_samples import SampleSource
from modeling.calibration.sifting import WARM_S
from modeling.errors import ModelError


def calibrate(
    context: typer.Context,
    topology: TopologyOption,
    samples: Annotated[Path | None, typer.Option(help="Operator samples as CSV, or JSON (*.json).")] = None,
    flink: Annotated[str | None, typer.Option(help="Address of Flink's REST interface; with --job.")] = None,
    heron_tracker: Annotated[
        str | None, typer.Option(help="Address of Heron's tracker; with --cluster and --environ.")
    ] = None,
    storm_ui: Annotated[str | None, typer.Option(help="Address of Storm's UI.")] = None,
    prometheus: Annotated[
        str | None, typer.Option(help="Address of Prometheus; with a section services in the topology file.")
    ] = None,
    job: Annotated[str | None, typer.Option(help="Name of the job or topology in the cluster, if different.")] = None,
    cluster: Annotated[str | None, typer.Option(help="Heron's name of the cluster.")] = None,
    environ: Annotated[str | None, typer.Option(help="Heron's environment.")] = None,
    role: Annotated[str | None, typer.Option(help="Heron's role.")] = None,
    component: Annotated[
        list[str] | None, typer.Option(help="OPERATOR=NAME in the cluster, if different; repeatable.")
    ] = None,
    span: Annotated[
        float | None, typer.Option(min=1.0, help="Seconds of a span (Flink, 30), or back in time (others, 600).")
    ] = None,
    spans: Annotated[
        int,
        typer.Option(min=1, help="Number of spans: Flink is watched for each, Prometheus' span is divided into them."),
    ] = 3,
    warm: Annotated[float, typer.Option(min=0.0, help="Samples of younger instances (seconds) are dropped.")] = WARM_S,
    out: Annotated[Path | None, typer.Option(help="Profile file to write; that of the planner if absent.")] = None,
    against: Annotated[
        Path | None, typer.Option(help="Calibration to build on and compare with; the planner's last if absent.")
    ] = None,
    afresh: Annotated[
        bool, typer.Option("--afresh", help="Ignore earlier calibrations; start from the topology file.")
    ] = False,
    track: Annotated[bool, typer.Option(help="Keep it as a model version in MLflow.")] = True,
    as_json: AsJson = False,
) -> None:
    """Measure every operator, with 95 % intervals.

    Service times, selectivities, CPU and memory.
    """
    check_output("--out", out, ModelError)
    workspace = workspace_of(context)
    components = dict(_component(text) for text in component or ())
    given = {"flink": flink, "heron": heron_tracker, "storm": storm_ui, "prometheus": prometheus}
    addresses = {kind: address for kind, address in given.items() if address is not None}
    source = SampleSource(samples, addresses, job, cluster, environ, role, components, span, spans)
    with console.status(f"measuring {topology}"):
        calibration = calibrated(workspace, topology, source, warm_s=warm, out=out, against=against, afresh=afresh)
    if not as_json:
        # Written before tracking, so that the file exists even if the store does not answer.
        show_calibration(calibration.made, calibration.drifts)
        if calibration.unsettled_s is not None:
            plain(
                f"differs from the calibration of {calibration.unsettled_s / 60:.0f} min ago by more than both "
                "intervals: the job may still be warming up; calibrate again until two agree"
            )
        plain(f"profiles: {calibration.path}")
    version, untracked = "", ""
    try:
        version = kept(workspace, calibration) if track else ""
    except TrackingError as error:
        if not as_json:
            raise
        untracked = str(error)
    if as_json:
        fields = calibration_fields(calibration) | {"model_version": version}
        say_json(fields | ({"tracking_error": untracked} if untracked else {}))
        if untracked:
            print(f"forescale: {untracked}", file=sys.stderr)
            raise typer.Exit(1)
    elif version:
        plain(f"MLflow model version models:/{version}")


def _component(text: str) -> tuple[str, str]:
    operator, equals, name = text.partition("=")
    if not (operator and equals and name):
        raise ModelError(
            f"--component {shown(text)} is not OPERATOR=NAME; give it like --component 'count=Count words'"
        )
    return operator, name
