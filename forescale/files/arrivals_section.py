"""The section `arrivals` of a topology file: where arrivals are read from, and how complete their history must be."""

import re
from collections import Counter
from collections.abc import Collection, Mapping
from typing import Annotated, Any, Literal

from pydantic import (
    BaseModel,
    ConfigDict,
    Discriminator,
    Field,
    SecretStr,
    Tag,
    field_validator,
)

from engines.address import is_http_address
from forecasting.arrivals.arrival_source import Measures
from forecasting.arrivals.counting.event_files import EventColumns
from forecasting.arrivals.grid import DAY_S
from forescale.files.bounded_numbers import Moment, NotNegative, Positive, Timeout
from forescale.files.events_section import TimeZone
from forescale.files.http_access import EnvironmentVariable, HttpAccess, address_of, secret
from forescale.plain_numbers import PlainNumbers

Share = Annotated[float, Field(ge=0, le=1)]


class QualityEntry(PlainNumbers, BaseModel):
    """Bounds that `forescale history check` applies. Shares are of the windows, or of the rows that were read."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    min_observed: Share = 0.9
    max_quarantined: Share = 0.01
    max_late: Share = 0.01
    max_duplicates: Share = 0.2


class _Arrivals(PlainNumbers, BaseModel):
    """Fields of every kind of source. window_s: width of the history's windows. lateness_s: windows younger than this
    are read again, to include late events.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    window_s: Annotated[int, Field(gt=0, le=DAY_S)] = 60
    lateness_s: NotNegative = 3600
    quality: QualityEntry = QualityEntry()

    def of_the_source(self) -> dict[str, Any]:
        """The fields that a source read over a network takes, under the same names; the others concern the history."""
        return self.model_dump(exclude={"kind", "window_s", "lateness_s", "quality", "password_env", "group"})

    def sources_named(self) -> Mapping[str, Collection[str]]:
        """The sources that the section names, by field; all must belong to the topology."""
        return {}


class EventsEntry(_Arrivals):
    """Raw events in files; see forecasting.arrivals.counting.event_files. Relative paths are below FORESCALE_HOME.

    coverage: a Parquet or CSV file (source, alive_from, alive_to) with the spans in which the feed was alive. A window
    without events is zero inside them and missing outside. Without the file the feed counts as alive between two
    events that are at most max_silence_s apart.
    """

    kind: Literal["events"] = "events"
    path: str
    format: Literal["parquet", "csv", "jsonl"] = "parquet"
    columns: EventColumns
    source: str | None = None
    timezone: TimeZone = "UTC"
    coverage: str | None = None
    max_silence_s: Positive = 3600
    max_copy_gap_s: NotNegative = 86400
    max_ahead_s: NotNegative = 300
    not_before: Moment | None = None
    span_s: NotNegative = 0
    measures: Measures = Measures.OFFERED

    @field_validator("path", "coverage")
    @classmethod
    def _holds_no_login(cls, path: str | None) -> str | None:
        if path is not None and "://" in path and "@" in path.split("://", 1)[1].split("/", 1)[0]:
            raise ValueError("has a login in it (it is not shown); give the keys as Spark takes them, not in the path")
        return path

    @field_validator("columns")
    @classmethod
    def _differ_from_time(cls, columns: EventColumns) -> EventColumns:
        for alone in ("time", "weight"):
            column = columns.named().get(alone)
            if shared := [role for role, name in columns.named().items() if name == column and role != alone]:
                raise ValueError(f"{alone} and {shared[0]} are both column {column!r}; name another for one of them")
        return columns


Topic = Annotated[str, Field(pattern=r"^[A-Za-z0-9._-]{1,249}$")]
_OF_A_SECRET = re.compile(r"password|secret|jaas|oauthbearer\.(config|assertion\.private)|\.pem$", re.IGNORECASE)
"""Names of Kafka's settings whose values are or hold secrets."""


