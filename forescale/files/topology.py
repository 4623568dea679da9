"""One YAML file per topology: operators, streams, arrivals, sources, events, forecast, planning and cluster, validated
field by field.
"""

import os
from collections import Counter
from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forecasting.arrivals.grid import DAY_S
from forecasting.arrivals.history import UTC_NAME
from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.bounded_numbers import Instances, NotNegative, Seed
from forescale.files.cluster_section import ClusterSection
from forescale.files.events_section import EventsSection, TimeZone
from forescale.files.file_error import FileError, field_errors
from forescale.files.fleet import sections_of_a_fleet
from forescale.files.packing_section import PackingSection
from forescale.files.planning_section import Planning
from forescale.files.services_section import ServicesSection
from forescale.files.yaml_fields import yaml_fields, yaml_of_text
from forescale.plain_numbers import PlainNumbers
from modeling.inputs.calls import Calls
from modeling.inputs.key_histogram import KeyHistogram, KeyType
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.pauses import Pauses
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.services.pools import ServiceTerms

if TYPE_CHECKING:
    from modeling.rescaling.warm_up import WarmUp

MAX_OPERATORS = 300
SLOTS, TASK_MANAGERS = 64, 16
"""That plans may fill by default."""
MAX_STREAMS = 3000

# Far above what any instance has, far below any overflow.
Amount = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]


class _Strict(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class CallsEntry(_Strict):
    """Calls to another system for each tuple: at most `concurrency` of an instance at once, which take call_s on
    average.
    """

    concurrency: Annotated[int, Field(ge=1, le=10**6)]
    call_s: NotNegative
    call_cv2: NotNegative = 1.0


class PausesEntry(_Strict):
    """Pauses in which each instance takes nothing: length_s seconds, every interval_s, for checkpoints or compaction.
    Those of garbage collection are measured.
    """

    interval_s: Annotated[float, Field(gt=0, le=1e6)]
    length_s: Annotated[float, Field(gt=0, le=1e6)]

    @model_validator(mode="after")
    def _works_between(self) -> "PausesEntry":
        if self.length_s >= self.interval_s:
            raise ValueError(
                f"length_s {self.length_s:g} leaves no time for work in interval_s {self.interval_s:g}; shorten it"
            )
        return self


class OperatorEntry(_Strict):
    """Declared values of an operator, used until calibration measures them. service_s: busy seconds of one instance per
    tuple. key_shares: of the heavy keys; distinct_keys: total number of keys; key_type: Java type of the keys, which
    decides their instances. calls: to another system, several of an instance at once. pauses: of each instance.
    state_gib: keyed state of the whole operator. cores, memory_mib: reserved for one instance; price_per_hour: of one,
    in any currency.
    """

    service_s: NotNegative
    service_cv2: NotNegative = 1.0
    max_parallelism: Instances = 128
    key_shares: dict[str, Annotated[float, Field(ge=0, le=1)]] | None = None
    distinct_keys: Annotated[int, Field(ge=1, le=10**15)] | None = None
    key_type: KeyType | None = None
    calls: CallsEntry | None = None
    pauses: PausesEntry | None = None
    state_gib: Amount = 0.0
    cores: Amount | None = None
    memory_mib: Amount | None = None
    price_per_hour: Amount | None = None

    @model_validator(mode="after")
    def _keys_fit(self) -> "OperatorEntry":
        self.keys()
        return self

    def keys(self) -> KeyHistogram | None:
        known = self.key_shares or self.distinct_keys is not None
        return KeyHistogram(self.key_shares or {}, {}, self.distinct_keys, self.key_type) if known else None


class StreamEntry(_Strict):
    """selectivity: tuples out on this stream per tuple into the upstream operator. label: distinguishes streams between
    the same two operators. shares: of each instance that reads it, for a custom grouping.
    """

    upstream: str = Field(alias="from")
    downstream: str = Field(alias="to")
    grouping: Grouping = Grouping.SHUFFLE
    selectivity: NotNegative = 1.0
    label: Annotated[str, Field(max_length=80)] = ""
    shares: list[Annotated[float, Field(ge=0, le=1)]] = []

    @field_validator("grouping", mode="before")
    @classmethod
    def _in_other_words(cls, given: object) -> object:
        # Engines name the same groupings differently: rebalance, hash, broadcast, direct …
        try:
            return Grouping(str(given))
        except ValueError:
            return given

    def as_stream(self) -> Stream:
        return Stream(self.upstream, self.downstream, self.grouping, self.label, tuple(self.shares))


class ForecastSection(_Strict):
    """step_s: width of the forecast's steps; horizon_s: how far it looks; train_days: how much history it uses.

    refit_s: age at which a trained model is backtested, selected and fitted again; 0: for every forecast. every_s: from
    one forecast to the next, as FORESCALE_SCHEDULE makes them; plans count on it. prophet: whether Prophet competes
    with the other forecasters: it costs as much as all of them together.
    """

    step_s: Annotated[int, Field(gt=0, le=DAY_S)] = 300
    horizon_s: Annotated[int, Field(gt=0, le=366 * DAY_S)] = 86400
    train_days: Annotated[int, Field(ge=2, le=36_525)] = 56
    origins: Annotated[int, Field(ge=2, le=10_000)] = 36
    paths: Annotated[int, Field(ge=100, le=100_000)] = 400
    seed: Seed = 7
    refit_s: NotNegative = 6 * 3600
    every_s: Annotated[int, Field(ge=60, le=DAY_S)] = 3600
    prophet: bool = False

    @model_validator(mode="after")
    def _looks_a_step_ahead(self) -> "ForecastSection":
        if self.step_s > self.horizon_s:
            raise ValueError(
                f"step_s {self.step_s} is above horizon_s {self.horizon_s}: nothing would be forecast; lower one or "
                "raise the other"
            )
        return self


SiblingName = Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]{0,79}/\S", max_length=300)]
"""Name of a source of this or another topology, as topology/source."""


