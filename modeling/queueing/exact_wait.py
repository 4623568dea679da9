"""The wait in G/G/1, exact except for the lattice, given the distributions of arrivals and services.

Unlike the closed forms of modeling/queueing/queues.py, which guess the shape from the mean, this solves Lindley's
equation W = max(0, W + S − A). Only two moments of A and S are known, so their two-moment distributions are used.
"""

from functools import lru_cache

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.queueing.lattice import Lattice, two_moment_lattice
from modeling.queueing.queues import NEARLY_FULL, delay_probability, delayed_cv2, klb_waits_s
from modeling.queueing.service_shape import ServiceShape, service_lattice
from modeling.queueing.two_moments import tail_s

SIZE = 2**13
"""Steps of a lattice: a solution takes some milliseconds."""

MAX_GAP = 2**15 - SIZE
"""Maximum steps of interarrival times; longer ones are cut there, where hardly anything waits."""

MIN_STEPS = 8.0
"""Minimum steps per mean service and interarrival time: a coarser lattice would add variability."""


SELDOM = 0.01
"""If fewer services than this outlast an interarrival time, hardly ever two in a row do, and a tuple waits for one
service at most. The lattice's error, from long gaps where transforms wrap around, would be larger: even gaps stay in
step for long."""


_NEVER_ZERO = 1e-15
"""Constant gaps and services have further zeros besides z = 1; otherwise this is below rounding."""


def exact_wait(
    utilisation: float, service_s: float, ca2: float, cs2: float, shape: ServiceShape | None = None
) -> Lattice:
    """Distribution of the wait in G/G/1; all mass at infinity if utilisation is 1 or more.

    shape: of the services, instead of the two-moment distribution.

    By Spitzer's identity: with X = S − A, the transform of W is exp(Σ aₖ(zᵏ − 1)) over k > 0, where −aₖ are the
    coefficients of log(1 − E[zˣ]), from one Fourier transform. The factor 1 − z⁻¹ is divided out first: it contains the
    zero at z = 1 and has no positive coefficients.
    Near saturation, where one lattice cannot represent both waits and services (above a utilisation of about 0.98), the
    closed form is put on the lattice instead; there it is exact in the limit.
    """
    if utilisation >= 1:
        return Lattice(1.0, np.zeros(SIZE))
    utilisation = min(utilisation, NEARLY_FULL)
    mean_s, delayed = (
        float(klb_waits_s(utilisation, service_s, ca2, cs2)),
        float(delay_probability(utilisation, ca2, cs2)),
    )
    if service_s == 0 or utilisation == 0:
        return Lattice(max(service_s, 1e-9) / MIN_STEPS, np.eye(1, SIZE)[0])
    # Mean wait of those that wait.
    waited_s, waited_cv2 = mean_s / delayed if delayed > 0 else 0.0, float(delayed_cv2(utilisation, cs2))
    longest_s = service_s + 16 * max(tail_s(waited_s, max(waited_cv2, 1.0)), tail_s(service_s, max(cs2, 1.0)))
    if shape is not None:
        longest_s = max(longest_s, 2 * shape.largest * service_s)
    step_s = longest_s / SIZE
    if step_s > service_s / MIN_STEPS:
        return _closed_form(step_s, delayed, waited_s, waited_cv2)
    gap_s = service_s / utilisation
    gap_steps = int(np.clip(14 * tail_s(gap_s, max(ca2, 1.0)) / step_s, SIZE, MAX_GAP))
    around = 2 ** int(np.ceil(np.log2(SIZE + gap_steps)))
    services = service_lattice(service_s, cs2, shape, step_s, SIZE).mass
    gaps = two_moment_lattice(gap_s, ca2, step_s, around - SIZE).mass
    drift = float(gaps @ np.arange(gaps.size) - services @ np.arange(SIZE))
    if drift <= 0:  # the lattice rounds the last idle time away
        return _closed_form(step_s, delayed, waited_s, waited_cv2)
    return Lattice(step_s, _spitzer(services, gaps, drift))


def _closed_form(step_s: float, delayed: float, waited_s: float, waited_cv2: float) -> Lattice:
    """waited_s, waited_cv2: of those that wait, a share `delayed`."""
    masses = two_moment_lattice(waited_s, waited_cv2, step_s, SIZE).mass * delayed
    masses[0] += 1 - delayed
    return Lattice(step_s, masses)


def _spitzer(services: Floats, gaps: Floats, drift: float) -> Floats:
    """Masses of W from those of S and A; transforms are long enough for both together. All are of real numbers."""
    size, around = services.size, services.size + gaps.size
    change = np.fft.rfft(services, around) * np.conj(np.fft.rfft(gaps, around))
    outlasting = np.maximum(np.fft.irfft(change, around)[1:size], 0.0)
    if outlasting.sum() < SELDOM:
        return np.concatenate([[1 - outlasting.sum()], outlasting])
    log = np.empty(change.size, dtype=complex)
    # Both differences are in the right half plane, so principal logarithms are continuous.
    log[1:] = np.log(1 - change[1:] + _NEVER_ZERO) - _log_of_turns(around)
    log[0] = np.log(drift)
    upward = np.zeros(around)
    upward[1:size] = -np.fft.irfft(log, around)[1:size]
    solved = np.fft.irfft(np.exp(np.fft.rfft(upward) - upward.sum()), around)[:size]
    masses = np.maximum(solved, 0.0)
    return np.asarray(masses / masses.sum())


@lru_cache(4)
def _log_of_turns(around: int) -> npt.NDArray[np.complex128]:
    """log(1 − z) at the roots of unity of the upper half plane, without z = 1."""
    return np.asarray(np.log(1 - np.exp(2j * np.pi * np.arange(1, around // 2 + 1) / around)))
