"""Fluid queues with backpressure: the arithmetic of the cluster simulator, as pure functions of values.

Tuples are a fluid. What sources take in flows through all operators within the step, at the rates, service times and
outputs of the performance model (modeling/flow/linear.py); windows emit at once what they would in the long run. If an
operator is full, the sources that feed it take in less, and the rest waits outside as backlog. A steady load therefore
has the throughput, utilisation and bottleneck of `evaluate`, for any step length.
"""

from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property, lru_cache
from math import inf
from operator import add, or_, sub
from typing import NamedTuple

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.excuse import misfit
from modeling.flow.linear import FULL, LinearFlows, LinearPlans, dot
from modeling.flow.rates import OperatorFlow
from modeling.inputs.checked import check_site
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology

Rates = tuple[float, ...]
"""Tuples per second at each source."""

_ROUNDING = 1e-12
"""As a share of a source's tuples: less than this counts as nothing waiting."""

_REMEMBERED = 128
"""Size of the caches: arrivals are equal in all steps of a window."""


class ChannelRates(NamedTuple):
    """Tuples per second on each channel, and the busy share of each operator's busiest instance."""

    channel_per_s: list[float]
    busiest: list[float]


class Limited(NamedTuple):
    """What sources take in, the indices of the limits that are then full, and which sources these slow."""

    taken_per_s: Rates
    full: tuple[int, ...]
    slowed: tuple[bool, ...]


class InstanceTotals(NamedTuple):
    """Tuples and busy seconds of each instance of an operator, shape (instances,). given: by stream."""

    operator: str
    received: Floats
    given: dict[str, Floats]
    worked_s: Floats
    worked_blocked_s: Floats


@dataclass(frozen=True)
class FluidNetwork:
    """A topology under one plan. operators: sinks first. channels: the input of each source, then every stream.

    inlets: the channels that each operator reads. per_input: tuples per second on each channel per unit of each input
    of `linear`. waiting: for each limit, indices of the operators that wait for room when it is full.
    """

    sources: tuple[str, ...]
    operators: tuple[str, ...]
    channels: tuple[str, ...]
    inlets: tuple[tuple[int, ...], ...]
    per_input: tuple[tuple[float, ...], ...]
    waiting: tuple[tuple[int, ...], ...]
    linear: LinearFlows
    flows: tuple[OperatorFlow, ...]

    @cached_property
    def carried(self) -> Callable[[Rates], ChannelRates]:
        """A cached function of what sources take in."""

        def carried(taken_per_s: Rates) -> ChannelRates:
            inputs = self.linear.inputs_per_s(taken_per_s)
            used = self.linear.used(inputs)
            channel_per_s = [dot(weights, inputs) for weights in self.per_input]
            return ChannelRates(channel_per_s, used[len(self.operators) - 1 :: -1])

        return lru_cache(_REMEMBERED)(carried)

    @cached_property
    def limited(self) -> Callable[[Rates, Rates], Limited]:
        """A cached function of a base that sources take in, and of the load beyond that."""

        def limited(base_per_s: Rates, more_per_s: Rates) -> Limited:
            taken_per_s = tuple(map(add, base_per_s, more_per_s))
            if max(self.linear.used(self.linear.inputs_per_s(taken_per_s))) <= 1 / FULL:
                return Limited(taken_per_s, (), (False,) * len(taken_per_s))
            parts_per_s, full = self.linear.let_in_one(base_per_s, more_per_s)
            slowed = tuple([any(of) for of in zip(*(self.linear.slowed[limit] for limit in full), strict=True)])
            return Limited(tuple(map(add, base_per_s, parts_per_s)), tuple(full), slowed or (False,) * len(base_per_s))

        return lru_cache(_REMEMBERED)(limited)

    @cached_property
    def beyond_all_per_s(self) -> float:
        """Rate at the only source above which the same limits are full: requests are capped at it, so that `limited`
        can reuse cached answers. Infinite if nothing takes time, if there are several sources, whose proportions
        matter, or windows.
        """
        if len(self.sources) > 1 or self.linear.windows:
            return inf
        return 2 * sum(1 / most for most in self.linear.most_used if most > 0) or inf

    def instances(
        self, taken: Sequence[float], taken_blocked: Sequence[float], span_s: float
    ) -> Iterator[InstanceTotals]:
        """Totals per operator, from tuples per channel in span_s seconds, and those taken while the reader waited.

        Instances that share a stream's tuples in several ways share them as at the mean rates of the span.
        """
        inputs = np.array(self.linear.inputs_per_s([each / span_s for each in taken[: len(self.sources)]]))
        mean_per_s = np.array(self.per_input) @ inputs
        some = np.where(mean_per_s > 0, mean_per_s, 1.0)
        for_s, blocked_s = np.array(taken) / some, np.array(taken_blocked) / some
        at = {name: number for number, name in enumerate(self.channels)}
        for flow in reversed(self.flows):
            inlets = [at[stream or f"->{flow.name}"] for stream in flow.streams]
            term_per_s = flow.term_per_s[0] @ inputs
            slowed_s = flow.slowed[0] * flow.working_s[0]
            yield InstanceTotals(
                flow.name,
                (term_per_s * for_s[inlets]) @ flow.shares[0],
                {name: (of.term_per_s[0] @ inputs) @ of.shares[0] * for_s[at[name]] for name, of in flow.given.items()},
                (term_per_s * for_s[inlets]) @ slowed_s,
                (term_per_s * blocked_s[inlets]) @ slowed_s,
            )


