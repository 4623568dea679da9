"""The cluster simulator, which keeps its state below FORESCALE_HOME. It has its own true service times."""

from pathlib import Path
from typing import TYPE_CHECKING

from forescale.files.clusters.simulator import SimulatorEntry
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.wiring.engines.engine import ClusterKind, EngineAdapter
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import Clock

if TYPE_CHECKING:
    from planner.clusters.simulator import SimulatedCluster

PAST_S = 3600.0
"""Default span in seconds of samples: the simulator has past counts, so an hour costs nothing."""


def _cluster(config: TopologyConfig, entry: SimulatorEntry, settings: Settings, clock: Clock) -> "SimulatedCluster":
    from forecasting.arrivals.store import read_history
    from planner.clusters.simulator import SimulatedCluster

    profiles = config.declared_profiles(entry.service_s)
    return SimulatedCluster(
        config.as_topology(),
        profiles,
        PhysicalPlan(config.topology, dict(entry.parallelism)),
        entry.slots,
        entry.downtime_s,
        read_history(_truth(entry, settings), config.topology),
        clock,
        settings.home / "simulator" / config.topology,
        services=config.service_terms(profiles),
    )


def _truth(entry: SimulatorEntry, settings: Settings) -> Path:
    return Path(settings.below_home(entry.truth))


SIMULATOR = EngineAdapter(
    "simulator",
    cluster=ClusterKind(
        SimulatorEntry,
        _cluster,
        sample_s=lambda _: PAST_S,
        watched=False,
        reads_arrivals=False,
        truth=_truth,
        no_slots=lambda _: "raise cluster.slots",
    ),
)
