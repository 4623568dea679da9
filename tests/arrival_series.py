"""Made-up arrival series with known shape, for the tests of forecasting."""

from datetime import UTC, datetime

import numpy as np

from forecasting.arrivals.history import ArrivalSeries

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
DAY_S = 86400


def week_of(window_s: int, days: float) -> tuple[np.ndarray, np.ndarray]:
    """Seconds of the day and day of the week (Monday 0) of each window from MONDAY."""
    at_s = np.arange(int(days * DAY_S / window_s)) * window_s
    return at_s % DAY_S, at_s // DAY_S % 7


def busy_offices(days: float = 21, window_s: int = 900, peak_per_s: float = 1.0, seed: int = 1) -> ArrivalSeries:
    """Poisson counts, open on weekdays from 7:00 to 21:00 UTC with a noon peak, closed (zero) otherwise."""
    second, weekday = week_of(window_s, days)
    hour = second / 3600
    is_open = (weekday < 5) & (hour >= 7) & (hour < 21)
    mean = np.where(is_open, peak_per_s * (0.3 + 0.7 * np.sin(np.pi * (hour - 7) / 14)), 0.0) * window_s
    counts = np.random.default_rng(seed).poisson(mean).astype(float)
    return ArrivalSeries("calls", "desk", MONDAY, window_s, counts)


def web_requests(days: float = 21, window_s: int = 900, peak_per_s: float = 5.0, seed: int = 2) -> ArrivalSeries:
    """Never closed: a daily wave between a fifth of the peak and the peak, with an hourly level that wanders."""
    second, _ = week_of(window_s, days)
    rng = np.random.default_rng(seed)
    wave = 0.6 - 0.4 * np.cos(2 * np.pi * second / DAY_S)
    drift = np.zeros(second.size)
    for at in range(1, second.size):
        drift[at] = 0.97 * drift[at - 1] + rng.normal(0, 0.03)
    counts = rng.poisson(peak_per_s * window_s * wave * np.exp(drift)).astype(float)
    return ArrivalSeries("shop", "web", MONDAY, window_s, counts)


def with_gaps(series: ArrivalSeries, share: float = 0.05, seed: int = 3) -> ArrivalSeries:
    """The same series with hours of missing windows at random, and one in its last two hours."""
    counts = series.counts.copy()
    rng = np.random.default_rng(seed)
    per_hour = 3600 // series.window_s
    for start in rng.integers(0, counts.size - per_hour, int(share * counts.size / per_hour)):
        counts[start : start + per_hour] = np.nan
    counts[-2 * per_hour : -per_hour] = np.nan
    return ArrivalSeries(series.topology, series.source, series.start, series.window_s, counts)
