"""The targets that a plan misses under a load, and the smallest changes of parallelism that remedy it."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from math import ceil, inf, isinf

import numpy as np

from modeling.arrays import Floats
from modeling.evaluate_many import evaluate_many
from modeling.evaluated_remedy import FULL, Packed, Trial, evaluated
from modeling.excuse import Excuse, misfit
from modeling.inputs.checked import check_site
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.scale_efficiency import LINEAR
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import Targets, latency_target
from modeling.inputs.topology import Grouping, Topology
from modeling.latency.delay import Delay
from modeling.latency.stream_delays import plan_delays
from modeling.least_on_site import Together
from modeling.least_parallelism import ROUNDING, Question, even_count, least_count
from modeling.least_within_latency import fewest_within_latency
from modeling.queueing.bursts import Arrivals
from modeling.wording import count_of


def excuses(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    targets: Targets,
    *,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
    packed: Packed | None = None,
    together: Together = (),
) -> tuple[Excuse, ...]:
    """Why the plan misses targets in steady state; empty if it meets them. `combined_change` remedies all at once.

    Each change is the smallest for its operator, others unchanged except for earlier changes in topological order: more
    instances, or fewer if only that helps because instances slow each other. The change for latency adds instances one
    by one where they help most, then removes unneeded ones: no part can be omitted, but another change may be smaller.
    Changes drop the packing: every instance is assumed as slow as its operator's slowest now (site), which may ask for
    more than needed. Then they are tried by `evaluate`, as `packed` would place them (without a packing if None), and
    raised until they meet all targets, operators that share slots (`together`) with each other; if none does, the
    remedy says so.
    """
    check_site(topology, site, [plan])
    if (excuse := misfit(topology, plan, site)) is not None:
        return (excuse,)
    slowed = _on_the_slowest_node(profiles, plan, site)
    delays = plan_delays(topology, profiles, plan, load_per_s, site)
    bounds_s = targets.latency_bounds_s
    estimates = evaluate_many(
        topology, profiles, [plan], load_per_s, latency=bool(bounds_s), arrival_cv2=arrival_cv2, site=site
    )
    used = estimates.utilisation[0, 0]
    latency_s = {}
    if estimates.latency is not None:
        # Overloaded containers and links are reported elsewhere.
        latency = replace(estimates.latency, stable=np.array([[used.max() < 1]]))
        latency_s = {sink: float(latency.quantile_s(targets.latency_share, sink)[0, 0]) for sink in bounds_s}
        if not estimates.stable[0, 0]:
            latency_s = {sink: inf if late_s > bounds_s[sink] else late_s for sink, late_s in latency_s.items()}
    search = _Search(plan, slowed, topology, load_per_s, arrival_cv2, delays, targets)
    found = search.excuses(dict(plan.parallelism), used, latency_s)
    if packed is None:
        packed = partial(PhysicalPlan, plan.topology)
    trial = Trial(topology, profiles, load_per_s, targets, arrival_cv2, site, packed, together)
    return evaluated(found, combined_change(found), trial)


def _on_the_slowest_node(profiles: Profiles, plan: PhysicalPlan, site: Site) -> Profiles:
    factors = placed([plan], tuple(plan.parallelism), site).service_factor
    slowest = {name: float(each.max()) for name, each in factors.items()}
    return {name: profile.slower(slowest.get(name, 1.0)) for name, profile in profiles.items()}


def combined_change(found: Sequence[Excuse]) -> dict[str, int]:
    """The changes of all excuses combined; empty if one has none, since no parallelism remedies that."""
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
        plan: PhysicalPlan,
        profiles: Profiles,
        topology: Topology,
        load_per_s: Mapping[str, float],
        arrival_cv2: float | Arrivals,
        delays: Mapping[str, Delay],
        targets: Targets,
    ) -> None:
        self._plan = plan
        self._topology = topology
        self._profiles = profiles
        self._question = Question(topology, profiles, load_per_s, 1.0, {}, arrival_cv2, delays)
        self._most = {name: self._question.counts(name)[-1] for name in topology.order}
        self._targets = targets

    def excuses(
        self, parallelism: dict[str, int], first: Floats, latency_s: Mapping[str | None, float]
    ) -> list[Excuse]:
        """first, latency_s: utilisation by operator, and latency by sink, of the current plan."""
        found: list[Excuse] = []
        changed = dict(parallelism)
        for number, name in enumerate(self._topology.order):
            # Earlier changes may make it busier.
            before, after = self._question.used([parallelism, changed])[:, number]
            used = float(max(first[number], after) if after > before else first[number])
            missed = self._missed(used)
            if not missed:
                continue
            bound = min(bound for _, bound in missed)
            question = replace(self._question, max_utilisation=bound)
            fewer = replace(question, most={name: parallelism[name] - 1})
            least = least_count(question, changed, name, parallelism[name] + 1) or least_count(fewer, changed, name)
            if least is None:
                remedy, change = beyond_parallelism(question, changed, name), {}
            else:
                remedy, change = (
                    f"give {name} {count_of(least, 'instance')} instead of {parallelism[name]}",
                    {name: least},
                )
                changed[name] = least
            for target, of in missed:
                found.append(_too_busy(self._plan, target, name, used, of, remedy, change))
        mendable = all(each.mendable for each in found)
        for sink, bound in self._targets.latency_bounds_s.items():
            if latency_s[sink] > bound:
                found.append(
                    self._latency_excuse(parallelism, changed, sink, latency_s[sink], bound, mendable=mendable)
                )
        return found

    def _missed(self, used: float) -> list[tuple[str, float]]:
        """Targets missed at this utilisation, with the maximum utilisation of each."""
        targets, missed = self._targets, []
        if targets.throughput and used >= 1:
            missed.append(("throughput", FULL))
        if targets.max_lag_s is not None and used > 1:
            missed.append(("lag", 1.0))
        if targets.max_utilisation is not None and used > targets.max_utilisation * (1 + 1e-9):
            missed.append(("utilisation", targets.max_utilisation))
        if targets.latency_bounds_s and used >= 1 and not missed:
            missed.append(("latency", FULL))
        return missed

    def _latency_excuse(
        self,
        before: Mapping[str, int],
        changed: dict[str, int],
        sink: str | None,
        now: float,
        bound: float,
        *,
        mendable: bool,
    ) -> Excuse:
        share, question = self._targets.latency_share, replace(self._question, sink=sink)
        target = latency_target(sink)
        slowest = self._slowest(question, changed)
        told = "grows without end" if isinf(now) else f"{now:.3g} s > {bound:.3g} s"
        why = partial(Excuse, self._plan, target, slowest, now, bound, f"{target} p{share * 100:g} {told}")
        if not mendable:
            return why("no parallelism helps until what is saturated has been remedied otherwise")
        wider = fewest_within_latency(replace(question, max_utilisation=FULL), changed, {share: bound})
        if wider is None:
            # The remainder is service, delays, and waits for keys that cannot be spread.
            least = float(question.latency_s([self._most], share)[0])
            return why(
                f"no parallelism helps, as it is {least:.3g} s even with the most: make {slowest} faster, or allow more"
            )
        change = {name: count for name, count in wider.items() if count != before[name]}
        if not change:
            return why("these instances suffice if routing is even: choose another packing")
        parts = ", ".join(f"{name} {count} instead of {before[name]}" for name, count in change.items())
        return why(f"give {parts} instances", change)

    def _slowest(self, question: Question, parallelism: Mapping[str, int]) -> str:
        """The operator that contributes most to latency: without it, latency is smallest."""
        without: list[float] = []
        for name in self._topology.order:
            profile = self._profiles[name]
            quick = replace(profile, service_s=0.0, stream_service_s={}, efficiency=LINEAR)
            quickened = replace(question, profiles={**self._profiles, name: quick})
            without.append(float(quickened.latency_s([parallelism], self._targets.latency_share)[0]))
        return self._topology.order[int(np.argmin(without))]


def beyond_parallelism(question: Question, parallelism: Mapping[str, int], name: str) -> str:
    """Remedies if no parallelism keeps an operator to its utilisation, and the reason."""
    if any(stream.gives_parallelism for stream in question.topology.inputs(name)):
        return f"no parallelism helps, as the shares of its custom grouping are given: make {name} faster"
    most = question.counts(name)[-1]
    if grouped := _by_grouping(question, {**parallelism, name: most}, name):
        return f"no parallelism helps, as {grouped}: change the grouping, or make {name} faster"
    if question.profiles[name].efficiency != LINEAR:
        return f"no parallelism up to {most} helps, as each instance slows the others: make {name} faster"
    partitions = question.topology.operator(name).partitions
    if partitions is not None and partitions <= most:
        return (
            f"no parallelism helps, as it reads {count_of(partitions, 'partition')} and further instances stay idle: "
            f"add partitions, or make {name} faster"
        )
    evenly = even_count(question, parallelism, name)
    if evenly <= most:
        used = float(question.used([{**parallelism, name: most}])[0, question.topology.order.index(name)])
        return (
            f"no parallelism helps, as its busiest instance is at {used:.3g} even with {most}: spread its heaviest "
            f"key, or make {name} faster"
        )
    do = "does" if most == 1 else "do"
    return f"not even {count_of(most, 'instance')} {do}: raise its max_parallelism to {ceil(evenly - 1e-9)} or more"


def _by_grouping(question: Question, parallelism: Mapping[str, int], name: str) -> str:
    """Groupings that instances cannot share, if these keep the operator above its utilisation."""
    topology = question.topology
    inputs = topology.inputs(name)
    at_one = [stream for stream in inputs if stream.grouping is Grouping.GLOBAL]
    at_all = [stream for stream in inputs if stream.grouping is Grouping.ALL]
    unshared = {stream.name for stream in (*at_one, *at_all)}
    if not unshared:
        return ""
    if len(unshared) < len(inputs):
        streams = tuple(replace(s, grouping=Grouping.SHUFFLE) if s.name in unshared else s for s in topology.streams)
        used = replace(question, topology=replace(topology, streams=streams)).used([parallelism])
        if used[0, topology.order.index(name)] > question.max_utilisation * ROUNDING:
            return ""
    parts = [f"all tuples of {stream.name} go to one instance" for stream in at_one]
    parts += [f"every instance gets every tuple of {stream.name}" for stream in at_all]
    return " and ".join(parts)


def _too_busy(
    plan: PhysicalPlan, target: str, name: str, used: float, bound: float, remedy: str, change: Mapping[str, int]
) -> Excuse:
    if target == "lag":
        return Excuse(plan, target, name, inf, bound, f"the backlog of {name} grows without end", remedy, change)
    sign, limit = (">=", 1.0) if target in ("throughput", "latency") else (">", bound)
    reason = f"utilisation {used:.3g} of {name} {sign} {limit:.3g}"
    return Excuse(plan, target, name, used, limit, reason, remedy, change)
