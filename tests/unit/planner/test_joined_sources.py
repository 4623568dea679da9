"""What pairing paths of two sources independently would miss, at an operator that both feed."""

from collections.abc import Mapping

import numpy as np
import pytest
from joined_sources import forecasts, histories

from forecasting.forecast import Forecast
from forecasting.joined_paths import joined_forecasts
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.targets import ANY, Targets
from modeling.inputs.topology import Operator, Stream, Topology
from modeling.uncertainty.parameter_draws import ParameterDraws
from modeling.uncertainty.violation import violations
from planner.demand import demand, demand_paths

SHOP = Topology(
    "shop", (Operator("app"), Operator("web"), Operator("join")), (Stream("app", "join"), Stream("web", "join"))
)


def missed(of: Mapping[str, Forecast], carried_per_s: float) -> float:
    """How likely more comes at the join than it carries, which is so much."""
    service_s = {"app": 1e-5, "web": 1e-5, "join": 1 / carried_per_s}
    profiles = {name: OperatorProfile(name, each) for name, each in service_s.items()}
    plan = PhysicalPlan("shop", {"app": 1, "web": 1, "join": 1})
    found = violations(SHOP, profiles, [plan], demand_paths(of), 900.0, ParameterDraws(1), Targets())
    return float(found.probability[ANY][0])


# Either source comes at 100/s with a standard deviation of 10/s, the total at 200/s with √(2·10²·(1 + ρ)) and, where
# paths are paired independently, with √200 = 14.14.
@pytest.mark.parametrize(
    ("rho", "carried_per_s", "together", "apart"),
    [
        # 19.49: the p95, as 1.645 · 19.49 = 32.06. Independently 1 - Φ(32.06/14.14) = 1 - Φ(2.267) = .0117.
        (0.9, 232.06, 0.05, 0.0117),
        # The p99: 2.326 · 19.49 = 45.33. Independently 1 - Φ(3.206) = .0007.
        (0.9, 245.33, 0.01, 0.0007),
        # 6.325, as one source comes in turn with the other: 2.054 · 6.325 = 12.99. Independently 1 - Φ(.919) = .179.
        (-0.8, 212.99, 0.02, 0.179),
    ],
)
def test_a_join__misses_its_target_as_often_as_the_sum_of_both_exceeds_it(
    rho: float, carried_per_s: float, together: float, apart: float
) -> None:
    given = forecasts()
    joined = joined_forecasts(given, histories(rho)).forecasts
    # Three standard errors of a share of 1000 paths.
    assert missed(joined, carried_per_s) == pytest.approx(together, abs=3 * np.sqrt(together / 1000))
    assert missed(given, carried_per_s) == pytest.approx(apart, abs=3 * np.sqrt(apart / 1000))


def test_the_demand_of_each_source__is_the_same_however_paths_are_paired() -> None:
    given = forecasts()
    one, other = (
        demand(each, slot_s=900, quantile=0.95).rate_per_s
        for each in (given, joined_forecasts(given, histories(0.9)).forecasts)
    )
    assert all(np.array_equal(one[source], other[source]) for source in given)
