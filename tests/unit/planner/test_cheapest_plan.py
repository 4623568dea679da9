"""The cheapest plan within the limits, and excuses that say what would help."""

import itertools
from dataclasses import replace

import pytest

from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.excuse import Excuse
from modeling.flow.key_assignment import flink_instance_of_key
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.search.cheapest_plan import cheapest_plan, strongest_plan

Profiles = dict[str, OperatorProfile]


def test_parallelism__is_the_smallest_with_headroom(pair: Topology, pair_profiles: Profiles) -> None:
    plan = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.5}, Limits(max_utilisation=0.85))
    # 8.5 / 0.85 = 10 exactly
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"source": 1, "work": 10}


@pytest.mark.slow
def test_plan__equals_the_best_of_all_plans_tried_one_by_one() -> None:
    topology = Topology(
        "t",
        tuple(Operator(n, 6) for n in "abc"),
        (Stream("a", "b"), Stream("b", "c", Grouping.FIELDS), Stream("a", "c")),
    )
    profiles = {
        "a": OperatorProfile("a", 0.1, {"a->b": 0.5, "a->c": 1.0}),
        "b": OperatorProfile("b", 0.3, {"b->c": 2.0}),
        "c": OperatorProfile("c", 0.1),
    }
    limits = Limits(max_utilisation=0.8, max_instances=12)
    plan = cheapest_plan(PlanModel(topology, profiles), {"a": 10.0}, limits)
    assert isinstance(plan, PhysicalPlan)
    fitting = []
    for counts in itertools.product(range(1, 7), repeat=3):
        candidate = PhysicalPlan("t", dict(zip("abc", counts, strict=True)))
        if evaluate(topology, profiles, candidate, {"a": 10.0}).utilisation <= 0.8:
            fitting.append(candidate.instances)
    assert plan.instances == min(fitting)


def test_latency_target__adds_instances_until_it_holds(pair: Topology, pair_profiles: Profiles) -> None:
    free = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, Limits())
    quick = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, Limits(max_latency_s=1.5))
    assert isinstance(free, PhysicalPlan)
    assert isinstance(quick, PhysicalPlan)
    assert quick.instances > free.instances
    assert evaluate(pair, pair_profiles, quick, {"source": 8.0}).latency_s <= 1.5


def test_latency_target__below_the_service_time_is_excused(pair: Topology, pair_profiles: Profiles) -> None:
    excuse = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, Limits(max_latency_s=0.9))
    assert isinstance(excuse, Excuse)
    assert "allow more latency" in excuse.remedy


def test_too_many_instances__are_excused_with_the_number_that_would_do(pair: Topology, pair_profiles: Profiles) -> None:
    excuse = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 17.0}, Limits(max_instances=20))
    # 17 / 0.85 = 20 of work, and one source
    assert isinstance(excuse, Excuse)
    assert excuse.value == 21
    assert "max_instances to 21" in str(excuse)


def test_a_latency_that_more_instances_would_meet__is_excused_with_their_number() -> None:
    """1 / (10 - 40 / n) s with n instances that serve Poisson arrivals: .15 s with 12."""
    topology, profiles = Topology("one", (Operator("work"),), ()), {"work": OperatorProfile("work", 0.1)}
    limits = Limits(max_utilisation=0.9, max_instances=8, max_latency_s=0.1501)
    excuse = cheapest_plan(PlanModel(topology, profiles), {"work": 40.0}, limits)
    assert isinstance(excuse, Excuse)
    assert excuse.target == "mean latency in s"
    assert excuse.remedy == "raise max_instances to 12, or plan for a lower quantile"
    enough = cheapest_plan(PlanModel(topology, profiles), {"work": 40.0}, replace(limits, max_instances=12))
    assert isinstance(enough, PhysicalPlan)


