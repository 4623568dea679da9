"""The guard heals jobs on a real Flink that were made too small: one tells what waits at its source, one does not."""

import time
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path

import pytest
from machine import stretched

from forescale.local.demo.arrival_schedule import ArrivalSchedule
from forescale.local.demo.modeled_job import ModeledJob
from forescale.local.demo.word_count import COUNT, SOURCE, SPLIT, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clock import RealClock
from planner.clusters.cluster import Pending, Verified
from planner.clusters.flink import FlinkCluster
from planner.deployment import Patience
from planner.guard.terms import GuardTerms
from planner.guard_facts import GuardState, SymptomKind
from planner.guarding import Guarded, GuardTurn, guard_turn
from planner.ledger.ledger import Ledger
from planner.limits import Limits

pytestmark = [pytest.mark.flink, pytest.mark.slow]

JOB = WordCount(name="word-count-under-test")
LIMITS = Limits(max_instances=9, max_parallelism={SOURCE: 1, SPLIT: 4, COUNT: 4})
TERMS = GuardTerms(window_s=20.0, settle_s=20.0, limits=LIMITS)


OFFERED_PER_S = 120.0
LAGGING = ModeledJob(
    Topology("guarded", (Operator("orders"), Operator("work")), (Stream("orders", "work"),)),
    {
        "orders": OperatorProfile("orders", 0.0, {"orders->work": 1.0}, service_cv2=0.0),
        "work": OperatorProfile("work", 0.02, service_cv2=0.0),
    },
)
"""An instance of `work` does 50 a second."""


def turns_until(
    done: Callable[[GuardTurn], object], guarded: Guarded, ledger: Ledger, cluster: FlinkCluster
) -> list[GuardTurn]:
    turns: list[GuardTurn] = []
    while len(turns) < 20 and not (turns and done(turns[-1])):
        turns.append(guard_turn(guarded, ledger, cluster, RealClock()))
    return turns


def made_small(cluster: FlinkCluster, clock: RealClock) -> None:
    state = cluster.state()
    accepted = cluster.apply(replace(state.plan, parallelism={SOURCE: 1, SPLIT: 1, COUNT: 1}), expected=state.plan)
    for _ in range(120):
        progress = cluster.progress(accepted)  # type: ignore[arg-type]
        if not isinstance(progress, Pending):
            break
        clock.wait(0.5)
    assert isinstance(progress, Verified)


def test_guard__heals_a_job_made_too_small_in_one_action(
    cluster: FlinkCluster, word_count: RunningWordCount, tmp_path: Path
) -> None:
    clock, ledger = RealClock(), Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    made_small(cluster, clock)
    # One instance of count takes 5 words of 1 ms a sentence: 200 sentences/s of the 300/s that come.
    word_count.offer(300)
    # What comes is not measured, so the job counts as catching up for drain_s after its start.
    guarded = Guarded(
        JOB.topology, replace(TERMS, drain_s=20.0), acts=True, look_s=6.0, patience=Patience(90.0, 1.0, 3.0)
    )
    said = [turn.reasons for turn in turns_until(lambda turn: turn.judged, guarded, ledger, cluster)]
    (action,) = ledger.guard.actions(JOB.name)
    assert (action.diagnosis, action.action, action.operator) == ("under-provisioned", "scale-up", COUNT), said
    assert action.state is GuardState.EFFECTIVE, (action, said)
    assert action.plan[COUNT] >= 2
    assert cluster.state().plan.parallelism == action.plan
    # What came could only be told from the source's waiting: it was held back to what count managed.
    assert action.reason.scaling is not None
    assert action.reason.scaling.is_estimated
    assert action.before["taken_per_s"] < 250
    assert action.measured["taken_per_s"] > action.before["taken_per_s"]


def test_guard__knows_what_comes_to_a_source_that_tells_what_waits(flink: LocalFlink, tmp_path: Path) -> None:
    ledger = Ledger(f"sqlite:///{tmp_path / 'ledger.db'}")
    job = LAGGING.start(flink, {}, {"orders": ArrivalSchedule((time.time() + 2.0,), (OFFERED_PER_S,))})
    cluster = FlinkCluster(flink.url, LAGGING.name, LAGGING.topology, warm_s=3.0, timeout_s=60)
    limits = Limits(max_parallelism={"orders": 1, "work": 4})
    terms = GuardTerms(window_s=60.0, settle_s=60.0, max_lag_s=10.0, limits=limits)
    guarded = Guarded(LAGGING.topology, terms, acts=True, look_s=6.0, patience=Patience(90.0, 1.0, 3.0))
    with stretched() as stretch:
        turns = turns_until(lambda turn: turn.action, guarded, ledger, cluster)
    job.cancel()
    said = [turn.reasons for turn in turns]
    (action,) = ledger.guard.actions(LAGGING.name)
    assert (action.diagnosis, action.action, action.operator) == ("under-provisioned", "scale-up", "work"), said
    # 120 a second are due, of which one instance takes in 50: by how long the source is held back, 250 would come.
    assert action.before["taken_per_s"] < 60, action
    assert action.before["offered_per_s"] == pytest.approx(OFFERED_PER_S, rel=0.2 * stretch.factor), action
    assert action.before["backlog"] > OFFERED_PER_S / 2 * terms.window_s / 2, action
    (seen,) = [turn.assessment for turn in turns if turn.action is not None]
    assert seen is not None
    # After the settling time a minute of 70 a second waits, which is as much as comes in 35 s.
    assert SymptomKind.LAG in {symptom.kind for symptom in seen.symptoms}, seen
    assert seen.unmeasured == {}
    # Three instances do 150 a second.
    assert action.plan["work"] >= 3
