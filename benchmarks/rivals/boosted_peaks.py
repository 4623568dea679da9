"""One boosted model of the peak over all series, run with the rivals' own interpreter: `boosted_peaks.py FOLDER`.

mlforecast makes the features of each window from those before it, and LightGBM learns quantiles of the largest count
within the horizon that begins there. All is in logarithms over the series' own level of the last week, so that series
of every size learn from each other. What it says is calibrated by who asks (boosted_run.py).

FOLDER holds job.json (see Job) and counts-N.npy of each series, NaN where missing. Series are of different years, so
their origins are matched by number: the model of a number sees of every series what came before that origin of it. It
is fitted every REFIT_ORIGINS origins, and asked at each from the newest counts. Peaks in events per second, shape
(origins, horizons, quantiles), go to said-N.npz; what it cost goes to told.json.
"""

import json
import resource
import sys
import warnings
from collections.abc import Sequence
from dataclasses import dataclass
from datetime import datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

DAY_S = 86400
REFIT_ORIGINS = 4
LEAST_KNOWN = 0.8
SPANS_S = (900, 3600, 21600, DAY_S)
"""Over which the last counts are summed up."""
DAYS_AGO = (1, 2, 7, 14, 21, 28)
BOOSTING = {
    "objective": "quantile", "n_estimators": 200, "learning_rate": 0.05, "num_leaves": 15, "min_child_samples": 40,
    "subsample": 0.8, "subsample_freq": 1, "colsample_bytree": 0.8, "n_jobs": 1, "verbosity": -1, "seed": 7,
}  # fmt: skip


@dataclass(frozen=True)
class Job:
    """series: of each its start, window_s, horizons_s and origins (numbers of the first windows to be forecast).

    history_s: how much before an origin is seen, at most.
    """

    series: list[dict]
    quantiles: list[float]
    history_s: int


@dataclass(frozen=True)
class Rows:
    """Of one series at one horizon, by the first window that is forecast: features, and what came, in logarithms over
    the level. target: NaN where it is not known.
    """

    features: pd.DataFrame
    level: np.ndarray
    target: np.ndarray