def test_a_heavy_key__is_excused_because_instances_do_not_help() -> None:
    from modeling.inputs.key_histogram import KeyHistogram

    topology = Topology("t", (Operator("a"), Operator("b", 8)), (Stream("a", "b", Grouping.FIELDS),))
    profiles = {
        "a": OperatorProfile("a", 0),
        "b": OperatorProfile("b", 0.1, keys=KeyHistogram({"everyone": 0.9})),
    }
    excuse = cheapest_plan(PlanModel(topology, profiles), {"a": 12.0}, Limits())
    assert isinstance(excuse, Excuse)
    assert excuse.operator == "b"
    # the heaviest key alone: 0.9 · 12 · 0.1 = 1.08
    assert excuse.value > 1.08
    assert "heaviest key" in excuse.remedy


def test_strongest_plan__carries_what_the_limits_allow(pair: Topology, pair_profiles: Profiles) -> None:
    plan, share, _ = strongest_plan(PlanModel(pair, pair_profiles), {"source": 17.0}, Limits(max_instances=11))
    # 10 of work carry 8.5/s with headroom: half of 17
    assert plan.parallelism["work"] == 10
    assert share == pytest.approx(0.5, abs=2e-3)


def shares_given(*shares: float) -> Topology:
    return Topology("t", (Operator("a", 4), Operator("b", 4)), (Stream("a", "b", Grouping.CUSTOM, shares=shares),))


def test_excuse__beside_an_operator_whose_shares_are_given_tells_its_utilisation() -> None:
    topology = shares_given(0.5, 0.25, 0.25)
    profiles = {"a": OperatorProfile("a", 0.5), "b": OperatorProfile("b", 0.01)}
    excuse = cheapest_plan(PlanModel(topology, profiles), {"a": 16.0}, Limits())
    assert isinstance(excuse, Excuse)
    # 16 · 0.5 = 8 busy instances: 2 each of four, and 10 at 0.85 of them
    assert excuse.value == pytest.approx(2.0)
    assert excuse.remedy == "not even 4 instances do: raise its max_parallelism to 10 or more"
    few = cheapest_plan(PlanModel(topology, profiles), {"a": 1.0}, Limits(max_parallelism={"b": 2}))
    assert isinstance(few, Excuse)
    assert str(few) == "instances 3 of b is beyond 2; allow 3 instances of b"


def test_excuse__for_max_instances_names_as_many_as_the_whole_plan_needs(
    pair: Topology, pair_profiles: Profiles
) -> None:
    model, load = PlanModel(pair, pair_profiles), {"source": 17.0}
    for most in (5, 11, 20):
        excuse = cheapest_plan(model, load, Limits(max_instances=most))
        assert isinstance(excuse, Excuse)
        # 17/s of 1 s at 0.85 need 20 of work, and 1 of source
        assert str(excuse) == f"instances 21 of the whole plan is beyond {most}; raise max_instances to 21, or " + (
            "plan for a lower quantile"
        )
    assert isinstance(cheapest_plan(model, load, Limits(max_instances=21)), PhysicalPlan)


def test_excuse__beside_max_instances_names_the_max_parallelism_that_is_too_low(
    pair: Topology, pair_profiles: Profiles
) -> None:
    model, load = PlanModel(pair, pair_profiles), {"source": 17.0}
    excuse = cheapest_plan(model, load, Limits(max_instances=11, max_parallelism={"work": 4}))
    assert isinstance(excuse, Excuse)
    assert excuse.remedy == "raise max_parallelism of work to 20 or more"


def test_a_windowed_operator__gets_no_more_instances_than_its_output_asks_for() -> None:
    # A minute's window of 100 keys gives at most 100 / 60 = 1.7 a second on, however many come; 60 ms each keep one
    # instance a tenth busy.
    topology = Topology(
        "t", (Operator("in"), Operator("count"), Operator("out")), (Stream("in", "count"), Stream("count", "out"))
    )
    minute = WindowedOutput(WindowKind.TUMBLING, 60.0, 100)
    profiles = {
        "in": OperatorProfile("in", 0.0),
        "count": OperatorProfile("count", 0.0001, windowed={"count->out": minute}),
        "out": OperatorProfile("out", 0.06),
    }
    plan = cheapest_plan(PlanModel(topology, profiles), {"in": 1000.0}, Limits())
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"in": 1, "count": 1, "out": 1}


