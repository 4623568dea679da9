"""Single-server queues by Lindley's recursion, and confidence in what they tell."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]

_STUDENT_99 = {6: 4.03, 8: 3.50, 12: 3.11, 16: 2.95}
"""Student's t of 99 %, two-sided, by the number of replications."""


def departures_s(arrivals_s: Floats, services_s: Floats) -> Floats:
    """When each leaves, first come first served."""
    worked = np.cumsum(services_s)
    return np.asarray(worked + np.maximum.accumulate(arrivals_s - worked + services_s))


def waits_s(arrivals_s: Floats, services_s: Floats) -> Floats:
    """Of all but the first tenth."""
    return np.asarray((departures_s(arrivals_s, services_s) - arrivals_s - services_s)[arrivals_s.size // 10 :])


def confidence(replications: Sequence[float]) -> tuple[float, float]:
    """Interval that holds the mean in 99 %."""
    count = len(replications)
    half = _STUDENT_99[count] * float(np.std(replications, ddof=1)) / np.sqrt(count)
    middle = float(np.mean(replications))
    return middle - half, middle + half
