"""Service times of which a histogram is known."""

import pytest

from modeling.errors import ModelError
from modeling.queueing.service_shape import ServiceShape

SLOW = ServiceShape((0.001, 0.01), (0.95, 0.05))
"""Mean 1.45 ms; over it 0.6897 and 6.8966."""


def test_shape__has_the_moments_of_its_histogram() -> None:
    # by hand: (0.95 · 1 + 0.05 · 100)/1.45² − 1; E[S³] = (0.95 + 50)/1.45³, E[S⁴] = (0.95 + 500)/1.45⁴
    assert SLOW.cv2 == pytest.approx(5.95 / 2.1025 - 1)
    third, fourth = SLOW.moments(SLOW.cv2)
    assert (float(third), float(fourth)) == pytest.approx((50.95 / 1.45**3, 500.95 / 1.45**4))
    assert SLOW.largest == pytest.approx(10 / 1.45)


def test_shape__stretched_keeps_its_skewness() -> None:
    third, _ = SLOW.moments(1.0)
    skewness = (50.95 / 1.45**3 - 3 * SLOW.cv2 - 1) / SLOW.cv2**1.5
    assert float(third) == pytest.approx(skewness + 4)


def test_shape__on_a_lattice_keeps_its_mean() -> None:
    lattice = SLOW.lattice(2.9, 0.01, 4096)
    assert lattice.mean_s == pytest.approx(2.9)
    assert lattice.quantile_s(0.9) == pytest.approx(2.0, abs=0.02)
    assert lattice.quantile_s(0.96) == pytest.approx(20.0, abs=0.02)


@pytest.mark.parametrize(
    ("times_s", "shares"),
    [((), ()), ((1.0,), (0.5, 0.5)), ((-1.0,), (1.0,)), ((1.0,), (float("nan"),)), ((0.0,), (1.0,))],
)
def test_shape__of_numbers_that_cannot_be_is_refused(times_s: tuple[float, ...], shares: tuple[float, ...]) -> None:
    with pytest.raises(ModelError, match="service histogram"):
        ServiceShape(times_s, shares)