def test_a_latency_that_one_instance_more_does_not_lower__is_met_by_several() -> None:
    # Two keys that Flink puts on one instance until there are 8: nothing is faster before.
    topology = Topology("t", (Operator("a"), Operator("b", 16)), (Stream("a", "b", Grouping.FIELDS),))
    apart = next(
        (one, other)
        for one, other in itertools.combinations([f"key {at}" for at in range(200)], 2)
        if all(flink_instance_of_key(one, p, 16) == flink_instance_of_key(other, p, 16) for p in range(1, 8))
        and flink_instance_of_key(one, 8, 16) != flink_instance_of_key(other, 8, 16)
    )
    keys = KeyHistogram(dict.fromkeys(apart, 0.5))
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.02, keys=keys)}
    # 40 a second of 20 ms: M/M/1 at .8 takes 100 ms, two of them at .4 take 20 / .6 = 33.3 ms
    plan = cheapest_plan(PlanModel(topology, profiles), {"a": 40.0}, Limits(max_latency_s=0.04))
    assert isinstance(plan, PhysicalPlan)
    assert plan.parallelism == {"a": 1, "b": 8}
    refused = cheapest_plan(PlanModel(topology, profiles), {"a": 40.0}, Limits(max_latency_s=0.03))
    assert isinstance(refused, Excuse)


def test_p95__is_bounded_as_evaluate_tells_it(pair: Topology, pair_profiles: Profiles) -> None:
    bound = Limits(max_p95_latency_s=4.0)
    plan = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, bound)
    assert isinstance(plan, PhysicalPlan)
    fewer = replace(plan, parallelism={**plan.parallelism, "work": plan.parallelism["work"] - 1})
    many = evaluate_many(pair, pair_profiles, [plan, fewer], {"source": [8.0]}).latency
    assert many is not None
    assert many.p95_s[0, 0] <= 4.0 < many.p95_s[1, 0]


def test_both_latencies__hold_where_both_are_bounded(pair: Topology, pair_profiles: Profiles) -> None:
    """The mean of 1.02 s asks for more instances than the p95 of 4 s does, and with 10 s it is the only one to."""
    for p95_s in (4.0, 10.0):
        both = cheapest_plan(
            PlanModel(pair, pair_profiles), {"source": 8.0}, Limits(max_latency_s=1.02, max_p95_latency_s=p95_s)
        )
        mean = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, Limits(max_latency_s=1.02))
        p95 = cheapest_plan(PlanModel(pair, pair_profiles), {"source": 8.0}, Limits(max_p95_latency_s=p95_s))
        assert isinstance(both, PhysicalPlan)
        assert both.instances == max(each.instances for each in (mean, p95) if isinstance(each, PhysicalPlan))


def test_prices__decide_which_operator_is_given_more_for_the_latency() -> None:
    """Two alike in a row: to get below a bound, either may have one more."""
    topology = Topology("row", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c")))
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.1), "c": OperatorProfile("c", 0.1)}
    limits, load = Limits(max_latency_s=0.30), {"a": 24.0}
    for cheap, dear in (("b", "c"), ("c", "b")):
        found = cheapest_plan(PlanModel(topology, profiles), load, limits, price={"a": 1.0, cheap: 1.0, dear: 9.0})
        assert isinstance(found, PhysicalPlan)
        assert found.parallelism[cheap] > found.parallelism[dear]


def test_a_cheaper_plan_of_more_instances_than_allowed__gives_way_to_the_fewest() -> None:
    topology = Topology("row", tuple(map(Operator, "abc")), (Stream("a", "b"), Stream("b", "c")))
    profiles = {"a": OperatorProfile("a", 0.0), "b": OperatorProfile("b", 0.1), "c": OperatorProfile("c", 0.1)}
    load, price = {"a": 24.0}, {"b": 1.0, "c": 50.0}
    free = cheapest_plan(PlanModel(topology, profiles), load, Limits(max_latency_s=0.5), price=price)
    few = cheapest_plan(PlanModel(topology, profiles), load, Limits(max_latency_s=0.5))
    assert isinstance(free, PhysicalPlan)
    assert isinstance(few, PhysicalPlan)
    assert free.instances > few.instances
    tight = Limits(max_latency_s=0.5, max_instances=few.instances)
    assert cheapest_plan(PlanModel(topology, profiles), load, tight, price=price) == few
