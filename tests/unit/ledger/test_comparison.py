"""The comparison of a recorded schedule with a reactive scaler, which comes after the decision and is none of it."""

from dataclasses import replace
from pathlib import Path

import pytest
from sample_decision import sample_decision

from planner.errors import LedgerError
from planner.ledger.ledger import Ledger
from planner.scaling_schedule import Alternative, AlternativeKind

OTHERS = tuple(each for each in sample_decision().schedule.alternatives if each.was_weighed)
DECIDED = replace(sample_decision().schedule, alternatives=OTHERS)
REACTIVE = Alternative("", 12.0, 3, 5.0, kind=AlternativeKind.REACTIVE, sample_paths=5)


@pytest.fixture
def ledger(tmp_path: Path) -> Ledger:
    return Ledger(f"sqlite:///{tmp_path / 'ledger.db'}", tmp_path)


def test_a_comparison__stands_beside_what_was_decided_and_changes_nothing_of_it(ledger: Ledger) -> None:
    schedule_id = ledger.record_schedule(DECIDED)
    before = ledger.steps(schedule_id=schedule_id)
    ledger.record_comparison(schedule_id, REACTIVE)
    assert ledger.schedule(schedule_id).schedule == replace(DECIDED, alternatives=(*OTHERS, REACTIVE))
    assert ledger.steps(schedule_id=schedule_id) == before


def test_a_comparison__is_recorded_once(ledger: Ledger) -> None:
    schedule_id = ledger.record_schedule(DECIDED)
    ledger.record_comparison(schedule_id, REACTIVE)
    ledger.record_comparison(schedule_id, replace(REACTIVE, rescales=9))
    assert ledger.schedule(schedule_id).schedule.alternatives == (*OTHERS, REACTIVE)


def test_comparisons_of_two_kinds__stand_beside_each_other(ledger: Ledger) -> None:
    schedule_id, acting = ledger.record_schedule(DECIDED), replace(REACTIVE, kind=AlternativeKind.ACTING_GUARD)
    for each in (REACTIVE, acting):
        ledger.record_comparison(schedule_id, each)
    assert ledger.schedule(schedule_id).schedule.alternatives == (*OTHERS, REACTIVE, acting)
    assert ledger.record_schedule(DECIDED) == schedule_id


def test_the_same_decision__has_one_id_with_and_without_the_comparison(ledger: Ledger) -> None:
    schedule_id = ledger.record_schedule(DECIDED)
    assert ledger.record_schedule(replace(DECIDED, alternatives=(*OTHERS, REACTIVE))) == schedule_id
    assert len(ledger.schedules(DECIDED.topology)) == 1


def test_a_comparison_of_an_unknown_schedule__is_refused(ledger: Ledger) -> None:
    with pytest.raises(LedgerError, match="the ledger has no schedule"):
        ledger.record_comparison("nope", REACTIVE)
