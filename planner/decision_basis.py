"""What a decision was made from, as facts: its rung and the causes, its inputs by id or digest, and what was learnt."""

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import datetime
from enum import StrEnum

from planner.edit_facts import Edit
from planner.provenance import Ground


class Rung(StrEnum):
    """Bases for a schedule, best first."""

    FORECAST = "forecast"
    PROFILE = "profile"
    GUARD = "guard"
    HOLD = "hold"

    @property
    def plans(self) -> bool:
        """Whether this rung has a load to plan for."""
        return self in (Rung.FORECAST, Rung.PROFILE)


class CauseKind(StrEnum):
    """Why a basis is no better. RECORDED: in the words of an earlier release."""

    NO_FORECAST = "no forecast"
    STALE_FORECAST = "stale forecast"
    ENDED_FORECAST = "ended forecast"
    SHORT_FORECAST = "short forecast"
    UNREADABLE_FORECAST = "unreadable forecast"
    OTHER_GRID = "other grid"
    NO_HISTORY = "no history"
    POOR_HISTORY = "poor history"
    UNKNOWN_QUALITY = "unknown quality"
    NO_PROFILE = "no profile"
    SUSPECTED_OUTAGE = "suspected outage"
    RECORDED = "recorded"


@dataclass(frozen=True)
class Cause:
    """Why a schedule's basis is no better, or what else is wrong with its inputs.

    value, bound: seconds of a forecast's age and the oldest usable one (STALE_FORECAST), of its reach and the needed
    one (SHORT_FORECAST), of its steps and those of `other` (OTHER_GRID); shares for the bound `setting` of
    `arrivals.quality` (POOR_HISTORY, and NO_PROFILE because of it). at: end (ENDED_FORECAST) or start (OTHER_GRID) of
    the forecast. SUSPECTED_OUTAGE: share of the usual load that came from `at` to `other_at`, and the largest that is
    asked about. other, other_at: another source and the start of its forecast. detail: text of an error.
    """

    kind: CauseKind
    source: str = ""
    value: float | None = None
    bound: float | None = None
    setting: str = ""
    at: datetime | None = None
    other: str = ""
    other_at: datetime | None = None
    detail: str = ""


@dataclass(frozen=True)
class DriftFacts:
    """A parameter of an operator that differs from the calibration before. p: p-value of the difference. state_gib: of
    the operator then and now, where its tuples take longer and its state has grown.
    """

    operator: str
    parameter: str
    old: float
    new: float
    p: float
    state_gib: tuple[float, float] | None = None


@dataclass(frozen=True)
class CalibrationFacts:
    """How the operators were measured for a decision. version: of MLflow, as `name/number`. failure: error that
    prevented a measurement. unmeasured: operators never measured. drifts: against the calibration before.
    contradicted: operators whose calibration counts although one look at them differs. untracked: error of MLflow.
    recorded: as an earlier release worded it. fresh_since: when the plan began to run, if just now.
    """

    version: str = ""
    failure: str = ""
    unmeasured: tuple[str, ...] = ()
    drifts: tuple[DriftFacts, ...] = ()
    contradicted: tuple[str, ...] = ()
    untracked: str = ""
    recorded: str = ""
    fresh_since: datetime | None = None

    @property
    def amiss(self) -> bool:
        """Whether somebody should look. A single look that differs is a note, until a second one agrees; so is a plan
        that has just begun to run.
        """
        return self != replace(
            NOT_CALIBRATED, version=self.version, contradicted=self.contradicted, fresh_since=self.fresh_since
        )


NOT_CALIBRATED = CalibrationFacts()


@dataclass(frozen=True)
class HiddenBurst:
    """factor: of its step's mean rate; minute: of the hour at which it begins; step_s: of the forecast."""

    factor: float
    minute: float
    step_s: int


@dataclass(frozen=True)
class ArrivalFacts:
    """Variability of the arrivals of one source. factor: of their rate in a burst; mean_s: length of one; share: of the
    time in bursts; assumed: mean_s is below what the windows show. All None if the arrivals are taken as Poisson: too
    few windows, or `detail`, an error. windows, window_s: number and seconds of the windows that were measured.
    Instead of all that: hidden: a burst that returns each hour within one step of the forecast, which has its mean;
    silent_s: how long nothing was observed up to the end of what the forecast knew.
    """

    source: str
    factor: float | None = None
    mean_s: float | None = None
    share: float | None = None
    assumed: bool = False
    windows: int | None = None
    window_s: float | None = None
    detail: str = ""
    hidden: HiddenBurst | None = None
    silent_s: float | None = None


@dataclass(frozen=True)
class LearnedNumber:
    """Seconds to plan with. deployments: number of measurements it was learned from, 0 if it is the declared number.
    known: number of measurements there are.
    """

    seconds: float
    declared_s: float
    deployments: int
    known: int


