"""The site as a YAML file: sizes of containers, speeds of nodes, links between them, buffers, checkpoints, rescales."""

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from typing import Annotated

import numpy as np
from pydantic import BaseModel, ConfigDict, Field

from forescale.files.bounded_numbers import Seed
from forescale.files.file_error import field_errors
from forescale.files.yaml_fields import yaml_fields
from forescale.plain_numbers import PlainNumbers
from modeling.errors import ModelError
from modeling.inputs.checked import check_site_streams
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Engine, Topology
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.node_scaling import MeasuredThroughput
from modeling.rescaling.plan_change import PlanChange
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import RescaleModel, declared_for, declared_rescale
from modeling.rescaling.state import Restored
from modeling.wording import count_of
from planner.pricing.site_prices import SitePrices

# Far above what any site has, far below any overflow.
Positive = Annotated[float, Field(ge=1e-9, le=1e12, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=1e12, allow_inf_nan=False)]
Factor = Annotated[float, Field(ge=1e-3, le=1e3, allow_inf_nan=False)]
Milliseconds = Annotated[float, Field(ge=0, le=1e7, allow_inf_nan=False)]


class _Strict(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)


class ContainersEntry(_Strict):
    """What every container may use; fields left out are unlimited. price_per_hour: of one, in any currency."""

    cores: Positive | None = None
    memory_mib: Positive | None = None
    price_per_hour: NotNegative | None = None


class NodeEntry(_Strict):
    """service_factor: factor by which service times are longer here than where they were measured. price_per_hour:
    while it holds a container, in the currency of containers. bandwidth_mbit_per_s: of its network card, each way, for
    all its links together.
    """

    service_factor: Factor = 1.0
    price_per_hour: NotNegative | None = None
    bandwidth_mbit_per_s: Positive | None = None


class LinkEntry(_Strict):
    """Measurements between two nodes. delay_ms: one way. Pairs without a link are estimated."""

    first: str = Field(alias="from")
    second: str = Field(alias="to")
    delay_ms: Milliseconds
    jitter_ms: Milliseconds | None = None
    bandwidth_mbit_per_s: Positive | None = None


class StreamTransferEntry(_Strict):
    """bytes_per_tuple: as serialised. serialisation_s: to write and read a tuple, if service times lack it."""

    bytes_per_tuple: NotNegative | None = None
    serialisation_s: NotNegative = 0.0


class ThroughputEntry(_Strict):
    """Throughput that a number of nodes sustained at most. largest_delay_ms: between two of them, one way."""

    nodes: Annotated[int, Field(ge=1, le=10**6)]
    mst_per_s: Positive
    largest_delay_ms: Milliseconds = 0.0


class CheckpointsEntry(_Strict):
    interval_s: Positive
    duration_s: NotNegative
    rescales_on_completion: bool = False


class MeasuredRescaleEntry(_Strict):
    downtime_s: NotNegative
    restored_gib: NotNegative = 0.0
    saved_gib: NotNegative = 0.0


class RescaleEntry(_Strict):
    """Known properties of rescales. Fields left out have the engine's usual values; measured rescales refine them.

    with_savepoint: all state is saved before the job stops. restored: what is read again. parallel_restore: by all
    instances at once, so that the GiB of a restore are those of the instance that reads most.
    """

    restart_s: NotNegative | None = None
    save_s_per_gib: NotNegative = 10.0
    restore_s_per_gib: NotNegative = 10.0
    measured: list[MeasuredRescaleEntry] = []
    with_savepoint: bool = False
    restored: Restored = Restored.WHOLE_JOB
    parallel_restore: bool = False


class SiteEntry(_Strict):
    """A whole site file; every section may be left out. streams: by name (`a->b`). throughput: tells which nodes
    sustain most; no plan depends on it.
    """

    containers: ContainersEntry = ContainersEntry()
    nodes: dict[str, NodeEntry] = {}
    links: list[LinkEntry] = []
    throughput: list[ThroughputEntry] = []
    streams: dict[str, StreamTransferEntry] = {}
    buffer_timeout_s: NotNegative = 0.0
    checkpoints: CheckpointsEntry | None = None
    rescale: RescaleEntry = RescaleEntry()
    seed: Seed = 7


