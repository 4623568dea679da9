"""A plan or a schedule comes back from its JSON as it went in."""

import json
from datetime import UTC, datetime, timedelta, timezone

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from modeling.excuse import Excuse
from modeling.inputs.physical_plan import Container, Instance, PhysicalPlan
from planner.decision_basis import CalibrationFacts, Cause, CauseKind, DecisionBasis, Rung
from planner.edit_facts import Edit, LimitKind, LimitPassed
from planner.errors import PlanError
from planner.provenance import Ground, Origin, Provenance, Quantity
from planner.scaling_schedule import Alternative, ScalingSchedule, ScheduledStep
from planner.schedule_json import plan_from_json, plan_to_json, schedule_from_json, schedule_to_json

NUMBERS = st.floats(allow_nan=False)  # infinity is a number that the model gives: the wait of an unstable operator
TEXTS = st.text(max_size=20)
MOMENTS = st.datetimes(
    datetime(1990, 1, 1), datetime(2100, 1, 1), timezones=st.sampled_from([UTC, timezone(timedelta(hours=5.5))])
)


@st.composite
def plans(draw: st.DrawFn) -> PhysicalPlan:
    parallelism = draw(st.dictionaries(TEXTS, st.integers(1, 6), max_size=3))
    instances = [Instance(name, index) for name, count in parallelism.items() for index in range(count)]
    if not instances or draw(st.booleans()):
        return PhysicalPlan(draw(TEXTS), parallelism)
    cut = draw(st.integers(0, len(instances)))
    packing = (Container(1, tuple(instances[:cut])), Container(7, tuple(instances[cut:]), draw(TEXTS)))
    return PhysicalPlan(draw(TEXTS), parallelism, packing)


