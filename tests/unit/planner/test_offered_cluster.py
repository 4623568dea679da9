"""Steps that a scaler carries out: deployed by asking nothing, verified by what runs."""

from pathlib import Path

import pytest
from causes import cause_of
from floor_bench import Bench
from ledger_decisions import after, plan_of

from planner.clusters.offered_cluster import OfferedCluster
from planner.deployment import Deployment, Patience, deploy_step
from planner.ledger.step_state import StepState


class Scaler(OfferedCluster):
    """Reaches `count` instances at the second look."""

    def __init__(self, bench: Bench, count: int) -> None:
        super().__init__(bench.cluster, bench.clock)
        self._bench, self._count, self.looks = bench, count, 0

    def progress(self, accepted):  # type: ignore[no-untyped-def]
        self.looks += 1
        if self.looks == 2:
            self._bench.somebody_scales(self._count)
        return super().progress(accepted)


@pytest.fixture
def bench(tmp_path: Path) -> Bench:
    return Bench(tmp_path)


def deployed(bench: Bench, step_id: str, cluster: OfferedCluster) -> Deployment:
    bench.clock.advance_to(bench.ledger.step(step_id).deploy_at)
    return deploy_step(step_id, bench.ledger, cluster, bench.clock, by="test", patience=Patience(300))


@pytest.mark.parametrize("count", [8, 11])
def test_a_step__is_verified_once_the_scaler_runs_as_many_or_more(count: int, bench: Bench) -> None:
    (step_id,) = bench.planned((10, 8))
    done = deployed(bench, step_id, Scaler(bench, count))
    assert done.state is StepState.VERIFIED
    assert bench.runs == count


def test_a_step__that_the_scaler_does_not_follow_ends_with_what_runs_and_changes_nothing(bench: Bench) -> None:
    (step_id,) = bench.planned((10, 8))
    done = deployed(bench, step_id, OfferedCluster(bench.cluster, bench.clock))
    assert done.state is StepState.ROLLED_BACK
    assert "transcribe runs 4 of 8" in cause_of(done).detail
    assert "still offered" in cause_of(done).more
    assert bench.runs == 4


def test_a_step_down__is_verified_at_once_as_more_run(bench: Bench) -> None:
    (step_id,) = bench.planned((10, 2))
    done = deployed(bench, step_id, OfferedCluster(bench.cluster, bench.clock))
    assert done.state is StepState.VERIFIED
    assert bench.runs == 4
    assert bench.clock.now() < after(15)
    assert bench.ledger.step(step_id).plan.same_parallelism(plan_of(2))
