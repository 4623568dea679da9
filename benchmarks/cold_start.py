"""What a shape borrowed from siblings is worth to a source with hours of history.

    python benchmarks/cold_start.py --traces DIR [--names a,b,c] [--hours 3,6,12,24] [--origins 60] [--json]

Each trace is cut to the last hours before each of some sixty moments of its last sixty days, and forecast from these
hours alone, as `forescale forecast` does. It is forecast without siblings; with the other traces of its kind as the
siblings that its file names (*named*); and, from a day on, with those of all other traces that are found to be similar
(*found*). Siblings are moved into the past by whole weeks, so that all of their eight newest weeks lie before the first
moment. Prints per trace, length of the history and horizon: the pinball loss of the p95 of the peak over that of
persistence, and the share of peaks below the p95. A ratio above 1 means that persistence is better. Persistence has the
errors of the same hours; below a day it is not deployed without siblings.
"""

import argparse
import json
import sys
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from datetime import datetime, timedelta
from pathlib import Path

import numpy as np

# A script's own folder comes first, and one in it is named like the package that is measured.
sys.path.pop(0)

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import HORIZONS_S, QUANTILES, Forecast
from forecasting.models.borrowed_forecaster import MIN_DAYS
from forecasting.models.persistence_forecaster import PersistenceForecaster
from forecasting.models.time_grid import DAY_S, WEEK_S, newest, oldest
from forecasting.peaks import actual_peak_per_s, peak_quantiles_per_s, pinball
from forecasting.pipeline import issue, train
from forecasting.siblings import FOUND_FROM_S, Lent, Sibling, found_siblings, sibling_of
from forecasting.terms import ForecastTerms
from forecasting.trace_file import read_trace

KINDS = (
    ("nab_tweets_AMZN", "nab_tweets_FB"),
    ("nab_elb_requests", "ita_nasa_http_5min", "appserver_2015_2020_hourly"),
)
SPAN_S = 60 * DAY_S
SIBLING_S = 8 * WEEK_S
LEVEL = 0.95
NAMED, FOUND, ALONE = "named", "found", "without siblings"


@dataclass(frozen=True)
class Cell:
    """One way to forecast at one trace, history length and horizon. origins: number at which it could forecast."""

    trace: str
    hours: int
    horizon_s: int
    way: str
    origins: int
    ratio: float
    coverage: float
    persistence_coverage: float


