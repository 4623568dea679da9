"""The replayed guard decides in calm minutes without a diagnosis, and as it does with one."""

from unittest.mock import patch

from hypothesis import given, settings
from hypothesis import strategies as st
from replay_cases import PROFILES, TOPOLOGY, load_of

from planner.clusters.engine_terms import EngineTerms
from planner.guard.terms import GuardTerms
from planner.plan_model import PlanModel
from planner.replay.policies.guard import Guard
from planner.replay.reality import Differences, Reality
from planner.replay.run import Taken, replay

MODEL = PlanModel(TOPOLOGY, PROFILES)
LEVELS = st.lists(st.tuples(st.floats(0.0, 120.0), st.integers(5, 60)), min_size=2, max_size=8)
"""Rates per second, and for how many minutes: from nothing to more than a dozen instances carry."""


def decided(rates_per_s: list[float], work: int) -> tuple[Taken, ...]:
    load = load_of(rates_per_s)
    terms = GuardTerms(min_dwell_s=600.0)
    reality = Reality(MODEL, EngineTerms(60.0, lead_s=30.0), Differences(), load.start_s, load.end_s)
    return replay(Guard(TOPOLOGY, terms), load, reality, {"ingest": 1, "work": work}).decisions


@settings(max_examples=30)
@given(LEVELS, st.integers(1, 8))
def test_calm_minutes__are_those_in_which_a_diagnosis_changes_nothing(
    levels: list[tuple[float, int]], work: int
) -> None:
    rates_per_s = [rate for rate, minutes in levels for _ in range(minutes)]
    with patch.object(Guard, "_is_calm", lambda *_: False):
        diagnosed = decided(rates_per_s, work)
    assert decided(rates_per_s, work) == diagnosed
