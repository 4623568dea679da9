"""What `forescale guard --json` prints: the facts, and beside them the words that the command says without it."""

from typing import Any

from forescale.codec import to_json
from forescale.jobs.guard import Guarding, GuardRecord
from forescale.report.kit.guard_words import (
    barred_words,
    diagnosis_words,
    judgement_words,
    reason_words,
    reasons_words,
    symptom_words,
)
from planner.ledger.entries import BarredPair, GuardAction


def turn_json(turn: Guarding) -> dict[str, Any]:
    """`symptoms`, `diagnoses` and `why` are words; their facts are in `facts`."""
    fields = to_json(turn)
    facts = {name: fields.pop(name) for name in ("symptoms", "diagnoses", "reasons")}
    return {
        **fields,
        "facts": facts,
        "symptoms": [symptom_words(each) for each in turn.symptoms],
        "diagnoses": [f"{each.kind}: {diagnosis_words(each)}" for each in turn.diagnoses],
        "why": reasons_words(turn.reasons),
        "action": None if turn.action is None else action_json(turn.action),
        "judged": None if turn.judged is None else action_json(turn.judged),
        "advice": [action_json(each) for each in turn.advice],
    }


def record_json(record: GuardRecord) -> dict[str, Any]:
    return {
        **to_json(record),
        "actions": [action_json(each) for each in record.actions],
        "barred": [barred_json(each) for each in record.barred],
    }


def barred_json(pair: BarredPair) -> dict[str, Any]:
    return {**to_json(pair), "why": barred_words(pair)}


def action_json(action: GuardAction) -> dict[str, Any]:
    """`why` and `verdict` are words; their facts are in `reason` and `judgement`."""
    return {**to_json(action), "why": reason_words(action.reason), "verdict": judgement_words(action)}
