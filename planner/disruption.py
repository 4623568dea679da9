"""What each change in a sequence of plans disrupts: instances, containers, key groups and state."""

from collections.abc import Sequence
from dataclasses import replace
from itertools import pairwise

from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Engine, Topology
from modeling.rescaling.instance_changes import instance_changes
from modeling.rescaling.state import key_groups_moved, state_move
from planner.errors import PlanError
from planner.pricing.placing import Placing
from planner.scaling_schedule import Disruption


def disruptions(
    plans: Sequence[PhysicalPlan], topology: Topology, profiles: Profiles, placing: Placing | None = None
) -> list[Disruption]:
    """The disruption of each change from a plan to the next.

    placing: packs each plan from the containers of the one before; the first keeps its packing, or is packed anew if it
    has none. If a plan cannot be packed, container counts are None.
    """
    packed = list(plans)
    if placing is not None:
        try:
            packed = _packed(plans, placing)
        except PlanError:
            placing = None
    return [
        _disruption(before, plan, topology, profiles, placed=placing is not None) for before, plan in pairwise(packed)
    ]


def _packed(plans: Sequence[PhysicalPlan], placing: Placing) -> list[PhysicalPlan]:
    first, *later = plans
    packed = [first if first.packing else replace(first, packing=placing.pack(first.parallelism))]
    for plan in later:
        packed.append(replace(plan, packing=placing.repack(packed[-1], plan.parallelism)))
    return packed


def _disruption(
    before: PhysicalPlan, plan: PhysicalPlan, topology: Topology, profiles: Profiles, *, placed: bool
) -> Disruption:
    changes = instance_changes(before, plan)
    state_gib = {name: gib for name in topology.order if (gib := profiles[name].state_gib)}
    groups = 0
    if topology.engine is Engine.FLINK:
        for name in state_gib:
            counts = before.parallelism[name], plan.parallelism[name]
            groups += int(key_groups_moved(*counts, topology.operator(name).max_parallelism))
    moved_gib = float(state_move(topology, state_gib, before, [plan]).moved_gib[0])
    return Disruption(
        changes.started,
        changes.stopped,
        changes.moved if placed else None,
        groups,
        moved_gib,
        len(plan.packing) if placed else None,
    )
