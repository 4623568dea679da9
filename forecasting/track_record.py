"""What past forecasts of a source said of the peak, beside what came: the record by which the next one is trusted."""

from collections.abc import Mapping
from dataclasses import dataclass
from datetime import datetime

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]


@dataclass(frozen=True)
class TrackRecord:
    """Forecasts of one source in order of time, each with the peaks that came where its horizon is over.

    issued: starts of their first steps. peak_per_s: shape (forecasts, horizons, quantiles), NaN where a horizon was not
    forecast. naive_per_s: by the name of a seasonal naive, the peak that the same span had a day, or a week, before;
    actual_per_s: the peak that came; all of shape (forecasts, horizons), NaN where the horizon is not over or the
    history does not tell.
    """

    source: str
    issued: tuple[datetime, ...]
    horizons_s: tuple[int, ...]
    quantiles: tuple[float, ...]
    peak_per_s: Floats
    naive_per_s: Mapping[str, Floats]
    actual_per_s: Floats
