"""Heron's packers do what Heron's own tests say (apache/incubator-heron, heron/packing/tests).

There an instance has 1 core, 1 GiB of memory and of disk, there are 4 spouts and 3 bolts, and a container has room for
4 instances less a padding of max(1, padding percentage), so for 3.
"""

import re
from collections import Counter

import pytest
from packing_cases import GIB, HERON_JOB, by_container, heron_offer, heron_work, homes

from modeling.errors import ModelError
from modeling.inputs.physical_plan import Container, Instance
from modeling.inputs.site import ContainerSize, Site
from planner.errors import PlanError
from planner.packing.first_fit_decreasing import FirstFitDecreasing
from planner.packing.needs import Reserved, reserved_needs
from planner.packing.offer import Offer
from planner.packing.packer import Packer, Packing
from planner.packing.resource_compliant import ResourceCompliant
from planner.packing.round_robin import RoundRobin
from planner.packing.workload import Workload

BOTH = pytest.mark.parametrize("packer", [FirstFitDecreasing, ResourceCompliant])


@BOTH
@pytest.mark.parametrize(
    ("padding", "containers"),
    [
        (0.1, 3),  # testDefaultContainerSize, testDefaultResources: 7 instances / (4 - max(1, 0.4)) each
        (0.5, 4),  # testDefaultContainerSizeWithPadding: 7 / (4 - 2)
    ],
)
def test_containers_of_the_default_size__are_as_many_as_in_heron(
    packer: type[FirstFitDecreasing], padding: float, containers: int
) -> None:
    assert len(packer(heron_offer(padding=padding)).pack(heron_work())) == containers


def test_first_fit__is_bound_by_the_number_of_instances_where_containers_are_large() -> None:
    # testContainerRequestedResources: 30 cores, 10 GiB, 20 GiB of disk have room for 9; at most 4 are allowed: 7 / 4
    assert len(FirstFitDecreasing(heron_offer(cores=30, gib=10, disk_gib=20)).pack(heron_work())) == 2


def test_first_fit__packs_by_memory_first() -> None:
    # testPartialRamMap: bolts of 4 GiB in containers of 10 - 1 GiB and 4 - 1 cores: two bolts and a spout; a bolt and
    # two spouts; the last spout
    packing = FirstFitDecreasing(heron_offer(gib=10)).pack(heron_work(bolt_gib=4))
    assert by_container(packing) == {
        1: ["spout[0]", "bolt[0]", "bolt[1]"],
        2: ["spout[1]", "spout[2]", "bolt[2]"],
        3: ["spout[3]"],
    }


@BOTH
@pytest.mark.parametrize(
    ("bolt_gib", "gib", "padding", "further", "before", "after"),
    [
        # testRepackPadding: 4 - 2 cores and 10 - 5 GiB hold one bolt of 4 GiB and a spout; three more bolts fit one
        # container that runs (a spout alone, of four), and two new ones
        (4, 10, 0.5, 3, 4, 6),
        # testPartialRamMapScaling: 4 - 1 cores, 10 - 1 GiB
        (4, 10, 0.1, 3, 3, 4),
    ],
)
def test_more_bolts__go_where_there_is_room_then_to_new_containers(
    packer: type[FirstFitDecreasing],
    bolt_gib: float,
    gib: float,
    padding: float,
    further: int,
    before: int,
    after: int,
) -> None:
    packs = packer(heron_offer(gib=gib, padding=padding))
    running = packs.pack(heron_work(bolt_gib=bolt_gib))
    assert len(running) == before
    assert len(packs.repack(running, heron_work(4, 3 + further, bolt_gib=bolt_gib))) == after


