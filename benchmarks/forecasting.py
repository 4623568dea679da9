"""How good the forecasts of the peak are over many traces, each replayed as `forescale forecast backtest` does.

    python benchmarks/forecasting.py [--traces DIR [--names a,b,c]] [--origins 28] [--prophet]
        [--rivals prophet,mstl|none] [--json]

A trace is a CSV file with the columns timestamp and count; without --traces, the demo's call-centre counts are used. At
each origin every forecaster, and `deployed` (what would have been deployed), forecasts the peak within 15 min, 1 h, 6 h
and 24 h from the data of that time. Prints per horizon: the pinball loss of the p95 and of the p99 against the better
of repeating the last day and the last week (geometric mean over traces), the share of peaks below the p95 (all traces
together), the worst trace's ratio, and the error of the median path (WAPE, median over traces); and the processor
seconds of a forecast, for our forecasters all together.

The rivals are libraries that a user could take instead: Prophet with its defaults, statsmodels' ARIMA(1,1,1),
statsforecast's AutoARIMA and MSTL; MSTL and AutoETS of the peaks themselves; and one LightGBM over all traces. Three of
them have conformal intervals; MSTL and LightGBM are also scored without. They are installed in their own environment,
.cache/forecasting-rivals, which is made from rivals/requirements.lock, and forecast at the same origins with the same
history (see rivals/). --cache keeps their forecasts; only a changed trace, setting or library is forecast again.

A second table has the p95 loss over that of the better of `day_naive` and `week_naive`, which carry their own past
errors: mean (worst trace) / least coverage of a trace. The last lines list where a rival is better than `deployed`.
"""

import argparse
import contextlib
import json
import sys
import time
import warnings
from collections.abc import Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, replace
from functools import partial
from pathlib import Path

# A script's own folder comes first, and this one is named like the package that it measures.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("rivals")))
sys.path.insert(0, str(Path(__file__).with_name("forecasts")))

from boosted_run import BOOSTED, boosted_runs
from conformal_run import conformal
from other_series import bank_calls
from rival_runs import ENVIRONMENT, LOCK, PROJECT, RIVALS, Rival, RivalRun, joined, rival_run, spread
from rivals_environment import rivals_python
from score_tables import Replayed, better_rivals, by_trace, cells, forecast_cpu_s, naive_table, table, unsaid
from trace_folder import leave_out, traces

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import ForecastError, HistoryError
from forecasting.forecast import QUANTILES
from forecasting.forecasters import all_forecasters
from forecasting.prequential import Origins, prequential, prequential_horizons_s, prequential_origins
from forecasting.prequential_scores import prequential_scores
from forecasting.selection import DEPLOYED

EVERY_RIVAL = (*RIVALS, BOOSTED)


@dataclass(frozen=True)
class Asked:
    """How a trace is measured. prophet: whether it competes with ours. boosted: forecasts of the one model over all
    traces, by trace. rival_origins: unless 0, only so many of the origins are used, for ours too.
    """

    origins: int
    prophet: bool
    rivals: Sequence[Rival]
    boosted: Mapping[str, RivalRun]
    rival_origins: int
    limit_cpu_s: int
    cache: Path
    python: Path


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
    if asked.rival_origins:
        shared = spread(shared, asked.rival_origins)
    where = {"limit_cpu_s": asked.limit_cpu_s, "cache": asked.cache, "python": asked.python}
    teaching = [origin for origin in at.at if origin < at.told_from]
    runs = [rival_run(rival, series, shared, horizons_s, teaching=teaching, **where) for rival in asked.rivals]
    runs += [asked.boosted[series.source]] if series.source in asked.boosted else []
    for run in [run for run in runs if run.conformal]:
        moved = conformal(run.predicted, run.conformal, series, at.told_from, horizons_s)
        runs.append(replace(run, candidate=run.conformal, predicted=moved))
    for run in runs:
        # The forecasts that only teach serve all scored origins, so their cost is spread over these.
        forecast_cpu_s[run.candidate] = sum(fit.cpu_s for fit in run.fits) / len(shared)
    compared = joined([one for one in told if one.origin in shared], [one for run in runs for one in run.predicted])
    scores = prequential_scores(compared, series, horizons_s, QUANTILES)
    return Replayed(series.source, series.window_s, len(compared), cpu_s, scores, forecast_cpu_s, runs)


def boosted(chosen: Sequence[ArrivalSeries], asked: Asked) -> Mapping[str, RivalRun]:
    """The forecasts of one model over all of these traces, by trace, at their shared origins."""
    over = []
    for series in chosen:
        with contextlib.suppress(ForecastError):  # reported when the trace is replayed
            horizons_s = prequential_horizons_s(series)
            at = prequential_origins(series, asked.origins, max(horizons_s))
            told = [origin for origin in at.at if origin >= at.told_from]
            shared = spread(told, asked.rival_origins) if asked.rival_origins else told
            teaching = tuple(origin for origin in at.at if origin < at.told_from)
            over.append((series, Origins((*teaching, *shared), at.told_from), horizons_s))
    return boosted_runs(over, cache=asked.cache, python=asked.python) if over else {}


def chosen_rivals(text: str) -> list[str]:
    names = [name for name in text.split(",") if name] if text != "none" else []
    if unknown := [name for name in names if name not in EVERY_RIVAL]:
        raise argparse.ArgumentTypeError(f"{unknown[0]!r} is none of {', '.join(EVERY_RIVAL)}, none")
    return names


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of CSV files; the demo's series without")
    parser.add_argument("--names", default="", help="only these traces, comma-separated, without .csv")
    parser.add_argument("--origins", type=int, default=28, help="of each trace, over its last two weeks")
    parser.add_argument("--prophet", action="store_true", help="let Prophet compete with our other forecasters")
    parser.add_argument("--processes", type=int, default=2)
    parser.add_argument(
        "--rivals",
        type=chosen_rivals,
        default=",".join(EVERY_RIVAL),
        help=f"of {', '.join(EVERY_RIVAL)}; none; default all",
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
        [RIVALS[name] for name in given.rivals if name in RIVALS],
        {},
        given.rival_origins,
        given.rival_limit,
        given.cache.resolve(),
        python,
    )
    if BOOSTED in given.rivals:
        asked = replace(asked, boosted=boosted(chosen, asked))
    replays = []
    with ProcessPoolExecutor(given.processes) as pool:
        for outcome in pool.map(partial(replayed, asked=asked), chosen):
            if isinstance(outcome, str):
                leave_out(outcome)
            else:
                replays.append(outcome)
                print(f"{outcome.trace}: {outcome.cpu_s:.0f} CPU s", file=sys.stderr, flush=True)
    found, cost = cells([replay.scores for replay in replays]), forecast_cpu_s(replays)
    if given.json:
        body = {
            "cells": [asdict(cell) for cell in found],
            "forecast_cpu_s": cost,
            "better_rivals": better_rivals(replays),
            "unsaid": unsaid(replays),
            "traces": [replay.as_json() for replay in replays],
        }
        print(json.dumps(body, indent=1))
        return
    print("Each cell: p95 ratio / p99 ratio / coverage of p95 / worst trace's p95 ratio / WAPE of the median path")
    if asked.rival_origins:
        print(f"All of them at {asked.rival_origins} shared origins of {asked.origins}.")
    print()
    candidates = list(dict.fromkeys(cell.candidate for cell in found))
    against = naive_table([replay.scores for replay in replays], candidates)
    print(table(found, cost), against, by_trace(replays), *better_rivals(replays), *unsaid(replays), sep="\n\n")


if __name__ == "__main__":
    main()
