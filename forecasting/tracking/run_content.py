"""What an MLflow run of a forecast says: its parameters, its tags and its metrics, as plain values."""

import math
from pathlib import Path

import numpy as np

from forecasting.pipeline import MadeForecast
from forecasting.tracking.git_revision import git_revision


def run_params(made: MadeForecast) -> dict[str, str]:
    """What the forecast was made from and how. Together with the history they reproduce it."""
    forecast, history = made.forecast, made.history
    return {
        "topology": forecast.topology,
        "source": forecast.source,
        "issued_at": forecast.issued_at.isoformat(),
        "step_s": str(forecast.step_s),
        "steps": str(forecast.rate_per_s.shape[0]),
        "paths": str(forecast.paths_per_s.shape[0]),
        "origins": str(made.trained.terms.origins),
        "seed": str(forecast.seed),
        "trained_from": forecast.trained_from.isoformat(),
        "trained_to": forecast.trained_to.isoformat(),
        "history_windows": str(history.counts.size),
        "history_missing": str(int(np.isnan(history.counts).sum())),
        "history_digest": forecast.history_digest,
        **_snapshot(made),
        **{f"forecaster_{horizon_s}s": name for horizon_s, name in forecast.forecaster.items()},
    }


def run_tags(made: MadeForecast) -> dict[str, str]:
    """What people filter runs by."""
    revision = git_revision(Path(__file__).parent)
    notes = {"notes": "\n".join(made.forecast.notes)} if made.forecast.notes else {}
    return {
        "topology": made.forecast.topology,
        "source": made.forecast.source,
        "git_revision": revision,
        "mlflow.source.git.commit": revision,
        **_snapshot(made),
        **notes,
    }


def _snapshot(made: MadeForecast) -> dict[str, str]:
    """The commit of the history that was read; nothing for a history that comes from no store."""
    return {"history_snapshot": made.forecast.history_snapshot} if made.forecast.history_snapshot else {}


def run_metrics(made: MadeForecast) -> dict[str, float]:
    """Backtest scores per forecaster and horizon, and the peaks; what could not be scored is left out."""
    metrics: dict[str, float] = {}
    for score in made.forecast.scores:
        at = f"{score.forecaster}.{score.horizon_s}s"
        metrics |= {
            f"pinball_per_s.{at}": score.pinball_per_s,
            f"ratio_to_naive.{at}": score.ratio,
            f"coverage_p95.{at}": score.coverage,
        }
    for horizon_s, peak in made.forecast.peak_per_s.items():
        for quantile, value in zip(made.forecast.quantiles, peak.tolist(), strict=True):
            metrics[f"peak_per_s.p{quantile * 100:g}.{horizon_s}s"] = value
    return {name: value for name, value in metrics.items() if math.isfinite(value)}
