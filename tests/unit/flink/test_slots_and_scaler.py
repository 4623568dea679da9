"""Slots that lack and are asked for, and Flink's own autoscaler on the same job."""

import json
import sys
from datetime import UTC, datetime, timedelta
from pathlib import Path

import httpx
import pytest
from unit.flink.recorded_flink import COUNT, JOB, TASK_MANAGER, RecordedFlink
from unit.flink.test_flink_adapter import DECLARED, RUNNING

from engines.flink.rest import POLL_S
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clusters.cluster import Accepted, Refusal
from planner.clusters.flink import FlinkCluster
from planner.clusters.slots_command import SlotsCommand

# The recorded cluster has 4 slots: 2 held by the job, 2 free.
SEVEN = PhysicalPlan("word-count", {"sentences": 1, "split": 2, "count": 7})
ASKED_AT = datetime.fromtimestamp(1795161622.739, UTC)


class Waits:
    """A clock on which slots come after so many looks, or somebody else rescales. moves: whether it goes on."""

    moves = False

    def __init__(self, flink: RecordedFlink, after: int, *, others_ask: int | None = None) -> None:
        self.flink, self.after, self.others_ask, self.waits = flink, after, others_ask, 0

    def now(self) -> datetime:
        return ASKED_AT + timedelta(seconds=self.waits * POLL_S if self.moves else 0)

    def wait(self, seconds: float) -> None:
        self.waits += 1
        self.flink.job["now"] += int(seconds * 1000)
        if self.waits == self.after:
            self.flink.bodies[f"/taskmanagers/{TASK_MANAGER}"]["freeSlots"] = 5
            if self.others_ask is not None:
                for name in ("lowerBound", "upperBound"):
                    self.flink.requirements[COUNT]["parallelism"][name] = self.others_ask


def program(folder: Path, body: str) -> Path:
    """That writes its arguments down as JSON first."""
    script = folder / "slots"
    told = f"import json, pathlib, sys\npathlib.Path({str(folder / 'told')!r}).write_text(json.dumps(sys.argv[1:]))\n"
    script.write_text(f"#!{sys.executable}\n{told}{body}\n")
    script.chmod(0o700)
    return script


def cluster(flink: RecordedFlink, command: SlotsCommand | None, clock: Waits | None = None) -> FlinkCluster:
    return FlinkCluster(
        "http://flink:8081",
        "word-count",
        DECLARED,
        slots_command=command,
        clock=clock,
        transport=flink.transport(),
    )


@pytest.fixture
def flink() -> RecordedFlink:
    return RecordedFlink()


def test_apply__asks_for_the_slots_that_lack_and_counts_the_wait_as_lead_time(
    flink: RecordedFlink, tmp_path: Path
) -> None:
    words = [str(program(tmp_path, "")), "--replicas={slots_total}", "{slots_lacking}", "; rm $HOME"]
    clock = Waits(flink, after=3)
    accepted = cluster(flink, SlotsCommand(words), clock).apply(SEVEN, expected=RUNNING)
    # 7 slots are needed of 4: 3 lack, and 4 + 3 are to be there in all. No shell reads the line.
    assert json.loads((tmp_path / "told").read_text()) == ["--replicas=7", "3", "; rm $HOME"]
    assert accepted == Accepted(SEVEN, RUNNING, ASKED_AT)  # three waits later by the job's clock
    assert flink.asked[0][COUNT]["parallelism"]["upperBound"] == 7


