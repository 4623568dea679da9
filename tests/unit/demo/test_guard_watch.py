"""The guard watched on the simulator: what it measured before and after, or why the job is not healed; and how the demo
tells it.
"""

import json
from pathlib import Path

import pytest
from guarded_pair import begin_pair, write_pair

from forescale.cli.demo_flink_summary import healing_json, show_healing
from forescale.local.demo.flink_healing import Healing
from forescale.local.demo.guard_watch import Watch, watch_guard
from forescale.settings import Settings
from modeling.inputs.physical_plan import PhysicalPlan
from planner.guard_facts import Reason, ReasonKind


def begun(folder: Path) -> Settings:
    made = Settings(home=folder / "home", topologies=folder / "topologies", clock="trace")
    begin_pair(made)
    return made


@pytest.fixture
def settings(tmp_path: Path) -> Settings:
    return begun(tmp_path)


@pytest.fixture(scope="module")
def healed(tmp_path_factory: pytest.TempPathFactory) -> Watch:
    return watched(begun(tmp_path_factory.mktemp("pair")))


def watched(settings: Settings, judged_within_s: float = 900.0) -> Watch:
    """A turn a minute."""
    return watch_guard(settings, "pair", acts_within_s=600.0, judged_within_s=judged_within_s, pause_s=60.0)


def healing(watch: Watch) -> Healing:
    plans = [PhysicalPlan("pair", {"read": 1, "work": count}) for count in (4, 2)]
    return Healing(30.0, *plans, watch)


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
    failure = watched(settings, judged_within_s=120.0).failure
    assert failure.startswith("scale-up was not judged within 120 s; the guard's last turn said: scale-up of 00:05:00")


def test_watch__says_that_the_guard_has_not_acted(settings: Settings) -> None:
    write_pair(settings.topologies, guard="advise")
    watch = watched(settings)
    assert watch.failure.startswith("the guard did not act within 600 s; its last turn said: work is full")
    assert (watch.action, watch.before, watch.after) == (None, watch.turns[-1], None)


def test_summary__tells_what_the_guard_saw_and_did_and_how_the_job_does(
    healed: Watch, capsys: pytest.CaptureFixture[str]
) -> None:
    show_healing(healing(healed))
    said = capsys.readouterr().out
    assert said.startswith("30/s arrive; read 1 · work 4 was made too small by hand: read 1 · work 2\n")
    rows = [line.replace("│", "").split() for line in said.splitlines()]
    before, after = (next(row for row in rows if row[:1] == [when]) for when in ("before", "after"))
    assert before == ["before", "read", "1", "·", "work", "2", "20/s", "3,000", "100", "s", "340", "s"]
    assert after == ["after", "read", "1", "·", "work", "5", "30/s", "0", "0", "s", "640", "s"]
    assert "it saw: read waits for room downstream 100% of the time; the busiest instance of work works" in said
    assert "it did: scale-up by step guard-" in said
    assert "30/s come: work 2 → 5\nit was effective: the job keeps up\n" in said

    told = json.loads(json.dumps(healing_json(healing(healed))))
    assert (told["failure"], told["offered_per_s"], told["made_too_small"]) == (None, 30.0, "read 1 · work 2")
    assert told["action"]["state"] == "effective"
    assert (told["before"]["backlog"], told["after"]["backlog"]) == (3000.0, 0.0)
    assert [turn["plan"]["work"] for turn in told["turns"]] == [2] * 5 + [5] * 5


def test_summary__of_a_guard_that_does_not_act_says_so(capsys: pytest.CaptureFixture[str]) -> None:
    failure = "the guard did not act within 150 s; its last turn said: nothing is wrong"
    show_healing(healing(Watch((), failure)))
    assert f"the guard did not heal the job: {failure}" in capsys.readouterr().out
    told = healing_json(healing(Watch((), failure)))
    assert (told["failure"], told["action"], told["before"], told["after"]) == (failure, None, None, None)