@dataclass(frozen=True)
class SiteFile:
    """The site, how plans are changed there, and its prices. rescales_known: whether the file says how long rescales
    take; otherwise the engine's usual values apply. buffers_known: whether it says when buffers are sent.
    """

    site: Site
    checkpoints: Checkpoints | None
    rescale: RescaleModel
    with_savepoint: bool
    restored: Restored
    prices: SitePrices = field(default_factory=SitePrices)
    parallel_restore: bool = False
    rescales_known: bool = False
    buffers_known: bool = False
    throughput: tuple[MeasuredThroughput, ...] = ()

    def change_from(self, running: PhysicalPlan) -> PlanChange:
        return PlanChange(
            running, self.rescale, self.checkpoints, self.with_savepoint, self.restored, self.parallel_restore
        )


def read_site_file(path: Path, topology: Topology) -> SiteFile:
    """The site, checked against a topology. Raises FileError naming file, field, value and remedy."""
    body = yaml_fields(path, "site file", "see docs/topology-file.md for one", may_be_empty=True)
    with field_errors(path):
        found = site_of(SiteEntry.model_validate(body), topology.engine)
        check_site_streams(topology, found.site)
        return found


def site_digest(path: Path) -> str:
    """Twelve hex digits, the same for the same fields on which plans depend. Raises FileError if it is no site file."""
    body = yaml_fields(path, "site file", "see docs/topology-file.md for one", may_be_empty=True)
    with field_errors(path):
        text = SiteEntry.model_validate(body).model_dump_json(exclude={"throughput"})
        return hashlib.sha256(text.encode()).hexdigest()[:12]


def no_site(engine: Engine) -> SiteFile:
    """The default without a site file: nothing is limited, rescales have the engine's usual values."""
    return site_of(SiteEntry(), engine)


def site_of(entry: SiteEntry, engine: Engine) -> SiteFile:
    """Raises ModelError if numbers do not fit together."""
    if entry.throughput and not entry.links:
        raise ModelError(
            f"site: throughput has {count_of(len(entry.throughput), 'measurement')}, but no link tells the delay "
            "between nodes; add links"
        )
    links = [MeasuredLink(**link.model_dump()) for link in entry.links]
    site = Site(
        container=ContainerSize(entry.containers.cores, entry.containers.memory_mib),
        service_factor={name: node.service_factor for name, node in entry.nodes.items()},
        network=measured_network(links, np.random.default_rng(entry.seed)) if links else None,
        bytes_per_tuple={
            name: stream.bytes_per_tuple for name, stream in entry.streams.items() if stream.bytes_per_tuple is not None
        },
        buffer_timeout_s=entry.buffer_timeout_s,
        serialisation_s={name: stream.serialisation_s for name, stream in entry.streams.items()},
        card_mbit_per_s={
            name: node.bandwidth_mbit_per_s
            for name, node in entry.nodes.items()
            if node.bandwidth_mbit_per_s is not None
        },
    )
    given = entry.rescale
    usual, told = declared_for(engine), given.model_dump(exclude_unset=True, exclude_none=True)
    names = ("restart_s", "save_s_per_gib", "restore_s_per_gib")
    declared = declared_rescale(**{name: told.get(name, getattr(usual, name)) for name in names})
    measured = [MeasuredRescale(**one.model_dump()) for one in given.measured]
    checkpoints = None if entry.checkpoints is None else Checkpoints(**entry.checkpoints.model_dump())
    prices = SitePrices(
        entry.containers.price_per_hour,
        {name: node.price_per_hour for name, node in entry.nodes.items() if node.price_per_hour is not None},
    )
    rescale = fitted_rescale(measured, declared)
    return SiteFile(
        site,
        checkpoints,
        rescale,
        given.with_savepoint,
        given.restored,
        prices,
        given.parallel_restore,
        "rescale" in entry.model_fields_set,
        "buffer_timeout_s" in entry.model_fields_set,
        tuple(MeasuredThroughput(**one.model_dump()) for one in entry.throughput),
    )
