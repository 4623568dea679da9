"""How true the paths are that a plan is made on: maxima over minutes to an hour, and what a plan would leave waiting.

    python benchmarks/within_the_hour.py TRACES [--names a,b,c] [--origins 60] [--json]

TRACES is a folder of CSV files with the columns timestamp and count. At each origin the deployed forecast is made from
the data of that time, as `forescale forecast backtest` does. From its joint paths: the largest rate within 1, 5, 15 and
60 minutes that begin 1, 6, 12 and 23 hours ahead; and the arrivals within that hour above a level, which a plan of that
capacity would leave waiting. Levels are the median and the p90 of all rates of the paths in that hour. Prints, per span
and lead, the share of what came that lay at or below the p95 of the paths: .95 is true, less is too low. Where what
came is one of several equal values (nothing above the level, mostly), the share of them that a p95 would cover counts.
Spans shorter than a trace's windows are left out, and so are hours of which a window is missing.
"""

import argparse
import json
import sys
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import numpy as np

# A script's own folder comes first, where a module is named like one of the packages; its helpers lie in another.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("forecasts")))

from trace_folder import leave_out, traces

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.prequential import prequential, prequential_horizons_s, prequential_origins

LEVEL = 0.95
LEADS_H = (1, 6, 12, 23)
SPANS_S = (60, 300, 900, 3600)
LEVELS = (0.5, 0.9)
MAXIMA = {span_s: f"maximum of {span_s // 60} min" for span_s in SPANS_S}
ABOVE = {level: f"above the p{100 * level:g}" for level in LEVELS}
HOUR_S = 3600
PATHS, SEED = 400, 7

Covered = dict[tuple[str, int], list[float]]
"""By what is forecast and lead in hours: of each origin, what `covered` says."""


def covered(drawn: Floats, came: float, level: float = LEVEL) -> float:
    """1 if what came lies below the quantile of what was drawn, 0 if above, between them the share of equal values.

    >>> drawn = np.array([0.0, 0.0, 0.0, 1.0])
    >>> [covered(drawn, came, 0.9) for came in (0.0, 1.0, 2.0)]
    [1.0, 0.6, 0.0]
    """
    below, equal = float((drawn < came).mean()), float((drawn == came).mean())
    if not equal:
        return float(below < level)
    return float(np.clip((level - below) / equal, 0.0, 1.0))


def of_origin(paths_per_s: Floats, came_per_s: Floats, window_s: int) -> Iterator[tuple[tuple[str, int], float]]:
    """What `covered` says of each span and level at each lead. came_per_s: shape (steps,), NaN if unknown."""
    hour = HOUR_S // window_s
    for lead_h in LEADS_H:
        first = lead_h * hour
        drawn, came = paths_per_s[:, first : first + hour], came_per_s[first : first + hour]
        if came.size < hour or np.isnan(came).any():
            continue
        for span_s in (span_s for span_s in SPANS_S if span_s >= window_s):
            steps = span_s // window_s
            told = covered(drawn[:, :steps].max(axis=1), float(came[:steps].max()))
            yield (MAXIMA[span_s], lead_h), told
        for level in LEVELS:
            capacity_per_s = float(np.quantile(drawn, level))
            waiting = np.maximum(drawn - capacity_per_s, 0.0).sum(axis=1)
            told = covered(waiting, float(np.maximum(came - capacity_per_s, 0.0).sum()))
            yield (ABOVE[level], lead_h), told


def measured(series: ArrivalSeries, count: int) -> Covered:
    """Raises ForecastError for a series that is too short, or whose windows do not divide an hour."""
    if HOUR_S % series.window_s:
        raise ForecastError(f"windows of {series.window_s} s of {series.source} do not divide an hour")
    horizons_s = prequential_horizons_s(series)
    found = defaultdict[tuple[str, int], list[float]](list)
    rates_per_s = series.rate_per_s()

    def look_at(origin: int, paths_per_s: Floats) -> None:
        came = rates_per_s[origin : origin + paths_per_s.shape[1]]
        for key, share in of_origin(paths_per_s, came, series.window_s):
            found[key].append(share)

    for _ in prequential(
        series,
        all_forecasters(prophet=False),
        prequential_origins(series, count, max(horizons_s)),
        horizons_s=horizons_s,
        quantiles=QUANTILES,
        paths=PATHS,
        seed=SEED,
        look_at=look_at,
    ):
        pass
    return dict(found)


def table(by_trace: Mapping[str, Covered]) -> str:
    """Over all traces: coverage at each lead, with the least and the most of a trace."""
    names = _names(by_trace)
    lines = [f"| | {' | '.join(f'{lead_h} h ahead' for lead_h in LEADS_H)} |", "|---" * (len(LEADS_H) + 1) + "|"]
    for name in names:
        cells = []
        for lead_h in LEADS_H:
            each = [found[name, lead_h] for found in by_trace.values() if (name, lead_h) in found]
            if not each:
                cells.append("")
                continue
            means = [np.mean(shares) for shares in each]
            cells.append(f"{np.mean(np.concatenate(each)):.3f} ({min(means):.2f} to {max(means):.2f})")
        lines.append(f"| {name} | {' | '.join(cells)} |")
    return "\n".join(lines)


def trace_table(by_trace: Mapping[str, Covered]) -> str:
    """Per trace, over all leads."""
    names = _names(by_trace)
    lines = [f"| trace | {' | '.join(names)} |", "|---" * (len(names) + 1) + "|"]
    for trace, found in by_trace.items():
        of: Sequence[list[float]] = [
            [share for (name, _), shares in found.items() if name == wanted for share in shares] for wanted in names
        ]
        lines.append(f"| {trace} | {' | '.join(f'{np.mean(shares):.3f}' if shares else '' for shares in of)} |")
    return "\n".join(lines)


def _names(by_trace: Mapping[str, Covered]) -> list[str]:
    present = {name for found in by_trace.values() for name, _ in found}
    return [name for name in (*MAXIMA.values(), *ABOVE.values()) if name in present]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("traces", type=Path, help="folder of CSV files")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=60)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    by_trace: dict[str, Covered] = {}
    for series in traces(given.traces, {name for name in given.names.split(",") if name}):
        try:
            by_trace[series.source] = measured(series, given.origins)
        except ForecastError as error:
            leave_out(error)
        else:
            print(series.source, file=sys.stderr, flush=True)
    if not by_trace:
        parser.error(f"{given.traces} holds no such trace that is long enough")
    if given.json:
        told = {
            trace: {f"{name}, {h} h": shares for (name, h), shares in found.items()}
            for trace, found in by_trace.items()
        }
        print(json.dumps(told, indent=1))
        return
    print(f"{table(by_trace)}\n\n{trace_table(by_trace)}")


if __name__ == "__main__":
    main()
