"""What the tuples of an output stream were made of, where inputs make unlike numbers of them.

Rules that are broadcast to a matching operator make no match: matches have the age and the service of what is matched,
although rules may be most of the work.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.flow.rates import OperatorFlow
from modeling.latency.kind_loads import KindLoads


@dataclass(frozen=True)
class Leaving:
    """Arrays of shape (plans or 1, scenarios). parts: shares of the output stream's tuples made of each input stream's.
    work: mean service time of those that they were made of, over that of all input. cv2: of these service times.
    """

    parts: Mapping[str, Floats]
    work: Floats
    cv2: Floats


def leaving(flow: OperatorFlow, loads: KindLoads) -> dict[str, Leaving]:
    """By output stream; streams that all inputs make alike are left out."""
    found = {}
    for name, made in flow.profile.input_selectivity.items():
        if len(loads.parts) < 2 or len({made.get(stream, 0.0) for stream in loads.parts}) < 2:
            continue
        parts = {stream: loads.part(stream) for stream in loads.parts}
        out = {stream: part * made.get(stream, 0.0) for stream, part in parts.items()}
        whole = np.asarray(sum(out.values()))
        shares = {
            stream: np.where(whole > 0, each / np.where(whole > 0, whole, 1.0), parts[stream])
            for stream, each in out.items()
        }
        work, squares = (
            np.asarray(sum(share * loads.work(stream) ** power for stream, share in shares.items())) for power in (1, 2)
        )
        some = np.where(work > 0, work, 1.0)
        found[name] = Leaving(shares, work, np.maximum((1 + flow.cv2) * squares / some**2 - 1, 0.0))
    return found
