"""Cost and violations of policies on real traces: every trace × lead and downtime × topology, by `forescale replay`.

    python benchmarks/replay.py --traces DIR --work DIR [--days 7] [--seeds 3] [--topologies one,chain,diamond]
                                [--settings 2/1,5/2,10/3] [--names a,b,c] [--policies …] [--forecast-every 3600]
                                [--error .1] [--processes 2] [--table]

A trace is a CSV file with the columns timestamp and count that spans at least 14 days; the demo's call-centre counts
(bank_calls) are added to those of the folder. The last --days of each trace are replayed; the days before are training
data. Counts are multiplied such that the peak of the replayed span comes at 2000/s or more: Flink's autoscaler rounds
capacities to whole tuples per second, so of a trace of two tuples a second it would see nothing. Service times are such
that the peak needs about 20 instances; true ones differ from the model's by 10 % (--error, by seed). A minute with more
than 90 s of lag is a violation; the best in hindsight may violate in .2 % of all minutes. Settings are lead/downtime in
minutes; the diamond's state of 8 GiB adds 40 s to a downtime that reads it all.

--work keeps all results: an interrupted run goes on where it was, and --table shows what is there. The first table has
per policy over all cases: instance-hours ÷ those of its rivals (median; worst), those ÷ Flink's autoscaler where the
policy violates no more than that, the share of minutes in violation (median; worst), and rescales a day (median). The
next ones have the planner by setting, topology and trace. The last has the planner with several violation budgets
against each rival: its cost where it violates no more, its violations where it costs no more, and, with its budgets as
a curve, its cost where it violates as much. Budgets of a rival are a curve too: --policies planner,planner@0.02,
hindsight,hindsight@0.02.
"""

import argparse
import json
import math
import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import as_completed
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import yaml

# A script's own folder comes first, and this one is named like the package that it measures.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("replay_job")))

from curves import at_equal_violations
from tables import at_equal_terms, by_group, by_policy

from forecasting.arrivals.history import ArrivalSeries
from forecasting.errors import HistoryError
from forecasting.trace_file import read_trace
from forescale.codec import to_json
from forescale.jobs.replay import replay
from forescale.jobs.replay_request import ReplayRequest
from forescale.jobs.replay_terms import Deviations
from forescale.jobs.workers import worker_processes
from forescale.local.demo.bank_calls import bank_calls
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from planner.errors import PlanError
from planner.horizon.prices import HOURLY_S
from planner.replay.contest import ALL_KNOWING, POLICIES
from planner.replay.own_budget import policy_of

LEAST_DAYS = 14
INSTANCES, UTILISATION = 20, 0.85
PEAK_PER_S = 2000.0
"""Of a replayed span at least."""
MAX_LAG_S = 90.0
ERROR, ALLOW, RESTORE_S_PER_GIB = 0.1, 0.002, 5.0
BUDGETS = (0.02, 0.1)
"""The planner's further violation budgets beside ALLOW: shares of minutes similar to what rivals use."""
ASKED = (*POLICIES, *(f"planner@{share:g}" for share in BUDGETS))
TOPOLOGIES = ("one", "chain", "diamond")


@dataclass(frozen=True)
class Case:
    """One replay. lead_s, downtime_s: lead time and downtime of a rescale."""

    trace: str
    topology: str
    lead_s: float
    downtime_s: float

    @property
    def name(self) -> str:
        return f"{self.trace}-{self.topology}-{self.lead_s / 60:g}-{self.downtime_s / 60:g}"


GROUPS: Mapping[str, Callable[[Case], str]] = {
    "lead/downtime": lambda case: f"{case.lead_s / 60:g}/{case.downtime_s / 60:g} min",
    "topology": lambda case: case.topology,
    "trace": lambda case: case.trace,
}


@dataclass(frozen=True)
class Asked:
    traces: Path | None
    work: Path
    days: float
    seeds: int
    policies: tuple[str, ...]
    forecast_every_s: int
    error: float = ERROR

    def answer(self, case: Case) -> Path:
        error = "" if self.error == ERROR else f"-{self.error:g}"
        return (
            self.work
            / f"answers-{PEAK_PER_S:g}"
            / f"{case.name}-{self.days:g}-{self.seeds}-{self.forecast_every_s}{error}.json"
        )


