"""Traffic between instances, as the model routes it."""

from collections.abc import Mapping

import numpy as np

from modeling.arrays import Floats
from modeling.flow.plan_rates import plan_flows
from modeling.flow.rates import KnownRouting
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology
from planner.packing.workload import Workload

BITS = 8


def stream_traffic(
    topology: Topology, profiles: Profiles, plan: PhysicalPlan, load_per_s: Mapping[str, float]
) -> dict[str, Floats]:
    """By stream name, tuples per second between each two instances, shape (upstream, downstream).

    For a plan without a packing: a grouping that prefers its own container counts as a shuffle. Raises ModelError as
    arrival_rates does.
    """
    known = KnownRouting(topology, profiles)
    found: dict[str, Floats] = {}
    for flow in plan_flows(topology, profiles, plan, load_per_s):
        for stream in topology.outputs(flow.name):
            given = flow.given[stream.name]
            sent = given.term_per_s[0, :, 0] @ given.shares[0]
            routed = known.routed(stream, sent.size, plan.parallelism[stream.downstream]).shares
            found[stream.name] = sent[:, None] * (routed if routed.ndim == 2 else routed[None, :])
    return found


def traffic_matrix(work: Workload, weight: Mapping[str, float], default: float = 1.0) -> Floats:
    """From each instance (row) to each (column), shape (instances, instances): tuples per second times the stream's
    weight.
    """
    size = len(work.instances)
    matrix = np.zeros((size, size))
    for stream in work.topology.streams:
        if stream.name not in work.traffic_per_s:
            continue
        up, down = work.positions(stream.upstream), work.positions(stream.downstream)
        part = work.traffic_per_s[stream.name] * weight.get(stream.name, default)
        matrix[up.start : up.stop, down.start : down.stop] += part
    return matrix
