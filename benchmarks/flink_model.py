"""The performance model against a real Flink: calibrated at one plan under moderate loads, tested on unseen plans.

    python benchmarks/flink_model.py [--topologies chain,diamond,skew] [--quick] [--json FILE]
    python benchmarks/flink_model.py --from FILE     # earlier measurements beside what the model predicts now

Three topologies of examples/flink with known service times run beside each other on one cluster on loopback; their
operators wait instead of computing. Each plan is predicted before it runs, then measured twice: at a moderate load
(utilisation, and the latency from an item's due time to the end of its last service) and under far too much (maximum
throughput, bottleneck). Some plans run a second time: the difference of two identical runs is the cluster's own noise
and chance. A simulation of the same jobs without Flink separates the model's errors from the cluster's. At the end come
rescales with several sizes of state. Some thirty minutes; the quieter the machine the better.
"""

import argparse
import sys
import tempfile
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from functools import partial
from itertools import chain
from pathlib import Path

import psutil

# A script's own folder comes first, where a module is named like one of the packages; its helpers lie in another.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("flink_job")))

from cases import CASES
from compared import RESULTS, Results, calibration
from measuring import Bench
from rescales import fitted, measured_rescales
from tables import calibration_table, plans_table, rescales_table, summary_table, waking_table

from forescale.local.flink.local_cluster import LocalFlink, local_flink

LOAD_SHARES = (0.5, 0.6, 0.7, 0.75)
AGAIN = (1, 4)
"""Indices of the plans that run a second time, at the end."""
FITTED_MIB, PREDICTED_MIB = (0.0, 48.0), (24.0, 96.0)
SLOTS = 34


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def run_topologies(flink: LocalFlink, names: Sequence[str], keep: Callable[[Results], None], *, quick: bool) -> Results:
    """Run all plans of all topologies, in rounds of one plan per topology that are measured at the same time.

    keep gets the results so far after every round.
    """
    # A plan processes so many tuples in 40 s at its maximum that random service times make 0.7 % of difference.
    span_s, full_span_s = (8.0, 6.0) if quick else (30.0, 40.0)
    benches = [Bench(CASES[name](), flink, span_s, full_span_s) for name in names]
    plans = min(2 if quick else 99, *(len(bench.case.unseen) for bench in benches))
    rounds = [*range(plans), *(AGAIN if not quick else [0])]
    with ThreadPoolExecutor() as pool:
        for note in chain.from_iterable(pool.map(Bench.calibrate, benches)):
            say(note)
        results = Results([calibration(bench.case, bench.profiles) for bench in benches], [], [])
        for number, at in enumerate(rounds):
            steps = [bench.bring(bench.case.unseen[at], LOAD_SHARES[at % len(LOAD_SHARES)]) for bench in benches]
            psutil.cpu_percent()
            seen = list(pool.map(Bench.moderate, benches))
            busy = psutil.cpu_percent()
            most = list(pool.map(Bench.full, benches, steps))
            runs = zip(benches, steps, seen, most, strict=True)
            done = [bench.row(step, moderate, each, repeats=number >= plans) for bench, step, moderate, each in runs]
            results = replace(results, rows=[*results.rows, *done])
            keep(results)
            say(f"round {number + 1} of {len(rounds)}: machine {busy:.0f} % busy, then {psutil.cpu_percent():.0f} %")
            for row in done:
                say(f"  {row.brief()}")
    for bench in benches:
        bench.stop()
    return results


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--topologies", default=",".join(CASES), help="which, separated by commas")
    parser.add_argument("--quick", action="store_true", help="two plans a topology and short spans, to see it work")
    parser.add_argument("--no-state", action="store_true", help="leave the rescales with state out")
    parser.add_argument("--json", type=Path, help="write everything that was predicted and measured to this file")
    parser.add_argument("--from", dest="earlier", type=Path, help="measure nothing: what such a file says")
    given = parser.parse_args()
    names = [name for name in given.topologies.split(",") if name]
    if unknown := sorted(set(names) - set(CASES)):
        parser.error(f"unknown topology {unknown[0]!r}; known are {', '.join(CASES)}")
    if given.earlier:
        results = RESULTS.validate_json(given.earlier.read_bytes())
    else:
        results = measured(names, partial(write, given.json), quick=given.quick, state=not given.no_state)
        write(given.json, results)
    print_tables(results.predicted_anew())


def write(file: Path | None, results: Results) -> None:
    if file:
        file.write_bytes(RESULTS.dump_json(results, indent=1))


def measured(names: Sequence[str], keep: Callable[[Results], None], *, quick: bool, state: bool) -> Results:
    """Run everything on its own cluster. keep gets the results so far now and then, so a failed run is not lost."""
    sizes = () if not state else (0.0, 32.0) if quick else (*FITTED_MIB, *PREDICTED_MIB)
    with (
        tempfile.TemporaryDirectory(prefix="flink-model-") as folder,
        local_flink(Path(folder), slots=SLOTS, task_manager_mib=4096) as flink,
    ):
        say(f"{flink.slots} slots at {flink.url}")
        results = run_topologies(flink, names, keep, quick=quick) if names else Results([], [], [])
        if sizes and not quick:
            measured_rescales(flink, max(FITTED_MIB), say)  # not counted: it warms up Java's reading of state
        for mib in sizes:
            results = replace(results, rescales=[*results.rescales, *measured_rescales(flink, mib, say)])
            keep(results)
    return results


def print_tables(results: Results) -> None:
    for one in results.calibrations:
        mine = [row for row in results.rows if row.topology == one.topology]
        print(f"{one.topology}: {' · '.join(mine[0].plan.parallelism)}\n\n{plans_table(mine)}\n")
    if results.rows:
        print(f"{summary_table(results.rows)}\n\n{calibration_table(results.calibrations)}\n")
        print(f"{waking_table(results.rows, results.calibrations)}\n")
    if results.rescales:
        fitted_on = list(dict.fromkeys(one.declared_mib for one in results.rescales))[: len(FITTED_MIB)]
        model = fitted([one for one in results.rescales if one.declared_mib in fitted_on])
        print(rescales_table(results.rescales, model, fitted_on))


if __name__ == "__main__":
    main()
