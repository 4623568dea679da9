"""Settings of one installation and the paths that follow from them.

They come from the environment (`FORESCALE_…`), else from the file `forescale.env` in the home.
"""

import difflib
import os
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

from pydantic import Field, SecretStr, field_validator
from pydantic_settings import BaseSettings, DotEnvSettingsSource, PydanticBaseSettingsSource, SettingsConfigDict

from engines.address import can_be_taken_apart, is_http_address
from engines.redaction import without_credentials
from engines.regular_file import MAX_SECRET_BYTES, check_regular
from forecasting.arrivals.storage.directory import Directory, s3_directory
from forescale.cron import is_cron
from forescale.places import IN_CHECKOUT, PROJECT, default_home
from forescale.plain_numbers import PlainNumbers
from forescale.setting_checks import odd_folder, odd_heap, odd_spark_master, odd_tracker, setting_shown
from forescale.settings_file import PREFIX, SettingsFileError, misspelt_prefix, settings_lines

SETTINGS_FILE = "forescale.env"
DATABASES = frozenset({"sqlite", "postgresql", "mysql", "mssql"})
"""URL schemes of the databases that MLflow can use."""


SERVICES_OF = "FORESCALE_SERVICES_OF"
"""Environment variable of every local service with the folder it belongs to: no setting."""


_MISREAD = re.compile(r"\?|%[0-9A-Fa-f]{2}")
"""Cut off, or decoded, in the path of an SQLite address."""


def _in_home(folder: str, in_checkout: str, *, shared: bool) -> Callable[[dict[str, Any]], Path]:
    """A folder of the home. A home without a settings file uses the checkout's: any home if it is shared, as examples
    are, and else only one within the checkout.
    """

    def default(data: dict[str, Any]) -> Path:
        home = data.get("home") or default_home()
        beside = shared or Path(home).resolve().is_relative_to(PROJECT)
        own = (home / SETTINGS_FILE).exists() or not (IN_CHECKOUT and beside)
        return Path(home / folder) if own else PROJECT / in_checkout

    return default


