"""`forescale deploy outcomes`: deployments on the simulator, and what planning learns of them against the file."""

import json
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from forecasting.arrivals.arrival_source import Arrivals, Measures, SourceArrivals
from forecasting.arrivals.store import write_history
from forescale.cli.main import main
from forescale.files.file_error import FileError
from forescale.report.kit.decision_words import learned_words
from forescale.settings import Settings
from forescale.situation.known_guard import known_guard
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, topology_config
from forescale.wiring.planning_terms import change_terms_of
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock

MONDAY = datetime(2026, 3, 2, tzinfo=UTC)
TOPOLOGY = """
topology: pair
operators:
  read: {service_s: 0.0001}
  work: {service_s: 0.1}
streams:
  - {from: read, to: work}
planning: {downtime_s: 60, lead_s: 300, hold_s: 10}
cluster: {kind: simulator, truth: history, slots: 32, downtime_s: 25, parallelism: {read: 1, work: 2}}
"""


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    (tmp_path / "pair.yaml").write_text(TOPOLOGY)
    made = Settings()
    source = SourceArrivals(np.full(120, 600, dtype=np.int64), np.array([[0, 2**62]]))
    arrivals = Arrivals(MONDAY, MONDAY + timedelta(hours=2), 60, Measures.OFFERED, {"read": source})
    write_history(arrivals, made.history_dir, "pair", arrivals.start, arrivals.end)
    TraceClock(made.clock_file).start_at(MONDAY)
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["deploy", *arguments])
    assert not ended.value.code
    return capsys.readouterr().out


def outcomes(capsys: pytest.CaptureFixture[str], *arguments: str) -> dict[str, Any]:
    told: dict[str, Any] = json.loads(run(capsys, "outcomes", "pair", "--json", *arguments))
    return told


def deploy(settings: Settings, capsys: pytest.CaptureFixture[str], *counts: int) -> None:
    for count in counts:
        clock_of(settings).wait(600)
        run(capsys, "plan", "pair", "--set", f"work={count}")


def test_planning__learns_the_downtime_of_the_simulator_where_the_file_has_another(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    config = topology_config("pair", settings)
    learned = []
    for count in (4, 3, 5):
        deploy(settings, capsys, count)
        learned.append(Workspace(settings).situation(config).learned)
    # One teaches nothing; of two and the file's two the middle of 25, 25, 60, 60; of three the third of five.
    assert [each.planning.downtime_s for each in learned] == [60, 42.5, 25]
    # Instances were added twice, and were there at once: the middle of 0, 0, 300, 300.
    assert [each.planning.lead_s for each in learned] == [300, 300, 150]
    assert change_terms_of(learned[-1].planning, 3600).downtime_s == 25
    assert known_guard(Workspace(settings), config).terms.downtime_s == 25
    words = [learned_words(each.facts)["downtime"] for each in learned]
    assert words[-1] == "25 s, learnt from 3 deployments; before that 60 s"
    assert words[0] == "60 s, declared or by default; measured in 1 deployment, 2 are needed"
    assert config.planning.downtime_s == 60


def test_planning__takes_the_speed_of_a_restore_from_the_site_and_the_rest_from_deployments(
    settings: Settings, capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    """5 GiB at 2 s each, of work alone: each of three downtimes of 25 s leaves 15, and the middle of 15, 15, 15, 60, 60
    is 15.
    """
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text(
        "rescale: {restart_s: 10, restore_s_per_gib: 2, restored: changed operators}\n"
    )
    stateful = TOPOLOGY.replace("work: {service_s: 0.1}", "work: {service_s: 0.1, state_gib: 5}")
    packing = "packing: {packer: first_fit_decreasing, site: site.yaml}\n"
    (tmp_path / "pair.yaml").write_text(stateful + packing)
    config = topology_config("pair", settings)
    deploy(settings, capsys, 4, 3, 5)
    learned = Workspace(settings).situation(config).learned
    assert learned.planning.downtime_s == 15
    terms = change_terms_of(learned.planning, 3600, learned.restore)
    few, many, read = (PhysicalPlan("pair", {"read": r, "work": w}) for r, w in ((1, 2), (1, 4), (2, 2)))
    assert (terms.down_s(config.as_topology(), few, many), terms.down_s(config.as_topology(), few, read)) == (25, 15)
    assert learned.engine.change_s(config.as_topology(), few.parallelism, many.parallelism) == 25
    assert learned_words(learned.facts)["downtime"] == (
        "15 s, learnt from 3 deployments; before that 60 s, and 2 s per GiB of restored state, as the site file says"
    )


def test_a_site_without_a_section_on_rescales__changes_no_downtime(settings: Settings, tmp_path: Path) -> None:
    settings.home.mkdir(parents=True, exist_ok=True)
    (settings.home / "site.yaml").write_text("containers: {cores: 4}\n")
    stateful = TOPOLOGY.replace("work: {service_s: 0.1}", "work: {service_s: 0.1, state_gib: 5}")
    (tmp_path / "pair.yaml").write_text(stateful + "packing: {packer: first_fit_decreasing, site: site.yaml}\n")
    learned = Workspace(settings).situation("pair").learned
    assert (learned.planning.downtime_s, learned.restore.takes_time) == (60, False)


def test_outcomes__show_what_was_measured_and_what_planning_learns(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no deployment of pair has an outcome so far" in run(capsys, "outcomes", "pair")
    deploy(settings, capsys, 4, 3)
    newest, first = outcomes(capsys)["outcomes"]
    assert (newest["parallelism"]["work"], first["parallelism"]["work"]) == (3, 4)
    assert (first["state"], first["predicted"], first["measured"]["downtime_s"]) == ("verified", {}, 25)
    # 25 s of 10/s leave 250 tuples; 40/s drain them beside the 10/s that come in 8.3 s; looked at every 5 s.
    assert 8 <= first["measured"]["catch_up_s"] <= 15
    assert outcomes(capsys)["learned"]["downtime_s"] == 42.5
    assert len(outcomes(capsys, "--last", "1")["outcomes"]) == 1
    told = run(capsys, "outcomes", "pair")
    assert "downtime to plan with: 42.5 s, learnt from 2 deployments; before that 60 s" in told
    assert "25 s" in told


def test_the_guard__works_on_with_the_downtime_of_its_file_where_profiles_are_damaged(settings: Settings) -> None:
    profiles = settings.home / "profiles" / "pair.json"
    profiles.parent.mkdir(parents=True, exist_ok=True)
    profiles.write_text("{")
    config = topology_config("pair", settings)
    with pytest.raises(FileError):
        Workspace(settings).situation(config)
    assert known_guard(Workspace(settings), config).terms.downtime_s == config.planning.downtime_s
