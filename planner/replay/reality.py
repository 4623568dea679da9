"""The world of a replay: the simulated engine, and a reality that differs from the model's beliefs."""

import math
from bisect import bisect_right
from collections.abc import Mapping
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np

from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import Site
from planner.clusters.engine_terms import EngineTerms
from planner.clusters.fluid_queues import FluidNetwork, fluid_network
from planner.errors import PlanError
from planner.plan_model import PlanModel

_SOUND, _SLOW = "sound", "slow"
DAY_S = 86400


@dataclass(frozen=True)
class Differences:
    """How reality differs from what is believed; by default it does not.

    service_error: standard deviation of log(true / believed service time) over operators. metric_noise: the same for
    the observed busy shares; counters are exact. slow_every_s, slow_for_s, slow_factor: mean interval at which one
    instance of one operator becomes slow_factor times as slow for slow_for_s. failure_every_s: mean interval at which
    the job fails and restarts under the same plan. key_drift: fraction of the keys' shares that is redistributed each
    day. seed: of all random draws.
    """

    seed: int = 0
    service_error: float = 0.0
    metric_noise: float = 0.0
    slow_every_s: float = math.inf
    slow_for_s: float = 1800.0
    slow_factor: float = 2.0
    failure_every_s: float = math.inf
    key_drift: float = 0.0

    def __post_init__(self) -> None:
        for name, least in (("service_error", 0.0), ("metric_noise", 0.0), ("slow_for_s", 60.0), ("slow_factor", 1.0)):
            value = getattr(self, name)
            if not (math.isfinite(value) and value >= least):
                raise PlanError(f"replay: {name} is {value}; give a finite number of at least {least:g}")
        for name in ("slow_every_s", "failure_every_s"):
            if not getattr(self, name) >= 600:
                raise PlanError(f"replay: {name} is {getattr(self, name)}; give at least 600 s, or leave it out")
        if not 0 <= self.key_drift <= 1:
            raise PlanError(f"replay: key_drift is {self.key_drift}; give a share between 0 and 1")


@dataclass(frozen=True)
class _Span:
    """A span in which one instance of an operator is slow. place: which instance, as a fraction of the parallelism."""

    from_s: float
    until_s: float
    operator: str
    place: float


