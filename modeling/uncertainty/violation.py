"""Probability that plans miss their targets, over paths of the coming load and draws of the parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.evaluate_many import EvaluationOptions, ManyEstimates, evaluate_scenarios
from modeling.flow.plan_rates import check_load
from modeling.flow.scenarios import Scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import ANY, Targets, latency_target
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.rescaling.drain import lags_s, share_late, share_late_cold
from modeling.rescaling.warm_up import WarmUp
from modeling.uncertainty.parameter_draws import ParameterDraws

CELLS = 2**22
"""Plans × scenarios × operators held in memory at once."""


@dataclass(frozen=True)
class Violations:
    """By target, and under `any` for at least one of them: arrays of shape (plans,), or (plans, loads) for several
    loads; NaN for a plan that does not fit the topology.

    probability: of a violation in any step. error: its standard error from sampling; 0 if all samples agree, in which
    case at most 3/samples would differ with 95 % confidence. seconds: expected time in violation; under `any` at least
    that of any target, and at most their sum. samples: number of pairs of a path and a draw.
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
    warm_ups: Sequence[WarmUp] = (),
    backlog_s: npt.ArrayLike = 0.0,
    let_through: npt.ArrayLike = 1.0,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
) -> Violations:
    """Probability that each plan, run from time 0 on, misses each target, and any of them.

    paths_per_s: rates per source along equally likely paths, shape (paths, steps), each for step_s; path m of one
    source belongs with path m of the others. For several loads, shape (loads, paths, steps). Each path is paired with a
    draw, cyclically if their numbers differ; the draws are the same for all plans and loads, so that differences
    between these are not random. downtime_s: nothing is processed from time 0 on for this long. backlog_s: backlog at
    time 0, in seconds of full work. let_through: what services whose threads wait for calls carry, as a part of what
    the plan's limits do. All three are one number, one per plan, or one per plan and load. warm_ups: of each plan
    after its downtime; without any, all are warm.

    The lag is that of a FIFO fluid queue (Reich 1958; modeling/rescaling/drain.py), which grows by the shortage at the
    fullest limit. This is exact for one source, or if one limit is always the fullest; with alternating bottlenecks it
    is an upper bound. site: where plans with a packing run. Raises ModelError for inconsistent paths or invalid rates,
    and for a target at an unknown sink.
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
    queued_s = np.broadcast_to(_per_load(backlog_s), (len(plans), count))
    waiting_s = np.broadcast_to(_per_load(downtime_s) + queued_s, (len(plans), count))
    if not (np.isfinite(waiting_s) & (waiting_s >= 0)).all():
        raise ModelError("violations: downtime_s and backlog_s are finite numbers of seconds, not below 0")
    through = np.broadcast_to(_per_load(let_through), (len(plans), count))
    options = EvaluationOptions(latency=bool(targets.latency_bounds_s), arrival_cv2=arrival_cv2, site=site)
    at_once = max(1, CELLS // (scenarios.count * len(topology.order)))
    for begin in range(0, len(plans), at_once):
        at = slice(begin, min(len(plans), begin + at_once))
        estimates = evaluate_scenarios(topology, profiles, plans[at], scenarios, options)
        shape = (at.stop - begin, count, samples, steps)
        estimates = replace(
            estimates, headroom_factor=estimates.headroom_factor * np.repeat(through[at], samples * steps, axis=1)
        )
        late = _late(estimates, targets, shape, step_s, waiting_s[at], warm_ups[at], queued_s[at])
        # If several targets are each missed for part of a step, at least the longest part is missed.
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
    estimates: ManyEstimates,
    targets: Targets,
    shape: tuple[int, ...],
    step_s: float,
    waiting_s: Floats,
    warm_ups: Sequence[WarmUp],
    queued_s: Floats,
) -> dict[str, Floats]:
    """By target the share of each step in which it is missed, of this shape (plans, loads, samples, steps)."""
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
            times_s = estimates.latency.quantile_s(targets.latency_share, sink)
            found[latency_target(sink)] = (times_s > bound_s).reshape(shape).astype(np.float64)
    if targets.max_lag_s is not None:
        lag_s = lags_s(busy, step_s, waiting_s[:, :, None])
        found["lag"] = share_late(lag_s - targets.max_lag_s, (busy - 1) * step_s)
        for plan, warm_up in enumerate(warm_ups):
            if warm_up.takes_time:
                down_s = np.broadcast_to(waiting_s[plan, :, None] - queued_s[plan, :, None], shape[1:3])
                queued = np.broadcast_to(queued_s[plan, :, None], shape[1:3])
                found["lag"][plan] = share_late_cold(busy[plan], step_s, down_s, queued, warm_up, targets.max_lag_s)
    return found


def _per_load(waiting_s: npt.ArrayLike) -> Floats:
    """Values per plan, with an axis of loads appended."""
    each = np.asarray(waiting_s, dtype=np.float64)
    return each[:, None] if each.ndim == 1 else each


def _stacked(
    topology: Topology, profiles: Profiles, paths_per_s: Mapping[str, npt.ArrayLike], step_s: float
) -> tuple[Floats, bool]:
    """Paths of shape (loads, paths, steps, sources), and whether loads were an axis."""
    if not (np.isfinite(step_s) and step_s > 0):
        raise ModelError(f"steps of {step_s} s; give finite seconds above 0")
    given = {source: np.asarray(paths, dtype=np.float64) for source, paths in paths_per_s.items()}
    if set(given) != set(topology.sources):
        raise ModelError(f"paths of {', '.join(sorted(given))}; give them of {', '.join(topology.sources)}")
    shapes = {paths.shape for paths in given.values()}
    if len(shapes) > 1 or any(paths.ndim not in (2, 3) or 0 in paths.shape for paths in given.values()):
        raise ModelError(f"paths of shapes {sorted(shapes)}; give every source paths x steps rates")
    # Checking the extremes suffices: a negative or infinite rate is one of them, NaN is both.
    for extreme in (np.min, np.max):
        check_load(topology, profiles, {source: float(extreme(paths)) for source, paths in given.items()})
    stacked = np.stack([given[source] for source in topology.sources], axis=-1)
    return (stacked, True) if stacked.ndim == 4 else (stacked[None], False)
