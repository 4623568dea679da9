"""Nodes of different speed: how much longer an instance takes on the node where it sits.

A shuffle gives every instance as much, so the slowest node holds all up: n instances sustain n times what it does.
"""

from collections.abc import Mapping

import numpy as np
import numpy.typing as npt

from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.placement import instance_nodes, node_of_container, places_nodes
from modeling.inputs.site import Site

Floats = npt.NDArray[np.float64]


def instance_factors(
    plan: PhysicalPlan, node_of_container: Mapping[int, str], service_factor: Mapping[str, float]
) -> dict[str, Floats]:
    """By what factor each instance's service time is longer than its profile says, shape (parallelism,) per operator.

    service_factor: per node; 1 is the node that the profile was measured on, 2 takes twice as long; a node that is not
    named counts 1. Assumes that all operators slow down alike; one bound by memory or network slows less than one
    bound by the processor.
    """
    for node, factor in service_factor.items():
        if not np.isfinite(factor) or factor <= 0:
            raise ModelError(f"service factor {factor} of node {node!r}; give a finite number above 0")
    return {
        operator: np.array([service_factor.get(node, 1.0) for node in nodes])
        for operator, nodes in instance_nodes(plan, node_of_container).items()
    }


def node_factors(plan: PhysicalPlan, site: Site) -> dict[str, Floats]:
    """instance_factors of the nodes that the plan names; empty where the site or the plan tells nothing of nodes."""
    if not site.service_factor or not places_nodes(plan):
        return {}
    return instance_factors(plan, node_of_container(plan), site.service_factor)
