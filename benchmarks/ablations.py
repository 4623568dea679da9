"""What each part of the planner earns: replays of one operator on real traces, with one part left out at a time.

    python benchmarks/ablations.py --traces DIR --work DIR [--names a,b] [--settings 2/1,5/2] [--days 4]
                                   [--parts whole,no-guard,…] [--json]

Parts: `whole`, the planner as deployed; `no-joint-paths`, each step's rates are shuffled among the paths, so a high
hour need not follow a high one; `no-look-ahead`, forecasts end after an hour; `no-rescale-price`, a rescale costs only
its downtime; `no-pacing`, the violation budget is the horizon's own, whatever was used before; `no-guard`, nothing acts
between forecasts, and the schedule counts on no guard; `no-announcing`, announced steps have no bonus. One operator
needs 20 instances at the peak; its true service time differs by 10 %. Lag may be 90 s, .2 % of minutes may exceed it.

--work keeps forecasts and answers, so an interrupted run goes on. Prints per part: instance-hours over those of
`whole` (median and worst over the cases), minutes in violation, and rescales a day.
"""

import argparse
import json
import sys
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from datetime import UTC, datetime, timedelta
from math import inf
from pathlib import Path

import numpy as np

# A script's own folder comes first, and others in it are named like packages.
sys.path.pop(0)

from forecasting.forecast import Forecast
from forecasting.terms import ForecastTerms
from forecasting.trace_file import read_trace
from forescale.files.topology import TopologyConfig
from forescale.jobs.workers import worker_processes
from modeling.inputs.operator_profile import OperatorProfile
from planner.clusters.engine_terms import EngineTerms
from planner.horizon.budget import Budget
from planner.horizon.horizon_plan import Announced
from planner.limits import Limits
from planner.replay.contest import Contest
from planner.replay.forecasts import Forecasts
from planner.replay.load import minute_load
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.policies.planned import Planned
from planner.replay.policy import Decision, Policy, Seen
from planner.replay.reality import Differences
from planner.replay.run import replay

INSTANCES, UTILISATION = 20, 0.85
MAX_LAG_S, ERROR, ALLOW = 90.0, 0.1, 0.002
SOURCE_S, HOUR_S = 1e-6, 3600
LEAST = timedelta(days=14)
CONFIG = TopologyConfig.model_validate(
    {
        "topology": "one",
        "operators": {"ingest": {"service_s": SOURCE_S}, "work": {"service_s": 1.0}},
        "streams": [{"from": "ingest", "to": "work"}],
        "planning": {"max_instances": 80, "max_lag_s": MAX_LAG_S},
    }
)


@dataclass(frozen=True)
class Answer:
    """late_share: share of all minutes in violation."""

    case: str
    part: str
    instance_hours: float
    late_share: float
    rescales_a_day: float


class Changed:
    """The same forecasts, each with one change applied."""

    def __init__(self, forecasts: Forecasts, change: Callable[[Forecast], Forecast]) -> None:
        self._forecasts, self._change = forecasts, change
        self._known: tuple[datetime | None, Mapping[str, Forecast]] = (None, {})

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        found = self._forecasts.at(at_s)
        issued = max((each.issued_at for each in found.values()), default=None)
        if self._known[0] != issued:
            self._known = (issued, {source: self._change(each) for source, each in found.items()})
        return self._known[1]


def dealt_anew(forecast: Forecast) -> Forecast:
    """Shuffle each step's rates among the paths: distributions stay, the dependence between steps goes."""
    rng = np.random.default_rng(int(forecast.issued_at.timestamp()))
    return replace(forecast, paths_per_s=rng.permuted(forecast.paths_per_s, axis=0))


def next_hour(forecast: Forecast) -> Forecast:
    """Cut the forecast to its first two hours: the second one lasts until the next forecast is there."""
    steps = 2 * HOUR_S // forecast.step_s
    peaks = {h: peak for h, peak in forecast.peak_per_s.items() if h <= steps * forecast.step_s}
    return replace(
        forecast,
        rate_per_s=forecast.rate_per_s[:steps],
        peak_per_s=peaks,
        paths_per_s=forecast.paths_per_s[:, :steps],
        forecaster={h: name for h, name in forecast.forecaster.items() if h in peaks},
    )


class Unpaced(Planned):
    def _budget(self, seen: Seen) -> Budget:
        return Budget(self._allowed_share)


class Unguarded(Planned):
    def _guarded(self, seen: Seen) -> Decision | None:
        return None

    def _plan(self, seen: Seen, forecasts: Mapping[str, Forecast]) -> None:
        self._planner.terms = replace(self._planner.terms, react_s=inf)
        super()._plan(seen, forecasts)


class Unannounced(Planned):
    def _announced(self, now_s: float) -> tuple[Announced, ...]:
        return ()


