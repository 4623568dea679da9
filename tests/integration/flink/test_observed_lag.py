"""`forescale replay --live --observe` on a real job: what waits at its source, and how long, beside the job's logs."""

import time
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
import yaml
from flink_beside import positions
from machine import stretched

from forescale.jobs.observe import observe
from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.demo.flink_measurement import bring_to
from forescale.local.demo.modeled_job import ModeledJob, RunningModeledJob
from forescale.local.demo.word_count import RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from modeling.arrays import Floats
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.flink import FlinkCluster
from planner.ledger.entries import Observation

pytestmark = [pytest.mark.flink, pytest.mark.slow]

TOPOLOGY = Topology("lagging", (Operator("orders"), Operator("work")), (Stream("orders", "work"),))
JOB = ModeledJob(
    TOPOLOGY,
    {
        "orders": OperatorProfile("orders", 0.0, {"orders->work": 1.0}, service_cv2=0.0),
        "work": OperatorProfile("work", 0.02, service_cv2=0.0),
    },
)
"""An instance of `work` does 50 a second."""
OFFERED_PER_S = 80.0
LATE_S = 4.0
"""Flink collects metrics every second here, and is asked every two; the state of the job is read after that."""

BLOCKED_PART = 2.2 / 8
"""Flink counts a blocked spell of a source when it ends, and so its age. Some 110 tuples lie between source and `work`,
which takes 2.2 s for them: by so much the 8 s may be off in which arrivals are counted.
"""

MOST_LOOKS = 8
"""Each takes some ten seconds: so often is looked until the job has caught up."""


@pytest.fixture
def schedule() -> ArrivalSchedule:
    return ArrivalSchedule((time.time() + 2.0,), (OFFERED_PER_S,))


@pytest.fixture
def running(flink: LocalFlink, schedule: ArrivalSchedule) -> Iterator[RunningModeledJob]:
    job = JOB.start(flink, {}, {"orders": schedule})
    yield job
    job.cancel()


def settings_of(folder: Path, flink: LocalFlink, topology: Topology) -> Settings:
    body = {
        "topology": topology.name,
        "operators": {name: {"service_s": 0.01} for name in topology.order},
        "streams": [{"from": stream.upstream, "to": stream.downstream} for stream in topology.streams],
        "planning": {"mode": "shadow"},
        "cluster": {"kind": "flink", "url": flink.url, "job": topology.name, "timeout_s": 60},
    }
    (folder / f"{topology.name}.yaml").write_text(yaml.safe_dump(body))
    return Settings(home=folder / "home", topologies=folder)


def observed(settings: Settings, topology: Topology) -> Observation:
    """Observe once; what the ledger keeps of it."""
    told = observe(Workspace(settings), topology.name)
    assert told.recorded == 1
    [kept] = ledger_of(settings).shadow.observations(topology.name, told.observed_at, told.observed_at)
    assert (kept.lag_s, kept.backlog, kept.unmeasured) == (told.lag_s, told.backlog, told.unmeasured)
    return kept


def test_a_job_made_too_small__falls_behind_and_one_that_is_large_enough_does_not(
    flink: LocalFlink, running: RunningModeledJob, schedule: ArrivalSchedule, tmp_path: Path
) -> None:
    settings = settings_of(tmp_path, flink, TOPOLOGY)
    cluster = FlinkCluster(flink.url, TOPOLOGY.name, TOPOLOGY, warm_s=3.0, timeout_s=60)
    with stretched() as stretch:
        time.sleep(8.0)
        early = observed(settings, TOPOLOGY)
        time.sleep(8.0)
        late = observed(settings, TOPOLOGY)
        verified = bring_to(cluster, PhysicalPlan(TOPOLOGY.name, {"orders": 1, "work": 5}), RealClock())
        for _ in range(MOST_LOOKS):
            caught_up = observed(settings, TOPOLOGY)
            if caught_up.lag_s is not None and caught_up.lag_s < 0.1:
                break
    running.cancel()  # its logs are whole then
    assert verified.downtime_s is not None
    stopped_s = [verified.running_since.timestamp() - verified.downtime_s]

    def truth(at_s: Floats) -> tuple[Floats, Floats]:
        """What waited at the source by the job's own log, and for how long the oldest had."""
        taken, _ = positions(running.folder, schedule, at_s, stopped_s)
        due = schedule.due(at_s)
        return np.maximum(0.0, due - taken), np.maximum(0.0, at_s - schedule.due_s(np.minimum(taken + 1, due)))

    for seen in (early, late):
        at_s = seen.observed_at.timestamp()
        backlog, lag_s = truth(np.linspace(at_s - LATE_S * stretch.factor, at_s, 200))
        assert seen.lag_s is not None
        assert backlog.min() - 5 <= seen.backlog["orders"] <= backlog.max() + 5
        apart = 1 + BLOCKED_PART * stretch.factor
        assert 0.9 * lag_s.min() / apart <= seen.lag_s <= 1.1 * lag_s.max() * apart
        assert seen.unmeasured == ""
    # By hand: 80 a second are due and at most 50 are worked off, fewer on a machine that is late.
    apart_s = (late.observed_at - early.observed_at).total_seconds()
    grown = late.backlog["orders"] - early.backlog["orders"]
    assert 30 * (apart_s - LATE_S * stretch.factor) < grown < 80 * (apart_s + LATE_S * stretch.factor)
    assert early.lag_s is not None
    assert late.lag_s is not None
    assert late.lag_s > early.lag_s > 1.0
    # Five instances do 250 a second. What waited, some 40 s of 30 a second, is gone after ten seconds.
    assert caught_up.lag_s is not None
    assert caught_up.lag_s < 0.5 * stretch.factor
    assert caught_up.backlog["orders"] < 0.5 * OFFERED_PER_S * stretch.factor


def test_a_source_that_tells_nothing__is_unknown_and_says_why(
    flink: LocalFlink, word_count: RunningWordCount, tmp_path: Path
) -> None:
    topology = WordCount(name="word-count-under-test").topology
    seen = observed(settings_of(tmp_path, flink, topology), topology)
    assert (seen.backlog, seen.lag_s) == ({}, None)
    assert "source 'sentences' publishes no pendingRecords" in seen.unmeasured
    assert seen.plan.parallelism["sentences"] >= 1
