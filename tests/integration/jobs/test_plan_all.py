"""All topologies planned at once, on the real ledger and the simulated cluster: quotas, failures, and the command."""

import json
import os
import subprocess
import sys
from datetime import datetime
from pathlib import Path

import pytest
from three_topologies import RATES, TOPOLOGY, environment, fleet_file, install

from forescale.cli.main import main
from forescale.cli.schedule_answer import fleet_answer, schedule_answer
from forescale.jobs.plan import plan
from forescale.jobs.plan_all import PlannedFleet, plan_all
from forescale.report.kit.schedule_words import schedule_words
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import ledger_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.fleet.grants import totals
from planner.fleet.holding import Holding, moments_s
from planner.fleet.terms import Quota
from planner.scaling_schedule import AlternativeKind

pytestmark = [pytest.mark.mlflow, pytest.mark.slow]


def most_held(settings: Settings, made: PlannedFleet) -> int:
    holdings = [Holding(ledger_of(settings).schedule(each.schedule_id).schedule) for each in made.schedules]
    everybody = Quota("", frozenset(each.name for each in holdings), 0)
    return int(totals(holdings, [everybody], moments_s(holdings)).max())


@pytest.fixture(scope="module")
def mlruns(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """To make its tables takes longer than all the rest."""
    return tmp_path_factory.mktemp("mlruns")


@pytest.fixture(scope="module")
def settings(tmp_path_factory: pytest.TempPathFactory, mlruns: Path) -> Settings:
    return install(tmp_path_factory.mktemp("fleet"), mlruns)


def test_over_processes__schedules_are_those_of_each_topology_alone(tmp_path: Path, mlruns: Path) -> None:
    """And one that cannot be planned for is named, and does not stop the others."""
    alone = install(tmp_path / "alone", mlruns)
    one_by_one = [schedule_answer(plan(Workspace(alone), name)) for name in RATES]
    settings = install(tmp_path / "together", mlruns)
    (settings.topologies / "lost.yaml").write_text(TOPOLOGY.replace("NAME", "lost"))
    (settings.topologies / "broken.yaml").write_text("topology: [")
    done = subprocess.run(
        [Path(sys.executable).with_name("forescale"), "plan", "--all", "--workers", "2", "--json"],
        env=os.environ | environment(settings),
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    made = json.loads(done.stdout)
    assert set(made["failures"]) == {"broken", "lost"}, done.stderr
    assert "is not YAML" in made["failures"]["broken"]
    assert "topology 'lost' has no arrival history" in made["failures"]["lost"]
    for one, each in zip(one_by_one, made["schedules"], strict=True):
        told = each["topology"], each["rung"], each["cost_instance_hours"]
        assert told == (one.topology, one.rung, pytest.approx(one.cost_instance_hours))
        steps = [(datetime.fromisoformat(step["deploy_at"]), step["plan"]) for step in each["steps"]]
        assert steps == [(step.deploy_at, step.plan) for step in one.steps]


def test_under_a_quota__the_sum_is_within_it_and_whoever_lacks_some_is_told_who_has_them(settings: Settings) -> None:
    """orders wishes for 1 + 12 to carry 105/s at 95 % at most, clicks for 1 + 6 to carry 55/s, mails for 1 + 3: 24 of
    20. Without more, all miss the same two hours, which clicks avoids with 3 instances and orders with 9. So orders
    gets what 7 and 4 leave of 20.
    """
    wished = plan_all(Workspace(settings), workers=1)
    assert most_held(settings, wished) > 20
    quota = fleet_file(settings, "quota: {nodes: 5, instances_per_node: 4}\n")
    made = plan_all(Workspace(settings), quota, workers=1)
    assert most_held(settings, made) <= 20
    short = fleet_answer(made).short
    assert list(short) == ["orders"]
    assert short["orders"].startswith("at most 9 instances of the quota are granted: 4 instances short from Mon 07:")
    assert short["orders"].endswith("clicks has 7, mails 4")
    # The clock stands: what was wished for was made at the same moment, so the newest is told by its id.
    entries = [ledger_of(settings).schedule(each.schedule_id) for each in made.schedules]
    (schedule,) = (entry.schedule for entry in entries if entry.schedule.topology == "orders")
    assert short["orders"] in schedule_words(schedule)
    assert schedule.excuses[-1].remedy == "raise the quota from 20 to 24 instances"
    again = plan_all(Workspace(settings), quota, workers=1)
    assert ([each.schedule_id for each in again.schedules], fleet_answer(again).short) == (
        [each.schedule_id for each in made.schedules],
        short,
    )


@pytest.mark.spark
def test_over_spark__the_fleet_is_granted_and_brought_apart_as_over_processes(tmp_path: Path, mlruns: Path) -> None:
    """Settings with relative paths, which workers of another working folder would take for others."""
    terms = "quota: {instances: 20}\nstagger: {large_instances: 3, apart_s: 300}\n"
    here = install(tmp_path / "here", mlruns)
    expected = fleet_answer(plan_all(Workspace(here), fleet_file(here, terms), workers=1))
    assert expected.moved or expected.stuck
    there = install(tmp_path / "there", mlruns)
    (there.topologies / "lost.yaml").write_text(TOPOLOGY.replace("NAME", "lost"))
    fleet = fleet_file(there, terms)
    relative = there.model_copy(update={"home": Path("home"), "topologies": Path("files")})
    done = subprocess.run(
        [Path(sys.executable).with_name("forescale"), "plan", "--all", "--spark", "--fleet", fleet, "--json"],
        env=os.environ | environment(relative) | {"FORESCALE_SPARK_MASTER": "local[2]"},
        cwd=there.home.parent,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 1, done.stderr
    made = json.loads(done.stdout)
    assert "topology 'lost' has no arrival history" in made["failures"]["lost"]
    assert (set(made["short"]), len(made["moved"])) == (set(expected.short), len(expected.moved))
    for one, each in zip(expected.schedules, made["schedules"], strict=True):
        told = each["topology"], each["cost_instance_hours"]
        assert told == (one.topology, pytest.approx(one.cost_instance_hours))
        steps = [(datetime.fromisoformat(step["deploy_at"]), step["plan"]) for step in each["steps"]]
        assert steps == [(step.deploy_at, step.plan) for step in one.steps]
        assert ledger_of(there).schedule(each["schedule_id"]).schedule.topology == one.topology


def test_over_spark_on_other_machines__a_ledger_that_is_a_file_is_refused(settings: Settings) -> None:
    elsewhere = settings.model_copy(update={"spark_master": "spark://far.example:7077"})
    with pytest.raises(PlanError, match=r"the ledger is a file of this one; set FORESCALE_LEDGER_URL to a PostgreSQL"):
        plan_all(Workspace(elsewhere), spark=True)


def test_a_quota_below_what_runs__says_what_runs_and_records_nothing(settings: Settings) -> None:
    before = len(ledger_of(settings).schedules("orders"))
    with pytest.raises(PlanError) as error:
        plan_all(Workspace(settings), fleet_file(settings, "quota: {instances: 11}\n"), workers=1)
    assert "the quota is 11 instances, and 12 run now (clicks 4, mails 4, orders 4); raise it to 12" in str(error.value)
    assert len(ledger_of(settings).schedules("orders")) == before


def test_the_command__answers_for_people_and_machines(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for name, value in environment(settings).items():
        monkeypatch.setenv(name, value)
    terms = "quota: {instances: 20}\nstagger: {large_instances: 4, apart_s: 300}\n"
    given = ["plan", "--all", "--workers", "1", "--fleet", str(fleet_file(settings, terms))]
    with pytest.raises(SystemExit) as ended:
        main(given)
    out = capsys.readouterr().out
    assert ended.value.code == 0
    assert "orders: at most 9 instances" in out
    assert "approve each with: forescale plan approve SCHEDULE" in out
    (settings.topologies / "lost.yaml").write_text(TOPOLOGY.replace("NAME", "lost"))
    with pytest.raises(SystemExit) as ended:
        main([*given, "--json"])
    told = json.loads(capsys.readouterr().out)
    assert ended.value.code == 1
    assert ([each["topology"] for each in told["schedules"]], list(told["failures"])) == (list(RATES), ["lost"])


def test_candidates__are_answered_for_and_kept_within_the_limits(tmp_path: Path, mlruns: Path) -> None:
    """Six of count carry 55/s and are what is planned; twenty cost more."""
    settings = install(tmp_path, mlruns)
    proposed = {f"{count}.json": PhysicalPlan("clicks", {"read": 1, "count": count}) for count in (6, 20)}
    made = plan(Workspace(settings), "clicks", proposed)
    schedule = ledger_of(settings).schedule(made.schedule_id).schedule
    told = {each.name: each for each in schedule.alternatives if each.kind is AlternativeKind.CANDIDATE}
    assert told["6.json"].chosen_from
    assert not told["20.json"].chosen_from
    assert (told["20.json"].more_h or 0.0) > 0
    assert plan(Workspace(settings), "clicks").schedule_id != made.schedule_id
    with pytest.raises(
        PlanError, match=r"candidate 99 has 100 instances > planning\.max_instances of 64; leave it out"
    ):
        plan(Workspace(settings), "clicks", {"99": PhysicalPlan("clicks", {"read": 1, "count": 99})})
