"""The performance model: pure functions of values that tell what a physical plan would do under a load.

What most users need is here; docs/modeling.md is its tutorial. The parts (queues, networks, state, windows) are in the
modules of their names.
"""

from modeling.calibration import Calibrated, Drift, calibrated, calibrated_profiles, drifts
from modeling.checkpoints import Checkpoints
from modeling.errors import ModelError
from modeling.estimate import Estimate, LatencyEstimate, OperatorEstimate
from modeling.estimate_intervals import EstimateIntervals, estimate_intervals
from modeling.evaluate import evaluate
from modeling.evaluate_many import ManyEstimates, evaluate_draws, evaluate_many
from modeling.excuse import Excuse
from modeling.key_histogram import KeyHistogram
from modeling.mending import change_of, excuses
from modeling.network import MeasuredLink, Network, measured_network
from modeling.operator_profile import OperatorProfile, Profiles
from modeling.operator_sample import OperatorSample
from modeling.parameter_draws import ParameterDraws, parameter_draws
from modeling.physical_plan import Container, Instance, PhysicalPlan
from modeling.plan_change import PlanChange, RescaleEstimate
from modeling.polling import Polling
from modeling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescale_model import RescaleModel, declared_rescale
from modeling.scale_efficiency import ScaleEfficiency
from modeling.site import ContainerSize, Site
from modeling.targets import Targets
from modeling.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.violation import Violations, violations
from modeling.windowed_output import WindowedOutput, WindowKind

__all__ = [
    "Calibrated",
    "Checkpoints",
    "Container",
    "ContainerSize",
    "Drift",
    "Engine",
    "Estimate",
    "EstimateIntervals",
    "Excuse",
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
    "ParameterDraws",
    "PhysicalPlan",
    "PlanChange",
    "Polling",
    "Profiles",
    "RescaleEstimate",
    "RescaleModel",
    "ScaleEfficiency",
    "Site",
    "Stream",
    "Targets",
    "Topology",
    "Violations",
    "WindowKind",
    "WindowedOutput",
    "calibrated",
    "calibrated_profiles",
    "change_of",
    "declared_rescale",
    "drifts",
    "estimate_intervals",
    "evaluate",
    "evaluate_draws",
    "evaluate_many",
    "excuses",
    "fitted_rescale",
    "measured_network",
    "parameter_draws",
    "violations",
]
