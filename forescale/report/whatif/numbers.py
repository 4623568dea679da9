"""Curves of plans over the load, in the mix of sources of the evaluated load.

All come from `evaluate_many`, so that the page's lines are comparable.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from math import isfinite

import numpy as np

from forescale.report.whatif.whatif import WhatIf
from modeling.arrays import Floats
from modeling.evaluate_many import ManyEstimates, evaluate_many

MAX_DRAWN = 8
BEYOND = 1.3
"""The load axis ends at this multiple of the largest load that any plan sustains."""

_SHARES = np.concatenate([np.linspace(0.001, 0.9, 60), 1 - np.geomspace(0.1, 0.005, 41)[1:]])
_OFFERED = 41


@dataclass(frozen=True)
class PlanCurve:
    """One plan; events a second of all sources together. mst_per_s: infinite if nothing saturates.

    load_per_s, p95_s: below saturation. offered_per_s, taken_per_s: beyond it too.
    """

    mst_per_s: float
    load_per_s: Floats
    p95_s: Floats
    offered_per_s: Floats
    taken_per_s: Floats


@dataclass(frozen=True)
class Curves:
    """Curves by plan. end_per_s: end of the load axis."""

    plans: Mapping[str, PlanCurve]
    end_per_s: float


def drawn_names(whatif: WhatIf) -> tuple[str, ...]:
    """Names of the drawn plans, in the given order; of many, the first ones."""
    return tuple(whatif.estimates)[:MAX_DRAWN]


def curves(whatif: WhatIf) -> Curves:
    """Curves for a nonzero load: without a load there is no mix of sources."""
    names = drawn_names(whatif)
    sustained = {name: whatif.total_per_s * whatif.estimates[name].headroom_factor for name in names}
    end_per_s = max(
        BEYOND * max((rate for rate in sustained.values() if isfinite(rate)), default=2 * whatif.total_per_s / BEYOND),
        1.05 * max(whatif.total_per_s, *whatif.peak_per_s.values(), 0.0),
    )
    plans = {}
    for name, mst_per_s in sustained.items():
        offered_per_s = _offered(mst_per_s, end_per_s)
        below = _known(*_p95_s(whatif, name, min(mst_per_s, end_per_s)))
        plans[name] = PlanCurve(mst_per_s, *below, offered_per_s, _taken(whatif, name, offered_per_s))
    return Curves(plans, end_per_s)


def largest_difference(whatif: WhatIf, lines: Curves) -> float | None:
    """Largest relative difference of the lines from the table's p95 at the load; None if no plan carries it."""
    told = {name: whatif.estimates[name].latency for name in lines.plans if whatif.estimates[name].stable}
    off = [
        abs(float(np.interp(whatif.total_per_s, curve.load_per_s, curve.p95_s)) / latency.p95_s - 1)
        for name, latency in told.items()
        if latency is not None and latency.p95_s > 0 and (curve := lines.plans[name]).p95_s.size
    ]
    return max(off, default=None)


def _many(whatif: WhatIf, name: str, scales: Floats, *, latency: bool = False) -> ManyEstimates:
    return evaluate_many(
        whatif.topology,
        whatif.profiles,
        [whatif.plans[name]],
        {source: rate * scales for source, rate in whatif.load_per_s.items()},
        latency=latency,
        arrival_cv2=whatif.arrival_cv2,
        site=whatif.site,
    )


def _p95_s(whatif: WhatIf, name: str, max_per_s: float) -> tuple[Floats, Floats]:
    scales = _SHARES * max_per_s / whatif.total_per_s
    latency = _many(whatif, name, scales, latency=True).latency
    assert latency is not None
    return scales * whatif.total_per_s, latency.p95_s[0]


def _taken(whatif: WhatIf, name: str, offered_per_s: Floats) -> Floats:
    return np.asarray(_many(whatif, name, offered_per_s / whatif.total_per_s).throughput_per_s[0].sum(axis=1))


def _offered(mst_per_s: float, end_per_s: float) -> Floats:
    """Loads of the curve, including the corner at saturation."""
    corner = [mst_per_s] if mst_per_s < end_per_s else []
    return np.unique(np.concatenate([np.linspace(0, end_per_s, _OFFERED), corner]))


def _known(load_per_s: Floats, p95_s: Floats) -> tuple[Floats, Floats]:
    """Leave out zero latencies, which a logarithmic axis cannot show."""
    shown = np.isfinite(p95_s) & (p95_s > 0)
    return load_per_s[shown], p95_s[shown]
