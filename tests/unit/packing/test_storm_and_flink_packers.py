"""Packers that follow Storm and Flink, against small cases worked out by hand."""

import re
from collections import Counter

import pytest
from packing_cases import by_container, homes, loaded_chain, three_nodes

from modeling.inputs.site import ContainerSize, Site
from planner.errors import PlanError
from planner.packing.even_spread import EvenSpread
from planner.packing.flink_slots import FlinkSlots, slots_needed
from planner.packing.offer import Offer
from planner.packing.open_containers import next_node
from planner.packing.resource_aware import ResourceAware
from planner.packing.task_order import in_turns


def test_nodes_in_turn__are_those_of_storms_sorted_slots() -> None:
    # EvenScheduler.sortSlots: supervisors of 2, 3 and 4 slots; each round takes one of each, those with most first
    offer = Offer(nodes={"supervisor1": 2, "supervisor2": 3, "supervisor3": 4})
    taken: list[str] = []
    for _ in range(9):
        taken.append(next_node(offer, taken, list(offer.nodes)))
    assert [int(node[-1]) for node in taken] == [3, 2, 1, 3, 2, 1, 3, 2, 3]
    with pytest.raises(PlanError, match="hold 9 containers and have no room"):
        next_node(offer, taken, list(offer.nodes))


def test_even_spread__deals_executors_over_workers_and_workers_over_supervisors() -> None:
    packing = EvenSpread(Offer(containers=4, nodes={"s1": 4, "s2": 4})).pack(loaded_chain({"a": 2, "b": 3, "c": 1}))
    assert [container.node for container in packing] == ["s1", "s2", "s1", "s2"]
    # a0 a1 b0 b1 b2 c0 over workers 1 2 3 4 1 2
    assert by_container(packing) == {1: ["a[0]", "b[2]"], 2: ["a[1]", "c[0]"], 3: ["b[0]"], 4: ["b[1]"]}


def test_even_spread__makes_do_with_the_slots_there_are() -> None:
    assert (
        len(EvenSpread(Offer(containers=9, nodes={"s1": 2, "s2": 1})).pack(loaded_chain({"a": 2, "b": 3, "c": 1}))) == 3
    )


def test_even_spread__deals_anew_over_the_workers_that_run() -> None:
    running = EvenSpread(Offer(containers=3)).pack(loaded_chain({"a": 1, "b": 2, "c": 1}))
    packing = EvenSpread(Offer()).repack(running, loaded_chain({"a": 1, "b": 4, "c": 1}))
    assert by_container(packing) == {1: ["a[0]", "b[2]"], 2: ["b[0]", "b[3]"], 3: ["b[1]", "c[0]"]}


def test_tasks__come_one_of_each_operator_in_turn() -> None:
    work = loaded_chain({"a": 1, "b": 3, "c": 2})
    order = [str(work.instances[at]) for at in in_turns(work, range(6))]
    assert order == ["a[0]", "b[0]", "c[0]", "b[1]", "c[1]", "b[2]"]


def test_resource_aware__keeps_neighbours_together_as_long_as_there_is_room() -> None:
    # 200 MiB each; 900 MiB hold four: a0 b0 c0 b1, then c1 b2
    offer = Offer(Site(ContainerSize(None, 900.0)))
    packing = ResourceAware(offer).pack(loaded_chain({"a": 1, "b": 3, "c": 2}))
    assert by_container(packing) == {1: ["a[0]", "b[0]", "b[1]", "c[0]"], 2: ["b[2]", "c[1]"]}


def test_resource_aware__opens_on_the_nearest_and_fastest_node_first() -> None:
    # n2 is twice as slow and far; one container a node
    site = three_nodes()
    packing = ResourceAware(Offer(site, nodes={"n2": 1, "n1": 1, "n0": 1})).pack(loaded_chain({"a": 2, "b": 6, "c": 4}))
    # 7 of 200 MiB fit into 1500
    assert [(container.node, len(container.instances)) for container in packing] == [("n0", 7), ("n1", 5)]


def test_slots__are_the_sum_over_groups_of_the_largest_parallelism() -> None:
    work = loaded_chain({"a": 2, "b": 5, "c": 3})
    assert slots_needed(work, {}) == 5
    assert slots_needed(work, {"c": "sinks"}) == 5 + 3
    assert slots_needed(work, {"a": "x", "b": "y", "c": "z"}) == 10


