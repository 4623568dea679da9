"""The guard watched on the simulator: what it measured before and after, or why the job is not healed."""

from pathlib import Path

import pytest
from guarded_pair import begun_pair, watched_pair, write_pair

from forescale.local.demo.guard_watch import Watch
from forescale.settings import Settings
from planner.guard_facts import Reason, ReasonKind


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return begun_pair(tmp_path)


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    return watched_pair(begun_pair(tmp_path_factory.mktemp("pair")))


def test_watch__ends_with_the_verdict_and_tells_how_the_job_did_before_and_after(healed: Watch) -> None:
    assert healed.failure == ""
    assert healed.action is not None
    assert (healed.action.state, healed.action.judgement) == ("effective", Reason(ReasonKind.KEEPS_UP))
    assert healed.before is not None
    # Of 30/s two instances of 10/s take 20. After the 300 s of settling 3000 wait, as many as come in 100 s.
    assert healed.before.taken_per_s == pytest.approx(20.0)
    assert healed.before.backlog == pytest.approx(3000.0)
    assert healed.before.lag_s == pytest.approx(100.0)
    # 3000, and 30/s in some 30 s of downtime, drain at 50 - 30 = 20/s: in less than the 300 s until the verdict.
    assert healed.after is not None
    assert healed.after.taken_per_s == pytest.approx(30.0)
    assert (healed.after.backlog, healed.after.lag_s) == (0.0, 0.0)


def test_watch__says_that_the_action_has_no_verdict_in_time(settings: Settings) -> None:
    failure = watched_pair(settings, judged_within_s=120.0).failure
    assert failure.startswith("scale-up was not judged within 120 s; the guard's last turn said: scale-up of 00:05:00")


def test_watch__says_that_the_guard_has_not_acted(settings: Settings) -> None:
    write_pair(settings.topologies, guard="advise")
    watch = watched_pair(settings)
    assert watch.failure.startswith("the guard did not act within 600 s; its last turn said: work is full")
    assert (watch.action, watch.before, watch.after) == (None, watch.turns[-1], None)
