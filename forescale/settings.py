"""Settings of one installation, from the environment (`FORESCALE_…`), and the paths that follow from them."""

from pathlib import Path
from typing import Literal
from urllib.parse import urlsplit, urlunsplit

from pydantic import Field, SecretStr
from pydantic_settings import BaseSettings, SettingsConfigDict

PROJECT = Path(__file__).resolve().parent.parent


class Settings(BaseSettings):
    """Where things are kept and who decides. Every field is an environment variable with the prefix FORESCALE_."""

    model_config = SettingsConfigDict(env_prefix="FORESCALE_", extra="ignore")

    home: Path = Field(default=PROJECT / "var", description="Histories, forecasts, reports, the ledger, the simulator.")
    topologies: Path = Field(default=PROJECT / "examples" / "topologies", description="Folder of topology files.")
    ledger_url: SecretStr | None = Field(default=None, description="SQLAlchemy URL; SQLite under home by default.")
    mlflow_uri: str | None = Field(default=None, description="MLflow tracking URI; SQLite under mlruns by default.")
    mlruns: Path = Field(default=PROJECT / "mlruns", description="Default tracking database and artifacts.")
    mlflow_ui: str = Field(default="http://127.0.0.1:5000", description="Where reports link to.")
    airflow_url: str | None = Field(default=None, description="Airflow that `forescale doctor` looks at; none: cron.")
    airflow_user: str = Field(default="admin", description="Who reads Airflow's REST API.")
    airflow_password: SecretStr | None = Field(default=None, description="Of that user.")
    review: bool = Field(default=True, description="Whether a person must approve a schedule before it is deployed.")
    clock: Literal["real", "trace", "paced"] = Field(
        default="real",
        description="trace: of a replayed trace, kept under home; paced: the same, but waiting takes real time.",
    )
    schedule: str = Field(default="5 * * * *", description="Cron of the DAG aggregate, UTC; none: by hand only.")
    spark_master: str = Field(default="local[*]", description="Spark master URL: local[*], spark://…, yarn, k8s://…")
    spark_memory: str = Field(default="1g", description="Heap of the Spark driver, as Spark writes it.")
    spark_settings: dict[str, str] = Field(default={}, description="Further settings of Spark, as JSON.")
    fan_out_from: int = Field(default=16, ge=1, description="Sources from which on they are forecast over Spark.")
    snapshot_days: float = Field(default=90, ge=0, description="How long past commits of a history stay readable.")

    @property
    def history_dir(self) -> Path:
        return self.home / "history"

    @property
    def forecasts_dir(self) -> Path:
        return self.home / "forecasts"

    @property
    def reports_dir(self) -> Path:
        return self.home / "reports"

    @property
    def clock_file(self) -> Path:
        return self.home / "clock"

    @property
    def ledger_sqlalchemy_url(self) -> str:
        if self.ledger_url is not None:
            return self.ledger_url.get_secret_value()
        return f"sqlite:///{self.home.resolve() / 'ledger.db'}"

    @property
    def ledger_is_a_file(self) -> bool:
        return self.ledger_sqlalchemy_url.startswith("sqlite")

    @property
    def tracking_uri(self) -> str:
        return self.mlflow_uri or f"sqlite:///{self.mlruns.resolve() / 'mlflow.db'}"

    @property
    def artifact_root(self) -> str | None:
        """Where a local store keeps artifacts; a server decides by itself (None)."""
        return None if self.mlflow_uri else (self.mlruns.resolve() / "artifacts").as_uri()

    def below_home(self, path: str) -> str:
        """A relative path below home; an absolute one, or one with a scheme (s3://…), as it is."""
        return path if "://" in path else str(self.home / path)

    def anywhere(self) -> "Settings":
        """The same for processes of another working folder: without relative paths."""
        folders = {name: getattr(self, name).resolve() for name in ("home", "topologies", "mlruns")}
        return self.model_copy(update=folders)

    def shown(self) -> dict[str, str]:
        """Every setting as people may see it: without passwords."""
        values = self.model_dump(mode="json") | {"tracking_uri": self.tracking_uri}
        return {name: _without_password(str(value)) for name, value in values.items()}


def _without_password(text: str) -> str:
    """The same, with the user and password of a URL left out."""
    if "://" not in text:
        return text
    parts = urlsplit(text)
    if "@" not in parts.netloc:
        return text
    return urlunsplit(parts._replace(netloc="***@" + parts.netloc.rpartition("@")[2]))
