"""What fluid queues must hold for any topology, profiles, plan, site and load: nothing is lost, and evaluate agrees."""

from dataclasses import dataclass, replace
from itertools import combinations

import model_cases
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from model_cases import profiles_of, topologies

from modeling.evaluate_many import ManyEstimates, evaluate_many
from modeling.flow.limits import OperatorLimit
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.site import NOWHERE, ContainerSize, Site
from modeling.inputs.topology import Topology
from planner.clusters.fluid_queues import FluidNetwork, fluid_network, step

STEP_S = 5.0
# Rates within a step are those of the model, so the length of a step adds nothing. What is left is rounding, and where
# windows are, a crossing that the model looks for down to 2^-40 of the load.
EXACT = 1e-9
NODES = ("quick", "slow", "other")


@dataclass(frozen=True)
class Case:
    """unit_per_s: a load of each source that fills the plan to the brim."""

    topology: Topology
    profiles: dict[str, OperatorProfile]
    plan: PhysicalPlan
    site: Site
    unit_per_s: dict[str, float]

    @property
    def network(self) -> FluidNetwork:
        return fluid_network(self.topology, self.profiles, self.plan, self.site)

    def estimate(self, scale: float = 1.0) -> ManyEstimates:
        load = {source: [rate * scale] for source, rate in self.unit_per_s.items()}
        return evaluate_many(self.topology, self.profiles, [self.plan], load, site=self.site, latency=False)

    def arrivals(self, scale: float) -> list[float]:
        """Of one step."""
        return [self.unit_per_s[source] * scale * STEP_S for source in self.topology.sources]


@st.composite
def cases(draw: st.DrawFn) -> Case:
    topology = draw(topologies())
    profiles = {name: draw(profiles_of(topology, name)) for name in topology.order}
    load = {source: draw(st.sampled_from([1.0, 0.3])) for source in topology.sources}
    plan, site = draw(st.sampled_from(model_cases.Case(topology, profiles, load).plans())), NOWHERE
    if draw(st.booleans()):
        where: dict[str, list[Instance]] = {node: [] for node in NODES}
        for name, count in plan.parallelism.items():
            for at in range(count):
                where[draw(st.sampled_from(NODES))].append(Instance(name, at))
        packing = tuple(Container(at, tuple(there), node) for at, (node, there) in enumerate(where.items()))
        plan = replace(plan, packing=packing)
        links = [MeasuredLink(a, b, 1.0, 0.1, 10.0) for a, b in combinations(NODES, 2)]
        site = Site(
            ContainerSize(cores=draw(st.sampled_from([None, 0.5, 4.0]))),
            {"slow": 2.0, "quick": 0.7},
            measured_network(links, np.random.default_rng(1)) if draw(st.booleans()) else None,
            {stream.name: 2000.0 for stream in topology.streams},
        )
    scale = float(Case(topology, profiles, plan, site, load).estimate().headroom_factor[0, 0])
    return Case(topology, profiles, plan, site, {source: rate * min(scale, 1e5) for source, rate in load.items()})


@given(
    cases(),
    st.lists(st.tuples(st.floats(0, 3), st.sampled_from([0.0, 1.3, STEP_S])), min_size=1, max_size=10),
)
def test_step__loses_and_invents_no_tuple(case: Case, steps: list[tuple[float, float]]) -> None:
    network = case.network
    content, came, taken = (np.zeros(len(case.topology.sources)) for _ in range(3))
    for scale, up_s in steps:
        done = step(network, content.tolist(), case.arrivals(scale), up_s)
        came = came + case.arrivals(scale)
        taken = taken + done.taken[: len(content)]
        content = np.array(done.content)
        assert (content >= 0).all()
        assert max(done.busiest_s) <= up_s * (1 + EXACT)
        given_out = {
            name: amount
            for each in network.instances(done.taken, done.taken, STEP_S)
            for name, amount in each.given.items()
        }
        for channel, amount in zip(network.channels[len(content) :], done.taken[len(content) :], strict=True):
            assert given_out[channel].sum() == pytest.approx(amount, rel=EXACT)
    assert came == pytest.approx(taken + content, rel=EXACT, abs=EXACT)


@given(cases(), st.floats(0.1, 0.999))
@pytest.mark.slow
def test_step__below_saturation_leaves_no_backlog_and_is_as_busy_as_evaluate_says(case: Case, scale: float) -> None:
    estimate = case.estimate(scale)
    done = step(case.network, [0.0] * len(case.unit_per_s), case.arrivals(scale), STEP_S)
    assert not any(done.content)
    assert not any(done.blocked)
    utilisation = [busiest_s / STEP_S for busiest_s in reversed(done.busiest_s)]
    assert utilisation == pytest.approx(estimate.utilisation[0, 0], rel=EXACT, abs=EXACT)


@given(cases(), st.floats(1.01, 5.0))
def test_step__beyond_saturation_lets_in_in_the_long_run_what_evaluate_says(case: Case, scale: float) -> None:
    estimate = case.estimate(scale)
    network, content = case.network, [0.0] * len(case.unit_per_s)
    for _ in range(20):
        done = step(network, content, case.arrivals(scale), STEP_S)
        content = done.content
    taken_per_s = [taken / STEP_S for taken in done.taken[: len(content)]]
    assert taken_per_s == pytest.approx(estimate.throughput_per_s[0, 0], rel=EXACT)


@given(cases())
def test_step__at_the_brim_the_bottleneck_is_the_one_that_evaluate_names(case: Case) -> None:
    estimate = case.estimate()
    bottleneck = estimate.bottleneck_of(0, 0)
    done = step(case.network, [0.0] * len(case.unit_per_s), case.arrivals(1.0), STEP_S)
    if isinstance(bottleneck, OperatorLimit) and estimate.headroom_factor[0, 0] <= 1 + EXACT:
        at = case.network.operators.index(bottleneck.operator)
        assert done.busiest_s[at] == pytest.approx(STEP_S, rel=EXACT)
