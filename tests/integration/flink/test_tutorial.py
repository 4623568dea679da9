"""From `forescale init` to a verified deployment, as docs/quick-start.md tells it, on a real Flink."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from tutorial import COMMANDS, blocks, run_tutorial

from forescale.cli import main
from forescale.files.profile import read_profile_file
from forescale.files.topology import read_topology_file
from forescale.local.demo.modeled_job import ModeledJob
from forescale.local.demo.word_count import SPLIT, RunningWordCount, WordCount
from forescale.local.flink.local_cluster import LocalFlink
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from planner.clusters.flink import FlinkCluster

pytestmark = [pytest.mark.flink, pytest.mark.slow, pytest.mark.timeout(1200), pytest.mark.xdist_group("flink-2")]

SECTION = "A Flink job"
JOB = WordCount(split_ms=250, count_ms=50, words_per_sentence=1)
OTHER = ModeledJob(
    Topology(
        "meeting",
        (Operator("orders"), Operator("clicks"), Operator("check"), Operator("settle")),
        (
            Stream("orders", "check"),
            Stream("check", "settle", Grouping.FIELDS),
            Stream("clicks", "settle", Grouping.FIELDS),
        ),
    ),
    {
        "orders": OperatorProfile("orders", 0.0, {"orders->check": 1.0}, service_cv2=0.0),
        "clicks": OperatorProfile("clicks", 0.0, {"clicks->settle": 1.0}, service_cv2=0.0),
        "check": OperatorProfile("check", 0.008, {"check->settle": 1.5}, service_cv2=0.5),
        "settle": OperatorProfile("settle", 0.004, service_cv2=0.5),
    },
)


@pytest.fixture
def job(flink: LocalFlink) -> Iterator[RunningWordCount]:
    running = JOB.start(flink, 3)
    yield running
    running.cancel()


def test_tutorial__goes_from_a_job_that_nobody_described_to_a_verified_deployment(
    flink: LocalFlink, job: RunningWordCount, tmp_path: Path
) -> None:
    """In five commands; the sixth, the doctor, finds nothing wrong."""
    assert len(COMMANDS.findall("\n".join(blocks(SECTION)))) == 5 + 1
    told = run_tutorial(SECTION, tmp_path, {"FLINK": flink.url})
    assert "verified" in told
    assert "✘" not in told
    # 8 sentences a second of 250 ms keep two instances busy without a pause: three at least.
    state = FlinkCluster(flink.url, JOB.name, JOB.topology, timeout_s=60).state()
    assert state.plan.parallelism[SPLIT] >= 3


def test_init__describes_a_job_of_another_shape_whose_plan_is_then_deployed(
    flink: LocalFlink, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """Two sources that meet: in two commands to a plan of one's own, verified on the cluster."""
    for name, folder in (("HOME", "home"), ("TOPOLOGIES", "topologies"), ("MLRUNS", "mlruns")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(tmp_path / folder))
    running = OTHER.start(flink, {"orders": 40.0, "clicks": 20.0})
    try:
        assert command("init", "--flink", flink.url, "--job", OTHER.name) == 0
        config = read_topology_file(tmp_path / "topologies" / f"{OTHER.name}.yaml")
        assert set(config.as_topology().sources) == {"orders", "clicks"}
        assert {stream.as_stream() for stream in config.streams} == set(OTHER.topology.streams)
        profiles = read_profile_file(tmp_path / "home" / "profiles" / f"{OTHER.name}.json")
        # Told: 8 ms and 4 ms an item. A machine that is late adds to it, and never takes from it.
        assert profiles["check"].service_s > 0.8 * 0.008
        assert profiles["settle"].service_s > 0.8 * 0.004
        assert profiles["check"].selectivity["check->settle"] == pytest.approx(1.5, rel=0.15)
        told = capsys.readouterr().out
        assert "how old may waiting tuples become" in told
        assert "how long is one instance busy" not in told  # calibration has measured it
        assert command("deploy", "now", OTHER.name, "--set", "check=2") == 0
        assert "verified" in capsys.readouterr().out
        plan = FlinkCluster(flink.url, OTHER.name, OTHER.topology, timeout_s=60).state().plan
        assert dict(plan.parallelism) == {"orders": 1, "clicks": 1, "check": 2, "settle": 1}
    finally:
        running.cancel()


def command(*words: str) -> int:
    with pytest.raises(SystemExit) as ended:
        main(words)
    return int(ended.value.code or 0)
