"""The guard leaves a job alone that is merely warming up."""

from dataclasses import replace
from pathlib import Path

import pytest
from guard_bench import TERMS, Bench, plan_of

from modeling.rescaling.warm_up import WARM, WarmUp
from planner.clusters.cluster import Accepted
from planner.guard.sizing import Sizing
from planner.guard.window import window_of

SLOW = WarmUp(0.05, 1800.0)
"""Of 80 tuples a second, 4 right after the start; 40, which come, after 450 s · ln(.95 / .5) = 289 s."""


def _actions(folder: Path, believed: WarmUp) -> list[str]:
    """40 tuples a second for an hour, with 8 instances that manage 80 once they are warm; changed at minute 5."""
    bench = Bench(folder, [40.0] * 60, 7, terms=replace(TERMS, warm_up=believed), warm_up=SLOW)
    bench.until(5)
    assert isinstance(bench.cluster.apply(plan_of(8), expected=plan_of(7)), Accepted)
    turns = bench.until(30)
    return [turn.action.action for turn in turns if turn.action is not None]


def test_guard__does_not_repair_a_job_that_warms_up(tmp_path: Path) -> None:
    assert _actions(tmp_path, SLOW) == []


def test_guard__that_knows_of_no_warm_up_adds_instances_for_it(tmp_path: Path) -> None:
    assert _actions(tmp_path, WARM)[:1] == ["scale-up"]


def test_sizing__counts_what_a_warm_up_loses_as_backlog_of_the_rescale(tmp_path: Path) -> None:
    bench = Bench(tmp_path, [40.0] * 60, 8)
    bench.until(5)
    since = bench.cluster.state().running_since
    assert since is not None
    window = window_of(
        bench.topology, bench.ledger.guard.looks("pair"), {"read": 1, "work": 8}, since, bench.clock.now(), 180.0
    )
    assert window is not None
    plain, cold = (Sizing(window, replace(TERMS, warm_up=each)).need_per_s["read"] for each in (WARM, SLOW))
    # 0.95 · 450 s · (1 - e^-4) = 420 s of full work, drained within 600 s.
    assert cold - plain == pytest.approx(40.0 * 419.7 / 600.0, rel=0.01)
