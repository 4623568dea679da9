"""The entry point: imports the command that is asked for, and turns expected errors into one line and an exit code."""

import re
import sys
from collections.abc import Callable, Sequence
from functools import partial
from importlib import import_module
from importlib.metadata import version
from typing import Annotated, Any

import typer
import typer.main
from pydantic import ValidationError
from pydantic_settings import SettingsError

from engines.redaction import without_logins
from forescale.cli.output import say_in_any_encoding, say_json
from forescale.files.shown import shown
from forescale.plain_numbers import is_plain
from forescale.settings import PREFIX

COMMANDS = {
    "init": "Write a topology file from a running job, mark open questions, calibrate, and print the next command.",
    "doctor": "Check everything that a decision needs, in order; exits with 1 if anything fails.",
    "forecast": "Backtest, select and fit forecasters; track the forecast in MLflow; keep it for `forescale plan`.",
    "forecasts": "Write a page of each source's forecast, with the scores of past ones, and one of all series.",
    "peak": "Peak of the load until any moment, with its probability, by the newest forecast's joint paths.",
    "backtest": "Replay a trace: forecast at each origin from earlier arrivals alone, and score against what followed.",
    "calibrate": "Measure service times, selectivities and needs of every operator, each with its 95 % interval.",
    "evaluate": "Throughput, bottleneck, latency, resources and recovery of plans under a load.",
    "services": "Requests a second at which micro-services saturate, and the service that is short of threads or CPU.",
    "pack": "Which container holds which instance: a plan file by one of the packers, for `forescale evaluate`.",
    "plan": "Propose a schedule for the newest forecast; nothing is deployed before it is approved.",
    "edit": "Give a step another plan or time, and show the effect on cost and violations.",
    "replay": "Replay policies over past arrivals, minute by minute, and score their cost and violations.",
    "shadow": "Cost and violations by day in shadow mode, beside those of what really ran.",
    "guard": "Watch the job between forecasts, and act or advise if it does not keep up.",
    "metrics": "Metrics of forecasts, plans and deployments for Prometheus; exits with 1 if a topology cannot be read.",
    "notify": "Send new incidents to the services of FORESCALE_NOTIFY_URLS; exits with 1 if one refuses.",
    "prune": "Remove old runs, models, forecasts, reports and replays that are not in use; asks first.",
    "report": "Write a schedule's HTML report again, with the outcomes since, and log it to MLflow.",
    "reproduce": "Repeat an MLflow run's forecasts from its recorded history and model; exits with 1 if any differs.",
    "demo": "The main job on a real trace, with Airflow, Spark, MLflow and the cluster simulator; about two minutes.",
    "demo-flink": "The same job, deployed to a real Flink on loopback; prediction against measurement; the guard.",
    "up": "Airflow's and MLflow's web pages on loopback, of a home or with the demo's data, until Ctrl-C.",
    "history": "The arrival history of a topology.",
    "deploy": "Review and deploy.",
    "config": "A home, its settings and topology files.",
    "dags": "Link the DAGs into a folder that Airflow reads; without one, print the DAG bundle for its settings.",
}
"""The line of each command in `forescale --help`, known without importing the command."""

MODULES = {"demo-flink": "demo", "up": "demo"}
"""Module in forescale.cli, where its name differs from the command's."""


def application(command: str | None) -> typer.Typer:
    """The application with `command` imported. The others have only their help line: one run calls one command."""
    app = typer.Typer(
        name="forescale",
        no_args_is_help=True,
        add_completion=False,
        pretty_exceptions_enable=False,
    )
    app.callback()(_forescale)
    for name, line in COMMANDS.items():
        if name != command:
            app.command(name, help=line)(_not_imported)
            continue
        module = import_module(f"forescale.cli.{MODULES.get(name, name)}")
        if hasattr(module, "app"):
            app.add_typer(module.app, name=name)
        else:
            app.command(name)(getattr(module, name.replace("-", "_")))
    return app


def _show_version(asked: bool) -> None:
    if asked:
        print(f"forescale {version('forescale')}")
        raise typer.Exit


def _forescale(
    version: Annotated[
        bool, typer.Option("--version", callback=_show_version, is_eager=True, help="The release.")
    ] = False,
) -> None:
    """Pre-emptive scaling of stream-processing topologies: have each plan in place before its load arrives."""


def _not_imported() -> None:
    raise AssertionError("a command that was not requested has run")


def main(arguments: Sequence[str] | None = None) -> None:
    """Run a command. Exits with 0, with 1 after an error (one line on standard error), or with 2 for wrong usage."""
    given = list(sys.argv[1:] if arguments is None else arguments)
    say_in_any_encoding()
    try:
        _check_text(given)
        command = typer.main.get_command(application(next((word for word in given if not word.startswith("-")), None)))
        _take_plain_numbers(command)
        command(args=given)
    except KeyboardInterrupt:
        sys.exit(130)
    except Exception as error:
        message = _expected(error)
        if message is None:
            raise
        message = without_logins(message)
        if "--json" in given:
            say_json({"error": message})
        print(f"forescale: {message}", file=sys.stderr)
        sys.exit(1)


def _take_plain_numbers(command: Any) -> None:
    """Let options that are numbers refuse 1_0, which Python reads as 10."""
    for each in getattr(command, "commands", {}).values():
        _take_plain_numbers(each)
    for parameter in command.params:
        if re.search(r"int|float", str(parameter.type_descriptor.annotation)):
            parameter.process_value = partial(_plain_number, parameter, parameter.process_value)


def _plain_number(parameter: Any, process: Callable[[Any, Any], Any], context: Any, value: Any) -> Any:
    for text in (value,) if isinstance(value, str) else value or () if isinstance(value, list | tuple) else ():
        if isinstance(text, str) and not is_plain(text):
            raise typer.BadParameter(f"{shown(text)} is no number in digits alone", context, param=parameter)
    return process(context, value)


def _check_text(arguments: Sequence[str]) -> None:
    """Raises FileError for an argument with a null byte or invalid UTF-8, which no path or message could hold."""
    for number, word in enumerate(arguments, start=1):
        try:
            word.encode()
            wrong = "holds a null byte; leave it out" if "\0" in word else ""
        except UnicodeEncodeError:
            wrong = "is not UTF-8; rename what it names, or set the locale to UTF-8"
        if wrong:
            from forescale.files.file_error import FileError  # with the model's errors, and so with numpy

            raise FileError(f"argument {number} {shown(word)} {wrong}")


def _expected(error: Exception) -> str | None:
    """An expected error as one line; None for any other, which is a defect and shows its traceback."""
    from forescale.cli.expected import EXPECTED

    if isinstance(error, EXPECTED):
        return str(error)
    if isinstance(error, OSError):
        where = error.filename or "a file"
        return f"{where}: {error.strerror or error}; check the path, its permissions and FORESCALE_HOME"
    if isinstance(error, SettingsError):
        cause = f": {error.__cause__}" if error.__cause__ is not None else ""
        return f"settings: {error}{cause}; write dictionaries and lists as JSON, or unset the variable FORESCALE_…"
    if isinstance(error, ValidationError):
        first = error.errors()[0]
        field, *within = [str(part) for part in first["loc"]]
        message = f"setting {PREFIX}{field.upper()}: {first['msg'].removeprefix('Value error, ')}"
        # Repeat only values of plain fields: others, and addresses, may hold a password.
        alone = isinstance(first["input"], str | int | float) and not within and first["type"] != "value_error"
        return message + (f" (given: {shown(first['input'])})" if alone else "")
    return None
