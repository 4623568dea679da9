"""Repeats a batch of forecasts from its MLflow run and the history, without any other local file."""

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from tempfile import TemporaryDirectory

from forecasting.arrivals.store import read_history
from forecasting.errors import ForecastError, HistoryError
from forecasting.fleet import run_task
from forescale.jobs.forecast import wanted_forecast
from forescale.jobs.forecast_request import forecast_request
from forescale.jobs.siblings import recorded_lender
from forescale.situation.workspace import Workspace


@dataclass(frozen=True)
class ReproducedForecast:
    """same: whether every number is equal, bit for bit. recorded, again: digests, empty if it could not be repeated
    (cause says why). how: whether its model was trained again or fetched.
    """

    same: bool
    recorded: str
    again: str
    how: str
    cause: str


@dataclass(frozen=True)
class ReproducedRun:
    """sources: its forecasts by source. revision: of the code that made the run."""

    run_id: str
    topology: str
    history_snapshot: str
    revision: str
    sources: Mapping[str, ReproducedForecast]


def reproduce(workspace: Workspace, run_id: str, *, progress: Callable[[str], None] | None = None) -> ReproducedRun:
    """Make the forecasts of a run again.

    Models trained in that run are trained again from the recorded commit of the history; models of an earlier version
    are fetched from the store and used again. Nothing is stored. Raises TrackingError or HistoryError if run, model
    version or commit is gone.
    """
    tracker = workspace.tracker
    request = forecast_request(tracker.fetch_request(run_id), run_id)
    history = read_history(workspace.settings.history_dir, request.topology, snapshot=request.history_snapshot or None)
    history = history.in_local_time(request.timezones)
    sources: dict[str, ReproducedForecast] = {}
    with TemporaryDirectory(prefix="forescale-") as scratch:
        fetched: dict[str, dict[str, Path]] = {}
        for number, (source, recorded) in enumerate(request.digests.items()):
            if progress is not None:
                progress(f"{source} ({number + 1} of {len(request.digests)})")
            version = request.model_versions[source]
            trains = source in request.trained
            if not trains and version not in fetched:
                fetched[version] = tracker.fetch_trained(version, Path(scratch) / f"version-{len(fetched)}")
            try:
                order = wanted_forecast(
                    workspace, request, history, source, recorded_lender(workspace, request, source)
                ).order
                trained = Path(scratch) / str(number) if trains else fetched[version][source]
                order = order.with_run(trains, request.demoted.get(source, {}), run_id, version)
                outcome = run_task(replace(order, trained=trained, folder=None))
                again, cause = outcome.digest, outcome.failure
            except (HistoryError, ForecastError) as error:
                again, cause = "", str(error)
            how = "trained anew" if trains else f"asked of model version {version}"
            sources[source] = ReproducedForecast(again == recorded, recorded, again, how, cause)
    return ReproducedRun(run_id, request.topology, request.history_snapshot, tracker.revision(run_id), sources)
