"""How likely plans are to miss their targets: paths of the load to come, with parameters drawn from their errors."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.evaluate_many import evaluate_scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Topology
from modeling.latency.delay import Delay
from modeling.uncertainty.parameter_draws import ParameterDraws

Floats = npt.NDArray[np.float64]

CELLS = 2**22
"""Plans x scenarios x operators that are held at once."""


@dataclass(frozen=True)
class Violations:
    """Per target, arrays of shape (plans,); NaN for a plan that does not fit the topology.

    probability: that it is violated in any step. error: standard error of that, of the sampling alone; 0 where all
    samples agree, when with 95 % confidence no more than 3/samples of them would differ. seconds: expected, in
    violation. samples: how many pairs of a path and a draw.
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
    arrival_cv2: float = 1.0,
    delays: Mapping[str, Delay] | None = None,
    site: Site = NOWHERE,
) -> Violations:
    """Probability that each plan, held from time 0 on, misses each target.

    paths_per_s: per source the rates along paths that are equally likely, shape (paths, steps), each for step_s; path m
    of one source goes with path m of the others. Each path goes with a draw of its own, from the first again where
    there are fewer of one than of the other. downtime_s: from time 0 on nothing is processed; backlog_s: what waits at
    time 0, in seconds of full work; both one number, or one per plan.

    The lag is that of a fluid queue, first come, first served (Reich 1958; modeling/rescaling/drain.py): it grows by
    what the busiest operator is short of. That is exact for one source, or where one operator is the bottleneck
    throughout; where bottlenecks take turns it is an upper bound. site: where plans with a packing run. Raises
    ModelError for paths that disagree or are no rates.
    """
    loads = _stacked(topology, paths_per_s, step_s)
    paths, steps, _ = loads.shape
    samples = max(paths, draws.count)
    loads = loads[np.arange(samples) % paths]
    scenarios = draws.paired(loads)
    names = targets.names
    probability = {name: np.full(len(plans), np.nan) for name in names}
    seconds = {name: np.full(len(plans), np.nan) for name in names}
    waiting_s = np.broadcast_to(np.asarray(downtime_s, dtype=np.float64) + np.asarray(backlog_s), (len(plans),))
    if not (np.isfinite(waiting_s) & (waiting_s >= 0)).all():
        raise ModelError("violations: downtime_s and backlog_s are finite numbers of seconds, not below 0")
    at_once = max(1, CELLS // (scenarios.count * len(topology.order)))
    for begin in range(0, len(plans), at_once):
        at = slice(begin, min(len(plans), begin + at_once))
        told = evaluate_scenarios(
            topology,
            profiles,
            plans[at],
            scenarios,
            latency=targets.max_latency_s is not None,
            arrival_cv2=arrival_cv2,
            delays=delays,
            site=site,
        )
        shape = (at.stop - begin, samples, steps)
        with np.errstate(divide="ignore"):
            busy = (1 / told.saturation_scale).reshape(shape)
        part: dict[str, Floats] = {}
        if targets.throughput:
            part["throughput"] = (told.saturation_scale <= 1).reshape(shape).astype(np.float64)
        if targets.max_utilisation is not None:
            part["utilisation"] = (told.utilisation.max(axis=2) > targets.max_utilisation).reshape(shape).astype(float)
        if targets.max_latency_s is not None and told.latency is not None:
            part["latency"] = (told.latency.p95_s > targets.max_latency_s).reshape(shape).astype(np.float64)
        if targets.max_lag_s is not None:
            part["lag"] = _share_late(busy, step_s, waiting_s[at], targets.max_lag_s)
        fits = np.array([number not in told.excuses for number in range(shape[0])])
        for name, late in part.items():
            probability[name][at] = np.where(fits, (late > 0).any(axis=2).mean(axis=1), np.nan)
            seconds[name][at] = np.where(fits, late.sum(axis=2).mean(axis=1) * step_s, np.nan)
    error = {name: np.sqrt(each * (1 - each) / samples) for name, each in probability.items()}
    return Violations(probability, error, seconds, samples)


def lags_s(busy: npt.ArrayLike, step_s: float, waiting_s: npt.ArrayLike = 0.0) -> Floats:
    """Seconds that a tuple waits in the backlog which comes at each edge of the steps, shape (…, steps + 1).

    busy: utilisation that each step's load brings, above 1 too, shape (…, steps). waiting_s: at time 0, of downtime and
    backlog. A downtime counts like a backlog: during it a tuple waits for what is left of it, and for what came before.

    >>> lags_s([1.5, 0.5], 60.0, 10.0).tolist()  # half a second more each second, then half a second less
    [10.0, 40.0, 10.0]
    """
    change = (np.asarray(busy, dtype=np.float64) - 1) * step_s
    begun = np.broadcast_to(np.asarray(waiting_s, dtype=np.float64), change.shape[:-1])[..., None]
    free = np.concatenate([begun, begun + np.cumsum(change, axis=-1)], axis=-1)
    return np.asarray(free - np.minimum(0.0, np.minimum.accumulate(free, axis=-1)))


def _share_late(busy: Floats, step_s: float, waiting_s: Floats, max_lag_s: float) -> Floats:
    """Share of each step in which tuples come that wait longer than max_lag_s. busy: shape (plans, samples, steps)."""
    lag = lags_s(busy, step_s, waiting_s[:, None])
    begin, end = lag[..., :-1] - max_lag_s, lag[..., 1:] - max_lag_s
    # Within a step the lag is a straight line, until nothing waits any more.
    slope = np.maximum(np.abs(busy - 1) * step_s, 1e-300)
    falls = np.minimum(np.maximum(begin, 0.0) / slope, 1.0)
    rises = np.minimum(np.maximum(end, 0.0) / slope, 1.0)
    late = np.where(busy < 1, falls, np.where(busy > 1, rises, (begin > 0).astype(np.float64)))
    return np.asarray(late, dtype=np.float64)


def _stacked(topology: Topology, paths_per_s: Mapping[str, npt.ArrayLike], step_s: float) -> Floats:
    """Shape (paths, steps, sources)."""
    if not (np.isfinite(step_s) and step_s > 0):
        raise ModelError(f"steps of {step_s} s; give finite seconds above 0")
    given = {source: np.asarray(paths, dtype=np.float64) for source, paths in paths_per_s.items()}
    if set(given) != set(topology.sources):
        raise ModelError(f"paths of {', '.join(sorted(given))}; give them of {', '.join(topology.sources)}")
    shapes = {paths.shape for paths in given.values()}
    if len(shapes) > 1 or any(paths.ndim != 2 or 0 in paths.shape for paths in given.values()):
        raise ModelError(f"paths of shapes {sorted(shapes)}; give every source paths x steps rates")
    return np.stack([given[source] for source in topology.sources], axis=2)
