"""A policy with a budget of its own is the same policy, allowed more or fewer violations than all others."""

from concurrent.futures import ThreadPoolExecutor
from pathlib import Path

import numpy as np
import pytest
from replay_cases import contest, load_of

from forescale.jobs.kept_replays import KeptReplays
from planner.errors import PlanError
from planner.replay.contest import check_policy, run_all, run_one
from planner.replay.own_budget import own_budget, policy_of
from planner.replay.scores import scores
from planner.replay.timeline import Timeline, track_of

LOAD = load_of([15.0] * 60 + [55.0] * 6 + [15.0] * 60)


def test_a_name__tells_the_policy_and_its_share() -> None:
    assert (policy_of("planner@0.02"), own_budget("planner@0.02")) == ("planner", 0.02)
    assert (policy_of("planner"), own_budget("planner")) == ("planner", None)


@pytest.mark.parametrize("name", ["planner@", "planner@a lot", "planner@1.1", "planner@-0.1", "planner@nan"])
def test_a_share_that_is_none__is_refused(name: str) -> None:
    with pytest.raises(PlanError, match="give a share of the minutes from 0 to 1"):
        check_policy(name)


def test_a_policy_that_keeps_to_no_budget__is_refused_one() -> None:
    with pytest.raises(PlanError, match=r"'hpa-50@0.1', but hpa-50 uses no budget"):
        check_policy("hpa-50@0.1")
    with pytest.raises(PlanError, match="known are static-peak"):
        check_policy("plans@0.1")


def test_its_own_budget__takes_the_place_of_that_of_all() -> None:
    one = run_one(contest(LOAD, allowed_share=0.0), "hindsight@0.2", 0)
    same, strict = (run_one(contest(LOAD, allowed_share=share), "hindsight", 0) for share in (0.2, 0.0))
    assert one.policy == "hindsight@0.2"
    assert np.array_equal(one.parallelism, same.parallelism)
    assert one.instances.sum() < strict.instances.sum()


def test_scores__tell_what_each_was_asked_for() -> None:
    one = contest(LOAD, allowed_share=0.01)
    with ThreadPoolExecutor(1) as executor:
        every = run_all(one, [("static-half", 0), ("hindsight@0.2", 0)], executor)
        tracks = [track_of(done, 120.0) for _, _, done in every if not isinstance(done, str)]
    found = {each.policy: each for each in scores(Timeline("calls", 120.0, tuple(tracks), allowed_share=0.01))}
    assert found["static-half"].budget.asked == 0.01
    assert found["hindsight@0.2"].budget.asked == 0.2


def test_a_kept_replay__is_of_its_own_budget_whatever_others_are_allowed(tmp_path: Path) -> None:
    one, other = (contest(LOAD, allowed_share=share) for share in (0.0, 0.5))
    KeptReplays(tmp_path, one).keep(track_of(run_one(one, "hindsight@0.2", 0), 120.0))
    kept = KeptReplays(tmp_path, other)
    assert kept.track("hindsight@0.2", 0) is not None
    assert kept.track("hindsight", 0) is None
    assert kept.track("hindsight@0.1", 0) is None
