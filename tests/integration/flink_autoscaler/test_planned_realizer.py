"""Flink's autoscaler with our realizer, which asks for the plan over HTTP: a peak ahead, and plans not known."""

import json
from collections.abc import Callable
from datetime import UTC, datetime, timedelta
from typing import Any

import pytest

pytestmark = pytest.mark.slow

MINUTES, PEAK, PLANNED = 60, 40, 36
LOW_PER_S, HIGH_PER_S = 40, 160
"""An instance takes 100 ms a record, so 10/s: the low load fills 5.7 at 70 %, the peak 22.9."""
Decisions = list[tuple[int, dict[str, int]]]


def case(plans: list[str | None] | None, hold_minutes: int = 10) -> str:
    settings = {
        "job.autoscaler.stabilization.interval": "0 s",
        "job.autoscaler.metrics.window": "180 s",
        "job.autoscaler.scale-down.interval": "0 s",
        "job.autoscaler.scale-down.max-factor": "0.6",
        "job.autoscaler.target.utilization": "0.7",
        "job.autoscaler.catch-up.duration": "0 s",
    }
    vertex = {"max_parallelism": 120, "partitions": 0}
    vertices = [
        {"name": "Read", "parallelism": 12, "inputs": {}, "ms_per_record": 100, **vertex},
        {"name": "Write", "parallelism": 12, "inputs": {"Read": "REBALANCE"}, "ms_per_record": 10, **vertex},
    ]
    minutes = [{"arrivals": 60 * (HIGH_PER_S if at >= PEAK else LOW_PER_S)} for at in range(MINUTES)]
    body = {"settings": settings, "down_minutes": 1, "failures": [], "vertices": vertices, "minutes": minutes}
    return json.dumps(body if plans is None else body | {"plans": plans, "hold_minutes": hold_minutes})


def at(minute: float) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(minutes=minute)


def document(minute: int, made: float | None = None, **changed: Any) -> str:
    """As `forescale serve` gives it: 2 readers, and 24 from minute 36 on."""
    coming = [{"at": at(PLANNED).isoformat(), "parallelism": {"read": 24, "write": 4}}]
    before = minute < PLANNED
    plan = {
        "parallelism": {"read": 2, "write": 2} if before else {"read": 24, "write": 4},
        "until": at(MINUTES * 10).isoformat(),
        "coming": coming if before else [],
    }
    names = {"read": "Read", "write": "Write"}
    when = at(minute + 1 if made is None else made).isoformat()
    return json.dumps({"topology": "job", "at": when, "plan": plan | changed, "why": "", "names": names})


def decided(library: Callable[..., list[str]], *cases: str) -> list[Decisions]:
    return [[(minute, plan) for minute, plan in json.loads(line)] for line in library(cases)]


def runs(decisions: Decisions, minute: int) -> dict[str, int]:
    return next((plan for made, plan in reversed(decisions) if made < minute), {"Read": 12, "Write": 12})


def test_a_peak_ahead__finds_its_plan_in_place_which_the_autoscaler_alone_reaches_late(
    library: Callable[..., list[str]],
) -> None:
    alone, planned = decided(library, case(None), case([document(minute) for minute in range(MINUTES)]))
    # Both scale down to about what the low load needs, 6 readers. Alone, the peak finds these.
    assert {runs(each, 30)["Read"] for each in (alone, planned)} <= {6, 7}
    assert runs(alone, PEAK)["Read"] == runs(alone, 30)["Read"]
    assert runs(planned, PEAK)["Read"] == 24
    # The autoscaler has the last word above the plan, and no decision goes below it.
    assert all(plan["Read"] >= 24 for minute, plan in planned if minute >= PLANNED)
    assert runs(alone, MINUTES)["Read"] >= 23


def test_a_scale_down__is_held_while_a_larger_plan_is_near(library: Callable[..., list[str]]) -> None:
    documents = [document(minute) for minute in range(MINUTES)]
    (held,) = decided(library, case(documents, hold_minutes=PLANNED))
    assert runs(held, 30)["Read"] == 12  # what ran, not the 24 that are planned
    assert runs(held, 30)["Write"] < 12  # 4 are planned of it
    assert runs(held, PEAK)["Read"] == 24


@pytest.mark.parametrize(
    "plans",
    [
        pytest.param([None] * MINUTES, id="no plan is known"),
        pytest.param([document(minute, made=minute - 5) for minute in range(MINUTES)], id="old"),
        pytest.param([document(minute, made=minute + 9) for minute in range(MINUTES)], id="of another clock"),
        pytest.param([document(minute, until=at(0).isoformat()) for minute in range(MINUTES)], id="over"),
        pytest.param(["<html>"] * MINUTES, id="no JSON"),
        pytest.param([document(minute, parallelism={"read": 0}) for minute in range(MINUTES)], id="zero"),
        pytest.param([document(minute, parallelism={"read": "many"}) for minute in range(MINUTES)], id="no number"),
        pytest.param([document(minute, parallelism=None) for minute in range(MINUTES)], id="no plan"),
        pytest.param([document(minute, coming=[{"at": "soon"}]) for minute in range(MINUTES)], id="no moment"),
    ],
)
def test_what_is_not_known__leaves_the_autoscaler_as_it_is_without_us(
    plans: list[str | None], library: Callable[..., list[str]]
) -> None:
    alone, with_us = decided(library, case(None), case(plans))
    assert with_us == alone
    assert alone
