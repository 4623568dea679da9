"""evaluate_draws(): many plans under many loads, for each draw of the parameters."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
import numpy.typing as npt

from modeling.evaluate_many import EvaluationOptions, ManyEstimates, checked_loads, evaluate_scenarios
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import NOWHERE, Site
from modeling.inputs.topology import Topology
from modeling.queueing.bursts import Arrivals
from modeling.uncertainty.parameter_draws import ParameterDraws


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
