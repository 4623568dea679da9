"""`planning.guard` of a topology file: how the guard watches the topology between forecasts."""

from typing import Annotated, Literal

from pydantic import BaseModel, ConfigDict, Field, field_validator, model_validator

from forescale.files.bounded_numbers import NotNegative, Positive
from forescale.plain_numbers import PlainNumbers


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
