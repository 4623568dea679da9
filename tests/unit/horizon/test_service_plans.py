"""Plans of services that call each other: their threads wait for each other, so they carry less than their busyness."""

import numpy as np
import pytest
from horizon_cases import LIMITS, level, schedule_of
from service_cases import MODEL, MST_PER_S, PROFILES, RUNNING, SERVICES, SHOP, THREADS

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.services.pools import ServiceTerms, pool_of, service_saturation
from planner.horizon.ladder import ladder_of
from planner.limits import MAX_UTILISATION
from planner.plan_model import PlanModel


def _saturation_per_s(plan: PhysicalPlan) -> float:
    found = service_saturation(SHOP, PROFILES, SERVICES.pools, plan.parallelism, {"gate": 1.0}, SERVICES.routing)
    return found.mst_per_s["gate"]


def test_ladder__of_services_carries_what_threads_that_wait_for_calls_let_through() -> None:
    plans = [PhysicalPlan("pair", RUNNING)]
    one = np.ones((1, 1))
    assert ladder_of(plans, MODEL).capacity_per_s(one)[0, 0] == pytest.approx(MST_PER_S)
    # Where a person bounds how busy a plan may be: the less of that and of 95 % of where its threads saturate.
    assert ladder_of(plans, MODEL, 0.9).capacity_per_s(one)[0, 0] == pytest.approx(MAX_UTILISATION * MST_PER_S)
    assert ladder_of(plans, MODEL, 0.5).capacity_per_s(one)[0, 0] == pytest.approx(0.5 * 5)


def test_schedule__of_services_runs_no_plan_whose_threads_saturate_below_the_load() -> None:
    load_per_s = 4.5  # 90 % busy, and 15 % beyond what the threads let through
    made = schedule_of(
        level([load_per_s] * 48, source="gate"),
        RUNNING,
        topology=SHOP,
        profiles=PROFILES,
        limits=LIMITS,
        services=SERVICES,
    )
    (step,) = made.steps
    assert _saturation_per_s(step.plan) * MAX_UTILISATION >= load_per_s
    assert step.headroom_factor == pytest.approx(_saturation_per_s(step.plan) / load_per_s)
    # Without threads the running plan carries it.
    assert schedule_of(level([load_per_s] * 48, source="gate"), RUNNING, topology=SHOP, profiles=PROFILES).steps == ()


def test_saturation_that_is_unknown__leaves_plans_as_busy_as_they_are() -> None:
    overlapping = PROFILES | {"back": OperatorProfile("back", 0.6)}  # for longer than the gate is held
    model = PlanModel(SHOP, overlapping, services=SERVICES)
    assert ladder_of([PhysicalPlan("pair", RUNNING)], model).capacity_per_s(np.ones((1, 1)))[0, 0] == pytest.approx(
        1 / 0.3
    )


def test_services_that_nothing_but_threads_bounds__have_plans_all_the_same() -> None:
    # CPU without any time of service, which a file may say: only the threads' processor bounds these.
    profiles = {name: OperatorProfile(name, 0.0, cpu_s=0.01) for name in THREADS}
    services = ServiceTerms({name: pool_of(profiles[name], THREADS[name], cores=1.0) for name in THREADS})
    model = PlanModel(SHOP, profiles, services=services)
    plan = PhysicalPlan("pair", RUNNING)
    assert np.isinf(model.capacity_per_s(plan, {"gate": 1.0}))
    assert model.share_by_threads([plan], {"gate": 1.0}).tolist() == [1.0]
    load = level([4.5] * 48, source="gate")
    made = schedule_of(load, RUNNING, topology=SHOP, profiles=profiles, limits=LIMITS, services=services)
    assert all(step.plan.instances <= plan.instances for step in made.steps)
