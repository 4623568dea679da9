"""Bounds of numbers in files and settings: far above any sensible value, far below any overflow."""

from typing import Annotated

from pydantic import AfterValidator, AwareDatetime, Field

from forecasting.arrivals.grid import in_calendar
from modeling.inputs.physical_plan import MAX_PARALLELISM

MAX_NUMBER = 1e9
"""In seconds about 30 years; no planned cost, rate or size comes near it."""

Positive = Annotated[float, Field(gt=0, le=MAX_NUMBER, allow_inf_nan=False)]
NotNegative = Annotated[float, Field(ge=0, le=MAX_NUMBER, allow_inf_nan=False)]
Instances = Annotated[int, Field(ge=1, le=MAX_PARALLELISM)]
"""Of an operator."""
AllInstances = Annotated[int, Field(ge=1, le=1_000_000)]
"""Of a topology or of a whole installation."""
Seed = Annotated[int, Field(ge=0, lt=2**63)]
MAX_MEASURED = 1e18
"""Bound of measured and counted numbers."""

Moment = Annotated[AwareDatetime, AfterValidator(in_calendar)]
"""A time with its offset, in a year that the calendar allows."""
