"""Waits due to recurring pauses of a server, beside those of its queue.

A pause of length L every T seconds holds up what arrives meanwhile, and the queue that it leaves is worked off at the
rate 1 - ρ. It also holds up those already there (Little's law), and those behind them. With the wait w of M/G/1 and
f = L / T tuples wait f (L / 2 / (1 - ρ) + w / (1 - f - ρ) + w + s) longer on average: exact where a queue ends before
the next pause.
"""

import numpy as np

from modeling.arrays import Floats
from modeling.queueing.queues import NEARLY_FULL, kingman_waits_s


def pause_waits(
    utilisation: Floats | float, share: float, length_s: float, service_s: Floats | float, service_cv2: Floats | float
) -> tuple[Floats, Floats]:
    """Share of the tuples that are held up, and their longest wait in seconds; waits are uniform between 0 and that.

    utilisation, service_s: without pauses. share: of the time in pauses. Where a queue lasts until the next pause,
    every tuple waits, and the longest wait grows instead.

    >>> chance, longest_s = pause_waits(0.55, 0.05, 0.5, 0.0, 1.0)
    >>> round(float(chance), 3), float(longest_s)  # .05 / (1 - .55)
    (0.111, 0.5)
    """
    busy = np.minimum(np.asarray(utilisation, dtype=np.float64), NEARLY_FULL)
    idle = np.maximum(1 - share - busy, 1 - NEARLY_FULL)
    wait_s = kingman_waits_s(busy, service_s, 1.0, service_cv2)
    there_s = wait_s / idle + wait_s + service_s
    held_up = share / (1 - busy) + 2 * share / length_s * there_s
    return np.minimum(held_up, 1.0), length_s * np.maximum(held_up, 1.0)
