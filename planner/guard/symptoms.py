"""Detectors: what is unusual in a window of metrics, one symptom at a time, with its value and its bound.

A symptom of distress must show in every look: a spike shorter than the window passes by itself. Thresholds are those of
Heron's implementation of Dhalion where it has them.
"""

from itertools import pairwise
from statistics import fmean, median

import numpy as np

from modeling.arrays import Flags, Floats
from planner.guard.look import Look
from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.guard_facts import Symptom, SymptomKind

NOISE = 0.02
"""Waiting for room up to this share of the time is no backpressure; a backlog that grows by up to this share of the
arrivals is steady.
"""

SATURATED = 0.95
"""Busy share from which an instance is full; a full source shows no backpressure."""

UNLIKE = 1.5
"""Largest ratio of rates, and of service times, between similar instances."""

IDLE = 0.5
"""Share of the wanted utilisation below which an operator is over-provisioned."""

MIN_POINTS = 3
"""Looks needed for a trend."""

NEXT_TO_NOTHING_S = 1.0
"""A backlog of fewer seconds of arrivals counts as none."""


def symptoms(window: Window, terms: GuardTerms) -> tuple[Symptom, ...]:
    """All symptoms, by kind."""
    return (
        *backpressure(window),
        *saturation(window),
        *growing_queue(window),
        *lag(window, terms),
        *rate_skew(window),
        *service_skew(window),
        *idle(window, terms),
    )


def calls_for_nothing(
    busiest: Floats, suspended: Floats, backlog: Floats, several: Flags, terms: GuardTerms, *, needed: bool = False
) -> bool:
    """Whether looks can show neither distress nor idleness, so that no diagnosis follows; a cheap answer for replays,
    which ask in each minute. False says nothing.

    busiest: busy share of each operator's busiest instance, shape (looks, operators). suspended: the operators' mean
    share of the time in which they wait for room downstream, same shape. backlog: of the newest look, shape (sources,).
    several: which operators have several instances, shape (operators,). needed: whether the running plan is known to
    be, however little its operators have to do.
    """
    found = windows_call_for_nothing(
        busiest.min(axis=0), busiest.max(axis=0), suspended.min(axis=0), backlog, several, terms, needed
    )
    return bool(found)


def windows_call_for_nothing(
    least_busy: Floats,
    most_busy: Floats,
    least_suspended: Floats,
    backlog: Floats,
    several: Flags,
    terms: GuardTerms,
    needed: Flags | bool,
) -> Flags:
    """The same of many windows at once, shape (windows,): least and most over the looks of each, shape (windows,
    operators). backlog: of the newest look of each, shape (windows, sources). needed: of each or of all.
    """
    idle = _over_provisioned(most_busy < IDLE * terms.utilisation, several, terms).any(axis=-1)
    return np.asarray(
        ~backlog.any(axis=-1)
        & (least_suspended <= NOISE).all(axis=-1)
        & (least_busy < SATURATED).all(axis=-1)
        & (needed | ~idle)
    )


def _over_provisioned(little: Flags, several: Flags, terms: GuardTerms) -> Flags:
    """Operators with several instances that have little to do; where plans pay for whole slots, only if that holds for
    all that share them: no slot is spared otherwise. Shape (…, operators), as little; several has (operators,).
    """
    found = little & several
    if terms.model is not None:
        at = {name: number for number, name in enumerate(terms.model.topology.order)}
        for names in terms.model.together:
            places = [at[name] for name in names]
            found[..., places] &= (little | ~several)[..., places].all(axis=-1, keepdims=True)
    return found


def backpressure(window: Window) -> list[Symptom]:
    """Operators that wait for room downstream, in every look."""
    kind = SymptomKind.BACKPRESSURE
    return [
        Symptom(kind, name, share, NOISE)
        for name, share in window.backpressured.items()
        if all(fmean(look.operators[name].backpressured) > NOISE for look in window.looks)
    ]


def saturation(window: Window) -> list[Symptom]:
    """Operators with an instance that is always busy, in every look."""
    kind = SymptomKind.SATURATION
    least = {name: min(max(look.operators[name].busy) for look in window.looks) for name in window.topology.order}
    return [Symptom(kind, name, share, SATURATED) for name, share in least.items() if share >= SATURATED]


def growing_queue(window: Window) -> list[Symptom]:
    """Growth from each look to the next, over at least three."""
    growth, offered_per_s = window.backlog_growth_per_s, sum(window.offered_per_s.values())
    bound = NOISE * offered_per_s
    steady = all(
        more - less > bound * (later - at).total_seconds() for (at, less), (later, more) in pairwise(window.queue)
    )
    if growth is None or len(window.queue) < MIN_POINTS or not steady or _little_waits(window, window.newest):
        return []
    return [Symptom(SymptomKind.GROWING_QUEUE, "", growth, bound, offered_per_s=offered_per_s)]


def lag(window: Window, terms: GuardTerms) -> list[Symptom]:
    if window.lag_s is None or window.lag_s <= terms.max_lag_s:
        return []
    return [Symptom(SymptomKind.LAG, "", window.lag_s, terms.max_lag_s)]


def rate_skew(window: Window) -> list[Symptom]:
    """Operators whose instances receive unequal amounts."""
    found = []
    for name, rates in window.received_per_s.items():
        most, least = max(rates), min(rates)
        if most > UNLIKE * least and most > 0:
            at = rates.index(most)
            ratio = most / least if least > 0 else float("inf")
            found.append(Symptom(SymptomKind.RATE_SKEW, name, ratio, UNLIKE, at, most, least))
    return found


def service_skew(window: Window) -> list[Symptom]:
    """Operators with one instance that takes longer per tuple than its peers' median."""
    found = []
    for name, rates in window.received_per_s.items():
        service_s = {at: window.busy[name][at] / rate for at, rate in enumerate(rates) if rate > 0}
        if len(service_s) < 2:
            continue
        at = max(service_s, key=lambda index: service_s[index])
        usual_s = median(value for index, value in service_s.items() if index != at)
        if service_s[at] > UNLIKE * usual_s > 0:
            ratio = service_s[at] / usual_s
            found.append(Symptom(SymptomKind.SERVICE_SKEW, name, ratio, UNLIKE, at, service_s[at], usual_s))
    return found


def idle(window: Window, terms: GuardTerms) -> list[Symptom]:
    """Operators with several instances that had little to do in every look, while there was no backlog."""
    if not all(_little_waits(window, look) for look in window.looks):
        return []
    bound = IDLE * terms.utilisation
    busiest = {name: max(max(look.operators[name].busy) for look in window.looks) for name in window.topology.order}
    little = np.array([share < bound for share in busiest.values()])
    several = np.array([len(window.busy[name]) > 1 for name in busiest])
    found = _over_provisioned(little, several, terms)
    return [
        Symptom(SymptomKind.IDLE, name, share, bound)
        for (name, share), spared in zip(busiest.items(), found.tolist(), strict=True)
        if spared
    ]


def _little_waits(window: Window, look: Look) -> bool:
    offered = sum(window.offered_per_s.values())
    return sum(look.waiting.backlog.values()) <= NEXT_TO_NOTHING_S * offered + 1e-6
