"""The load that plans are evaluated under: rates as given, or a forecast's peaks and paths."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
import numpy.typing as npt

from forecasting.forecast import Forecast
from forecasting.forecast_file import JSON_FILE, read_forecast
from forescale.files.topology import TopologyConfig
from forescale.jobs.plan import newest_forecasts
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of
from modeling.errors import ModelError
from planner.demand import demand_paths

Floats = npt.NDArray[np.float64]

NEWEST = "forecast"
"""As a load: the newest forecast of every source."""

MIN_PER_S, MAX_PER_S = 1e-9, 1e12
"""Bounds of a rate that is not 0: one event in thirty years, and more than any source brings."""

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
    """Of `SOURCE=RATE` texts, folders of forecasts, or the word `forecast`; rates stand beside forecasts of others, and
    in the place of the newest.

    quantile, within_s: of the peak of a forecast, within its longest horizon where None. Raises ModelError for what is
    none of these, and for a source that is given twice.
    """
    if not 0 < quantile < 1:
        raise ModelError(f"--quantile {quantile:g} is no quantile; give a number between 0 and 1, such as 0.95")
    newest: dict[str, Forecast] = {}
    named: dict[str, Forecast] = {}
    texts: list[str] = []
    for text in given:
        if text == NEWEST:
            entries = newest_forecasts(config, ledger_of(settings))
            newest = {source: read_forecast(Path(entry.folder)) for source, entry in entries.items()}
        elif (Path(text) / JSON_FILE).exists():
            forecast = read_forecast(Path(text))
            if forecast.topology != config.topology:
                raise ModelError(
                    f"--load {text}: a forecast of topology {forecast.topology!r}; give one of {config.topology!r}"
                )
            if forecast.source in named:
                raise ModelError(f"--load {text}: a second forecast of source {forecast.source!r}; give one of each")
            named[forecast.source] = forecast
        else:
            texts.append(text)
    rates = sources_numbers("--load", texts, MIN_PER_S, MAX_PER_S, f", a folder of a forecast or {NEWEST!r}")
    if twice := sorted(set(rates) & set(named)):
        raise ModelError(
            f"--load gives source {twice[0]!r} {rates[twice[0]]:g}/s and a folder of its forecast; give one of the two"
        )
    # What is named stands in the place of the newest forecast.
    forecasts = {source: forecast for source, forecast in (newest | named).items() if source not in rates}
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
    paths = demand_paths(forecasts, within_s)
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


def sources_numbers(
    option: str, texts: Sequence[str], least: float, most: float, otherwise: str = ""
) -> dict[str, float]:
    """Numbers by source, of `SOURCE=NUMBER` texts, each 0 or from least to most. otherwise: what else the option takes.

    Raises ModelError for what is none, for a number out of bounds and for a source given twice.
    """
    numbers: dict[str, float] = {}
    for text in texts:
        source, equals, told = text.rpartition("=")
        try:
            if not (source and equals):
                raise ValueError
            number = float(told)
        except ValueError:
            raise ModelError(
                f"{option} {text!r} is not SOURCE=NUMBER{otherwise}; give it like {option} 'ingest=1.2'"
            ) from None
        if not (number == 0 or least <= number <= most):
            bounds = f"0 to {most:g}" if least == 0 else f"0, or {least:g} to {most:g}"
            raise ModelError(f"{option} {text}: {number:g} is out of bounds; give {bounds}")
        if source in numbers:
            raise ModelError(
                f"{option} gives source {source!r} {numbers[source]:g} and {number:g}; give each source once"
            )
        numbers[source] = number
    return numbers
