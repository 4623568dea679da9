"""Checks of an installation: settings, ledger, MLflow, Airflow."""

import errno
import os
from pathlib import Path
from tempfile import TemporaryFile

from forescale.doctor.examination import AilmentError, Check, NotUsedError
from forescale.settings import Settings
from forescale.wiring.lost_ledger import check_not_lost, is_new
from forescale.wiring.parts import ledger_of
from modeling.wording import count_of

NEEDED_DAGS = ("aggregate", "forecast", "plan", "deploy")
WRITTEN = ("history", "forecasts", "reports", "profiles", "deployments")
"""Folders of a home that jobs write to."""
IMPORT_S = 30.0
"""Time limit for imports: MLflow takes seconds to load, longer on a busy machine."""


def installation_checks(settings: Settings) -> list[Check]:
    return [
        Check("ledger", lambda: _ledger(settings), ["settings"], 15.0),
        Check("MLflow", lambda: _mlflow(settings), ["settings"], IMPORT_S),
        Check("Airflow", lambda: _airflow(settings), ["settings"], 15.0),
    ]


def settings_check(settings: Settings) -> Check:
    return Check("settings", lambda: _settings(settings))


def _settings(settings: Settings) -> str:
    home = settings.home.resolve()
    kept = next(folder for folder in (home, *home.parents) if folder.exists())
    for folder in (kept, *(home / name for name in WRITTEN if (home / name).exists())):
        _check_writable(folder)
    if not settings.topologies.is_dir():
        raise AilmentError(
            f"{settings.topologies} is no folder", "set FORESCALE_TOPOLOGIES to the folder of topology files"
        )
    return f"home {home}, topologies {settings.topologies}, clock {settings.clock}"


def _check_writable(folder: Path) -> None:
    """Writes a file without a name: rights alone do not tell of a full disk or one that is mounted to be read."""
    try:
        with TemporaryFile(dir=folder) as file:
            file.write(bytes(4096))
            file.flush()
            os.fsync(file.fileno())
    except OSError as error:
        remedy = "free space on that disk" if error.errno == errno.ENOSPC else "give this user its rights"
        raise AilmentError(
            f"{folder} cannot be written to: {error.strerror or error}", f"{remedy}, or set FORESCALE_HOME"
        ) from None


def _ledger(settings: Settings) -> str:
    check_not_lost(settings)
    if settings.ledger_file is not None and is_new(settings.ledger_file):
        return "none yet; the first forecast or deployment makes it"
    topologies = ledger_of(settings).forecast_topologies()
    return f"answers; it knows forecasts of {count_of(len(topologies), 'topology')}"


def _mlflow(settings: Settings) -> str:
    uri = settings.tracking_uri
    if uri.startswith("sqlite:///") and not Path(uri.removeprefix("sqlite:///")).exists():
        return "no store yet; the first forecast makes it"
    from engines.redaction import without_credentials
    from forecasting.tracking.store_access import connected_client

    connected_client(uri)
    return f"{without_credentials(uri)} answers"


def _airflow(settings: Settings) -> str:
    if settings.airflow_url is None:
        raise NotUsedError("FORESCALE_AIRFLOW_URL is not set: fine if cron runs the jobs")
    if "@" in settings.airflow_url:
        raise AilmentError(
            "FORESCALE_AIRFLOW_URL holds a name or a password (it is not shown)",
            "give these by FORESCALE_AIRFLOW_USER and FORESCALE_AIRFLOW_PASSWORD",
        )
    if settings.airflow_password is None:
        raise AilmentError("the password of Airflow's user is missing", "set FORESCALE_AIRFLOW_PASSWORD")
    from forescale.local.airflow.client import AirflowClient

    shown = settings.airflow_url
    client = AirflowClient(settings.airflow_url, settings.airflow_user, settings.airflow_password.get_secret_value())
    health = client.health()
    if ill := sorted(part for part, status in health.items() if status != "healthy"):
        raise AilmentError(f"Airflow at {shown}: {', '.join(ill)} not healthy", "see its logs, and start it again")
    if errors := client.import_errors():
        first = errors[0].splitlines()
        raise AilmentError(
            f"Airflow at {shown} cannot parse {count_of(len(errors), 'file')}, first {first[0]} {first[-1]}",
            "install forescale where its DAG processor runs, and see `airflow dags list-import-errors`",
        )
    paused = client.paused()
    if lacking := [name for name in NEEDED_DAGS if name not in paused]:
        raise AilmentError(
            f"Airflow at {shown} has no DAG {', '.join(lacking)}", "point its dags_folder at forescale's dags/"
        )
    if held := [name for name in NEEDED_DAGS if paused[name]]:
        raise AilmentError(
            f"Airflow at {shown}: {', '.join(held)} paused",
            f"run: {'; '.join(f'airflow dags unpause {n}' for n in held)}",
        )
    return f"{shown} has parsed {', '.join(NEEDED_DAGS)}; none is paused"
