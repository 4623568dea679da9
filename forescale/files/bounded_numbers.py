"""Numbers of files and settings, within bounds: far beyond what anybody means, far from where anything overflows."""

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from forecasting.arrivals.grid import in_calendar
from modeling.inputs.physical_plan import MAX_PARALLELISM

MAX_NUMBER = 1e9
"""In seconds a generation; no cost, rate or size that is planned for comes near it."""

Positive = Annotated[float, Field(gt=0, le=MAX_NUMBER, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=MAX_NUMBER, allow_inf_nan=False)]
Instances = Annotated[int, Field(ge=1, le=MAX_PARALLELISM)]
"""Of an operator."""
AllInstances = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of a topology or of a whole installation."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
MAX_MEASURED = 1e18
"""Beyond it nothing is measured or counted."""

Moment = Annotated[AwareDatetime, AfterValidator(in_calendar)]
"""A time with its offset, in a year that a clock may show."""