@pytest.mark.parametrize(
    ("packer", "spouts", "bolts", "after"),
    [
        (FirstFitDecreasing, 4, 8, 4),  # testDefaultContainerSizeRepack: 12 instances / 3
        # the same: 5 cores more / 4 of the largest container (3 instances and padding) are 2 further ones
        (ResourceCompliant, 4, 8, 5),
        (FirstFitDecreasing, 1, 1, 1),  # testScaleDown; 3 spouts and 2 bolts go
        (ResourceCompliant, 2, 2, 2),  # testScaleDown
        (ResourceCompliant, 1, 1, 1),  # removeFirstContainer
        (ResourceCompliant, 8, 7, 5),  # scaleUpMultiple: 8 more / 4 are 2 further ones; 15 instances / 3
    ],
)
def test_another_parallelism__takes_as_many_containers_as_in_heron(
    packer: type[FirstFitDecreasing], spouts: int, bolts: int, after: int
) -> None:
    packs = packer(heron_offer())
    running = packs.pack(heron_work())
    assert len(running) == 3
    assert len(packs.repack(running, heron_work(spouts, bolts))) == after


@BOTH
def test_removal_and_addition_at_once__remove_first(packer: type[FirstFitDecreasing]) -> None:
    # scaleDownAndUpNoPadding, with Heron's least padding kept: a spout more of 4 GiB, a bolt less of 1 GiB, in 12 GiB
    packs = packer(heron_offer(gib=12))
    running = packs.pack(heron_work(1, 3, spout_gib=4))
    packing = packs.repack(running, heron_work(2, 2, spout_gib=4))
    assert len(running) == len(packing) == 2


def _packed(placed: list[tuple[int, str, int]]) -> Packing:
    """Of (container, operator, index)."""
    return tuple(
        Container(id, tuple(Instance(name, at) for home, name, at in placed if home == id))
        for id in sorted({home for home, _, _ in placed})
    )


@BOTH
@pytest.mark.parametrize(
    ("running", "spouts", "bolts", "left"),
    [
        # testScaleDownOneComponentRemoveContainer: containers 3 and 4 hold bolts alone; 4 has the higher id
        (
            [(1, "spout", 0), (1, "spout", 1), (1, "bolt", 0), *((3, "bolt", i) for i in (1, 2))]
            + [(4, "bolt", i) for i in (3, 4)],
            2,
            3,
            {1: {"spout": 2, "bolt": 1}, 3: {"bolt": 2}},
        ),
        # testScaleDownTwoComponentsRemoveContainer: of two containers alike the one with the higher id goes
        (
            [(home, name, 2 * (home == 3) + i) for home in (1, 3) for name in ("spout", "bolt") for i in (0, 1)],
            2,
            2,
            {1: {"spout": 2, "bolt": 2}},
        ),
        # testScaleDownHomogenousFirst: container 3 has more instances, and bolts alone
        (
            [(1, "spout", 0), (1, "spout", 1), (1, "bolt", 0), *((3, "bolt", i) for i in (1, 2, 3, 4))],
            2,
            1,
            {1: {"spout": 2, "bolt": 1}},
        ),
    ],
    ids=["one operator", "two operators", "homogeneous first"],
)
def test_removals__empty_the_containers_that_heron_empties(
    packer: type[FirstFitDecreasing],
    running: list[tuple[int, str, int]],
    spouts: int,
    bolts: int,
    left: dict[int, dict[str, int]],
) -> None:
    # Heron rebuilds that packing with a padding of 10 %, and containers for ten
    packs = packer(heron_offer(cores=10, gib=10, disk_gib=10))
    packing = packs.repack(_packed(running), heron_work(spouts, bolts))
    assert {each.id: Counter(one.operator for one in each.instances) for each in packing} == left


def test_survivors__are_counted_anew_in_their_order() -> None:
    running = _packed([(1, "spout", 0), (1, "bolt", 0), (2, "bolt", 1), (3, "spout", 1), (3, "bolt", 2)])
    # container 2 holds a bolt alone: bolt[1] goes, and bolt[2] is the second now
    packing = FirstFitDecreasing(heron_offer()).repack(running, heron_work(2, 2))
    assert by_container(packing) == {1: ["spout[0]", "bolt[0]"], 3: ["spout[1]", "bolt[1]"]}


