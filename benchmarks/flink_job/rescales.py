"""Downtimes of rescales with several sizes of state: some are measured to fit the model, the others are predicted."""

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import pairwise

import httpx
from cases import state_job

from forescale.local.demo.flink_measurement import bring_to
from forescale.local.errors import LocalFlinkError
from forescale.local.flink.local_cluster import LocalFlink
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import RescaleModel, declared_rescale
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster

PARALLELISM = (2, 4, 3, 6, 2, 5)
LOAD_PER_S = 400.0
FILLED_S = 60.0
FILLED = 0.97
MIB_PER_GIB = 1024
KNOWN_WITHIN = 10.0
"""Relative error of the declared terms: next to nothing is known."""
RESTART_S = 0.3
"""Restart without state, as measured for the word count on loopback; a tenth of Flink's declared time elsewhere."""


@dataclass(frozen=True)
class Rescale:
    """One measured rescale. state_mib: size of the last checkpoint before it."""

    declared_mib: float
    before: int
    after: int
    state_mib: float
    downtime_s: float

    @property
    def restored_gib(self) -> float:
        return self.state_mib / MIB_PER_GIB


def measured_rescales(flink: LocalFlink, mib: float, progress: Callable[[str], None]) -> list[Rescale]:
    """Several rescales of a job with that much state, one after another."""
    job = state_job(mib)
    clock = RealClock()
    cluster = FlinkCluster(flink.url, job.name, job.topology)
    running = job.start(flink, {"arrivals": LOAD_PER_S})
    found = []
    try:
        bring_to(cluster, _plan(job.name, PARALLELISM[0]), clock)
        _wait_until_filled(flink.url, running.job_id, mib, clock)
        for before, after in pairwise(PARALLELISM):
            clock.wait(2.5)  # the running plan needs a checkpoint
            state_mib = checkpointed_mib(flink.url, running.job_id)
            downtime_s = bring_to(cluster, _plan(job.name, after), clock).downtime_s
            if downtime_s is None:
                raise LocalFlinkError(f"Flink reports no downtime of {job.name}; keep its rescale history on")
            found.append(Rescale(mib, before, after, state_mib, downtime_s))
            progress(f"{job.name} {before} → {after}: {state_mib:.0f} MiB, {downtime_s:.3f} s")
    finally:
        running.cancel()
    return found


def fitted(measured: Sequence[Rescale]) -> RescaleModel:
    """The declared model fitted to these rescales; this cluster's speed of reading state is unknown beforehand."""
    return fitted_rescale(
        [MeasuredRescale(one.downtime_s, one.restored_gib) for one in measured],
        declared_rescale(RESTART_S, relative_error=KNOWN_WITHIN),
    )


def checkpointed_mib(url: str, job_id: str) -> float:
    """Size of all state in the last completed checkpoint, 0 before the first."""
    answer = httpx.get(f"{url}/jobs/{job_id}/checkpoints", trust_env=False, timeout=10.0).json()
    completed = answer.get("latest", {}).get("completed") or {}
    return float(completed.get("state_size", 0)) / 2**20


def _wait_until_filled(url: str, job_id: str, mib: float, clock: RealClock) -> None:
    deadline_s = time.monotonic() + FILLED_S
    while (there_mib := checkpointed_mib(url, job_id)) < FILLED * mib:
        if time.monotonic() > deadline_s:
            raise LocalFlinkError(f"only {there_mib:.0f} of {mib:g} MiB of state after {FILLED_S:g} s; offer more load")
        clock.wait(1.0)


def _plan(name: str, hold: int) -> PhysicalPlan:
    return PhysicalPlan(name, {"arrivals": 1, "hold": hold})
