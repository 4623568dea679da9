"""candidates(): the probability that plans miss their targets under several loads, and the reasons.

Use it to choose among many plans or placements; `evaluate` gives all details of a single one.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats, Ints
from modeling.evaluate_many import ManyEstimates, checked_loads, evaluate_many
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.flow.rates import KnownRouting, operator_flows
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import Instance, PhysicalPlan
from modeling.inputs.placed import placed
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import ANY, Targets, latency_target
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.rescaling.plan_change import PlanChange, downtimes_s
from modeling.rescaling.warm_up import WARM, WarmUp
from modeling.uncertainty.parameter_draws import ParameterDraws
from modeling.uncertainty.violation import Violations, violations

_FULL = 1 - 1e-12
_ALIKE = 1 - 1e-9


@dataclass(frozen=True)
class Candidates:
    """Plans (first axis) under loads (second). loads_per_s: shape (loads, sources). busiest: index of the busiest
    instance of each operator, -1 if all are equally busy, shape (plans, loads, operators). violations: of each load
    along its paths of horizon_s seconds. Loads are equally likely.
    """

    plans: Sequence[PhysicalPlan]
    targets: Targets
    loads_per_s: Floats
    estimates: ManyEstimates
    busiest: Ints
    violations: Violations
    horizon_s: float

    def probability(self, target: str = ANY) -> Floats:
        """Probability of missing a target, by default any of them, over all loads; shape (plans,), NaN for plans that
        do not fit the topology.
        """
        return np.asarray(self.violations.probability[target].mean(axis=1))

    @property
    def headroom(self) -> Floats:
        """Smallest factor over the loads by which a load could grow, shape (plans,)."""
        return np.asarray(self.estimates.headroom_factor.min(axis=1))

    def missed(self, plan: int, rather_than: int) -> Excuse:
        """Why a plan misses targets more often than another one: the target with the largest difference, at its worst
        load.
        """
        names = [name for name in self.violations.probability if name != ANY]
        more = {name: self.probability(name)[plan] - self.probability(name)[rather_than] for name in names}
        target = max(names, key=lambda name: more[name])
        late = self.violations.probability[target][plan]
        full = 1 / self.estimates.headroom_factor[plan]
        load = max(range(late.size), key=lambda number: (late[number], full[number]))
        finding, operator, value, bound, remedy = self._cause(target, plan, load)
        often, other = (f"{self.probability(target)[number]:.3g}" for number in (plan, rather_than))
        reason = (
            f"misses {target} with probability {often}, the best with {other}: at {self._load_text(load)} {finding}"
        )
        return Excuse(self.plans[plan], target, operator, value, bound, reason, remedy)

    def _cause(self, target: str, plan: int, load: int) -> tuple[str, str, float, float, str]:
        """Text, operator if any, value, bound and remedy."""
        limit = self.estimates.bottleneck_of(plan, load)
        operator = limit.operator if isinstance(limit, OperatorLimit) else ""
        used = float(1 / self.estimates.headroom_factor[plan, load])
        where = self._busiest_of(operator, plan, load) if operator else str(limit)
        remedy = limit.remedy if not isinstance(limit, OperatorLimit) else _relieve(where, operator)
        full = f"{where} is {used:.1%} full"
        if target == "utilisation" and self.targets.max_utilisation is not None:
            number = int(self.estimates.utilisation[plan, load].argmax())
            busy, operator = float(self.estimates.utilisation[plan, load, number]), self.estimates.operators[number]
            where, bound = self._busiest_of(operator, plan, load), self.targets.max_utilisation
            return f"{where} is {busy:.1%} busy of {bound:.1%}", operator, busy, bound, _relieve(where, operator)
        if target == "lag" and self.targets.max_lag_s is not None:
            bound, late_s = self.targets.max_lag_s, float(self.violations.seconds[target][plan, load])
            finding = f"the lag is above {bound:.4g} s for {late_s:.4g} of {self.horizon_s:.4g} s, and {full}"
            return finding, operator, late_s, 0.0, remedy
        sinks = {latency_target(sink): sink for sink in self.targets.latency_bounds_s}
        if target in sinks and self.estimates.latency is not None:
            sink = sinks[target]
            share, bound = self.targets.latency_share, self.targets.latency_bounds_s[sink]
            took = float(self.estimates.latency.quantile_s(share, sink)[plan, load])
            value = f"{took:.4g} s" if np.isfinite(took) else "without end"
            return f"p{share * 100:g} is {value} of {bound:.4g} s, and {full}", operator, took, bound, remedy
        return full, operator, used, 1.0, remedy

    def _busiest_of(self, operator: str, plan: int, load: int) -> str:
        """The busiest instance, or the operator if all its instances are equally busy."""
        index = int(self.busiest[plan, load, self.estimates.operators.index(operator)])
        return operator if index < 0 else str(Instance(operator, index))

    def _load_text(self, load: int) -> str:
        rates = dict(zip(self.estimates.sources, self.loads_per_s[load].tolist(), strict=True))
        return ", ".join(f"{source} {rate_per_s:.4g}/s" for source, rate_per_s in rates.items())


def candidates(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    loads_per_s: Mapping[str, npt.ArrayLike],
    paths_per_s: Mapping[str, npt.ArrayLike],
    step_s: float,
    draws: ParameterDraws,
    targets: Targets,
    *,
    change: PlanChange | None = None,
    backlog: Mapping[str, float] | None = None,
    most_per_s: Floats | None = None,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
) -> Candidates:
    """loads_per_s: rates per source, shape (loads,), for estimates and reasons. paths_per_s: possible arrivals under
    each load, shape (loads, paths, steps) of step_s seconds, for probabilities. change, backlog: the running plan and
    waiting tuples, as in `evaluate`; each plan takes over after its downtime. most_per_s: what services whose
    threads wait for calls carry, of all sources together, shape (plans, loads); NaN if unknown. Raises
    ModelError like `violations`.
    """
    loads = checked_loads(topology, profiles, loads_per_s)
    bounded = bool(targets.latency_bounds_s)
    estimates = evaluate_many(
        topology, profiles, plans, loads_per_s, latency=bounded, arrival_cv2=arrival_cv2, site=site
    )
    let_through = np.ones(estimates.headroom_factor.shape)
    if most_per_s is not None:
        carried = most_per_s / (loads.sum(axis=1) * estimates.headroom_factor)
        let_through = np.where(carried > 0, np.minimum(carried, 1.0), 1.0)
        estimates = replace(estimates, headroom_factor=estimates.headroom_factor * let_through)
    fitting = [number for number in range(len(plans)) if number not in estimates.excuses]
    busiest = np.full((len(plans), len(loads), len(topology.order)), -1)
    if fitting:
        busiest[fitting] = _busiest(topology, profiles, [plans[number] for number in fitting], loads, site)
    downtime_s, warm_ups = np.zeros(len(plans)), list[WarmUp]()
    waiting = np.array([(backlog or {}).get(source, 0.0) for source in topology.sources])
    waiting_s = _waits_s(estimates, loads, waiting)
    if change is not None and fitting:
        state_gib = {name: profiles[name].state_gib for name in topology.order}
        downtime_s[fitting] = downtimes_s(topology, state_gib, change, [plans[number] for number in fitting])
        changed = np.array([plan.plan_id != change.current.plan_id for plan in plans])
        warm_ups = [change.warm_up if each else WARM for each in changed]
        waiting_s += np.where(changed[:, None], change.replayed_s, 0.0) / np.nan_to_num(
            estimates.headroom_factor, nan=np.inf
        )
    missed = violations(
        topology,
        profiles,
        plans,
        paths_per_s,
        step_s,
        draws,
        targets,
        downtime_s=downtime_s,
        warm_ups=warm_ups,
        backlog_s=waiting_s,
        let_through=let_through,
        arrival_cv2=arrival_cv2,
        site=site,
    )
    horizon_s = step_s * np.shape(next(iter(paths_per_s.values())))[-1]
    return Candidates(plans, targets, loads, estimates, busiest, missed, horizon_s)


def _relieve(where: str, operator: str) -> str:
    if where == operator:
        return f"give {operator} more instances, or faster nodes"
    return f"place {where} on a faster node, partition {operator}'s input more evenly, or give it more instances"


def _busiest(topology: Topology, profiles: Profiles, plans: Sequence[PhysicalPlan], loads: Floats, site: Site) -> Ints:
    """Shape (plans, loads, operators)."""
    found = []
    several, known = placed(plans, topology.order, site), KnownRouting(topology, profiles)
    for flow in operator_flows(topology, profiles, several, Scenarios(loads), known):
        busy = flow.busy()
        there = np.arange(busy.shape[1])[None, :, None] < flow.parallelism[:, None, None]
        alike = np.where(there, busy, np.inf).min(axis=1) >= busy.max(axis=1) * _ALIKE
        found.append(np.where(alike, -1, busy.argmax(axis=1))[flow.row])
    return np.stack(found, axis=2)


def _waits_s(estimates: ManyEstimates, loads: Floats, backlog: Floats) -> Floats:
    """Wait of a tuple behind the backlog of each source, in seconds of full work, shape (plans, loads); as in
    `Estimate.drain_wait_s`, and 0 if it never drains.
    """
    taken = estimates.throughput_per_s
    with np.errstate(divide="ignore", invalid="ignore", over="ignore"):
        most = np.maximum(loads * estimates.headroom_factor[:, :, None], loads)
        capacity = np.where(taken < loads * _FULL, taken, most)
        waits_s = np.where(loads * backlog > 0, backlog / np.minimum(capacity, 1e15), 0.0).max(axis=2)
    return np.where(np.isfinite(waits_s), waits_s, 0.0)
