"""`planning.auto_approve` of a topology file: changes small enough to be deployed without approval by a person."""

from typing import TYPE_CHECKING, Annotated

from pydantic import BaseModel, ConfigDict, Field, model_validator

from forescale.files.bounded_numbers import NotNegative
from forescale.plain_numbers import PlainNumbers
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
