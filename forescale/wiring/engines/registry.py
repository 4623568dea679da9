"""All engines, and the lookup by a topology file's sections."""

from typing import Any

from forescale.files.arrivals_section import ArrivalsSection
from forescale.files.cluster_section import ClusterSection
from forescale.wiring.engines.engine import ArrivalsKind, ClusterKind, EngineAdapter, JobsKind
from forescale.wiring.engines.events import EVENTS
from forescale.wiring.engines.flink import FLINK
from forescale.wiring.engines.heron import HERON
from forescale.wiring.engines.kafka import KAFKA
from forescale.wiring.engines.kubernetes import FLINK_OPERATOR, KUBERNETES
from forescale.wiring.engines.prometheus import PROMETHEUS
from forescale.wiring.engines.simulator import SIMULATOR
from forescale.wiring.engines.storm import STORM

ENGINES: tuple[EngineAdapter, ...] = (
    EVENTS,
    FLINK,
    FLINK_OPERATOR,
    HERON,
    KAFKA,
    KUBERNETES,
    PROMETHEUS,
    SIMULATOR,
    STORM,
)
_BY_KIND = {engine.kind: engine for engine in ENGINES}

DESCRIBED: dict[str, JobsKind] = {engine.kind: engine.jobs for engine in ENGINES if engine.jobs is not None}
"""Engines whose jobs can be described, by kind."""


def arrivals_kind(section: ArrivalsSection) -> ArrivalsKind[Any]:
    """The arrival source of a section `arrivals`."""
    arrivals = _BY_KIND[section.kind].arrivals
    assert arrivals is not None, f"engine {section.kind} has no arrivals"
    return arrivals


def cluster_kind(section: ClusterSection) -> ClusterKind[Any]:
    """The cluster of a section `cluster`."""
    cluster = _BY_KIND[section.kind].cluster
    assert cluster is not None, f"engine {section.kind} has no cluster"
    return cluster
