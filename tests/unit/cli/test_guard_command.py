"""`forescale guard` as a user meets it: turns, what was done, what is barred, and one line for what is wrong."""

import json
from collections.abc import Callable
from datetime import timedelta
from pathlib import Path

import pytest
from guard_bench import plan_of
from guarded_pair import MONDAY, PAIR, begin_pair, write_pair

from forescale.cli.main import main
from forescale.jobs.deploy import DueSteps, deploy, deploy_due
from forescale.jobs.guard import Guarding, guarded_topologies
from forescale.jobs.guard import guard as guard_once
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config
from modeling.inputs.physical_plan import PhysicalPlan
from planner.clock import TraceClock
from planner.clusters.cluster import Accepted, ClusterState, Refusal
from planner.clusters.simulator import SimulatedCluster
from planner.errors import ClusterError, StepWithheld
from planner.guard.actions import Action
from planner.guard.judgement import Verdict, VerdictKind
from planner.guard_facts import ActionKind, Diagnosis, DiagnosisKind, Reason, ReasonKind
from planner.ledger.step_state import StepState
from planner.scaling_schedule import ScalingSchedule, ScheduledStep


@pytest.fixture
def settings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Settings:
    for name, value in (("HOME", tmp_path / "home"), ("TOPOLOGIES", tmp_path), ("CLOCK", "trace")):
        monkeypatch.setenv(f"FORESCALE_{name}", str(value))
    monkeypatch.chdir(tmp_path)
    made = Settings()
    begin_pair(made)
    return made


def run(capsys: pytest.CaptureFixture[str], *arguments: str) -> tuple[int, str, str]:
    try:
        main(["guard", *arguments])
        code = 0
    except SystemExit as ended:
        code = int(ended.code or 0)
    said = capsys.readouterr()
    return code, said.out, said.err


def turns(settings: Settings, capsys: pytest.CaptureFixture[str], count: int) -> str:
    """One a minute; what the last one says."""
    said = run(capsys, "pair")[1]
    for _ in range(count):
        clock_of(settings).wait(60)
        said = run(capsys, "pair", "--once")[1]
    return said


