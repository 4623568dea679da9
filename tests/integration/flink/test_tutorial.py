"""From `forescale init` to a verified deployment, as docs/tutorials/flink.md tells it, on a real Flink."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tutorial import COMMANDS, blocks, run_tutorial

from forescale.local.demo.word_count import SPLIT, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from forescale.settings import PROJECT
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.timeout(1200)]

PAGE = PROJECT / "docs" / "tutorials" / "flink.md"
JOB = WordCount(split_ms=250, count_ms=50, words_per_sentence=1)


@pytest.fixture
def job(flink: LocalFlink) -> Iterator[RunningWordCount]:
    running = JOB.start(flink, 3)
    yield running
    running.cancel()


def test_tutorial__goes_from_a_job_that_nobody_described_to_a_verified_deployment(
    flink: LocalFlink, job: RunningWordCount, tmp_path: Path
) -> None:
    """In six commands; the seventh, the doctor, finds nothing wrong."""
    assert len(COMMANDS.findall("\n".join(blocks(PAGE)))) == 6 + 1
    told = run_tutorial(PAGE, tmp_path, {"FLINK": flink.url})
    assert ": verified," in told
    assert "✘" not in told
    # 8 sentences a second of 250 ms keep two instances busy without a pause: three at least.
    state = FlinkCluster(flink.url, JOB.name, JOB.topology).state()
    assert state.plan.parallelism[SPLIT] >= 3
