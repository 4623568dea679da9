"""Rates: how an offered load spreads through the topology, in topological order."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.flow.routing import Dealing, dealing, instance_shares
from modeling.inputs.node_speeds import node_factors
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import containers_of
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Stream, Topology

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Tuples per second in the stable case, where everything that is offered is processed.

    stream_per_s: per stream name, before it is dealt (an ALL stream counts once). instance_per_s: per operator the
    tuples into each instance, shape (parallelism,), summed over all streams that enter it. busy: per operator the
    utilisation of each instance; above 1 it is overloaded. It is its busy seconds per second, or the part of what it
    may ask for where it polls. service_s: seconds per tuple of each instance, over its streams and on its node. bounds:
    streams of which the busiest instance is only bounded, since their keys, or what the engine does with them, are not
    known.
    """

    stream_per_s: Mapping[str, float]
    instance_per_s: Mapping[str, Floats]
    busy: Mapping[str, Floats]
    service_s: Mapping[str, Floats]
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
    """Rates that a load per source brings to every stream and instance: λ(out) = selectivity · λ(in), summed over
    inputs, in topological order, so that all that enters an operator is known before it is computed. Instances on nodes
    of another speed (site) are busy for so much longer.

    Raises ModelError for a load that is negative, not finite, lacks a source or names an unknown one, and for an
    operator without a profile.
    """
    check_load(topology, profiles, load_per_s)
    plan.check(topology)
    containers = containers_of(plan)
    streams: dict[str, float] = {}
    instances: dict[str, Floats] = {}
    busy: dict[str, Floats] = {}
    services: dict[str, Floats] = {}
    # Per operator what enters each instance, by stream; a source is entered by what is offered to it.
    entering: dict[str, dict[str, Floats]] = {}
    bounds: list[str] = []
    slower = node_factors(plan, site)
    for name in topology.order:
        parallelism, profile = plan.parallelism[name], profiles[name]
        if name in topology.sources:
            entering[name] = {"": np.full(parallelism, load_per_s[name] / parallelism)}
        else:
            entering[name] = {}
            for stream in topology.inputs(name):
                given = profiles[stream.upstream].given_per_s(stream.name, entering[stream.upstream])
                dealt = stream_dealing(topology, profiles, plan, stream, containers)
                entering[name][stream.name] = dealt.dealt_per_s(given)
                streams[stream.name] = float(given.sum())
                if not dealt.exact:
                    bounds.append(stream.name)
        instances[name] = np.asarray(sum(entering[name].values()))
        busy[name] = np.asarray(
            sum(rate * profile.service_s_of(of, parallelism) for of, rate in entering[name].items())
        ) * slower.get(name, 1.0)
        idle_s = profile.service_s_of("", parallelism) * slower.get(name, 1.0)
        taken = instances[name]
        services[name] = np.where(taken > 0, busy[name] / np.where(taken > 0, taken, 1.0), idle_s)
        if profile.polling is not None and name in topology.sources:
            busy[name] = np.maximum(busy[name], taken * profile.polling.least_s)
    return Rates(streams, instances, busy, services, tuple(bounds))


def stream_dealing(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    stream: Stream,
    containers: Mapping[str, tuple[int, ...]],
) -> Dealing:
    """How a plan deals a stream. containers: of the instances of each operator, empty where nobody tells."""
    where = (containers.get(stream.upstream), containers.get(stream.downstream))
    return dealing(
        stream.grouping,
        plan.parallelism[stream.upstream],
        plan.parallelism[stream.downstream],
        engine=topology.engine,
        max_parallelism=topology.operator(stream.downstream).max_parallelism,
        keys=profiles[stream.downstream].keys_of(stream.name),
        shares=stream.shares or None,
        containers=None if where[0] is None or where[1] is None else (where[0], where[1]),
    )


def instance_rates(
    topology: Topology,
    profiles: Profiles,
    name: str,
    parallelism: int,
    streams_per_s: Mapping[str, float],
    load_per_s: Mapping[str, float],
) -> Floats:
    """Tuples per second into each instance of one operator, shape (parallelism,), given the streams that enter it.

    As arrival_rates gives them where the instances that feed it give alike: what is needed of an operator before the
    plan of those that feed it is known.
    """
    if name in topology.sources:
        return np.full(parallelism, load_per_s[name] / parallelism)
    total = np.zeros(parallelism)
    for stream in topology.inputs(name):
        total += streams_per_s[stream.name] * instance_shares(
            stream.grouping,
            parallelism,
            engine=topology.engine,
            max_parallelism=topology.operator(name).max_parallelism,
            keys=profiles[name].keys_of(stream.name),
            shares=stream.shares or None,
        )
    return total


def outgoing_rates(topology: Topology, profiles: Profiles, name: str, entering_per_s: float) -> dict[str, float]:
    """Tuples per second on each stream that leaves one operator."""
    return {
        stream.name: entering_per_s * profiles[name].selectivity.get(stream.name, 1.0)
        for stream in topology.outputs(name)
    }


def check_load(topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float]) -> None:
    """Raises ModelError where load or profiles do not fit the topology."""
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
    for name in topology.order:
        if name not in profiles:
            raise ModelError(f"no profile of operator {name!r}; calibrate it, or declare its service_s")