@dataclass(frozen=True)
class WarmUpFacts:
    """How fast a job is after a start: from start_share of full speed up to full speed in warm_s. declared_s: as the
    file or the default has it. deployments: number it was learned from, 0 if it is the declared one. known: number of
    deployments whose speed was seen.
    """

    start_share: float
    warm_s: float
    declared_s: float
    deployments: int
    known: int


@dataclass(frozen=True)
class LearnedFacts:
    """Downtime, lead time and warm-up of a change. restore_s_per_gib: added for restored state, None if state costs no
    time; restore_learnt: from deployments rather than from the site file.
    """

    downtime: LearnedNumber
    lead: LearnedNumber
    restore_s_per_gib: float | None = None
    restore_learnt: bool = False
    warm_up: WarmUpFacts | None = None


@dataclass(frozen=True)
class PriceFacts:
    """What plans cost. instance_per_hour: an instance-hour in the currency of the prices; None if all instances count
    the same, since `unpriced` operators have no price. packer: set if containers have the prices; site: of a
    site file.
    """

    instance_per_hour: float | None = None
    site: str = ""
    packer: str = ""
    unpriced: tuple[str, ...] = ()


@dataclass(frozen=True)
class BudgetFacts:
    """past_minutes: of the week before, those known (in_shadow: those of whole days); used_minutes: those of them in
    violation. allowed_minutes: of the past, None if a violation has the price price_h, in instance-hours.
    """

    past_minutes: float
    used_minutes: float
    allowed_minutes: float | None
    price_h: float | None = None
    in_shadow: bool = False


@dataclass(frozen=True)
class BoundedSpan:
    """Instances that operators have at least and at most within a span, as a person has asked. start_s, end_s: epoch
    seconds.
    """

    start_s: float
    end_s: float
    least: Mapping[str, int] = field(default_factory=dict)
    most: Mapping[str, int] = field(default_factory=dict)

    def overlaps(self, start_s: float, end_s: float) -> bool:
        return self.start_s < end_s and self.end_s > start_s


@dataclass(frozen=True)
class DecisionBasis:
    """What a schedule was made from.

    The question that it answers: forecasts: ids in the ledger; histories: digests, by source in order; profiles:
    folders of time-of-week profiles; starts_from: id of the plan that runs, or would run in shadow mode; floor: plans
    are lower bounds; topology_digest, site_digest: of the files; candidates: ids of proposed plans, by name; fleet: a
    digest of the shared terms, empty if nothing is shared, None if planned alone; calibration_digest: of the operator
    profiles that a person's calibration put in force, which a plan's own measurement does not change.

    What was found on the way, which does not distinguish decisions: rung, causes, calibration, arrivals, learned,
    prices, budget, unjoined (why sources are not joined, as the forecasts report it). edit: of a person, if this is an
    edited schedule. others: entries that an earlier release recorded, by name. stands_on: where the values come from
    that its numbers stand on; empty in schedules of earlier releases. bounded: spans in which people want at least or
    at most so many instances.
    """

    rung: Rung = Rung.FORECAST
    causes: tuple[Cause, ...] = ()
    forecasts: tuple[str, ...] = ()
    histories: tuple[str, ...] = ()
    profiles: tuple[str, ...] = ()
    starts_from: str = ""
    shadow: bool = False
    floor: bool = False
    topology_digest: str = ""
    site_digest: str = ""
    candidates: Mapping[str, str] = field(default_factory=dict)
    fleet: str | None = None
    calibration_digest: str = ""
    calibration: CalibrationFacts = NOT_CALIBRATED
    arrivals: tuple[ArrivalFacts, ...] = ()
    learned: LearnedFacts | None = None
    prices: PriceFacts | None = None
    budget: BudgetFacts | None = None
    unjoined: str = ""
    edit: Edit | None = None
    others: Mapping[str, str] = field(default_factory=dict)
    stands_on: tuple[Ground, ...] = ()
    bounded: tuple[BoundedSpan, ...] = ()

    def answers(self, asked: "DecisionBasis") -> bool:
        """Whether it answers the question of `asked`. A request without shared terms is content with a schedule that
        was made under some.
        """
        shared = asked.fleet is None or asked.fleet == (self.fleet or "")
        return shared and self.question == asked.question

    @property
    def question(self) -> tuple[object, ...]:
        """Facts that distinguish one question from another, without shared terms."""
        return (
            self.forecasts,
            self.histories,
            self.profiles,
            self.starts_from,
            self.shadow,
            self.floor,
            self.topology_digest,
            self.site_digest,
            dict(self.candidates),
            self.calibration_digest,
        )


NOTHING_KNOWN = DecisionBasis()
"""Of a schedule that was made of nothing recorded."""
