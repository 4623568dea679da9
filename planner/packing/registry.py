"""Packers by name."""

from collections.abc import Callable, Mapping

from planner.errors import PlanError
from planner.packing.even_spread import EvenSpread
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.flink_slots import FlinkSlots
from planner.packing.network_aware import NetworkAware
from planner.packing.offer import Offer
from planner.packing.packer import Packer
from planner.packing.resource_aware import ResourceAware
from planner.packing.resource_compliant import ResourceCompliant
from planner.packing.round_robin import RoundRobin
from planner.packing.traffic_aware import TrafficAware

PACKERS: Mapping[str, Callable[[Offer], Packer]] = {
    each.name: each
    for each in (
        RoundRobin,
        FirstFitDecreasing,
        ResourceCompliant,
        EvenSpread,
        ResourceAware,
        TrafficAware,
        NetworkAware,
        FlinkSlots,
    )
}


def packer_named(name: str, offer: Offer) -> Packer:
    """Raises PlanError for an unknown name."""
    if name not in PACKERS:
        raise PlanError(f"no packer {name!r}; known are {', '.join(PACKERS)}")
    return PACKERS[name](offer)