def test_guard__heals_and_tells_what_it_did(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    assert run(capsys, "show", "pair")[1] == "guard of pair (mode act): nothing done so far\n"
    said = turns(settings, capsys, 5)
    assert "read 1 · work 2; work is full" in said
    assert "30/s come: work 2 → 5" in said
    assert "scale-up by step guard-" in said
    assert "deployed, its effect is judged later" in said
    assert "scale-up of 00:05:00 was effective: the job keeps up" in turns(settings, capsys, 5)

    code, out, _ = run(capsys, "show", "pair", "--json")
    told = json.loads(out)
    assert (code, told["mode"], told["barred"]) == (0, "act", [])
    (action,) = told["actions"]
    assert (action["diagnosis"], action["action"], action["state"]) == ("under-provisioned", "scale-up", "effective")
    assert action["expected"]["sustained_per_s"] == pytest.approx(50)
    assert "under-provisioned" in run(capsys, "show", "pair")[1]


def test_guard__in_shadow_mode_or_when_it_is_to_advise_deploys_nothing(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    for guard, mode in (("advise", "act"), ("act", "shadow")):
        write_pair(settings.topologies, guard, mode)
        said = turns(settings, capsys, 5)
    assert "30/s come: work 2 →" in said
    (advice,) = ledger_of(settings).guard.actions("pair")
    assert advice.state == "advised"
    assert ledger_of(settings).steps(topology="pair") == []


def test_guard__answers_as_one_document(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    turns(settings, capsys, 4)
    clock_of(settings).wait(60)
    told = json.loads(run(capsys, "--json", "pair")[1])
    assert (told["topology"], told["mode"], told["plan"]) == ("pair", "act", {"read": 1, "work": 2})
    assert told["diagnoses"] == ["under-provisioned: work is full: read waits for room downstream 100% of the time"]
    assert told["why"].endswith("30/s come: work 2 → 5")
    # The words are made of the facts beside them.
    [diagnosis], [reason] = told["facts"]["diagnoses"], told["facts"]["reasons"]
    assert (diagnosis["kind"], diagnosis["operator"]) == ("under-provisioned", "work")
    # 20 of 30/s are taken in: the source waits for room at all times, but for its first tuples.
    symptom = diagnosis["symptoms"][0]
    assert (symptom["kind"], symptom["value"]) == ("backpressure", pytest.approx(1.0, abs=0.005))
    assert (reason["kind"], reason["scaling"]["plan"]) == ("scales", {"read": 1, "work": 5})
    assert told["action"]["plan"] == {"read": 1, "work": 5}
    assert (told["action"]["why"], told["action"]["reason"]) == (told["why"], reason)
    # The guard sizes by what it has seen itself: four looks, a minute apart.
    timed = [each["provenance"] for each in told["stands_on"] if each["quantity"] == "service_time"]
    assert {(each["origin"], each["place"]) for each in timed} == {("measured", "metrics of the running job")}
    assert {each["samples"] for each in timed} == {3}
    assert {each["quantity"] for each in told["stands_on"]} >= {"downtime", "lead", "cores", "containers"}


def test_guard__ends_with_what_it_stands_on(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    lines = turns(settings, capsys, 5).splitlines()
    assert lines[-3].startswith("stands on: service times measured 2026-03-02 ")
    assert lines[-2].startswith("by its files: ")
    assert lines[-1].startswith("assumed: spread of service times exponential; selectivities taken as 1; ")
    assert lines[-1].endswith("; lead time by default")


def test_guard__measures_no_service_times_where_no_tuples_come(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    # By then the simulator's truth is over; what had waited is long gone an hour later.
    for hours in (3, 6, 6.1):
        TraceClock(settings.clock_file).start_at(MONDAY + timedelta(hours=hours))
        told = json.loads(run(capsys, "--json", "pair")[1])
    timed = {each["provenance"]["origin"] for each in told["stands_on"] if each["quantity"] == "service_time"}
    assert timed == {"declared"}


def test_guard__says_of_which_source_it_only_estimates_what_comes(
    settings: Settings, capsys: pytest.CaptureFixture[str]
) -> None:
    # By then the simulator's truth is over.
    TraceClock(settings.clock_file).start_at(MONDAY + timedelta(hours=3))
    why = "the simulator has no arrivals of source 'read' for this minute"
    assert f"\n  arrivals at read are estimated: {why}\n" in turns(settings, capsys, 5)
    assert json.loads(run(capsys, "--json", "pair")[1])["unmeasured"] == {"read": why}


def failed_twice(settings: Settings) -> None:
    records, now = ledger_of(settings).guard, clock_of(settings).now()
    late = Diagnosis(DiagnosisKind.TARGET_MISSED, "")
    action = Action(late, ActionKind.SCALE_UP, {"read": 1, "work": 5}, Reason(ReasonKind.SCALES, late))
    plans = [PhysicalPlan("pair", {"read": 1, "work": count}) for count in (5, 2)]
    for minute in (1, 2):
        at = now + timedelta(minutes=minute)
        begun = records.begin(action, *plans, at=at, expires_at=at)
        records.judge(
            begun.id, Verdict(VerdictKind.INEFFECTIVE, Reason(ReasonKind.STILL_ILL, late), {}), at=at, blacklist_after=2
        )


def test_lift__allows_again_what_was_barred(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    failed_twice(settings)
    shown = " ".join(run(capsys, "show", "pair")[1].split())
    assert "target-missed scale-up (2 times in a row without effect, at last: still target-missed)" in shown
    assert "`forescale guard lift pair target-missed scale-up` allows it again" in shown
    assert run(capsys, "lift", "pair", "target-missed", "scale-up")[:2] == (
        0,
        "scale-up under target-missed is allowed again for pair\n",
    )
    code, _, err = run(capsys, "lift", "pair", "target-missed", "scale-up")
    assert (code, "is not barred for topology 'pair'; barred is nothing" in err) == (1, True)


def test_errors__are_one_line_with_the_remedy(settings: Settings, capsys: pytest.CaptureFixture[str]) -> None:
    code, _, err = run(capsys, "lift", "pair", "bad-mood", "scale-up")
    assert (code, err.count("\n")) == (1, 1)
    assert "diagnosis 'bad-mood' is unknown; give one of under-provisioned, over-provisioned" in err
    assert run(capsys, "pair", "--once", "--watch")[0] == 2
    write_pair(settings.topologies, "off")
    code, out, err = run(capsys, "pair", "--json")
    assert (code, json.loads(out)["error"]) == (1, err.removeprefix("forescale: ").strip())
    assert "the guard of topology 'pair' is off; set planning.guard.mode: advise or act" in err
    (settings.topologies / "pair.yaml").write_text(
        PAIR.replace("{mode: GUARD}", "{window_s: 600}").replace("MODE", "act")
    )
    assert "settle_s 300 < window_s 600" in run(capsys, "pair")[2]


def test_topologies__whose_guard_is_off_are_left_out(settings: Settings) -> None:
    names = ["pair", "unknown"]
    assert guarded_topologies(Workspace(settings), names) == names
    write_pair(settings.topologies, "off")
    assert guarded_topologies(Workspace(settings), names) == ["unknown"]


def test_what_the_guard_had_begun__is_held_once_the_topology_is_in_shadow_mode(settings: Settings) -> None:
    clock_of(settings)
    full = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "work")
    action = Action(full, ActionKind.SCALE_UP, {}, Reason(ReasonKind.SCALES, full))
    plans = [PhysicalPlan("pair", {"read": 1, "work": count}) for count in (5, 2)]
    begun = ledger_of(settings).guard.begin(action, *plans, at=MONDAY, expires_at=MONDAY + timedelta(minutes=5))
    write_pair(settings.topologies, "act", "shadow")
    assert set(deploy_due(Workspace(settings), "pair").held) == {begun.step_id}


def test_watch__goes_on_while_the_cluster_does_not_answer_and_asks_less_and_less_often(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    write_pair(settings.topologies, "advise")
    cluster_of(topology_config("pair", settings), settings, clock_of(settings)).state()
    asked, state = list[float](), SimulatedCluster.state

    def away(cluster: SimulatedCluster) -> ClusterState:
        at_s = (clock_of(settings).now() - MONDAY).total_seconds()
        asked.extend([at_s] * (at_s not in asked))
        if len(asked) <= 5:
            raise ClusterError("no answer")
        if len(asked) > 7:
            raise KeyboardInterrupt
        return state(cluster)

    monkeypatch.setattr(SimulatedCluster, "state", away)
    _, out, err = run(capsys, "pair", "--watch", "--every", "60")
    # After 60, 120, 240 and twice 300 s; once it answers, each minute.
    assert asked == [0, 60, 180, 420, 720, 1020, 1080, 1140]
    assert err.count("no answer; the next turn is in") == 5
    assert out.count("read 1 · work 2") == 2


class AtOnce:
    """What else happens right before the simulator is asked for a plan, once; and the plans that it took."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, meanwhile: Callable[[], object]) -> None:
        self.told: object = None
        self.taken = list[PhysicalPlan]()
        apply, waits = SimulatedCluster.apply, [meanwhile]

        def asked(cluster: SimulatedCluster, plan: PhysicalPlan, *, expected: PhysicalPlan) -> Accepted | Refusal:
            if waits:
                self.told = waits.pop()()
            answer = apply(cluster, plan, expected=expected)
            self.taken.extend([plan] * isinstance(answer, Accepted))
            return answer

        monkeypatch.setattr(SimulatedCluster, "apply", asked)


def test_guard_and_deploy_due_at_once__leave_the_step_to_the_one_that_has_it(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns(settings, capsys, 4)
    clock_of(settings).wait(60)
    other = AtOnce(monkeypatch, lambda: deploy_due(Workspace(settings), "pair"))
    turn = guard_once(Workspace(settings), "pair")
    assert turn.action is not None
    assert isinstance(other.told, DueSteps)
    assert "is deployed by another process right now" in other.told.held[str(turn.action.step_id)]
    assert (other.told.deployed, other.taken) == ((), [plan_of(5)])
    assert ledger_of(settings).step(str(turn.action.step_id)).state is StepState.VERIFIED


def test_deploy_due_and_guard_at_once__leave_the_step_to_the_one_that_has_it(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A guard that was killed before it asked has left its step; `deploy due` takes it up as the next turn begins."""
    turns(settings, capsys, 4)
    clock_of(settings).wait(60)

    def killed() -> None:
        raise KeyboardInterrupt

    with monkeypatch.context() as patched:
        AtOnce(patched, killed)
        with pytest.raises(KeyboardInterrupt):
            guard_once(Workspace(settings), "pair")
    other = AtOnce(monkeypatch, lambda: guard_once(Workspace(settings), "pair"))
    (done,) = deploy_due(Workspace(settings), "pair").deployed
    assert isinstance(other.told, Guarding)
    reason = Reason(ReasonKind.DEPLOYED_ELSEWHERE, action=ActionKind.SCALE_UP, step_id=done.step_id)
    assert other.told.reasons == (reason,)
    assert (other.told.judged, done.state, other.taken) == (None, StepState.VERIFIED, [plan_of(5)])
    opened = ledger_of(settings).guard.open_action("pair")
    assert opened is not None
    assert opened.step_id == done.step_id


def test_a_planned_step_that_is_deployed_as_the_guard_asks__is_the_one_that_holds(
    settings: Settings, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    turns(settings, capsys, 4)
    clock, ledger = clock_of(settings), ledger_of(settings)
    clock.wait(60)
    now = clock.now() + timedelta(seconds=1)
    end, runs, more = now + timedelta(hours=1), plan_of(2), plan_of(7)
    step = ScheduledStep(now, now, now, end, more, runs, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned")
    whole = ScalingSchedule("pair", now, now, end, 0.95, runs, (step,), 1.0, "planned")
    ledger.approve_schedule(ledger.record_schedule(whole), at=now, by="anna", why="as planned")

    def deployed() -> DueSteps:
        clock.wait(1)
        return deploy_due(Workspace(settings), "pair")

    other = AtOnce(monkeypatch, deployed)
    turn = guard_once(Workspace(settings), "pair")
    assert isinstance(other.told, DueSteps)
    assert [each.state for each in other.told.deployed] == [StepState.VERIFIED]
    assert other.taken == [more]
    assert turn.action is not None
    assert turn.action.judgement is not None
    assert turn.action.judgement.kind is ReasonKind.NOT_DEPLOYED
    assert (refused := turn.action.judgement.cause) is not None
    assert "runs read 1 · work 7, not read 1 · work 2 as the decision assumed" in refused.detail


def test_a_due_step__is_held_while_it_would_carry_less_than_what_comes(settings: Settings) -> None:
    """Five instances carry the 30/s that come; two would not, whatever a forecast said."""
    config, clock, ledger = topology_config("pair", settings), clock_of(settings), ledger_of(settings)
    cluster_of(config, settings, clock).state()
    for _ in range(12):
        clock.wait(60)
        guard_once(Workspace(settings), "pair")
    runs, fewer, now = PhysicalPlan("pair", {"read": 1, "work": 5}), plan_of(2), clock.now()
    end = now + timedelta(hours=1)
    step = ScheduledStep(now, now, now, end, fewer, runs, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned")
    whole = ScalingSchedule("pair", now, now, end, 0.95, runs, (step,), 1.0, "planned")
    schedule_id = ledger.record_schedule(whole)
    ledger.approve_schedule(schedule_id, at=now, by="anna", why="as planned")
    step_id = f"{schedule_id}-1"
    told = deploy_due(Workspace(settings), "pair").held[step_id]
    assert "is withheld: 30/s come and 0 tuples wait" in told
    assert (ledger.step(step_id).state, cluster_of(config, settings, clock).state().plan) == (StepState.WITHHELD, runs)
    with pytest.raises(StepWithheld, match="withheld"):
        deploy(Workspace(settings), step_id)
    # Nobody looks any more, so nothing is known that the forecast did not know.
    clock.wait(240)
    assert [each.state for each in deploy_due(Workspace(settings), "pair").deployed] == [StepState.VERIFIED]


def test_the_step_after_a_withheld_one__is_deployed_on_what_runs_as_the_other_ones_time_goes_by(
    settings: Settings,
) -> None:
    """Two instances would not carry the 30/s that come; six are due a minute later, as the time of the two ends."""
    config, clock, ledger = topology_config("pair", settings), clock_of(settings), ledger_of(settings)
    cluster = cluster_of(config, settings, clock)
    cluster.state()
    for _ in range(12):
        clock.wait(60)
        guard_once(Workspace(settings), "pair")
    now, plans = clock.now(), [plan_of(5), plan_of(2), plan_of(6)]
    end, steps = now + timedelta(hours=1), []
    for minute in (0, 1):
        at, (before, plan) = now + timedelta(minutes=minute), plans[minute : minute + 2]
        steps.append(
            ScheduledStep(at, at, at, end, plan, before, {"read": 1.0}, "work", 0.5, 2.0, 30.0, 0.0, 1.0, "planned")
        )
    whole = ScalingSchedule("pair", now, now, end, 0.95, plans[0], tuple(steps), 1.0, "planned")
    schedule_id = ledger.record_schedule(whole)
    ledger.approve_schedule(schedule_id, at=now, by="anna", why="as planned")
    assert set(deploy_due(Workspace(settings), "pair").held) == {f"{schedule_id}-1"}
    clock.wait(60)
    done = deploy_due(Workspace(settings), "pair")
    assert done.expired == (f"{schedule_id}-1",)
    assert [(each.step_id, each.state) for each in done.deployed] == [(f"{schedule_id}-2", StepState.VERIFIED)]
    assert cluster.state().plan.same_parallelism(plan_of(6))
