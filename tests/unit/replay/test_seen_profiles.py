"""Service times follow what the running job shows, as calibration keeps profiles true."""

import pytest
from measured_minutes import measured_minutes, seen_at_the_end
from replay_cases import PROFILES, TOPOLOGY, plan

from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.site import Site
from modeling.inputs.topology import Operator, Stream, Topology
from planner.packing.offer import Offer
from planner.packing.resource_compliant import ResourceCompliant
from planner.plan_model import PlanModel
from planner.pricing.instance_cost import InstanceCost
from planner.pricing.placing import Placing
from planner.replay.policies.planned import SeenProfiles


def _busy(work: float, minutes: int = 30, **others: list[int]) -> SeenProfiles:
    """30 a second on 4 instances of which each is busy for that share of the time; .1 s a tuple are believed."""
    rates = {"ingest": 30.0, "work": 30.0}
    measured = measured_minutes(
        TOPOLOGY, minutes, rates, {"ingest": 0.003, "work": work}, {"ingest->work": 30.0}, **others
    )
    seen = SeenProfiles(PlanModel(TOPOLOGY, PROFILES))
    seen.take(seen_at_the_end(measured, plan(4)))
    return seen


def test_an_operator_that_is_busier_than_believed__takes_longer() -> None:
    """4 · .9 instances are busy with 30 a second: .12 s each."""
    seen = _busy(0.9)
    assert seen.refresh()
    assert seen.profiles["work"].service_s == pytest.approx(0.12)
    assert seen.profiles["ingest"].service_s == pytest.approx(0.0001)


def test_what_hardly_differs__is_left_alone() -> None:
    seen = _busy(0.76)
    assert not seen.refresh()
    assert seen.profiles is PROFILES


def test_few_minutes__tell_nothing_yet() -> None:
    assert not _busy(0.9, minutes=9).refresh()


def test_minutes_of_downtime__tell_nothing() -> None:
    assert not _busy(0.9, minutes=30, down=list(range(25))).refresh()


def test_a_join__is_scaled_by_what_each_of_its_inputs_was_believed_to_take() -> None:
    """10 a second of .01 s and 10 of .03 s keep .4 instances busy, and .6 are: 1.5 times as long, each."""
    join = Topology("join", tuple(map(Operator, "abj")), (Stream("a", "j"), Stream("b", "j")))
    believed = {
        "a": OperatorProfile("a", 0.0),
        "b": OperatorProfile("b", 0.0),
        "j": OperatorProfile("j", 0.02, stream_service_s={"a->j": 0.01, "b->j": 0.03}),
    }
    rates = {"a": 10.0, "b": 10.0, "j": 20.0}
    measured = measured_minutes(join, 20, rates, {"j": 0.6}, {"a->j": 10.0, "b->j": 10.0})
    seen = SeenProfiles(PlanModel(join, believed))
    seen.take(seen_at_the_end(measured, {"a": 1, "b": 1, "j": 1}))
    assert seen.refresh()
    assert dict(seen.profiles["j"].stream_service_s) == pytest.approx({"a->j": 0.015, "b->j": 0.045})
    assert seen.profiles["j"].service_s == pytest.approx(0.03)


def test_slow_nodes__are_not_taken_for_slow_operators() -> None:
    """30 a second of .1 s keep 3 instances busy, and 6 on nodes twice as slow: 8 are .75 busy, as believed."""
    site = Site(service_factor={"old": 2.0})
    costs = {name: InstanceCost(cores=0.1, memory_mib=1.0) for name in TOPOLOGY.order}
    placing = Placing(TOPOLOGY, PROFILES, costs, ResourceCompliant(Offer(site, nodes={"old": None}, max_instances=4)))
    seen = SeenProfiles(PlanModel(TOPOLOGY, PROFILES, site=site, placing=placing))
    rates = {"ingest": 30.0, "work": 30.0}
    measured = measured_minutes(TOPOLOGY, 30, rates, {"ingest": 0.006, "work": 0.75}, {"ingest->work": 30.0})
    seen.take(seen_at_the_end(measured, plan(8)))
    assert not seen.refresh()
    busier = measured_minutes(TOPOLOGY, 60, rates, {"ingest": 0.006, "work": 0.9}, {"ingest->work": 30.0})
    seen.take(seen_at_the_end(busier, plan(8)))
    assert seen.refresh()
    # 8 · .9 are busy of the 6 believed.
    assert seen.profiles["work"].service_s == pytest.approx(0.1 * 7.2 / 6)