class SourceEntry(_Strict):
    """timezone: IANA name of the time zone that its days and weeks follow. like: sources whose shape it borrows while
    its own history is short, as topology/source. partitions: of what it reads, in all its topics: further instances
    than these stay idle.
    """

    timezone: TimeZone = UTC_NAME
    like: Annotated[list[SiblingName], Field(max_length=8)] = []
    partitions: Annotated[int, Field(ge=1, le=100_000)] | None = None


class TopologyConfig(_Strict):
    """A whole topology file. Calibration from samples and evaluation of plans need neither arrivals nor cluster."""

    topology: Annotated[str, Field(pattern=r"^[A-Za-z0-9][A-Za-z0-9_.-]*$", max_length=80)]
    engine: Engine = Engine.FLINK
    operators: Annotated[dict[str, OperatorEntry], Field(max_length=MAX_OPERATORS)]
    streams: Annotated[list[StreamEntry], Field(max_length=MAX_STREAMS)]
    arrivals_section: ArrivalsSection | None = Field(default=None, alias="arrivals")
    sources: dict[str, SourceEntry] = {}
    events: EventsSection = []
    forecast: ForecastSection = ForecastSection()
    planning: Planning = Planning()
    packing: PackingSection | None = None
    cluster_section: ClusterSection | None = Field(default=None, alias="cluster")
    services_section: ServicesSection | None = Field(default=None, alias="services")

    @property
    def arrivals(self) -> ArrivalsSection:
        """Raises FileError if the file has none."""
        if self.arrivals_section is None:
            raise FileError(f"{self.topology}: section arrivals is missing; add it to read history")
        return self.arrivals_section

    @property
    def warm_up(self) -> "WarmUp":
        """Declared, or assumed by where the topology runs: of new JVMs unless plans change without a restart."""
        from modeling.rescaling.warm_up import NEW_JVM, WARM  # what counts arrivals needs neither

        declared_s = self.planning.warm_up_s
        if declared_s is not None:
            return replace(NEW_JVM, warm_s=declared_s) if declared_s else WARM
        return NEW_JVM if self.cluster_section is None or self.cluster_section.starts_cold else WARM

    @property
    def cluster(self) -> ClusterSection:
        """Raises FileError if the file has none."""
        if self.cluster_section is None:
            raise FileError(f"{self.topology}: section cluster is missing; add it to say where the topology runs")
        return self.cluster_section

    @property
    def timezones(self) -> dict[str, str]:
        """Time zones by source, of sources whose days are not UTC days."""
        named = {name: entry.timezone for name, entry in self.sources.items()}
        return {name: timezone for name, timezone in named.items() if timezone != UTC_NAME}

    @property
    def local_timezone(self) -> str:
        """Time zone for times that people read: that of all sources, UTC if they have several. A source without one has
        that of the clock times in its raw data.
        """
        raw = getattr(self.arrivals_section, "timezone", UTC_NAME)
        zones = {self.timezones.get(name, raw) for name in self.as_topology().sources}
        return zones.pop() if len(zones) == 1 else UTC_NAME

    @property
    def like(self) -> dict[str, list[str]]:
        """Siblings by source, of sources that name any."""
        return {name: entry.like for name, entry in self.sources.items() if entry.like}

    def service_terms(self, profiles: Profiles, *, evaluated: bool = False) -> ServiceTerms | None:
        """Of micro-services; None without a section `services`. evaluated: with `services.evaluated_threads`."""
        if self.services_section is None:
            return None
        cores = {name: entry.cores for name, entry in self.operators.items()}
        return self.services_section.terms(profiles, cores, evaluated=evaluated)

    def evaluated_profiles(self, profiles: Profiles) -> Profiles:
        """Of micro-services with `services.evaluated_threads`, else as they are."""
        return profiles if self.services_section is None else self.services_section.evaluated(profiles)

    @model_validator(mode="after")
    def _counts_slots(self) -> "TopologyConfig":
        """Where operators share slots, plans may fill SLOTS or TASK_MANAGERS by default, and avoiding a rescale is
        worth an hour of a slot, as it is worth that of an instance elsewhere.
        """
        packing, given = self.packing, self.planning.model_fields_set
        if packing is None or {"max_instances", "rescale_cost_instance_hours"} <= given:
            return self
        from planner.packing.flink_slots import DEFAULT_GROUP, FlinkSlots  # most topology files have no such section

        if packing.packer == FlinkSlots.name:
            of_a_slot = max(Counter(packing.slot_groups.get(name, DEFAULT_GROUP) for name in self.operators).values())
            by_default = {
                "max_instances": max(SLOTS, TASK_MANAGERS * packing.slots) * of_a_slot,
                "rescale_cost_instance_hours": self.planning.rescale_cost_instance_hours * of_a_slot,
            }
            planning = self.planning.model_copy(update={name: by_default[name] for name in by_default.keys() - given})
            planning.model_fields_set.intersection_update(given)
            object.__setattr__(self, "planning", planning)
        return self

    @model_validator(mode="after")
    def _names_hang_together(self) -> "TopologyConfig":
        self.as_topology()
        self.declared_profiles()
        cluster = self.cluster_section
        planning = self.planning
        if self.services_section is not None:
            callees = {entry.as_stream().name: entry.downstream for entry in self.streams}
            self.services_section.check_names(self.operators, callees)
            for field in ("max_latency_s", "max_p95_latency_s"):
                if getattr(planning, field) is not None:
                    raise ValueError(f"planning.{field}: latencies of requests are not known of services; remove it")
        placed = {
            "planning.max_parallelism": set(planning.max_parallelism),
            "planning.min_parallelism": set(planning.min_parallelism),
        }
        for number, window in enumerate(planning.windows):
            placed[f"planning.windows.{number}"] = set(window.min_parallelism) | set(window.max_parallelism)
        if self.packing is not None:
            placed["packing.slot_groups"] = set(self.packing.slot_groups)
        if cluster is not None:
            cluster.check_operators(self.operators)
            cluster.check_mode(planning.mode, planning.guard_mode)
            placed |= {f"cluster.{field}": set(names) for field, names in cluster.operators_named().items()}
        for field, names in placed.items():
            if unknown := sorted(names - set(self.operators)):
                known = ", ".join(self.operators)
                raise ValueError(f"{field} names the unknown operator {unknown[0]!r}; known are {known}")
        self._check_least()
        self._check_horizon()
        self._check_siblings()
        sources = self.as_topology().sources
        arrivals = self.arrivals_section
        told = {} if arrivals is None else arrivals.sources_named()
        fed = {f"arrivals.{field}": set(names) for field, names in told.items()}
        fed["sources"] = set(self.sources)
        fed |= {f"events.{number}": set(event.concerned or ()) for number, event in enumerate(self.events)}
        for field, names in fed.items():
            if unknown := sorted(names - set(sources)):
                raise ValueError(
                    f"{field} names {unknown[0]!r}, which is no source of the topology; they are {', '.join(sources)}"
                )
        return self

    def _check_horizon(self) -> None:
        """Raises ValueError if nothing that is forecast could be acted on in time, or the operators have no room."""
        lead_s, downtime_s, horizon_s = self.planning.lead_s, self.planning.downtime_s, self.forecast.horizon_s
        if lead_s + downtime_s >= horizon_s:
            raise ValueError(
                f"planning.lead_s {lead_s:g} and downtime_s {downtime_s:g} reach beyond forecast.horizon_s "
                f"{horizon_s}, so every plan would come too late; lower them or raise the horizon"
            )
        if self.planning.max_instances < len(self.operators):
            raise ValueError(
                f"planning.max_instances is {self.planning.max_instances}, and each of {len(self.operators)} operators "
                "needs an instance; raise it"
            )

    def _check_siblings(self) -> None:
        """Raises ValueError if a source is its own sibling, or a sibling in this file is unknown."""
        sources = self.as_topology().sources
        for name, siblings in self.like.items():
            if f"{self.topology}/{name}" in siblings:
                raise ValueError(f"sources.{name}.like names the source itself; name others, or leave it out")
            if twice := [sibling for number, sibling in enumerate(siblings) if sibling in siblings[:number]]:
                raise ValueError(f"sources.{name}.like names {twice[0]} twice; name it once")
            for sibling in siblings:
                topology, _, source = sibling.partition("/")
                if topology == self.topology and source not in sources:
                    raise ValueError(
                        f"sources.{name}.like names {sibling}, which is no source of this topology; they are "
                        f"{', '.join(sources)}"
                    )

    def _check_least(self) -> None:
        """Raises ValueError if an operator cannot run with the min_parallelism of planning, or of a window."""
        topology = self.as_topology()
        wanted = [("planning", self.planning.min_parallelism)]
        wanted += [(f"planning.windows.{at}", each.min_parallelism) for at, each in enumerate(self.planning.windows)]
        for place, name, least in ((place, *each) for place, of in wanted for each in of.items()):
            if least > (most := topology.max_parallelism[name]):
                raise ValueError(
                    f"{place}.min_parallelism of {name} is {least}, and operators.{name}.max_parallelism (Flink: its "
                    f"key groups) {most}; lower the one or raise the other"
                )
            if least > (given := topology.given_parallelism.get(name, least)):
                raise ValueError(
                    f"{place}.min_parallelism of {name} is {least}, and the shares of its streams are those of "
                    f"{given} instances; lower the one or give more shares"
                )
        most = self.planning.max_instances
        for place, of in wanted if "max_instances" in self.planning.model_fields_set else ():
            fewest = sum((dict.fromkeys(self.operators, 1) | self.planning.min_parallelism | of).values())
            if of and fewest > most:
                raise ValueError(
                    f"{place}.min_parallelism, with at least one instance of each other operator, adds up to {fewest} "
                    f"instances, more than planning.max_instances {most}; lower one or raise the other"
                )

    def as_topology(self) -> Topology:
        return Topology(
            self.topology,
            tuple(
                Operator(name, entry.max_parallelism, self.sources[name].partitions if name in self.sources else None)
                for name, entry in self.operators.items()
            ),
            tuple(entry.as_stream() for entry in self.streams),
            self.engine,
        )

    def declared_profiles(self, truth_service_s: Mapping[str, float] | None = None) -> dict[str, OperatorProfile]:
        """The declared profile of each operator, which the model uses before anything is measured.

        truth_service_s: service times to put in place of the declared ones.
        """
        truth = truth_service_s or {}
        return {
            name: OperatorProfile(
                name,
                truth.get(name, entry.service_s),
                {s.as_stream().name: s.selectivity for s in self.streams if s.upstream == name},
                service_cv2=entry.service_cv2,
                keys=entry.keys(),
                state_gib=entry.state_gib,
                calls=None if entry.calls is None else Calls(**entry.calls.model_dump()),
                pauses=None if entry.pauses is None else Pauses(**entry.pauses.model_dump()),
            )
            for name, entry in self.operators.items()
        }


