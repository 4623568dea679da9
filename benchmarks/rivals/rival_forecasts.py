"""The rivals' side of the forecasting benchmark, run with their own interpreter: `rival_forecasts.py FOLDER`.

FOLDER holds job.json (see Job) and counts.npy (NaN where missing). At each origin the rival is fitted on the windows
before it and says what comes. What it says goes to said.npz: origins, and at each of them in events per second peaks,
shape (horizons, quantiles), and rates, shape (steps, quantiles), unless it speaks of peaks alone. What each forecast
cost, or why there is none, goes to told.json.

Each forecast runs in a process of its own, so that one that does not end can be ended. Rates are not negative: what a
rival puts below zero is zero.
"""

import contextlib
import json
import os
import resource
import signal
import sys
import time
import traceback
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from importlib.metadata import version
from multiprocessing import Pipe
from pathlib import Path
from typing import Any

import numpy as np
from conformal_peaks import conformal_peaks, next_peak, peaks_of_series

DAY_S = 86400


@dataclass(frozen=True)
class Job:
    """origins: numbers of the first windows to be forecast. teaching: of earlier ones, whose errors make the quantiles
    of a rival that gives points. history_s: how much before them the rival may see, at most. limit_cpu_s: processor
    seconds for one forecast.
    """

    rival: str
    candidate: str
    start: str
    window_s: int
    origins: list[int]
    teaching: list[int]
    horizons_s: list[int]
    quantiles: list[float]
    history_s: int
    paths: int
    seed: int
    limit_cpu_s: int


@dataclass(frozen=True)
class Asked:
    """One forecast. counts: the windows before the origin, NaN where missing; start: of the first of them.

    horizon_steps: windows of each horizon, ascending.
    """

    counts: np.ndarray
    start: datetime
    window_s: int
    horizon_steps: list[int]
    quantiles: list[float]
    paths: int
    seed: int

    @property
    def steps(self) -> int:
        return max(self.horizon_steps)


@dataclass(frozen=True)
class Said:
    """Counts by window: joint paths, shape (paths, steps), or where a rival has none, quantiles of each window by
    itself, shape (steps, quantiles), or of one that forecasts peaks alone, the middle of each, shape (horizons,).
    """

    paths: np.ndarray | None = None
    pointwise: np.ndarray | None = None
    points: np.ndarray | None = None


def prophet(asked: Asked) -> Said:
    """As it comes. It leaves missing windows out, and draws its own joint samples."""
    import logging

    import pandas as pd
    from prophet import Prophet

    for library in ("cmdstanpy", "prophet", "prophet.models"):
        logging.getLogger(library).disabled = True
    first = pd.Timestamp(asked.start.replace(tzinfo=None))
    size = asked.counts.size
    times = first + pd.to_timedelta(np.arange(size + asked.steps) * asked.window_s, unit="s")
    model = Prophet()
    model.fit(pd.DataFrame({"ds": times[:size], "y": asked.counts}), seed=asked.seed)
    np.random.seed(asked.seed)  # Prophet draws from it
    return Said(paths=model.predictive_samples(pd.DataFrame({"ds": times[size:]}))["yhat"].T)


def arima(asked: Asked) -> Said:
    """statsmodels' ARIMA(1,1,1); missing windows are its own business too, and its simulations are joint."""
    from statsmodels.tsa.arima.model import ARIMA

    fitted = ARIMA(asked.counts, order=(1, 1, 1)).fit()
    drawn = fitted.simulate(asked.steps, anchor="end", repetitions=asked.paths, rng=np.random.default_rng(asked.seed))
    return Said(paths=np.asarray(drawn).reshape(asked.steps, asked.paths).T)


def autoarima(asked: Asked) -> Said:
    """statsforecast's AutoARIMA without a season: with one of 288 windows a fit takes longer than anyone would wait.

    Its simulations are joint.
    """
    from statsforecast.models import AutoARIMA

    model = AutoARIMA().fit(y=filled(asked.counts))
    return Said(paths=model.simulate(h=asked.steps, n_paths=asked.paths, seed=asked.seed))