def trace_file(name: str, asked: Asked) -> Path:
    """Path of the demo's counts as a trace, or of a trace in the folder."""
    if name != "bank_calls":
        return Path(str(asked.traces)) / f"{name}.csv"
    path = asked.work / "bank_calls.csv"
    if not path.exists():
        calls = bank_calls()
        times = pd.to_datetime(calls.starts_us, unit="us", utc=True)
        counts = pd.Series(calls.calls, index=times).asfreq("5min", fill_value=0)
        path.parent.mkdir(parents=True, exist_ok=True)
        rows = pd.DataFrame({"timestamp": counts.index.strftime("%Y-%m-%dT%H:%M:%SZ"), "count": counts.to_numpy()})
        rows.to_csv(path, index=False)
    return path


def long_enough(name: str, asked: Asked) -> bool:
    try:
        series = read_trace(trace_file(name, asked))
    except HistoryError as error:
        print(f"{name} is left out: {error}", file=sys.stderr)
        return False
    return series.end - series.start >= timedelta(days=LEAST_DAYS) - timedelta(hours=1)


def span_of(series: ArrivalSeries, days: float) -> tuple[datetime, datetime]:
    end = datetime.fromtimestamp(series.end.timestamp() // 3600 * 3600, UTC)
    return end - timedelta(days=days), end


def peak_per_s(series: ArrivalSeries, asked: Asked) -> float:
    return float(np.nanmax(series.between(*span_of(series, asked.days)).counts)) / series.window_s


def raised_trace(name: str, asked: Asked) -> Path:
    """The trace with whole multiples of its counts, such that its peak is no trickle."""
    path = trace_file(name, asked)
    factor = math.ceil(PEAK_PER_S / peak_per_s(read_trace(path), asked))
    raised = asked.work / "traces" / f"{name}.csv"
    raised.parent.mkdir(parents=True, exist_ok=True)
    rows = pd.read_csv(path)
    part = raised.with_suffix(f".{os.getpid()}.part")
    rows.assign(count=factor * rows["count"]).to_csv(part, index=False)
    part.replace(raised)
    return raised


def topology_file(case: Case, series: ArrivalSeries, asked: Asked) -> Path:
    """Write operators that need about 20 instances, sources aside, at the peak of the replayed span."""
    path = asked.work / "topologies" / f"{case.name}.yaml"
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(yaml.safe_dump(_topology(case.topology, UTILISATION / peak_per_s(series, asked))))
    return path


def _topology(kind: str, one_instance_s: float) -> dict[str, Any]:
    """one_instance_s: service time at which the peak needs one instance."""

    def taking(instances: float, **others: object) -> dict[str, object]:
        return {"service_s": instances * one_instance_s, **others}

    source, planning = taking(0.01), {"max_instances": 80, "max_lag_s": MAX_LAG_S}
    if kind == "one":
        operators = {"ingest": source, "work": taking(INSTANCES - 0.01)}
        streams = [_stream("ingest", "work")]
    elif kind == "chain":
        # 400 keys after Zipf's law: the heaviest has .15 of the tuples.
        ranks = np.arange(1, 401)
        shares = {f"k{rank}": float(share) for rank, share in zip(ranks, (1 / ranks) / (1 / ranks).sum(), strict=True)}
        operators = {
            "ingest": source,
            "parse": taking(INSTANCES * 0.4 - 0.01),
            "count": taking(INSTANCES * 0.2, key_shares=shares, distinct_keys=400),
            "write": taking(INSTANCES * 0.3),
        }
        streams = [_stream("ingest", "parse"), _stream("parse", "count", "fields"), _stream("count", "write")]
    else:
        operators = {
            "ingest": source,
            "left": taking(INSTANCES * 0.3 - 0.01),
            "right": taking(INSTANCES * 0.2),
            # It reads both inputs.
            "join": taking(INSTANCES * 0.25, state_gib=8.0),
        }
        ways = [("ingest", "left"), ("ingest", "right")]
        streams = [
            *(_stream(*way) for way in ways),
            _stream("left", "join", "fields"),
            _stream("right", "join", "fields"),
        ]
    return {"topology": kind, "operators": operators, "streams": streams, "planning": planning}


def _stream(upstream: str, downstream: str, grouping: str = "shuffle") -> dict[str, str]:
    return {"from": upstream, "to": downstream, "grouping": grouping}


def replayed(case: Case, asked: Asked) -> dict[str, Any]:
    """Answer of `forescale replay --json`, kept in a file."""
    trace = raised_trace(case.trace, asked)
    series = read_trace(trace)
    start, end = span_of(series, asked.days)
    request = ReplayRequest(
        topology=str(topology_file(case, series, asked)),
        out=asked.work / "timelines" / f"{case.name}.parquet",
        trace=trace,
        policies=asked.policies,
        changes={
            "planning.lead_s": case.lead_s,
            "planning.downtime_s": case.downtime_s,
            "planning.max_lag_s": MAX_LAG_S,
            "planning.allow": ALLOW,
            "forecast.every_s": asked.forecast_every_s,
            "rescale.restore_s_per_gib": RESTORE_S_PER_GIB,
        },
        deviations=Deviations(error=asked.error),
        seeds=asked.seeds,
        start=start,
        end=end,
        workers=1,
    )
    answer = to_json(replay(Workspace(Settings(home=asked.work / "home")), request))
    asked.answer(case).parent.mkdir(parents=True, exist_ok=True)
    part = asked.answer(case).with_suffix(".part")
    part.write_text(json.dumps(answer))
    part.replace(asked.answer(case))
    return answer


def answers(cases: Sequence[Case], asked: Asked, processes: int) -> Iterator[tuple[Case, dict[str, Any] | str]]:
    """Yield kept answers first, then the others as they finish; a case that could not be replayed gives its cause."""
    to_do = []
    for case in cases:
        known = json.loads(asked.answer(case).read_text()) if asked.answer(case).exists() else None
        if known is not None and set(asked.policies) <= {score["policy"] for score in known["scores"]}:
            yield case, known
        else:
            to_do.append(case)
    if not to_do or not processes:
        return
    # One case per process: its numeric libraries must not take the other cores.
    os.environ |= dict.fromkeys(("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS"), "1")
    with worker_processes(processes) as pool:
        waiting = {pool.submit(replayed, case, asked): case for case in to_do}
        for number, future in enumerate(as_completed(waiting), start=1):
            case = waiting[future]
            print(f"{number} of {len(to_do)}: {case.name}", file=sys.stderr, flush=True)
            try:
                yield case, future.result()
            except (PlanError, HistoryError) as error:
                yield case, str(error)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--traces", type=Path, help="folder of CSV files; none: the call-centre counts alone")
    parser.add_argument("--work", type=Path, required=True, help="folder for all that is made")
    parser.add_argument("--days", type=float, default=7.0)
    parser.add_argument("--seeds", type=int, default=3)
    parser.add_argument("--topologies", default=",".join(TOPOLOGIES))
    parser.add_argument("--settings", default="2/1,5/2,10/3", help="lead/downtime in minutes")
    parser.add_argument("--names", help="of the traces, by default all that are long enough")
    parser.add_argument("--policies", default=",".join(ASKED))
    parser.add_argument("--forecast-every", type=int, default=HOURLY_S, help="seconds from one forecast to the next")
    parser.add_argument("--error", type=float, default=ERROR, help="of service times: .1 is about 10 %%")
    parser.add_argument("--processes", type=int, default=os.cpu_count())
    parser.add_argument("--table", action="store_true", help="show what there is, and replay nothing")
    given = parser.parse_args()
    policies = tuple(given.policies.split(","))
    asked = Asked(given.traces, given.work, given.days, given.seeds, policies, given.forecast_every, given.error)
    names = given.names.split(",") if given.names else ["bank_calls"]
    if given.traces and not given.names:
        names += sorted(path.stem for path in given.traces.glob("*.csv") if path.stem != "MANIFEST")
    names = [name for name in names if long_enough(name, asked)]
    settings = [tuple(float(each) * 60 for each in pair.split("/")) for pair in given.settings.split(",")]
    cases = [
        Case(name, kind, *setting) for kind, setting, name in product(given.topologies.split(","), settings, names)
    ]
    found = {}
    for case, answer in answers(cases, asked, 0 if given.table else given.processes):
        if isinstance(answer, str):
            print(f"{case.name}: {answer}", file=sys.stderr)
        else:
            found[case] = {score["policy"]: score for score in answer["scores"]}
    if not found:
        sys.exit("nothing was replayed")
    print(f"{len(found)} of {len(cases)} cases, {given.days:g} days, {given.seeds} seeds\n")
    print(by_policy(found, asked.policies))
    for what, group in GROUPS.items():
        print(by_group(found, f"`planner`, by {what}", group, "planner"))
    variants = [name for name in asked.policies if policy_of(name) == "planner"]
    rivals = [name for name in asked.policies if policy_of(name) not in ALL_KNOWING and name not in variants]
    print(at_equal_terms(found, variants, rivals))
    several: dict[str, list[str]] = {}
    for name in asked.policies:
        several.setdefault(policy_of(name), []).append(name)
    print(at_equal_violations(list(found.values()), several.pop("planner", []), list(several.values())))


if __name__ == "__main__":
    main()
