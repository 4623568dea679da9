"""The load that plans are evaluated under: rates as given, or a forecast's peaks and paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forecasting.forecast import Forecast
from forecasting.forecast_file import JSON_FILE, read_forecast
from forescale.jobs.plan import newest_forecasts
from forescale.settings import Settings
from forescale.topology_file import TopologyConfig
from forescale.wiring import ledger_of
from modeling.errors import ModelError
from planner.demand import demand_paths

Floats = npt.NDArray[np.float64]

NEWEST = "forecast"
"""As a load: the newest forecast of every source."""

SPREAD = (0.5, 0.95, 0.99)
"""Quantiles of a forecast's peak that tell how sure it is."""


@dataclass(frozen=True)
class EvaluatedLoad:
    """rate_per_s: per source. paths_per_s: of a forecast, per source, shape (paths, steps) of step_s seconds; empty
    where rates were given. origin: where it comes from, for people. peak_per_s: of a forecast, per quantile that tells
    of its spread, the peaks of all sources added up.
    """

    rate_per_s: Mapping[str, float]
    origin: str
    paths_per_s: Mapping[str, Floats] = field(default_factory=dict)
    step_s: float = 0.0
    peak_per_s: Mapping[float, float] = field(default_factory=dict)


def evaluated_load(
    given: Sequence[str], config: TopologyConfig, settings: Settings, quantile: float, within_s: int | None
) -> EvaluatedLoad:
    """Of `SOURCE=RATE` texts, folders of forecasts, or the word `forecast`; rates stand beside forecasts of others.

    quantile, within_s: of the peak of a forecast, within its longest horizon where None. Raises ModelError for what is
    none of these.
    """
    rates: dict[str, float] = {}
    forecasts: dict[str, Forecast] = {}
    for text in given:
        if text == NEWEST:
            entries = newest_forecasts(config, ledger_of(settings))
            forecasts |= {source: read_forecast(Path(entry.folder)) for source, entry in entries.items()}
        elif (Path(text) / JSON_FILE).exists():
            forecast = read_forecast(Path(text))
            if forecast.topology != config.topology:
                raise ModelError(
                    f"--load {text}: a forecast of topology {forecast.topology!r}; give one of {config.topology!r}"
                )
            forecasts[forecast.source] = forecast
        else:
            source, rate = source_number("--load", text, f", a folder of a forecast or {NEWEST!r}")
            rates[source] = rate
    forecasts = {source: forecast for source, forecast in forecasts.items() if source not in rates}
    if not forecasts:
        return EvaluatedLoad(rates, "as given")
    peaks = {
        source: forecast.peak_quantile_per_s(_within_s(forecast, within_s), quantile)
        for source, forecast in forecasts.items()
    }
    known = [each for each in SPREAD if all(each in forecast.quantiles for forecast in forecasts.values())]
    spread = {
        each: sum(rates.values())
        + sum(one.peak_quantile_per_s(_within_s(one, within_s), each) for one in forecasts.values())
        for each in known
    }
    paths = demand_paths(forecasts)
    shape = next(iter(paths.values())).shape
    one = next(iter(forecasts.values()))
    horizon_s = _within_s(one, within_s)
    issued = f"{one.issued_at:%Y-%m-%d %H:%M} UTC"
    return EvaluatedLoad(
        peaks | rates,
        f"p{quantile * 100:g} of the peak within {horizon_s / 3600:g} h, forecast at {issued}",
        paths | {source: np.full(shape, rate) for source, rate in rates.items()},
        one.step_s,
        spread,
    )


def _within_s(forecast: Forecast, within_s: int | None) -> int:
    return max(forecast.peak_per_s) if within_s is None else within_s


def source_number(option: str, text: str, otherwise: str = "") -> tuple[str, float]:
    """A source and its number, of `SOURCE=NUMBER`. otherwise: what else the option takes. Raises ModelError."""
    source, equals, number = text.rpartition("=")
    try:
        if not (source and equals):
            raise ValueError
        return source, float(number)
    except ValueError:
        raise ModelError(
            f"{option} {text!r} is not SOURCE=NUMBER{otherwise}; give it like {option} 'ingest=1.2'"
        ) from None
