"""The load that plans are evaluated under: rates as given, or a forecast's peaks and paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from math import ceil
from pathlib import Path

import numpy as np

from forecasting.forecast import Forecast
from forecasting.forecast_file import read_forecast
from forescale.jobs.joint_forecasts import joint_forecasts
from forescale.jobs.measured_arrivals import measured_arrivals
from forescale.jobs.newest_forecasts import newest_forecasts, recorded_forecast
from forescale.situation.situation import Situation
from forescale.situation.workspace import Workspace
from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.queueing.bursts import Arrivals
from planner.demand import demand_paths

SPREAD = (0.5, 0.95, 0.99)
"""Quantiles of a forecast's peak that show its uncertainty."""


@dataclass(frozen=True)
class AskedLoad:
    """rates_per_s: by source, instead of its forecast. folders: of forecasts, instead of the newest ones. newest:
    whether all other sources use their newest forecast.
    """

    rates_per_s: Mapping[str, float]
    folders: Sequence[Path]
    newest: bool


@dataclass(frozen=True)
class ForecastPeak:
    """The peak that a load is: a quantile of the largest rate within within_s seconds, as forecast at issued_at. Of
    several sources, that of their sum, with the rates that they have at that moment.
    """

    quantile: float
    within_s: int
    issued_at: datetime


@dataclass(frozen=True)
class EvaluatedLoad:
    """rate_per_s: by source. peak: set if rates come from forecasts. paths_per_s: their sample paths by source, shape
    (paths, steps) of step_s seconds; empty if rates were given. peak_per_s: of forecasts, by quantile in SPREAD, the
    peak of the sum of all sources over these paths. notes: on arrival_cv2, how arrivals vary, and on how paths are
    paired.
    """

    rate_per_s: Mapping[str, float]
    peak: ForecastPeak | None = None
    paths_per_s: Mapping[str, Floats] = field(default_factory=dict)
    step_s: float = 0.0
    peak_per_s: Mapping[float, float] = field(default_factory=dict)
    arrival_cv2: float | Arrivals = 1.0
    notes: tuple[str, ...] = ()


def evaluated_load(workspace: Workspace, situation: Situation, wanted: AskedLoad) -> EvaluatedLoad:
    """Of forecasts, the quantile `planning.quantile` of the peak within their longest horizon. Raises ModelError for a
    source given twice, and for a forecast of another topology.
    """
    config, newest = situation.config, dict[str, Forecast]()
    if wanted.newest:
        entries = newest_forecasts(config, workspace.ledger)
        newest = {source: recorded_forecast(entry) for source, entry in entries.items()}
    named: dict[str, Forecast] = {}
    for folder in wanted.folders:
        forecast = read_forecast(folder)
        if forecast.topology != config.topology:
            raise ModelError(
                f"--load {folder}: a forecast of topology {forecast.topology!r}; give one of {config.topology!r}"
            )
        if forecast.source in named:
            raise ModelError(f"--load {folder}: a second forecast of source {forecast.source!r}; give one of each")
        named[forecast.source] = forecast
    rates, quantile = wanted.rates_per_s, config.planning.quantile
    if twice := sorted(set(rates) & set(named)):
        raise ModelError(
            f"--load gives source {twice[0]!r} {rates[twice[0]]:g}/s and a folder of its forecast; give one of the two"
        )
    # Named forecasts replace the newest ones.
    forecasts = {source: forecast for source, forecast in (newest | named).items() if source not in rates}
    arrivals = measured_arrivals(situation, forecasts, config.planning.arrival_cv2, others=rates)
    if not forecasts:
        return EvaluatedLoad(rates, arrival_cv2=arrivals.arrival_cv2, notes=arrivals.notes)
    peaks = {
        source: forecast.peak_quantile_per_s(max(forecast.peak_per_s), quantile)
        for source, forecast in forecasts.items()
    }
    known = [each for each in SPREAD if all(each in forecast.quantiles for forecast in forecasts.values())]
    joint = joint_forecasts(situation, workspace.ledger, forecasts)
    paths = demand_paths(joint.forecasts)
    shape = next(iter(paths.values())).shape
    one = next(iter(forecasts.values()))
    # The peak of the sum: peaks of sources at different times are not added up.
    together = np.sum(list(paths.values()), axis=0)
    highest = together.max(axis=1)
    if len(paths) > 1:
        path = int(highest.argsort(kind="stable")[max(0, ceil(quantile * highest.size) - 1)])
        moment = int(together[path].argmax())
        peaks = {source: float(rate_per_s[path, moment]) for source, rate_per_s in paths.items()}
    spread = dict(zip(known, np.quantile(highest + sum(rates.values()), known).tolist(), strict=True))
    return EvaluatedLoad(
        {**peaks, **rates},
        ForecastPeak(quantile, max(one.peak_per_s), one.issued_at),
        paths | {source: np.full(shape, rate) for source, rate in rates.items()},
        one.step_s,
        spread,
        arrivals.arrival_cv2,
        (*arrivals.notes, *((joint.note,) if joint.note else ())),
    )
