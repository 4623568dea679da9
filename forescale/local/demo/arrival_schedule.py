"""When each tuple of a source is due, whether or not it is processed: a piecewise constant rate."""

from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

import numpy as np

from forescale.files.atomic import write_whole
from modeling.arrays import Floats


@dataclass(frozen=True)
class ArrivalSchedule:
    """from_s: seconds since the epoch, rising; each rate holds until the next one begins, the last forever."""

    from_s: tuple[float, ...]
    rate_per_s: tuple[float, ...]

    def then(self, from_s: float, rate_per_s: float) -> "ArrivalSchedule":
        """With another rate from a moment on, which must be after all others."""
        return ArrivalSchedule((*self.from_s, from_s), (*self.rate_per_s, rate_per_s))

    def due(self, at_s: Floats) -> Floats:
        """Number of tuples due by each moment."""
        phase = np.searchsorted(self.from_s, at_s, side="right") - 1
        within_s = at_s - np.array(self.from_s)[phase]
        return np.where(phase < 0, 0.0, self._before[phase] + np.array(self.rate_per_s)[phase] * within_s)

    def due_s(self, count: Floats) -> Floats:
        """The moment by which `count` tuples are due. The last rate must not be 0."""
        phase = np.maximum(np.searchsorted(self._before, count, side="left") - 1, 0)
        rate_per_s = np.array(self.rate_per_s)[phase]
        return np.asarray(np.array(self.from_s)[phase] + (count - self._before[phase]) / rate_per_s)

    def write(self, folder: Path, source: str) -> None:
        """Write the file that the modeled job reads, atomically."""
        lines = zip(self.from_s, self.rate_per_s, strict=True)
        text = "".join(f"{1e6 * from_s:.0f} {rate_per_s:g}\n" for from_s, rate_per_s in lines)
        write_whole(text, folder / f"{source}.schedule")

    @cached_property
    def _before(self) -> Floats:
        """Number of tuples due before each rate begins."""
        return np.concatenate([[0.0], np.cumsum(np.diff(self.from_s) * self.rate_per_s[:-1])])
