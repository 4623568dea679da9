"""The guard's symptoms, diagnoses and reasons in words."""

from collections.abc import Iterable

from forescale.report.kit.step_reasons import why_words
from planner.edit_facts import brief
from planner.guard_facts import Diagnosis, DiagnosisKind, Reason, ReasonKind, Scaling, Symptom, SymptomKind
from planner.ledger.entries import BarredPair, GuardAction


def symptom_words(symptom: Symptom) -> str:
    name, value = symptom.operator, symptom.value
    match symptom.kind:
        case SymptomKind.BACKPRESSURE:
            return f"{name} waits for room downstream {value:.0%} of the time"
        case SymptomKind.SATURATION:
            return f"the busiest instance of {name} works {value:.0%} of the time"
        case SymptomKind.GROWING_QUEUE:
            return f"the backlog grows by {value:.3g}/s of {symptom.offered_per_s:.3g}/s that come"
        case SymptomKind.LAG:
            return f"lag is {value:.0f} s, beyond {symptom.bound:.0f} s"
        case SymptomKind.RATE_SKEW:
            more, less = f"{symptom.outlier:.3g}/s", f"{symptom.peers:.3g}/s"
            return f"instance {symptom.instance} of {name} receives {more}, another one {less}"
        case SymptomKind.SERVICE_SKEW:
            more, less = f"{symptom.outlier:.3g} s", f"{symptom.peers:.3g} s"
            return f"instance {symptom.instance} of {name} takes {more} a tuple, its peers {less}"
        case SymptomKind.IDLE:
            return f"no instance of {name} works more than {value:.0%} of the time"


def diagnosis_words(diagnosis: Diagnosis) -> str:
    """Without the name of its kind."""
    symptoms = [symptom_words(each) for each in diagnosis.symptoms]
    if diagnosis.kind is DiagnosisKind.UNDER_PROVISIONED:
        return ": ".join([f"{diagnosis.operator} is full", *symptoms[:1]])
    return "; ".join(symptoms)


def reasons_words(reasons: Iterable[Reason]) -> str:
    return "; ".join(reason_words(each) for each in reasons)


def reason_words(reason: Reason) -> str:
    """In one sentence, without a full stop."""
    words = _turn_words(reason) or _verdict_words(reason) or _waiting_words(reason) or _conclusion_words(reason)
    if reason.diagnosis is None or reason.kind in (ReasonKind.STILL_ILL, ReasonKind.TAKES_MORE):
        return words
    cause = diagnosis_words(reason.diagnosis)
    if reason.kind is ReasonKind.BARRED:
        cause = f"{reason.diagnosis.kind}: {cause}"
    return f"{cause}{': ' if reason.kind is ReasonKind.RESTARTS else '; '}{words}" if cause else words


def judgement_words(action: GuardAction) -> str:
    """Why an action has its verdict; empty while it has none."""
    return "" if action.judgement is None else reason_words(action.judgement)


def barred_words(pair: BarredPair) -> str:
    last = reason_words(pair.last)
    return f"{pair.failures} times in a row without effect, at last: {last}" if pair.failures else last


def _turn_words(reason: Reason) -> str:
    """Why a turn assessed nothing or has nothing to do; empty for another kind of reason."""
    match reason.kind:
        case ReasonKind.NOT_RUNNING:
            return f"the job is {reason.state}, so nothing is measured"
        case ReasonKind.DEPLOYED_ELSEWHERE:
            return f"step {reason.step_id} of the {reason.action} is deployed by another process right now"
        case ReasonKind.ACTION_SETTLES:
            return f"{reason.action} of {reason.at:%H:%M:%S} UTC settles before it is judged"
        case ReasonKind.PLAN_SETTLES:
            return f"the plan runs since {reason.at:%H:%M:%S} UTC and settles for {reason.bound:.0f} s"
        case ReasonKind.STEP_FIRST:
            return f"step {reason.step_id} is {reason.state} and goes first"
        case ReasonKind.ONE_LOOK:
            return "one look at this plan is known, which cannot tell a load from a backlog that drains"
        case ReasonKind.SHORT_WINDOW:
            return f"{reason.observed:.0f} s of metrics are known of this plan, and {reason.bound:.0f} s are asked for"
        case ReasonKind.MAY_DRAIN:
            return (
                f"the plan runs for {reason.observed:.0f} s and is full; the load of source {reason.operator} is not "
                f"measured ({reason.detail}), so this may be what came during its start, which has "
                f"{reason.bound:.0f} s to drain"
            )
        case ReasonKind.DRAINS:
            return "a backlog drains in time"
        case ReasonKind.HEALTHY:
            return "nothing is wrong"
        case _:
            return ""


