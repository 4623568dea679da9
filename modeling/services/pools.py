"""Capacity in requests per second of a graph of services whose threads are held while they call other services.

An operator of a stream topology passes a tuple on and is done; a service that calls another keeps its thread until the
answer arrives. So a full service blocks its callers, whose threads wait for its threads. This is a layered queueing
network (Rolia and Sevcik 1995, The Method of Layers), solved from the leaves up: a service with n requests is a closed
network of n threads, which compute and visit the called services; its throughput for each n is the station seen by its
callers, never faster than with all its threads.

Assumptions: a request makes its calls sequentially; times satisfy the product form, whose throughput hardly depends on
more than means. Where a service has several callers, each meets the requests of the others there, which arrive as they
do at saturation.
"""

from collections.abc import Mapping
from dataclasses import dataclass, replace
from enum import StrEnum
from functools import cached_property
from math import isfinite

import numpy as np

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.topology import Grouping, Topology
from modeling.queueing.closed_network import closed_throughput_per_s

MAX_THREADS = 4096
"""Of one replica."""
MAX_IN_ALL = 10**6
"""Of all replicas of a service."""
MAX_CUSTOMERS = 1024
"""Of a closed network: the cost of its solution grows with their square."""


class CallRouting(StrEnum):
    """How a call is assigned to a replica.

    SHARED: to a free one if there is one, the maximum capacity of a service. RANDOM: to any one, for which it waits.
    Callers that each balance only their own calls lie in between.
    """

    SHARED = "shared"
    RANDOM = "random"


@dataclass(frozen=True)
class ServicePool:
    """One replica of a service.

    threads: concurrent requests. holding_s: mean seconds for which a request holds a thread, including the answers of
    called services, without waits for threads. cpu_s: own CPU seconds per request, part of holding_s. cores: available
    cores. If either is None, CPU is not a limit.
    """

    threads: int
    holding_s: float
    cpu_s: float | None = None
    cores: float | None = None

    def __post_init__(self) -> None:
        if self.threads < 1:
            raise ModelError(f"a pool of {self.threads} threads; give at least 1")
        if not (isfinite(self.holding_s) and self.holding_s >= 0):
            raise ModelError(f"a thread held for {self.holding_s} s; give a finite number, not negative")
        if self.cores is not None and not self.cores > 0:
            raise ModelError(f"a replica of {self.cores} cores; give more than 0, or leave them out")


def pool_of(profile: OperatorProfile, threads: int, cores: float | None = None) -> ServicePool:
    """The pool of a profile whose instances are replicas: a request keeps one busy for holding_s / threads."""
    return ServicePool(threads, profile.service_s * threads, profile.cpu_s, cores)


@dataclass(frozen=True)
class ServiceTerms:
    """pools: one replica of each service."""

    pools: Mapping[str, ServicePool]
    routing: CallRouting = CallRouting.SHARED

    def slower(self, factors: Mapping[str, float]) -> "ServiceTerms":
        """The same with requests that hold a thread, and take CPU, for so many times as long; by service."""
        pools = {
            name: replace(
                pool,
                holding_s=pool.holding_s * factors[name],
                cpu_s=None if pool.cpu_s is None else pool.cpu_s * factors[name],
            )
            for name, pool in self.pools.items()
        }
        return replace(self, pools=pools)


@dataclass(frozen=True)
class ServiceSaturation:
    """Where a graph of services saturates under one mix of load.

    mst_per_s: requests per second by source. bottleneck: the service with the lowest limit by threads or CPU if no call
    ever waited. own_limit_per_s: that limit of each service, in its own requests per second. throughput_per_s: of each
    service with all its threads held, including waits for called services.
    """

    mst_per_s: Mapping[str, float]
    bottleneck: str
    own_limit_per_s: Mapping[str, float]
    throughput_per_s: Mapping[str, float]


def service_saturation(
    topology: Topology,
    profiles: Profiles,
    pools: Mapping[str, ServicePool],
    replicas: Mapping[str, int],
    load_per_s: Mapping[str, float],
    routing: CallRouting = CallRouting.SHARED,
) -> ServiceSaturation:
    """Services are operators, calls are streams, calls per request are selectivities. load_per_s: of each source; only
    its mix matters.

    Raises ModelError for a service without pool or replicas, more than MAX_IN_ALL threads, calls that take longer than
    their caller is held, streams other than shuffles, and zero load.
    """
    _check(topology, pools, replicas)
    rates_per_s = _rates_per_s(topology, profiles, load_per_s)
    network = _Network(topology, profiles, pools, replicas, rates_per_s, routing)
    own = {name: _own_limit_per_s(pools[name], replicas[name]) for name in topology.order}
    busy = [name for name in topology.order if rates_per_s[name] > 0]
    bottleneck = min(busy, key=lambda name: own[name] / rates_per_s[name])
    scale, full_per_s = network.saturated(own[bottleneck] / rates_per_s[bottleneck])
    return ServiceSaturation(
        mst_per_s={source: rates_per_s[source] * scale for source in topology.sources},
        bottleneck=bottleneck,
        own_limit_per_s=own,
        throughput_per_s=full_per_s,
    )


