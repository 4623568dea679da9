"""Array types by element, and numbers for equal values."""

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

Floats = npt.NDArray[np.float64]
Ints = npt.NDArray[np.int64]
Flags = npt.NDArray[np.bool_]


def numbered(values: Sequence[object]) -> Ints:
    """An index for each value, equal for equal ones; arrays are compared by content."""
    numbers: dict[object, int] = {}
    keys = (value.tobytes() if isinstance(value, np.ndarray) else value for value in values)
    return np.array([numbers.setdefault(key, len(numbers)) for key in keys], dtype=np.int64)