def test_ids__go_on_above_the_largest() -> None:
    running = _packed([(2, "spout", 0), (2, "spout", 1), (7, "spout", 2), (7, "spout", 3), (7, "bolt", 0)])
    packing = FirstFitDecreasing(heron_offer()).repack(running, heron_work(4, 5))
    # one more fits container 2; the other three a new one
    assert homes(packing, "bolt") == [7, 2, 8, 8, 8]


@pytest.mark.parametrize(("asked", "containers"), [(2, 2), (8, 7)])
def test_resource_compliant__begins_with_what_is_asked_for_but_no_more_than_instances(
    asked: int, containers: int
) -> None:
    # testTwoContainersRequested, testContainersRequestedExceedsInstanceCount
    offer = heron_offer(cores=30, gib=10, disk_gib=20, containers=asked)
    assert len(ResourceCompliant(offer).pack(heron_work())) == containers


def test_resource_compliant__adds_containers_until_all_fit() -> None:
    # testInsufficientContainersWithOneAdjustment: 2 GiB less 1 of padding hold one instance of 1 GiB
    assert len(ResourceCompliant(heron_offer(gib=2, containers=1)).pack(heron_work())) == 7


def test_resource_compliant__adds_containers_for_the_turns_alone() -> None:
    # testInsufficientContainersWithMultipleAdjustments: 3 GiB less 1 hold a spout of 2 GiB, or two bolts of 1 GiB:
    # 4 + 2 containers would do, but in turns the first seven instances only fit alone
    assert len(ResourceCompliant(heron_offer(gib=3, containers=1)).pack(heron_work(spout_gib=2))) == 7
    assert len(FirstFitDecreasing(heron_offer(gib=3)).pack(heron_work(spout_gib=2))) == 6


@pytest.mark.timeout(20)
def test_resource_compliant__ends_where_no_further_node_is_fast_enough() -> None:
    # 1.5 cores are 3 on the slow node, where a container has 2; the fast node has its only container already.
    site = Site(ContainerSize(2.0, 4 * GIB), {"slow": 2.0})
    packer = ResourceCompliant(Offer(site, nodes={"fast": 1, "slow": None}))
    running = (Container(1, heron_work(1, 1).instances, "fast"),)
    reserved = {"spout": Reserved(1.5, GIB), "bolt": Reserved(0.1, GIB)}
    counts = {"spout": 2, "bolt": 1}
    with pytest.raises(PlanError, match="nodes fast hold 1 container and have no room for another that is suitable"):
        packer.repack(running, Workload(HERON_JOB, counts, reserved_needs(counts, reserved)))


def test_round_robin__deals_operators_one_after_the_other() -> None:
    # two containers, 3 bolts and 4 spouts; as large as each other, so sources first
    packing = RoundRobin(heron_offer(cores=8, gib=8, disk_gib=8, containers=2)).pack(heron_work())
    assert by_container(packing) == {
        1: ["spout[0]", "spout[2]", "bolt[0]", "bolt[2]"],
        2: ["spout[1]", "spout[3]", "bolt[1]"],
    }


def test_round_robin__deals_the_largest_first() -> None:
    packing = RoundRobin(heron_offer(cores=8, gib=20, disk_gib=8, containers=2)).pack(heron_work(spout_gib=2))
    assert homes(packing, "spout") == [1, 2, 1, 2]
    assert homes(packing, "bolt") == [1, 2, 1]


@pytest.mark.parametrize(
    ("spouts", "bolts", "containers"),
    [
        (3, 5, 2),  # testRepackingWithSameTotalInstances
        (5, 5, 3),  # testRepackingWithMoreTotalInstances: 10 instances, 8 / 2 each
        (2, 2, 1),  # testRepackingWithFewerTotalInstances
    ],
)
def test_round_robin__keeps_instances_per_container_when_it_deals_anew(
    spouts: int, bolts: int, containers: int
) -> None:
    packs = RoundRobin(heron_offer(cores=9, gib=9, disk_gib=9, containers=2))
    running = packs.pack(heron_work(4, 4))
    assert len(packs.repack(running, heron_work(spouts, bolts))) == containers


