"""Parameters of a forecast: steps, horizons and effort."""

from dataclasses import dataclass

from forecasting.errors import ForecastError
from forecasting.forecast import HORIZONS_S
from forecasting.models.time_grid import DAY_S

MAX_NUMBERS = 9_000_000
"""Paths × steps of one forecaster, some 70 MB: with many steps it draws fewer paths."""
MIN_PATHS = 100


def affordable_paths(paths: int, steps: int) -> int:
    """The wanted number of paths, or as many as MAX_NUMBERS allow, but at least MIN_PATHS."""
    return min(paths, max(MIN_PATHS, MAX_NUMBERS // steps))


@dataclass(frozen=True)
class ForecastTerms:
    """step_s: width of a step, a multiple of the history's window that divides a day. horizon_s: how far paths reach.

    horizons_s: of the peak; those longer than horizon_s or not whole steps are dropped. paths: number of joint sample
    paths that are wanted; with very many steps fewer are drawn. origins: of the backtest. seed: same seed, same
    history, same forecast. prophet: whether Prophet competes.
    Raises ForecastError if no horizon is left.
    """

    step_s: int
    horizon_s: int
    horizons_s: tuple[int, ...] = HORIZONS_S
    paths: int = 400
    origins: int = 36
    seed: int = 7
    prophet: bool = False

    def __post_init__(self) -> None:
        if self.step_s <= 0 or DAY_S % self.step_s:
            raise ForecastError(f"step_s {self.step_s} does not divide a day; use for example 300, 900 or 3600")
        if self.horizon_s < self.step_s:
            raise ForecastError(
                f"horizon_s {self.horizon_s} is shorter than a step of {self.step_s} s; give at least one step"
            )
        fit = {h for h in self.horizons_s if self.step_s <= h <= self.horizon_s and h % self.step_s == 0}
        if not fit:
            raise ForecastError(
                f"none of the horizons {self.horizons_s} s is a whole number of steps of {self.step_s} s and at most "
                f"{self.horizon_s} s; name one that is"
            )
        object.__setattr__(self, "horizons_s", tuple(sorted(fit)))

    @property
    def steps(self) -> int:
        return self.horizon_s // self.step_s

    @property
    def drawn_paths(self) -> int:
        return affordable_paths(self.paths, self.steps)