class Settings(PlainNumbers, BaseSettings):
    """Where data is kept and who decides. Every field is an environment variable with the prefix FORESCALE_, and may
    be set in the settings file of the home. The environment has precedence.

    Raises SettingsFileError if one of them holds an unknown setting, and pydantic's ValidationError for wrong values.
    """

    model_config = SettingsConfigDict(env_prefix=PREFIX, extra="ignore", hide_input_in_errors=True)

    home: Path = Field(
        default_factory=default_home, description="Histories, forecasts, reports, the ledger, the simulator."
    )
    topologies: Path = Field(
        default_factory=_in_home("topologies", "examples/topologies", shared=True),
        description="Folder of topology files.",
    )
    ledger_url: SecretStr | None = Field(default=None, description="SQLAlchemy URL; SQLite under home by default.")
    mlflow_uri: str | None = Field(default=None, description="MLflow tracking URI; SQLite under mlruns by default.")
    mlruns: Path = Field(
        default_factory=_in_home("mlruns", "mlruns", shared=False),
        description="Default tracking database and artifacts.",
    )
    mlflow_ui: str = Field(default="http://127.0.0.1:5000", description="MLflow's address in links of reports.")
    airflow_url: str | None = Field(default=None, description="Airflow that `forescale doctor` looks at; none: cron.")
    airflow_database_url: SecretStr | None = Field(
        default=None,
        description="SQLAlchemy URL of the Airflow that `forescale up` runs; SQLite under home by default.",
    )
    airflow_user: str = Field(default="admin", description="User for Airflow's REST API.")
    airflow_password: SecretStr | None = Field(default=None, description="Password of that user.")
    review: bool = Field(default=True, description="Whether a person must approve a schedule before it is deployed.")
    override_users: str = Field(
        default="admin", description="Users of Airflow who may override limits, with commas between; empty: nobody."
    )
    clock: Literal["real", "trace", "paced"] = Field(
        default="real",
        description="trace: of a replayed trace, kept under home; paced: the same, but waiting takes real time.",
    )
    schedule: str = Field(default="5 * * * *", description="Cron of the DAG aggregate, UTC; none: by hand only.")
    spark_master: str = Field(default="local[*]", description="Spark master URL: local[*], spark://…, yarn, k8s://…")
    spark_memory: str = Field(default="1g", description="Heap of the Spark driver, as Spark writes it.")
    spark_settings: dict[str, str] = Field(default={}, description="Further settings of Spark, as JSON.")
    fan_out_from: int = Field(
        default=16, ge=1, le=1_000_000, description="Number of sources from which on they are forecast over Spark."
    )
    history_uri: str | None = Field(
        default=None,
        description="Where histories are kept: s3://BUCKET/PREFIX, with the endpoint and keys of AWS; under home by "
        "default.",
    )
    snapshot_days: float = Field(
        default=90, ge=0, le=36_525, description="How long past commits of a history stay readable."
    )

    notify_urls: SecretStr | None = Field(
        default=None, description="Receivers of messages: Apprise URLs with spaces between them; none: nothing is sent."
    )
    scaling_url: str | None = Field(
        default=None, description="Airflow as people reach it: messages link to its pages *Scaling*."
    )
    reports_url: str | None = Field(
        default=None, description="Where the folder of reports is served: messages link there if there is no Airflow."
    )

    @classmethod
    def settings_customise_sources(
        cls,
        settings_cls: type[BaseSettings],
        init_settings: PydanticBaseSettingsSource,
        env_settings: PydanticBaseSettingsSource,
        dotenv_settings: PydanticBaseSettingsSource,
        file_secret_settings: PydanticBaseSettingsSource,
    ) -> tuple[PydanticBaseSettingsSource, ...]:
        """Arguments first, then the environment, then the settings file of the home that those two name."""
        for variable in os.environ:
            if variable != SERVICES_OF:
                _check_known(settings_cls, "the environment", variable)
        home = Path(init_settings().get("home") or env_settings().get("home") or default_home())
        try:
            check_regular(home / SETTINGS_FILE, MAX_SECRET_BYTES)
        except FileNotFoundError:
            pass
        except OSError as error:
            raise SettingsFileError(
                f"{home / SETTINGS_FILE} cannot be read: {error.strerror}; put a file there that this user may read"
            ) from None
        try:
            return init_settings, env_settings, _HomeFile(settings_cls, env_file=home / SETTINGS_FILE)
        except UnicodeDecodeError:
            raise SettingsFileError(f"{home / SETTINGS_FILE} is not UTF-8; save it so") from None

    @field_validator("home", "topologies", "mlruns", mode="before")
    @classmethod
    def _is_a_folder(cls, folder: Any) -> Any:
        if isinstance(folder, str | Path) and (odd := odd_folder(folder)):
            raise ValueError(odd)
        return folder

    @field_validator("home", "topologies", "mlruns")
    @classmethod
    def _is_no_loop(cls, folder: Path) -> Path:
        try:
            folder.resolve()
        except RuntimeError:
            raise ValueError(f"{folder} is a loop of links; name a folder") from None
        return folder

    @field_validator("home", "mlruns")
    @classmethod
    def _fits_an_address_of_sqlite(cls, folder: Path) -> Path:
        if misread := _MISREAD.search(str(folder.resolve())):
            raise ValueError(
                f"{folder.resolve()} holds {misread[0]!r}, which is read otherwise in the address of a database: "
                "another folder would be used; rename it"
            )
        return folder

    @field_validator("airflow_url", "mlflow_ui", "scaling_url", "reports_url")
    @classmethod
    def _is_an_address(cls, url: str | None) -> str | None:
        if url is not None and not is_http_address(url):
            raise ValueError("is no address of a server (it is not shown); give it like https://host:port")
        return url

    @field_validator("mlflow_ui", "scaling_url", "reports_url")
    @classmethod
    def _is_shown_to_people(cls, url: str | None) -> str | None:
        if url is not None and "@" in url:
            raise ValueError(
                "has an @, and so perhaps a login, which every report or message would show; leave the login out (an @ "
                "of the path is %40)"
            )
        return url

    @field_validator("mlflow_uri", "ledger_url", "airflow_database_url")
    @classmethod
    def _can_be_taken_apart(cls, given: str | SecretStr | None) -> str | SecretStr | None:
        uri = given.get_secret_value() if isinstance(given, SecretStr) else given or ""
        of_web = uri.startswith(("http:", "https:"))
        if not can_be_taken_apart(uri) or (of_web and not is_http_address(uri)):
            raise ValueError(
                "cannot be taken apart (it is not shown, as it may hold a password); give it like "
                "https://host:port or postgresql+psycopg://user:password@host/database; in a password / is %2F, : is "
                "%3A and @ is %40"
            )
        return given

    @field_validator("override_users")
    @classmethod
    def _are_names(cls, users: str) -> str:
        if re.search(r"[\[\]{}\"']", users):
            raise ValueError("is a list or in quotes; write names with commas between, such as anna,ben")
        return users

    @field_validator("mlflow_uri")
    @classmethod
    def _is_of_mlflow(cls, uri: str | None) -> str | None:
        if uri is not None and (odd := odd_tracker(uri)):
            raise ValueError(odd)
        return uri

    @field_validator("ledger_url", "airflow_database_url")
    @classmethod
    def _is_of_a_database(cls, url: SecretStr | None) -> SecretStr | None:
        if url is not None and not re.match(r"[a-z0-9]+(\+[a-z0-9_]+)?://", url.get_secret_value()):
            raise ValueError(
                "is no URL of a database (it is not shown, as it may hold a password); give it like "
                "sqlite:////path/ledger.db or postgresql+psycopg://user:password@host/database"
            )
        return url

    @field_validator("schedule")
    @classmethod
    def _is_cron(cls, cron: str) -> str:
        if cron != "none" and not is_cron(cron):
            raise ValueError(f"{setting_shown(cron)} is no cron of five fields; give one such as '5 * * * *', or none")
        return cron

    @field_validator("spark_memory")
    @classmethod
    def _is_an_amount(cls, memory: str) -> str:
        if odd := odd_heap(memory):
            raise ValueError(f"{setting_shown(memory)} {odd}")
        return memory

    @field_validator("spark_master")
    @classmethod
    def _is_a_master(cls, master: str) -> str:
        if odd := odd_spark_master(master):
            raise ValueError(odd)
        return master

    @field_validator("history_uri")
    @classmethod
    def _is_an_object_store(cls, uri: str | None) -> str | None:
        if uri is not None:
            s3_directory(uri)
        return uri

    @property
    def history_dir(self) -> Directory:
        return self.home / "history" if self.history_uri is None else s3_directory(self.history_uri)

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
    def ledger_file(self) -> Path | None:
        """None for a database server."""
        path = self.ledger_sqlalchemy_url.removeprefix("sqlite:///").partition("?")[0]
        return Path(path) if self.ledger_is_a_file and path else None

    @property
    def tracking_uri(self) -> str:
        return self.mlflow_uri or f"sqlite:///{self.mlruns.resolve() / 'mlflow.db'}"

    @property
    def tracking_is_a_database(self) -> bool:
        """Whether jobs write directly to MLflow's database, without a server in between."""
        return self.tracking_uri.partition(":")[0].partition("+")[0] in DATABASES

    @property
    def artifact_root(self) -> str | None:
        """Folder of artifacts beside a database; None with a server, which decides itself."""
        return (self.mlruns.resolve() / "artifacts").as_uri() if self.tracking_is_a_database else None

    def below_home(self, path: str) -> str:
        """A relative path below home; an absolute one, or one with a scheme (s3://…), as it is."""
        return path if "://" in path else str(self.home / path)

    def with_absolute_paths(self) -> "Settings":
        """The same with absolute paths, for processes with another working folder."""
        folders = {name: getattr(self, name).resolve() for name in ("home", "topologies", "mlruns")}
        return self.model_copy(update=folders)

    def shown(self) -> dict[str, str]:
        """Every setting, without passwords, for display."""
        values = self.model_dump(mode="json") | {"tracking_uri": self.tracking_uri}
        # Hide all Spark settings: they may hold keys of object stores, and we cannot tell which.
        values["spark_settings"] = dict.fromkeys(self.spark_settings, "***")
        plain = ("override_users", "airflow_user")  # names of people may be addresses of e-mail
        return {name: str(value) if name in plain else _without_password(str(value)) for name, value in values.items()}


