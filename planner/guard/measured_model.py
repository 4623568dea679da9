"""The plan model with the service times that a window has measured, for what the window cannot show: how keys, node
speeds and cores spread the work of another plan.
"""

from dataclasses import dataclass

from modeling.errors import ModelError
from modeling.inputs.physical_plan import PhysicalPlan
from planner.guard.window import Window
from planner.plan_model import PlanModel
from planner.true_rates import growths

TRUSTED = 0.9
"""Smallest share of what the running plan takes in that the model must hold it to carry. Below, its balance is wrong:
the job itself shows that its work is spread more evenly.
"""


@dataclass(frozen=True)
class RefutedModel:
    """The window shows that the model is wrong. taken_per_s: by all sources; carried_per_s: at most, by the model."""

    taken_per_s: float
    carried_per_s: float


def measured_model(window: Window, model: PlanModel) -> PlanModel | RefutedModel | None:
    """Each operator's service time scaled so that the running plan is as busy as it was measured, at the arrivals of
    the window. Operators without a measurement keep theirs. None without arrivals, or if the model does not fit the
    running plan.
    """
    running = PhysicalPlan(window.topology.name, dict(window.newest.parallelism))
    offered_per_s = window.offered_per_s
    if not sum(offered_per_s.values()):
        return None
    try:
        operators = model.estimate(running, offered_per_s).operators
    except ModelError:
        return None
    growth = growths(window.topology, window.taken_per_s, offered_per_s, window.output_ratios)
    profiles = dict(model.profiles)
    for name, operator in operators.items():
        busy, believed = sum(window.busy[name]) * growth[name], float(operator.instance_utilisation.sum())
        if busy > 0 and believed > 0:
            profiles[name] = profiles[name].slower(busy / believed)
    scaled = model.believing(profiles, model.arrival_cv2)
    taken, carried_per_s = sum(window.taken_per_s.values()), scaled.capacity_per_s(running, offered_per_s)
    return RefutedModel(taken, carried_per_s) if carried_per_s < TRUSTED * taken else scaled