def features_of(logs: np.ndarray, start: datetime, window_s: int) -> pd.DataFrame:
    """What is known of the windows before each one, and of one more at the end; in logarithms."""
    from mlforecast import MLForecast
    from mlforecast.lag_transforms import RollingMax, RollingMean, RollingStd

    day = DAY_S // window_s
    spans = [span_s // window_s for span_s in SPANS_S if span_s >= window_s]
    latest = [of(span, min_samples=1) for span in spans for of in (RollingMax, RollingMean)]
    latest += [
        RollingMean(7 * day, min_samples=1),
        RollingMax(7 * day, min_samples=1),
        RollingStd(7 * day, min_samples=2),
    ]
    transforms: dict[int, list] = {1: latest}
    for span in spans:
        for days in DAYS_AGO:
            # The windows that lie as many days before those within the horizon.
            transforms.setdefault(days * day - span + 1, []).append(RollingMax(span, min_samples=span))
    times = pd.Timestamp(start.replace(tzinfo=None)) + pd.to_timedelta(np.arange(logs.size + 1) * window_s, unit="s")
    # Of the window to come nothing but its features is read.
    frame = pd.DataFrame({"unique_id": "series", "ds": times, "y": np.append(logs, 0.0)})
    maker = MLForecast(models=[], freq=f"{window_s}s", lags=[1, 2, 3, 4], lag_transforms=transforms)
    made = maker.preprocess(frame, dropna=False).drop(columns=["unique_id", "ds", "y"])
    return made.reset_index(drop=True).assign(
        time_of_day=(times.hour + times.minute / 60).to_numpy(), day_of_week=times.dayofweek.to_numpy()
    )


def horizon_columns(features: pd.DataFrame, window_s: int, horizon_s: int) -> pd.DataFrame:
    """Those that tell of one horizon, by names that series of other windows share; over the level of the last week."""
    day, steps = DAY_S // window_s, horizon_s // window_s
    name = {f"lag{lag}": f"{lag} windows ago" for lag in (1, 2, 3, 4)}
    for span_s in SPANS_S:
        if span_s >= window_s:
            for what in ("max", "mean"):
                name[f"rolling_{what}_lag1_window_size{span_s // window_s}_min_samples1"] = f"{what} of {span_s} s"
    name[f"rolling_max_lag1_window_size{7 * day}_min_samples1"] = "max of a week"
    for days in DAYS_AGO:
        lag = days * day - steps + 1
        name[f"rolling_max_lag{lag}_window_size{steps}_min_samples{steps}"] = f"peak {days} days ago"
    level = features[f"rolling_mean_lag1_window_size{7 * day}_min_samples1"]
    spread = features[f"rolling_std_lag1_window_size{7 * day}_min_samples2"]
    relative = features[list(name)].rename(columns=name).sub(level, axis=0)
    # Spans shorter than a window tell nothing, and are columns all the same: one model serves all series.
    every = [*name.values(), *(f"{what} of {span_s} s" for span_s in SPANS_S for what in ("max", "mean"))]
    weeks = relative[[f"peak {days} days ago" for days in DAYS_AGO if days % 7 == 0]].mean(axis=1)
    return relative.reindex(columns=sorted(set(every))).assign(
        weeks=weeks, spread=spread, level=level, hours=window_s / 3600, **features[["time_of_day", "day_of_week"]]
    )


def coming_peaks(counts: np.ndarray, steps: int) -> np.ndarray:
    """The largest count of the windows from each one on, NaN where fewer than LEAST_KNOWN of them are known or came."""
    known = np.isfinite(counts)
    ahead = pd.Series(np.where(known, counts, 0.0)[::-1]).rolling(steps).max().to_numpy()[::-1]
    share = pd.Series(known[::-1].astype(float)).rolling(steps).mean().to_numpy()[::-1]
    return np.append(np.where(share >= LEAST_KNOWN, ahead, np.nan), np.nan)


def rows_of(series: dict, counts: np.ndarray, horizon_s: int) -> Rows:
    """All moments of forecasting of a series, over all of its history; nothing of a row's features is of later."""
    window_s = series["window_s"]
    columns = horizon_columns(series["features"], window_s, horizon_s)
    level = columns["level"].to_numpy()
    return Rows(columns, level, np.log1p(coming_peaks(counts, horizon_s // window_s)) - level)


def taught(rows: Rows, series: dict, begin: int, end: int, horizon_s: int) -> np.ndarray:
    """Numbers of the rows that lie within these windows with all of their horizon; one for so much of the horizon."""
    steps = horizon_s // series["window_s"]
    apart = max(1, min(max(900, horizon_s // 12), 3600) // series["window_s"])
    inside = np.arange(max(begin, 0), max(end - steps + 1, 0))
    inside = inside[inside % apart == 0]
    return inside[np.isfinite(rows.target[inside]) & np.isfinite(rows.level[inside])]


def boosted(features: pd.DataFrame, target: np.ndarray, quantiles: Sequence[float]) -> list[Any]:
    import lightgbm

    return [lightgbm.LGBMRegressor(alpha=quantile, **BOOSTING).fit(features, target) for quantile in quantiles]


def predicted(models: Sequence[Any], features: pd.DataFrame) -> np.ndarray:
    return np.sort(np.column_stack([model.predict(features) for model in models]), axis=1)


def learnt_from(job: Job, rows: Rows, series: dict, origin: int, horizon_s: int) -> tuple[pd.DataFrame, np.ndarray]:
    """Features and targets of a series' history before an origin."""
    at = taught(rows, series, origin - job.history_s // series["window_s"], origin, horizon_s)
    return rows.features.iloc[at], rows.target[at]


def peaks_at(job: Job, horizon_s: int, counts: dict[int, np.ndarray]) -> dict[int, np.ndarray]:
    """Quantiles of the peak within a horizon in counts, of each series at each of its origins."""
    able = {index: series for index, series in enumerate(job.series) if horizon_s in series["horizons_s"]}
    every = {index: rows_of(series, counts[index], horizon_s) for index, series in able.items()}
    longest = max(len(series["origins"]) for series in able.values())
    # Numbers of origins are counted from the last one: series have more or fewer that teach.
    first = {index: longest - len(series["origins"]) for index, series in able.items()}
    said = {index: np.full((len(series["origins"]), len(job.quantiles)), np.nan) for index, series in able.items()}
    for begin in range(0, longest, REFIT_ORIGINS):
        numbers = range(begin, min(begin + REFIT_ORIGINS, longest))
        there = [index for index in able if first[index] < numbers.stop]
        parts = []
        for index in there:
            origin = able[index]["origins"][max(begin - first[index], 0)]
            parts.append(learnt_from(job, every[index], able[index], origin, horizon_s))
        features, target = pd.concat([part for part, _ in parts]), np.concatenate([part for _, part in parts])
        models = boosted(features, target, job.quantiles)
        for index in there:
            at = [number - first[index] for number in numbers if number >= first[index]]
            origins = [able[index]["origins"][row] for row in at]
            said[index][at] = predicted(models, every[index].features.iloc[origins])
        print(f"{horizon_s} s, origins from {begin + 1} of {longest}", flush=True)
    for index, series in able.items():
        at, rows = np.array(series["origins"]), every[index]
        said[index] = np.maximum(np.expm1(said[index] + rows.level[at, None]), 0.0)
    return said


def run(folder: Path) -> None:
    job = Job(**json.loads((folder / "job.json").read_text()))
    counts = {index: np.load(folder / f"counts-{index}.npy") for index in range(len(job.series))}
    for index, series in enumerate(job.series):
        start = datetime.fromisoformat(series["start"])
        # The last known count stands in a gap: a line over it would tell of what comes after it.
        held = pd.Series(counts[index]).ffill().bfill().to_numpy()
        series["features"] = features_of(np.log1p(held), start, series["window_s"])
    horizons_s = sorted({horizon_s for series in job.series for horizon_s in series["horizons_s"]})
    said = {horizon_s: peaks_at(job, horizon_s, counts) for horizon_s in horizons_s}
    for index, series in enumerate(job.series):
        peaks = np.stack([said[horizon_s][index] for horizon_s in series["horizons_s"]], axis=1) / series["window_s"]
        # A longer horizon holds the shorter one.
        rising = np.maximum.accumulate(peaks, axis=1)
        np.savez(folder / f"said-{index}.npz", origins=np.array(series["origins"], int), peaks=rising)
    used = resource.getrusage(resource.RUSAGE_SELF)
    libraries = {library: version(library) for library in ("mlforecast", "lightgbm")}
    (folder / "told.json").write_text(json.dumps({"cpu_s": used.ru_utime + used.ru_stime, "versions": libraries}))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    run(Path(sys.argv[1]))
