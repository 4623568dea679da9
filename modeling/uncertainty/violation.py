"""How likely plans are to miss their targets: paths of the load to come, with parameters drawn from their errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.evaluate_many import Asked, ManyEstimates, evaluate_scenarios
from modeling.flow.plan_rates import check_load
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import ANY, Targets
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.rescaling.drain import lags_s, share_late
from modeling.uncertainty.parameter_draws import ParameterDraws

CELLS = 2**22
"""Plans x scenarios x operators that are held at once."""


@dataclass(frozen=True)
class Violations:
    """By target, and under `any` of missing at least one of them: arrays of shape (plans,), or (plans, loads) where
    several loads were given; NaN for a plan that does not fit the topology.

    probability: that it is violated in any step. error: standard error of that, of the sampling alone; 0 where all
    samples agree, when with 95 % confidence no more than 3/samples of them would differ. seconds: expected, in
    violation; under `any` no less than of any target, and at most their sum. samples: how many pairs of a path and a
    draw.
    """

    probability: Mapping[str, Floats]
    error: Mapping[str, Floats]
    seconds: Mapping[str, Floats]
    samples: int


def violations(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    paths_per_s: Mapping[str, npt.ArrayLike],
    step_s: float,
    draws: ParameterDraws,
    targets: Targets,
    *,
    downtime_s: npt.ArrayLike = 0.0,
    backlog_s: npt.ArrayLike = 0.0,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
) -> Violations:
    """Probability that each plan, held from time 0 on, misses each target, and any of them.

    paths_per_s: per source the rates along paths that are equally likely, shape (paths, steps), each for step_s; path m
    of one source goes with path m of the others. Of several loads, shape (loads, paths, steps). Each path goes with a
    draw of its own, from the first again where there are fewer of one than of the other; the draws are the same for all
    plans and loads, so that differences between these are no chance. downtime_s: from time 0 on nothing is processed;
    backlog_s: what waits at time 0, in seconds of full work; both one number, one per plan, or one per plan and load.

    The lag is that of a fluid queue, first come, first served (Reich 1958; modeling/rescaling/drain.py): it grows by
    what the fullest limit is short of. That is exact for one source, or where one limit is the fullest throughout;
    where bottlenecks take turns it is an upper bound. site: where plans with a packing run. Raises ModelError for paths
    that disagree or are no rates, and for a target at what is no sink.
    """
    loads, several = _stacked(topology, profiles, paths_per_s, step_s)
    count, paths, steps, sources = loads.shape
    samples = max(paths, draws.count)
    loads = loads[:, np.arange(samples) % paths]
    scenarios = Scenarios(
        loads.reshape(count * samples * steps, sources),
        draws.paired(loads[0]).parameters.map(lambda each: np.tile(each, count)),
    )
    if unknown := set(targets.sink_max_latency_s) - {n for n in topology.order if not topology.outputs(n)}:
        raise ModelError(f"latency target at {min(unknown)!r}, which is no sink of topology {topology.name!r}")
    names = (*targets.names, ANY)
    probability = {name: np.full((len(plans), count), np.nan) for name in names}
    seconds = {name: np.full((len(plans), count), np.nan) for name in names}
    waiting_s = np.broadcast_to(_per_load(downtime_s) + _per_load(backlog_s), (len(plans), count))
    if not (np.isfinite(waiting_s) & (waiting_s >= 0)).all():
        raise ModelError("violations: downtime_s and backlog_s are finite numbers of seconds, not below 0")
    asked = Asked(latency=bool(targets.latency_bounds_s), arrival_cv2=arrival_cv2, site=site)
    at_once = max(1, CELLS // (scenarios.count * len(topology.order)))
    for begin in range(0, len(plans), at_once):
        at = slice(begin, min(len(plans), begin + at_once))
        estimates = evaluate_scenarios(topology, profiles, plans[at], scenarios, asked)
        late = _late(estimates, targets, (at.stop - begin, count, samples, steps), step_s, waiting_s[at])
        # Of a step in which several targets are missed for a part each, the longest part is missed at least.
        late[ANY] = np.max(np.stack(list(late.values())), axis=0) if late else np.zeros((at.stop - begin, count, 1, 1))
        fits = np.array([number not in estimates.excuses for number in range(at.stop - begin)])[:, None]
        for name, part in late.items():
            probability[name][at] = np.where(fits, (part > 0).any(axis=3).mean(axis=2), np.nan)
            seconds[name][at] = np.where(fits, part.sum(axis=3).mean(axis=2) * step_s, np.nan)
    if not several:
        probability, seconds = ({n: each[:, 0] for n, each in of.items()} for of in (probability, seconds))
    error = {name: np.sqrt(each * (1 - each) / samples) for name, each in probability.items()}
    return Violations(probability, error, seconds, samples)


def _late(
    estimates: ManyEstimates, targets: Targets, shape: tuple[int, ...], step_s: float, waiting_s: Floats
) -> dict[str, Floats]:
    """By target the part of each step in which it is missed, of this shape (plans, loads, samples, steps)."""
    found: dict[str, Floats] = {}
    with np.errstate(divide="ignore"):
        busy = (1 / estimates.headroom_factor).reshape(shape)
    if targets.throughput:
        found["throughput"] = (busy >= 1).astype(np.float64)
    if targets.max_utilisation is not None:
        found["utilisation"] = (
            (estimates.utilisation.max(axis=2) > targets.max_utilisation).reshape(shape).astype(float)
        )
    if estimates.latency is not None:
        for sink, bound_s in targets.latency_bounds_s.items():
            name = "latency" if sink is None else f"latency at {sink}"
            times_s = estimates.latency.quantile_s(targets.latency_share, sink)
            found[name] = (times_s > bound_s).reshape(shape).astype(np.float64)
    if targets.max_lag_s is not None:
        lag_s = lags_s(busy, step_s, waiting_s[:, :, None])
        found["lag"] = share_late(lag_s - targets.max_lag_s, (busy - 1) * step_s)
    return found


def _per_load(waiting_s: npt.ArrayLike) -> Floats:
    """Of each plan with an axis of loads behind it."""
    each = np.asarray(waiting_s, dtype=np.float64)
    return each[:, None] if each.ndim == 1 else each


def _stacked(
    topology: Topology, profiles: Profiles, paths_per_s: Mapping[str, npt.ArrayLike], step_s: float
) -> tuple[Floats, bool]:
    """Shape (loads, paths, steps, sources), and whether loads were an axis."""
    if not (np.isfinite(step_s) and step_s > 0):
        raise ModelError(f"steps of {step_s} s; give finite seconds above 0")
    given = {source: np.asarray(paths, dtype=np.float64) for source, paths in paths_per_s.items()}
    if set(given) != set(topology.sources):
        raise ModelError(f"paths of {', '.join(sorted(given))}; give them of {', '.join(topology.sources)}")
    shapes = {paths.shape for paths in given.values()}
    if len(shapes) > 1 or any(paths.ndim not in (2, 3) or 0 in paths.shape for paths in given.values()):
        raise ModelError(f"paths of shapes {sorted(shapes)}; give every source paths x steps rates")
    # The extremes stand for all: a negative or infinite rate is one of them, NaN is both.
    for extreme in (np.min, np.max):
        check_load(topology, profiles, {source: float(extreme(paths)) for source, paths in given.items()})
    stacked = np.stack([given[source] for source in topology.sources], axis=-1)
    return (stacked, True) if stacked.ndim == 4 else (stacked[None], False)
