"""A batch of forecasts as one MLflow run: its request and results, as values and tables."""

import hashlib
import json
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import asdict, dataclass, field
from datetime import datetime
from pathlib import Path
from typing import TYPE_CHECKING, Any

from forecasting.arrivals.history import ArrivalSeries
from forecasting.drift import ForecastDrift
from forecasting.fleet import ForecastResult
from forecasting.forecast import Forecast
from forecasting.selection import DEPLOYED
from forecasting.terms import ForecastTerms

if TYPE_CHECKING:
    import pandas as pd

REQUEST_FILE = "request.json"
FEW = 8
"""Up to this many sources, rivals are logged as metrics and forecasts as pictures; the tables have all."""

MAX_SLUG_LENGTH = 120


@dataclass(frozen=True)
class BatchHead:
    """The request of a batch. request: JSON to repeat it. trains: whether it makes a model version."""

    topology: str
    issued_at: datetime
    terms: ForecastTerms
    history_snapshot: str
    sources: int
    trains: bool
    request: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class TrackedBatch:
    """A tracked batch. model_version: the version it makes or uses, as `name/number`."""

    head: BatchHead
    run_id: str
    model_version: str


@dataclass(frozen=True)
class BatchContent:
    """The results of a batch. trained: folders by source for the model version. forecasts: folders of successful ones.
    histories: of the sources to plot, by name. drifts: of earlier forecasts.
    """

    outcomes: Sequence[ForecastResult]
    trained: Mapping[str, Path]
    forecasts: Mapping[str, Path]
    histories: Mapping[str, ArrivalSeries]
    drifts: Mapping[str, Sequence[ForecastDrift]]


def batch_params(head: BatchHead) -> dict[str, str]:
    terms = asdict(head.terms) | {"horizons_s": " ".join(map(str, head.terms.horizons_s))}
    return {
        "topology": head.topology,
        "issued_at": head.issued_at.isoformat(),
        "sources": str(head.sources),
        **{name: str(value) for name, value in terms.items()},
        **snapshot_of(head),
    }


def snapshot_of(head: BatchHead) -> dict[str, str]:
    """The commit of the history, if there is one."""
    return {"history_snapshot": head.history_snapshot} if head.history_snapshot else {}


def content_tags(content: BatchContent) -> dict[str, str]:
    """For few sources, the history used by each forecast; for many, see the table of outcomes."""
    made = [outcome.forecast for outcome in content.outcomes if outcome.forecast is not None]
    if len(content.outcomes) > FEW:
        return {}
    return {f"history_digest {slug(forecast.source)}": forecast.history_digest for forecast in made}


def batch_metrics(content: BatchContent) -> dict[str, float]:
    """Metrics of the batch and, as `source/…`, of each source; unknown values are left out."""
    outcomes, drifts = content.outcomes, content.drifts
    failed = [outcome for outcome in outcomes if outcome.failure]
    alarms = [drift for of_source in drifts.values() for drift in of_source if drift.alarmed]
    metrics: dict[str, float] = {
        "failed": float(len(failed)),
        "trained": float(sum(outcome.fresh and not outcome.failure for outcome in outcomes)),
        "cpu_s": sum(outcome.cpu_s for outcome in outcomes),
        "drift_alarms": float(len(alarms)),
    }
    for outcome in outcomes:
        if outcome.forecast is not None:
            metrics |= _of_forecast(outcome.forecast, every=len(outcomes) <= FEW)
    for source, of_source in drifts.items():
        for drift in of_source:
            at = f"{drift.horizon_s}s"
            metrics |= {
                f"{slug(source)}/drift.coverage_p95.{at}": drift.coverage,
                f"{slug(source)}/drift.ratio_to_naive.{at}": drift.ratio_to_naive,
                f"{slug(source)}/drift.loss_to_backtest.{at}": drift.loss_ratio_to_backtest,
                f"{slug(source)}/drift.alarmed.{at}": float(drift.alarmed),
            }
    return {name: value for name, value in metrics.items() if math.isfinite(value)}