STEPS = st.builds(
    ScheduledStep,
    deploy_at=MOMENTS,
    in_place_at=MOMENTS,
    needed_from=MOMENTS,
    needed_until=MOMENTS,
    plan=plans(),
    replaces=plans(),
    load_per_s=st.dictionaries(TEXTS, NUMBERS, max_size=2),
    bottleneck=TEXTS,
    utilisation=NUMBERS,
    headroom_factor=NUMBERS,
    downtime_s=NUMBERS,
    catch_up_s=NUMBERS,
    cost_instance_hours=NUMBERS,
    recorded=TEXTS,
    capacity_per_s=st.none() | NUMBERS,
)
LIMITS = st.builds(
    LimitPassed,
    limit=st.sampled_from(LimitKind),
    value=NUMBERS,
    bound=NUMBERS,
    operator=TEXTS,
    before=st.dictionaries(TEXTS, st.integers(0, 9), max_size=2),
    since=st.none() | MOMENTS,
)
GROUNDS = st.builds(
    Ground,
    quantity=st.sampled_from(Quantity),
    provenance=st.builds(Provenance, origin=st.sampled_from(Origin), place=TEXTS, at=st.none() | MOMENTS),
    of=st.lists(TEXTS, max_size=2).map(tuple),
)
BASES = st.builds(
    DecisionBasis,
    rung=st.sampled_from(Rung),
    causes=st.lists(st.builds(Cause, kind=st.sampled_from(CauseKind), source=TEXTS, detail=TEXTS), max_size=2).map(
        tuple
    ),
    forecasts=st.lists(TEXTS, max_size=2).map(tuple),
    candidates=st.dictionaries(TEXTS, TEXTS, max_size=2),
    fleet=st.none() | TEXTS,
    calibration=st.builds(CalibrationFacts, version=TEXTS, unmeasured=st.lists(TEXTS, max_size=2).map(tuple)),
    edit=st.none()
    | st.builds(Edit, by=TEXTS, why=TEXTS, in_place_of=TEXTS, overridden=st.lists(LIMITS, max_size=2).map(tuple)),
    others=st.dictionaries(TEXTS, TEXTS, max_size=2),
    stands_on=st.lists(GROUNDS, max_size=2).map(tuple),
)
SPANS = st.tuples(MOMENTS, MOMENTS).map(sorted).filter(lambda span: span[0] < span[1])
SCHEDULES = st.builds(
    lambda span, **fields: ScalingSchedule(start=span[0], end=span[1], **fields),
    span=SPANS,
    topology=TEXTS,
    made_at=MOMENTS,
    quantile=st.floats(0, 1, exclude_min=True, exclude_max=True),
    current=plans(),
    steps=st.lists(STEPS, max_size=2).map(tuple),
    cost_instance_hours=NUMBERS,
    recorded=TEXTS,
    violation_minutes=NUMBERS,
    violation_probability=NUMBERS,
    allowed_minutes=st.none() | NUMBERS,
    alternatives=st.lists(
        st.builds(
            Alternative,
            name=TEXTS,
            cost_instance_hours=NUMBERS,
            rescales=st.integers(0, 99),
            violation_minutes=NUMBERS,
            recorded=TEXTS,
            more_cost_h=st.none() | NUMBERS,
            chosen_from=st.lists(MOMENTS, max_size=2).map(tuple),
        ),
        max_size=2,
    ).map(tuple),
    excuses=st.lists(
        st.builds(
            Excuse,
            plan=plans(),
            target=TEXTS,
            operator=TEXTS,
            value=NUMBERS,
            bound=NUMBERS,
            reason=TEXTS,
            remedy=TEXTS,
            change=st.dictionaries(TEXTS, st.integers(0, 99), max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    basis=BASES,
)


@given(plans())
def test_plan__comes_back_from_json_as_it_was(plan: PhysicalPlan) -> None:
    assert plan_from_json(json.loads(json.dumps(plan_to_json(plan), allow_nan=False))) == plan


@settings(max_examples=60)
@given(SCHEDULES)
@pytest.mark.slow
def test_schedule__comes_back_from_json_as_it_was(schedule: ScalingSchedule) -> None:
    assert schedule_from_json(json.loads(json.dumps(schedule_to_json(schedule), allow_nan=False))) == schedule


def test_schedule__that_was_cut_short_says_what_is_missing() -> None:
    with pytest.raises(PlanError, match="a stored schedule cannot be read: topology: Field required"):
        schedule_from_json({})


def test_schedule__that_was_written_before_versions_is_read_as_it_was_meant() -> None:
    plan = {
        "topology": "words",
        "parallelism": {"id": 1, "count": 2},
        "packing": [
            {"id": 1, "instances": [["id", 0], ["count", 0]]},
            {"id": 2, "instances": [["count", 1]]},
        ],
    }
    schedule = schedule_from_json(
        {
            "topology": "words",
            "made_at": "2024-03-04T12:00:00+00:00",
            "start": "2024-03-04T12:00:00+00:00",
            "end": "2024-03-05T12:00:00+00:00",
            "quantile": 0.95,
            "current": plan,
            "steps": [],
            "cost_instance_hours": 72.0,
            "why": "hold",
            "short_s": "inf",
            "alternatives": [],
            "excuses": [
                {
                    "plan": plan,
                    "bottleneck": "count",
                    "quantity": "utilisation",
                    "value": 0.96,
                    "bound": 0.85,
                    "remedy": "give it 3",
                }
            ],
            "derived_from": {"history": "0123"},
        }
    )
    packing = (
        Container(1, (Instance("id", 0), Instance("count", 0))),
        Container(2, (Instance("count", 1),)),
    )
    assert schedule.current == PhysicalPlan("words", {"id": 1, "count": 2}, packing)
    assert schedule.basis.histories == ("0123",)
    assert schedule.violation_minutes == float("inf")
    assert schedule.made_at == datetime(2024, 3, 4, 12, tzinfo=UTC)
    [excuse] = schedule.excuses
    assert (excuse.target, excuse.operator, excuse.change) == ("utilisation", "count", {})
    assert str(excuse) == "utilisation 0.96 of count is beyond 0.85; give it 3"


def test_plan__with_a_parallelism_of_zero_is_not_read() -> None:
    with pytest.raises(PlanError, match=r"a stored plan cannot be read: .* parallelism 0 of operator 'count'"):
        plan_from_json({"topology": "words", "parallelism": {"count": 0}, "packing": []})


def test_schedule__with_a_moment_without_time_zone_is_not_written() -> None:
    naive, end = datetime(2024, 1, 1), datetime(2024, 1, 2)
    plan = PhysicalPlan("words", {"count": 1})
    with pytest.raises(PlanError, match="2024-01-01 00:00:00 has no time zone"):
        schedule_to_json(ScalingSchedule("words", naive, naive, end, 0.9, plan, (), 0.0, "hold"))


def test_plan__of_a_later_release_is_refused_with_both_versions() -> None:
    body = plan_to_json(PhysicalPlan("words", {"count": 1})) | {"schema_version": 7}
    with pytest.raises(PlanError, match="a stored plan has schema version 7, this release reads 6; restore"):
        plan_from_json(body)
