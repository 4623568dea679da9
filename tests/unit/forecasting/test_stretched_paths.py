"""Paths stretched to calibrated peaks: no seam at the end of a horizon, and peaks of all horizons as calibrated."""

import numpy as np
import pytest

from forecasting.deployed import stretched
from forecasting.peaks import peak_quantiles_per_s

AT = (0.5, 0.9, 0.95, 0.99)
STEPS = (3, 12, 72, 288)


def paths(spread: float = 0.3, count: int = 400) -> np.ndarray:
    return np.exp(spread * np.random.default_rng(1).normal(size=(count, STEPS[-1]))) * 100


def test_the_end_of_a_horizon__is_no_seam() -> None:
    flat = np.full((100, 288), 100.0)
    # The next 3 steps must reach 200, the next 12 no more: afterwards the factor 2 fades over 3 steps, to 2^(3/4), …
    done = stretched(flat, (3, 12), np.array([[200.0] * 4, [200.0] * 4]), AT)
    assert done[0, :3] == pytest.approx([200] * 3)
    assert (np.diff(np.log(done[0])) >= -np.log(2) / 4 - 1e-9).all()
    # A single factor for the first three and none from the fourth on would be a step of log 2.


def test_peaks_of_every_horizon__are_as_calibrated() -> None:
    wanted = peak_quantiles_per_s(paths(), STEPS, AT) * np.array([[1.5], [1.4], [1.2], [1.1]])
    wanted = np.maximum.accumulate(wanted, axis=0)
    present = peak_quantiles_per_s(stretched(paths(), STEPS, wanted, AT), STEPS, AT)
    assert present[0] == pytest.approx(wanted[0], rel=0.01)
    assert present == pytest.approx(wanted, rel=0.04)


def test_factors__stay_within_a_third_and_three_however_many_sweeps() -> None:
    wanted = peak_quantiles_per_s(paths(), (288,), AT) * 100
    assert stretched(paths(), (288,), wanted, AT) == pytest.approx(paths() * 3)


def test_a_step_of_zero__stays_zero() -> None:
    closed = paths()
    closed[:, 5] = 0.0
    wanted = peak_quantiles_per_s(closed, STEPS, AT) * 1.3
    assert (stretched(closed, STEPS, wanted, AT)[:, 5] == 0).all()
