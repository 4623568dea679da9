"""Rescales of a real Flink with and without a checkpoint that is asked for: how soon the plan runs, and how much is
processed again. `python benchmarks/flink_checkpoint.py [--interval 30] [--rescales 4]`.

Events processed again are those between the trigger of the checkpoint that the job goes on from and its stop, at the
load; both moments are Flink's own.
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
from forescale.local.demo.word_count import SPLIT, WordCount
from forescale.local.flink.local_cluster import LocalFlink, local_flink
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster
from planner.errors import ClusterError

LOAD_PER_S = 100
PARTS = (0.3, 0.6, 0.9, 0.15)
"""Of the interval since the last periodic checkpoint, at which rescales are asked for."""


@dataclass(frozen=True)
class Measured:
    """Seconds from the request to the stop of the tasks and to the running plan; tuples processed again."""

    stopped_s: float
    running_s: float
    replayed: float


class WithoutCheckpoint(FlinkRest):
    """Flink as it is: nobody asks for a checkpoint."""

    def checkpoint_config(self, jid: str) -> None:
        return None


def measured(flink: LocalFlink, job_id: str, cluster: FlinkCluster, plan: PhysicalPlan) -> Measured:
    asked_s = time.time()
    bring_to(cluster, plan, RealClock())
    running_s = time.time() - asked_s
    time.sleep(2.0)  # Flink caches checkpoint statistics
    rest = FlinkRest(flink.url, ClusterError)
    stopped_ms = rest.stopped_ms(job_id, int(asked_s * 1000) - 1000)
    answer = httpx.get(f"{flink.url}/jobs/{job_id}/checkpoints", trust_env=False, timeout=10.0).json()
    number = answer["latest"]["restored"]["id"]
    restored = next(each for each in answer["history"] if each["id"] == number)
    assert stopped_ms is not None
    again_s = (stopped_ms - restored["trigger_timestamp"]) / 1000
    return Measured(stopped_ms / 1000 - asked_s, running_s, LOAD_PER_S * again_s)


def wait_for_part(flink: LocalFlink, job_id: str, interval_s: float, part: float) -> None:
    """Until that part of the interval has passed since a periodic checkpoint."""
    seen = None
    while True:
        latest = httpx.get(f"{flink.url}/jobs/{job_id}/checkpoints", trust_env=False).json()["latest"]
        number = (latest.get("completed") or {}).get("id")
        if seen is not None and number != seen[0]:
            break
        seen = (number,)
        time.sleep(0.2)
    time.sleep(part * interval_s)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--interval", type=float, default=30.0, help="seconds between the job's own checkpoints")
    parser.add_argument("--rescales", type=int, default=4, help="with and without, each")
    given = parser.parse_args()
    found: dict[str, list[Measured]] = {"without": [], "with": []}
    with (
        tempfile.TemporaryDirectory(prefix="forescale-") as folder,
        local_flink(Path(folder), checkpoint_interval_s=given.interval) as flink,
    ):
        job = WordCount(name="checkpoints")
        running = job.start(flink, LOAD_PER_S)
        both = {name: FlinkCluster(flink.url, job.name, job.topology, warm_s=3.0) for name in found}
        both["without"]._rest = WithoutCheckpoint(flink.url, ClusterError)
        while both["with"].state().running_since is None:
            time.sleep(0.5)
        for number in range(given.rescales):
            for name, cluster in both.items():
                plan = both["with"].state().plan
                count = 3 - plan.parallelism[SPLIT]
                wait_for_part(flink, running.job_id, given.interval, PARTS[number % len(PARTS)])
                wanted = replace(plan, parallelism={**plan.parallelism, SPLIT: count})
                found[name].append(measured(flink, running.job_id, cluster, wanted))
                print(f"{name}: {found[name][-1]}", flush=True)
        running.cancel()
    print(f"\nthe job's own checkpoints every {given.interval:g} s, {LOAD_PER_S} tuples a second\n")
    print("| checkpoint asked for | until the job stops | until the plan runs | tuples processed again |")
    print("|---|---|---|---|")
    for name, several in found.items():
        cells = [
            f"{statistics.median(each):.1f} ({min(each):.1f} to {max(each):.1f})"
            for each in zip(*((one.stopped_s, one.running_s, one.replayed) for one in several), strict=True)
        ]
        print(f"| {'yes' if name == 'with' else 'no'} | {cells[0]} s | {cells[1]} s | {cells[2]} |")


if __name__ == "__main__":
    main()
