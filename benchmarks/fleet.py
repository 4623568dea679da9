"""Forecasts of many sources over Spark: processor time per 100 series, to train and to forecast again; and Prophet's.

    python benchmarks/fleet.py [--series 500] [--days 28] [--window 300] [--traces DIR] [--asked 10000]

Series are made up (a daily and weekly wave, a wandering level, bursts, Poisson counts), or with --traces are spans of
real traces, each starting on another day; five poisoned series are among them. Every series is trained (36 backtest
origins, all forecasters, selection, calibration, 400 paths, its folders written), then forecast again as after a few
minutes. --asked makes so many more forecasts from the trained models, each in its own folder. For comparison, Prophet
with its defaults and without any backtest is fitted to some of the same series in this process. Processor time is that
of all processes, JVM and Python workers included, once with and once without their start-up. Needs the extras spark and
forecast, and psutil.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
import warnings
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path

import numpy as np

# A script's own folder comes first, and one file in it is named like the package that it measures.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("processes")))

from processor_time import all_cpu_s, memory_watched

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.spark_session import spark_session
from forecasting.errors import ForecastError, HistoryError
from forecasting.events.calendar import EventCalendar
from forecasting.fleet import ForecastResult, ForecastTask
from forecasting.fleet_spark import forecast_over_spark
from forecasting.one_thread import one_thread
from forecasting.spark_tasks import WORKER_SETTINGS
from forecasting.terms import ForecastTerms
from forecasting.trace_file import read_trace

START = datetime(2026, 1, 5, tzinfo=UTC)
DAY_S = 86400


@dataclass(frozen=True)
class Measured:
    """cpu_s_per_100: of the forecast tasks alone; all_cpu_s_per_100: of all processes, start-up included."""

    what: str
    series: int
    failed: int
    cpu_s_per_100: float
    all_cpu_s_per_100: float
    wall_s: float


def made_up(number: int, days: int, window_s: int) -> ArrivalSeries:
    rng = np.random.default_rng(number)
    second = np.arange(days * DAY_S // window_s) * window_s
    weekend = (second // DAY_S % 7 >= 5) * rng.uniform(0, 0.6)
    wave = 1 + rng.uniform(0.2, 0.9) * np.sin(2 * np.pi * (second / DAY_S - rng.uniform())) - weekend
    drift = np.cumsum(rng.normal(0, 0.01, second.size)) * 0.3
    bursts = 1 + (rng.random(second.size) < 0.002) * rng.pareto(2, second.size)
    mean = rng.lognormal(1, 1.5) * np.maximum(wave, 0.05) * np.exp(drift - drift.mean()) * bursts * window_s
    return ArrivalSeries("fleet", f"made up {number}", START, window_s, rng.poisson(mean).astype(float))


def spans(folder: Path, count: int, days: int) -> list[ArrivalSeries]:
    """`count` spans of the traces in a folder, each `days` long and starting on another day."""
    traces = []
    for path in sorted(folder.glob("*.csv")):
        with suppress(ForecastError, HistoryError):
            traces.append(read_trace(path))
    fit = [series for series in traces if series.span_s >= (days + 1) * DAY_S]
    if not fit:
        raise SystemExit(f"--traces: {folder} holds no trace of {days + 1} days")
    made = []
    for number in range(count):
        series = fit[number % len(fit)]
        last = int(series.span_s // DAY_S) - days
        start = series.start + timedelta(days=(number // len(fit)) % last)
        made.append(replace(series.between(start, start + timedelta(days=days)), source=f"{series.source} {number}"))
    return made


def orders_of(series: Sequence[ArrivalSeries], home: Path) -> list[ForecastTask]:
    return [
        ForecastTask(
            "fleet",
            one.source,
            one.start,
            one.window_s,
            one.counts,
            one.end,
            ForecastTerms(one.window_s, DAY_S),
            EventCalendar(),
            home / "trained" / str(number),
            train=True,
            folder=home / "forecasts" / str(number),
        )
        for number, one in enumerate(series)
    ]


def many_asked(orders: Sequence[ForecastTask], count: int, home: Path) -> list[ForecastTask]:
    """`count` tasks that forecast from what these tasks have trained, each in its own folder."""
    return [
        replace(orders[number % len(orders)], train=False, folder=home / "asked" / str(number))
        for number in range(count)
    ]


def poisoned(order: ForecastTask) -> list[ForecastTask]:
    day = DAY_S // order.window_s
    counts = {
        "all NaN": np.full(5 * day, np.nan),
        "constant": np.full(5 * day, 90.0),
        "negative": np.full(5 * day, -1.0),
        "three points": np.array([1.0, 2.0, 3.0]),
        "a year of gaps": np.where(np.arange(366 * day) % 50 == 0, 5.0, np.nan),
    }
    return [
        replace(
            order,
            source=name,
            counts=values,
            issued_at=order.start + timedelta(seconds=order.window_s * values.size),
            trained=order.trained.with_name(name),
            folder=None,
        )
        for name, values in counts.items()
    ]


def measured(
    what: str, spark: object, orders: Sequence[ForecastTask], before_s: float
) -> tuple[Measured, list[ForecastResult]]:
    began = time.perf_counter()
    outcomes = list(forecast_over_spark(spark, orders))  # type: ignore[arg-type]
    wall_s = time.perf_counter() - began
    failed = sum(bool(outcome.failure) for outcome in outcomes)
    own = sum(outcome.cpu_s for outcome in outcomes)
    scale = 100 / len(orders)
    return Measured(what, len(orders), failed, own * scale, (all_cpu_s() - before_s) * scale, wall_s), outcomes


def prophet(series: Sequence[ArrivalSeries]) -> Measured:
    """Prophet with its defaults: fitted to every window, it forecasts a day ahead with its intervals."""
    import pandas as pd
    from prophet import Prophet

    for library in ("cmdstanpy", "prophet", "prophet.models"):
        logging.getLogger(library).disabled = True
    began, before_s = time.perf_counter(), all_cpu_s()
    with one_thread():
        for one in series:
            model = Prophet()
            model.fit(pd.DataFrame({"ds": one.window_starts(), "y": one.counts}))
            model.predict(
                model.make_future_dataframe(DAY_S // one.window_s, freq=f"{one.window_s}s", include_history=False)
            )
    spent = (all_cpu_s() - before_s) * 100 / len(series)
    return Measured("Prophet as it comes, no backtest", len(series), 0, spent, spent, time.perf_counter() - began)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--series", type=int, default=500)
    parser.add_argument("--days", type=int, default=28)
    parser.add_argument("--window", type=int, default=300)
    parser.add_argument(
        "--traces", type=Path, help="folder of CSV files to take spans from, in place of made-up series"
    )
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--rival-series", type=int, default=10, help="fitted by Prophet; 0 for none")
    parser.add_argument("--asked", type=int, default=0, help="so many more forecasts of what was trained; 1 MB each")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    warnings.filterwarnings("ignore")
    if given.traces:
        series = spans(given.traces, given.series, given.days)
    else:
        series = [made_up(number, given.days, given.window) for number in range(given.series)]
    with tempfile.TemporaryDirectory(prefix="forescale-") as folder:
        orders = orders_of(series, Path(folder))
        bad = poisoned(orders[0])
        before_s = all_cpu_s()
        with (
            memory_watched() as memory_mib,
            spark_session(f"local[{given.cores}]", "fleet", settings=WORKER_SETTINGS) as spark,
        ):
            trained, outcomes = measured("trained, with backtest and selection", spark, [*orders, *bad], before_s)
            again, asked = measured("asked again", spark, [replace(o, train=False) for o in orders], all_cpu_s())
            rows = [trained, again]
            if given.asked:
                many = many_asked(orders, given.asked, Path(folder))
                rows.append(measured("asked, many", spark, many, all_cpu_s())[0])
        same = [one.digest == two.digest for one, two in zip(outcomes, asked, strict=False)]
        if given.rival_series:
            rows.append(prophet(series[: given.rival_series]))
    if given.json:
        print(
            json.dumps({"rows": [asdict(row) for row in rows], "same": sum(same), "memory_mib": memory_mib}, indent=1)
        )
        return
    print("| | series | failed | CPU s per 100 series | with JVM, workers and their start | wall s |")
    print("|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.what} | {row.series} | {row.failed} | {row.cpu_s_per_100:.1f} | {row.all_cpu_s_per_100:.1f} | "
            f"{row.wall_s:.0f} |"
        )
    print("\nlargest memory: " + ", ".join(f"{kind} {mib:.0f} MiB" for kind, mib in sorted(memory_mib.items())))
    print(f"{sum(same)} of {len(same)} asked again said the same as when they were trained, bit for bit")
    for outcome in outcomes[len(orders) :]:
        print(f"{outcome.source}: {outcome.failure or 'forecast'}")


if __name__ == "__main__":
    main()
