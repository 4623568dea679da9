"""Estimates for each draw of the parameters, and the intervals of an estimate by them."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from modeling.evaluate_many import EvaluationOptions, ManyEstimates, checked_loads, evaluate_many, evaluate_scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws

Interval = tuple[float, float]


@dataclass(frozen=True)
class EstimateIntervals:
    """Each interval contains `share` of the draws, with equal numbers above and below.

    mst_per_s: maximum sustainable throughput per source at the load's mix. utilisation: of each operator's busiest
    instance. latency_p95_s: end to end; infinite if too many draws are unstable. stable_share: share of draws that
    carry the load.
    """

    share: float
    mst_per_s: Mapping[str, Interval]
    utilisation: Mapping[str, Interval]
    latency_p95_s: Interval
    stable_share: float


def estimate_intervals(
    topology: Topology,
    profiles: Profiles,
    plan: PhysicalPlan,
    load_per_s: Mapping[str, float],
    rng: np.random.Generator,
    draws: int = 200,
    *,
    share: float = 0.9,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
    p95_s: float | None = None,
    let_through: float = 1.0,
) -> EstimateIntervals:
    """Intervals for one plan under one load, from `draws` draws of the parameters.

    Latency is from modeling/latency/moments.py; its own error (benchmarks/results/model.md) is not included. p95_s: of
    the estimate that the intervals are of, by whole distributions: draws are scaled by what moments say less or more.
    let_through: as in `violations`.
    Raises ModelError if plan, load or profiles do not fit the topology.
    """
    plan.check(topology)
    loads = {source: [rate] for source, rate in load_per_s.items()}
    drawn = parameter_draws(profiles, rng, draws)
    estimates = evaluate_draws(topology, profiles, [plan], loads, drawn, arrival_cv2=arrival_cv2, site=site)
    assert estimates.latency is not None
    edges = ((1 - share) / 2, (1 + share) / 2)

    def interval(values: np.typing.NDArray[np.float64]) -> Interval:
        # Do not interpolate between draws: one may be infinite.
        low, high = np.quantile(values, edges, method="nearest")
        return float(low), float(high)

    scale, moments = estimates.headroom_factor[:, 0, 0] * let_through, 1.0
    if p95_s and np.isfinite(p95_s):
        plain = evaluate_many(topology, profiles, [plan], loads, arrival_cv2=arrival_cv2, site=site).latency
        assert plain is not None
        moments = p95_s / float(plain.p95_s[0, 0])
    return EstimateIntervals(
        share,
        {source: interval(rate * scale) if rate > 0 else (0.0, 0.0) for source, rate in load_per_s.items()},
        {name: interval(estimates.utilisation[:, 0, 0, at]) for at, name in enumerate(estimates.operators)},
        interval(estimates.latency.p95_s[:, 0, 0] * moments),
        float((scale > 1).mean()),
    )


def evaluate_draws(
    topology: Topology,
    profiles: Profiles,
    plans: Sequence[PhysicalPlan],
    loads_per_s: Mapping[str, npt.ArrayLike],
    draws: ParameterDraws,
    *,
    latency: bool = True,
    arrival_cv2: float | Arrivals = 1.0,
    site: Site = NOWHERE,
) -> ManyEstimates:
    """evaluate_many for each draw of the parameters: arrays of shape (draws, plans, loads), with its last axes."""
    loads = checked_loads(topology, profiles, loads_per_s)
    options = EvaluationOptions(latency, arrival_cv2, site=site)
    estimates = evaluate_scenarios(topology, profiles, plans, draws.scenarios(loads), options)

    def folded(each: npt.NDArray[Any]) -> npt.NDArray[Any]:
        return np.moveaxis(each.reshape(each.shape[0], draws.count, loads.shape[0], *each.shape[2:]), 1, 0)

    return replace(
        estimates,
        utilisation=folded(estimates.utilisation),
        headroom_factor=folded(estimates.headroom_factor),
        bottleneck=folded(estimates.bottleneck),
        throughput_per_s=folded(estimates.throughput_per_s),
        latency=None if estimates.latency is None else estimates.latency.map(folded),
    )
