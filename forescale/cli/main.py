"""The entry point: assembles the commands and turns expected errors into one line and an exit code."""

import sys
from collections.abc import Sequence

import typer
from pydantic import ValidationError

from forecasting.errors import ForecastError, HistoryError, TrackingError
from forescale.cli import (
    backtest,
    calibrate,
    config,
    demo,
    deploy,
    evaluate,
    forecast,
    forecasts,
    history,
    plan,
    report,
    reproduce,
)
from forescale.cli.output import say_json
from forescale.files.plan import PlanFileError
from forescale.files.profile import ProfileFileError
from forescale.files.samples import SampleFileError
from forescale.files.shown import shown
from forescale.files.topology import TopologyFileError
from forescale.jobs.deploy import DeploymentFailed
from forescale.local.errors import ServiceError
from forescale.local.flink.errors import LocalFlinkError
from forescale.report.decision.decision import ReportError
from modeling.errors import ModelError
from planner.errors import ClusterError, LedgerError, PlanError

EXPECTED = (
    ClusterError,
    DeploymentFailed,
    LocalFlinkError,
    ForecastError,
    HistoryError,
    LedgerError,
    ModelError,
    PlanError,
    PlanFileError,
    ProfileFileError,
    ReportError,
    SampleFileError,
    ServiceError,
    TopologyFileError,
    TrackingError,
)
"""What can be wrong with the world; anything else is a defect and shows its traceback."""

app = typer.Typer(
    name="forescale",
    help="Pre-emptive scaling of stream-processing topologies: have each plan in place before its load arrives.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
)
app.add_typer(history.app, name="history")
app.add_typer(deploy.app, name="deploy")
app.add_typer(config.app, name="config")
app.command("forecast")(forecast.forecast)
app.command("forecasts")(forecasts.forecasts)
app.command("backtest")(backtest.backtest)
app.command("calibrate")(calibrate.calibrate)
app.command("evaluate")(evaluate.evaluate)
app.command("plan")(plan.plan)
app.command("report")(report.report)
app.command("reproduce")(reproduce.reproduce)
app.command("demo")(demo.demo)
app.command("demo-flink")(demo.demo_flink)
app.command("up")(demo.up)


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Exits with 0, with 1 after an error (one line on standard error), or with 2 for wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    try:
        app(args=given)
    except EXPECTED as error:
        _fail(str(error), as_json="--json" in given)
    except OSError as error:
        where = error.filename or "a file"
        _fail(
            f"{where}: {error.strerror or error}; check the path, its permissions and FORESCALE_HOME",
            as_json="--json" in given,
        )
    except ValidationError as error:
        first = error.errors()[0]
        field = ".".join(str(part) for part in first["loc"])
        _fail(
            f"setting FORESCALE_{field.upper()}: {first['msg']} (given: {shown(first['input'])})",
            as_json="--json" in given,
        )
    except KeyboardInterrupt:
        sys.exit(130)


def _fail(message: str, *, as_json: bool) -> None:
    if as_json:
        say_json({"error": message})
    print(f"forescale: {message}", file=sys.stderr)
    sys.exit(1)
