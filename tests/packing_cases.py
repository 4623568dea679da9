"""Work to be packed, and what may be had for it: Heron's own test case, and random ones."""

from collections.abc import Mapping
from dataclasses import replace

import numpy as np
from hypothesis import strategies as st

from modeling.flow.plan_rates import arrival_rates
from modeling.inputs.network import MeasuredLink, measured_network
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.topology import Engine, Operator, Stream, Topology
from planner.packing.needs import Reserved, loaded_needs, reserved_needs
from planner.packing.offer import Offer, Padding
from planner.packing.packer import Packing
from planner.packing.traffic import stream_traffic
from planner.packing.workload import Workload

GIB = 1024.0
HERON_JOB = Topology("heron", (Operator("spout"), Operator("bolt")), (Stream("spout", "bolt"),), Engine.HERON)
NODES = {"n0": 200, "n1": 200, "n2": 200}
CHAIN = Topology("chain", tuple(Operator(name, 512) for name in "abc"), (Stream("a", "b"), Stream("b", "c")))


def heron_work(
    spouts: int = 4, bolts: int = 3, *, spout_gib: float = 1.0, bolt_gib: float = 1.0, cores: float = 1.0
) -> Workload:
    """Of Heron's CommonPackingTests: instances of 1 core, 1 GiB of memory and of disk, unless told otherwise."""
    counts = {"spout": spouts, "bolt": bolts}
    reserved = {
        "spout": Reserved(cores, spout_gib * GIB, GIB),
        "bolt": Reserved(cores, bolt_gib * GIB, GIB),
    }
    return Workload(HERON_JOB, counts, reserved_needs(counts, reserved))


def heron_offer(
    *, cores: float = 4.0, gib: float = 4.0, disk_gib: float = 4.0, padding: float = 0.1, containers: int | None = None
) -> Offer:
    """Containers for 4 instances (setTopologyContainerMaxNumInstances), with Heron's least padding of one each."""
    return Offer(
        Site(ContainerSize(cores, gib * GIB)),
        disk_gib * GIB,
        Padding(padding, 1.0, GIB, GIB),
        max_instances=4,
        containers=containers,
    )


def loaded_chain(counts: Mapping[str, int], rate_per_s: float = 100.0) -> Workload:
    """a → b → c, shuffled: 1, 4 and 2 ms of CPU a tuple, 200 MiB an instance."""
    times = {"a": 0.001, "b": 0.004, "c": 0.002}
    streams = {"a": {"a->b": 1.0}, "b": {"b->c": 1.0}, "c": {}}
    profiles = {name: OperatorProfile(name, times[name], streams[name], memory_mib=200.0) for name in "abc"}
    plan = PhysicalPlan("chain", counts)
    rates = arrival_rates(CHAIN, profiles, plan, {"a": rate_per_s})
    traffic = stream_traffic(CHAIN, profiles, plan, {"a": rate_per_s})
    return Workload(CHAIN, counts, loaded_needs(CHAIN, profiles, plan, rates, {}), traffic)


def three_nodes(delay_ms: float = 5.0, bandwidth: float | None = None) -> Site:
    """n2 is slow and far from the others."""
    links = [
        MeasuredLink("n0", "n1", 1.0, 0.0, bandwidth),
        MeasuredLink("n0", "n2", delay_ms, 0.0, bandwidth),
        MeasuredLink("n1", "n2", delay_ms, 0.0, bandwidth),
    ]
    network = measured_network(links, np.random.default_rng(0))
    return Site(ContainerSize(2.0, 1500.0), {"n2": 2.0}, network, {"a->b": 1000.0, "b->c": 1000.0})


def by_container(packing: Packing) -> dict[int, list[str]]:
    return {container.id: [str(each) for each in container.instances] for container in packing}


def homes(packing: Packing, operator: str) -> list[int]:
    """Ids of the containers of an operator's instances, in the order of their indices."""
    held = {each: container.id for container in packing for each in container.instances if each.operator == operator}
    return [held[each] for each in sorted(held)]


@st.composite
def works(draw: st.DrawFn, largest: float = 0.5) -> Workload:
    """Chains of three operators, whose instances take up to `largest` of a container of 2 cores and 1500 MiB."""
    counts = {name: draw(st.integers(1, 12)) for name in "abc"}
    work = loaded_chain(counts)
    needs = replace(
        work.needs,
        cores={name: _amounts(draw, count, 2.0 * largest) for name, count in counts.items()},
        memory_mib={name: _amounts(draw, count, 1500.0 * largest) for name, count in counts.items()},
    )
    return replace(work, needs=needs)


def _amounts(draw: st.DrawFn, count: int, most: float) -> np.ndarray:
    """Alike within an operator, or not."""
    if draw(st.booleans()):
        return np.full(count, draw(st.floats(0.0, most)))
    return np.array(draw(st.lists(st.floats(0.0, most), min_size=count, max_size=count)))
