"""Whether the constants of weights and calibration do better on the traces they were chosen on than on others.

    python benchmarks/leave_half_out.py --traces DIR --work DIR [--names a,b,c] [--origins 60] [--others]
        [--processes 1] [--json]

Every forecaster forecasts the peaks of each trace once; --work keeps them. They are then weighed and calibrated with
each combination of GRID, as they would have been at the time. The traces are halved, every other one in the order of
their names. The combination with the least p95 loss on one half (geometric mean over its traces and their horizons) is
scored on the other half, and the other way round, beside the deployed one and the best of all in hindsight. Then the
same is done for all ways to halve the traces.

--others: scores of the deployed constants on series outside the benchmark: calls, timetables, electricity, and earlier
stretches of long traces (forecasts/other_series.py).
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from itertools import combinations, product
from pathlib import Path

import numpy as np

# A script's own folder comes first, and others in it are named like packages.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("rivals")))
sys.path.insert(0, str(Path(__file__).with_name("forecasts")))

from kept_peaks import Constants, KeptPeaks, deployed_constants, kept_peaks
from other_series import other_series
from score_tables import SEASONAL_NAIVES, cells, naive_table, over_seasonal_naive, table
from trace_folder import leave_out, traces

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.models.time_grid import DAY_S
from forecasting.peaks import pinball
from forecasting.prequential_scores import PrequentialScore, prequential_scores
from forecasting.selection import DEPLOYED

GRID: Mapping[str, tuple[float, ...]] = {
    "SHARPNESS": (3.0, 6.0, 12.0),
    "HALF_LIFE_S": (2.5 * DAY_S, 5.0 * DAY_S, 10.0 * DAY_S),
    "STEADYING_ORIGINS": (6.0, 12.0, 24.0),
    "EXPECTED_RATIO": (0.8, 0.9, 1.0),
    "STEP": (0.025, 0.05, 0.1),
}
LEVELS = [levels for levels in product(range(3), repeat=len(GRID)) if sum(levels) % 3 == len(GRID) % 3]
"""A third of all combinations: every combination of any four constants occurs once, with one value of the fifth."""
SETTINGS: tuple[Constants, ...] = tuple(
    {name: values[level] for (name, values), level in zip(GRID.items(), levels, strict=True)} for levels in LEVELS
)
P95 = QUANTILES.index(0.95)


@dataclass(frozen=True)
class Weighed:
    """log_loss: logarithm of a trace's p95 loss, mean over its horizons, by setting; shape (settings,)."""

    series: ArrivalSeries
    log_loss: np.ndarray


def weighed(series: ArrivalSeries, origins: int, work: Path) -> Weighed | str:
    """Losses of every setting on a trace, or why there are none."""
    try:
        kept = kept_peaks(series, origins, work)
    except ForecastError as error:
        return str(error)
    return Weighed(series, np.array([log_loss(kept, kept.deployed(setting)) for setting in SETTINGS]))


def log_loss(kept: KeptPeaks, deployed: np.ndarray) -> float:
    """The yardstick is the same for every setting and cancels."""
    losses = pinball(kept.table.actual_per_s, deployed[:, :, P95], 0.95)
    means = np.nanmean(losses, axis=0)
    return float(np.log(means[means > 0]).mean())


def scores_of(series: ArrivalSeries, constants: Constants, origins: int, work: Path) -> list[PrequentialScore]:
    """Scores of what these constants would have deployed, and of the naives."""
    kept = kept_peaks(series, origins, work)
    told = kept.predicted(kept.deployed(constants))
    every = prequential_scores(told, series, kept.table.horizons_s, QUANTILES)
    return [score for score in every if score.candidate in (DEPLOYED, *SEASONAL_NAIVES)]


def scores_or_none(series: ArrivalSeries, origins: int, work: Path) -> list[PrequentialScore]:
    """Scores of the deployed constants; empty for a series that is too short."""
    try:
        return scores_of(series, {}, origins, work)
    except ForecastError as error:
        leave_out(error)
        return []


def best_on(traces: Sequence[Weighed]) -> int:
    """Index of the setting with the least loss over these traces."""
    return int(np.argmin(np.mean([trace.log_loss for trace in traces], axis=0)))


def told_constants(constants: Constants) -> str:
    parts = {**constants, "HALF_LIFE_S": constants["HALF_LIFE_S"] / DAY_S}
    names = {"HALF_LIFE_S": "half-life days", "STEADYING_ORIGINS": "steadying", "EXPECTED_RATIO": "expected"}
    return ", ".join(f"{names.get(name, name.lower())} {value:g}" for name, value in parts.items())


