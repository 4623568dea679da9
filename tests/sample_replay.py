"""A replayed trace, small and made by hand: six days of hours, four origins, two horizons."""

from datetime import UTC, datetime

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prequential import Predicted
from forecasting.prequential_scores import prequential_scores
from forescale.report.forecasts.backtest_page import ReplayedTrace

START = datetime(2024, 3, 4, tzinfo=UTC)
HORIZONS_S = (3600, 21600)
ORIGINS = (96, 102, 108, 114)


def replayed_trace(
    name: str = "traces/calls.csv",
    candidate: str = "time_of_week",
    refusal: str = "needs eight days of history",
    scale: float = 1.0,
) -> ReplayedTrace:
    """One event a second throughout, times scale, but for a day that is missing and 9 a second in the first window
    after the second origin; the p95 said is 2 a second, the p99 3.
    """
    counts = np.full(24 * 6, 3600.0 * scale)
    counts[24:48] = np.nan
    counts[ORIGINS[1]] = 9 * 3600.0 * scale
    series = ArrivalSeries("trace", "calls", START, 3600, counts)
    said = scale * np.array([[1.0, 1.5, 2.0, 3.0]] * 2)
    path = scale * np.array([[1.0, 1.5, 2.0, 3.0]] * 6)
    told = []
    for origin in ORIGINS:
        names = ["deployed"] if origin == ORIGINS[0] else [candidate, "deployed"]
        told.append(Predicted(origin, dict.fromkeys(names, said), dict.fromkeys(names, path), ()))
    scores = prequential_scores(told, series, HORIZONS_S, QUANTILES)
    return ReplayedTrace(name, series, HORIZONS_S, QUANTILES, told, scores, {"prophet": refusal})
