"""The settings file of a home: below the environment, above the defaults, and nothing in it is taken silently."""

import os

import pytest
from pydantic import ValidationError

from forecasting.arrivals.storage.directory import S3Directory
from forescale.settings import PROJECT, SERVICES_OF, SETTINGS_FILE, Settings
from forescale.settings_file import SettingsFileError
from forescale.wiring.parts import ledger_of


@pytest.fixture
def home(tmp_path, monkeypatch):
    for name in Settings.model_fields:
        monkeypatch.delenv(f"FORESCALE_{name.upper()}", raising=False)
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path))
    return tmp_path


def write(home, text):
    (home / SETTINGS_FILE).write_text(text)


def test_settings_file__counts_less_than_the_environment_and_more_than_the_default(home, monkeypatch):
    write(home, "FORESCALE_REVIEW=false\nFORESCALE_SPARK_MEMORY=3g\nFORESCALE_FAN_OUT_FROM=5\n")
    monkeypatch.setenv("FORESCALE_SPARK_MEMORY", "2g")
    settings = Settings(fan_out_from=7)
    assert (settings.review, settings.spark_memory, settings.fan_out_from) == (False, "2g", 7)
    assert settings.spark_master == "local[*]"


def test_settings_file__of_a_home_that_is_passed_in_is_read(home, tmp_path):
    other = tmp_path / "other"
    other.mkdir()
    write(other, "FORESCALE_CLOCK=trace\n")
    assert Settings(home=other).clock == "trace"
    assert Settings().clock == "real"


def test_home_with_a_settings_file__has_its_own_topologies_and_tracking_store(home):
    # Outside the checkout the examples are shared, and the runs of the demo are not.
    assert (Settings().topologies, Settings().mlruns) == (PROJECT / "examples" / "topologies", home / "mlruns")
    assert Settings(home=PROJECT / "var" / "demo").mlruns == PROJECT / "mlruns"
    write(home, "")
    assert (Settings().topologies, Settings().mlruns) == (home / "topologies", home / "mlruns")


def test_artifacts__are_below_mlruns_beside_any_database_and_for_a_server_to_place(home):
    write(home, "FORESCALE_MLFLOW_URI=postgresql+psycopg://mlflow:sesame42@db/mlflow\n")
    assert Settings().artifact_root == (home / "mlruns" / "artifacts").as_uri()
    write(home, "FORESCALE_MLFLOW_URI=https://mlflow.example\n")
    assert Settings().artifact_root is None


def test_settings_file__may_hold_variables_of_other_programs(home):
    write(home, "JAVA_HOME=/usr/lib/jvm/17\n")
    assert Settings().review is True


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("FORESCALE_REVEIW=false", "FORESCALE_REVEIW is not a known setting"),
        ("FORESCALE_HOME=/elsewhere", "FORESCALE_HOME cannot stand in the home that it names"),
        ("FORESCALE_REVIEW=", "FORESCALE_REVIEW has no value"),
        ("FORESCALE_REVIEW", "FORESCALE_REVIEW has no value"),
    ],
)
def test_settings_file__refuses_what_would_be_ignored(home, line, message):
    write(home, line + "\n")
    with pytest.raises(SettingsFileError, match=message) as error:
        Settings()
    assert str(home / SETTINGS_FILE) in str(error.value)


@pytest.mark.parametrize(
    ("variable", "meant"),
    [
        ("FORESCALE_TOPOLGIES", "did you mean FORESCALE_TOPOLOGIES?"),
        ("forescale_ledgerurl", "did you mean FORESCALE_LEDGER_URL?"),
        ("FORESCALE_XYZZY", "remove it or correct its name"),
    ],
)
def test_environment__refuses_a_variable_that_would_be_ignored(home, monkeypatch, variable, meant):
    monkeypatch.setenv(variable, "1")
    with pytest.raises(SettingsFileError) as error:
        Settings()
    assert str(error.value).startswith(f"the environment: {variable} is not a known setting; {meant}")


@pytest.mark.parametrize("name", ["HOME", "TOPOLOGIES", "MLRUNS"])
def test_a_folder__that_is_a_loop_of_links_is_refused(home, monkeypatch, name):
    (home / "loop").symlink_to(home / "loop")
    monkeypatch.setenv(f"FORESCALE_{name}", str(home / "loop"))
    with pytest.raises(ValueError, match=r"loop of links; name a folder|Too many levels of symbolic links"):
        Settings()


def test_environment__may_name_the_folder_of_a_local_service(home, monkeypatch):
    monkeypatch.setenv(SERVICES_OF, str(home))
    assert Settings().home == home


