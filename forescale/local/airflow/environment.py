"""The environment of a self-contained Airflow: below FORESCALE_HOME, on loopback, with all settings ours."""

import json
import os
import secrets
from collections.abc import Mapping
from pathlib import Path

from pydantic import SecretStr

from forescale.local.ports import LOOPBACK
from forescale.places import IN_CHECKOUT, PROJECT, bundled
from forescale.settings import SERVICES_OF, Settings

ROLES = {"admin": "admin", "reviewer": "op", "viewer": "viewer"}
DAGS = bundled("dags")


def airflow_home(settings: Settings) -> Path:
    return settings.home.resolve() / "airflow"


def passwords_file(home: Path) -> Path:
    """File with the passwords of the web interface: JSON, user → password, readable by its owner only."""
    return home / "passwords.json"


def passwords(home: Path) -> dict[str, str]:
    """The passwords, generated once and then kept."""
    file = passwords_file(home)
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    if file.exists():
        kept: dict[str, str] = json.loads(file.read_text())
        return kept
    drawn = {user: secrets.token_urlsafe(18) for user in ROLES}
    with os.fdopen(os.open(file, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as stream:
        json.dump(drawn, stream)
    return drawn


def airflow_environment(
    settings: Settings, port: int, *, dags: Path = DAGS, inherited: Mapping[str, str] | None = None
) -> dict[str, str]:
    """All variables for Airflow's processes and, through them, for its tasks.

    port: of the web interface and the API. Inherited variables AIRFLOW… are dropped: they would point at another
    installation. The variables FORESCALE_… are those of `settings`.
    """
    home = airflow_home(settings)
    base = os.environ if inherited is None else inherited
    kept = {name: value for name, value in base.items() if not name.startswith(("AIRFLOW", "_AIRFLOW"))}
    url = f"http://{LOOPBACK}:{port}"
    ours = {
        "AIRFLOW_HOME": str(home),
        SERVICES_OF: str(home),
        "AIRFLOW__CORE__DAGS_FOLDER": str(dags),
        "AIRFLOW__CORE__PLUGINS_FOLDER": str(home / "plugins"),
        "AIRFLOW__CORE__LOAD_EXAMPLES": "False",
        "AIRFLOW__CORE__EXECUTOR": "LocalExecutor",
        "AIRFLOW__CORE__PARALLELISM": "4",
        "AIRFLOW__CORE__DAGS_ARE_PAUSED_AT_CREATION": "False",
        "AIRFLOW__CORE__HOSTNAME_CALLABLE": "socket.gethostname",
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_USERS": ",".join(f"{user}:{role}" for user, role in ROLES.items()),
        "AIRFLOW__CORE__SIMPLE_AUTH_MANAGER_PASSWORDS_FILE": str(passwords_file(home)),
        **_database(settings),
        "AIRFLOW__API__HOST": LOOPBACK,
        "AIRFLOW__API__PORT": str(port),
        "AIRFLOW__API__BASE_URL": url,  # otherwise tasks call :8080
        # Short loops: a run of three small tasks takes seconds, not a minute.
        "AIRFLOW__SCHEDULER__SCHEDULER_IDLE_SLEEP_TIME": "0.5",  # 0.2 takes a tenth of a core, day and night
        "AIRFLOW__SCHEDULER__SCHEDULER_HEARTBEAT_SEC": "1",
        "AIRFLOW__SCHEDULER__TASK_INSTANCE_HEARTBEAT_TIMEOUT": "60",  # how soon a killed task is run again
        "AIRFLOW__DAG_PROCESSOR__REFRESH_INTERVAL": "30",
        "AIRFLOW__DAG_PROCESSOR__PARSING_PROCESSES": "1",
        # Each file would be parsed every 30 s, in a process of its own; one that has changed is parsed at once anyhow.
        "AIRFLOW__DAG_PROCESSOR__MIN_FILE_PROCESS_INTERVAL": "600",
        # Loopback is never reached through a proxy.
        "NO_PROXY": ",".join(filter(None, [base.get("NO_PROXY", ""), LOOPBACK, "localhost"])),
        "PYTHONPATH": os.pathsep.join(filter(None, [str(PROJECT) if IN_CHECKOUT else "", base.get("PYTHONPATH", "")])),
        # One thread each: tasks fork from a process with these libraries loaded, and soon fill two cores.
        "OMP_NUM_THREADS": "1",
        "OPENBLAS_NUM_THREADS": "1",
        "SPARK_LOCAL_IP": LOOPBACK,
        "MLFLOW_DISABLE_TELEMETRY": "true",
    }
    reached = settings if settings.scaling_url else settings.model_copy(update={"scaling_url": url})
    return kept | ours | forescale_environment(reached)


def _database(settings: Settings) -> dict[str, str]:
    if settings.airflow_database_url is None:
        return {"AIRFLOW__DATABASE__SQL_ALCHEMY_CONN": f"sqlite:///{airflow_home(settings) / 'airflow.db'}"}
    url = settings.airflow_database_url.get_secret_value()
    # Airflow's default is a second driver, asyncpg; psycopg serves both.
    names = ["SQL_ALCHEMY_CONN", *(["SQL_ALCHEMY_CONN_ASYNC"] if url.startswith("postgresql+psycopg:") else [])]
    return {f"AIRFLOW__DATABASE__{name}": url for name in names}


def forescale_environment(settings: Settings) -> dict[str, str]:
    """The same settings for another process; paths are absolute, since its working folder may differ."""
    variables = {}
    for name in type(settings).model_fields:
        value = getattr(settings, name)
        if isinstance(value, SecretStr):
            value = value.get_secret_value()
        if isinstance(value, Path):
            value = value.resolve()
        if value is not None:
            variables[f"FORESCALE_{name.upper()}"] = json.dumps(value) if isinstance(value, dict) else str(value)
    return variables
