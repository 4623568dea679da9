"""`forescale deploy now` keeps to the limits of the topology file, unless somebody says why not."""

import json
from pathlib import Path

import numpy as np
import pytest
from certain_forecast import record_certain_forecast
from shadow_days import BEFORE, FIRST, HIGH, MONDAY, NAME, install

from forescale.cli import main
from forescale.jobs.requested_deployment import request_deployment
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from planner.errors import PlanError
from planner.step_cause import StepCauseKind

RUNNING = {"read": 1, "count": 8}
FREEZE = "freeze: [{days: [mon], from: '05:00', until: '07:00', timezone: UTC}]"
"""It is Monday, 06:00."""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    made = install(tmp_path, "act")
    for name, value in (("HOME", made.home), ("TOPOLOGIES", made.topologies), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    return made


def limit(settings: Settings, text: str) -> None:
    file = settings.topologies / f"{NAME}.yaml"
    file.write_text(file.read_text().replace("lead_s: 0", f"lead_s: 0, {text}"))


def runs(settings: Settings) -> dict[str, int]:
    return dict(cluster_of(topology_config(NAME, settings), settings, clock_of(settings)).state().plan.parallelism)


@pytest.mark.parametrize(
    ("text", "count", "reason"),
    [
        (FREEZE, 9, "2026-03-02 06:00 UTC is within planning.freeze, from 2026-03-02 05:00 UTC to 2026-03-02 07:00"),
        ("max_step: 2", 11, "3 instances start or stop > planning.max_step of 2"),
        ("scale_out_only: true", 7, "1 instances stop, and planning.scale_out_only stops none"),
        ("min_parallelism: {count: 8}", 7, "7 instances of operator 'count' < planning.min_parallelism of 8"),
    ],
    ids=["freeze", "max_step", "scale_out_only", "min_parallelism"],
)
def test_a_plan_past_a_limit__is_deployed_by_override_with_a_reason_alone(
    settings: Settings, capsys: pytest.CaptureFixture[str], text: str, count: int, reason: str
) -> None:
    limit(settings, text)
    line = ["deploy", "now", NAME, f"--set=count={count}"]
    for refused, remedy in ((line, "--override --why REASON"), ([*line, "--override"], "say why (--why")):
        with pytest.raises(SystemExit) as ended:
            main(refused)
        assert ended.value.code == 1
        said = capsys.readouterr().err
        assert reason in said
        assert remedy in said
    assert ledger_of(settings).steps(topology=NAME) == []
    assert runs(settings) == RUNNING
    with pytest.raises(SystemExit) as ended:
        main([*line, "--override", "--why", "a fair"])
    assert ended.value.code == 0
    assert runs(settings) == RUNNING | {"count": count}
    ledger = ledger_of(settings)
    (step,) = ledger.steps(topology=NAME)
    assert (asked := ledger.events(step.id)[0].cause) is not None
    assert (asked.kind, asked.detail) == (StepCauseKind.ASKED_FOR, "a fair")
    assert reason in str(asked.limits[0])


def test_a_second_rescale_of_the_day__is_refused_where_one_is_the_most(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    limit(settings, "max_rescales_a_day: 1")
    for count, code in ((9, 0), (10, 1)):
        capsys.readouterr()
        with pytest.raises(SystemExit) as ended:
            main(["deploy", "now", NAME, f"--set=count={count}", "--json"])
        assert ended.value.code == code
    said = capsys.readouterr()
    assert "2 rescales within 24 hours > planning.max_rescales_a_day of 1" in said.err
    (passed,) = json.loads(said.out)["passed"]
    assert (passed["limit"], passed["value"], passed["bound"]) == ("max_rescales_a_day", 2, 1)
    assert runs(settings)["count"] == 9


def test_quotas__are_overridden_by_nobody(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    limit(settings, "max_instances: 10")
    with pytest.raises(SystemExit) as ended:
        main(["deploy", "now", NAME, "--set=count=10", "--override", "--why", "a fair", "--json"])
    assert ended.value.code == 1
    said = capsys.readouterr()
    assert "has 11 instances > planning.max_instances of 10; give fewer, or raise that" in said.err
    refusal = json.loads(said.out)
    assert (refusal["field"], refusal["value"], refusal["bound"]) == ("planning.max_instances", 11, 10)
    assert runs(settings) == RUNNING


def test_a_request_that_is_repeated__is_the_same_step_though_a_freeze_has_begun(settings: Settings) -> None:
    def asked(count: int) -> str:
        ask = {"deploy_at": None, "by": "anna", "request_id": "run 1"}
        return request_deployment(Workspace(settings), NAME, parallelism={"count": count}, **ask).step_id  # type: ignore[arg-type]

    step_id = asked(9)
    limit(settings, FREEZE)
    assert asked(9) == step_id
    with pytest.raises(PlanError, match=r"planning\.freeze"):
        asked(10)


def test_limits_that_are_learnt_from_a_damaged_file__are_those_of_the_topology_file(settings: Settings) -> None:
    profiles = settings.home / "profiles" / f"{NAME}.json"
    profiles.parent.mkdir(parents=True, exist_ok=True)
    profiles.write_text("{")
    with pytest.raises(SystemExit) as ended:
        main(["deploy", "now", NAME, "--set=count=9"])
    assert ended.value.code == 0
    assert runs(settings)["count"] == 9


def test_a_deployed_plan__is_named_once_in_each_answer(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    runs(settings)
    for line in (["deploy", "now", NAME, "--set=count=7"], ["plan", "list", NAME]):
        with pytest.raises(SystemExit) as ended:
            main(line)
        assert ended.value.code == 0
        said = " ".join(capsys.readouterr().out.split())
        assert said.count("read 1 · count 7") == 1, said
        assert "in place at 2026-03-02 06:00:30 UTC" in said.replace(" │ │ │ │ │ ", " ")


def test_a_plan_of_a_job_that_has_just_begun__notes_that_it_is_not_measured_yet(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    record_certain_forecast(
        settings, NAME, np.full(96, HIGH), step_s=900, horizon_s=3600, issued_at=FIRST, trained_from=MONDAY - BEFORE
    )
    runs(settings)
    with pytest.raises(SystemExit) as ended:
        main(["plan", NAME, "--json"])
    assert ended.value.code in (None, 0)
    made = json.loads(capsys.readouterr().out)
    assert made["cause"] == ""
    assert made["notes"][0].startswith("nothing is measured yet of the plan that runs since 06:00:00 UTC")