@pytest.mark.parametrize("kind", ["a pipe", "a device", "a folder", "50 MB"])
def test_settings_file__that_is_no_file_of_bounded_size_is_refused(home, kind):
    path = home / SETTINGS_FILE
    if kind == "a pipe":
        os.mkfifo(path)
    elif kind == "a device":
        path.symlink_to("/dev/zero")
    elif kind == "a folder":
        path.mkdir()
    else:
        path.write_bytes(b"#" * (50 << 20))
    with pytest.raises(SettingsFileError, match=r"cannot be read: (it is a pipe|Is a directory|it holds more)"):
        Settings()


def test_settings_file__that_is_not_text_is_named(home):
    (home / SETTINGS_FILE).write_bytes(b"FORESCALE_REVIEW=\xff\xfe\n")
    with pytest.raises(SettingsFileError, match="is not UTF-8"):
        Settings()


@pytest.mark.parametrize(
    ("variable", "value", "said"),
    [
        ("LEDGER_URL", "nope", "is no URL of a database"),
        ("LEDGER_URL", "anna:canary@db/ledger", "cannot be taken apart"),
        ("AIRFLOW_DATABASE_URL", "postgresql:/anna:canary@db/airflow", "cannot be taken apart"),
        ("MLFLOW_URI", "anna:canary@mlflow.example", "cannot be taken apart"),
        ("MLFLOW_URI", "http:/anna:canary@mlflow.example", "cannot be taken apart"),
        ("MLFLOW_URI", "http://mlflow.example:99999", "cannot be taken apart"),
        ("MLFLOW_UI", "javascript:alert(1)", "is no address of a server"),
        ("SCALING_URL", "javascript://h/%0aalert(1)", "is no address of a server"),
        ("REPORTS_URL", "anna:canary@h", "is no address of a server"),
        ("AIRFLOW_URL", "http://airflow.example:99999", "is no address of a server"),
        ("SCHEDULE", "99 * * * *", "'99 * * * *' is no cron of five fields"),
        ("SCHEDULE", "* * * *", "is no cron"),
        ("SCHEDULE", "*/0 * * * *", "is no cron"),
        ("SPARK_MEMORY", "lots", "a text that is not shown is no amount of memory"),
        ("SPARK_MEMORY", "0g", "is no amount of memory"),
        ("SPARK_MEMORY", "1024", "is 0.000977 MiB; Spark needs at least 450m"),
        ("SPARK_MEMORY", "1000000t", "16t is the most"),
        ("SPARK_MASTER", "rm -rf", "is no master of Spark"),
        ("SPARK_MASTER", "local[0]", "is no master of Spark"),
        ("SPARK_MASTER", "spark://anna:canary@h:7077", "is no master of Spark"),
        ("SPARK_MASTER", "spark://h:99999", "is no master of Spark"),
        ("SCHEDULE", "0 0 31 2 *", "is no cron"),
        ("SCHEDULE", "5-1 * * * *", "is no cron"),
        ("SCHEDULE", "*/61 * * * *", "is no cron"),
        ("SCHEDULE", "jan * * * *", "is no cron"),
        ("SCALING_URL", "http://anna:canary@airflow.example", "leave the login out"),
        ("REPORTS_URL", "http://anna:canary@reports.example", "leave the login out"),
        ("MLFLOW_UI", "http://mlflow.example\\@elsewhere", "is no address of a server"),
        ("AIRFLOW_URL", "http://airflow.example/?a=canary", "is no address of a server"),
        ("MLFLOW_URI", "htp://anna:canary@mlflow.example", "is of no kind that MLflow knows"),
        ("MLFLOW_URI", "~/mlruns", "begins with ~"),
        ("MLFLOW_URI", "host=db user=anna password=canary", "settings of a database (not shown"),
        ("HOME", "~/forescale", "begins with ~"),
        ("TOPOLOGIES", "", "is empty"),
        ("MLRUNS", "a\nb", "not printable"),
        ("HOME", "/srv/scale?", "holds '?', which is read otherwise"),
        ("MLRUNS", "/srv/%41b/runs", "holds '%41', which is read otherwise"),
    ],
)
def test_a_setting__that_cannot_be_is_refused_and_shows_no_password(home, monkeypatch, variable, value, said):
    monkeypatch.setenv(f"FORESCALE_{variable}", value)
    with pytest.raises(ValidationError) as error:
        Settings()
    assert said in str(error.value)
    assert "canary" not in str(error.value)


