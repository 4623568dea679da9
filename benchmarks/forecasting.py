"""How good the forecasts of the peak are, over many traces: each replayed as `forescale backtest` does.

    python benchmarks/forecasting.py --traces DIR [--names a,b,c] [--origins 28] [--json]

A trace is a CSV file with the columns timestamp and count. At each origin every forecaster, and what would have been
deployed, says what the peak within 15 min, 1 h, 6 h and 24 h will be, from what was known then. Told per horizon: the
pinball loss of the p95 and of the p99 against the better of repeating the last day and the last week (geometric mean
over traces), the share of peaks below the p95 (all traces together), the worst trace's ratio, and the error of the
median path (WAPE, median over traces).
"""

import argparse
import json
import sys
import time
import warnings
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from functools import partial
from pathlib import Path

import numpy as np

# A script's own folder comes first, and this one is named like the package that it measures.
sys.path.pop(0)

from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import HORIZONS_S, QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.prequential import prequential, prequential_horizons_s, prequential_origins
from forecasting.prequential_scores import PrequentialScore, prequential_scores
from forecasting.selection import DEPLOYED
from forecasting.trace_file import read_trace


@dataclass(frozen=True)
class Replayed:
    """A trace's scores, and the processor time of its replay: a fit a day and a forecast at every origin."""

    trace: str
    window_s: int
    origins: int
    cpu_s: float
    scores: list[PrequentialScore]


def replayed(path: Path, origins: int) -> Replayed | str:
    """The scores of a trace, or why there are none."""
    warnings.filterwarnings("ignore")
    try:
        series = read_trace(path)
        horizons_s = prequential_horizons_s(series)
        began = time.process_time()
        at = prequential_origins(series, origins, max(horizons_s))
        told = list(
            prequential(series, all_forecasters(), at, horizons_s=horizons_s, quantiles=QUANTILES, paths=400, seed=7)
        )
    except (ForecastError, HistoryError) as error:
        return str(error)
    cpu_s = time.process_time() - began
    return Replayed(
        path.stem, series.window_s, len(told), cpu_s, prequential_scores(told, series, horizons_s, QUANTILES)
    )


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


def table(of: Sequence[Cell]) -> str:
    horizons_s = [horizon_s for horizon_s in HORIZONS_S if any(cell.horizon_s == horizon_s for cell in of)]
    heads = [f"{h // 60} min" if h < 3600 else f"{h // 3600} h" for h in horizons_s]
    lines = [f"| | {' | '.join(heads)} |", "|---" * (len(heads) + 1) + "|"]
    for name in dict.fromkeys(cell.candidate for cell in of):
        row = []
        for horizon_s in horizons_s:
            cell = next((c for c in of if (c.candidate, c.horizon_s) == (name, horizon_s)), None)
            row.append("" if cell is None else cell.told())
        lines.append(f"| {name} | {' | '.join(row)} |")
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


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=28, help="of each trace, over its last two weeks")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = {name for name in given.names.split(",") if name}
    paths = [path for path in sorted(given.traces.glob("*.csv")) if not names or path.stem in names]
    if not paths:
        parser.error(f"--traces: {given.traces} holds no such CSV file")
    replays = []
    with ProcessPoolExecutor(given.processes) as pool:
        for outcome in pool.map(partial(replayed, origins=given.origins), paths):
            if isinstance(outcome, str):
                print(f"left out: {outcome}", file=sys.stderr, flush=True)
            else:
                replays.append(outcome)
                print(f"{outcome.trace}: {outcome.cpu_s:.0f} CPU s", file=sys.stderr, flush=True)
    if given.json:
        print(
            json.dumps({"cells": [asdict(c) for c in cells(replays)], "traces": [asdict(r) for r in replays]}, indent=1)
        )
        return
    print("Each cell: p95 ratio / p99 ratio / coverage of p95 / worst trace's p95 ratio / WAPE of the median path\n")
    print(table(cells(replays)), by_trace(replays), sep="\n\n")


if __name__ == "__main__":
    main()
