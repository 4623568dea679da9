"""`forescale doctor` on installations that lack this or that."""

import json
import os
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest
import yaml
from history_rows import rows_of_hours
from json_stand_in import JsonStandIn, json_stand_in

from forecasting.arrivals.store import write_history
from forescale.cli import main
from forescale.files.profile import write_profile_file
from modeling.inputs.operator_profile import OperatorProfile

TOPOLOGY = {
    "topology": "words",
    "operators": {"lines": {"service_s": 0.001}, "count": {"service_s": 0.002}},
    "streams": [{"from": "lines", "to": "count"}],
    "arrivals": {"path": "events", "columns": {"time": "t", "id": "i"}, "source": "lines"},
    "cluster": {"kind": "flink", "url": "http://127.0.0.1:9", "job": "words"},
}


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    (tmp_path / "topologies").mkdir()
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("FORESCALE_MLRUNS", str(tmp_path / "mlruns"))
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "topologies"))
    (tmp_path / "topologies" / "words.yaml").write_text(yaml.safe_dump(TOPOLOGY))
    return tmp_path / "home"


def doctor(capsys: pytest.CaptureFixture[str], *options: str, code: int) -> dict[str, Any]:
    """Findings by check."""
    capsys.readouterr()
    with pytest.raises(SystemExit) as ended:
        main(["doctor", *options, "--json"])
    assert ended.value.code == code
    answer = json.loads(capsys.readouterr().out)
    assert answer["good"] is (code == 0)
    return {finding["check"]: finding for finding in answer["findings"]}


def test_doctor__names_all_that_a_fresh_installation_lacks(capsys: pytest.CaptureFixture[str]) -> None:
    found = doctor(capsys, "words", code=1)
    assert list(found) == [
        "settings",
        "topology file",
        "clocks",
        "arrivals",
        "history",
        "history quality",
        "lost events",
        "forecast",
        "recorded times",
        "calibration",
        "assumptions",
        "cluster",
        "rights",
        "slots",
        "ledger",
        "MLflow",
        "Airflow",
    ]
    bad = {name for name, finding in found.items() if finding["verdict"] == "bad"}
    assert bad == {"arrivals", "history", "calibration", "cluster"}
    assert {name for name in bad if found[name]["remedy"]} >= {"arrivals", "calibration"}
    assert found["slots"]["detail"] == "cluster must be good first"
    assert found["forecast"]["detail"] == "history must be good first"
    assert "FORESCALE_AIRFLOW_URL" in found["Airflow"]["detail"]
    assumed = found["assumptions"]["detail"]
    assert assumed.startswith(
        "service times of count, lines of the topology file (`forescale model calibrate words` measures them); "
    )
    assert "spread of service times of count, lines exponential (`forescale model calibrate" in assumed
    assert "memory never short (name a site with containers.memory_mib in packing.site)" in assumed
    assert "links without delay (name a site with links in packing.site)" in assumed
    assert "containers one instance each (add a section packing)" in assumed
    assert "cores never short (name a site with containers.cores in packing.site)" in assumed
    assert "downtime by default (two deployments teach it; until then declare planning.downtime_s)" in assumed
    assert "by default (declare them in planning); budget by default (declare planning.allow)" in assumed


def test_doctor__tells_a_broken_file_and_checks_nothing_that_needs_it(
    capsys: pytest.CaptureFixture[str], tmp_path: Path
) -> None:
    (tmp_path / "topologies" / "words.yaml").write_text("topology: words\n")
    found = doctor(capsys, "words", code=1)
    assert "operators is missing" in found["topology file"]["detail"]
    assert found["cluster"]["verdict"] == "not checked"
    assert found["ledger"]["verdict"] == "good"


