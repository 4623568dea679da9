"""Rates of one plan under one load, by name: the general recursion with one row and one scenario."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.flow.rates import KnownRouting, OperatorFlow, operator_flows
from modeling.flow.scenarios import Scenarios
from modeling.inputs.checked import check_profiles
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology


@dataclass(frozen=True)
class Rates:
    """One plan under one load in the stable case, where the whole offered load is processed.

    stream_per_s: per stream name, before routing (an ALL stream counts once). instance_per_s: per operator the tuples
    into each instance, shape (parallelism,), summed over its input streams. busy: per operator the utilisation of each
    instance. service_s: seconds per tuple of each instance, over its streams and on its node. cores: used by each
    instance, idle_cores of which without any tuple. bounds: streams with unknown keys or unknown key assignment, so
    that the busiest instance is only bounded.
    """

    stream_per_s: Mapping[str, float]
    instance_per_s: Mapping[str, Floats]
    busy: Mapping[str, Floats]
    service_s: Mapping[str, Floats]
    cores: Mapping[str, Floats]
    idle_cores: Mapping[str, Floats]
    bounds: tuple[str, ...] = ()

    def operator_per_s(self, operator: str) -> float:
        return float(self.instance_per_s[operator].sum())


def arrival_rates(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    site: Site = NOWHERE,
) -> Rates:
    """Rates of every stream and instance under a load per source. Busy time scales with the speed of the instance's
    node (site).

    Raises ModelError for a load that is negative, not finite, lacks a source or names an unknown one, for a plan that
    does not fit the topology, and for an operator without a profile.
    """
    return rates_of(plan_flows(topology, profiles, plan, load_per_s, site))


def plan_flows(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    site: Site = NOWHERE,
) -> list[OperatorFlow]:
    """operator_flows of one plan under one load. Raises ModelError like arrival_rates."""
    check_load(topology, profiles, load_per_s)
    plan.check(topology)
    scenario = Scenarios(np.array([[load_per_s[source] for source in topology.sources]], dtype=np.float64))
    plans = placed([plan], topology.order, site)
    return list(operator_flows(topology, profiles, plans, scenario, KnownRouting(topology, profiles)))


def rates_of(flows: Sequence[OperatorFlow]) -> Rates:
    """Rates from the flows of one plan under one scenario."""
    taken = {flow.name: flow.instance_per_s()[0, :, 0] for flow in flows}
    services: dict[str, Floats] = {}
    for flow in flows:
        worked = flow.worked_s()[0, :, 0]
        idle_s = flow.idle_service_s[0, 0] * (1.0 if flow.service_factor is None else flow.service_factor[0])
        some = np.where(taken[flow.name] > 0, taken[flow.name], 1.0)
        services[flow.name] = np.where(taken[flow.name] > 0, worked / some, idle_s)
    return Rates(
        {name: float(given.per_s.rows[0, 0]) for flow in flows for name, given in flow.given.items()},
        taken,
        {flow.name: flow.busy()[0, :, 0] for flow in flows},
        services,
        {flow.name: flow.cores()[0, :, 0] + flow.idle_cores()[0] for flow in flows},
        {flow.name: flow.idle_cores()[0] for flow in flows},
        tuple(bound for flow in flows for bound in flow.bounds),
    )


def check_load(topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float]) -> None:
    """Raises ModelError if load or profiles do not fit the topology."""
    for source, rate_per_s in load_per_s.items():
        if source not in topology.sources:
            raise ModelError(
                f"load names {source!r}, which is no source of topology {topology.name!r}; "
                f"its sources are {', '.join(topology.sources)}"
            )
        if not np.isfinite(rate_per_s) or rate_per_s < 0:
            raise ModelError(f"load of source {source!r} is {rate_per_s}; give a finite rate per second, not below 0")
    for source in topology.sources:
        if source not in load_per_s:
            raise ModelError(f"load gives no rate for source {source!r}; name every source")
    check_profiles(topology, profiles)
