"""What earlier releases stored as text is read as facts."""

from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

from modeling.inputs.physical_plan import PhysicalPlan
from planner.decision_basis import Cause, CauseKind, DriftFacts, Rung
from planner.edit_facts import LimitKind, LimitPassed
from planner.scaling_schedule import Alternative, AlternativeKind, ScalingSchedule
from planner.schedule_json import basis_from_json, basis_to_json, schedule_from_json, schedule_to_json


@pytest.mark.parametrize(
    ("text", "rung"),
    [
        ("time-of-week profile: forecast of a is 3 h old", Rung.PROFILE),
        ("guard alone: there is no forecast of a", Rung.GUARD),
        ("hold: there is no forecast of a; no profile: b", Rung.HOLD),
        ("forecast: history of a breaks a bound", Rung.FORECAST),
        # No release wrote this: what is not known to have a load to plan for has none.
        ("the plan is held: no history", Rung.HOLD),
    ],
)
def test_a_rung_in_words__is_read_with_its_cause(text: str, rung: Rung) -> None:
    basis = basis_from_json({"rung": text})
    assert basis.rung is rung
    assert basis.causes == (Cause(CauseKind.RECORDED, detail=text.partition(": ")[2]),)
    assert basis.rung.plans == (rung in (Rung.FORECAST, Rung.PROFILE))


def test_a_schedule_older_than_rungs__counts_as_made_from_a_forecast() -> None:
    basis = basis_from_json({"history": "0123 4567", "forecasts": "run-1 run-2", "running plan": "ab12"})
    assert (basis.rung, basis.causes) == (Rung.FORECAST, ())
    assert (basis.histories, basis.forecasts, basis.starts_from) == (("0123", "4567"), ("run-1", "run-2"), "ab12")
    assert not basis.shadow


def test_candidates_mode_and_drift_in_words__are_facts() -> None:
    basis = basis_from_json(
        {
            "shadow plan": "ab12",
            "mode": "floor",
            "candidates": "a (first).json (0123abcd), b.json (4567abcd)",
            "fleet": "nothing is shared",
            "calibration": "never measured yet: x; "
            "drifted: work: service_s was 0.1, is 0.15 (+50%, p 0.001); plan again",
            "calibration version": "calls/3",
            "budget": "5 of 725 minutes known in 7 days were in violation; 3.625 are allowed",
        }
    )
    assert (basis.shadow, basis.floor, basis.fleet) == (True, True, "")
    assert basis.candidates == {"a (first).json": "0123abcd", "b.json": "4567abcd"}
    assert basis.calibration.version == "calls/3"
    assert basis.calibration.drifts == (DriftFacts("work", "service_s", 0.1, 0.15, 0.001),)
    # What only explains stays in its words.
    assert list(basis.others) == ["budget"]


def test_limits_that_an_edit_overrode__need_no_second_reason_after_an_upgrade() -> None:
    at, since, until = (datetime(2026, 3, 2, hour, tzinfo=UTC) for hour in (20, 19, 21))
    limits = (
        LimitPassed(LimitKind.MIN_PARALLELISM, 1, 2, "work"),
        LimitPassed(LimitKind.MAX_STEP, 5, 3, "", {"read": 1, "work": 2}, {"read": 1, "work": 7}),
        LimitPassed(LimitKind.SCALE_OUT_ONLY, 1, 0, "", {"work": 3}, {"work": 2}),
        LimitPassed(LimitKind.MAX_RESCALES_A_DAY, 4, 3),
        LimitPassed(LimitKind.FREEZE, at.timestamp(), until.timestamp(), since=since),
    )
    past = (
        "1 instances of operator 'work' < planning.min_parallelism of 2; "
        "from read 1 · work 2 to read 1 · work 7 5 instances start or stop > planning.max_step of 3; "
        "from work 3 to work 2 1 instances stop, and planning.scale_out_only stops none; "
        "4 rescales within 24 hours > planning.max_rescales_a_day of 3; "
        "2026-03-02 20:00 UTC is within planning.freeze, from 2026-03-02 19:00 UTC to 2026-03-02 21:00 UTC"
    )
    edit = basis_from_json({"edited from": "s1", "edited by": "anna", "edited past": past}).edit
    assert edit is not None
    assert (edit.in_place_of, edit.by, edit.overridden) == ("s1", "anna", limits)


def test_a_basis__comes_back_from_json_as_it_was() -> None:
    basis = basis_from_json({"rung": "hold: x", "edited from": "s1", "edited past": "unknown limit"})
    assert basis.edit is not None
    assert basis.edit.overridden == ()
    assert basis_from_json(basis_to_json(basis)) == basis


def test_reasons_of_version_5__are_kept_as_they_were_worded_and_alternatives_keep_their_kind() -> None:
    start = datetime(2026, 3, 2, 20, tzinfo=UTC)
    plan = PhysicalPlan("calls", {"work": 3})
    kinds = (AlternativeKind.HOLD, AlternativeKind.CANDIDATE)
    others = tuple(Alternative("", 1.0, 0, 0.0, kind=kind) for kind in kinds)
    made = ScalingSchedule("calls", start, start, start + timedelta(hours=1), 0.95, plan, (), 3.0, alternatives=others)
    body: Any = schedule_to_json(made) | {"schema_version": 5, "why": "the load comes"}
    del body["recorded"]
    names = ("hold the running plan", "candidate a.json")
    body["alternatives"] = [
        {
            "name": name,
            "cost_instance_hours": 1.0,
            "rescales": 0,
            "violation_minutes": 0.0,
            "excuse": "it costs more",
            "price": None,
            "kind": kind,
        }
        for name, kind in zip(names, kinds, strict=True)
    ]
    read = schedule_from_json(body)
    assert read.recorded == "the load comes"
    assert [(each.kind, each.name, each.recorded) for each in read.alternatives] == [
        (AlternativeKind.HOLD, "", "it costs more"),
        (AlternativeKind.CANDIDATE, "a.json", "it costs more"),
    ]
    assert all(each.more_h is None and each.allowed for each in read.alternatives)
