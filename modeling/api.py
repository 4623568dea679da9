"""The API for most users of the model; docs/model.md is its tutorial.

The parts (queues, networks, state, windows) are in their own modules.
"""

from modeling.calibration.calibrated import Calibrated, calibrated, calibrated_profiles
from modeling.calibration.drift import Drift, drifts
from modeling.calibration.operator_sample import OperatorSample
from modeling.errors import ModelError
from modeling.estimate import Estimate, LatencyEstimate, OperatorEstimate
from modeling.evaluate import evaluate
from modeling.evaluate_many import ManyEstimates, evaluate_many
from modeling.excuse import Excuse
from modeling.inputs.calls import Calls
from modeling.inputs.key_histogram import KeyHistogram
from modeling.inputs.network import MeasuredLink, Network, measured_network
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from modeling.inputs.polling import Polling
from modeling.inputs.scale_efficiency import ScaleEfficiency
from modeling.inputs.site import ContainerSize, Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Engine, Grouping, Operator, Stream, Topology
from modeling.inputs.windowed_output import WindowedOutput, WindowKind
from modeling.queueing.bursts import Arrivals, Bursts
from modeling.queueing.dispersion import dispersion_of, dispersion_of_history
from modeling.queueing.service_shape import ServiceShape
from modeling.remedies import combined_change, excuses
from modeling.rescaling.checkpoints import Checkpoints
from modeling.rescaling.plan_change import PlanChange, RescaleEstimate
from modeling.rescaling.rescale_fit import MeasuredRescale, fitted_rescale
from modeling.rescaling.rescale_model import RescaleModel, declared_rescale
from modeling.uncertainty.estimate_intervals import EstimateIntervals, estimate_intervals, evaluate_draws
from modeling.uncertainty.parameter_draws import ParameterDraws, parameter_draws
from modeling.uncertainty.violation import Violations, violations

__all__ = [
    "Arrivals",
    "Bursts",
    "Calibrated",
    "Calls",
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
    "ServiceShape",
    "Site",
    "Stream",
    "Targets",
    "Topology",
    "Violations",
    "WindowKind",
    "WindowedOutput",
    "calibrated",
    "calibrated_profiles",
    "combined_change",
    "declared_rescale",
    "dispersion_of",
    "dispersion_of_history",
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
