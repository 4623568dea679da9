"""Two sources whose errors go together as told: their histories, forecasts and past forecasts, for tests of pairing."""

from datetime import UTC, datetime, timedelta

import numpy as np
from past_forecasts import said
from scipy.special import ndtri

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES, Forecast

END = datetime(2026, 3, 2, tzinfo=UTC)
SPREAD = 0.1
"""Standard deviation of both sources' rates on the mean rate of 100/s."""


def errors(rho: float, count: int, seed: int = 1) -> np.ndarray:
    """Standard normal pairs of this correlation, shape (2, count)."""
    one, other = np.random.default_rng(seed).standard_normal((2, count))
    return np.array([one, rho * one + np.sqrt(1 - rho**2) * other])


def histories(rho: float, days: int = 56, weekly_growth: float = 0.0, seed: int = 1) -> dict[str, ArrivalSeries]:
    """In quarters of an hour; each hour has one error of SPREAD at either source, and half the load by night."""
    hours = np.arange(24 * days)
    usual = 100.0 * np.where(hours % 24 < 8, 0.5, 1.0) * (1 + weekly_growth) ** (hours / 168)
    rates = usual * (1 + SPREAD * errors(rho, hours.size, seed))
    start = END - timedelta(days=days)
    return {
        name: ArrivalSeries("shop", name, start, 900, np.repeat(each, 4) * 900)
        for name, each in zip(("app", "web"), rates, strict=True)
    }


def forecast(source: str, seed: int, paths: int = 1000) -> Forecast:
    """Of the hour after END: the rates of paths are normal around 100/s, evenly over their distribution, in an order of
    its own.
    """
    parts = np.random.default_rng(seed).permutation((np.arange(paths) + 0.5) / paths)
    drawn = np.repeat(100.0 * (1 + SPREAD * ndtri(parts))[:, None], 4, axis=1)
    quantiles = np.quantile(drawn, QUANTILES, axis=0)
    return Forecast(
        issued_at=END,
        topology="shop",
        source=source,
        start=END,
        step_s=900,
        quantiles=QUANTILES,
        rate_per_s=quantiles.T,
        peak_per_s={3600: quantiles[:, 0]},
        paths_per_s=drawn,
        forecaster={3600: "time_of_week"},
        trained_from=END - timedelta(days=56),
        trained_to=END,
        history_digest="",
        seed=7,
    )


def forecasts() -> dict[str, Forecast]:
    return {"app": forecast("app", 1), "web": forecast("web", 2)}


def past(source: str, off: np.ndarray, series: ArrivalSeries) -> list[Forecast]:
    """Hourly forecasts up to END; what came was 1 + off times what each said, shape (forecasts,)."""
    made = []
    for back, each in enumerate(off[::-1], start=1):
        start = END - timedelta(hours=back)
        at = int((start - series.start).total_seconds()) // 900
        came = series.rate_per_s()[at : at + 4]
        made.append(said(start, {3600: np.full(len(QUANTILES), 1.0)}, source=source, rate_per_s=came / (1 + each)))
    return made
