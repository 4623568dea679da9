"""`planning` of a topology file: targets, limits, and the cost of a rescale."""

from typing import TYPE_CHECKING, Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forecasting.forecast import QUANTILES
from forescale.files.bounded_numbers import AllInstances, Instances, NotNegative, Positive
from forescale.files.freeze_window import FreezeWindow, ParallelismWindow
from forescale.plain_numbers import PlainNumbers
from modeling.inputs.operator_profile import MAX_CV2
from modeling.inputs.physical_plan import MAX_PARALLELISM

if TYPE_CHECKING:
    from planner.auto_approval import ApprovalBounds


class AutoApproveSection(PlainNumbers, BaseModel):
    """A schedule within all given bounds is approved; at least one bound is required. max_step: instances that one
    step starts or stops, over all operators. max_cost_instance_hours: cost of a schedule above holding the running
    plan; max_cost_price: the same in the currency of the prices, where prices are known. max_violation_probability:
    probability that any minute of its horizon is in violation.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    max_step: Annotated[int, Field(ge=0, le=MAX_PARALLELISM)] | None = None
    max_cost_instance_hours: NotNegative | None = None
    max_cost_price: NotNegative | None = None
    max_violation_probability: Annotated[float, Field(ge=0, le=1)] | None = None

    @model_validator(mode="after")
    def _bounds_something(self) -> "AutoApproveSection":
        if not self.model_dump(exclude_none=True):
            raise ValueError(
                "no bound is given, so everything would be approved; give max_step, max_cost_instance_hours, "
                "max_cost_price or max_violation_probability, or leave the section out"
            )
        return self

    @property
    def bounds(self) -> "ApprovalBounds":
        from planner.auto_approval import ApprovalBounds

        return ApprovalBounds(
            self.max_step, self.max_cost_instance_hours, self.max_violation_probability, self.max_cost_price
        )


class GuardSection(PlainNumbers, BaseModel):
    """mode: advise only says what it would do, act does it. window_s: span of the metrics behind a diagnosis. settle_s:
    from when a plan runs until its effect is judged. utilisation: target after a scaling. drain_s: time within which a
    backlog must be gone. min_dwell_s: least time that a plan runs before it is lowered. blacklist_after: failures in a
    row that bar an action under a diagnosis.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["act", "advise", "off"] = "advise"
    window_s: Positive = 180
    settle_s: Positive = 300
    utilisation: Annotated[float, Field(gt=0, lt=1)] = 0.7
    drain_s: Positive = 600
    min_dwell_s: NotNegative = 3600
    blacklist_after: Annotated[int, Field(ge=1, le=1000)] = 2

    @field_validator("mode", mode="before")
    @classmethod
    def _off_is_a_word(cls, given: object) -> object:
        # YAML reads an unquoted off as false.
        return "off" if given is False else given

    @model_validator(mode="after")
    def _judges_what_it_has_seen(self) -> "GuardSection":
        if self.settle_s < self.window_s:
            raise ValueError(
                f"settle_s {self.settle_s:g} < window_s {self.window_s:g}: an effect is judged by a window after it; "
                f"give settle_s at least {self.window_s:g}"
            )
        return self


