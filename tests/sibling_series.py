"""A sibling and a young source whose loads are known exactly: low by night, three times as high by day."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from zoneinfo import ZoneInfo

import numpy as np

from forecasting.arrivals.history import UTC_NAME, ArrivalSeries

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
WINDOW_S = 900
NIGHT, DAY = 100.0, 300.0


def day_and_night(
    start: datetime, hours: float, *, factor: float = 1.0, timezone: str = UTC_NAME, name: str = "old/clicks"
) -> ArrivalSeries:
    """100 per quarter of an hour by night, 300 from 8 to 20 o'clock of its clock, times a factor."""
    count = int(hours * 3600 / WINDOW_S)
    clock = [(start + timedelta(seconds=WINDOW_S * at)).astimezone(ZoneInfo(timezone)).hour for at in range(count)]
    counts = factor * np.where((np.array(clock) >= 8) & (np.array(clock) < 20), DAY, NIGHT)
    topology, _, source = name.partition("/")
    return ArrivalSeries(topology, source, start, WINDOW_S, counts, timezone)


def noisy(series: ArrivalSeries, seed: int, size: float = 0.1) -> ArrivalSeries:
    """The same with independent errors of that relative size."""
    errors = np.random.default_rng(seed).normal(0.0, size, series.counts.size)
    return replace(series, counts=np.round(series.counts * np.exp(errors)))


def old(days: float = 28, **more: object) -> ArrivalSeries:
    """The sibling, until MONDAY."""
    return day_and_night(MONDAY - timedelta(days=days), 24 * days, **more)  # type: ignore[arg-type]


def young(hours: float = 12, factor: float = 2.0, **more: object) -> ArrivalSeries:
    """A source twice as large as the sibling, from MONDAY on."""
    return day_and_night(MONDAY, hours, factor=factor, name="new/clicks", **more)  # type: ignore[arg-type]