@pytest.mark.parametrize("name", ["100 % of", "a#b", 'it\'s "q"', "a%zz;$HOME", "ünï-日本"])
def test_home__of_an_odd_name_keeps_its_ledger(home, monkeypatch, tmp_path, name):
    monkeypatch.setenv("FORESCALE_HOME", str(tmp_path / name))
    (tmp_path / name).mkdir()
    settings = Settings()
    ledger_of(settings)
    assert settings.ledger_file == tmp_path / name / "ledger.db"
    assert settings.ledger_file.stat().st_size > 0
    assert [folder.name for folder in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("cron", ["5 * * * *", "*/15 6-22 * * mon-fri", "0,30 0 1 jan 7", "@daily", "none"])
def test_schedule__takes_what_airflow_takes(home, monkeypatch, cron):
    monkeypatch.setenv("FORESCALE_SCHEDULE", cron)
    assert Settings().schedule == cron


def test_shown__hides_all_of_an_address_that_cannot_be_taken_apart(home):
    settings = Settings(override_users="anna@example.com").model_copy(update={"mlflow_uri": "http:/anna:canary@h"})
    assert settings.shown()["mlflow_uri"] == settings.shown()["tracking_uri"] == "***"
    assert settings.shown()["override_users"] == "anna@example.com"


def test_history_uri__takes_the_place_of_the_folder_of_histories(home):
    assert Settings().history_dir == home / "history"
    write(home, "FORESCALE_HISTORY_URI=s3://forescale-prod/stream/history/\n")
    assert Settings().history_dir == S3Directory("forescale-prod", "stream/history")
    assert str(Settings().history_dir) == "s3://forescale-prod/stream/history"
    assert Settings(history_uri="s3://forescale-prod").history_dir == S3Directory("forescale-prod")


@pytest.mark.parametrize(
    ("uri", "message"),
    [
        ("/var/history", "has no scheme s3"),
        ("https://forescale-prod.example/history", "has no scheme s3"),
        ("s3://anna:sesame42@forescale-prod/history", "has an @, and so perhaps a login"),
        ("s3://forescale-prod/history?secret=sesame42", "has a query or a fragment"),
        ("s3://", "names the bucket ''"),
        ("s3://Bucket/history", "names the bucket 'Bucket'"),
        ("s3://forescale-prod/a/../b", "has the prefix 'a/../b'"),
        ("s3://forescale-prod/a//b", "has the prefix 'a//b'"),
    ],
)
def test_history_uri__that_is_none_of_an_object_store_is_refused_with_the_form(home, uri, message):
    with pytest.raises(ValidationError) as error:
        Settings(history_uri=uri)
    assert message in str(error.value)
    assert "sesame42" not in str(error.value)


@pytest.mark.parametrize("value", ["local[*]", "local[2,3]", "yarn", "spark://a:7077,b:7077", "k8s://https://h:6443"])
def test_a_master_of_spark__may_be_any_that_spark_knows(home, monkeypatch, value):
    monkeypatch.setenv("FORESCALE_SPARK_MASTER", value)
    assert Settings().spark_master == value


@pytest.mark.parametrize(
    "value", ["0 0 29 feb *", "0 6 31 1,2 *", "0 0 31 2 mon", "5 22-23 * * fri-mon", "0 0 1-7 */2 *"]
)
def test_a_schedule__may_be_any_that_comes(home, monkeypatch, value):
    monkeypatch.setenv("FORESCALE_SCHEDULE", value)
    assert Settings().schedule == value


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("FORESCALE_CLOCK=trace\nFORESCALE_REVIEW false\n", r"line 2 cannot be read \(it is not shown\)"),
        ('FORESCALE_AIRFLOW_PASSWORD="canary\nFORESCALE_REVIEW=false\n', "line 1 cannot be read"),
        ("FORESCALE_REVIEW: false\n", "line 1 cannot be read"),
        ('{"FORESCALE_AIRFLOW_PASSWORD": "canary"}\n', "cannot be read|is not a known setting"),
        (
            "FORESCALE_REVIEW=true\n\nFORESCALE_REVIEW=false\n",
            "line 3: FORESCALE_REVIEW is given twice, first in line 1",
        ),
        ("FORESCALE_MLRUNS=${HOME}/mlruns\n", "line 1: FORESCALE_MLRUNS holds"),
        ("FORSCALE_REVIEW=false\n", "FORSCALE_REVIEW is no setting; did you mean FORESCALE_REVIEW"),
    ],
)
def test_a_line__that_would_be_left_out_is_refused_and_not_shown(home, text, message):
    write(home, text)
    with pytest.raises(SettingsFileError, match=message) as error:
        Settings()
    assert "canary" not in str(error.value)


def test_a_password__is_taken_as_it_stands(home):
    write(home, "\ufeffFORESCALE_AIRFLOW_PASSWORD='a${b}c#d'\nexport JAVA_HOME=${HOME}/java\n")
    password = Settings().airflow_password
    assert password is not None
    assert password.get_secret_value() == "a${b}c#d"


def test_a_misspelt_prefix__in_the_environment_is_refused(home, monkeypatch):
    monkeypatch.setenv("FORECAST_HOME", "/of/another/program")
    Settings()
    monkeypatch.setenv("FORSCALE_REVIEW", "false")
    with pytest.raises(SettingsFileError, match="did you mean FORESCALE_REVIEW"):
        Settings()


def test_a_folder__may_be_the_working_folder(home, monkeypatch):
    monkeypatch.setenv("FORESCALE_TOPOLOGIES", ".")
    assert str(Settings().topologies) == "."
