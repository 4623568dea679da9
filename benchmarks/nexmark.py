"""Predictions against Nexmark: queries of Flink SQL that compute, on task managers with a CPU quota each.

    python benchmarks/nexmark.py [--queries q1,q3,q5] [--cores .1] [--json FILE]
    python benchmarks/nexmark.py --warm-up --queries q5     # speed after rescales, told and measured
    python benchmarks/nexmark.py --from FILE     # the tables of earlier measurements

For each query: `init` describes the running job, calibration measures it at one plan, other plans are predicted
(equal and unequal parallelism, more cores a task manager) and then run: full until two spans take in as much, for the
bottleneck and, where sources took unevenly with even arrivals, for the maximum throughput; and at .6 of that, for
latency and cores used. Eight task managers of one slot, each in a control group of its own: on two cores they really
scale. Just-in-time compilation gets the machine's cores after each rescale, before the quota is set; only the first
compiler is on. A task manager more runs the same query all the time, always full, or q1 beside queries with windows:
what it takes in per CPU second is the pace of a machine that others share. Needs root and cgroup v1. Some twenty
minutes a query.
"""

import argparse
import contextlib
import sys
import tempfile
from collections.abc import Iterator
from pathlib import Path

from pydantic import TypeAdapter

# A script's own folder comes first, where a module is named like one of the packages; its helpers lie in others.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))
sys.path.insert(0, str(Path(__file__).with_name("nexmark_job")))

from bench import Query, Row
from queries import QUERIES, reference_of
from quotas import Quotas, quotas
from reference import Reference
from rows import plans_table, summary_table
from warming import Rise, rises, rises_table

from forescale.local.errors import ServiceError
from forescale.local.flink.local_cluster import LocalFlink, local_flink

ROWS = TypeAdapter(list[Row])
TASK_MANAGERS = 8
OPTIONS = {"execution.checkpointing.interval": "10 s"}
"""Flink's usual checkpoints come every few seconds to minutes."""


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--queries", default=",".join(QUERIES), help="which, separated by commas")
    parser.add_argument("--cores", type=float, default=0.1, help="of a task manager")
    parser.add_argument("--json", type=Path, help="file that gets everything predicted and measured, after each plan")
    parser.add_argument("--warm-up", action="store_true", help="measure how the speed rises after rescales instead")
    parser.add_argument("--from", dest="earlier", type=Path, help="measure nothing: what such a file says")
    given = parser.parse_args()
    names = [name for name in given.queries.split(",") if name]
    if unknown := sorted(set(names) - set(QUERIES)):
        parser.error(f"unknown query {unknown[0]!r}; known are {', '.join(QUERIES)}")
    try:
        if given.warm_up:
            print(rises_table(measured_rises(names, given.cores)))
            return
        rows = ROWS.validate_json(given.earlier.read_bytes()) if given.earlier else measured(names, given)
    except ServiceError as error:
        parser.exit(1, f"{error}\n")
    print(f"{plans_table(rows)}\n\n{summary_table(rows)}")


@contextlib.contextmanager
def quoted_flink(task_managers: int) -> Iterator[tuple[LocalFlink, Quotas]]:
    with (
        tempfile.TemporaryDirectory(prefix="nexmark-") as folder,
        local_flink(
            Path(folder), slots=1, task_managers=task_managers, task_manager_mib=900, within_s=180, options=OPTIONS
        ) as flink,
        quotas(flink) as held,
    ):
        yield flink, held


@contextlib.contextmanager
def queries(names: list[str], cores: float) -> Iterator[Iterator[Query]]:
    """Each on the task managers, with its reference on one more, which tells the pace of the machine."""
    with quoted_flink(TASK_MANAGERS) as (flink, held), quoted_flink(1) as (beside, one):

        def in_turn() -> Iterator[Query]:
            for name in names:
                reference = Reference(Query(reference_of(name), beside, one, cores), one)
                reference.begin()
                query = Query(name, flink, held, cores, reference)
                yield query
                query.stop()
                reference.end()

        yield in_turn()


def measured_rises(names: list[str], cores: float) -> list[Rise]:
    found: list[Rise] = []
    with queries(names, cores) as in_turn:
        for query in in_turn:
            for rise in rises(query, cores):
                found.append(rise)
                say(f"  {rise}")
    return found


def measured(names: list[str], given: argparse.Namespace) -> list[Row]:
    rows: list[Row] = []
    with queries(names, given.cores) as in_turn:
        for query in in_turn:
            say(f"{query.name}: {' · '.join(query.topology.order)}")
            for note in query.calibrate():
                say(f"  {note}")
            for plan in query.unseen:
                rows.append(query.row(plan))
                say(f"  {rows[-1]}")
                if given.json:
                    given.json.write_bytes(ROWS.dump_json(rows, indent=1))
    return rows


if __name__ == "__main__":
    main()
