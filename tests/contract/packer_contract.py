"""What every packer keeps to. A test module subclasses PackerContract and gives the fixture `packer`."""

from collections import Counter
from dataclasses import replace

import numpy as np
import pytest
from packing_cases import homes, loaded_chain

from modeling.inputs.physical_plan import PhysicalPlan
from planner.errors import PlanError
from planner.packing.open_containers import OpenContainers
from planner.packing.packer import Packer, Packing
from planner.packing.registry import PACKERS
from planner.packing.workload import Workload

BEFORE = {"a": 3, "b": 9, "c": 5}


class PackerContract:
    def test_every_instance__is_placed_once(self, packer: Packer) -> None:
        work = loaded_chain(BEFORE)
        # A plan refuses a packing that places an instance twice or not at all.
        PhysicalPlan("chain", BEFORE, packer.pack(work)).check(work.topology)

    def test_containers__hold_no_more_than_they_have_room_for(self, packer: Packer) -> None:
        work = loaded_chain(BEFORE)
        check_limits(packer, work, packer.pack(work))

    def test_containers__are_numbered_from_one_and_none_is_empty(self, packer: Packer) -> None:
        packing = packer.pack(loaded_chain(BEFORE))
        assert [container.id for container in packing] == list(range(1, len(packing) + 1))
        assert all(container.instances for container in packing)

    def test_the_same_work__is_packed_the_same(self, packer: Packer) -> None:
        one, other = loaded_chain(BEFORE), loaded_chain(dict(reversed(BEFORE.items())))
        assert packer.pack(one) == packer.pack(one) == packer.pack(other)

    def test_nothing_changed__leaves_the_packing_as_it_is(self, packer: Packer) -> None:
        work = loaded_chain(BEFORE)
        packing = packer.pack(work)
        assert packer.repack(packing, work) == packing

    def test_nothing_that_runs__is_packed_as_well(self, packer: Packer) -> None:
        work = loaded_chain(BEFORE)
        packing = packer.repack((), work)
        PhysicalPlan("chain", BEFORE, packing).check(work.topology)
        check_limits(packer, work, packing)

    @pytest.mark.parametrize("after", [{"a": 5, "b": 12, "c": 5}, {"a": 1, "b": 4, "c": 2}, {"a": 5, "b": 3, "c": 6}])
    def test_repack__places_every_instance_once_within_limits(self, packer: Packer, after: dict[str, int]) -> None:
        running = packer.pack(loaded_chain(BEFORE))
        work = loaded_chain(after)
        packing = packer.repack(running, work)
        PhysicalPlan("chain", after, packing).check(work.topology)
        check_limits(packer, work, packing)
        assert all(container.instances for container in packing)

    @pytest.mark.parametrize("after", [{"a": 5, "b": 12, "c": 5}, {"a": 1, "b": 4, "c": 2}, {"a": 5, "b": 3, "c": 6}])
    def test_survivors__stay_in_their_containers_unless_all_are_reassigned(
        self, packer: Packer, after: dict[str, int]
    ) -> None:
        running = packer.pack(loaded_chain(BEFORE))
        packing = packer.repack(running, loaded_chain(after))
        if packer.reassigns_all:
            assert packer.repack(packing, loaded_chain(BEFORE)) == running
            return
        check_survivors(running, packing)

    def test_removing_and_adding_back__takes_no_more_containers_and_leaves_the_others(self, packer: Packer) -> None:
        running = packer.pack(loaded_chain(BEFORE))
        fewer = packer.repack(running, loaded_chain(BEFORE | {"b": 4}))
        back = packer.repack(fewer, loaded_chain(BEFORE))
        # Heron's turns may use a container that was added for the volume of what comes.
        assert len(back) <= len(running) or packer.name == "resource_compliant"
        assert [homes(back, name) for name in "ac"] == [homes(running, name) for name in "ac"]
        assert packer.reassigns_all or homes(back, "b")[:4] == homes(fewer, "b")

    def test_an_instance_larger_than_any_container__is_refused_by_name(self, packer: Packer) -> None:
        # 4 ms of CPU a tuple: each of two b needs 4 of 2 cores at 2000/s
        with pytest.raises(PlanError, match=r"b\[0\] needs 4 cores, a container has 2; raise the parallelism of 'b'"):
            packer.pack(loaded_chain({"a": 2, "b": 2, "c": 2}, 2000.0))

    def test_containers_that_are_exhausted__are_refused_with_a_remedy(self, packer: Packer) -> None:
        # 1000/s need 1 + 4 + 2 cores; two containers have 4
        work = loaded_chain({"a": 4, "b": 8, "c": 4}, 1000.0)
        few = PACKERS[packer.name](replace(packer.offer, containers=2, max_containers=2))  # type: ignore[attr-defined]
        with pytest.raises(PlanError, match=r"more|larger"):
            few.pack(work)


def check_limits(packer: Packer, work: Workload, packing: Packing) -> None:
    offer = packer.offer  # type: ignore[attr-defined]
    used = np.zeros((len(packing), 3))
    for number, container in enumerate(packing):
        for instance in container.instances:
            used[number] += work.sizes[work.position[instance]] * (offer.factor(container.node), 1, 1)
    assert (used <= offer.room * (1 + 1e-6)).all()
    assert OpenContainers(offer, work, packing).used == pytest.approx(used)
    if offer.nodes:
        for node, count in Counter(container.node for container in packing).items():
            assert count <= offer.nodes[node]


def check_survivors(running: Packing, packing: Packing) -> None:
    """Where nothing was removed instances sit as before; else those that are left do, in their order."""
    before = {container.id: container.node for container in running}
    assert all(container.node == before.get(container.id, container.node) for container in packing)
    for name in sorted({each.operator for container in running for each in container.instances}):
        old, new = homes(running, name), homes(packing, name)
        left = new[: len(old)]
        remaining = iter(old)
        assert all(id in remaining for id in left), (name, old, new)
        if len(new) >= len(old):
            assert left == old
