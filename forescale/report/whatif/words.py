"""What an engineer comparing plans reads first: which carry the load, and what limits the others."""

from collections.abc import Mapping
from math import isfinite

from forescale.report.kit.table import Sentence
from forescale.report.kit.wording import balance, duration, number, percent, rate, sentence, service_time, shortened
from forescale.report.whatif.whatif import WhatIf
from modeling.estimate import Estimate
from modeling.excuse import Excuse
from modeling.flow.limits import OperatorLimit
from modeling.rescaling.plan_change import RescaleEstimate
from modeling.wording import count_of

MAX_PRESSURES = 3
_HOUR_S = 3600
_MAX_SOURCES = 3


def headline(whatif: WhatIf) -> str:
    """One sentence: which plans carry the load, and the smallest that does."""
    count, carrying = len(whatif.estimates), whatif.carrying
    load = load_text(whatif)
    if not whatif.total_per_s:
        return f"Without a load nothing is full: {count_of(count, 'plan')}"
    if count == 1:
        return _alone(whatif, load)
    if not carrying:
        nearest = max(whatif.estimates, key=lambda name: whatif.estimates[name].headroom_factor)
        near = percent(whatif.estimates[nearest].headroom_factor)
        return f"None of {count} plans carries {load}; {_name(nearest)} comes nearest, at {near} of it"
    fitting = [name for name in carrying if whatif.fits(name)]
    alike = [name for name in fitting or carrying if whatif.as_small(name, (fitting or carrying)[0])]
    best = max(alike, key=lambda name: whatif.estimates[name].headroom_factor)
    room = f"with {headroom(whatif.estimates[best])} headroom"
    over = "" if fitting else ", though over the size of its containers"
    if len(carrying) == 1:
        return f"1 of {count} plans carries {load}: {_name(best)}, {room}{over}"
    who = ("Both" if count == 2 else f"All {count}") if len(carrying) == count else f"{len(carrying)} of {count}"
    fits = fitting and fitting[0] != carrying[0]
    if len(alike) > 1:
        smallest = "among the smallest of them" + (" that fit their containers" if fits else "")
    else:
        smallest = "the smallest of them" + (" that fits its containers" if fits else "")
    return f"{who} plans carry {load}; {_name(best)} is {smallest}, {room}{over}"


def sentences(whatif: WhatIf) -> tuple[Sentence, ...]:
    """The load, notable facts on each plan, and notes."""
    told = [Sentence("Load", _load(whatif))]
    told += [Sentence(shortened(name, 80), _plan(whatif, name)) for name in whatif.estimates]
    notes = dict.fromkeys(note for estimate in whatif.estimates.values() for note in estimate.notes)
    everywhere = [note for note in notes if all(note in one.notes for one in whatif.estimates.values())]
    told += [Sentence("Note", sentence(note)) for note in everywhere]
    for name, estimate in whatif.estimates.items():
        own = [note for note in dict.fromkeys(estimate.notes) if note not in everywhere]
        told += [Sentence(f"Note on {shortened(name, 70)}", sentence(note)) for note in own]
    return tuple(told)


def load_text(whatif: WhatIf) -> str:
    """`ingest 1.2/s`; of many sources their sum."""
    offered = {source: per_s for source, per_s in whatif.load_per_s.items() if per_s > 0}
    if len(offered) > _MAX_SOURCES:
        return f"{rate(whatif.total_per_s)} from {count_of(len(offered), 'source')}"
    return " and ".join(f"{shortened(source)} {rate(per_s)}" for source, per_s in offered.items())


def headroom(estimate: Estimate) -> str:
    """Share by which the load could grow; if negative, by which it is too large."""
    if not isfinite(estimate.headroom_factor):
        return "unbounded"
    room = estimate.headroom_factor - 1
    return percent(room) if room >= 0 else f"−{percent(-room)}"


def seconds(value_s: float) -> str:
    """Time of one tuple, in the unit that reads best; `unstable` if infinite."""
    if not isfinite(value_s):
        return "unstable"
    return duration(value_s) if value_s >= 60 else service_time(value_s) if value_s > 0 else duration(0.0)


def _name(name: str) -> str:
    return shortened(name, 60)


