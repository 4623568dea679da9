"""Rescales of a real Flink with and without a checkpoint that is asked for: how soon the plan runs, how much is
processed again, and for how long nothing new is.
`python benchmarks/flink_checkpoint.py [--interval 20] [--rescales 4] [--flink FOLDER]`.

A source counts, and the last operator writes down each number and its time: one that comes twice was processed again.
"""

import argparse
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, replace
from pathlib import Path

import httpx

# A script's own folder comes first; the packages lie beside it.
sys.path.pop(0)

from engines.flink.rest import FlinkRest
from forescale.local.demo.flink_measurement import bring_to
from forescale.local.flink.distribution import FlinkDistribution
from forescale.local.flink.example_job import example_job
from forescale.local.flink.local_cluster import local_flink
from forescale.local.flink.submission import cancel_job, submit_job
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster
from planner.errors import ClusterError

NAME, RATE_PER_S = "counted", 100
JAVA = Path(__file__).parent / "checkpoint_job" / "java"
TOPOLOGY = Topology(
    NAME,
    (Operator("numbers"), Operator("pass"), Operator("written")),
    (Stream("numbers", "pass", Grouping.SHUFFLE), Stream("pass", "written", Grouping.SHUFFLE)),
)
PARTS = (0.3, 0.6, 0.9, 0.15)
"""Of the interval since the last periodic checkpoint, at which rescales are asked for."""
OF_FLINK_1 = {
    "jobmanager.adaptive-scheduler.scaling-interval.min": "1 s",
    "jobmanager.adaptive-scheduler.resource-stabilization-timeout": "1 s",
}
"""What the local cluster sets under names that came with Flink 2."""


@dataclass(frozen=True)
class Measured:
    """stopped_s, running_s: from the request to the last number of the old plan, and to the running plan. replayed:
    numbers that came again. recovery_s: from the last number until one came that had not come before.
    """

    stopped_s: float
    running_s: float
    replayed: int
    recovery_s: float


class WithoutCheckpoint(FlinkRest):
    """Flink as it is: nobody asks for a checkpoint."""

    def checkpoint_config(self, jid: str) -> None:
        return None


def written(file: Path) -> list[tuple[int, int]]:
    """Numbers with their milliseconds, in the order in which they came."""
    whole = file.read_text(encoding="utf-8").rpartition("\n")[0]
    return [(int(number), int(at_ms)) for number, at_ms in (line.split() for line in whole.splitlines())]


def measured(url: str, job_id: str, file: Path, cluster: FlinkCluster, plan: PhysicalPlan) -> Measured:
    asked_s, lines_before = time.time(), len(written(file))
    bring_to(cluster, plan, RealClock())
    running_s = time.time() - asked_s
    time.sleep(2.0)  # Flink caches what it tells of a job
    # The tasks of the old plan have ended by then. Flink 1 has no history of rescales that tells of the stop.
    created_ms = FlinkRest(url, ClusterError).job(job_id).timestamps["CREATED"]
    assert created_ms >= asked_s * 1000, "the job was not stopped"
    while True:
        lines = written(file)
        stopped_ms = max(at_ms for _, at_ms in lines if at_ms <= created_ms)
        highest = max(number for number, at_ms in lines if at_ms <= stopped_ms)
        if new_ms := [at_ms for number, at_ms in lines[lines_before:] if at_ms > stopped_ms and number > highest]:
            break
        time.sleep(0.5)
    earlier, replayed = {number for number, _ in lines[:lines_before]}, 0
    for number, _ in lines[lines_before:]:
        replayed += number in earlier
        earlier.add(number)
    return Measured(stopped_ms / 1000 - asked_s, running_s, replayed, (min(new_ms) - stopped_ms) / 1000)


def wait_for_part(url: str, job_id: str, interval_s: float, part: float) -> None:
    """Until that part of the interval has passed since a periodic checkpoint."""
    seen = None
    while True:
        latest = httpx.get(f"{url}/jobs/{job_id}/checkpoints", trust_env=False).json()["latest"]
        number = (latest.get("completed") or {}).get("id")
        if seen is not None and number != seen[0]:
            break
        seen = (number,)
        time.sleep(0.2)
    time.sleep(part * interval_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=float, default=20.0, help="seconds between the job's own checkpoints")
    parser.add_argument("--rescales", type=int, default=4, help="with and without, each")
    parser.add_argument(
        "--flink",
        type=Path,
        help="another Flink: a folder with lib/*.jar and bin/bash-java-utils.jar, as `deps` of the archive "
        "apache-flink-libraries-1.20.1.tar.gz on PyPI",
    )
    given = parser.parse_args()
    other = given.flink and FlinkDistribution(given.flink / "lib", given.flink / "bin" / "bash-java-utils.jar")
    found: dict[str, list[Measured]] = {"no": [], "yes": []}
    with (
        tempfile.TemporaryDirectory(prefix="forescale-") as name,
        local_flink(Path(name), checkpoint_interval_s=given.interval, distribution=other, options=OF_FLINK_1) as flink,
    ):
        file = Path(name) / "numbers"
        jar = example_job(flink.java, flink.distribution, flink.folder, JAVA)
        arguments = {"name": NAME, "rate": str(RATE_PER_S), "file": str(file)}
        job_id = submit_job(flink.url, jar, arguments, main_class="counted.Counted")
        both = {asked: FlinkCluster(flink.url, NAME, TOPOLOGY, warm_s=3.0) for asked in found}
        both["no"]._rest = WithoutCheckpoint(flink.url, ClusterError)
        for number in range(given.rescales):
            for asked, cluster in both.items():
                wait_for_part(flink.url, job_id, given.interval, PARTS[number % len(PARTS)])
                plan = cluster.state().plan
                wanted = replace(plan, parallelism={**plan.parallelism, "pass": 3 - plan.parallelism["pass"]})
                found[asked].append(measured(flink.url, job_id, file, cluster, wanted))
                print(f"{asked}: {found[asked][-1]}", flush=True)
        version = FlinkRest(flink.url, ClusterError).major_version()
        cancel_job(flink.url, job_id)
    print(f"\nFlink {version}, its own checkpoints every {given.interval:g} s, {RATE_PER_S} numbers a second\n")
    print("| checkpoint asked for | until the job stops | until the plan runs | processed again | until new ones are |")
    print("|---|---|---|---|---|")
    for asked, several in found.items():
        columns = zip(*((m.stopped_s, m.running_s, m.replayed, m.recovery_s) for m in several), strict=True)
        cells = [f"{statistics.median(each):.1f} ({min(each):.1f} to {max(each):.1f})" for each in columns]
        print(f"| {asked} | {cells[0]} s | {cells[1]} s | {cells[2]} | {cells[3]} s |")


if __name__ == "__main__":
    main()
