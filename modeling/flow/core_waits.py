"""How long instances wait for the cores that they share with others of their container."""

from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from modeling.arrays import Floats
from modeling.flow.idle_cores import IdleCores
from modeling.flow.rates import OperatorFlow
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.placed import Placed
from modeling.queueing.shared_cores import stretches_in_containers


def with_core_waits(flows: Sequence[OperatorFlow], plans: Placed, cores: float | None) -> list[OperatorFlow]:
    """The flows of all operators, with core_wait_s. cores: of each container, None if unbounded.

    Computing takes longer by the factor of processor sharing (modeling/queueing/shared_cores.py); what an instance
    waits for otherwise does not. What a container uses without work is one more thread in it. All flows of one batch of
    plans must be there: any operator may share a container with any other. Instances without a container wait for
    nobody.
    """
    if cores is None:
        return list(flows)
    used = [_every(flow.cores(), flow) for flow in flows]
    place = [plans.container[flow.name][:, : flow.shares.shape[2]] for flow in flows]
    idle = IdleCores.none(plans, plans.containers)
    for flow in flows:
        idle = idle.plus(flow, plans)
    if idle.total.any():
        used.append(np.broadcast_to(idle.total[:, :, None], (*idle.total.shape, used[0].shape[2])))
        place.append(np.broadcast_to(np.arange(plans.containers), idle.total.shape))
    stretch = stretches_in_containers(np.concatenate(used, axis=1), np.concatenate(place, axis=1), cores)
    if not (stretch > 1).any():
        return list(flows)
    ends = np.cumsum([each.shape[1] for each in used])[: len(flows)]
    found = []
    for flow, own, factor in zip(flows, used, np.split(stretch, ends, axis=1), strict=False):
        taken, worked = _every(flow.instance_per_s(), flow), _every(flow.worked_s(), flow)
        cpu_s = np.minimum(own, worked) / np.where(taken > 0, taken, 1.0)
        waited_s = np.where(taken > 0, cpu_s * (factor - 1), 0.0)
        hidden_s = _hidden_s(flow.profile)
        found.append(
            replace(
                flow,
                row=np.arange(len(flow.row)),
                parallelism=flow.parallelism[flow.row],
                term_per_s=_every(flow.term_per_s, flow),
                shares=_every(flow.shares, flow),
                copies=_every(flow.copies, flow),
                service_s=_every(flow.service_s, flow),
                service_factor=None if flow.service_factor is None else _every(flow.service_factor, flow),
                core_wait_s=np.maximum(waited_s - hidden_s, 0.0),
                core_wait_beside_s=np.minimum(waited_s, hidden_s) if hidden_s else None,
                own_s=None if flow.own_s is None else _every(flow.own_s, flow),
                partners={name: (_every(of, flow), _every(to, flow)) for name, (of, to) in flow.partners.items()},
            )
        )
    return found


def _hidden_s(profile: OperatorProfile) -> float:
    """How long own work may take beyond its service time before it, and no longer its calls, bounds an instance."""
    return 0.0 if profile.calls is None else max(0.0, profile.calls.least_s - profile.service_s)


def _every(rows: Floats, flow: OperatorFlow) -> Floats:
    """One row per plan, whose containers differ."""
    return np.asarray(rows[flow.row])
