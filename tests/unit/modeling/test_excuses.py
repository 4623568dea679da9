"""What a plan lacks and the least change that mends it: excuses."""

from dataclasses import replace

import numpy as np
import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import misfit
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.latency.sink_times import ManyLatencies
from modeling.remedies import combined_change, excuses

Profiles = dict[str, OperatorProfile]


def told(many: object) -> ManyLatencies:
    assert isinstance(many, ManyLatencies)
    return many


def wide() -> tuple[Topology, Profiles, PhysicalPlan]:
    topology = Topology(
        "wide", (Operator("in"), Operator("map", 64), Operator("count")), (Stream("in", "map"), Stream("map", "count"))
    )
    profiles = {
        "in": OperatorProfile("in", 0.0),
        "map": OperatorProfile("map", 0.01),
        "count": OperatorProfile("count", 0.002),
    }
    return topology, profiles, PhysicalPlan("wide", {"in": 1, "map": 4, "count": 1})


def test_excuse__names_value_bound_and_the_least_change() -> None:
    topology, profiles, plan = wide()
    # 600 a second of 10 ms are 6 busy instances: 7.5, so 8, at 0.8; 1.2 of count: 2
    found = excuses(topology, profiles, plan, {"in": 600.0}, Targets(max_utilisation=0.8))
    assert [(e.target, e.operator) for e in found] == [
        ("throughput", "map"), ("utilisation", "map"), ("throughput", "count"), ("utilisation", "count"),
    ]  # fmt: skip
    assert found[0].value == pytest.approx(1.5)
    assert str(found[1]) == "utilisation 1.5 of map > 0.8; give map 8 instances instead of 4"
    assert combined_change(found) == {"map": 8, "count": 2}
    mended = PhysicalPlan("wide", {**plan.parallelism, **combined_change(found)})
    assert excuses(topology, profiles, mended, {"in": 600.0}, Targets(max_utilisation=0.8)) == ()
    assert found[0].plan_id == plan.plan_id


@pytest.mark.slow
def test_excuse__of_a_latency_adds_what_helps_and_no_more() -> None:
    topology, profiles, plan = wide()
    targets = Targets(max_latency_s=0.045)
    found = excuses(topology, profiles, plan, {"in": 380.0}, targets)
    assert [e.target for e in found] == ["latency"]
    assert found[0].operator == "map"
    change = found[0].change

    def p95_s(parallelism: dict[str, int]) -> float:
        each = PhysicalPlan("wide", parallelism)
        return float(told(evaluate_many(topology, profiles, [each], {"in": [380.0]}).latency).p95_s[0, 0])

    assert p95_s({**plan.parallelism, **change}) <= 0.045 < p95_s(dict(plan.parallelism))
    for name, count in change.items():
        assert p95_s({**plan.parallelism, **change, name: count - 1}) > 0.045
    # services alone have a p95 of more than 10 ms · ln 20 = 30 ms
    (hopeless,) = excuses(topology, profiles, plan, {"in": 380.0}, Targets(max_latency_s=0.02))
    assert not hopeless.mendable
    assert "no parallelism helps" in str(hopeless)
    assert combined_change([*found, hopeless]) == {}


def test_excuse__of_a_sink_tells_its_own_latency_and_mends_it() -> None:
    topology = Topology("two", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("a", "c")))
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.01), "c": OperatorProfile("c", 0.001)}
    plan, load = PhysicalPlan("two", dict.fromkeys("abc", 1)), {"a": 80.0}
    targets = Targets(max_latency_s=1.0, sink_max_latency_s={"b": 0.1, "c": 0.1})
    (late,) = excuses(topology, profiles, plan, load, targets)
    # M/M/1 at .8: 10 ms / .2 = 50 ms, and a p95 of ln 20 times that
    assert (late.target, late.operator, late.bound) == ("latency at b", "b", 0.1)
    assert late.value == pytest.approx(0.05 * np.log(20), rel=0.01)
    assert late.change == {"b": 2}
    mended = PhysicalPlan("two", {**plan.parallelism, **late.change})
    assert excuses(topology, profiles, mended, load, targets) == ()


def test_excuse__of_instances_that_slow_each_other_proposes_fewer() -> None:
    topology, profiles, plan = wide()
    profiles["map"] = OperatorProfile("map", 0.01, efficiency=ScaleEfficiency(coordination_s=0.02))
    # 60 a second of 10 + 20 (p - 1) ms by each of p: busy .6 with one, 1.05 with four
    (found,) = excuses(topology, profiles, plan, {"in": 60.0}, Targets())
    assert found.value == pytest.approx(1.05)
    assert str(found) == "utilisation 1.05 of map >= 1; give map 1 instance instead of 4"
    mended = PhysicalPlan("wide", {**plan.parallelism, **combined_change([found])})
    assert evaluate(topology, profiles, mended, {"in": 60.0}).stable


def test_a_plan_that_holds__has_no_excuse_though_a_node_is_slow() -> None:
    topology = Topology(
        "given", (Operator("a"), Operator("b")), (Stream("a", "b", Grouping.CUSTOM, shares=(0.8, 0.2)),)
    )
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.01)}
    quick, slow = (Instance("a", 0), Instance("b", 0)), (Instance("b", 1),)
    plan = PhysicalPlan("given", {"a": 1, "b": 2}, (Container(0, quick, "quick"), Container(1, slow, "slow")))
    site = Site(service_factor={"slow": 3.0})
    # 80 a second of 10 ms, 20 of 30 ms
    assert evaluate(topology, profiles, plan, {"a": 100.0}, site=site).utilisation == pytest.approx(0.8)
    targets = Targets(max_utilisation=0.85, max_latency_s=0.5)
    assert excuses(topology, profiles, plan, {"a": 100.0}, targets, site=site) == ()


