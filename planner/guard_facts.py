"""What the guard finds and concludes, as values that the ledger keeps. Pages and commands put them in words."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from enum import StrEnum

from planner.codec import Codec
from planner.errors import LedgerError
from planner.step_cause import StepCause


class SymptomKind(StrEnum):
    BACKPRESSURE = "backpressure"
    SATURATION = "saturation"
    GROWING_QUEUE = "growing queue"
    LAG = "lag"
    RATE_SKEW = "rate skew"
    SERVICE_SKEW = "service skew"
    IDLE = "idle"


@dataclass(frozen=True)
class Symptom:
    """operator: where it shows, empty for the whole job. value, bound: shares of the time, tuples per second, seconds
    of lag, or the ratio of a skew.

    instance: the outlier of a skew; outlier, peers: its tuples per second or seconds a tuple, and those of its peers.
    offered_per_s: arrivals beside which a queue grows.
    """

    kind: SymptomKind
    operator: str
    value: float
    bound: float
    instance: int | None = None
    outlier: float = 0.0
    peers: float = 0.0
    offered_per_s: float = 0.0


class DiagnosisKind(StrEnum):
    UNDER_PROVISIONED = "under-provisioned"
    OVER_PROVISIONED = "over-provisioned"
    SLOW_INSTANCE = "slow-instance"
    DATA_SKEW = "data-skew"
    TARGET_MISSED = "target-missed"


@dataclass(frozen=True)
class Diagnosis:
    """operator: the cause, empty if no single one is. instance: of that operator, if a single one is the cause.
    symptoms: those that it explains.
    """

    kind: DiagnosisKind
    operator: str
    symptoms: tuple[Symptom, ...] = ()
    instance: int | None = None


class ActionKind(StrEnum):
    SCALE_UP = "scale-up"
    SCALE_DOWN = "scale-down"
    RESTART_INSTANCE = "restart-instance"
    REPORT_KEYS = "report-keys"


class ReasonKind(StrEnum):
    """For each, the fields of Reason that it has, where its name does not tell."""

    NOT_RUNNING = "not running"
    """state: of the job."""
    DEPLOYED_ELSEWHERE = "deployed elsewhere"
    """action, step_id."""
    ACTION_SETTLES = "action settles"
    """action, at: when it was decided."""
    PLAN_SETTLES = "plan settles"
    """at: since when it runs; bound: seconds to wait."""
    STEP_FIRST = "step first"
    """step_id, state: of the step."""
    ONE_LOOK = "one look"
    SHORT_WINDOW = "short window"
    """observed, bound: seconds of metrics."""
    MAY_DRAIN = "may drain"
    """operator: the unmeasured source, detail: why; observed: seconds that the plan runs; bound: seconds to drain."""
    DRAINS = "drains"
    HEALTHY = "healthy"
    BARRED = "barred"
    """diagnosis, action."""
    NO_ROOM = "no room"
    MAY_BE_LATE = "may be late"
    """observed: instances that would be added; bound: late seconds that cost as much."""
    STEP_AHEAD = "step ahead"
    """observed: seconds until the next planned step."""
    DWELLS = "dwells"
    """observed, bound: seconds that the plan runs and is held."""
    NEEDED = "needed"
    NOT_WORTH_IT = "not worth it"
    """observed: instances saved; bound: all that run."""
    SCALES = "scales"
    """scaling."""
    RESTARTS = "restarts"
    SPLITS_KEYS = "splits keys"
    """keys: shares of the heaviest, empty if unknown."""
    KEEPS_UP = "keeps up"
    TAKES_MORE = "takes more"
    """observed, bound: tuples per second now and before."""
    OTHER_LOAD = "other load"
    """observed, bound: tuples per second that come, and that the action was sized for."""
    STILL_ILL = "still ill"
    NOT_DEPLOYED = "not deployed"
    """state, cause: of the step, or detail: its reason in words."""
    UNFORESEEN = "unforeseen"
    """Of a step that waits, as the next two. observed: seconds for which the guard's scale-up, unknown to the step's
    forecast, still settles.
    """
    BACKLOG_DRAINS = "backlog drains"
    """observed: tuples that wait."""
    NEEDS_MORE = "needs more"
    """need."""
    REPLACED = "replaced"
    """plan: what runs instead."""
    WORDED = "worded"
    """detail: a sentence of 0.1 or 0.2, which kept no facts."""


@dataclass(frozen=True)
class Scaling:
    """From the running parallelism to a plan. is_estimated: the arrivals are. uneven: instances that uneven keys, slow
    nodes, few cores and threads that wait add. carried_per_s, taken_per_s: what the running plan carries by the model,
    and takes in, where that refutes the model.
    """

    running: Mapping[str, int]
    plan: Mapping[str, int]
    offered_per_s: float
    is_estimated: bool = False
    uneven: Mapping[str, int] = field(default_factory=dict)
    carried_per_s: float | None = None
    taken_per_s: float | None = None


@dataclass(frozen=True)
class Need:
    """Tuples per second: what comes, what that and the backlog (tuples) take, and what a plan carries."""

    offered_per_s: float
    backlog: float
    needed_per_s: float
    carried_per_s: float


@dataclass(frozen=True)
class Reason:
    """One conclusion. Which fields are set, and what observed and bound are, depends on the kind. diagnosis: what it is
    concluded from, or what still ails the job. detail: foreign words only.
    """

    kind: ReasonKind
    diagnosis: Diagnosis | None = None
    action: ActionKind | None = None
    operator: str = ""
    observed: float | None = None
    bound: float | None = None
    scaling: Scaling | None = None
    keys: Mapping[str, float] = field(default_factory=dict)
    plan: Mapping[str, int] = field(default_factory=dict)
    step_id: str = ""
    state: str = ""
    at: datetime | None = None
    detail: str = ""
    need: Need | None = None
    cause: StepCause | None = None


class GuardState(StrEnum):
    """Of an action. OPEN: its step is being deployed, or its effect is not yet judged. The next three are verdicts."""

    OPEN = "open"
    EFFECTIVE = "effective"
    INEFFECTIVE = "ineffective"
    MOOT = "moot"
    ADVISED = "advised"


REASON = Codec(Reason, 1, LedgerError, "a reason of the guard", "it stays in the ledger for a newer release")
"""Of what the ledger keeps."""
