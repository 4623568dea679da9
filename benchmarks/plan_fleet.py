"""How long `forescale plan --all` takes for many topologies under a shared quota, over processes or Spark.

    python benchmarks/plan_fleet.py [--topologies 100] [--workers 2 | --spark] [--quota-share 0.8]
    python benchmarks/plan_fleet.py --driver-alone --topologies 1000

Topologies are made up: two to four operators, one source, a daily wave of its own height and hour, eight days of
history in minutes, a forecast of 400 paths over a day in steps of 5 minutes, the simulator as the cluster. Everything
is in a temporary folder, ledger and tracking database included. All topologies are planned with nothing shared, then
again with large rescales kept apart under a quota: the given share of the most instances that their schedules hold at
once (never less than what runs). Processor time covers all processes. With --spark (over local[WORKERS] instead) the
times of ended Python workers are lost, so processor time is printed for processes only. Needs psutil.

--driver-alone measures what one process does for all topologies under shared terms: grant instances, name who holds
those that are lacking, and keep large rescales apart. Schedules are made up, each with six steps within half an hour of
the same hours. A schedule that is granted less is cut instead of planned again, so the figures contain no planning.
"""

import argparse
import json
import logging
import sys
import tempfile
import time
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from itertools import pairwise
from pathlib import Path

import numpy as np

# A script's own folder comes first, and one file in it is named like a package; processes that it starts lack it.
if Path(sys.path[0]).resolve() == Path(__file__).resolve().parent:
    sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("processes")))
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

from fleet_cases import bounds, capped, wish
from processor_time import all_cpu_s

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forecasting.forecast import QUANTILES, Forecast
from forecasting.forecast_file import write_forecast
from forescale.cli.schedule_answer import fleet_answer
from forescale.jobs.plan_all import PlannedFleet, plan_all
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from modeling.arrays import Floats
from planner.clock import TraceClock
from planner.fleet.grants import granted
from planner.fleet.holding import Holding, moments_s
from planner.fleet.shortage import shortages
from planner.fleet.stagger import staggered
from planner.fleet.terms import FleetTerms, Quota, Stagger
from planner.ledger.entries import ForecastEntry

NOW = datetime(2026, 3, 2, 6, tzinfo=UTC)
DAYS, STEP_S, STEPS, PATHS = 8, 300, 288, 400
HORIZONS_S = (3600, 21600, 86400)


@dataclass(frozen=True)
class Measured:
    """short: topologies granted fewer instances than they asked for. most: instances held at once."""

    what: str
    topologies: int
    failed: int
    short: int
    moved: int
    most: int
    wall_s: float
    cpu_s: float


def wave_per_s(number: int, hours: Floats) -> Floats:
    """Rate at each of the hours since NOW's midnight."""
    rng = np.random.default_rng(number)
    mean, swing, peak_h = 60.0 * rng.lognormal(0, 0.5), rng.uniform(0.3, 0.8), rng.uniform(8, 20)
    return np.asarray(mean * (1 + swing * np.cos(2 * np.pi * (hours - peak_h) / 24)))


def topology_file(number: int) -> str:
    names = ["read", "parse", "count", "store"][: 2 + number % 3]
    rng = np.random.default_rng(number)
    service_s = {name: 1e-4 if name == "read" else float(rng.uniform(0.02, 0.06)) for name in names}
    now_per_s = 1.3 * float(wave_per_s(number, np.array([6.0]))[0])
    running = {name: max(1, int(np.ceil(now_per_s * service_s[name]))) for name in names}
    return json.dumps(
        {
            "topology": f"made-up-{number:04}",
            "operators": {name: {"service_s": each} for name, each in service_s.items()},
            "streams": [{"from": a, "to": b} for a, b in pairwise(names)],
            "arrivals": {"kind": "events", "path": "events", "columns": {"time": "at"}, "source": "read"},
            "cluster": {"kind": "simulator", "truth": "history", "slots": 256, "parallelism": running},
        }
    )


