"""What a plan misses under a load, and the least change of parallelism that would mend it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from math import ceil, inf

import numpy as np
import numpy.typing as npt

from modeling.evaluate_many import evaluate_many
from modeling.excuse import Excuse, unfit
from modeling.inputs.node_speeds import node_factors
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.scale_efficiency import LINEAR
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Grouping, Topology
from modeling.latency.delay import Delay

Floats = npt.NDArray[np.float64]

AT_ONCE = 256
"""Parallelisms that are tried at once."""

_FULL = 1 - 1e-6
"""An instance that is busy all the time does not carry its load: exactly 1 is too much, whatever rounding says."""


def excuses(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    targets: Targets,
    *,
    arrival_cv2: float = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> tuple[Excuse, ...]:
    """Why the plan will not do in a steady state; none where it holds the targets. `change_of` is what mends them all.

    Each change is the least for its operator alone, the others as they are but for changes before it in the topology.
    That for the latency adds instances one by one where they help most, and then takes back what is not needed: none of
    it can be left out, though another one may be smaller. A packing is not kept: every instance of an operator is taken
    to be as slow as the slowest that it has now (site), which may ask for more than is needed.
    """
    if (misfit := unfit(topology, plan)) is not None:
        return (misfit,)
    slowed = _on_the_slowest_node(profiles, plan, site)
    search = _Search(topology, slowed, load_per_s, arrival_cv2, delays or {}, targets)
    return tuple(replace(each, plan_id=plan.plan_id) for each in search.excuses(dict(plan.parallelism)))


def _on_the_slowest_node(profiles: Profiles, plan: PhysicalPlan, site: Site) -> Profiles:
    slowest = {name: float(factors.max()) for name, factors in node_factors(plan, site).items()}
    return {
        name: replace(
            profile,
            service_s=profile.service_s * slowest.get(name, 1.0),
            stream_service_s={of: s * slowest.get(name, 1.0) for of, s in profile.stream_service_s.items()},
        )
        for name, profile in profiles.items()
    }


def change_of(found: Sequence[Excuse]) -> dict[str, int]:
    """The changes of all excuses together; empty where one of them has none, as no parallelism mends that."""
    if not all(excuse.mendable for excuse in found):
        return {}
    change: dict[str, int] = {}
    for excuse in found:
        for operator, count in excuse.change.items():
            change[operator] = max(count, change.get(operator, 0))
    return change


class _Search:
    def __init__(
        self,
        topology: Topology,
        profiles: Profiles,
        load_per_s: Mapping[str, float],
        arrival_cv2: float,
        delays: Mapping[str, Delay],
        targets: Targets,
    ) -> None:
        self._topology = topology
        self._profiles = profiles
        self._loads = {source: [rate] for source, rate in load_per_s.items()}
        self._arrival_cv2 = arrival_cv2
        self._delays = delays
        self._targets = targets
        fixed = {s.downstream: len(s.shares) for s in topology.streams if s.grouping is Grouping.CUSTOM}
        self._most = {name: fixed.get(name, topology.operator(name).max_parallelism) for name in topology.order}

    def excuses(self, parallelism: dict[str, int]) -> list[Excuse]:
        found: list[Excuse] = []
        changed = dict(parallelism)
        first = self._used([parallelism])[0]
        for number, name in enumerate(self._topology.order):
            used = float(max(first[number], self._used([changed])[0, number]))
            missed = self._missed(used)
            if not missed:
                continue
            bound = min(bound for _, bound in missed)
            least = self._least(changed, name, bound)
            if least is None:
                remedy, change = self._beyond_parallelism(changed, name, bound), {}
            else:
                remedy, change = f"give {name} {least} instances instead of {parallelism[name]}", {name: least}
                changed[name] = least
            for target, of in missed:
                found.append(_too_busy(target, name, used, of, remedy, change))
        if self._targets.max_latency_s is not None:
            found += self._latency_excuse(parallelism, changed, mendable=all(each.mendable for each in found))
        return found

    def _missed(self, used: float) -> list[tuple[str, float]]:
        """Targets that an operator so busy misses, with the utilisation that it may have."""
        targets, missed = self._targets, []
        if targets.throughput and used >= 1:
            missed.append(("throughput", _FULL))
        if targets.max_lag_s is not None and used > 1:
            missed.append(("lag", 1.0))
        if targets.max_utilisation is not None and used > targets.max_utilisation * (1 + 1e-9):
            missed.append(("utilisation", targets.max_utilisation))
        if targets.max_latency_s is not None and used >= 1 and not missed:
            missed.append(("latency", _FULL))
        return missed

    def _least(self, parallelism: Mapping[str, int], name: str, bound: float) -> int | None:
        """Of one operator, the others as they are, so that its busiest instance keeps the bound."""
        at, now, most = self._topology.order.index(name), parallelism[name], self._most[name]
        if most <= now:
            return None
        linear = self._profiles[name].efficiency == LINEAR
        # With one key group or task an instance, no instance has more than with fewer instances.
        if linear and self._used([{**parallelism, name: most}])[0, at] > bound * (1 + 1e-9):
            return None
        begin = now + 1
        while begin <= most:
            counts = range(begin, min(most, begin + AT_ONCE - 1) + 1)
            used = self._used([{**parallelism, name: count} for count in counts])[:, at]
            if (holds := np.flatnonzero(used <= bound * (1 + 1e-9))).size:
                return counts[int(holds[0])]
            # Evenly dealt it would need as many: fewer cannot do.
            evenly = float(self._even_busy(parallelism, name)) / bound if linear else 0.0
            begin = max(counts[-1] + 1, min(most, int(evenly)))
        return None

    def _even_busy(self, parallelism: Mapping[str, int], name: str) -> float:
        """Instances that would be busy all the time if all were dealt evenly."""
        even = _evenly_dealt(self._topology)
        told = evaluate_many(even, self._profiles, [self._plan({**parallelism, name: 1})], self._loads, latency=False)
        return float(told.utilisation[0, 0, even.order.index(name)])

    def _beyond_parallelism(self, parallelism: Mapping[str, int], name: str, bound: float) -> str:
        if any(stream.grouping is Grouping.CUSTOM for stream in self._topology.inputs(name)):
            return f"no parallelism helps, as the shares of its custom grouping are given: make {name} faster"
        if grouped := self._by_grouping(parallelism, name, bound):
            return f"no parallelism helps, as {grouped}: change the grouping, or make {name} faster"
        at, most = self._topology.order.index(name), self._most[name]
        used = float(self._used([{**parallelism, name: most}])[0, at])
        evenly = self._even_busy(parallelism, name) / bound
        if self._profiles[name].efficiency != LINEAR:
            return f"no parallelism up to {most} helps, as each instance slows the others: make {name} faster"
        if evenly <= most:
            return (
                f"no parallelism helps, as its busiest instance is at {used:.3g} even with {most}: spread its heaviest "
                f"key, or make {name} faster"
            )
        return f"not even {most} instances do: raise its max_parallelism to {ceil(evenly - 1e-9)} or more"

    def _by_grouping(self, parallelism: Mapping[str, int], name: str, bound: float) -> str:
        """What streams do that instances cannot share, where that is what keeps the operator from the bound."""
        inputs = self._topology.inputs(name)
        at_one = [stream for stream in inputs if stream.grouping is Grouping.GLOBAL]
        at_all = [stream for stream in inputs if stream.grouping is Grouping.ALL]
        unshared = {stream.name for stream in (*at_one, *at_all)}
        if not unshared:
            return ""
        if len(unshared) < len(inputs):
            streams = tuple(
                replace(s, grouping=Grouping.SHUFFLE) if s.name in unshared else s for s in self._topology.streams
            )
            shared = replace(self._topology, streams=streams)
            plan = self._plan({**parallelism, name: self._most[name]})
            told = evaluate_many(shared, self._profiles, [plan], self._loads, latency=False)
            if told.utilisation[0, 0, shared.order.index(name)] > bound * (1 + 1e-9):
                return ""
        parts = [f"all tuples of {stream.name} go to one instance" for stream in at_one]
        parts += [f"every instance gets every tuple of {stream.name}" for stream in at_all]
        return " and ".join(parts)

    def _latency_excuse(self, before: Mapping[str, int], changed: dict[str, int], *, mendable: bool) -> list[Excuse]:
        bound = self._targets.max_latency_s
        assert bound is not None
        now = float(self._latency_s([before])[0])
        if now <= bound:
            return []
        reason = f"latency p95 {now:.3g} s > {bound:.3g} s"
        slowest = self._slowest(changed)
        if not mendable:
            remedy = "no parallelism helps until what is full is mended otherwise"
            return [Excuse("", "latency", slowest, now, bound, reason, remedy)]
        wider = self._fast_enough(dict(changed), bound)
        if wider is None:
            # What is left is service, delays, and waits behind keys that cannot be spread.
            least = float(self._latency_s([self._most])[0])
            remedy = (
                f"no parallelism helps, as it is {least:.3g} s even with the most: make {slowest} faster, or allow more"
            )
            return [Excuse("", "latency", slowest, now, bound, reason, remedy)]
        change = {name: count for name, count in wider.items() if count != before[name]}
        parts = ", ".join(f"{name} {count} instead of {before[name]}" for name, count in change.items())
        return [Excuse("", "latency", slowest, now, bound, reason, f"give {parts} instances", change)]

    def _fast_enough(self, parallelism: dict[str, int], bound: float) -> dict[str, int] | None:
        begun = dict(parallelism)
        now = float(self._latency_s([parallelism])[0])
        while now > bound:
            candidates = [
                {**parallelism, name: min(self._most[name], count + max(1, count // 16))}
                for name, count in parallelism.items()
                if count < self._most[name]
            ]
            latencies = self._latency_s(candidates) if candidates else np.array([inf])
            best = int(latencies.argmin())
            if not latencies[best] < now * (1 - 1e-9):
                if not self._latency_s([self._most])[0] <= bound:
                    return None
                # One alone does not help; all of them together do.
                parallelism = dict(self._most)
                break
            now, parallelism = float(latencies[best]), candidates[best]
        for name in self._topology.order:
            counts = range(begun[name], parallelism[name])
            if counts:
                held = self._latency_s([{**parallelism, name: count} for count in counts]) <= bound
                if held.any():
                    parallelism[name] = counts[int(np.flatnonzero(held)[0])]
        return parallelism

    def _slowest(self, parallelism: Mapping[str, int]) -> str:
        """The operator whose service and wait would be missed most: without it, the latency is least."""
        without: list[Floats] = []
        for name in self._topology.order:
            profile = self._profiles[name]
            quick = replace(profile, service_s=0.0, stream_service_s={}, efficiency=LINEAR)
            without.append(self._latency_s([parallelism], {**self._profiles, name: quick})[0])
        return self._topology.order[int(np.argmin(without))]

    def _plan(self, parallelism: Mapping[str, int]) -> PhysicalPlan:
        return PhysicalPlan(self._topology.name, dict(parallelism))

    def _used(self, several: Sequence[Mapping[str, int]]) -> Floats:
        """Of the busiest instance, shape (plans, operators)."""
        plans = [self._plan(each) for each in several]
        return evaluate_many(self._topology, self._profiles, plans, self._loads, latency=False).utilisation[:, 0]

    def _latency_s(self, several: Sequence[Mapping[str, int]], profiles: Profiles | None = None) -> Floats:
        """p95, shape (plans,)."""
        told = evaluate_many(
            self._topology,
            profiles or self._profiles,
            [self._plan(each) for each in several],
            self._loads,
            arrival_cv2=self._arrival_cv2,
            delays=self._delays,
        )
        assert told.latency is not None
        return told.latency.p95_s[:, 0]


def _evenly_dealt(topology: Topology) -> Topology:
    """The same with every stream dealt evenly, but for those that every instance gets whole."""
    even = tuple(
        s if s.grouping is Grouping.ALL else replace(s, grouping=Grouping.SHUFFLE, shares=()) for s in topology.streams
    )
    return replace(topology, streams=even)


def _too_busy(target: str, name: str, used: float, bound: float, remedy: str, change: Mapping[str, int]) -> Excuse:
    if target == "lag":
        return Excuse("", target, name, inf, bound, f"the backlog of {name} grows without end", remedy, change)
    sign, limit = (">=", 1.0) if target in ("throughput", "latency") else (">", bound)
    return Excuse("", target, name, used, limit, f"utilisation {used:.3g} of {name} {sign} {limit:.3g}", remedy, change)
