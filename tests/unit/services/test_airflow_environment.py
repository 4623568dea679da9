import stat
from pathlib import Path

import pytest
from pydantic import SecretStr

from forecasting.tracking.mlflow_tracker import MlflowTracker
from forescale.local.airflow.environment import airflow_environment, forescale_environment, passwords, passwords_file
from forescale.local.up import with_mlflow_links
from forescale.settings import Settings


@pytest.fixture
def settings(tmp_path):
    return Settings(home=tmp_path / "home", clock="trace", review=False, ledger_url=SecretStr("sqlite:////l.db"))


def test_environment__drops_what_points_at_another_airflow(settings):
    inherited = {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": "postgresql://prod", "AIRFLOW_HOME": "/prod", "PATH": "/bin"}
    environment = airflow_environment(settings, 8080, inherited=inherited)
    assert environment["AIRFLOW__DATABASE__SQL_ALCHEMY_CONN"].startswith("sqlite:///")
    assert environment["AIRFLOW_HOME"] == str(settings.home / "airflow")
    assert environment["PATH"] == "/bin"
    assert not [value for value in environment.values() if "prod" in value]


def test_environment__names_the_database_for_both_ways_airflow_asks_it(settings):
    url = "postgresql+psycopg://airflow:sesame42@db/airflow"
    given = settings.model_copy(update={"airflow_database_url": SecretStr(url)})
    environment = airflow_environment(given, 8080, inherited={})
    assert {environment[f"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN{ending}"] for ending in ("", "_ASYNC")} == {url}
    # Where it names another driver, Airflow itself knows the one for the other way.
    given = settings.model_copy(update={"airflow_database_url": SecretStr("postgresql+psycopg2://a:b@db/airflow")})
    assert "AIRFLOW__DATABASE__SQL_ALCHEMY_CONN_ASYNC" not in airflow_environment(given, 8080, inherited={})


def test_environment__keeps_to_loopback(settings):
    environment = airflow_environment(settings, 8123, inherited={"NO_PROXY": "intranet"})
    assert environment["AIRFLOW__API__HOST"] == "127.0.0.1"
    assert environment["AIRFLOW__API__BASE_URL"] == "http://127.0.0.1:8123"
    assert environment["NO_PROXY"] == "intranet,127.0.0.1,localhost"


def test_environment__lets_messages_link_to_this_airflow_unless_people_reach_it_by_another_name(settings):
    assert airflow_environment(settings, 8123, inherited={})["FORESCALE_SCALING_URL"] == "http://127.0.0.1:8123"
    named = settings.model_copy(update={"scaling_url": "https://airflow.example"})
    assert airflow_environment(named, 8123, inherited={})["FORESCALE_SCALING_URL"] == "https://airflow.example"


def test_forescale_environment__makes_the_same_settings_elsewhere(settings, monkeypatch, tmp_path):
    for name, value in forescale_environment(settings).items():
        monkeypatch.setenv(name, value)
    monkeypatch.chdir(tmp_path)
    again = Settings()
    assert (
        again.model_dump()
        == settings.model_copy(
            update={name: Path(getattr(settings, name)).resolve() for name in ("home", "topologies", "mlruns")}
        ).model_dump()
    )


def test_passwords__are_drawn_once_and_readable_by_their_owner_alone(tmp_path):
    first = passwords(tmp_path / "airflow")
    assert set(first) == {"admin", "reviewer", "viewer"}
    assert all(len(password) >= 20 for password in first.values())
    assert passwords(tmp_path / "airflow") == first
    assert stat.S_IMODE(passwords_file(tmp_path / "airflow").stat().st_mode) == 0o600


def test_links_to_mlflow__hold_no_password(settings):
    uri = "https://anna:sesame/42@mlflow.example:5000/tracked"
    linked = with_mlflow_links(settings.model_copy(update={"mlflow_uri": uri}), 5001)
    assert (linked.mlflow_uri, linked.mlflow_ui) == (uri, "https://mlflow.example:5000/tracked")
    assert with_mlflow_links(settings, 5001).mlflow_ui == "http://127.0.0.1:5001"
    assert MlflowTracker(uri, ui_url=uri).ui_url == linked.mlflow_ui