def test_round_robin__squeezes_the_padding_of_cores_as_heron_does() -> None:
    # testCompleteCpuMapRequested: 4 spouts and 4 bolts of 4 cores in two containers of 16, whose padding would be 1.6
    offer = heron_offer(cores=16, gib=20, disk_gib=20, containers=2)
    packing = RoundRobin(offer).pack(heron_work(4, 4, cores=4))
    assert [len(container.instances) for container in packing] == [4, 4]


def test_round_robin__keeps_the_padding_of_memory() -> None:
    # four instances of 1 GiB in 4 GiB, of which the stream manager takes 1
    with pytest.raises(PlanError, match="need 4096 MiB of memory, it has 3072"):
        RoundRobin(heron_offer(cores=8, gib=4, disk_gib=8, containers=2)).pack(heron_work(4, 4))


def test_round_robin__refuses_more_cores_than_a_container_has() -> None:
    with pytest.raises(PlanError, match=r"need 16\.4 cores, it has 16 for them"):
        RoundRobin(heron_offer(cores=16, gib=20, disk_gib=20, containers=2)).pack(heron_work(4, 4, cores=4.1))


def test_round_robin__refuses_more_containers_than_instances() -> None:
    with pytest.raises(PlanError, match="8 containers for 7 instances; give at most as many"):
        RoundRobin(heron_offer(containers=8)).pack(heron_work())


@pytest.mark.parametrize("packer", [RoundRobin, FirstFitDecreasing, ResourceCompliant])
def test_a_container_that_padding_fills__is_refused(packer: type[RoundRobin]) -> None:
    # testFailureInsufficientContainerCpu: 1 core, of which padding takes 1
    with pytest.raises(PlanError, match=r"container of 1 cores keeps 1 for itself, and has nothing left"):
        packer(heron_offer(cores=1)).pack(heron_work())


@pytest.mark.parametrize("packer", [RoundRobin, FirstFitDecreasing, ResourceCompliant])
def test_an_instance_larger_than_any_container__is_named_with_what_would_do(packer: type[RoundRobin]) -> None:
    # 4 GiB less 1 are 3072 MiB; for 3.5 GiB containers need 3584 + 1024
    message = "bolt[0] needs 3584 MiB of memory, a container has 3072 beside its padding of 1024; raise the parallelism"
    with pytest.raises(PlanError, match=f"{re.escape(message)} of 'bolt', or give containers 4608"):
        packer(heron_offer()).pack(heron_work(bolt_gib=3.5))


def test_exhausted_containers__are_named_with_the_instance_that_is_left() -> None:
    packs: Packer = FirstFitDecreasing(heron_offer(containers=2))
    with pytest.raises(
        PlanError, match=r"no room for bolt\[2\] .*2 containers are the maximum.* parallelism of 'bolt'"
    ):
        packs.pack(heron_work())


def test_survivors_that_outgrew_their_container__are_told_and_not_moved() -> None:
    packs = FirstFitDecreasing(heron_offer())
    running = packs.pack(heron_work())
    with pytest.raises(
        PlanError, match=r"container 1: the instances that stay in it need 3.6 cores, it has 3 .*pack anew"
    ):
        packs.repack(running, heron_work(cores=1.2))


@pytest.mark.parametrize("packer", [RoundRobin, FirstFitDecreasing, ResourceCompliant])
def test_a_repack_without_an_operator__is_refused_with_place_value_and_remedy(packer: type[RoundRobin]) -> None:
    packs = packer(heron_offer(cores=8, gib=8, disk_gib=8, containers=2))
    with pytest.raises(ModelError, match="topology 'heron': parallelism 0 of operator 'bolt'; give a whole number of"):
        packs.repack(packs.pack(heron_work()), heron_work(4, 0))


def test_a_packing_of_another_topology__is_refused() -> None:
    running = (Container(1, (Instance("stranger", 0),)),)
    with pytest.raises(ValueError, match="unknown operator 'stranger'"):
        FirstFitDecreasing(heron_offer()).repack(running, heron_work())
