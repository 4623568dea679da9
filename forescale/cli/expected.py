"""What can be wrong with the world; any other exception is a defect and shows its traceback."""

from forecasting.errors import ForecastError, HistoryError, TrackingError
from forescale.files.plan import PlanFileError
from forescale.files.profile import ProfileFileError
from forescale.files.samples import SampleFileError
from forescale.files.topology import TopologyFileError
from forescale.jobs.deploy import DeploymentFailed
from forescale.local.errors import ServiceError
from forescale.local.flink.errors import LocalFlinkError
from forescale.report.decision.decision import ReportError
from modeling.errors import ModelError
from planner.errors import ClusterError, LedgerError, PlanError

EXPECTED = (
    ClusterError,
    DeploymentFailed,
    LocalFlinkError,
    ForecastError,
    HistoryError,
    LedgerError,
    ModelError,
    PlanError,
    PlanFileError,
    ProfileFileError,
    ReportError,
    SampleFileError,
    ServiceError,
    TopologyFileError,
    TrackingError,
)
