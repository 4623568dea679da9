"""A rescale on a real Flink does not wait for the next checkpoint of the job, and little is processed again."""

import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from forescale.local.demo.word_count import WordCount
from forescale.local.flink.local_cluster import local_flink
from planner.clusters.cluster import Accepted, Pending, Refusal, Verified
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.xdist_group("flink-2")]

INTERVAL_S = 3600.0
"""Of the job's own checkpoints. Flink from 2.0 on rescales when one completes."""
STABLE_FOR = {"jobmanager.adaptive-scheduler.executing.resource-stabilization-timeout": "60 s"}
"""Flink's default."""


@contextmanager
def rare_checkpoints(folder: Path, cooldown_s: float) -> Iterator[tuple[FlinkCluster, str]]:
    """A running job, as a cluster and by the address of its checkpoints."""
    job = WordCount(name="rare-checkpoints")
    with local_flink(
        folder, checkpoint_interval_s=INTERVAL_S, cooldown_s=cooldown_s, within_s=240, options=STABLE_FOR
    ) as flink:
        running = job.start(flink, 10)
        cluster = FlinkCluster(flink.url, job.name, job.topology, warm_s=3.0, timeout_s=60)
        while cluster.state().running_since is None:
            time.sleep(0.5)
        yield cluster, f"{flink.url}/jobs/{running.job_id}/checkpoints"


def verified(cluster: FlinkCluster, accepted: Accepted | Refusal) -> Verified:
    assert isinstance(accepted, Accepted), accepted
    assert accepted.note == ""
    for _ in range(240):
        if not isinstance(progress := cluster.progress(accepted), Pending):
            break
        time.sleep(0.5)
    assert isinstance(progress, Verified), progress
    return progress


def test_a_rescale__restores_a_checkpoint_that_was_made_for_it(tmp_path: Path) -> None:
    with rare_checkpoints(tmp_path, cooldown_s=1.0) as (cluster, checkpoints):
        before = cluster.state().plan
        plan = replace(before, parallelism={**before.parallelism, "split": 2, "count": 3})
        accepted = cluster.apply(plan, expected=before)
        verified(cluster, accepted)
        answer = httpx.get(checkpoints, trust_env=False, timeout=60).json()
        restored = next(each for each in answer["history"] if each["id"] == answer["latest"]["restored"]["id"])
        assert isinstance(accepted, Accepted)
        assert restored["trigger_timestamp"] / 1000 >= accepted.at.timestamp() - 1.0  # Flink caches a job for a second


def test_an_undo_within_the_cooldown__comes_right_after_it(tmp_path: Path) -> None:
    with rare_checkpoints(tmp_path, cooldown_s=8.0) as (cluster, _):
        before = cluster.state().plan
        accepted = cluster.apply(replace(before, parallelism={**before.parallelism, "split": 2}), expected=before)
        away = verified(cluster, accepted)
        assert isinstance(accepted, Accepted)
        back = verified(cluster, cluster.undo(accepted))
        assert 7.0 <= (back.running_since - away.running_since).total_seconds() <= 20.0
