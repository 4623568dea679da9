"""Replays in MLflow: one run each, in the experiment of their topology. MLflow is imported at first use."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from tempfile import TemporaryDirectory

import numpy as np

from forecasting.tracking.batch import slug
from forecasting.tracking.mlflow_tracker import MlflowTracker
from forecasting.tracking.runs import failing, open_run
from forecasting.tracking.store_access import connected_client, store_errors
from forecasting.tracking.store_writes import MAX_TAG, log_metrics
from forescale.settings import Settings
from planner.replay.scores import Score

PAGE = "replay.html"


@dataclass(frozen=True)
class MadeReplay:
    """The content of a run. params: what was replayed, by name. files: timeline and decisions. page: makes its HTML."""

    topology: str
    name: str
    params: Mapping[str, object]
    scores: Sequence[Score]
    files: Sequence[Path]
    page: Callable[[], str]


def log_replay(replay: MadeReplay, settings: Settings) -> str:
    """Store a replay as a run; returns its id.

    Raises TrackingError, within seconds, if MLflow is not installed, or the store does not answer or refuses.
    """
    client = connected_client(settings.tracking_uri)
    tracker = MlflowTracker(settings.tracking_uri, settings.artifact_root, settings.mlflow_ui)
    experiment = tracker.experiment_id(replay.topology)
    with store_errors(settings.tracking_uri, f"recording the replay of {replay.topology!r}"):
        from mlflow.entities import Param

        run_id = open_run(client, experiment, replay.name, topology=replay.topology, kind="replay", tags={})
        with failing(client, run_id):
            params = [Param(name, str(value)[:MAX_TAG]) for name, value in replay.params.items() if value is not None]
            client.log_batch(run_id, params=params)
            log_metrics(client, run_id, _metrics(replay.scores))
            for path in replay.files:
                client.log_artifact(run_id, str(path))
            with TemporaryDirectory(prefix="forescale-") as scratch:
                page = Path(scratch) / PAGE
                page.write_text(replay.page(), encoding="utf-8")
                client.log_artifact(run_id, str(page))
        client.set_terminated(run_id, "FINISHED")
    return run_id


def _metrics(scores: Sequence[Score]) -> dict[str, float]:
    """Every number of each policy's score, as `policy/…`."""
    found = {}
    for score in scores:
        told = vars(score) | {f"budget_{name}": value for name, value in vars(score.budget).items()}
        told |= {f"violation_minutes_a_day_at_{lag_s:g}_s": at for lag_s, at in score.violation_minutes_at.items()}
        for name, value in told.items():
            if isinstance(value, int | float) and np.isfinite(value):
                found[f"{slug(score.policy)}/{name}"] = float(value)
    return found