class Step(NamedTuple):
    """The result of one step. content: tuples that wait outside each source. taken: tuples per channel. busiest_s: busy
    seconds of the busiest instance, and blocked: whether it waited for room, per operator in the network's order.
    """

    content: list[float]
    taken: list[float]
    busiest_s: list[float]
    blocked: list[bool]


def channels_of(topology: Topology) -> tuple[str, ...]:
    return (*(f"->{source}" for source in topology.sources), *(stream.name for stream in topology.streams))


def fluid_network(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, site: Site = NOWHERE, share: float = 1.0
) -> FluidNetwork:
    """Compile a plan for stepping. share: of what it could carry that threads of services let through
    (`PlanModel.share_by_threads`); what is more waits at the sources, and no instance is busier for it.

    Raises ModelError for a plan, profiles or a site that do not fit the topology.
    """
    check_site(topology, site, [plan])
    if excuse := misfit(topology, plan, site):
        raise ModelError(str(excuse))
    plans = LinearPlans(topology, profiles, placed([plan], topology.order, site), site)
    linear = plans.of(0).with_share(share)
    channels, operators = channels_of(topology), topology.order[::-1]
    by_channel = {of or f"->{flow.name}": each[0] for flow in plans.flows for of, each in flow.stream_per_s.items()}
    inlets = {name: tuple(channels.index(stream.name) for stream in topology.inputs(name)) for name in operators}
    inlets |= {source: (at,) for at, source in enumerate(topology.sources)}
    before: dict[str, set[str]] = {}
    for name in topology.order:
        senders = [stream.upstream for stream in topology.inputs(name)]
        before[name] = set(senders).union(*(before[sender] for sender in senders))
    waiting = []
    for limit, slows in enumerate(linear.slows):
        slowed = {source for source, slow in zip(topology.sources, slows.tolist(), strict=True) if slow}
        full = topology.order[limit : limit + 1]
        waits = slowed.union(*(before[name] for name in full)).difference(full)
        waiting.append(tuple(operators.index(name) for name in waits))
    per_input = tuple(tuple(by_channel[name].tolist()) for name in channels)
    sinks_first = tuple(inlets[name] for name in operators)
    return FluidNetwork(
        topology.sources, operators, channels, sinks_first, per_input, tuple(waiting), linear, plans.flows
    )


def step(network: FluidNetwork, content: Sequence[float], arrivals: Sequence[float], up_s: float) -> Step:
    """One step: arrivals come to the sources, then all operators work for up_s seconds (0 while the job is down).

    content: tuples that wait outside each source before the step; arrivals: tuples per source. Nothing is lost: content
    before plus arrivals equals taken plus content after.
    """
    if up_s <= 0:
        idle = [0.0] * len(network.operators)
        return Step(list(map(add, content, arrivals)), [0.0] * len(network.channels), idle, [False] * len(idle))
    # New arrivals come first. The backlog gets the remaining capacity, except at sources that are slowed already.
    taken_per_s, full, slowed = network.limited((0.0,) * len(content), tuple([came / up_s for came in arrivals]))
    if any(content):
        most = network.beyond_all_per_s
        spare = tuple([0.0 if slow else min(waits / up_s, most) for waits, slow in zip(content, slowed, strict=True)])
        taken_per_s, more, slower = network.limited(taken_per_s, spare)
        full, slowed = full + more, tuple(map(or_, slowed, slower))
    here, after = list(map(add, content, arrivals)), [0.0] * len(content)
    for source, slow in enumerate(slowed):
        if slow and (rest := here[source] - taken_per_s[source] * up_s) > _ROUNDING * here[source]:
            after[source] = rest
    carried = network.carried(taken_per_s)
    taken = [rate * up_s for rate in carried.channel_per_s]
    taken[: len(here)] = map(sub, here, after)
    blocked = [False] * len(network.operators)
    for limit in full:
        for position in network.waiting[limit]:
            blocked[position] = True
    return Step(after, taken, [part * up_s for part in carried.busiest], blocked)