def moments(series: ArrivalSeries, count: int, hours: Sequence[int]) -> list[int]:
    """Indices of the first windows to forecast, evenly over the last days, with a day before and after each."""
    per_day = DAY_S // series.window_s
    last = series.counts.size - per_day
    first = max(max(24, *hours) * 3600 // series.window_s, last - SPAN_S // series.window_s)
    return sorted(set(np.linspace(first, last, count).astype(int).tolist()))


def lent(other: ArrivalSeries, before: datetime, step_s: int) -> ArrivalSeries | None:
    """A trace's newest weeks in steps of step_s, moved by whole weeks to end before `before`; None if its windows are
    wider.
    """
    try:
        whole = newest(other.resampled(step_s), SIBLING_S // step_s)
    except HistoryError:
        return None
    weeks = max(0, int((whole.end - before).total_seconds() // WEEK_S) + 1)
    return replace(whole, start=whole.start - timedelta(seconds=weeks * WEEK_S))


def forecast_from(known: ArrivalSeries, siblings: Sequence[Sibling], terms: ForecastTerms) -> Forecast | None:
    try:
        trained = train(known, issued_at=known.end, terms=terms, lent=Lent.by(siblings))
        return issue(trained, known, issued_at=known.end)
    except ForecastError:
        return None


def persistence_peaks(known: ArrivalSeries, terms: ForecastTerms, number: int) -> Floats | None:
    """Peak quantiles, shape (horizons, quantiles); None if too much of the hours is missing."""
    try:
        fitted = PersistenceForecaster(MIN_DAYS).fit(known)
    except ForecastError:
        return None
    drawn = fitted.paths_per_s(known, terms.steps, terms.paths, np.random.default_rng([terms.seed, number]))
    return peak_quantiles_per_s(drawn, [horizon_s // terms.step_s for horizon_s in terms.horizons_s], QUANTILES)


def measured(name: str, traces: Mapping[str, ArrivalSeries], hours: Sequence[int], origins: int) -> Iterator[Cell]:
    series = traces[name]
    terms = ForecastTerms(series.window_s, DAY_S, HORIZONS_S, paths=200, origins=24)
    at = moments(series, origins, hours)
    first = series.start + timedelta(seconds=series.window_s * at[0])
    others = {other: lent(trace, first, series.window_s) for other, trace in traces.items() if other != name}
    lenders = {other: trace for other, trace in others.items() if trace is not None}
    kind = {other for kind in KINDS if name in kind for other in kind}
    column = QUANTILES.index(LEVEL)
    steps = [horizon_s // series.window_s for horizon_s in terms.horizons_s]
    for length in hours:
        windows = length * 3600 // series.window_s
        long = length * 3600 >= FOUND_FROM_S
        shape = (len(at), len(steps))
        came, persistent = np.full(shape, np.nan), np.full(shape, np.nan)
        said = {way: np.full(shape, np.nan) for way in (ALONE, NAMED, FOUND)}
        for row, moment in enumerate(at):
            known = newest(oldest(series, moment), windows)
            own = persistence_peaks(known, terms, row)
            if own is None:
                continue
            persistent[row] = own[:, column]
            came[row] = [actual_peak_per_s(series.rate_per_s()[moment : moment + ahead]) for ahead in steps]
            looked = {other: sibling_of(known, trace, named=other in kind) for other, trace in lenders.items()}
            named = [sibling for other, sibling in looked.items() if other in kind]
            siblings = {ALONE: (), NAMED: named, FOUND: found_siblings(list(looked.values())) if long else ()}
            for way, chosen in siblings.items():
                made = forecast_from(known, chosen, terms) if chosen or (way == ALONE and long) else None
                if made is not None:
                    said[way][row] = [made.peak_per_s[horizon_s][column] for horizon_s in terms.horizons_s]
        for number, horizon_s in enumerate(terms.horizons_s):
            for way, peaks in said.items():
                rows = np.isfinite(peaks[:, number]) & np.isfinite(came[:, number])
                if rows.any():
                    actual, own, rival = (of[rows, number] for of in (came, peaks, persistent))
                    losses = [float(pinball(actual, of, np.array(LEVEL)).mean()) for of in (own, rival)]
                    below = [float((actual <= of).mean()) for of in (own, rival)]
                    yield Cell(name, length, horizon_s, way, int(rows.sum()), losses[0] / losses[1], *below)
        print(f"{name}: {length} h", file=sys.stderr, flush=True)


def table(cells: Sequence[Cell], hours: int, way: str) -> str:
    """Ratio, coverage and persistence's coverage per trace and horizon; last the geometric mean and the worst ratio."""
    chosen = {(cell.trace, cell.horizon_s): cell for cell in cells if (cell.hours, cell.way) == (hours, way)}
    if not chosen:
        return ""
    horizons_s = [horizon_s for horizon_s in HORIZONS_S if any(h == horizon_s for _, h in chosen)]
    heads = [f"{h // 60} min" if h < 3600 else f"{h // 3600} h" for h in horizons_s]
    lines = [f"| {hours} h, {way} | origins | {' | '.join(heads)} |", "|---" * (len(heads) + 2) + "|"]
    for trace in dict.fromkeys(trace for trace, _ in chosen):
        row = [chosen.get((trace, horizon_s)) for horizon_s in horizons_s]
        told = [f"{c.ratio:.2f} / {c.coverage:.2f} / {c.persistence_coverage:.2f}" if c else "" for c in row]
        lines.append(f"| {trace} | {max(c.origins for c in row if c)} | {' | '.join(told)} |")
    ratios = [[c.ratio for (_, h), c in chosen.items() if h == horizon_s] for horizon_s in horizons_s]
    told = [f"{np.exp(np.mean(np.log(of))):.2f}, worst {max(of):.2f}" for of in ratios]
    lines.append(f"| all | | {' | '.join(told)} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--names", default="", help="measure only these, comma-separated, without .csv; all may lend")
    parser.add_argument("--hours", default="3,6,12,24", help="lengths of the history, comma-separated")
    parser.add_argument("--origins", type=int, default=60, help="moments of forecasting of each trace")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    traces = {}
    for path in sorted(given.traces.glob("*.csv")):
        try:
            trace = read_trace(path)
        except (ForecastError, HistoryError) as error:
            print(f"left out: {error}", file=sys.stderr)
            continue
        if trace.span_s >= 3 * DAY_S:
            traces[path.stem] = trace
    if not traces:
        parser.error(f"--traces: {given.traces} holds no trace of three days or more")
    names = [name for name in given.names.split(",") if name] or list(traces)
    if unknown := [name for name in names if name not in traces]:
        parser.error(f"--names: {unknown[0]!r} is none of {', '.join(traces)}")
    hours = [int(text) for text in given.hours.split(",")]
    cells = [cell for name in names for cell in measured(name, traces, hours, given.origins)]
    if given.json:
        print(json.dumps([asdict(cell) for cell in cells], indent=1))
        return
    print("Each cell: p95 loss over that of persistence / share of peaks below the p95 / below that of persistence")
    for length in hours:
        for way in (ALONE, NAMED, FOUND):
            if text := table(cells, length, way):
                print(text, end="\n\n")


if __name__ == "__main__":
    main()
