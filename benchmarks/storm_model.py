"""The performance model against a real Storm: calibrated at one plan, tested on unseen rebalances.

    python benchmarks/storm_model.py [--quick] [--json FILE]

The word count of examples/storm, whose bolts wait instead of computing, runs on a Storm of one process on loopback. Its
service times are measured at one plan under a moderate load. Each other plan is predicted, then deployed by a rebalance
and offered far more than it carries. Throughput is the slope of the executed count of `split`, read every second; the
bottleneck is the operator with the busiest executor. Some 12 minutes.
"""

import argparse
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np
import psutil
from pydantic import TypeAdapter

# A script's own folder comes first, where a module is named like one of the packages; the local Storm is the tests'.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).parents[1] / "tests"))

from storm_cluster import StormCluster as LocalStorm
from storm_cluster import storm_cluster
from storm_throughput import measured_rates

from forescale.files.topology import read_topology_file
from forescale.settings import PROJECT
from modeling.calibration.calibrated import calibrated
from modeling.evaluate import evaluate
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import RealClock
from planner.clusters.cluster import Accepted, Pending, Refusal, Verified
from planner.clusters.storm import StormCluster

NAME, SOURCE, SPLIT = "word-count", "sentences", "split"
BOLTS = (SPLIT, "count")
TRUE_SERVICE_S = {SPLIT: 0.040, "count": 0.008}
CALIBRATED_AT = (2, 3)
MODERATE_PER_S, FAR_TOO_MUCH_PER_S = 30.0, 400.0
UNSEEN = ((2, 2), (3, 2), (3, 5), (4, 5), (5, 5), (6, 3), (6, 4), (6, 8), (7, 12))
"""Executors of split and count. Five of split hold three or two of its twelve tasks each; Storm routes by load."""
SETTLED_S = 8.0


@dataclass(frozen=True)
class Row:
    """One plan. Rates are the source's at the plan's maximum. utilisation: of each bolt's busiest executor then."""

    split: int
    count: int
    predicted_per_s: float
    measured_per_s: float
    predicted_bottleneck: str
    measured_bottleneck: str
    utilisation: Mapping[str, float]
    downtime_s: float | None

    @property
    def error(self) -> float:
        return self.predicted_per_s / self.measured_per_s - 1


@dataclass(frozen=True)
class Results:
    """service_s: measured, by bolt. machine_busy: share of its processors, all programs together."""

    service_s: Mapping[str, float]
    rows: Sequence[Row]
    machine_busy: float


class Bench:
    """The word count on a running Storm. span_s: length of each plan's measurement."""

    def __init__(self, storm: LocalStorm, span_s: float) -> None:
        config = read_topology_file(PROJECT / "examples" / "storm" / "word-count.yaml")
        self.topology = config.as_topology()
        self.profiles: Profiles = config.declared_profiles()
        self._storm, self._span_s = storm, span_s
        self._cluster = StormCluster(storm.url, NAME, self.topology, wait_s=1, timeout_s=30.0)

    def calibrate(self) -> None:
        self._storm.rate.write_text(f"{MODERATE_PER_S}\n")
        self._bring(_plan(*CALIBRATED_AT))
        time.sleep(SETTLED_S + self._span_s)
        # Bolts that only wait need no warm-up: counters since the executors' start are good enough.
        samples = self._cluster.operator_samples(600.0)
        self.profiles = calibrated(self.topology, samples, self.profiles, warm_s=0.0).profiles

    def row(self, split: int, count: int) -> Row:
        plan = _plan(split, count)
        told = evaluate(self.topology, self.profiles, plan, {SOURCE: MODERATE_PER_S})
        self._storm.rate.write_text(f"{MODERATE_PER_S / 3}\n")
        downtime_s = self._bring(plan)
        self._storm.rate.write_text(f"{FAR_TOO_MUCH_PER_S}\n")
        time.sleep(SETTLED_S)
        rates_per_s, utilisation = measured_rates(self._storm.url, NAME, BOLTS, self._span_s)
        return Row(
            split,
            count,
            predicted_per_s=told.mst_per_s[SOURCE],
            measured_per_s=rates_per_s[SPLIT],
            predicted_bottleneck=str(told.bottleneck),
            measured_bottleneck=max(utilisation, key=lambda name: utilisation[name]),
            utilisation=utilisation,
            downtime_s=downtime_s,
        )

    def _bring(self, plan: PhysicalPlan) -> float | None:
        accepted = self._cluster.apply(plan, expected=self._cluster.state().plan)
        if isinstance(accepted, Refusal):
            raise SystemExit(accepted.reason)
        return self._verified(accepted).downtime_s

    def _verified(self, accepted: Accepted) -> Verified:
        clock, waited_s = RealClock(), 0
        while isinstance(progress := self._cluster.progress(accepted), Pending) and waited_s < 120:
            clock.wait(1.0)
            waited_s += 1
        if not isinstance(progress, Verified):
            raise SystemExit(f"{accepted.plan.brief()}: {progress.reason}")
        return progress


