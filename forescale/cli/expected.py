"""Expected errors: wrong input or surroundings. Any other exception is a defect and shows its traceback."""

from forecasting.errors import ForecastError, HistoryError, TrackingError
from forescale.files.file_error import FileError
from forescale.local.errors import LocalFlinkError, ServiceError
from forescale.monitoring.errors import NotifyError, PushError
from forescale.report.kit.error import ReportError
from forescale.settings_file import SettingsFileError
from modeling.errors import ModelError
from planner.errors import ClusterError, DeploymentFailed, LedgerError, PlanError

EXPECTED = (
    ClusterError,
    DeploymentFailed,
    LocalFlinkError,
    ForecastError,
    HistoryError,
    LedgerError,
    ModelError,
    PlanError,
    FileError,
    NotifyError,
    PushError,
    ReportError,
    ServiceError,
    SettingsFileError,
    TrackingError,
)