def test_excuse__of_a_source_that_polls_counts_its_wait_once() -> None:
    topology, profiles, plan = wide()
    profiles["in"] = OperatorProfile("in", 0.0, polling=Polling(0.02, 500))
    load = {"in": 100.0}
    told_p95_s = float(told(evaluate_many(topology, profiles, [plan], {"in": [100.0]}).latency).p95_s[0, 0])
    assert excuses(topology, profiles, plan, load, Targets(max_latency_s=told_p95_s * 1.001)) == ()
    (late,) = excuses(topology, profiles, plan, load, Targets(max_latency_s=told_p95_s * 0.999))
    assert late.value == pytest.approx(told_p95_s)


def test_excuse__of_skewed_keys_says_that_no_parallelism_helps() -> None:
    topology = Topology("keyed", (Operator("in"), Operator("count")), (Stream("in", "count", Grouping.FIELDS),))
    profiles = {
        "in": OperatorProfile("in", 0.0),
        "count": OperatorProfile("count", 0.01, keys=KeyHistogram({"one": 0.9})),
    }
    plan = PhysicalPlan("keyed", {"in": 1, "count": 2})
    (found,) = excuses(topology, profiles, plan, {"in": 200.0}, Targets())
    # nine tenths of 2 busy instances stay with one of them
    assert found.value >= 1.8
    assert "spread its heaviest key" in found.remedy
    assert found.change == {}
    (crowded,) = excuses(
        replace(topology, operators=(Operator("in"), Operator("count", 4))),
        {**profiles, "count": OperatorProfile("count", 0.01)},
        plan,
        {"in": 790.0},
        Targets(),
    )
    assert crowded.remedy == "not even 4 instances do: raise its max_parallelism to 8 or more"


@pytest.mark.parametrize(
    ("grouping", "why"),
    [
        (Grouping.GLOBAL, "all tuples of in->count go to one instance"),
        (Grouping.ALL, "every instance gets every tuple of in->count"),
    ],
)
def test_excuse__of_a_stream_that_instances_cannot_share_names_its_grouping(grouping: Grouping, why: str) -> None:
    topology = Topology("unshared", (Operator("in"), Operator("count")), (Stream("in", "count", grouping),))
    profiles = {"in": OperatorProfile("in", 0.0), "count": OperatorProfile("count", 0.01)}
    plan = PhysicalPlan("unshared", {"in": 1, "count": 2})
    (found,) = excuses(topology, profiles, plan, {"in": 200.0}, Targets())
    assert found.remedy == f"no parallelism helps, as {why}: change the grouping, or make count faster"
    assert found.change == {}


def test_excuse__of_skewed_keys_beside_a_stream_to_one_instance_names_the_keys() -> None:
    streams = (Stream("in", "count", Grouping.FIELDS), Stream("tick", "count", Grouping.GLOBAL))
    topology = Topology("both", (Operator("in"), Operator("tick"), Operator("count")), streams)
    profiles = {
        "in": OperatorProfile("in", 0.0),
        "tick": OperatorProfile("tick", 0.0),
        "count": OperatorProfile("count", 0.01, stream_keys={"in->count": KeyHistogram({"one": 0.9})}),
    }
    plan = PhysicalPlan("both", {"in": 1, "tick": 1, "count": 2})
    (keyed,) = excuses(topology, profiles, plan, {"in": 200.0, "tick": 1.0}, Targets())
    assert "spread its heaviest key" in keyed.remedy
    # Keys have one instance at 0.45 of its time, ticks another one at 2
    (ticking,) = excuses(topology, profiles, plan, {"in": 50.0, "tick": 200.0}, Targets())
    assert "all tuples of tick->count go to one instance" in ticking.remedy


def test_misfits__are_told_with_the_nearest_plan_that_fits() -> None:
    topology, profiles, _ = wide()
    plan = PhysicalPlan("wide", {"in": 1, "map": 100, "cuont": 2})
    (found,) = excuses(topology, profiles, plan, {"in": 1.0}, Targets())
    assert found.target == "fit"
    assert found.change == {"map": 64, "cuont": 0, "count": 1}
    assert "parallelism 100 of operator 'map' > its max_parallelism 64" in str(found)
    fitted = {name: count for name, count in {**plan.parallelism, **found.change}.items() if count}
    assert misfit(topology, PhysicalPlan("wide", fitted)) is None
    assert evaluate_many(topology, profiles, [plan], {"in": [1.0]}).excuses[0] == found


def test_excuse__of_a_packing_says_that_more_instances_do_not_help() -> None:
    stream = Stream("a", "b", Grouping.LOCAL_OR_SHUFFLE)
    topology = Topology("packed", (Operator("a"), Operator("b")), (stream,), Engine.STORM)
    profiles = {"a": OperatorProfile("a", 0.0001), "b": OperatorProfile("b", 0.001)}
    crowded = (*(Instance("a", index) for index in range(3)), Instance("b", 0))
    packing = (Container(1, crowded), Container(2, (Instance("a", 3), Instance("b", 1))))
    plan, targets = PhysicalPlan("packed", {"a": 4, "b": 2}, packing), Targets(max_latency_s=0.008)
    # 900 of 1,200/s go to one of two 1 ms counters: M/M/1 at .9, a p95 of 10 ms · ln 20; routed evenly it is 7.5 ms
    (found,) = excuses(topology, profiles, plan, {"a": 1200.0}, targets)
    assert found.remedy == "these instances suffice if routing is even: choose another packing"
    assert not found.mendable
    assert excuses(topology, profiles, replace(plan, packing=()), {"a": 1200.0}, targets) == ()
