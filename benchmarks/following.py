"""Whether other ways to weigh and calibrate forecasters follow a load better than the deployed one.

    python benchmarks/following.py --traces DIR --work DIR [--names a,b,c] [--origins 60] [--others] [--json]

Every forecaster forecasts the peaks of each trace once; --work keeps them, as for leave_half_out.py. They are weighed
and calibrated anew in each way of forecasts/ways_to_follow.py: offsets that fade, losses relative to the level that are
forgotten sooner, a prior of equal weights. The traces are halved, every other one in the order of their names. On each
half the way with the least p95 loss (mean logarithm over traces and horizons) is chosen among those whose p95 covers
.93 to .97 of the half's peaks at every horizon, if there is one, and held to the other half.

Prints, for each way and half, per horizon: p95 loss over that of the deployed way (geometric mean over traces) /
worst trace / p99 loss / coverage of the p95. A way wins if, on the half that it was not chosen on, it loses no more
than the deployed one at any horizon, less on average, and covers .93 to .97.

--others: instead, each change alone on series outside the benchmark and on traces whose load is made to grow tenfold,
to double, or to be threefold for a while, within their last twelve days (forecasts/other_series.py).

A last table has what offsets alone do for a forecaster of made-up peaks whose upper quantiles are too low: the share of
peaks below its calibrated p90, p95 and p99 in the long run.
"""

import argparse
import json
import sys
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from itertools import permutations
from pathlib import Path
from statistics import NormalDist

import numpy as np

# A script's own folder comes first, and others in it are named like packages.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("rivals")))
sys.path.insert(0, str(Path(__file__).with_name("forecasts")))

from kept_peaks import kept_peaks
from other_series import CHANGES, changed, other_series
from score_tables import headings
from trace_folder import leave_out, traces
from ways_to_follow import FADINGS, Fading, Way, every_way, faded_offsets

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.calibration import calibration
from forecasting.errors import ForecastError
from forecasting.forecast import HORIZONS_S, QUANTILES
from forecasting.peaks import pinball
from forecasting.selection import DEPLOYED

P95, P99 = (QUANTILES.index(level) for level in (0.95, 0.99))
COVERAGE = (0.93, 0.97)


@dataclass(frozen=True)
class Followed:
    """Losses of one way on one trace, shape (horizons,), NaN at horizons that its windows do not divide: means of p95
    and p99; and how many of its known peaks lie below the p95.
    """

    p95: Floats
    p99: Floats
    below: Floats
    peaks: Floats


@dataclass(frozen=True)
class Cell:
    """One way at one horizon over a half: losses over those of the deployed way, and the coverage of the p95."""

    p95: float
    worst: float
    p99: float
    coverage: float

    def told(self) -> str:
        return f"{self.p95:.3f} / {self.worst:.2f} / {self.p99:.2f} / {self.coverage:.3f}"


def followed(series: ArrivalSeries, ways: Mapping[str, Way], origins: int, work: Path) -> dict[str, Followed]:
    """How each way does on a trace. Raises ForecastError for a trace that is too short."""
    kept = kept_peaks(series, origins, work)
    columns = [HORIZONS_S.index(horizon_s) for horizon_s in kept.table.horizons_s]
    of = {}
    for name, way in ways.items():
        said = kept.deployed(way.constants, way.ensembles)
        actual_per_s = np.where(np.isfinite(said[:, :, P95]), kept.table.actual_per_s, np.nan)
        p95, p99, below, peaks = np.full((4, len(HORIZONS_S)), np.nan)
        p95[columns] = np.nanmean(pinball(actual_per_s, said[:, :, P95], np.array(0.95)), axis=0)
        p99[columns] = np.nanmean(pinball(actual_per_s, said[:, :, P99], np.array(0.99)), axis=0)
        below[columns] = (actual_per_s <= said[:, :, P95]).sum(axis=0)
        peaks[columns] = np.isfinite(actual_per_s).sum(axis=0)
        of[name] = Followed(p95, p99, below, peaks)
    return of


def followed_by_name(
    every: Sequence[ArrivalSeries], ways: Mapping[str, Way], origins: int, work: Path
) -> dict[str, dict[str, Followed]]:
    """The same for several, by the name of the series; one that is too short is reported and left out."""
    of = {}
    for series in every:
        try:
            of[series.source] = followed(series, ways, origins, work)
        except ForecastError as error:
            leave_out(error)
    return of


def over_deployed(half: Sequence[Mapping[str, Followed]], way: str) -> list[Cell]:
    """A way over the traces of a half, at each horizon."""
    with np.errstate(divide="ignore", invalid="ignore"):
        p95, p99 = (
            np.array([np.log(getattr(of[way], loss) / getattr(of[DEPLOYED], loss)) for of in half])
            for loss in ("p95", "p99")
        )
    below, peaks = (np.nansum([getattr(of[way], count) for of in half], axis=0) for count in ("below", "peaks"))
    mean95, mean99 = (np.exp(np.nanmean(np.where(np.isfinite(of), of, np.nan), axis=0)) for of in (p95, p99))
    worst = np.exp(np.nanmax(np.where(np.isfinite(p95), p95, np.nan), axis=0))
    rows = zip(mean95, worst, mean99, below / peaks, strict=True)
    return [Cell(*map(float, row)) for row in rows]


