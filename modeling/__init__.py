"""The performance model: pure functions of values that tell what a physical plan would do under a load.

What most users need is here; docs/modeling.md is its tutorial. The parts (queues, networks, state, windows) are in the
modules of their names.
"""

from modeling.calibration import calibrated_profiles
from modeling.checkpoints import Checkpoints
from modeling.errors import ModelError
from modeling.estimate import Estimate, LatencyEstimate, OperatorEstimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import ManyEstimates, evaluate_many
from modeling.key_histogram import KeyHistogram
from modeling.network import MeasuredLink, Network, measured_network
from modeling.operator_profile import OperatorProfile, Profiles
from modeling.operator_sample import OperatorSample
from modeling.physical_plan import Container, Instance, PhysicalPlan
from modeling.plan_change import PlanChange, RescaleEstimate
from modeling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescale_model import RescaleModel, declared_rescale
from modeling.scale_efficiency import ScaleEfficiency
from modeling.site import ContainerSize, Site
from modeling.topology import Engine, Grouping, Operator, Stream, Topology

__all__ = [
    "Checkpoints",
    "Container",
    "ContainerSize",
    "Engine",
    "Estimate",
    "Grouping",
    "Instance",
    "KeyHistogram",
    "LatencyEstimate",
    "ManyEstimates",
    "MeasuredLink",
    "MeasuredRescale",
    "ModelError",
    "Network",
    "Operator",
    "OperatorEstimate",
    "OperatorProfile",
    "OperatorSample",
    "PhysicalPlan",
    "PlanChange",
    "Profiles",
    "RescaleEstimate",
    "RescaleModel",
    "ScaleEfficiency",
    "Site",
    "Stream",
    "Topology",
    "calibrated_profiles",
    "declared_rescale",
    "evaluate",
    "evaluate_many",
    "fitted_rescale",
    "measured_network",
]