class Reality:
    """A `World` of the simulator: the true operators, and what goes wrong when."""

    calm_s = 60.0

    def __init__(
        self,
        model: PlanModel,
        terms: EngineTerms,
        differences: Differences,
        from_s: float,
        until_s: float,
        mix: Mapping[str, float] | None = None,
    ) -> None:
        """model: what policies and planners believe; plans run as it packs them. from_s, until_s: the span of the
        replay. mix: rates of the sources in whose proportions the threads of services saturate; equal ones if absent.
        """
        self.model, self.terms, self.differences = model, terms, differences
        self.topology = topology = model.topology
        believed = model.profiles
        self._from_s = from_s
        # A random stream per kind, so that enabling one difference does not change the draws of another.
        service, failing, slowing = (np.random.default_rng([differences.seed, at]) for at in range(3))
        factors = np.exp(differences.service_error * service.standard_normal(len(topology.order))).tolist()
        self.profiles = {
            name: believed[name].slower(factor) for name, factor in zip(topology.order, factors, strict=True)
        }
        self._true = model.believing(self.profiles, model.arrival_cv2)
        self._mix = mix or dict.fromkeys(topology.sources, 1.0)
        failures_s = _moments(from_s, until_s, differences.failure_every_s, failing)
        self._failures_s = frozenset(failures_s)
        self._slow = tuple(
            _Span(at_s, at_s + differences.slow_for_s, str(slowing.choice(topology.order)), float(slowing.random()))
            for at_s in _moments(from_s, until_s, differences.slow_every_s, slowing)
        )
        turns_s = [*failures_s, *(at_s for span in self._slow for at_s in (span.from_s, span.until_s))]
        if differences.key_drift:
            turns_s += np.arange(from_s + DAY_S, until_s, DAY_S).tolist()
        self._turns_s = sorted(turns_s)
        self._compile = lru_cache(4096)(self._compiled)

    def network(self, parallelism: Mapping[str, int], at_s: float) -> FluidNetwork:
        """Raises ModelError for a parallelism that does not fit."""
        counts = tuple([parallelism[name] for name in self.topology.order])
        slow = next((span for span in self._slow if span.from_s <= at_s < span.until_s), None)
        day = int((at_s - self._from_s) // DAY_S) if self.differences.key_drift else 0
        return self._compile(counts, slow, day)

    def turn_s(self, after_s: float) -> float:
        at = bisect_right(self._turns_s, after_s)
        return self._turns_s[at] if at < len(self._turns_s) else math.inf

    def fails(self, at_s: float) -> bool:
        return at_s in self._failures_s

    def _compiled(self, counts: tuple[int, ...], slow: _Span | None, day: int) -> FluidNetwork:
        parallelism = dict(zip(self.topology.order, counts, strict=True))
        profiles = {name: self._drifted(name, profile, day) for name, profile in self.profiles.items()}
        plan, site = self.model.packed(PhysicalPlan(self.topology.name, parallelism)), self.model.site
        (share,) = self._true.share_by_threads([plan], self._mix).tolist()
        if slow is not None:
            plan, site = _with_a_slow_one(plan, site, slow, self.differences.slow_factor)
        return fluid_network(self.topology, profiles, plan, site, share)

    def _drifted(self, name: str, profile: OperatorProfile, day: int) -> OperatorProfile:
        if not day or not self.differences.key_drift:
            return profile

        def of(keys: KeyHistogram | None, number: int) -> KeyHistogram | None:
            at = self.topology.order.index(name)
            return keys and _redistributed(keys, self.differences.key_drift, [self.differences.seed, at, number, day])

        streams = {s: of(keys, 1 + n) or keys for n, (s, keys) in enumerate(sorted(profile.stream_keys.items()))}
        return replace(profile, keys=of(profile.keys, 0), stream_keys=streams)


def _moments(from_s: float, until_s: float, every_s: float, rng: np.random.Generator) -> list[float]:
    """Moments of a Poisson process, in whole seconds."""
    found: list[float] = []
    at_s = from_s
    while math.isfinite(every_s) and (at_s := at_s + float(rng.exponential(every_s))) < until_s:
        found.append(float(math.ceil(at_s)))
    return found


def _redistributed(keys: KeyHistogram, part: float, seed: list[int]) -> KeyHistogram:
    """The same keys, with a part of each share moved to another key."""
    names = list(keys.shares)
    if not names:
        return keys
    others = np.random.default_rng(seed).permutation(len(names))
    shares = list(keys.shares.values())
    drifted = {
        name: (1 - part) * shares[at] + part * shares[other]
        for at, (name, other) in enumerate(zip(names, others, strict=True))
    }
    return replace(keys, shares=drifted)


def _with_a_slow_one(plan: PhysicalPlan, site: Site, slow: _Span, factor: float) -> tuple[PhysicalPlan, Site]:
    """The plan with one instance in a container of its own on a slow node; all others stay where they are. Links are
    left out, as the slow node has none.
    """
    count = plan.parallelism[slow.operator]
    bad = Instance(slow.operator, min(count - 1, int(slow.place * count)))
    every = [Instance(name, at) for name, many in plan.parallelism.items() for at in range(many)]
    packing = plan.packing or (Container(0, tuple(every), _SOUND),)
    home = next(each for each in packing if bad in each.instances)
    others = [replace(each, instances=tuple(one for one in each.instances if one != bad)) for each in packing]
    alone = Container(1 + max(each.id for each in packing), (bad,), _SLOW)
    slower = {**site.service_factor, _SLOW: factor * site.service_factor.get(home.node, 1.0)}
    named = [replace(each, node=each.node or _SOUND) for each in others]
    return replace(plan, packing=(*named, alone)), replace(site, service_factor=slower, network=None)