def made_up(settings: Settings, number: int, run_id: str) -> None:
    """Write a topology with its history and forecast. run_id: the MLflow run."""
    name = f"made-up-{number:04}"
    (settings.topologies / f"{name}.yaml").write_text(topology_file(number))
    start, minutes = NOW - timedelta(days=DAYS), (DAYS + 1) * 1440
    rng = np.random.default_rng(number)
    counts = rng.poisson(60 * wave_per_s(number, 6 + np.arange(minutes) / 60 - 24 * DAYS)).astype(np.int64)
    source = SourceArrivals(counts, np.array([[0, 2**62]]))
    end = start + timedelta(minutes=minutes)
    write_history(Arrivals(start, end, 60, Measures.OFFERED, {"read": source}), settings.history_dir, name, start, end)
    mean = wave_per_s(number, 6 + np.arange(STEPS) * STEP_S / 3600)
    wander = np.cumsum(rng.normal(0, 0.01, (PATHS, STEPS)), axis=1)
    paths = mean * np.exp(wander)
    forecast = Forecast(
        issued_at=NOW,
        topology=name,
        source="read",
        start=NOW,
        step_s=STEP_S,
        quantiles=QUANTILES,
        rate_per_s=np.quantile(paths, QUANTILES, axis=0).T,
        peak_per_s={each: np.quantile(paths[:, : each // STEP_S].max(axis=1), QUANTILES) for each in HORIZONS_S},
        paths_per_s=paths,
        forecaster=dict.fromkeys(HORIZONS_S, "made up"),
        trained_from=start,
        trained_to=NOW,
        history_digest="",
        seed=number,
        run_id=run_id,
    )
    folder = settings.forecasts_dir / name
    write_forecast(forecast, folder)
    entry = ForecastEntry(name, name, "read", NOW, forecast.end, run_id, "", str(folder), "", "")
    ledger_of(settings).record_forecast(entry)


def mlflow_run(settings: Settings) -> str:
    """Id of the one MLflow run that all forecasts name."""
    from mlflow.tracking import MlflowClient

    settings.mlruns.mkdir()
    client = MlflowClient(settings.tracking_uri)
    return str(client.create_run(client.create_experiment("made up", settings.artifact_root)).info.run_id)


def most_held(settings: Settings, made: PlannedFleet) -> int:
    ledger = ledger_of(settings)
    holdings = [Holding(ledger.schedule(each.schedule_id).schedule) for each in made.schedules]
    at_s = moments_s(holdings)
    return int(np.sum([each.held(at_s) for each in holdings], axis=0).max())


def measured(what: str, settings: Settings, fleet: Path | None, workers: int | None) -> Measured:
    began, before_s = time.perf_counter(), all_cpu_s()

    def told(phase: str, done: int, of: int) -> None:
        if done in (0, of):
            after_s = time.perf_counter() - began
            print(f"{what}: {phase}, {done} of {of} after {after_s:.1f} s", file=sys.stderr, flush=True)

    made = plan_all(Workspace(settings), fleet, workers=workers, spark=workers is None, progress=told)
    wall_s, spent_s = time.perf_counter() - began, all_cpu_s() - before_s
    for name, cause in list(made.failures.items())[:3]:
        print(f"{name}: {cause}", file=sys.stderr)
    most, short = most_held(settings, made), len(fleet_answer(made).short)
    return Measured(
        what,
        len(made.schedules),
        len(made.failures),
        short,
        len(made.moved),
        most,
        wall_s,
        spent_s,
    )


def rows_of(home: Path, topologies: int, workers: int, spark: bool, quota_share: float) -> Sequence[Measured]:
    settings = Settings(
        home=home / "home",
        topologies=home / "topologies",
        mlruns=home / "mlruns",
        clock="trace",
        spark_master=f"local[{workers}]",
    )
    processes = None if spark else workers
    settings.topologies.mkdir()
    run_id = mlflow_run(settings)
    TraceClock(settings.clock_file).start_at(NOW)
    for number in range(topologies):
        made_up(settings, number, run_id)
    alone = measured("nothing shared", settings, None, processes)
    fleet = home / "fleet.yaml"
    running = sum(
        sum(json.loads(path.read_text())["cluster"]["parallelism"].values())
        for path in settings.topologies.glob("*.yaml")
    )
    quota = max(running, int(quota_share * alone.most))
    stagger = {"large_instances": 4, "apart_s": 60}
    fleet.write_text(json.dumps({"quota": {"instances": quota}, "stagger": stagger}))
    return alone, measured(f"quota of {quota}", settings, fleet, processes)


@dataclass(frozen=True)
class DriverMeasured:
    """count: topologies granted fewer instances than asked for, spans explained, or rescales moved."""

    what: str
    topologies: int
    count: int
    cpu_s: float


def driver_rows(topologies: int, quota_share: float) -> list[DriverMeasured]:
    rng = np.random.default_rng(1)
    hours = np.array([3.0, 7.0, 10.0, 13.0, 17.0, 21.0])
    wishes = []
    for number in range(topologies):
        at_hours = (hours + rng.integers(-6, 6, hours.size) / 12).tolist()
        counts = rng.integers(2, 25, hours.size).tolist()
        held_minutes = float(rng.uniform(0, 500))
        wishes.append(wish(f"made-up-{number:04}", 5, dict(zip(at_hours, counts, strict=True)), held_minutes))
    at_s = moments_s(wishes)
    most = int(np.sum([each.held(at_s) for each in wishes], axis=0).max())
    quotas = (Quota("quota", frozenset(each.name for each in wishes), int(quota_share * most)),)
    began = [time.process_time()]
    grants = granted(wishes, quotas, capped(wishes))
    began.append(time.process_time())
    short = shortages(wishes, grants, quotas)
    began.append(time.process_time())
    apart = staggered(grants.holdings, FleetTerms(quotas, Stagger(4, 60.0)), bounds(wishes))
    began.append(time.process_time())
    counts = len(grants.at_most), len(short), len(apart.moved)
    what = "granting: short", "naming who has what: spans", "bringing apart: moved"
    spent_s = np.diff(began).tolist()
    return [DriverMeasured(each, topologies, *row) for each, *row in zip(what, counts, spent_s, strict=True)]


def print_driver(rows: Sequence[DriverMeasured]) -> None:
    print("| | topologies | count | CPU s |")
    print("|---|---|---|---|")
    for row in rows:
        print(f"| {row.what} | {row.topologies} | {row.count} | {row.cpu_s:.2f} |")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topologies", type=int, default=100)
    parser.add_argument("--workers", type=int, default=2)
    parser.add_argument("--spark", action="store_true")
    parser.add_argument("--quota-share", type=float, default=0.8)
    parser.add_argument("--driver-alone", action="store_true")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.driver_alone:
        of_driver = driver_rows(given.topologies, given.quota_share)
        if given.json:
            print(json.dumps([asdict(row) for row in of_driver], indent=1))
        else:
            print_driver(of_driver)
        return
    logging.disable(logging.WARNING)
    with tempfile.TemporaryDirectory(prefix="forescale-") as folder:
        rows = rows_of(Path(folder), given.topologies, given.workers, given.spark, given.quota_share)
    if given.json:
        print(json.dumps([asdict(row) for row in rows], indent=1))
        return
    print("| | topologies | failed | fewer than wished | moved | most at once | wall s | CPU s |")
    print("|---|---|---|---|---|---|---|---|")
    for row in rows:
        print(
            f"| {row.what} | {row.topologies} | {row.failed} | {row.short} | {row.moved} | {row.most} | "
            f"{row.wall_s:.0f} | {'not known' if given.spark else f'{row.cpu_s:.0f}'} |"
        )


if __name__ == "__main__":
    main()
