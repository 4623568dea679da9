"""How soon a job recovers when its load doubles without a forecast: the planner with its guard, and its rivals.

    python benchmarks/doubling.py [--starts 12] [--settings 2/1,5/2,10/3] [--policies planner,flink-autoscaler-tuned]
                                  [--json]

One operator takes .1 s a tuple. Its load needs some 8 instances and varies from minute to minute; some minutes into the
fourth hour it doubles for the rest. Starts differ by those minutes, which are spread over the hour, by the level and by
its noise. The planner's forecasts are persistence with errors: each hour, 100 paths around the mean of a quarter of an
hour that ended five minutes before. No forecast before the doubling shows it, and the first one after it does. Lag may
be 90 s, .2 % of the minutes may be late.

Prints per setting and policy, median and longest over the starts: minutes from the doubling until the backlog is
empty; the same over that of the tuned Flink autoscaler, start by start; and minutes in violation until the end, some
three hours later, so that no policy gains by relapses.
"""

import argparse
import json
import sys
from collections.abc import Mapping
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta

import numpy as np

# A script's own folder comes first, and others in it are named like packages.
sys.path.pop(0)

from forecasting.forecast import HORIZONS_S, QUANTILES, Forecast
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.engine_terms import EngineTerms
from planner.limits import Limits
from planner.replay.contest import Contest, run_one
from planner.replay.load import Load
from planner.replay.run import Replayed

START_S = 1_700_006_400
TOPOLOGY = Topology("doubling", (Operator("ingest"), Operator("work")), (Stream("ingest", "work"),))
PROFILES = {"ingest": OperatorProfile("ingest", 0.0001), "work": OperatorProfile("work", 0.1)}
CALM_MINUTES, MINUTES, HOUR = 180, 420, 60
NOISE, LEVEL_ERROR, STEP_ERROR = 0.03, 0.05, 0.05
STEP_S, HORIZON_S, PATHS = 300, 21600, 100
MAX_LAG_S, ALLOW = 90.0, 0.002
RIVAL = "flink-autoscaler-tuned"


@dataclass(frozen=True)
class Recovery:
    """One policy from one start. minutes: until the backlog is empty, or the whole rest if it never is.
    late_minutes: in violation over the whole rest.
    """

    setting: str
    policy: str
    start: int
    minutes: int
    late_minutes: int


class Persistence:
    """Hourly forecasts from the data up to the hour, available five minutes later, like those of the pipeline."""

    def __init__(self, load: Load, seed: int) -> None:
        self._load, self._seed = load, seed
        self._known: dict[int, Mapping[str, Forecast]] = {}

    def at(self, at_s: float) -> Mapping[str, Forecast]:
        issued_s = int((at_s - 300) // 3600 * 3600)
        if issued_s not in self._known:
            self._known[issued_s] = {source: self._made(issued_s, source) for source in self._load.rate_per_s}
        return self._known[issued_s]

    def _made(self, issued_s: int, source: str) -> Forecast:
        over = max(1, (issued_s - self._load.start_s) // 60)
        level = float(self._load.rate_per_s[source][max(0, over - 15) : over].mean())
        rng = np.random.default_rng([self._seed, issued_s])
        shape = (PATHS, HORIZON_S // STEP_S)
        errors = LEVEL_ERROR * rng.standard_normal((PATHS, 1)) + STEP_ERROR * rng.standard_normal(shape)
        paths = level * np.exp(errors)
        at = datetime.fromtimestamp(issued_s, UTC)
        horizons = [h for h in HORIZONS_S if h <= HORIZON_S]
        return Forecast(
            issued_at=at,
            topology=TOPOLOGY.name,
            source=source,
            start=at,
            step_s=STEP_S,
            quantiles=QUANTILES,
            rate_per_s=np.quantile(paths, QUANTILES, axis=0).T,
            peak_per_s={h: np.quantile(paths[:, : h // STEP_S].max(axis=1), QUANTILES) for h in horizons},
            paths_per_s=paths,
            forecaster=dict.fromkeys(horizons, "persistence"),
            trained_from=at - timedelta(days=1),
            trained_to=at,
            history_digest="",
            seed=self._seed,
        )


def doubling_load(start: int, starts: int) -> tuple[Load, int]:
    """The load and the minute in which it doubles."""
    rng = np.random.default_rng(start)
    doubles = CALM_MINUTES + start * HOUR // starts
    level = rng.uniform(55.0, 75.0) * np.exp(NOISE * rng.standard_normal(MINUTES))
    level[doubles:] *= 2.0
    return Load(START_S, {"ingest": level}), doubles


def recovery(replayed: Replayed, doubles: int) -> int:
    """Minutes from the doubling to the end of the first minute that leaves no backlog."""
    waits = np.append((replayed.backlog > 0)[doubles:], False)
    begins = int(waits.argmax())
    return begins + int((~waits[begins:]).argmax()) + 1 if waits.any() else 0


def contest(load: Load, lead_s: float, downtime_s: float, seed: int) -> Contest:
    return Contest(
        topology=TOPOLOGY,
        believed=PROFILES,
        load=load,
        past=None,
        limits=Limits(max_utilisation=0.8, max_instances=80),
        engine=EngineTerms(downtime_s, lead_s=lead_s),
        max_lag_s=MAX_LAG_S,
        slot_s=900,
        quantile=0.95,
        step_s=STEP_S,
        horizon_s=HORIZON_S,
        forecasts=Persistence(load, seed),
        allowed_share=ALLOW,
    )


def recoveries(settings: list[str], policies: list[str], starts: int) -> list[Recovery]:
    found = []
    for setting in settings:
        lead_s, downtime_s = (60.0 * float(each) for each in setting.split("/"))
        for start in range(starts):
            load, doubles = doubling_load(start, starts)
            for policy in policies:
                done = run_one(contest(load, lead_s, downtime_s, start), policy, 0)
                late = int(np.count_nonzero(done.lag_s[doubles:] > MAX_LAG_S))
                found.append(Recovery(setting, policy, start, recovery(done, doubles), late))
    return found


def table(found: list[Recovery], settings: list[str], policies: list[str]) -> str:
    lines = [
        f"| lead/downtime, min | policy | recovery, min | ÷ {RIVAL} | late, min |",
        "|---|---|---|---|---|",
    ]
    for setting in settings:
        of = {p: [each for each in found if (each.setting, each.policy) == (setting, p)] for p in policies}
        for policy in policies:
            minutes = np.array([each.minutes for each in of[policy]])
            late = np.array([each.late_minutes for each in of[policy]])
            told = "–"
            if RIVAL in of:
                ratios = minutes / np.array([each.minutes for each in of[RIVAL]])
                told = f"{np.median(ratios):.2f}; {ratios.max():.2f}"
            lines.append(
                f"| {setting} | {policy} | {np.median(minutes):.0f}; {minutes.max()} | {told} "
                f"| {np.median(late):.0f}; {late.max()} |"
            )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--starts", type=int, default=12)
    parser.add_argument("--settings", default="2/1,5/2,10/3", help="lead/downtime in minutes")
    parser.add_argument("--policies", default=f"planner,{RIVAL}")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    settings, policies = given.settings.split(","), given.policies.split(",")
    found = recoveries(settings, policies, given.starts)
    if given.json:
        print(json.dumps([asdict(each) for each in found], indent=1))
    else:
        print(table(found, settings, policies))


if __name__ == "__main__":
    main()
