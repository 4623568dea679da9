"""A job on a Flink cluster in a topology file."""

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Annotated, Literal, Self

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forescale.files.bounded_numbers import Positive
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.http_access import MutualAccess, address_of, http_address
from forescale.plain_numbers import PlainNumbers

if TYPE_CHECKING:
    from engines.http import Connection

_EXAMPLE = "http://127.0.0.1:8081"


class RestartEntry(PlainNumbers, BaseModel):
    """How a job is started again where it cannot rescale in place. jar: id or name of an uploaded jar.

    program_args: `{OPERATOR}` is replaced by the parallelism of that operator. savepoints: directory that the job
    manager and all task managers reach. timeout_s: time limit of a savepoint.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    jar: Annotated[str, Field(min_length=1)]
    entry_class: str | None = None
    program_args: tuple[str, ...]
    savepoints: Annotated[str, Field(pattern=r"^([A-Za-z][A-Za-z0-9+.-]*:/|/).+$")]
    timeout_s: Positive = 300


class FlinkEntry(MutualAccess, ClusterEntry):
    """A Flink session cluster over REST. job: name of the running job; operators: topology operator → vertex name.

    standby_urls: the other job managers of a highly available cluster; requests go to the one that answers, with the
    login of url. sample_s: seconds over which metrics are read for calibration.
    slots_command: run without a shell when a plan needs more slots than are free; `{slots_total}` and
    `{slots_lacking}` in its arguments become numbers. slots_command_timeout_s: time limit of the command; slots_wait_s:
    time limit for the slots to appear after it. rescale: savepoint stops the job and starts it again as restart says.
    """

    kind: Literal["flink"]
    url: Annotated[str, address_of("a job manager", _EXAMPLE)]
    standby_urls: tuple[str, ...] = ()
    job: str
    operators: Mapping[str, str] = {}
    sample_s: Positive = 30
    slots_command: Annotated[tuple[str, ...], Field(min_length=1)] | None = None
    slots_command_timeout_s: Positive = 60
    slots_wait_s: Positive = 300
    rescale: Literal["in_place", "savepoint"] = "in_place"
    restart: RestartEntry | None = None

    @field_validator("standby_urls")
    @classmethod
    def _are_addresses(cls, urls: tuple[str, ...]) -> tuple[str, ...]:
        for url in urls:
            if "@" in http_address(url, "a job manager", _EXAMPLE):
                raise ValueError("hold a login; give it in url alone, which is sent to all of them")
        return urls

    @field_validator("slots_command")
    @classmethod
    def _is_a_program_that_is_given_a_number(cls, words: tuple[str, ...] | None) -> tuple[str, ...] | None:
        if words is None:
            return None
        if not words[0].startswith("/"):
            raise ValueError(f"begins with {words[0]!r}; give the absolute path of a program, not a name or a line")
        if not any(place in word for word in words[1:] for place in ("{slots_total}", "{slots_lacking}")):
            raise ValueError("passes no number; give {slots_total} or {slots_lacking} as an argument")
        return words

    @model_validator(mode="after")
    def _fits_together(self) -> Self:
        if self.certificate_file is not None and not self.url.startswith("https://"):
            raise ValueError("certificate_file needs TLS; give an https url")
        if (self.restart is None) != (self.rescale == "in_place"):
            raise ValueError("rescale: savepoint and the section restart go together; give both, or none")
        return self

    def check_operators(self, operators: Collection[str]) -> None:
        if self.restart is None:
            return
        for name in operators:
            if not any(f"{{{name}}}" in word for word in self.restart.program_args):
                raise ValueError(f"cluster.restart.program_args gives operator {name!r} no parallelism; add {{{name}}}")

    def connection(self) -> "Connection":
        """Raises ValueError if the environment or the file lacks a secret."""
        from engines.http import Connection

        return super().connection() | Connection(standby_urls=self.standby_urls)

    def operators_named(self) -> Mapping[str, Collection[str]]:
        return {"operators": self.operators}
