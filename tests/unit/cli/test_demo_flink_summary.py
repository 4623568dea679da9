"""How the demo on a real Flink tells what the guard did; the guard is watched on the simulator."""

import json
from pathlib import Path

import pytest
from guarded_pair import begun_pair, watched_pair

from forescale.cli.demo_flink_summary import healing_json, show_healing
from forescale.local.demo.flink_healing import Healing
from forescale.local.demo.guard_watch import Watch
from modeling.inputs.physical_plan import PhysicalPlan


def healing(watch: Watch) -> Healing:
    plans = [PhysicalPlan("pair", {"read": 1, "work": count}) for count in (4, 2)]
    return Healing(30.0, *plans, watch)


def test_summary__tells_what_the_guard_saw_and_did_and_how_the_job_does(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    healed = watched_pair(begun_pair(tmp_path))
    capsys.readouterr()
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
