"""`forescale model calibrate`: measure what the operators of a topology cost, and write it as a profile file."""

import sys
from pathlib import Path
from typing import Annotated

import typer

from forecasting.errors import TrackingError
from forescale.cli.calibration_json import calibration_fields
from forescale.cli.calibration_tables import show_calibration
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, check_output, console, plain, say_json
from forescale.jobs.calibrate import calibrate as calibrated
from forescale.jobs.calibrate import track as kept
from modeling.calibration.sifting import WARM_S
from modeling.errors import ModelError

AFRESH = Path("none")
"""What `--against` takes for no earlier calibration; a file of this name is given by its whole path."""


def calibrate(
    context: typer.Context,
    topology: TopologyName,
    samples: Annotated[
        Path | None,
        typer.Option(
            help="Operator samples, such as samples.csv or samples.json; else the topology file's engine is asked."
        ),
    ] = None,
    warm: Annotated[
        float, typer.Option(min=0.0, help="Samples of instances younger than these seconds are dropped; 0: none.")
    ] = WARM_S,
    out: Annotated[
        Path | None,
        typer.Option(help="Profile file to write instead of the planner's, such as trial.json; it gets no version."),
    ] = None,
    against: Annotated[
        Path | None,
        typer.Option(
            help="Profile file to build on and compare with; `none`: the topology file alone. The planner's if absent."
        ),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Measure every operator, with 95 % intervals.

    Service times, selectivities, CPU and memory.
    """
    check_output("--out", out, ModelError)
    workspace = workspace_of(context)
    afresh = against == AFRESH
    with console.status(f"measuring {topology}"):
        calibration = calibrated(
            workspace,
            topology,
            samples,
            warm_s=warm,
            out=out,
            against=None if afresh else against,
            afresh=afresh,
        )
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
        version = kept(workspace, calibration) if out is None else ""
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
