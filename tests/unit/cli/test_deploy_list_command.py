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


def test_deploy_list__reads_the_newest_steps_and_says_how_many_are_earlier(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("forescale.cli.plan_list.LISTED_OF_EACH", 2)
    ledger = ledger_of(settings)
    made = ledger.record_schedule(schedule_of(3, 4, 5, 4, 3, topology="calls"), forecasts=())
    one = ledger.record_schedule(schedule_of(4, topology="orders"), forecasts=())
    told = json.loads(listed(capsys, "--json"))
    assert [each["step_id"] for each in told["steps"]] == [f"{made}-4", f"{made}-5", f"{one}-1"]
    assert told["earlier"] == {"calls": 3}
    line = "the 2 newest of calls; earlier ones are in the ledger: 3; `forescale plan list calls` lists more"
    assert line in " ".join(listed(capsys).split())
