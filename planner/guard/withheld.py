"""Whether a planned step that removes instances must wait, because load unknown to its forecast may need them."""

from collections.abc import Mapping

from planner.guard.sizing import Sizing
from planner.guard.symptoms import NEXT_TO_NOTHING_S, NOISE
from planner.guard.terms import GuardTerms
from planner.guard.window import Window
from planner.guard_facts import Need, Reason, ReasonKind


def withheld(
    plan: Mapping[str, int],
    replaces: Mapping[str, int],
    window: Window | None,
    terms: GuardTerms,
    unforeseen_settles_s: float = 0.0,
) -> Reason | None:
    """Why a plan with less capacity than the one it replaces waits; None if it may be deployed.

    window: of the running plan; None if nothing is measured yet. unforeseen_settles_s: seconds for which a scale-up of
    the guard, unknown to the plan's forecast, still settles; 0 without one.
    """
    if all(plan[name] >= count for name, count in replaces.items()):
        return None
    if unforeseen_settles_s > 0:
        return Reason(ReasonKind.UNFORESEEN, observed=unforeseen_settles_s)
    if window is None:
        return None
    sizing = Sizing(window, terms)
    if (carried_per_s := sizing.sustained_per_s(plan)) >= sizing.sustained_per_s(replaces):
        return None
    offered_per_s, waits = sum(window.offered_per_s.values()), sum(window.backlog.values())
    growth_per_s = window.backlog_growth_per_s
    if waits > NEXT_TO_NOTHING_S * offered_per_s and growth_per_s is not None and growth_per_s < -NOISE * offered_per_s:
        return Reason(ReasonKind.BACKLOG_DRAINS, observed=waits)
    # Use the newest look only: otherwise a fall that the forecast foresaw would delay the plan for a whole window.
    newest = window.newest.waiting.offered_per_s
    comes_per_s = sum(newest.get(name, offered) for name, offered in window.offered_per_s.items())
    needed_per_s = comes_per_s + waits / terms.drain_s
    if needed_per_s > carried_per_s:
        return Reason(ReasonKind.NEEDS_MORE, need=Need(comes_per_s, waits, needed_per_s, carried_per_s))
    return None