def read_topology_file(path: Path) -> TopologyConfig:
    """The validated file. Raises FileError naming file, field, value and remedy."""
    body = yaml_fields(path, "topology file", "see examples/topologies for one")
    if shared := sections_of_a_fleet(body):
        raise FileError(
            f"{path} is a fleet file, not a topology file: it has {' and '.join(shared)}, which topologies share; give "
            "it to `forescale plan --all` and `forescale doctor` by --fleet, and keep it in another folder for all "
            "other commands"
        )
    with field_errors(path):
        return TopologyConfig.model_validate(body)


def topology_of_text(text: str, path: Path) -> TopologyConfig:
    """The same for a text that is to become that file."""
    with field_errors(path):
        return TopologyConfig.model_validate(yaml_of_text(text))


def topology_files(folder: Path, fleet: Path | None = None) -> list[Path]:
    """Topology files of a folder in alphabetical order, without the fleet file."""
    own = None if fleet is None else os.path.realpath(fleet)
    return [path for path in sorted(folder.glob("*.yaml")) if os.path.realpath(path) != own]


def is_topology_path(name: str) -> bool:
    """Whether a topology is named by its file, not by its name."""
    return name.endswith((".yaml", ".yml"))


def find_topology_file(name: str, folder: Path) -> Path:
    """The file of a topology, by its path or by its name in the folder of topology files."""
    if is_topology_path(name):
        return Path(name)
    candidate = folder / f"{name}.yaml"
    if not candidate.exists():
        known = ", ".join(sorted(p.stem for p in folder.glob("*.yaml"))) or "none"
        raise FileError(f"no topology {name!r} in {folder}; known are: {known}")
    return candidate