def test_flink_slots__hold_one_instance_of_each_operator() -> None:
    packing = FlinkSlots(Offer(slots=2)).pack(loaded_chain({"a": 1, "b": 3, "c": 2}))
    # slots: a0 b0 c0 | b1 c1 | b2
    assert by_container(packing) == {1: ["a[0]", "b[0]", "b[1]", "c[0]", "c[1]"], 2: ["b[2]"]}


def test_flink_slots__fill_task_managers_in_turn_or_evenly() -> None:
    work = loaded_chain({"a": 1, "b": 5, "c": 1})
    full = FlinkSlots(Offer(slots=4, containers=3)).pack(work)
    even = FlinkSlots(Offer(slots=4, containers=3, evenly=True)).pack(work)
    assert homes(full, "b") == [1, 1, 1, 1, 2]
    assert homes(even, "b") == [1, 2, 3, 1, 2]


def test_flink_slots__of_groups_are_apart() -> None:
    packing = FlinkSlots(Offer(slots=1, slot_groups={"b": "heavy"})).pack(loaded_chain({"a": 1, "b": 2, "c": 2}))
    assert by_container(packing) == {1: ["a[0]", "c[0]"], 2: ["c[1]"], 3: ["b[0]"], 4: ["b[1]"]}


def test_flink_slots__that_are_there_stay_and_free_ones_are_used_first() -> None:
    packer = FlinkSlots(Offer(slots=2))
    running = packer.pack(loaded_chain({"a": 1, "b": 3, "c": 1}))
    more = packer.repack(running, loaded_chain({"a": 1, "b": 6, "c": 1}))
    assert homes(running, "b") == [1, 1, 2]
    assert homes(more, "b") == [1, 1, 2, 2, 3, 3]
    assert homes(packer.repack(more, loaded_chain({"a": 1, "b": 3, "c": 1})), "b") == [1, 1, 2]


def test_flink_slots__move_where_a_task_manager_has_fewer_slots_than_before() -> None:
    work = loaded_chain({"a": 1, "b": 4, "c": 1})
    running = FlinkSlots(Offer(slots=4)).pack(work)
    assert homes(running, "b") == [1, 1, 1, 1]
    assert homes(FlinkSlots(Offer(slots=2)).repack(running, work), "b") == [1, 1, 2, 2]


def test_too_few_slots__are_told_with_what_is_enough() -> None:
    message = "7 slots are needed, 3 task managers of 2 have 6; give 4 task managers"
    with pytest.raises(PlanError, match=re.escape(message)):
        FlinkSlots(Offer(slots=2, containers=3)).pack(loaded_chain({"a": 1, "b": 7, "c": 1}))
    with pytest.raises(PlanError, match="slot groups name the unknown operator 'x'; known are a, b, c"):
        FlinkSlots(Offer(slot_groups={"x": "y"})).pack(loaded_chain({"a": 1, "b": 7, "c": 1}))


def test_a_task_manager_without_room__is_an_error() -> None:
    # two slots of three instances of 200 MiB
    offer = Offer(Site(ContainerSize(None, 1000.0)), slots=2)
    with pytest.raises(PlanError, match=r"container 1: the slots of it need 1200 MiB .*fewer slots"):
        FlinkSlots(offer).pack(loaded_chain({"a": 2, "b": 2, "c": 2}))
    # ten slots of them: no amount is 1.2e+04
    large = Offer(Site(ContainerSize(None, 11_000.0)), slots=20)
    with pytest.raises(PlanError, match=r"container 1: the slots of it need 12,000 MiB of memory, it has 11,000 for"):
        FlinkSlots(large).pack(loaded_chain({"a": 20, "b": 20, "c": 20}))


def test_workers_of_an_even_spread__differ_by_one_executor_at_most() -> None:
    packing = EvenSpread(Offer(containers=5)).pack(loaded_chain({"a": 4, "b": 13, "c": 6}))
    assert Counter(len(container.instances) for container in packing) == {5: 3, 4: 2}


def test_a_worker_with_more_executors_than_it_may_hold__is_told_with_the_remedy() -> None:
    # six executors over two workers
    message = "container 1 holds 3 instances > max_instances of 2; allow more of them, or give more"
    with pytest.raises(PlanError, match=re.escape(message)):
        EvenSpread(Offer(max_instances=2, containers=2)).pack(loaded_chain({"a": 2, "b": 2, "c": 2}))
