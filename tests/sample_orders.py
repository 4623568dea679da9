"""Orders of small forecasts, for tests of fleets and of what becomes of their forecasts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
from arrival_series import web_requests

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import EventCalendar
from forecasting.fleet import ForecastTask
from forecasting.terms import ForecastTerms

TERMS = ForecastTerms(900, 21600, (900, 21600), paths=60, origins=6, seed=3)


def order_of(series: ArrivalSeries, home: Path, **more: object) -> ForecastTask:
    """An order to train and forecast a series, with its folders below home."""
    order = ForecastTask(
        series.topology,
        series.source,
        series.start,
        series.window_s,
        series.counts,
        series.end,
        TERMS,
        EventCalendar(),
        home / "trained" / series.source,
        train=True,
        folder=home / "forecasts" / series.source,
        timezone=series.timezone,
    )
    return replace(order, **more)  # type: ignore[arg-type]


def short_requests(source: str = "web", seed: int = 2) -> ArrivalSeries:
    """Two and a half days in quarters of an hour: too few for the forecasters that are slow."""
    return replace(web_requests(days=2.5, seed=seed), source=source)


def poisoned(home: Path) -> dict[str, ForecastTask]:
    """Orders that cannot be carried out, or hardly, by what is wrong with them."""
    good = short_requests()
    day = 96
    return {
        "all NaN": order_of(replace(good, source="all NaN", counts=np.full(5 * day, np.nan)), home),
        "constant": order_of(replace(good, source="constant", counts=np.full(5 * day, 90.0)), home),
        "negative": replace(order_of(replace(good, source="negative"), home), counts=np.full(5 * day, -1.0)),
        "three points": order_of(replace(good, source="three points", counts=np.array([1.0, 2.0, 3.0])), home),
        "a year of gaps": order_of(
            replace(good, source="a year of gaps", counts=np.where(np.arange(366 * day) % 50 == 0, 5.0, np.nan)), home
        ),
    }
