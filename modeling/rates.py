"""Rates: how an offered load spreads through the topology, in topological order."""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.operator_profile import Profiles
from modeling.physical_plan import PhysicalPlan
from modeling.routing import instance_shares
from modeling.topology import Topology

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class Rates:
    """Tuples per second in the stable case, where everything that is offered is processed.

    stream_per_s: per stream name, before it is dealt (an ALL stream counts once). instance_per_s: per operator the
    tuples into each instance, shape (parallelism,), summed over all streams that enter it.
    """

    stream_per_s: Mapping[str, float]
    instance_per_s: Mapping[str, Floats]

    def operator_per_s(self, operator: str) -> float:
        return float(self.instance_per_s[operator].sum())


def arrival_rates(topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float]) -> Rates:
    """Rates that a load per source brings to every stream and instance: λ(out) = selectivity · λ(in), summed over
    inputs.

    Raises ModelError for a load that is negative, not finite, lacks a source or names an unknown one, and for an
    operator without a profile.
    """
    check_load(topology, profiles, load_per_s)
    plan.check(topology)
    streams: dict[str, float] = {}
    instances: dict[str, Floats] = {}
    for name in topology.order:
        instances[name] = instance_rates(topology, profiles, name, plan.parallelism[name], streams, load_per_s)
        streams |= outgoing_rates(topology, profiles, name, float(instances[name].sum()))
    return Rates(streams, instances)


def instance_rates(
    topology: Topology,
    profiles: Profiles,
    name: str,
    parallelism: int,
    streams_per_s: Mapping[str, float],
    load_per_s: Mapping[str, float],
) -> Floats:
    """Tuples per second into each instance of one operator, shape (parallelism,), given the streams that enter it."""
    if name in topology.sources:
        return np.full(parallelism, load_per_s[name] / parallelism)
    total = np.zeros(parallelism)
    for stream in topology.inputs(name):
        total += streams_per_s[stream.name] * instance_shares(
            stream.grouping,
            parallelism,
            engine=topology.engine,
            max_parallelism=topology.operator(name).max_parallelism,
            keys=profiles[name].keys,
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
