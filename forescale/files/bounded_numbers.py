"""Bounds of numbers in files and settings: far above any sensible value, far below any overflow."""

import re
from datetime import date
from typing import Annotated, Any

from pydantic import AfterValidator, AwareDatetime, BeforeValidator, Field

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

MAX_TIMEOUT_S = 3600.0
Timeout = Annotated[float, Field(gt=0, le=MAX_TIMEOUT_S, allow_inf_nan=False)]
"""Of one request: nobody waits longer for an answer."""


def is_written_out(given: Any) -> Any:
    """Raises ValueError for a number, also as text: pydantic reads it as seconds since 1970, or milliseconds."""
    if not isinstance(given, str | date) or (isinstance(given, str) and re.fullmatch(r"\s*[-+]?[0-9.]+\s*", given)):
        raise ValueError("is no date or time; write it out, such as 2026-11-27 or 2026-11-27T18:00:00Z")
    return given


Moment = Annotated[AwareDatetime, BeforeValidator(is_written_out), AfterValidator(in_calendar)]
"""A time with its offset, in a year that the calendar allows."""