class KafkaEntry(_Arrivals):
    """Topics, counted by their offsets. topics: source → topic or topics. settings: of the client, as in librdkafka.

    group: consumer group of the topology. password_env: environment variable that holds sasl.password, which belongs
    in no file.
    """

    kind: Literal["kafka"]
    servers: str
    topics: dict[str, Topic | Annotated[list[Topic], Field(min_length=1)]]
    settings: dict[str, str] = {}
    group: Annotated[str, Field(min_length=1)] | None = None
    password_env: EnvironmentVariable | None = None
    timeout_s: Timeout = 30
    settle_s: NotNegative = 10

    @field_validator("servers")
    @classmethod
    def _are_addresses(cls, servers: str) -> str:
        for server in servers.split(","):
            if not is_http_address(f"http://{server.strip().rpartition('://')[2]}") or "@" in server:
                raise ValueError(
                    "is no list of brokers (it is not shown); give it like broker-1:9092,broker-2:9092, ports up to "
                    "65535"
                )
        return servers

    @field_validator("topics")
    @classmethod
    def _are_read_once(cls, topics: dict[str, str | list[str]]) -> dict[str, str | list[str]]:
        for source, named in topics.items():
            if isinstance(named, list) and (twice := [name for name, times in Counter(named).items() if times > 1]):
                raise ValueError(f"{source} names {twice[0]} twice, which would count it twice; name it once")
        return topics

    @field_validator("settings")
    @classmethod
    def _holds_no_secret(cls, settings: dict[str, str]) -> dict[str, str]:
        if secret := [name for name in settings if _OF_A_SECRET.search(name)]:
            raise ValueError(
                f"{secret[0]} is a secret; put it into an environment variable and name that: password_env"
            )
        return settings

    def sources_named(self) -> Mapping[str, Collection[str]]:
        return {"topics": self.topics}

    def password(self) -> SecretStr | None:
        """Raises ValueError if the environment lacks it."""
        return None if self.password_env is None else secret(self.password_env)


class _OverHttp(HttpAccess, _Arrivals):
    url: Annotated[str, address_of("a server", "http://host:9090")]

    def of_the_source(self) -> dict[str, Any]:
        """With the headers of every request. Raises ValueError if the environment lacks one."""
        fields = super().of_the_source()
        for name in ("headers_env", "token_env"):
            del fields[name]
        return fields | self.connection()


class PrometheusEntry(_OverHttp):
    """Counters. queries: source → selector. deduplicate_by: the label that tells copies of one series apart.
    held_back: PromQL, above 0 while something holds the sources back.
    """

    kind: Literal["prometheus"]
    queries: dict[str, Annotated[str, Field(pattern=r"\S")]]
    measures: Measures = Measures.THROUGHPUT
    scrape_interval_s: Positive = 15
    max_gap_s: Positive | None = None
    ended_after_s: Positive | None = None
    deduplicate_by: Annotated[str, Field(pattern="^[A-Za-z_][A-Za-z0-9_]*$")] | None = None
    held_back: str | None = None
    since: Moment | None = None

    def sources_named(self) -> Mapping[str, Collection[str]]:
        return {"queries": self.queries}


class HeronEntry(_OverHttp):
    """Heron's tracker, which keeps three hours of history. spouts: source → spout; streams: source → its streams."""

    kind: Literal["heron"]
    cluster: str
    environ: str
    role: str | None = None
    spouts: dict[str, str]
    streams: dict[str, list[str]] = {}

    def sources_named(self) -> Mapping[str, Collection[str]]:
        return {"spouts": self.spouts}


class StormEntry(_OverHttp):
    """Storm's UI, which keeps no history: `forescale history record` records it. spouts: source → spout."""

    kind: Literal["storm"]
    spouts: dict[str, str]
    max_gap_s: Positive = 180
    ended_after_s: Positive | None = None
    saturated_capacity: Positive = 0.9

    def sources_named(self) -> Mapping[str, Collection[str]]:
        return {"spouts": self.spouts}


def _kind(given: Any) -> str:
    return given.get("kind", "events") if isinstance(given, dict) else getattr(given, "kind", "events")


ArrivalsSection = Annotated[
    Annotated[EventsEntry, Tag("events")]
    | Annotated[KafkaEntry, Tag("kafka")]
    | Annotated[PrometheusEntry, Tag("prometheus")]
    | Annotated[HeronEntry, Tag("heron")]
    | Annotated[StormEntry, Tag("storm")],
    Discriminator(_kind),
]