class Planning(PlainNumbers, BaseModel):
    """Targets, limits, and the cost of a rescale.

    max_lag_s: a minute with more seconds of backlog than this is a violation. allow: share of the minutes that may be
    in violation; or price_per_violation_minute, in instance-hours. If neither is given, allow is a tenth of 1 -
    quantile. quantile: of the peaks that steps report as their load. max_utilisation: limit for the busiest instance;
    None leaves that to the budget. max_latency_s: mean end to end; max_p95_latency_s: its p95.
    max_instances: of all operators; where they share slots, by default what 64 slots or sixteen task managers hold.
    downtime_s: of a rescale. warm_up_s: from when a plan runs until the job is at full speed; None: learnt, until then
    120 where a change starts the whole job anew, else 0. lead_s: from asking for instances until they are there.
    min_dwell_s: from the end of a rescale until the next may be asked for. max_catch_up_s: how long a deployment waits
    for the backlog to drain. rescale_cost_instance_hours: what avoiding one rescale is worth, by default an
    instance or a shared slot for an hour; added to it, started_cost_instance_hours per instance that it starts or
    stops, and moved_state_cost_instance_hours_per_gib for state that moves to another instance. arrival_cv2: of the
    gaps between arrivals, instead of the value measured from the history.
    deploy_timeout_s: a plan that does not run by then is undone; hold_s: how long it must hold. stale_s: older
    forecasts are not used. review_s: from a decision to the first step that needs approval. mode: shadow plans and
    reports, but neither it nor the guard deploys anything; floor raises the running plan to its plans, and leaves
    anything above them to others; serve is the same where a scaler asks `forescale serve` for its floor, and nothing is
    deployed. auto_approve: bounds within which no approval is needed; None: everything needs
    approval.
    """

    model_config = ConfigDict(extra="forbid", frozen=True)

    mode: Literal["act", "shadow", "floor", "serve"] = "act"
    stale_s: Positive = 3 * 3600
    allow: Annotated[float, Field(ge=0, le=1)] | None = None
    price_per_violation_minute: Positive | None = None
    quantile: float = 0.95
    max_utilisation: Annotated[float, Field(gt=0, lt=1)] | None = None
    max_latency_s: Positive | None = None
    max_p95_latency_s: Positive | None = None
    max_lag_s: Positive = 180
    downtime_s: NotNegative = 30
    warm_up_s: NotNegative | None = None
    lead_s: NotNegative = 300
    min_dwell_s: NotNegative = 300
    max_catch_up_s: Positive = 600
    max_instances: AllInstances = 64
    max_parallelism: dict[str, Instances] = {}
    min_parallelism: dict[str, Instances] = {}
    max_step: Instances | None = None
    max_rescales_a_day: Annotated[int, Field(ge=1, le=1440)] | None = None
    scale_out_only: bool = False
    freeze: list[FreezeWindow] = []
    windows: list[ParallelismWindow] = []
    rescale_cost_instance_hours: NotNegative = 1.0
    started_cost_instance_hours: NotNegative = 0.0
    moved_state_cost_instance_hours_per_gib: NotNegative = 0.0
    arrival_cv2: Annotated[float, Field(ge=0, le=MAX_CV2)] | None = None
    deploy_timeout_s: Positive = 300
    hold_s: NotNegative = 30
    review_s: NotNegative = 1800
    auto_approve: AutoApproveSection | None = None
    guard: GuardSection = GuardSection()

    @field_validator("quantile")
    @classmethod
    def _is_forecast(cls, quantile: float) -> float:
        # Backtests calibrate these quantiles only; any other would be used uncalibrated.
        if quantile not in QUANTILES:
            raise ValueError(f"{quantile} is not calibrated; give one of {', '.join(map(str, QUANTILES))}")
        return quantile

    @model_validator(mode="after")
    def _has_room(self) -> "Planning":
        for name, least in self.min_parallelism.items():
            most = self.max_parallelism.get(name, self.max_instances)
            if least > most:
                raise ValueError(f"min_parallelism of {name} is {least}, and at most {most} are allowed; lower it")
        for number, window in enumerate(self.windows):
            for name, least in window.min_parallelism.items():
                most = self.max_parallelism.get(name, self.max_instances)
                if least > most:
                    raise ValueError(
                        f"windows.{number}.min_parallelism of {name} is {least}, and at most {most} are allowed; "
                        "lower it"
                    )
            for name, most in window.max_parallelism.items():
                if (least := self.min_parallelism.get(name, most)) > most:
                    raise ValueError(
                        f"windows.{number}.max_parallelism of {name} is {most}, and min_parallelism {least}; raise it"
                    )
            if (wanted := sum({**self.min_parallelism, **window.min_parallelism}.values())) > self.max_instances:
                raise ValueError(
                    f"windows.{number}.min_parallelism adds up to {wanted} instances, more than max_instances "
                    f"{self.max_instances}; lower one or raise the other"
                )
        if sum(self.min_parallelism.values()) > self.max_instances:
            raise ValueError(
                f"min_parallelism adds up to {sum(self.min_parallelism.values())} instances, more than max_instances "
                f"{self.max_instances}; lower one or raise the other"
            )
        return self

    @model_validator(mode="after")
    def _has_one_budget(self) -> "Planning":
        if self.allow is not None and self.price_per_violation_minute is not None:
            raise ValueError("allow and price_per_violation_minute are both given; a violation has a share or a price")
        return self

    @property
    def allowed_share(self) -> float:
        """Share of the minutes that may be in violation. By default a tenth of 1 - quantile: a peak above the quantile
        lasts only for part of its span.
        """
        return round((1 - self.quantile) / 10, 9) if self.allow is None else self.allow

    @property
    def shadow(self) -> bool:
        return self.mode == "shadow"

    @property
    def floor(self) -> bool:
        """Whether plans are lower bounds."""
        return self.mode in ("floor", "serve")

    @property
    def served(self) -> bool:
        """Whether a scaler of the cluster asks for its lower bounds."""
        return self.mode == "serve"

    @property
    def guard_mode(self) -> Literal["act", "advise", "off"]:
        """In shadow mode, and where a scaler acts by what it is offered, the guard only advises."""
        return "advise" if (self.shadow or self.served) and self.guard.mode == "act" else self.guard.mode
