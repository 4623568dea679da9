"""Estimates how a job warms up after a start, from what past deployments took in while a backlog waited."""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
from modeling.rescaling.rescale_model import DECLARED_WEIGHT
from modeling.rescaling.warm_up import WarmUp

MIN_DEPLOYMENTS = 2
"""With fewer, the declared warm-up is used."""
RISES = 1.05
"""A speed that grows by more than this is not full yet."""
_DECLARED_SPANS_S = np.arange(0.0, 241.0, 20.0)
"""Edges of the spans in which the declared warm-up counts as measured."""
_SHARES = np.linspace(0.04, 1.0, 49)
_WARM_S = np.geomspace(10.0, 1800.0, 60)


@dataclass(frozen=True)
class SpeedSample:
    """What all sources took in during a span in which tuples waited at each of them. from_s, until_s: seconds after the
    plan began to run. taken_per_s: in the span; capacity_per_s: predicted for the plan at full speed; both in tuples
    per second over all sources.
    """

    from_s: float
    until_s: float
    taken_per_s: float
    capacity_per_s: float


@dataclass(frozen=True)
class LearnedWarmUp:
    """deployments: number of those it was learnt from, 0 if it is the declared one. known: number of those whose speed
    was seen.
    """

    warm_up: WarmUp
    declared: WarmUp
    deployments: int
    known: int


def learned_warm_up(deployments: Sequence[Sequence[SpeedSample]], declared: WarmUp) -> LearnedWarmUp:
    """The curve with the least mean absolute error, over deployments and the declared curve, which counts as
    DECLARED_WEIGHT of them: absolute errors, so that one odd deployment moves it little. deployments: one or more
    samples of each.
    """
    if len(deployments) < MIN_DEPLOYMENTS:
        return LearnedWarmUp(declared, declared, 0, len(deployments))
    edges_s = _DECLARED_SPANS_S
    pieces = [(edges_s[:-1], edges_s[1:], _mean_shares(declared, edges_s[:-1], edges_s[1:]), DECLARED_WEIGHT)]
    for samples in deployments:
        from_s, until_s = (np.array([getattr(each, name) for each in samples]) for name in ("from_s", "until_s"))
        pieces.append((from_s, until_s, _shares(samples, declared), 1.0))
    curves = [WarmUp(float(share), float(warm_s)) for warm_s in _WARM_S for share in _SHARES]

    def misfit(curve: WarmUp) -> float:
        return sum(
            weight * float(np.abs(_mean_shares(curve, from_s, until_s) - measured).mean())
            for from_s, until_s, measured, weight in pieces
        )

    return LearnedWarmUp(min(curves, key=misfit), declared, len(deployments), len(deployments))


def _shares(samples: Sequence[SpeedSample], declared: WarmUp) -> Floats:
    """Speeds as shares of full speed: of that after the declared warm-up if it rises no more, since it is free of the
    model's error; else of the prediction or the highest speed, whichever is more.
    """
    speeds = np.array([each.taken_per_s for each in samples])
    warm = [each.taken_per_s for each in samples if each.from_s >= declared.warm_s]
    level = len(warm) > 1 and declared.takes_time and warm[-1] <= RISES * warm[0]
    full = float(np.median(warm)) if level else max(speeds.max(), samples[0].capacity_per_s)
    return np.minimum(1.0, speeds / full)


def _mean_shares(curve: WarmUp, from_s: Floats, until_s: Floats) -> Floats:
    return np.asarray(1.0 - (curve.lost_s(until_s) - curve.lost_s(from_s)) / (until_s - from_s))
