"""Many plans and loads at once say what each one says alone."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling.errors import ModelError
from modeling.evaluate import evaluate
from modeling.evaluate_many import evaluate_many
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology

GROUPINGS = [grouping for grouping in Grouping if grouping is not Grouping.CUSTOM]


@st.composite
def cases(draw: st.DrawFn) -> tuple[Topology, dict[str, OperatorProfile], list[PhysicalPlan], dict[str, list[float]]]:
    """A random acyclic topology with any engine and groupings, some plans and some loads."""
    size = draw(st.integers(2, 6))
    names = [f"o{i}" for i in range(size)]
    pairs = [(a, b) for b in range(1, size) for a in range(b)]
    chosen = draw(st.lists(st.sampled_from(pairs), min_size=1, unique=True))
    streams = tuple(Stream(names[a], names[b], draw(st.sampled_from(GROUPINGS))) for a, b in chosen)
    topology = Topology("random", tuple(Operator(n) for n in names), streams, draw(st.sampled_from(list(Engine))))
    keys = KeyHistogram({"storm": 0.5, "heron": 0.2, "flink": 0.1})
    profiles = {
        name: OperatorProfile(
            name,
            draw(st.floats(0, 0.1)),
            {s.name: draw(st.floats(0, 2)) for s in streams if s.upstream == name},
            keys=draw(st.sampled_from([None, keys])),
        )
        for name in names
    }
    plans = [
        PhysicalPlan("random", {name: draw(st.integers(1, 7)) for name in names})
        for _ in range(draw(st.integers(1, 4)))
    ]
    number = draw(st.integers(1, 3))
    loads = {source: [draw(st.floats(0, 100)) for _ in range(number)] for source in topology.sources}
    return topology, profiles, plans, loads


@pytest.mark.slow
@settings(max_examples=60, deadline=None)
@given(cases())
def test_many__say_what_each_says_alone(
    case: tuple[Topology, dict[str, OperatorProfile], list[PhysicalPlan], dict[str, list[float]]],
) -> None:
    topology, profiles, plans, loads = case
    many = evaluate_many(topology, profiles, plans, loads)
    for row, plan in enumerate(plans):
        for column in range(len(next(iter(loads.values())))):
            one = evaluate(topology, profiles, plan, {source: rates[column] for source, rates in loads.items()})
            used = [one.operators[name].utilisation for name in topology.order]
            assert many.utilisation[row, column].tolist() == pytest.approx(used, rel=1e-9, abs=1e-12)
            assert many.headroom_factor[row, column] == pytest.approx(one.headroom_factor, rel=1e-9)
            taken = [one.throughput_per_s[source] for source in topology.sources]
            assert many.throughput_per_s[row, column].tolist() == pytest.approx(taken, rel=1e-6, abs=1e-9)


def shop() -> tuple[Topology, dict[str, OperatorProfile]]:
    topology = Topology(
        "shop",
        (Operator("web"), Operator("app"), Operator("join")),
        (Stream("web", "join", Grouping.FIELDS), Stream("app", "join")),
    )
    return topology, {name: OperatorProfile(name, 0.001 if name == "join" else 0.0) for name in topology.order}


def test_a_plan_that_does_not_fit__is_excused_and_hurts_no_other() -> None:
    topology, profiles = shop()
    good = PhysicalPlan("shop", {"web": 1, "app": 1, "join": 2})
    plans = [good, replace(good, parallelism={"web": 1, "app": 1, "join": 500}), good]
    many = evaluate_many(topology, profiles, plans, {"web": [400.0], "app": [400.0]})
    assert many.excuses.keys() == {1}
    assert "parallelism 500 of operator 'join' > its max_parallelism 128" in str(many.excuses[1])
    assert np.isnan(many.utilisation[1]).all()
    assert not many.stable[1].any()
    # 200 + 200 a second into each of two, a millisecond each: 0.4.
    assert many.utilisation[0, 0, topology.order.index("join")] == pytest.approx(0.4)
    assert np.array_equal(many.utilisation[0], many.utilisation[2])


def test_no_plan_at_all__is_no_estimate() -> None:
    topology, profiles = shop()
    many = evaluate_many(topology, profiles, [], {"web": [1.0, 2.0], "app": [1.0, 2.0]})
    assert many.utilisation.shape == (0, 2, 3)


@pytest.mark.parametrize(
    ("loads", "named"),
    [
        ({"web": [1.0]}, "no rate for source 'app'"),
        ({"web": [1.0, np.nan], "app": [1.0, 1.0]}, "source 'web' is nan"),
        ({"web": [1.0, -2.0], "app": [1.0, 1.0]}, "source 'web' is -2"),
        ({"web": [1.0, 2.0], "app": [1.0]}, "give every source one rate for each load"),
        ({"web": [1.0], "app": [1.0], "shop": [1.0]}, "load names 'shop'"),
    ],
)
def test_loads_that_do_not_fit__are_refused(loads: dict[str, list[float]], named: str) -> None:
    topology, profiles = shop()
    plan = PhysicalPlan("shop", {"web": 1, "app": 1, "join": 2})
    with pytest.raises(ModelError, match=named):
        evaluate_many(topology, profiles, [plan], loads)


def test_a_lone_giver_among_several__is_routed_by_how_many_they_are() -> None:
    # GLOBAL gives everything to the first of b; RESCALE from 2 to 4 deals what it gives to two of c, from 4 to one
    topology = Topology(
        "lone",
        (Operator("a"), Operator("b"), Operator("c")),
        (Stream("a", "b", Grouping.GLOBAL), Stream("b", "c", Grouping.RESCALE)),
    )
    profiles = {name: OperatorProfile(name, 0.001) for name in "abc"}
    plans = [PhysicalPlan("lone", {"a": 1, "b": count, "c": 4}) for count in (2, 4)]
    used = evaluate_many(topology, profiles, plans, {"a": 100.0}).utilisation[:, 0, 2]
    assert used.tolist() == pytest.approx([0.05, 0.1])
