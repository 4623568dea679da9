"""Past forecasts of one source whose numbers are given, not made: for tests of what became of them."""

from collections.abc import Mapping
from datetime import datetime, timedelta

import numpy as np

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES, BacktestScore, Forecast

SPREAD = np.array([0.8, 1.0, 1.1, 1.3])
"""Of the quantiles of a peak around its p90."""


def said(
    start: datetime,
    peak_per_s: Mapping[int, np.ndarray],
    *,
    step_s: int = 900,
    topology: str = "shop",
    source: str = "web",
    backtest_per_s: float | None = 0.1,
    rate_per_s: np.ndarray | None = None,
) -> Forecast:
    """A forecast that said these quantiles of the peak. backtest_per_s: the loss its backtest gave, None for none.

    rate_per_s: median rate per step, nothing by default; the paths are the median times 0.9, 1 and 1.1.
    """
    steps = max(peak_per_s) // step_s
    median = np.zeros(steps) if rate_per_s is None else rate_per_s
    scores = () if backtest_per_s is None else _scores(tuple(peak_per_s), backtest_per_s)
    return Forecast(
        issued_at=start,
        topology=topology,
        source=source,
        start=start,
        step_s=step_s,
        quantiles=QUANTILES,
        rate_per_s=median[:, None] * np.array([1.0, 1.08, 1.09, 1.1]),
        peak_per_s=peak_per_s,
        paths_per_s=np.array([0.9, 1.0, 1.1])[:, None] * median,
        forecaster=dict.fromkeys(peak_per_s, "time_of_week"),
        trained_from=start - timedelta(days=14),
        trained_to=start,
        history_digest="ab12" * 16,
        seed=7,
        scores=scores,
        run_id="run-1",
        model_version="4",
        history_snapshot="20260119T000000",
    )


def _scores(horizons_s: tuple[int, ...], loss_per_s: float) -> tuple[BacktestScore, ...]:
    return tuple(
        score
        for horizon_s in horizons_s
        for score in (
            BacktestScore("deployed", horizon_s, loss_per_s, 0.6, 0.94, 36, True, "ratio 0.60 < 1"),
            BacktestScore("persistence", horizon_s, 2 * loss_per_s, 1.2, 0.9, 36, True, "naive rival"),
        )
    )


def hourly(
    series: ArrivalSeries,
    count: int,
    horizons_s: tuple[int, ...] = (900, 3600),
    *,
    factor: float = 1.2,
    ahead: int = 0,
    backtest_per_s: float = 0.05,
) -> list[Forecast]:
    """Forecasts issued every hour up to the end of a history, which knew the peak and said factor times it as the p90.

    ahead: how many of them begin at the end, with nothing come yet; what they say is of the last day.
    """
    rates = series.rate_per_s()
    made = []
    for back in range(count, -ahead, -1):
        start = series.end - timedelta(hours=max(back, 0)) + timedelta(hours=max(-back, 0))
        at = int((start - series.start).total_seconds()) // series.window_s
        peaks = {}
        for horizon_s in horizons_s:
            steps = horizon_s // series.window_s
            span = rates[at : at + steps]
            seen = span if span.size == steps else rates[at - 86400 // series.window_s :][:steps]
            known = seen[np.isfinite(seen)]
            peaks[horizon_s] = factor * SPREAD * (float(known.max()) if known.size else 0.0)
        longest = max(horizons_s) // series.window_s
        before = np.nan_to_num(rates[at - 86400 // series.window_s :][:longest])
        median = np.resize(before, longest)
        made.append(
            said(
                start,
                _growing(peaks),
                step_s=series.window_s,
                topology=series.topology,
                source=series.source,
                backtest_per_s=backtest_per_s,
                rate_per_s=median,
            )
        )
    return made


def _growing(peaks: Mapping[int, np.ndarray]) -> dict[int, np.ndarray]:
    """A longer horizon never has a lower peak."""
    grown, least = {}, np.zeros(len(QUANTILES))
    for horizon_s in sorted(peaks):
        least = np.maximum(least, peaks[horizon_s])
        grown[horizon_s] = least
    return grown