def test_apply__refuses_when_the_plan_was_changed_while_slots_were_waited_for(
    flink: RecordedFlink, tmp_path: Path
) -> None:
    command = SlotsCommand([str(program(tmp_path, "")), "{slots_total}"])
    refusal = cluster(flink, command, Waits(flink, after=2, others_ask=4)).apply(SEVEN, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "on its way" in refusal.reason
    assert flink.asked == []


@pytest.mark.parametrize(
    ("body", "message"),
    [
        ("sys.exit(3)", "ended with exit code 3; run it by hand"),
        ("import time; time.sleep(30)", "did not end within 0.5 s and was killed"),
        ("", "succeeded 4 s ago; see what delays the slots"),
    ],
)
def test_apply__refuses_with_the_reason_where_no_slots_come(
    flink: RecordedFlink, tmp_path: Path, body: str, message: str
) -> None:
    timeout_s = 0.5 if "sleep" in body else 60.0
    command = SlotsCommand([str(program(tmp_path, body)), "{slots_total}"], timeout_s=timeout_s, wait_s=4.0)
    refusal = cluster(flink, command, Waits(flink, after=99)).apply(SEVEN, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert message in refusal.reason
    assert flink.asked == []


class Moves(Waits):
    moves = True


def test_slots__are_waited_for_until_the_step_is_of_no_use_and_no_longer(flink: RecordedFlink, tmp_path: Path) -> None:
    """Looked for every 2 s: 6 s go by until the step's time has, of the 300 s that its settings allow."""
    command = SlotsCommand([str(program(tmp_path, "")), "{slots_total}"])
    clock = Moves(flink, after=99)
    latest = ASKED_AT + timedelta(seconds=6)
    refusal = cluster(flink, command, clock).apply_by(SEVEN, expected=RUNNING, latest=latest)
    assert isinstance(refusal, Refusal)
    assert "succeeded 6 s ago, and the step expired at 2026-11-20 08:00:28 UTC" in refusal.reason
    assert "raise planning.lead_s" in refusal.reason
    assert (clock.waits, flink.asked) == (3, [])


def test_slots__of_a_step_that_is_of_no_use_any_more_are_not_asked_for(flink: RecordedFlink, tmp_path: Path) -> None:
    command = SlotsCommand([str(program(tmp_path, "")), "{slots_total}"])
    refusal = cluster(flink, command, Moves(flink, after=1)).apply_by(SEVEN, expected=RUNNING, latest=ASKED_AT)
    assert isinstance(refusal, Refusal)
    assert "3 slots are missing, and the step expired at" in refusal.reason
    assert not (tmp_path / "told").exists()


def test_apply__of_a_command_that_is_not_there_says_so(flink: RecordedFlink) -> None:
    command = SlotsCommand(["/no/such/program", "{slots_total}"])
    refusal = cluster(flink, command).apply(SEVEN, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "cannot be run: No such file or directory" in refusal.reason


def test_apply__asks_for_no_slots_where_the_decision_is_stale(flink: RecordedFlink, tmp_path: Path) -> None:
    command = SlotsCommand([str(program(tmp_path, "")), "{slots_total}"])
    stale = PhysicalPlan("word-count", {"sentences": 1, "split": 1, "count": 1})
    assert isinstance(cluster(flink, command).apply(SEVEN, expected=stale), Refusal)
    assert not (tmp_path / "told").exists()


def configure(flink: RecordedFlink, **options: str) -> None:
    told = [{"key": name.replace("__", "-").replace("_", "."), "value": value} for name, value in options.items()]
    flink.bodies[f"/jobs/{JOB}/jobmanager/config"] = told


WIDER = PhysicalPlan("word-count", {"sentences": 1, "split": 2, "count": 4})


@pytest.mark.parametrize(
    "options",
    [
        {"job_autoscaler_enabled": "true"},
        {"job_autoscaler_enabled": "True", "job_autoscaler_scaling_enabled": "true"},
        {"pipeline_jobvertex__parallelism__overrides": f"{COUNT}:2"},
    ],
)
def test_apply__never_fights_flinks_own_autoscaler(flink: RecordedFlink, options: dict[str, str]) -> None:
    configure(flink, **options)
    refusal = cluster(flink, None).apply(WIDER, expected=RUNNING)
    assert isinstance(refusal, Refusal)
    assert "Flink's own autoscaler (" in refusal.reason
    assert refusal.reason.endswith("set planning.mode: floor, or switch the autoscaler off")
    assert flink.asked == []


@pytest.mark.parametrize(
    "options",
    [
        {},
        {"job_autoscaler_enabled": "false"},
        {"job_autoscaler_enabled": "true", "job_autoscaler_scaling_enabled": "false"},
        {"pipeline_jobvertex__parallelism__overrides": ""},
    ],
)
def test_apply__takes_a_job_whose_autoscaler_does_not_act(flink: RecordedFlink, options: dict[str, str]) -> None:
    configure(flink, **options)
    assert isinstance(cluster(flink, None).apply(WIDER, expected=RUNNING), Accepted)


def test_apply__in_floor_mode_raises_a_job_that_flink_scales_itself(flink: RecordedFlink) -> None:
    configure(flink, job_autoscaler_enabled="true")
    beside = FlinkCluster("http://flink:8081", "word-count", DECLARED, beside_scaler=True, transport=flink.transport())
    assert isinstance(beside.apply(WIDER, expected=RUNNING), Accepted)
    assert flink.asked[0][COUNT]["parallelism"]["upperBound"] == 4


def test_apply__of_a_flink_that_breaks_when_asked_for_its_configuration_changes_nothing(flink: RecordedFlink) -> None:
    flink.replace("GET", f"/jobs/{JOB}/jobmanager/config", lambda _: httpx.Response(500, json={"errors": ["x"]}))
    with pytest.raises(Exception, match="HTTP 500"):
        cluster(flink, None).apply(WIDER, expected=RUNNING)
    assert flink.asked == []
