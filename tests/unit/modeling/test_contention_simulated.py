"""A container's saturation, slowdown and latency against a simulation of instances that share its cores."""

from collections.abc import Callable, Iterator

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.flow.plan_rates import arrival_rates
from modeling.flow.resources import resources
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Operator, Topology

CORES, INSTANCES, SERVICE_S = 2.0, 5, 0.01
JOB = Topology("job", (Operator("work"),), ())
PROFILES = {"work": OperatorProfile("work", SERVICE_S, cpu_s=SERVICE_S)}
PLAN = PhysicalPlan(
    "job", {"work": INSTANCES}, (Container(1, tuple(Instance("work", index) for index in range(INSTANCES))),)
)
SITE = Site(container=ContainerSize(cores=CORES))


def _drawn(draw: Callable[[int], np.ndarray]) -> Iterator[float]:
    """One by one of what is drawn at once."""
    while True:
        yield from draw(10_000).tolist()


def _simulated(load_per_s: float, seconds: float, seed: int) -> tuple[float, float, float]:
    """Tuples done a second, by what factor they took longer in service than alone, and their mean latency in seconds.

    Poisson arrivals and exponential services at each instance, one tuple at a time on one core; busy instances share
    the cores evenly, as a scheduler deals time.
    """
    rng = np.random.default_rng(seed)
    # Of five numbers, lists are several times quicker than arrays.
    between_s = _drawn(lambda count: rng.exponential(1 / load_per_s, count))
    places, services_s = (
        _drawn(lambda count: rng.integers(INSTANCES, size=count)),
        _drawn(lambda count: rng.exponential(SERVICE_S, count)),
    )
    queue, left_s = [0] * INSTANCES, [np.inf] * INSTANCES
    now_s, next_s, done, busy = 0.0, next(between_s), 0, 0
    busy_s, worked_s, present_s = 0.0, 0.0, 0.0
    while now_s < seconds:
        speed = min(1.0, CORES / max(1, busy))
        least_s = min(left_s)
        until_s = min(next_s, now_s + least_s / speed)
        passed_s, now_s = until_s - now_s, until_s
        present_s += passed_s * sum(queue)
        busy_s, worked_s = busy_s + passed_s * busy, worked_s + passed_s * speed * busy
        at = left_s.index(least_s)
        left_s = [each - passed_s * speed for each in left_s]
        if until_s == next_s:
            next_s += next(between_s)
            at = next(places)
            queue[at] += 1
            begins = queue[at] == 1
            busy += begins
        else:
            queue[at] -= 1
            done += 1
            begins = queue[at] > 0
            if not begins:
                left_s[at] = np.inf
                busy -= 1
        if begins:
            left_s[at] = next(services_s)
    return done / seconds, busy_s / worked_s, present_s / done  # Little's law


@pytest.mark.slow
@pytest.mark.parametrize("load_per_s", [120.0, 180.0])
def test_below_its_saturation__a_container_does_all_that_comes(load_per_s: float) -> None:
    rates = arrival_rates(JOB, PROFILES, PLAN, {"work": load_per_s}, SITE)
    # 1.2 and 1.8 of 2 cores
    assert resources(JOB, PROFILES, PLAN, rates, SITE).containers[1].headroom_factor == pytest.approx(200 / load_per_s)
    done_per_s, *_ = _simulated(load_per_s, 200.0, seed=1)
    # Counts of 24,000 and more vary by 0.7 % and less.
    assert done_per_s == pytest.approx(load_per_s, rel=0.03)


@pytest.mark.slow
def test_beyond_its_saturation__a_container_does_what_its_cores_can() -> None:
    rates = arrival_rates(JOB, PROFILES, PLAN, {"work": 250.0}, SITE)
    found = resources(JOB, PROFILES, PLAN, rates, SITE)
    done_per_s, longer, _ = _simulated(250.0, 200.0, seed=2)
    assert done_per_s == pytest.approx(250 * found.containers[1].headroom_factor, rel=0.03)
    # 2.5 of 2 cores: at least a quarter longer; all five are busy in the end, and then share two cores.
    assert found.containers[1].slowdown == 1.25
    assert 1.25 < longer <= 2.5


@pytest.mark.slow
def test_slowdown__is_the_least_that_tuples_take_longer() -> None:
    for load_per_s in (60.0, 120.0, 180.0):
        rates = arrival_rates(JOB, PROFILES, PLAN, {"work": load_per_s}, SITE)
        slowdown = resources(JOB, PROFILES, PLAN, rates, SITE).containers[1].slowdown
        _, longer, _ = _simulated(load_per_s, 100.0, seed=3)
        assert slowdown == 1
        assert longer >= slowdown


@pytest.mark.slow
@pytest.mark.parametrize(("load_per_s", "within"), [(100.0, 0.05), (140.0, 0.08), (170.0, 0.1)])
def test_latency__is_that_of_instances_that_share_cores(load_per_s: float, within: float) -> None:
    # At 1.7 of 2 cores the latency is some three times that of instances with a core for each.
    *_, latency_s = _simulated(load_per_s, 2000.0, seed=4)
    estimate = evaluate(JOB, PROFILES, PLAN, {"work": load_per_s}, site=SITE)
    assert estimate.latency_s == pytest.approx(latency_s, rel=within)
