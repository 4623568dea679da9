"""What a decision was made from, in words: the one place where the facts of planner/decision_basis.py become text."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from forescale.report.kit.drift_words import drift_words
from forescale.report.kit.outage_words import outage_words
from forescale.report.kit.stands_on import placeholder_line
from forescale.report.kit.wording import number
from modeling.wording import count_of, rounded
from planner.decision_basis import (
    ArrivalFacts,
    BudgetFacts,
    CalibrationFacts,
    Cause,
    CauseKind,
    DecisionBasis,
    LearnedFacts,
    LearnedNumber,
    PriceFacts,
    Rung,
    WarmUpFacts,
)
from planner.edit_facts import Edit, ExpectedValues, brief
from planner.horizon.budget import PACED
from planner.learned_rescale import MIN_DEPLOYMENTS
from planner.ledger.minute_records import MinuteCount
from planner.pricing.instance_cost import CostQuantity, UnknownCost

SHOWN_DRIFTS = 3
STEADY = 1.05  # factor below which arrivals that rise are not worth a figure
_QUALITY = {
    "min_observed": ("windows were observed", "needed"),
    "max_quarantined": ("rows are in quarantine", "allowed"),
    "max_late": ("rows came too late", "allowed"),
    "max_duplicates": ("rows are duplicates", "allowed"),
}
"""What a bound of arrivals.quality counts, and whether its value is needed or allowed."""
RUNGS = {
    Rung.FORECAST: "forecast",
    Rung.PROFILE: "time-of-week profile",
    Rung.GUARD: "guard alone",
    Rung.HOLD: "hold",
}


def causes_words(basis: DecisionBasis) -> str:
    """Why it is no better rung, and other problems with its inputs; empty if nothing is wrong. Service times that
    nobody has measured have a line of their own, where a decision says what it stands on.
    """
    words = [cause_words(cause) for cause in basis.causes]
    facts = replace(basis.calibration, unmeasured=()) if placeholder_line(basis.stands_on, "") else basis.calibration
    calibration = calibration_words(facts) if facts.amiss else ""
    return "; ".join([*words, *([f"calibration: {calibration}"] if calibration else [])])


def basis_summary(basis: DecisionBasis) -> str:
    """The rung with the causes; empty if nothing is wrong."""
    causes = causes_words(basis)
    return f"{RUNGS[basis.rung]}: {causes}" if causes else ""


def cause_words(cause: Cause) -> str:
    forecast = f"forecast of {cause.source}"
    match cause.kind:
        case CauseKind.NO_FORECAST:
            return f"there is no {forecast}"
        case CauseKind.STALE_FORECAST:
            return f"{forecast} is {hours(cause.value)} old (planning.stale_s: {hours(cause.bound)})"
        case CauseKind.ENDED_FORECAST:
            return f"{forecast} ended at {_minute(cause.at)} UTC"
        case CauseKind.SHORT_FORECAST:
            return f"{forecast} reaches {hours(cause.value)} ahead, {hours(cause.bound)} are needed"
        case CauseKind.UNREADABLE_FORECAST:
            return f"{forecast} cannot be read: {cause.detail}"
        case CauseKind.OTHER_GRID:
            own, other = (f"from {at:%H:%M} in {step_s:g} s" for at, step_s in _grids(cause))
            return f"{forecast} {own} does not match that of {cause.other} {other}"
        case CauseKind.POOR_HISTORY:
            return _poor(cause)
        case CauseKind.UNKNOWN_QUALITY:
            return f"the quality of the history is not known: {cause.detail}"
        case CauseKind.NO_PROFILE:
            return f"no profile: {_poor(cause) if cause.setting else cause.detail}"
        case CauseKind.NO_HISTORY | CauseKind.RECORDED:
            return cause.detail
        case CauseKind.SUSPECTED_OUTAGE:
            if cause.at is None or cause.other_at is None:
                return f"events of {cause.source} were lost, as it seems"
            return outage_words(cause.source, cause.at, cause.other_at, cause.value or 0.0)


def _grids(cause: Cause) -> Iterator[tuple[datetime, float]]:
    """Start and width of the steps of both forecasts."""
    for at, step_s in ((cause.at, cause.value), (cause.other_at, cause.bound)):
        if at is not None and step_s is not None:
            yield at, step_s


def _poor(cause: Cause) -> str:
    what, side = _QUALITY.get(cause.setting, (cause.setting, "allowed"))
    value, bound = (f"{100 * (share or 0.0):.3g} %" for share in (cause.value, cause.bound))
    return f"history of {cause.source}: {value} of the {what}, {bound} {side} (arrivals.quality.{cause.setting})"


def calibration_words(facts: CalibrationFacts) -> str:
    """Why profiles are not freshly measured, what has drifted, and whether MLflow lacks them; empty if all is well."""
    if facts.recorded:
        return facts.recorded
    drifts = "; ".join(map(drift_words, facts.drifts[:SHOWN_DRIFTS]))
    more = f" and {len(facts.drifts) - SHOWN_DRIFTS} more" if len(facts.drifts) > SHOWN_DRIFTS else ""
    return "; ".join(
        [
            *([f"not measured now: {facts.failure}"] if facts.failure else []),
            *([_fresh(facts.fresh_since)] if facts.fresh_since else []),
            *([_unmeasured(facts.unmeasured)] if facts.unmeasured else []),
            *([f"drifted: {drifts}{more}"] if facts.drifts else []),
            *([_contradicted(facts.contradicted)] if facts.contradicted else []),
            *([f"not in MLflow: {facts.untracked}"] if facts.untracked else []),
        ]
    )


def calibration_notes(facts: CalibrationFacts) -> tuple[str, ...]:
    """What is no problem, and worth knowing all the same."""
    return (_fresh(facts.fresh_since),) if facts.fresh_since else ()


def _fresh(since: datetime) -> str:
    return f"nothing is measured yet of the plan that runs since {since:%H:%M:%S} UTC, so what was known before counts"


def _unmeasured(operators: tuple[str, ...]) -> str:
    return f"never measured: {', '.join(operators)}; the topology file's values count until forescale model calibrate"


def _contradicted(operators: tuple[str, ...]) -> str:
    return f"one look at {', '.join(operators)} contradicts the calibration, which counts until a second look agrees"


def arrival_words(facts: ArrivalFacts) -> str:
    """The measured variability, or why the arrivals are taken as Poisson; or what the forecast does not know."""
    if facts.silent_s is not None:
        return (
            f"nothing was observed of {facts.source} in the last {facts.silent_s / 60:.0f} min that the forecast knows"
        )
    if facts.hidden is not None:
        return (
            f"{facts.source} gets {facts.hidden.factor:.2g} times the mean of its step of {facts.hidden.step_s} s each "
            f"hour about minute {facts.hidden.minute:g}, for less than the step: the forecast has the mean alone; "
            f"forecast.step_s: {facts.window_s:g} shows it"
        )
    if facts.detail:
        return f"arrivals are taken as Poisson: {facts.detail}"
    if facts.factor is None or facts.mean_s is None or facts.share is None:
        windows = f"{count_of(facts.windows, 'window')} of {facts.window_s:g} s" if facts.windows else "no window"
        return (
            f"arrivals at {facts.source} are taken as Poisson: {windows} within {PACED.days} days do not show how they "
            "vary"
        )
    if facts.factor < STEADY:
        return f"arrivals at {facts.source} are steady: measured in windows of {facts.window_s:g} s"
    assumed = " (assumed: shorter than a window)" if facts.assumed else ""
    return (
        f"arrivals at {facts.source} rise to {facts.factor:.3g} times their rate for {number(facts.mean_s)} s"
        f"{assumed}, {facts.share:.0%} of the time: measured in windows of {facts.window_s:g} s"
    )


def load_notes(basis: DecisionBasis) -> tuple[str, ...]:
    """What the steps of the forecast hide."""
    return tuple(arrival_words(each) for each in basis.arrivals if each.hidden is not None)


def learned_words(facts: LearnedFacts) -> dict[str, str]:
    """The downtime, the lead time and the warm-up that are planned with, and why."""
    by_state = ""
    if facts.restore_s_per_gib is not None and facts.restore_learnt:
        by_state = f", at {facts.restore_s_per_gib:.3g} s per GiB of state"
    elif facts.restore_s_per_gib is not None:
        by_state = f", and {facts.restore_s_per_gib:.3g} s per GiB of restored state, as the site file says"
    words = {"downtime": f"{_learned(facts.downtime)}{by_state}", "lead time": _learned(facts.lead)}
    if facts.warm_up is not None and (facts.warm_up.warm_s or facts.warm_up.deployments):
        words["warm-up"] = _warm_up(facts.warm_up)
    return words


def _warm_up(facts: WarmUpFacts) -> str:
    curve = f"from {facts.start_share:.0%} of full speed at the start to full speed in {rounded(facts.warm_s)} s"
    if facts.deployments:
        return f"{curve}, learnt from {facts.deployments} deployments; before that {rounded(facts.declared_s)} s"
    known = count_of(facts.known, "deployment")
    return f"{curve}, declared or assumed of new JVMs; seen in {known}, {MIN_DEPLOYMENTS} are needed"


def _learned(number: LearnedNumber) -> str:
    before = f"{rounded(number.declared_s)} s"
    if number.deployments:
        return f"{rounded(number.seconds)} s, learnt from {number.deployments} deployments; before that {before}"
    known = count_of(number.known, "deployment")
    return f"{before}, declared or by default; measured in {known}, {MIN_DEPLOYMENTS} are needed"


def price_words(facts: PriceFacts) -> str:
    if facts.instance_per_hour is None:
        return f"all instances count the same; {unknown_cost_words(UnknownCost(CostQuantity.PRICE, facts.unpriced))}"
    what = "instances of each operator"
    if facts.packer:
        what = f"containers{f' and nodes of {facts.site}' if facts.site else ''}, packed by {facts.packer}"
    return f"{what}; an instance-hour is {rounded(facts.instance_per_hour, 4)}"


def unknown_cost_words(unknown: UnknownCost) -> str:
    what, total = {
        CostQuantity.CORES: ("cores", "CPU-hours"),
        CostQuantity.MEMORY: ("memory", "memory-hours"),
        CostQuantity.PRICE: ("price", "price"),
    }[unknown.quantity]
    return (
        f"no {total}: the {what} of an instance of {', '.join(unknown.operators)} is not known; declare "
        f"{unknown.quantity}"
    )


def budget_words(facts: BudgetFacts) -> str:
    if not facts.past_minutes:
        lacking = "no whole day of the shadow" if facts.in_shadow else "no lag"
        return f"{lacking} is known for the past {PACED.days} days, so none of their minutes count"
    past = past_late(MinuteCount(int(facts.past_minutes), int(facts.used_minutes)), in_shadow=facts.in_shadow)
    if facts.allowed_minutes is None:
        return f"{past}; each costs {facts.price_h or 0.0:g} instance-hours"
    return f"{past}; {facts.allowed_minutes:g} are allowed"


def past_late(past: MinuteCount, *, in_shadow: bool) -> str:
    """Late minutes of the past week, and the number of known minutes."""
    were = "would have been" if in_shadow else "was" if past.in_violation == 1 else "were"
    known = "of whole days" if in_shadow else "known"
    return f"{past.in_violation:,} of {count_of(past.known, 'minute')} {known} in {PACED.days} days {were} late"


def basis_rows(basis: DecisionBasis) -> Iterable[tuple[str, str]]:
    """Name and text of everything that reproduces or explains the decision; nothing for what is not known."""
    edit = basis.edit
    rows = {
        "rung": basis_summary(basis),
        "forecasts": " ".join(basis.forecasts),
        "history": " ".join(basis.histories),
        "profiles": " ".join(basis.profiles),
        "shadow plan" if basis.shadow else "running plan": basis.starts_from,
        "mode": "floor" if basis.floor else "",
        "topology file": basis.topology_digest,
        "site file": basis.site_digest,
        "candidates": ", ".join(f"{name} ({plan_id})" for name, plan_id in basis.candidates.items()),
        "fleet": "nothing is shared" if basis.fleet == "" else basis.fleet or "",
        "calibration": calibration_words(basis.calibration),
        "last calibration that changed": basis.calibration_digest,
        "calibration version": basis.calibration.version,
        "arrivals": "; ".join(map(arrival_words, basis.arrivals)),
        **(learned_words(basis.learned) if basis.learned else {}),
        "prices": price_words(basis.prices) if basis.prices else "",
        "budget": budget_words(basis.budget) if basis.budget else "",
        "sources": basis.unjoined,
        "edited from": edit.in_place_of if edit else "",
        "edited by": edit.by if edit else "",
        "edited because": edit.why if edit else "",
        "edited past": "; ".join(map(str, edit.all_overridden)) if edit else "",
    }
    return sorted((name, text) for name, text in {**basis.others, **rows}.items() if text)


def effect(before: ExpectedValues, after: ExpectedValues) -> str:
    """Effect of an edit."""
    priced = ""
    if before.price is not None and after.price is not None:
        priced = f"a price of {rounded(after.price)} instead of {rounded(before.price)}, "
    return (
        f"{rounded(after.instance_hours)} instance-hours instead of {rounded(before.instance_hours)}, {priced}"
        f"{rounded(after.violation_minutes, 2)} min late expected instead of "
        f"{rounded(before.violation_minutes, 2)}, with a probability of {after.violation_probability:.0%} "
        f"instead of {before.violation_probability:.0%}"
    )


def edit_words(edit: Edit, plan: str, at: datetime | None) -> str:
    """Who changed what, why, and past which limits. plan, at: of the edited step now."""
    was = f" instead of {brief(edit.was_plan)} at {edit.was_at:%a %H:%M} UTC" if edit.was_at is not None else ""
    change = f"{plan} at {at:%a %H:%M} UTC{was}" if at is not None else plan
    overrides = f", which overrides: {'; '.join(map(str, edit.overridden))}" if edit.overridden else ""
    return f"edited by {edit.by}: {change}" + (f" ({edit.why})" if edit.why else "") + overrides


def hours(seconds: float | None) -> str:
    span_h = (seconds or 0.0) / 3600
    return f"{span_h:.2g} h" if span_h < 99.5 else f"{span_h / 24:.0f} d"


def _minute(at: datetime | None) -> str:
    return "–" if at is None else f"{at:%Y-%m-%d %H:%M}"
