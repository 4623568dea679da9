"""What a change of plan starts, stops and moves."""

from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.rescaling.instance_changes import InstanceChanges, instance_changes


def plan(*containers: Container, **parallelism: int) -> PhysicalPlan:
    return PhysicalPlan("job", parallelism, containers)


def held(id: int, *names: str, node: str = "") -> Container:
    """`a0` is instance 0 of a."""
    return Container(id, tuple(Instance(name[:-1], int(name[-1])) for name in names), node)


def test_without_a_packing__instances_are_started_and_stopped_alone() -> None:
    assert instance_changes(plan(a=1, b=5), plan(a=3, b=4)) == InstanceChanges(started=2, stopped=1, moved=0)


def test_instances_of_an_operator__stand_for_each_other_within_containers() -> None:
    before = plan(held(1, "a0", "a1"), held(2, "b0"), a=2, b=1)
    # numbers change places, containers do not
    same = plan(held(1, "a1", "a0"), held(2, "b0"), a=2, b=1)
    assert instance_changes(before, same).total == 0
    # one a goes to 2, b to 1, another a is new
    after = plan(held(1, "a2", "b0"), held(2, "a0", "a1"), a=3, b=1)
    assert instance_changes(before, after) == InstanceChanges(started=1, stopped=0, moved=2)


def test_a_container_on_another_node__is_another_one() -> None:
    before = plan(held(1, "a0", "a1", node="x"), a=2)
    assert instance_changes(before, plan(held(1, "a0", "a1", node="y"), a=2)).moved == 2
    # where one of the two says nothing of nodes, ids tell
    assert instance_changes(before, plan(held(1, "a0", "a1"), a=2)).moved == 0