@dataclass(frozen=True)
class _Network:
    topology: Topology
    profiles: Profiles
    pools: Mapping[str, ServicePool]
    replicas: Mapping[str, int]
    rates_per_s: Mapping[str, float]
    routing: CallRouting

    def saturated(self, most: float) -> tuple[float, dict[str, float]]:
        """How many times rates_per_s arrive when a source has all its threads held, at most `most`; and requests per
        second of each service with all its threads held then.
        """

        def reached(full_per_s: Mapping[str, float]) -> float:
            return min(full_per_s[name] / self.rates_per_s[name] for name in sources)

        sources = [name for name in self.topology.sources if self.rates_per_s[name] > 0]
        full_per_s = self.full_per_s(most)
        # The more the others send, the less gets through: what does at `most` is a lower bound.
        scale = reached(full_per_s)
        if scale < most and self._meet:
            from scipy.optimize import brentq  # Late: reading a topology file imports this module.

            least = scale * (1 - 1e-6)
            full_per_s = self.full_per_s(
                brentq(lambda at: reached(self.full_per_s(at)) - at, least, most, xtol=1e-6 * most)
            )
        return min(reached(full_per_s), most), full_per_s

    @cached_property
    def _let_in(self) -> int:
        """Most requests that sources work on at a time. Each makes one call at a time, so no service has more."""
        return sum(self.pools[name].threads * self.replicas[name] for name in self.topology.sources)

    @cached_property
    def _most_held(self) -> dict[str, int]:
        """Of each service, the most threads that are held at a time."""
        most: dict[str, int] = {}
        for name in self.topology.order:
            callers = {stream.upstream for stream in self.topology.inputs(name)}
            calls = min(self._let_in, sum(most[of] for of in callers)) if callers else self._let_in
            most[name] = min(self.pools[name].threads * self.replicas[name], calls)
        return most

    @property
    def _meet(self) -> bool:
        """Whether callers, or replicas of one, meet at a service."""
        return any(
            len(self.topology.inputs(name)) > 1 or (self.routing is CallRouting.RANDOM and self.replicas[name] > 1)
            for name in self.topology.order
        )

    def full_per_s(self, scale: float) -> dict[str, float]:
        """Requests per second of each service with all its threads held, while others send `scale` times their rate."""
        # The station that callers see: all replicas as one, or one of them.
        seen: dict[str, Floats] = {}
        full_per_s = {}
        for name in reversed(self.topology.order):
            whole = self._curve(name, self.replicas[name], seen, scale)
            full_per_s[name] = float(whole[-1])
            if self.topology.inputs(name):
                seen[name] = whole if self.routing is CallRouting.SHARED else self._curve(name, 1, seen, scale)
        return full_per_s

    def _curve(self, name: str, replicas: int, seen: Mapping[str, Floats], scale: float) -> Floats:
        """Requests per second of `replicas` replicas of a service with 1, 2 … of their threads held."""
        pool, own_s = self.pools[name], _own_s(self.topology, self.profiles, self.pools, name)
        threads = np.arange(1.0, pool.threads * replicas + 1)
        # Of very many threads, some together are one customer of the network, who makes as many requests at once.
        together = -(-threads.size // MAX_CUSTOMERS)
        held = np.arange(together, threads.size + together, together, dtype=np.float64)
        stations = []
        for callee in dict.fromkeys(stream.downstream for stream in self.topology.outputs(name)):
            calls = sum(
                self.profiles[name].selectivity.get(stream.name, 1.0)
                for stream in self.topology.outputs(name)
                if stream.downstream == callee
            )
            if calls > 0:
                queues = 1 if self.routing is CallRouting.SHARED else self.replicas[callee]
                sent_per_s = self.rates_per_s[name] * calls * replicas / self.replicas[name]
                others_per_s = max(0.0, self.rates_per_s[callee] - sent_per_s) * scale / queues
                callers = {of.upstream for of in self.topology.inputs(callee)} - {name}
                threads_beside = pool.threads * (self.replicas[name] - replicas)
                threads_beside += sum(self._most_held[of] for of in callers)
                others = np.minimum(threads_beside, self._let_in - held)
                stations += [_beside_others_per_s(seen[callee], held, others_per_s, others) * queues / calls] * queues
        if pool.cpu_s and pool.cores:
            stations.append(np.minimum(held, pool.cores * replicas) / pool.cpu_s)
            own_s = max(0.0, own_s - pool.cpu_s)
        cycles_per_s = closed_throughput_per_s(held.size, own_s, [per_s / together for per_s in stations])
        return np.asarray(np.interp(threads, np.append(0.0, held), np.append(0.0, together * cycles_per_s)))


def _check(topology: Topology, pools: Mapping[str, ServicePool], replicas: Mapping[str, int]) -> None:
    for name in topology.order:
        if name not in pools or name not in replicas:
            raise ModelError(f"service {name!r} has no pool or no replicas; give both for every service")
        if not 1 <= (threads := pools[name].threads * replicas[name]) <= MAX_IN_ALL:
            raise ModelError(f"service {name!r} has {threads} threads in all; give 1 to {MAX_IN_ALL}")
    if uneven := [stream.name for stream in topology.streams if stream.grouping is not Grouping.SHUFFLE]:
        raise ModelError(f"call {uneven[0]} is no shuffle; any replica can answer a call: make it a shuffle")


def _rates_per_s(topology: Topology, profiles: Profiles, load_per_s: Mapping[str, float]) -> dict[str, float]:
    if unknown := sorted(set(load_per_s) - set(topology.sources)):
        raise ModelError(f"load of {unknown[0]!r}, which is no source; they are {', '.join(topology.sources)}")
    rates = dict.fromkeys(topology.order, 0.0) | dict(load_per_s)
    if not sum(rates.values()) > 0:
        raise ModelError("no source has any load; give at least one a rate above 0")
    for name in topology.order:
        for stream in topology.outputs(name):
            rates[stream.downstream] += rates[name] * profiles[name].selectivity.get(stream.name, 1.0)
    return rates


def _own_s(topology: Topology, profiles: Profiles, pools: Mapping[str, ServicePool], name: str) -> float:
    """Seconds for which a request holds a thread without a call in progress."""
    called_s = sum(
        profiles[name].selectivity.get(stream.name, 1.0) * pools[stream.downstream].holding_s
        for stream in topology.outputs(name)
    )
    own_s = pools[name].holding_s - called_s
    # For a service that only forwards requests, measured means may cross within their errors.
    if own_s < -0.05 * called_s:
        raise ModelError(
            f"service {name!r} holds a thread for {pools[name].holding_s:.4g} s, but its calls take {called_s:.4g} s; "
            "see that its calls do not overlap, and that both histograms count the same requests"
        )
    return max(0.0, own_s)


def _beside_others_per_s(curve: Floats, held: Floats, others_per_s: float, others: Floats) -> Floats:
    """A service's throughput for one caller that holds `held` requests there, beside at most `others` of other callers,
    which arrive at random at others_per_s: their number is a process of births and deaths.

    One server of 1/s, of which the others take half: at most one of theirs is there beside ours, for 1/2 of the time.

    >>> _beside_others_per_s(np.ones(2), np.ones(1), 0.5, np.ones(1)).tolist()
    [0.75]
    """
    reached = np.concatenate(([0.0], curve))
    if not others_per_s > 0 or not np.isfinite(curve[0]):
        return np.asarray(np.interp(held, np.arange(reached.size), reached))
    most = max(0, int(others.max()))
    together = -(-most // MAX_CUSTOMERS) or 1
    beside = np.arange(0, most + together, together, dtype=np.float64)
    there = held[:, None] + beside
    of_each_per_s = np.interp(there, np.arange(reached.size), reached) / there
    log_weights = np.cumsum(np.log(others_per_s / (beside[1:] * of_each_per_s[:, 1:])), axis=1)
    log_weights = np.concatenate((np.zeros((held.size, 1)), log_weights), axis=1)
    log_weights[:, 1:][beside[1:] > others[:, None]] = -np.inf
    weights = np.exp(log_weights - log_weights.max(axis=1, keepdims=True))
    return np.asarray(held * (weights * of_each_per_s).sum(axis=1) / weights.sum(axis=1))


def _own_limit_per_s(pool: ServicePool, replicas: int) -> float:
    by_threads = pool.threads * replicas / pool.holding_s if pool.holding_s > 0 else np.inf
    by_cpu = pool.cores * replicas / pool.cpu_s if pool.cpu_s and pool.cores else np.inf
    return float(min(by_threads, by_cpu))
