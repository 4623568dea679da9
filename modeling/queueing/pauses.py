"""Waits due to recurring pauses of a server, beside those of its queue.

A pause of length L holds up what arrives meanwhile, and the queue that it leaves is worked off at the rate 1 - ρ: of
all tuples f / (1 - f - ρ) are held up, f the share of time in pauses, evenly between 0 and L. In simulations within
10 % up to a utilisation of .8; beyond, queues of several pauses meet, and waits are up to 20 % shorter.
"""

import numpy as np

from modeling.arrays import Floats
from modeling.queueing.queues import NEARLY_FULL


def pause_waits(utilisation: Floats | float, share: float, length_s: float) -> tuple[Floats, Floats]:
    """Share of the tuples that are held up, and their longest wait in seconds; waits are uniform between 0 and that.

    utilisation: without pauses. share: of the time in pauses. Where a queue lasts until the next pause, every tuple
    waits, and the longest wait grows instead.

    >>> chance, longest_s = pause_waits(0.55, 0.05, 0.5)
    >>> round(float(chance), 3), float(longest_s)  # .05 / (1 - .05 - .55)
    (0.125, 0.5)
    """
    idle = np.maximum(1 - share - np.asarray(utilisation, dtype=np.float64), 1 - NEARLY_FULL)
    held_up = share / idle
    return np.minimum(held_up, 1.0), length_s * np.maximum(held_up, 1.0)