def _verdict_words(reason: Reason) -> str:
    """Why an action has its verdict; empty for another kind of reason."""
    ill = "" if reason.diagnosis is None else diagnosis_words(reason.diagnosis)
    match reason.kind:
        case ReasonKind.KEEPS_UP:
            return "the job keeps up"
        case ReasonKind.TAKES_MORE:
            return f"{reason.observed:.4g}/s are taken in, {reason.bound:.4g}/s before; still {ill}"
        case ReasonKind.OTHER_LOAD:
            return f"{reason.observed:.4g}/s come, and it was sized for {reason.bound:.4g}/s"
        case ReasonKind.STILL_ILL:
            kind = "" if reason.diagnosis is None else reason.diagnosis.kind
            return f"still {kind}: {ill}" if ill else f"still {kind}"
        case ReasonKind.NOT_DEPLOYED:
            why = reason.detail if reason.cause is None else why_words(reason.cause)
            return f"not deployed, the step is {reason.state}: {why}"
        case ReasonKind.REPLACED:
            return f"{brief(reason.plan)} took its place before it could be judged"
        case ReasonKind.WORDED:
            return reason.detail
        case _:
            return ""


def _waiting_words(reason: Reason) -> str:
    """Why a step is withheld; empty for another kind of reason."""
    match reason.kind:
        case ReasonKind.UNFORESEEN:
            added = "the guard has added instances since its forecast was made"
            return f"{added}, which settle for {reason.observed:.0f} s more"
        case ReasonKind.BACKLOG_DRAINS:
            return f"a backlog of {reason.observed:,.0f} tuples drains"
        case ReasonKind.NEEDS_MORE if (need := reason.need) is not None:
            return (
                f"{need.offered_per_s:.4g}/s come and {need.backlog:,.0f} tuples wait, which takes "
                f"{need.needed_per_s:.4g}/s, and its plan carries {need.carried_per_s:.4g}/s"
            )
        case _:
            return ""


def _conclusion_words(reason: Reason) -> str:
    """What follows from a diagnosis."""
    match reason.kind:
        case ReasonKind.BARRED:
            return f"{reason.action} has kept failing and is barred"
        case ReasonKind.NO_ROOM:
            return "more instances are not allowed or would not help: raise planning.max_instances"
        case ReasonKind.MAY_BE_LATE:
            more = f"{reason.observed:.0f} more instances cost as much as {reason.bound:.0f} s of being late"
            return f"{more} at the schedule's price, and so many are not in sight"
        case ReasonKind.STEP_AHEAD:
            return f"a planned step is {reason.observed:.0f} s ahead, so the plan is held"
        case ReasonKind.DWELLS:
            return f"the plan runs for {reason.observed:.0f} s, and is held for {reason.bound:.0f} s"
        case ReasonKind.NEEDED:
            return "the load or the schedule needs as many"
        case ReasonKind.NOT_WORTH_IT:
            return f"{reason.observed:.0f} of {reason.bound:.0f} instances less are not worth a rescale"
        case ReasonKind.RESTARTS if reason.diagnosis is not None:
            where = f"instance {reason.diagnosis.instance} of operator {reason.diagnosis.operator}"
            return f"restart {where} by hand, on another node if it stays slow"
        case ReasonKind.SPLITS_KEYS:
            hottest = ", ".join(f"{key!r} ({share:.0%})" for key, share in reason.keys.items())
            keys = f"heaviest keys are {hottest}" if hottest else "keys are not known (key_shares of the topology file)"
            return f"its {keys}: split the hot key, or combine before it is grouped"
    return "" if reason.scaling is None else _scaling_words(reason.scaling)


def _scaling_words(scaling: Scaling) -> str:
    running = scaling.running
    changes = ", ".join(f"{name} {running[name]} → {n}" for name, n in scaling.plan.items() if n != running[name])
    estimate = " by estimate" if scaling.is_estimated else ""
    words = f"{scaling.offered_per_s:.4g}/s come{estimate}: {changes}"
    if scaling.carried_per_s is not None:
        return (
            f"{words}; sized by the measured busy time alone: by the model the running plan carries "
            f"{scaling.carried_per_s:.4g}/s at most, and it takes in {scaling.taken_per_s:.4g}/s"
        )
    more = ", ".join(f"{name} {count}" for name, count in scaling.uneven.items())
    return f"{words}; of these for uneven keys, slow nodes, few cores and waiting threads: {more}" if more else words