PARTS: Mapping[str, Callable[[Contest], Policy]] = {
    "whole": lambda c: c.planned("planner", c.asked()),
    "no-joint-paths": lambda c: c.planned("planner", Changed(c.asked(), dealt_anew)),
    "no-look-ahead": lambda c: c.planned("planner", Changed(c.asked(), next_hour)),
    "no-rescale-price": lambda c: replace(c, rescale_h=0.0).planned("planner", c.asked()),
    "no-pacing": lambda c: c.planned("planner", c.asked(), Unpaced),
    "no-guard": lambda c: c.planned("planner", c.asked(), Unguarded),
    "no-announcing": lambda c: c.planned("planner", c.asked(), Unannounced),
}


def contest_of(trace: Path, setting: str, days: float, work: Path) -> Contest:
    """The contest over a trace's last days; everything before them is training data. Forecasts are kept in work."""
    lead_s, downtime_s = (60.0 * float(each) for each in setting.split("/"))
    series = replace(read_trace(trace), topology="one", source="ingest")
    end = datetime.fromtimestamp(series.end.timestamp() // HOUR_S * HOUR_S, UTC)
    start, asked = end - timedelta(days=days), CONFIG.forecast
    series = series.between(max(series.start, start - timedelta(days=asked.train_days)), end)
    whole = minute_load({"ingest": series}, start.timestamp())
    load = whole.between(start.timestamp(), end.timestamp())
    step_s = int(np.lcm.reduce([asked.step_s, series.window_s, 60]))
    terms = ForecastTerms(step_s, asked.horizon_s, paths=asked.paths, origins=asked.origins, seed=asked.seed)
    forecasts = PipelineForecasts({"ingest": series}, terms, asked.train_days, asked.refit_s, work / "forecasts")
    with worker_processes(1) as executor:
        forecasts.prepare(load.start_s, load.end_s, executor, lambda made, of: None)
    one_s = UTILISATION / float(np.nanmax(series.between(start, end).counts)) * series.window_s
    return Contest(
        topology=CONFIG.as_topology(),
        believed={"ingest": OperatorProfile("ingest", SOURCE_S), "work": OperatorProfile("work", INSTANCES * one_s)},
        load=load,
        past=whole.between(whole.start_s, load.start_s),
        limits=Limits(max_instances=CONFIG.planning.max_instances),
        engine=EngineTerms(downtime_s, lead_s=lead_s),
        max_lag_s=MAX_LAG_S,
        slot_s=900,
        quantile=CONFIG.planning.quantile,
        step_s=step_s,
        horizon_s=asked.horizon_s,
        forecasts=forecasts,
        differences=Differences(service_error=ERROR),
        allowed_share=ALLOW,
    )


def long_enough(trace: Path) -> bool:
    series = read_trace(trace)
    return series.end - series.start >= LEAST - timedelta(hours=1)


def answered(contest: Contest, case: str, part: str) -> Answer:
    policy, most = PARTS[part](contest), contest.limits.max_instances
    done = replay(
        policy,
        contest.load,
        contest.reality(0),
        contest.first(),
        past=contest.past,
        most=contest.most,
        max_instances=most,
    )
    late, days = done.lag_s > MAX_LAG_S, done.lag_s.size / 1440
    return Answer(case, part, float(done.instances.sum() / 60), float(late.mean()), len(done.decisions) / days)


def table(found: list[Answer], parts: list[str]) -> str:
    lines = ["| part | ÷ whole: median; worst | violations: median; worst | rescales a day |", "|---|---|---|---|"]
    whole = {each.case: each.instance_hours for each in found if each.part == "whole"}
    for part in parts:
        of = [each for each in found if each.part == part]
        ratios = [each.instance_hours / whole[each.case] for each in of if each.case in whole]
        late = [each.late_share for each in of]
        spread = f"{np.median(ratios):.2f}; {max(ratios):.2f}" if ratios else "–"
        rescales = np.median([each.rescales_a_day for each in of])
        lines.append(f"| {part} | {spread} | {np.median(late):.2%}; {max(late):.2%} | {rescales:.1f} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, required=True, help="folder of CSV files")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--names", help="of the traces, by default all that are long enough")
    parser.add_argument("--settings", default="2/1,5/2", help="lead/downtime in minutes")
    parser.add_argument("--days", type=float, default=4.0)
    parser.add_argument("--parts", default=",".join(PARTS))
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    every = [path.stem for path in sorted(given.traces.glob("*.csv")) if path.stem != "MANIFEST" and long_enough(path)]
    names, parts = given.names.split(",") if given.names else every, given.parts.split(",")
    found = []
    for name in names:
        for setting in given.settings.split(","):
            case, contest = f"{name} {setting}", None
            for part in parts:
                kept = given.work / "ablations" / f"{case} {given.days:g} {part}.json".replace("/", "-")
                if kept.exists():
                    found.append(Answer(**json.loads(kept.read_text())))
                    continue
                contest = contest or contest_of(given.traces / f"{name}.csv", setting, given.days, given.work)
                found.append(answered(contest, case, part))
                kept.parent.mkdir(parents=True, exist_ok=True)
                kept.write_text(json.dumps(asdict(found[-1])))
                print(found[-1], file=sys.stderr, flush=True)
    print(json.dumps([asdict(each) for each in found], indent=1) if given.json else table(found, parts))


if __name__ == "__main__":
    main()