def covers(cells: Sequence[Cell]) -> bool:
    return all(COVERAGE[0] <= cell.coverage <= COVERAGE[1] for cell in cells)


def log_loss(cells: Sequence[Cell]) -> float:
    """Over that of the deployed way; below 0 is better."""
    return float(np.mean([np.log(cell.p95) for cell in cells]))


def best_on(half: Sequence[Mapping[str, Followed]], ways: Sequence[str]) -> str:
    """The way with the least loss among those that cover, among all if none does."""
    of = {way: over_deployed(half, way) for way in ways}
    able = [way for way in ways if covers(of[way])] or list(ways)
    return min(able, key=lambda way: log_loss(of[way]))


def wins(cells: Sequence[Cell]) -> bool:
    return covers(cells) and log_loss(cells) < 0 and all(cell.p95 <= 1 for cell in cells)


def table(half: Sequence[Mapping[str, Followed]], ways: Sequence[str], chosen: str) -> str:
    lines = [f"| | {' | '.join(headings(HORIZONS_S))} | wins |", "|---" * (len(HORIZONS_S) + 2) + "|"]
    for way in ways:
        cells = over_deployed(half, way)
        name = f"**{way}**" if way == chosen else way
        lines.append(f"| {name} | {' | '.join(cell.told() for cell in cells)} | {'yes' if wins(cells) else ''} |")
    return "\n".join(lines)


def long_run(spread: float, fading: Fading | None, peaks: int = 2000) -> Floats:
    """Shares of log-normal peaks below the calibrated p90, p95 and p99 of a forecaster that knows the median and takes
    the logarithm's spread for `spread` times what it is: means over offsets after every hundred peaks from 500 on.
    """
    normal = NormalDist()
    actual_per_s = np.exp(np.random.default_rng(1).normal(size=(peaks, 1)))
    said = np.exp([[spread * normal.inv_cdf(level) for level in QUANTILES]])
    shares = []
    for end in range(500, peaks + 1, 100):
        told = np.repeat(said[None], end, axis=0)
        learnt = calibration(told, actual_per_s[:end], QUANTILES)
        if fading:
            learnt = replace(learnt, offsets=faded_offsets(told, actual_per_s[:end], learnt, fading))
        shares.append([normal.cdf(float(np.log(peak))) for peak in learnt.applied(said)[0, 1:]])
    return np.asarray(np.mean(shares, axis=0))


def long_run_table() -> str:
    spreads = (1.0, 0.75, 0.5)
    lines = [f"| | {' | '.join(f'spread × {spread:g}' for spread in spreads)} |", "|---" * (len(spreads) + 1) + "|"]
    for name, fading in ({DEPLOYED: None} | FADINGS).items():
        told = (" / ".join(f"{share:.3f}" for share in long_run(spread, fading)) for spread in spreads)
        lines.append(f"| {name} | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--work", type=Path, required=True, help="folder that keeps what forecasters said")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=60, help="of each trace, over its last two weeks")
    parser.add_argument("--others", action="store_true", help="score other series and changed traces instead")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    chosen = list(traces(given.traces, {name for name in given.names.split(",") if name}))
    ways = every_way()
    if given.others:
        groups = {"outside the benchmark": list(other_series(chosen))}
        groups |= {change: [changed(series, change) for series in chosen] for change in CHANGES}
        ways = {name: way for name, way in ways.items() if ";" not in name}
    else:
        groups = {"first half": chosen[::2], "second half": chosen[1::2]}
    of = {group: followed_by_name(every, ways, given.origins, given.work) for group, every in groups.items()}
    if not all(of.values()):
        parser.error(f"--traces: {given.traces} holds {len(chosen)} traces; two that are long enough are needed")
    held = {} if given.others else {a: best_on(list(of[b].values()), list(ways)) for a, b in permutations(of)}
    if given.json:
        body = {
            group: {
                "series": list(own),
                "chosen_on_the_other": held.get(group),
                "ways": {way: [asdict(cell) for cell in over_deployed(list(own.values()), way)] for way in ways},
            }
            for group, own in of.items()
        }
        print(json.dumps(body, indent=1))
        return
    print("Each cell: p95 loss over the deployed way's / worst trace / p99 loss / coverage of the p95.")
    if held:
        print("Bold: chosen on the other half.")
    for group, own in of.items():
        print(f"\n{group}: {', '.join(own)}\n")
        print(table(list(own.values()), list(ways), held.get(group, "")))
    print("\nMade-up peaks, share below the p90 / p95 / p99 in the long run:\n")
    print(long_run_table())


if __name__ == "__main__":
    main()