def _alone(whatif: WhatIf, load: str) -> str:
    [(name, estimate)] = whatif.estimates.items()
    if estimate.stable:
        over = "" if whatif.fits(name) else ", though over the size of its containers"
        return f"{_name(name)} carries {load} with {headroom(estimate)} headroom{over}"
    return (
        f"{_name(name)} does not carry {load}: {shortened(str(estimate.bottleneck))} is full at "
        f"{percent(estimate.headroom_factor)} of it"
    )


def _load(whatif: WhatIf) -> str:
    rates = ", ".join(f"{source} {rate(per_s)}" for source, per_s in whatif.load_per_s.items())
    together = f"; together {rate(whatif.total_per_s)}" if len(whatif.load_per_s) > 1 else ""
    waiting = ", ".join(f"{number(count)} at {source}" for source, count in whatif.backlog.items() if count > 0)
    behind = f" Waiting already: {waiting}." if waiting else ""
    return f"{rates} ({whatif.origin}){together}.{behind}"


def _plan(whatif: WhatIf, name: str) -> str:
    estimate = whatif.estimates[name]
    told = _carried(estimate) if estimate.stable else _refused(whatif, name)
    over = estimate.resources.over
    told += [sentence(one.text) for one in over[:MAX_PRESSURES]]
    if len(over) > MAX_PRESSURES:
        told.append(f"{len(over) - MAX_PRESSURES} more are over their bound.")
    told += [
        f"The load of the busiest instance behind {stream} is uncertain: {balance(why)}."
        for stream, why in estimate.bounds.items()
    ]
    if estimate.rescale is not None:
        told.append(_change(estimate.rescale, estimate.plan_id))
    return " ".join(told)


def _carried(estimate: Estimate) -> list[str]:
    if not isfinite(estimate.headroom_factor):
        return ["Nothing in it fills up."]
    most = _rates(estimate.mst_per_s)
    used = 1 / estimate.headroom_factor
    return [f"Carries up to {most}; {estimate.bottleneck} is full first, {percent(used)} now."]


def _refused(whatif: WhatIf, name: str) -> list[str]:
    estimate = whatif.estimates[name]
    used = 1 / estimate.headroom_factor
    told = [f"Unstable: {estimate.bottleneck} would be {percent(used)} busy; at most {_rates(estimate.mst_per_s)}."]
    growth = {source: per_s for source, per_s in estimate.excess_per_s.items() if per_s > 0}
    if growth:
        an_hour = number(_HOUR_S * sum(growth.values()))
        lag = ""
        if whatif.max_lag_s is not None and isfinite(
            after_s := estimate.time_to_violation_s(whatif.max_lag_s, whatif.backlog)
        ):
            lag = f", and the lag passes {duration(whatif.max_lag_s)} after {duration(after_s)}"
        told.append(f"The backlog grows by {_rates(growth)}: {an_hour} events in an hour{lag}.")
    return [*told, _help(whatif, name)]


def _help(whatif: WhatIf, name: str) -> str:
    estimate, plan = whatif.estimates[name], whatif.plans[name]
    enough = whatif.enough.get(name, {})
    if not isinstance(estimate.bottleneck, OperatorLimit) and (isinstance(enough, Excuse) or not enough):
        return f"What would help with {estimate.bottleneck}: {estimate.bottleneck.remedy}."
    if isinstance(enough, Excuse):
        return f"{shortened(enough.operator)}: {enough.remedy}."
    if not enough:
        return f"What would help: more instances of {estimate.bottleneck}."
    raised = ", ".join(f"{name} {count} instead of {plan.parallelism[name]}" for name, count in enough.items())
    return f"Just enough, without headroom: {raised}."


def _change(change: RescaleEstimate, plan_id: str) -> str:
    if change.current_plan_id == plan_id:
        return "This is the plan that runs."
    down = f"{duration(change.downtime_s)} (p95 {duration(change.downtime_p95_s)})"
    behind = f"{number(change.backlog)} events behind"
    if not isfinite(change.catch_up_s):
        return f"Changing to it takes {down}, and leaves {behind} that are never caught up."
    return f"Changing to it takes {down}, and {duration(change.catch_up_s)} more until {behind} are caught up."


def _rates(per_s: Mapping[str, float]) -> str:
    return ", ".join(f"{source} {rate(each)}" for source, each in per_s.items() if each > 0)
