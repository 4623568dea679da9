"""`forescale history record`: record readings of a source that keeps no history, once or at intervals."""

import math
import signal
import sys
import threading
from dataclasses import asdict
from typing import Annotated, Any

import typer

from forecasting.arrivals.sources.steady import Recorded
from forecasting.errors import HistoryError
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, plain, say_json
from forescale.jobs.record import Readings, record_steadily
from forescale.jobs.record import record as record_once
from forescale.local.processes import signals_handled

NOTHING_TO_RECORD = (
    "nothing has to be recorded: the source keeps its arrivals, and `forescale history build` reads them there"
)


def record(
    context: typer.Context,
    topology: TopologyName,
    every: Annotated[float | None, typer.Option(help="Seconds between readings; one reading if absent.")] = None,
    for_s: Annotated[float | None, typer.Option("--for", help="Seconds to run for; until stopped if absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Store a reading of a source that keeps no history.

    As of Storm's UI: `history build` counts from the readings.
    """
    workspace = workspace_of(context)
    if every is None:
        if for_s is not None:
            raise HistoryError(f"--for {for_s:g} needs --every; say how many seconds the readings are apart")
        reading = record_once(workspace, topology)
        if as_json:
            say_json(_body(topology, None if reading is None else Readings(int(reading.added), 0)))
        else:
            plain(f"{topology}: {NOTHING_TO_RECORD if reading is None else reading.line}")
        return

    def tell(what: Recorded | HistoryError) -> None:
        if isinstance(what, HistoryError):
            print(f"forescale: {what}; trying again in {every:g} s or less", file=sys.stderr, flush=True)
        elif not as_json:
            plain(what.line)

    stop = threading.Event()
    with signals_handled(stop.set, signal.SIGINT, signal.SIGTERM):
        readings = record_steadily(workspace, topology, every, math.inf if for_s is None else for_s, stop, tell)
        stopped = stop.is_set()
    if as_json:
        say_json(_body(topology, readings))
    elif readings is None:
        plain(f"{topology}: {NOTHING_TO_RECORD}")
    else:
        plain(f"{readings.recorded:,} readings recorded, {readings.failed:,} attempts failed")
    if readings is not None and readings.failed and not readings.recorded and not stopped:
        raise typer.Exit(1)


def _body(topology: str, readings: Readings | None) -> dict[str, Any]:
    """steady: whether the source has to be recorded."""
    told = readings or Readings(0, 0)
    return {"topology": topology, "steady": readings is not None, **asdict(told)}