def every_halving(traces: Sequence[Weighed], deployed: int) -> tuple[int, float, float]:
    """Number of ways to halve the traces; then, over all ways, the geometric mean and the largest value of a ratio: the
    loss on one half of the setting chosen on the other, over that of the deployed constants.
    """
    ratios = []
    for size in {len(traces) // 2, len(traces) - len(traces) // 2}:
        for own in combinations(range(len(traces)), size):
            choice = best_on([traces[number] for number in own])
            rest = [trace for number, trace in enumerate(traces) if number not in own]
            ratios.append(np.mean([trace.log_loss[choice] - trace.log_loss[deployed] for trace in rest]))
    return len(ratios), float(np.exp(np.mean(ratios))), float(np.exp(np.max(ratios)))


def by_series(scores: Mapping[str, Sequence[PrequentialScore]]) -> str:
    lines = ["| series | p95 ratio / over the naive with its errors / coverage, at each horizon |", "|---|---|"]
    for name, of in scores.items():
        own = [score for score in of if score.candidate == DEPLOYED]
        parts = [
            f"{s.ratio_p95:.2f} / {over_seasonal_naive(of, DEPLOYED, s.horizon_s):.2f} / {s.coverage:.2f}" for s in own
        ]
        lines.append(f"| {name} | {', '.join(parts)} |")
    return "\n".join(lines)


def named(scores: Sequence[PrequentialScore], name: str) -> list[PrequentialScore]:
    """Scores of `deployed` under another name, and those of the naives."""
    return [replace(score, candidate=name) if score.candidate == DEPLOYED else score for score in scores]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what forecasters said")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=60, help="of each trace, over its last two weeks")
    parser.add_argument("--others", action="store_true", help="score series that are not of the benchmark, too")
    parser.add_argument("--processes", type=int, default=1)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = list(traces(given.traces, {name for name in given.names.split(",") if name}))
    with ProcessPoolExecutor(given.processes) as pool:
        outcomes = list(pool.map(partial(weighed, origins=given.origins, work=given.work), chosen))
        over = [outcome for outcome in outcomes if isinstance(outcome, Weighed)]
        for outcome in outcomes:
            if isinstance(outcome, str):
                leave_out(outcome)
        if len(over) < 2:
            parser.error(f"--traces: {given.traces} holds {len(over)} traces that are long enough; two are needed")
        deployed = SETTINGS.index(deployed_constants())
        halves = over[::2], over[1::2]
        # Each half is scored with the setting chosen on the other.
        choices = {trace.series.source: best_on(halves[1 - n]) for n, half in enumerate(halves) for trace in half}
        of = {DEPLOYED: deployed, "chosen on the other half": None, "best on all, in hindsight": best_on(over)}
        rows = {}
        for name, setting in of.items():
            constants = [SETTINGS[choices[w.series.source] if setting is None else setting] for w in over]
            ask = partial(scores_of, origins=given.origins, work=given.work)
            found = pool.map(ask, [trace.series for trace in over], constants)
            rows[name] = {w.series.source: named(of, name) for w, of in zip(over, found, strict=True)}
        others = {}
        if given.others:
            every = list(other_series([trace.series for trace in over]))
            ask = partial(scores_or_none, origins=given.origins, work=given.work)
            others = {s.source: of for s, of in zip(every, pool.map(ask, every), strict=True) if of}
    ways, mean, worst = every_halving(over, deployed)
    constants = {f"{['first', 'second'][n]} half": SETTINGS[best_on(half)] for n, half in enumerate(halves)}
    constants |= {"all, in hindsight": SETTINGS[best_on(over)], DEPLOYED: SETTINGS[deployed]}
    if given.json:
        body = {
            "constants": constants,
            "halves": [[trace.series.source for trace in half] for half in halves],
            "scores": {name: {s: [asdict(x) for x in of] for s, of in by.items()} for name, by in rows.items()},
            "every_halving": {"ways": ways, "mean": mean, "worst": worst},
            "others": {name: [asdict(score) for score in of] for name, of in others.items()},
        }
        print(json.dumps(body, indent=1))
        return
    print("Each cell: p95 ratio / p99 ratio / coverage of p95 / worst trace's p95 ratio\n")
    every = [scores for by in rows.values() for scores in by.values()]
    print(table([cell for cell in cells(every) if cell.candidate in rows], {}))
    print("\np95 over the better seasonal naive with its own errors: mean (worst) / least coverage of a trace\n")
    print(naive_table(every, list(rows)))
    print("\nChosen on:\n")
    for name, setting in constants.items():
        print(f"- {name}: {told_constants(setting)}")
    print(f"\nAll {ways} halves: loss over that of the deployed constants {mean:.3f}, at most {worst:.3f}\n")
    print(by_series(rows[DEPLOYED]))
    if others:
        print(f"\n{len(others)} other series:\n")
        over_all = table([cell for cell in cells(list(others.values())) if cell.candidate == DEPLOYED], {})
        print(over_all, naive_table(list(others.values()), [DEPLOYED]), by_series(others), sep="\n\n")


if __name__ == "__main__":
    main()