def mstl(asked: Asked) -> Said:
    """statsforecast's MSTL with the seasons that were seen twice; it has intervals of each window only.

    Loess is evaluated ten times a day and drawn straight between, which R's stl does by itself (and no more often): the
    fit takes a tenth of the time.
    """
    from statsforecast.models import MSTL

    day = DAY_S // asked.window_s
    seasons = [season for season in (day, 7 * day) if asked.counts.size >= 2 * season]
    if not seasons:
        raise ValueError("less than two days of history")
    jump = max(1, day // 10)
    model = MSTL(season_length=seasons, stl_kwargs={"trend_jump": jump, "low_pass_jump": jump})
    upper = {quantile: round(100 * (2 * quantile - 1)) for quantile in asked.quantiles if quantile > 0.5}
    told = model.forecast(y=filled(asked.counts), h=asked.steps, level=sorted(upper.values()))
    columns = [told[f"hi-{upper[quantile]}"] if quantile in upper else told["mean"] for quantile in asked.quantiles]
    return Said(pointwise=np.column_stack(columns))


def peak_ets(asked: Asked) -> Said:
    """statsforecast's MSTL with AutoETS, of the series of peaks of each horizon (see conformal_peaks.py)."""
    counts = filled(asked.counts)
    points = [next_peak(peaks_of_series(counts, steps), steps, asked.window_s) for steps in asked.horizon_steps]
    return Said(points=np.array(points))


RIVALS: dict[str, tuple[Callable[[Asked], Said], tuple[str, ...]]] = {
    "prophet": (prophet, ("prophet", "cmdstanpy")),
    "arima": (arima, ("statsmodels.tsa.arima.model",)),
    "autoarima": (autoarima, ("statsforecast.models",)),
    "mstl": (mstl, ("statsforecast.models", "statsmodels.tsa.api")),
    "peak_ets": (peak_ets, ("statsforecast.models", "statsmodels.tsa.api")),
}
"""By name: what forecasts, and the modules of the libraries that it is made of."""


def filled(counts: np.ndarray) -> np.ndarray:
    """Straight lines over the gaps, for those that take none."""
    known = np.flatnonzero(np.isfinite(counts))
    if not known.size:
        raise ValueError("nothing is known before the origin")
    return np.interp(np.arange(counts.size), known, counts[known])


def history_before(counts: np.ndarray, origin: int, most: int) -> np.ndarray:
    """At most so many windows before the origin, from the first one on that is known."""
    before = counts[max(0, origin - most) : origin]
    known = np.flatnonzero(np.isfinite(before))
    if not known.size:
        raise ValueError("nothing is known before the origin")
    return before[known[0] :]


def quantiles_of(said: Said, horizon_steps: list[int], quantiles: list[float]) -> tuple[np.ndarray, np.ndarray]:
    """Of the peak, shape (horizons, quantiles), and of each window, shape (steps, quantiles).

    Joint paths give the quantiles of their maxima; a rival without them the maximum of its pointwise quantiles, which
    is what its user has. Points stand for every quantile until errors are known, and for no window.
    """
    ends = np.asarray(horizon_steps) - 1
    if said.points is not None:
        return np.repeat(said.points[:, None], len(quantiles), axis=1), np.empty((0, len(quantiles)))
    if said.paths is not None:
        paths = np.maximum(said.paths, 0)
        running = np.maximum.accumulate(paths, axis=1)
        return np.quantile(running[:, ends], quantiles, axis=0).T, np.quantile(paths, quantiles, axis=0).T
    pointwise = np.maximum(said.pointwise, 0)
    return np.maximum.accumulate(pointwise, axis=0)[ends], pointwise


def apart(work: Callable[[], Any], limit_cpu_s: int) -> tuple[Any, str, float]:
    """What the work gives in a process of its own, or None and why; and the processor seconds of it and its children.

    It is ended after its processor seconds, and after ten times as many on the clock.
    """
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    receiver, sender = Pipe(duplex=False)
    child = os.fork()
    if child == 0:
        os.setsid()
        resource.setrlimit(resource.RLIMIT_CPU, (limit_cpu_s, limit_cpu_s))
        try:
            sender.send((work(), ""))
        except Exception as error:  # noqa: BLE001 - whatever a library throws is an answer
            traceback.print_exc()
            sender.send((None, f"{type(error).__name__}: {' '.join(str(error).split())}"[:300]))
        finally:
            sender.close()
            os._exit(0)
    sender.close()
    until = time.monotonic() + 10 * limit_cpu_s
    value, why = None, "ran out of time"
    try:
        if receiver.poll(max(0.0, until - time.monotonic())):
            value, why = receiver.recv()
    except EOFError:
        pass
    finally:
        with contextlib.suppress(ProcessLookupError):
            os.killpg(child, signal.SIGKILL)
        status = os.waitpid(child, 0)[1]
        receiver.close()
    if value is None and why == "ran out of time" and os.WIFSIGNALED(status):
        ended_by = os.WTERMSIG(status)
        if ended_by not in (signal.SIGXCPU, signal.SIGKILL):
            why = f"ended by {signal.Signals(ended_by).name}"
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return value, why, after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def forecast_at(job: Job, counts: np.ndarray, origin: int) -> tuple[np.ndarray, np.ndarray]:
    """Quantiles in events per second: of the peaks, and of each window."""
    before = history_before(counts, origin, job.history_s // job.window_s)
    start = datetime.fromisoformat(job.start) + timedelta(seconds=(origin - before.size) * job.window_s)
    steps = [horizon_s // job.window_s for horizon_s in job.horizons_s]
    said = RIVALS[job.rival][0](Asked(before, start, job.window_s, steps, job.quantiles, job.paths, job.seed))
    peaks, rates = quantiles_of(said, steps, job.quantiles)
    if not (np.isfinite(peaks).all() and np.isfinite(rates).all()):
        raise ValueError("it says numbers that are not finite")
    return peaks / job.window_s, rates / job.window_s


def run(folder: Path) -> None:
    job = Job(**json.loads((folder / "job.json").read_text()))
    counts = np.load(folder / "counts.npy")
    modules = RIVALS[job.rival][1]
    for module in modules:
        __import__(module)  # once, and not in each forecast
    fits, spoke, peaks, rates = [], [], [], []
    every = [*job.teaching, *job.origins]
    for number, origin in enumerate(every):
        said, why, cpu_s = apart(lambda at=origin: forecast_at(job, counts, at), job.limit_cpu_s)
        if said is not None:
            spoke.append(origin)
            peaks.append(said[0])
            rates.append(said[1])
        fits.append({"origin": origin, "cpu_s": cpu_s, "unsuitable_because": why})
        outcome = f"{cpu_s:.1f} CPU s{', ' if why else ''}{why}"
        print(f"{job.candidate}, origin {number + 1} of {len(every)}: {outcome}", flush=True)
    if job.teaching and spoke:
        steps = [horizon_s // job.window_s for horizon_s in job.horizons_s]
        points = np.array(peaks)[:, :, 0] * job.window_s
        peaks = conformal_peaks(points, counts, spoke, steps, job.quantiles) / job.window_s
    at = [row for row, origin in enumerate(spoke) if origin in set(job.origins)]
    arrays = {"peaks": [peaks[row] for row in at], "rates": [rates[row] for row in at]}
    np.savez(folder / "said.npz", origins=np.array([spoke[row] for row in at], int), **arrays)
    told = {
        "fits": fits,
        "versions": {name: version(name) for name in sorted({module.partition(".")[0] for module in modules})},
    }
    (folder / "told.json").write_text(json.dumps(told))


if __name__ == "__main__":
    warnings.filterwarnings("ignore")
    run(Path(sys.argv[1]))