def test_doctor__takes_a_fleet_file_for_no_topology(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    fleet = tmp_path / "topologies" / "fleet.yaml"
    fleet.write_text(yaml.safe_dump({"quota": {"instances": 9}}))
    capsys.readouterr()
    with pytest.raises(SystemExit):
        main(["doctor", "--fleet", str(fleet), "--json"])
    findings = json.loads(capsys.readouterr().out)["findings"]
    assert {finding["of"] for finding in findings} == {"", "words"}


def test_doctor__tells_the_newest_event_file_in_utc(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, home: Path
) -> None:
    file = home / "events" / "one.csv"
    file.parent.mkdir(parents=True)
    file.touch()
    os.utime(file, (1_709_467_200, 1_709_467_200))  # 2024-03-03 12:00 UTC
    monkeypatch.setenv("TZ", "Asia/Tokyo")
    time.tzset()
    try:
        arrivals = doctor(capsys, "words", code=1)["arrivals"]
    finally:
        monkeypatch.undo()
        time.tzset()
    assert "the newest of 2024-03-03 12:00 UTC" in arrivals["detail"]


def test_doctor__knows_a_home_that_cannot_be_written_to(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    # The superuser has every right to /proc, and still cannot write there.
    monkeypatch.setenv("FORESCALE_HOME", "/proc/forescale")
    found = doctor(capsys, "words", code=1)
    assert "/proc cannot be written to" in found["settings"]["detail"]


def test_doctor__knows_a_lost_ledger_and_makes_no_empty_one(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    (home / "deployments").mkdir(parents=True)
    ledger = doctor(capsys, "words", code=1)["ledger"]
    assert ledger["verdict"] == "bad"
    assert "it was lost" in ledger["detail"]
    assert not (home / "ledger.db").exists()


def test_doctor__knows_a_history_below_its_bounds(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = end - timedelta(days=2)
    # A quarter of two days is missing, a tenth is allowed.
    rows = rows_of_hours(
        f"{start:%Y-%m-%dT%H:%M}", [*[100] * 12, *[None] * 12, *[100] * 24], source="lines", topology="words"
    )
    write_history(rows, home / "history", "words", start, end)
    found = doctor(capsys, "words", code=1)
    assert found["history"]["verdict"] == "good"
    assert found["history quality"]["verdict"] == "bad"
    assert "arrivals.quality.min_observed of lines: 0.75, the bound is 0.9" in found["history quality"]["detail"]
    assert found["history quality"]["remedy"]


def test_doctor__asks_about_a_day_on_which_hardly_anything_came(capsys: pytest.CaptureFixture[str], home: Path) -> None:
    end = datetime.now(UTC).replace(minute=0, second=0, microsecond=0)
    start = end - timedelta(days=14)
    counts = [1000] * (14 * 24)
    counts[-60:-36] = [100] * 24
    rows = rows_of_hours(f"{start:%Y-%m-%dT%H:%M}", counts, source="lines", topology="words")
    write_history(rows, home / "history", "words", start, end)
    lost = doctor(capsys, "words", code=1)["lost events"]
    assert lost["verdict"] == "bad"
    assert "came 10 % of what is usual" in lost["detail"]
    assert f"kind: outage, start: {end - timedelta(hours=60):%Y-%m-%dT%H:%M:%SZ}" in lost["detail"]


def test_doctor__knows_a_folder_of_topologies_that_is_not_there(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", str(tmp_path / "nowhere"))
    found = doctor(capsys, "words", code=1)
    assert "nowhere is no folder" in found["settings"]["detail"]
    assert {finding["verdict"] for name, finding in found.items() if name != "settings"} == {"not checked"}


@pytest.mark.parametrize(("age", "verdict"), [(timedelta(days=6), "good"), (timedelta(days=8), "bad")])
def test_doctor__holds_a_calibration_to_seven_days(
    capsys: pytest.CaptureFixture[str], home: Path, age: timedelta, verdict: str
) -> None:
    profiles = {name: OperatorProfile(name, 0.001, samples=9) for name in ("lines", "count")}
    path = home / "profiles" / "words.json"
    write_profile_file(path, "words", profiles, (datetime.now(UTC) - age).isoformat())
    assert doctor(capsys, "words", code=1)["calibration"]["verdict"] == verdict


def _airflow(server: JsonStandIn, paused: set[str]) -> None:
    """In the shapes of Airflow 3's REST API."""
    dags = [{"dag_id": name, "is_paused": name in paused} for name in ("aggregate", "forecast", "plan", "deploy")]
    healthy = {"scheduler": {"status": "healthy"}, "dag_processor": {"status": "healthy"}}
    server.answers |= {
        "/api/v2/monitor/health": healthy,
        "/api/v2/importErrors": {"import_errors": []},
        "/api/v2/dags": {"dags": dags},
        "/auth/token": {"access_token": "t"},
    }


@pytest.mark.parametrize(("paused", "verdict"), [(set(), "good"), ({"forecast", "deploy"}, "bad")])
def test_doctor__sees_dags_that_are_paused(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, paused: set[str], verdict: str
) -> None:
    with json_stand_in() as server:
        _airflow(server, paused)
        monkeypatch.setenv("FORESCALE_AIRFLOW_URL", server.url)
        monkeypatch.setenv("FORESCALE_AIRFLOW_PASSWORD", "hunter2")
        airflow = doctor(capsys, "words", code=1)["Airflow"]
    assert airflow["verdict"] == verdict
    assert ("airflow dags unpause forecast; airflow dags unpause deploy" in airflow["remedy"]) is bool(paused)
    assert "hunter2" not in str(airflow)


def test_doctor__shows_no_password_of_servers_that_do_not_answer(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("FORESCALE_AIRFLOW_URL", "http://me:hunter2@127.0.0.1:9")
    monkeypatch.setenv("FORESCALE_AIRFLOW_PASSWORD", "hunter3")
    monkeypatch.setenv("FORESCALE_LEDGER_URL", "postgresql+psycopg://me:hunter4@127.0.0.1:9/ledger")
    monkeypatch.setenv("FORESCALE_MLFLOW_URI", "http://me:hunter5@127.0.0.1:9")
    found = doctor(capsys, "words", code=1)
    assert {found[name]["verdict"] for name in ("ledger", "MLflow", "Airflow")} == {"bad"}
    assert "hunter" not in str(found)