class _HomeFile(DotEnvSettingsSource):
    """The settings file of a home. An unknown setting is an error: a misspelt one might change who decides."""

    def _load_env_vars(self) -> Mapping[str, str | None]:
        path = Path(str(self.env_file))
        if not path.exists():
            return {}
        fields = self.settings_cls.model_fields.items()
        secrets = {f"{PREFIX}{name.upper()}" for name, field in fields if "SecretStr" in str(field.annotation)}
        return {name.lower(): value for name, value in settings_lines(path, secrets).items()}

    def __call__(self) -> dict[str, Any]:
        for variable, value in self.env_vars.items():
            name = variable.upper()
            if not name.startswith(PREFIX):
                # Variables of Java, Spark or a cloud, for those who load the file into the environment.
                _check_known(self.settings_cls, str(self.env_file), name)
                continue
            field = name.removeprefix(PREFIX).lower()
            if field == "home":
                raise SettingsFileError(f"{self.env_file}: {name} cannot stand in the home that it names; remove it")
            _check_known(self.settings_cls, str(self.env_file), name)
            if not value:
                raise SettingsFileError(f"{self.env_file}: {name} has no value; give one after =, or remove it")
        return super().__call__()


def _check_known(settings_cls: type[BaseSettings], place: str, variable: str) -> None:
    """Raises SettingsFileError that names the known setting with the nearest name, also for a misspelt prefix."""
    if not variable.upper().startswith(PREFIX):
        if meant := misspelt_prefix(variable, settings_cls.model_fields):
            raise SettingsFileError(f"{place}: {variable} is no setting; did you mean {meant}? correct or remove it")
        return
    field = variable.upper().removeprefix(PREFIX).lower()
    if field not in settings_cls.model_fields:
        nearest = difflib.get_close_matches(field, settings_cls.model_fields, n=1)
        meant = f"did you mean {PREFIX}{nearest[0].upper()}? " if nearest else ""
        raise SettingsFileError(
            f"{place}: {variable} is not a known setting; {meant}remove it or correct its name "
            "(docs/reference/settings.md lists them)"
        )


def _without_password(text: str) -> str:
    """The URL with ***@ for user and password, and ?*** for its query, which may hold them too; *** alone for one that
    cannot be taken apart.
    """
    if not can_be_taken_apart(text):
        return "***"
    scheme, separator, rest = without_credentials(text).partition("://")
    if not separator:
        return text
    return f"{scheme}://{'***@' if '@' in text else ''}{rest}{'?***' if '?' in text else ''}"
