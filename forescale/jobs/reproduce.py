"""A batch of forecasts made again from what MLflow keeps of it, without any local file but the history."""

from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

from forecasting.arrivals.store import read_history
from forecasting.errors import ForecastError, HistoryError
from forecasting.fleet import fulfilled
from forescale.jobs.forecast import wanted_forecast
from forescale.jobs.forecast_request import forecast_request
from forescale.settings import Settings
from forescale.wiring.parts import tracker_of


def reproduce(run_id: str, *, progress: Callable[[str], None] | None = None) -> dict[str, Any]:
    """Make the forecasts of a run again: {"run_id", "topology", "history_snapshot", "revision", "sources": {source:
    {"same", "recorded", "again", "how", "cause"}}}.

    What was trained for them is trained anew from the recorded commit of the history; what was asked of an earlier
    model version is asked of it again, fetched from the store. Nothing is kept. same: whether every number is, bit for
    bit. Raises TrackingError or HistoryError where run, model version or commit is gone.
    """
    settings = Settings()
    tracker = tracker_of(settings)
    request = forecast_request(tracker.fetch_request(run_id), run_id)
    history = read_history(settings.history_dir, request.topology, snapshot=request.history_snapshot or None)
    told: dict[str, Any] = {}
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
                order = wanted_forecast(request, settings, history, source).order
                trained = Path(scratch) / str(number) if trains else fetched[version][source]
                order = order.with_run(trains, request.demoted.get(source, {}), run_id, version)
                outcome = fulfilled(replace(order, trained=trained, folder=None))
                again, cause = outcome.digest, outcome.failure
            except (HistoryError, ForecastError) as error:
                again, cause = "", str(error)
            told[source] = {
                "same": again == recorded,
                "recorded": recorded,
                "again": again,
                "how": "trained anew" if trains else f"asked of model version {version}",
                "cause": cause,
            }
    return {
        "run_id": run_id,
        "topology": request.topology,
        "history_snapshot": request.history_snapshot,
        "revision": tracker.revision(run_id),
        "sources": told,
    }