def _of_forecast(forecast: Forecast, *, every: bool) -> dict[str, float]:
    metrics: dict[str, float] = {}
    source = slug(forecast.source)
    for score in forecast.scores:
        if every or score.forecaster == DEPLOYED:
            at = f"{score.forecaster}.{score.horizon_s}s"
            metrics |= {
                f"{source}/pinball_per_s.{at}": score.pinball_per_s,
                f"{source}/ratio_to_naive.{at}": score.ratio,
                f"{source}/coverage_p95.{at}": score.coverage,
            }
    for horizon_s, peak in forecast.peak_per_s.items():
        for quantile, value in zip(forecast.quantiles, peak.tolist(), strict=True):
            if every or quantile == 0.95:
                metrics[f"{source}/peak_per_s.p{quantile * 100:g}.{horizon_s}s"] = value
    return metrics


def slug(source: str) -> str:
    """A name that MLflow accepts for metrics and tags, unique per source.

    MLflow accepts up to 250 letters, digits, _ - . / : and spaces; we use the slash as separator.
    """
    name = re.sub(r"[^\w.\- ]", "_", source, flags=re.ASCII)[:MAX_SLUG_LENGTH]
    if name != source or not name.strip("."):
        name = f"{name.strip('.')}-{hashlib.sha256(source.encode()).hexdigest()[:8]}"
    return name


def write_batch(folder: Path, batch: TrackedBatch, content: BatchContent) -> None:
    """Write the tables of a batch as Parquet, and its request with digests to check a repetition."""
    outcomes, drifts = content.outcomes, content.drifts
    folder.mkdir(parents=True, exist_ok=True)
    made = [(outcome, outcome.forecast) for outcome in outcomes if outcome.forecast is not None]
    _table(_outcome_rows(outcomes)).to_parquet(folder / "outcomes.parquet", index=False)
    if made:
        _table(_peak_rows(forecast for _, forecast in made)).to_parquet(folder / "peaks.parquet", index=False)
        _table(_rate_rows(forecast for _, forecast in made)).to_parquet(folder / "rates.parquet", index=False)
        scores = [{"source": f.source, **asdict(score)} for _, f in made for score in f.scores]
        _table(scores).to_parquet(folder / "scores.parquet", index=False)
    rows = [{"source": source, **asdict(drift)} for source, of_source in drifts.items() for drift in of_source]
    if rows:
        _table(rows).to_parquet(folder / "drift.parquet", index=False)
    digests = {outcome.source: outcome.digest for outcome, _ in made}
    versions = {outcome.source: forecast.model_version for outcome, forecast in made}
    request = {**batch.head.request, "model_versions": versions, "digests": digests}
    (folder / REQUEST_FILE).write_text(json.dumps(request, indent=1), encoding="utf-8")


def _outcome_rows(outcomes: Sequence[ForecastResult]) -> list[dict[str, Any]]:
    return [
        {
            "source": outcome.source,
            "failure": outcome.failure,
            "trained": outcome.fresh and not outcome.failure,
            "cpu_s": outcome.cpu_s,
            "digest": outcome.digest,
            "history_digest": outcome.forecast.history_digest if outcome.forecast else "",
            "trained_from": outcome.forecast.trained_from if outcome.forecast else None,
            "trained_to": outcome.forecast.trained_to if outcome.forecast else None,
            "notes": "\n".join((*outcome.forecast.sibling_notes, *outcome.forecast.notes)) if outcome.forecast else "",
        }
        for outcome in outcomes
    ]


def _peak_rows(forecasts: Iterable[Forecast]) -> list[dict[str, Any]]:
    return [
        {
            "source": forecast.source,
            "horizon_s": horizon_s,
            "quantile": quantile,
            "peak_per_s": value,
            "forecaster": forecast.forecaster[horizon_s],
        }
        for forecast in forecasts
        for horizon_s, peak in forecast.peak_per_s.items()
        for quantile, value in zip(forecast.quantiles, peak.tolist(), strict=True)
    ]


def _rate_rows(forecasts: Iterable[Forecast]) -> list[dict[str, Any]]:
    return [
        {"source": forecast.source, "step_start": start}
        | {f"p{quantile * 100:g}": value for quantile, value in zip(forecast.quantiles, row, strict=True)}
        for forecast in forecasts
        for start, row in zip(forecast.step_starts(), forecast.rate_per_s.tolist(), strict=True)
    ]


def _table(rows: Sequence[Mapping[str, Any]]) -> "pd.DataFrame":
    import pandas as pd

    return pd.DataFrame.from_records([dict(row) for row in rows])