def _plan(split: int, count: int) -> PhysicalPlan:
    return PhysicalPlan(NAME, {SOURCE: 1, SPLIT: split, "count": count})


def measured(unseen: Sequence[tuple[int, int]], span_s: float) -> Results:
    """Measure all plans on a Storm of its own."""
    with (
        tempfile.TemporaryDirectory(prefix="storm-model-") as folder,
        storm_cluster(Path(folder), NAME, slots=2) as storm,
    ):
        bench = Bench(storm, span_s)
        psutil.cpu_percent()
        bench.calibrate()
        rows = []
        for at in unseen:
            rows.append(bench.row(*at))
            print(_line(rows[-1]), file=sys.stderr, flush=True)
        service_s = {name: bench.profiles[name].service_s for name in BOLTS}
        return Results(service_s, rows, psutil.cpu_percent() / 100)


def _line(row: Row) -> str:
    busy = " · ".join(f"{used:.0%}" for used in row.utilisation.values())
    right = "right" if row.predicted_bottleneck == row.measured_bottleneck else f"wrong, {row.measured_bottleneck}"
    downtime = "?" if row.downtime_s is None else f"{row.downtime_s:.0f} s"
    return (
        f"| {row.split} · {row.count} | {row.predicted_per_s:.1f} | {row.measured_per_s:.1f} | {row.error:+.1%} | "
        f"{row.predicted_bottleneck} ({right}) | {busy} | {downtime} |"
    )


def print_tables(results: Results) -> None:
    print("| split · count | predicted, sentences/s | measured | error | bottleneck | busiest executors | downtime |")
    print("|---|---|---|---|---|---|---|")
    for row in results.rows:
        print(_line(row))
    errors = [abs(row.error) for row in results.rows]
    right = sum(row.predicted_bottleneck == row.measured_bottleneck for row in results.rows)
    found = ", ".join(
        f"{name} {1000 * service_s:.2f} ms (waits {1000 * TRUE_SERVICE_S[name]:g})"
        for name, service_s in results.service_s.items()
    )
    print(
        f"\nMedian error {np.median(errors):.1%}, largest {max(errors):.1%}; bottleneck right in {right} of "
        f"{len(errors)}. Calibrated at {CALIBRATED_AT[0]} · {CALIBRATED_AT[1]}: {found}. The machine's processors were "
        f"{results.machine_busy:.0%} busy."
    )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--quick", action="store_true", help="two plans and short spans, to see it work")
    parser.add_argument("--json", type=Path, help="write everything that was predicted and measured to this file")
    given = parser.parse_args()
    results = measured(UNSEEN[:2], 10.0) if given.quick else measured(UNSEEN, 40.0)
    if given.json:
        given.json.write_bytes(TypeAdapter(Results).dump_json(results, indent=1))
    print_tables(results)


if __name__ == "__main__":
    main()
