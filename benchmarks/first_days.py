"""How good forecasts are in the first days of a history.

    python benchmarks/first_days.py TRACES [--names a,b,c] [--hours 36,72,168] [--moments 20] [--json]

TRACES is a folder of CSV files with the columns timestamp and count. Each trace is cut to the last hours before each of
some twenty moments of its last sixty days, and forecast from these hours alone, as `forescale forecast` does without
siblings. Prints per length of the history, trace and horizon: the pinball loss of the p95 of the peak over that of the
better of persistence and day_naive, and the share of peaks below the p95; last, over all traces, the geometric mean,
the worst ratio and the share of all peaks below. A ratio above 1 means that a naive is better. The better naive is
known in hindsight, per trace and horizon; day_naive needs two days of history. Counted are moments at which all of them
could forecast and the peak is known.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
from cold_start import forecast_from, moments

sys.path.insert(0, str(Path(__file__).with_name("forecasts")))
from trace_folder import leave_out, traces

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import HORIZONS_S, QUANTILES
from forecasting.forecaster import Forecaster
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.seasonal_naive_forecaster import SeasonalNaiveForecaster
from forecasting.models.time_grid import DAY_S, newest, oldest
from forecasting.peaks import actual_peak_per_s, peak_quantiles_per_s, pinball
from forecasting.terms import ForecastTerms

LEVEL = 0.95
COLUMN = QUANTILES.index(LEVEL)
DEPLOYED = "deployed"


@dataclass(frozen=True)
class Cell:
    """One trace, length of history and horizon. naive: the better one. moments: at which all could forecast."""

    trace: str
    hours: int
    horizon_s: int
    naive: str
    moments: int
    ratio: float
    coverage: float


def p95_peaks(known: ArrivalSeries, forecaster: Forecaster, terms: ForecastTerms, number: int) -> Floats | None:
    """The p95 of the peak by horizon; None if the forecaster needs more history."""
    if forecaster.unsuitable_because(known):
        return None
    drawn = forecaster.fit(known).paths_per_s(
        known, terms.steps, terms.paths, np.random.default_rng([terms.seed, number])
    )
    steps = [horizon_s // terms.step_s for horizon_s in terms.horizons_s]
    return np.asarray(peak_quantiles_per_s(drawn, steps, QUANTILES)[:, COLUMN])


def measured(series: ArrivalSeries, lengths: Sequence[int], count: int) -> Iterator[Cell]:
    """The cells of a trace, for each length in hours."""
    terms = ForecastTerms(series.window_s, DAY_S)
    at = moments(series, count, lengths)
    naives = (PersistenceForecaster(), SeasonalNaiveForecaster(1))
    for hours in lengths:
        came = np.full((len(at), len(terms.horizons_s)), np.nan)
        said = {name: came.copy() for name in (DEPLOYED, *(naive.name for naive in naives))}
        for row, moment in enumerate(at):
            known = newest(oldest(series, moment), hours * 3600 // series.window_s)
            made = forecast_from(known, (), terms)
            if made is None:
                continue
            said[DEPLOYED][row] = [made.peak_per_s[horizon_s][COLUMN] for horizon_s in terms.horizons_s]
            for naive in naives:
                peaks = p95_peaks(known, naive, terms, row)
                said[naive.name][row] = np.nan if peaks is None else peaks
            ahead = [horizon_s // series.window_s for horizon_s in terms.horizons_s]
            came[row] = [actual_peak_per_s(series.rate_per_s()[moment : moment + steps]) for steps in ahead]
        able = {name: peaks for name, peaks in said.items() if np.isfinite(peaks).any()}
        for number, horizon_s in enumerate(terms.horizons_s):
            yield from cell_of(
                series.source, hours, horizon_s, came[:, number], {n: p[:, number] for n, p in able.items()}
            )
        print(f"{series.source}: {hours} h", file=sys.stderr, flush=True)


def cell_of(trace: str, hours: int, horizon_s: int, came: Floats, said: Mapping[str, Floats]) -> Iterator[Cell]:
    """The cell, if there is a moment at which all of them forecast and the peak is known."""
    rows = np.isfinite([came, *said.values()]).all(axis=0)
    if DEPLOYED not in said or len(said) < 2 or not rows.any():
        return
    losses = {name: float(pinball(came[rows], peaks[rows], np.array(LEVEL)).mean()) for name, peaks in said.items()}
    own = losses.pop(DEPLOYED)
    naive = min(losses, key=lambda name: losses[name])
    ratio = own / losses[naive] if losses[naive] > 0 else float("nan")
    yield Cell(trace, hours, horizon_s, naive, int(rows.sum()), ratio, float((came <= said[DEPLOYED])[rows].mean()))


def table(cells: Sequence[Cell]) -> str:
    """Ratio and coverage per trace and horizon of one length; last of all traces."""
    horizons_s = [horizon_s for horizon_s in HORIZONS_S if any(cell.horizon_s == horizon_s for cell in cells)]
    heads = [f"{h // 60} min" if h < 3600 else f"{h // 3600} h" for h in horizons_s]
    lines = [f"| {cells[0].hours} h | moments | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for trace in dict.fromkeys(cell.trace for cell in cells):
        of = {cell.horizon_s: cell for cell in cells if cell.trace == trace}
        told = [f"{of[h].ratio:.2f} / {of[h].coverage:.2f} ({of[h].naive})" if h in of else "" for h in horizons_s]
        lines.append(f"| {trace} | {max(cell.moments for cell in of.values())} | {' | '.join(told)} |")
    told = []
    for horizon_s in horizons_s:
        of_horizon = [cell for cell in cells if cell.horizon_s == horizon_s and np.isfinite(cell.ratio)]
        ratios = np.array([cell.ratio for cell in of_horizon])
        coverage = np.average([c.coverage for c in of_horizon], weights=[c.moments for c in of_horizon])
        told.append(f"{np.exp(np.log(ratios).mean()):.2f}, worst {ratios.max():.2f} / {coverage:.2f}")
    lines.append(f"| all | | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, help="folder of CSV files")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--hours", default="36,72,168", help="lengths of the history, comma-separated")
    parser.add_argument("--moments", type=int, default=20, help="of each trace, over its last sixty days")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    names = {name for name in given.names.split(",") if name}
    lengths = [int(text) for text in given.hours.split(",")]
    cells: list[Cell] = []
    for series in traces(given.traces, names):
        if series.span_s < max(lengths) * 3600 + 3 * DAY_S:
            leave_out(f"{series.source} is not three days longer than the longest history")
        else:
            cells += measured(series, lengths, given.moments)
    if not cells:
        parser.error(f"{given.traces} holds no such trace that is long enough")
    if given.json:
        print(json.dumps([asdict(cell) for cell in cells], indent=1))
        return
    print("Each cell: p95 loss over that of the better naive / share of peaks below the p95 (the better naive)")
    for hours in lengths:
        print(f"\n{table([cell for cell in cells if cell.hours == hours])}")


if __name__ == "__main__":
    main()
