"""A rescale on a real Flink does not wait for the next checkpoint of the job, and little is processed again."""

import time
from dataclasses import replace
from pathlib import Path

import httpx
import pytest

from forescale.local.demo.word_count import WordCount
from forescale.local.flink.local_cluster import local_flink
from planner.clusters.cluster import Accepted, Pending, Verified
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.xdist_group("flink-2")]

INTERVAL_S = 3600.0


def test_a_rescale__restores_a_checkpoint_that_was_made_for_it(tmp_path: Path) -> None:
    # The job's own checkpoints come every hour, and Flink from 2.0 on rescales when one completes.
    with local_flink(tmp_path, checkpoint_interval_s=INTERVAL_S) as flink:
        job = WordCount(name="rare-checkpoints").start(flink, 10)
        cluster = FlinkCluster(flink.url, "rare-checkpoints", WordCount(name="rare-checkpoints").topology, warm_s=3.0)
        while (before := cluster.state()).running_since is None:
            time.sleep(0.5)
        plan = replace(before.plan, parallelism={**before.plan.parallelism, "split": 2, "count": 3})
        accepted = cluster.apply(plan, expected=before.plan)
        assert isinstance(accepted, Accepted), accepted
        assert accepted.note == ""
        for _ in range(240):
            if not isinstance(progress := cluster.progress(accepted), Pending):
                break
            time.sleep(0.5)
        assert isinstance(progress, Verified), progress
        answer = httpx.get(f"{flink.url}/jobs/{job.job_id}/checkpoints", trust_env=False).json()
        restored = next(each for each in answer["history"] if each["id"] == answer["latest"]["restored"]["id"])
        assert restored["trigger_timestamp"] / 1000 >= accepted.at.timestamp() - 1.0  # Flink caches a job for a second
