"""What knowing a holiday is worth: Prophet's own holiday regressors against effects learnt once for all forecasters.

    python benchmarks/forecast_events.py [--seeds 12] [--json]

The series are made up: ten weeks in quarters of an hour with days and weekends, a wandering level and Poisson counts.
Some weekdays of the past are holidays, each with a load of its own about 0.4 times the usual; the day after the history
is a holiday, too. At the midnight before it, each way forecasts its peak:

    unaware     Prophet as it competes, without any holidays
    regressors  the same with `holidays`: an indicator per holiday in Prophet's own fit, then the residual correction;
                its training data is winsorised where it is far from the usual, but not on these days
    wrapped     the same, with the events' effect removed from its training data and applied to its forecast

Prints the pinball loss of the p95 of that day's peak as a share of the usual peak (mean over seeds and standard error),
by how often a holiday of the same name, and of another name, was seen before; and the p95 itself beside the peak.
"""

import argparse
import json
import sys
import warnings
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from unittest.mock import patch

import numpy as np
import pandas as pd

# A script's own folder comes first, and holds one named like the package that it measures.
sys.path.pop(0)

from forecasting.arrivals.history import ArrivalSeries
from forecasting.events.calendar import Event, EventCalendar, EventKind
from forecasting.events.event_aware_forecaster import EventAwareForecaster
from forecasting.forecaster import Forecaster
from forecasting.models.prophet_forecaster import ProphetForecaster
from forecasting.models.weekly_profile import winsorised
from forecasting.one_thread import one_thread
from forecasting.peaks import peak_quantiles_per_s, pinball

MONDAY = datetime(2026, 1, 5, tzinfo=UTC)
WINDOW_S, PER_DAY, DAYS = 900, 96, 70
USUAL_PEAK_PER_S = 5.0
HOLIDAY_RATIO, FROM_ONE_TO_THE_NEXT = 0.4, 0.15
"""A holiday's ratio to the usual load is log-normal: its median, and the standard deviation of its logarithm."""
OTHER = "Another holiday"
SAME = "This holiday"
CASES: dict[str, dict[int, str]] = {
    "never seen": {},
    "another seen once": {16: OTHER},
    "another seen three times": {16: OTHER, 31: OTHER, 52: OTHER},
    "seen once": {31: SAME},
    "seen twice": {31: SAME, 52: SAME},
    "seen four times": {9: SAME, 31: SAME, 45: SAME, 59: SAME},
}
"""Holidays of the past by day number, all weekdays; day 70, a Monday, is the holiday to forecast."""


@dataclass(frozen=True)
class Told:
    case: str
    way: str
    loss: float
    loss_error: float
    p95: float
    peak: float


def made_up(past: dict[int, str], seed: int) -> tuple[ArrivalSeries, float]:
    """Ten weeks of history and the peak rate of the holiday after them."""
    rng = np.random.default_rng(seed)
    at = np.arange((DAYS + 1) * PER_DAY)
    hour, weekday = at % PER_DAY / 4, at // PER_DAY % 7
    wave = np.where(weekday < 5, 0.6 - 0.4 * np.cos(2 * np.pi * hour / 24), 0.4 - 0.2 * np.cos(2 * np.pi * hour / 24))
    drift = np.zeros(at.size)
    for now in range(1, at.size):
        drift[now] = 0.99 * drift[now - 1] + rng.normal(0, 0.01)
    rate = USUAL_PEAK_PER_S * wave * np.exp(drift)
    for day in (*past, DAYS):
        rate[day * PER_DAY : (day + 1) * PER_DAY] *= HOLIDAY_RATIO * np.exp(rng.normal(0, FROM_ONE_TO_THE_NEXT))
    counts = rng.poisson(rate * WINDOW_S).astype(float)
    known = DAYS * PER_DAY
    return ArrivalSeries("made-up", "web", MONDAY, WINDOW_S, counts[:known]), float(counts[known:].max() / WINDOW_S)


def p95(forecaster: Forecaster, series: ArrivalSeries, seed: int) -> float:
    paths = forecaster.fit(series).paths_per_s(series, PER_DAY, 400, np.random.default_rng(seed))
    return float(peak_quantiles_per_s(paths, [PER_DAY], [0.95])[0, 0])


def with_regressors(series: ArrivalSeries, days: dict[int, str], seed: int) -> float:
    from prophet import Prophet

    holidays = pd.DataFrame(
        {
            "ds": [pd.Timestamp(MONDAY.replace(tzinfo=None)) + pd.Timedelta(days=day) for day in days],
            "holiday": list(days.values()),
        }
    )

    def made(**options: object) -> Prophet:
        return Prophet(holidays=holidays, **options)

    def drawn_in_elsewhere(values: np.ndarray, slots: np.ndarray, window_s: int) -> np.ndarray:
        holiday = np.isin(np.arange(values.size) // PER_DAY, list(days))
        return np.where(holiday, values, winsorised(values, slots, window_s))

    with patch("prophet.Prophet", made), patch("forecasting.models.prophet_forecaster.winsorised", drawn_in_elsewhere):
        return p95(ProphetForecaster(), series, seed)


def whole_day(day: int, label: str) -> Event:
    start = MONDAY + timedelta(days=day)
    return Event(EventKind.HOLIDAY, label, start, start + timedelta(days=1))


def said(case: dict[int, str], seed: int) -> tuple[float, dict[str, float]]:
    """The observed peak, and the p95 of each way."""
    series, peak = made_up(case, seed)
    days = case | {DAYS: SAME}
    calendar = EventCalendar(tuple(whole_day(day, label) for day, label in days.items()))
    return peak, {
        "unaware": p95(ProphetForecaster(), series, seed),
        "regressors": with_regressors(series, days, seed),
        "wrapped": p95(EventAwareForecaster(ProphetForecaster(), calendar), series, seed),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--seeds", type=int, default=12)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    rows = []
    with one_thread():
        for name, case in CASES.items():
            each = [said(case, seed) for seed in range(given.seeds)]
            for way in each[0][1]:
                quantiles = np.array([ways[way] for _, ways in each])
                peaks = np.array([peak for peak, _ in each])
                losses = pinball(peaks, quantiles, 0.95) / USUAL_PEAK_PER_S
                error = float(losses.std(ddof=1) / np.sqrt(losses.size))
                rows.append(Told(name, way, float(losses.mean()), error, float(quantiles.mean()), float(peaks.mean())))
            print(name, file=sys.stderr, flush=True)
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print("| this holiday, before | way | p95 loss / usual peak | mean p95 | mean peak |\n|---|---|---|---|---|")
    for row in rows:
        print(f"| {row.case} | {row.way} | {row.loss:.4f} ± {row.loss_error:.4f} | {row.p95:.2f} | {row.peak:.2f} |")


if __name__ == "__main__":
    main()
