"""`forescale plan list`: every step of one topology, or of all."""

import json
from pathlib import Path

import pytest
from ledger_decisions import schedule_of

from forescale.cli.main import main
from forescale.settings import Settings
from forescale.wiring.parts import ledger_of


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    return Settings()


def listed(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as ended:
        main(["plan", "list", *arguments])
    assert ended.value.code == 0
    return capsys.readouterr().out


def test_deploy_list__without_a_topology_shows_the_steps_of_all(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = ledger_of(settings)
    calls = ledger.record_schedule(schedule_of(3, topology="calls"), forecasts=())
    orders = ledger.record_schedule(schedule_of(4, topology="orders"), forecasts=())
    assert {(s["topology"], s["step_id"]) for s in json.loads(listed(capsys, "--json"))["steps"]} == {
        ("calls", f"{calls}-1"),
        ("orders", f"{orders}-1"),
    }
    shown = listed(capsys)
    assert shown.index("steps of calls") < shown.index("steps of orders")


def test_deploy_list__of_an_empty_ledger_says_what_proposes_steps(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    assert "no topology has a step so far" in listed(capsys)
