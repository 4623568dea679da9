"""Topologies and plans that cannot be are refused, with the value and the remedy."""

import numpy as np
import pytest

from modeling.errors import ModelError
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.topology import Grouping, Operator, Stream, Topology


def test_topology__refuses_a_cycle_and_names_it() -> None:
    with pytest.raises(ModelError, match=r"cycle b -> c -> b"):
        Topology("t", tuple(Operator(n) for n in "abc"), (Stream("a", "b"), Stream("b", "c"), Stream("c", "b")))


def test_topology__refuses_an_unknown_operator_in_a_stream() -> None:
    with pytest.raises(ModelError, match="unknown operator 'z'"):
        Topology("t", (Operator("a"),), (Stream("a", "z"),))


def test_topology__refuses_a_name_given_twice() -> None:
    with pytest.raises(ModelError, match="given twice"):
        Topology("t", (Operator("a"), Operator("a")), ())


def test_topology__refuses_custom_shares_that_no_parallelism_fits() -> None:
    def given(*shares: tuple[float, ...], max_parallelism: int = 2) -> Topology:
        streams = tuple(Stream("a", "b", Grouping.CUSTOM, f"{len(each)}", each) for each in shares)
        return Topology("t", (Operator("a"), Operator("b", max_parallelism)), streams)

    assert given((0.5, 0.5))
    with pytest.raises(ModelError, match="a->b:3 gives 3 shares, more than the max_parallelism 2 of 'b'"):
        given((0.2, 0.3, 0.5))
    with pytest.raises(ModelError, match="a->b:3 gives 3 shares, a->b:2 2; give as many of each: one for"):
        given((0.5, 0.5), (0.2, 0.3, 0.5), max_parallelism=3)


def test_topology__orders_an_uneven_diamond_so_that_inputs_come_first(uneven_diamond: Topology) -> None:
    order = uneven_diamond.order
    assert order.index("z") < order.index("j")
    assert uneven_diamond.sources == ("s",)


@pytest.mark.parametrize("count", [0, -1, 1.5, 2.0, True, np.float64(2), np.bool_(True)])
def test_plan__refuses_a_parallelism_that_is_no_whole_number_of_at_least_one(count: object) -> None:
    with pytest.raises(ModelError, match="at least 1"):
        PhysicalPlan("t", {"a": count})  # type: ignore[dict-item]


@pytest.mark.parametrize("count", [3, np.int64(3), np.uint8(3)])
def test_plan__takes_whole_numbers_of_any_type_and_keeps_them_as_int(count: int) -> None:
    containers = tuple(Container(np.int64(i), (Instance("a", np.int64(i)),)) for i in range(3))
    plan = PhysicalPlan("t", {"a": count}, containers)
    assert plan.parallelism == {"a": 3}
    assert type(plan.parallelism["a"]) is int
    plain = tuple(Container(i, (Instance("a", i),)) for i in range(3))
    assert plan.plan_id == PhysicalPlan("t", {"a": 3}, plain).plan_id


def test_plan__of_another_topology_is_refused(chain: Topology) -> None:
    with pytest.raises(ModelError, match="plan of topology 'other' is none of 'chain'; give a plan of this topology"):
        PhysicalPlan("other", {"a": 1, "b": 1, "c": 1}).check(chain)


def test_plan__refuses_an_operator_the_topology_does_not_have(chain: Topology) -> None:
    with pytest.raises(ModelError, match="unknown operator 'd'"):
        PhysicalPlan("chain", {"a": 1, "b": 1, "c": 1, "d": 1}).check(chain)


def test_plan__refuses_to_leave_an_operator_out(chain: Topology) -> None:
    with pytest.raises(ModelError, match="no parallelism for operator 'c'"):
        PhysicalPlan("chain", {"a": 1, "b": 1}).check(chain)


def test_plan__refuses_more_instances_than_max_parallelism(chain: Topology) -> None:
    with pytest.raises(ModelError, match="129 of operator 'b' > its max_parallelism 128"):
        PhysicalPlan("chain", {"a": 1, "b": 129, "c": 1}).check(chain)


def test_packing__places_every_instance_exactly_once() -> None:
    first, second = Instance("a", 0), Instance("a", 1)
    PhysicalPlan("t", {"a": 2}, (Container(1, (first,)), Container(2, (second,))))
    with pytest.raises(ModelError, match="twice"):
        PhysicalPlan("t", {"a": 2}, (Container(1, (first, second)), Container(2, (second,))))
    with pytest.raises(ModelError, match="does not place"):
        PhysicalPlan("t", {"a": 2}, (Container(1, (first,)),))
    with pytest.raises(ModelError, match="does not ask for"):
        PhysicalPlan("t", {"a": 1}, (Container(1, (first, second)),))


def test_plan_id__is_the_same_for_equal_plans_whatever_the_order() -> None:
    assert PhysicalPlan("t", {"a": 1, "b": 2}).plan_id == PhysicalPlan("t", {"b": 2, "a": 1}).plan_id
    assert PhysicalPlan("t", {"a": 1, "b": 2}).plan_id != PhysicalPlan("t", {"a": 2, "b": 1}).plan_id


def test_an_operator__reaches_what_its_tuples_reach_over_any_stream() -> None:
    streams = (Stream("a", "x"), Stream("a", "x", label="again"), Stream("b", "y"), Stream("x", "z"), Stream("y", "z"))
    topology = Topology("job", tuple(map(Operator, "abxyz")), streams)
    assert topology.reached == {"a": {"x", "z"}, "b": {"y", "z"}, "x": {"z"}, "y": {"z"}, "z": set()}
    assert topology.edges == (("a", "x"), ("b", "y"), ("x", "z"), ("y", "z"))
    assert (topology.senders("z"), topology.readers("a")) == (("x", "y"), ("x",))
