"""Fluid queues with backpressure: the arithmetic of the cluster simulator, as pure functions of values.

Tuples are a fluid. Every stream, and the outside of every source, is a channel that holds what was sent and not yet
taken. In one step the operators work from the sinks to the sources: each takes from its channels what was there before
the step, as much as its busiest instance manages and as the channels after it have room for. A channel holds what its
reader manages in buffer_s seconds, so a slow operator fills the channel before it and stops whoever writes there
(backpressure); only the channel outside a source has no bound, and what waits there is the backlog.
A tuple moves one operator a step, so buffer_s must be at least the longest step.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from modeling.flow.routing import instance_shares
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.topology import Stream, Topology
from planner.errors import PlanError

Floats = npt.NDArray[np.float64]

InstanceShares = Callable[[Stream, int], Sequence[float]]
"""Share of a stream's tuples that each of so many instances of its reader receives; they add up to the copies made."""


def routed_shares(topology: Topology, profiles: Profiles) -> InstanceShares:
    """Shares as the topology's engine deals them, by the key histograms of the profiles."""

    def shares(stream: Stream, parallelism: int) -> Sequence[float]:
        reader = topology.operator(stream.downstream)
        dealt = instance_shares(
            stream.grouping,
            parallelism,
            engine=topology.engine,
            max_parallelism=reader.max_parallelism,
            keys=profiles[reader.name].keys_of(stream.name),
            shares=stream.shares or None,
        )
        return [float(share) for share in dealt]

    return shares


@dataclass(frozen=True)
class FluidOperator:
    """One operator, compiled for stepping.

    inlets: channels it reads. shares: shape (inlets, parallelism). heaviest: the largest share per inlet. copies: how
    often a tuple of an inlet is taken (1, or the parallelism where every instance gets every tuple).
    outlets: channels it writes, each with its selectivity.
    """

    name: str
    service_s: float
    inlets: tuple[int, ...]
    shares: Floats
    heaviest: tuple[float, ...]
    copies: tuple[float, ...]
    outlets: tuple[tuple[int, float], ...]

    def busiest_s(self, taken: Sequence[float]) -> float:
        """Busy seconds of the busiest instance for what is taken from each inlet."""
        if len(taken) == 1:
            return self.service_s * self.heaviest[0] * taken[0]
        return self.service_s * float((np.asarray(taken) @ self.shares).max())

    def instance_records(self, taken: Sequence[float]) -> Floats:
        """Tuples that each instance gets of what is taken from each inlet, shape (parallelism,)."""
        received: Floats = np.asarray(taken, dtype=np.float64) @ self.shares
        return received


@dataclass(frozen=True)
class FluidNetwork:
    """A topology under one parallelism. operators: sinks first. limit: most tuples a channel holds."""

    channels: tuple[str, ...]
    operators: tuple[FluidOperator, ...]
    limit: tuple[float, ...]
    source_channel: Mapping[str, int]


class Step(NamedTuple):
    """What one step did. content, taken: tuples per channel. busiest_s: busy seconds of the busiest instance, and
    blocked: whether it waited for room downstream, per operator in the network's order."""

    content: list[float]
    taken: list[float]
    busiest_s: list[float]
    blocked: list[bool]


def fluid_network(
    topology: Topology,
    profiles: Profiles,
    parallelism: Mapping[str, int],
    *,
    buffer_s: float,
    shares_of: InstanceShares | None = None,
) -> FluidNetwork:
    """Compile a topology for stepping. A stream that no selectivity is known of has selectivity 1.

    shares_of: how each stream falls on the instances of its reader; as the engine deals it where None.

    Raises PlanError for an operator without a profile or with a service time of 0 (its buffer would have no bound), and
    for shares that do not fit the parallelism.
    """
    for name in topology.order:
        if name not in profiles:
            raise PlanError(f"simulator: operator {name!r} has no profile; give its service time")
        if profiles[name].service_s <= 0:
            raise PlanError(f"simulator: service time 0 s of operator {name!r}; give at least a microsecond")
    dealt = shares_of or routed_shares(topology, profiles)
    outside = {source: i for i, source in enumerate(topology.sources)}
    inside = {stream.name: len(outside) + i for i, stream in enumerate(topology.streams)}
    limit = [float("inf")] * (len(outside) + len(inside))
    operators = []
    for name in reversed(topology.order):
        profile, count = profiles[name], parallelism[name]
        if name in outside:
            inlets: tuple[int, ...] = (outside[name],)
            shares = np.full((1, count), 1.0 / count)
        else:
            streams = topology.inputs(name)
            inlets = tuple(inside[stream.name] for stream in streams)
            shares = np.array([_checked(dealt(stream, count), stream, count) for stream in streams])
        heaviest = tuple(float(share) for share in shares.max(axis=1))
        if name not in outside:
            for inlet, share in zip(inlets, heaviest, strict=True):
                limit[inlet] = buffer_s / (profile.service_s * share)
        outlets = tuple((inside[s.name], profile.selectivity.get(s.name, 1.0)) for s in topology.outputs(name))
        copies = tuple(float(total) for total in shares.sum(axis=1))
        operators.append(FluidOperator(name, profile.service_s, inlets, shares, heaviest, copies, outlets))
    channels = (*(f"->{source}" for source in outside), *inside)
    return FluidNetwork(channels, tuple(operators), tuple(limit), outside)


def _checked(shares: Sequence[float], stream: Stream, parallelism: int) -> Floats:
    numbers = np.asarray(shares, dtype=np.float64)
    if numbers.shape != (parallelism,) or not np.isfinite(numbers).all() or (numbers < 0).any() or numbers.max() <= 0:
        raise PlanError(
            f"simulator: shares {list(shares)} of stream {stream.name} for {parallelism} instances; give one number "
            "not below 0 for each instance, at least one of them positive"
        )
    return numbers


def step(network: FluidNetwork, content: Sequence[float], arrivals: Sequence[float], up_s: float) -> Step:
    """One step: arrivals come to the sources, then every operator works for up_s seconds (0 while the job is down).

    content: tuples per channel before; arrivals: tuples per source. Nothing is lost: per channel, content before plus
    what was sent there equals what was taken plus content after.
    """
    after = list(content)
    for source, arrived in enumerate(arrivals):
        after[source] += arrived
    taken = [0.0] * len(after)
    busiest_s = [0.0] * len(network.operators)
    blocked = [False] * len(network.operators)
    if up_s <= 0:
        return Step(after, taken, busiest_s, blocked)
    for position, operator in enumerate(network.operators):
        waiting = [after[inlet] for inlet in operator.inlets]
        work_s = operator.busiest_s(waiting)
        if work_s <= 0:
            continue
        fraction = min(1.0, up_s / work_s)
        processed = sum([w * copies for w, copies in zip(waiting, operator.copies, strict=True)])
        for outlet, selectivity in operator.outlets:
            room = max(0.0, network.limit[outlet] - after[outlet])
            if fraction * processed * selectivity > room:
                fraction = room / (processed * selectivity)
                blocked[position] = True
        for inlet, amount in zip(operator.inlets, waiting, strict=True):
            taken[inlet] = fraction * amount
            after[inlet] = amount - taken[inlet]
        for outlet, selectivity in operator.outlets:
            after[outlet] += fraction * processed * selectivity
        busiest_s[position] = fraction * work_s
    return Step(after, taken, busiest_s, blocked)
