"""Writes the ledger that the tests of upgrades read, with the code of 0.2: commit e31f597f. From a clone:

    git worktree add --detach ../forescale-0.2 e31f597f
    cd tests/written_by_0_2
    PYTHONPATH=../../../forescale-0.2:../../../forescale-0.2/tests ../../.venv/bin/python write_ledger.py ledger.sql

Steps withheld, being undone, never asked for, moved by the guard, inherited and asked for; an edited schedule, and one
with a rung in words.
"""

import sqlite3
import sys
from dataclasses import replace
from datetime import timedelta
from pathlib import Path
from tempfile import TemporaryDirectory

from ledger_decisions import after, asked_by_hand, brought_to, forecast_of, plan_of, schedule_of, steps_at

from planner.guard.actions import Action, ActionKind
from planner.guard.diagnoses import Diagnosis, DiagnosisKind
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import StepState
from planner.withheld_steps import withhold

FOOTING = {"rung": "hold: there is no forecast of ingest; no profile: too short", "running plan": "ab12"}
EDITED = {
    "forecasts": "run-1",
    "history": "abababababab",
    "running plan": "cd34",
    "candidates": "b.json (0123abcd)",
    "calibration version": "calls/3",
    "edited from": "s0",
    "edited by": "anna",
    "edited because": "a fair",
    "edited past": "1 instances of operator 'transcribe' < planning.min_parallelism of 2",
}


def write(ledger: Ledger) -> None:
    ledger.record_forecast(forecast_of())
    first = ledger.record_schedule(steps_at((60, 3)), forecasts=["run-1"])
    ledger.approve_schedule(first, at=after(1), by="anna", why="fine")
    second = ledger.record_schedule(steps_at((61, 3), (120, 5), made_at=after(2)))
    ledger.approvals.inherit(second, within=timedelta(minutes=10), at=after(3))
    ledger.approvals.ask(f"{second}-2", at=after(3), by="auto_approve", why="it is large")
    states = {"undoing": StepState.DEPLOYING, "never": StepState.DEPLOYING, "withheld": StepState.APPROVED}
    for topology, state in states.items():
        made = ledger.record_schedule(schedule_of(3, 4, topology=topology))
        step = brought_to(ledger, f"{made}-1", state)
        if topology == "undoing":
            why = "being undone: it does not hold"
            ledger.remark(step.id, expected=state, at=after(70), by="deploy", why=why)
        elif topology == "never":
            why = "cut short before the cluster took it, and its time has gone by; nothing changed"
            ledger.transition(step.id, expected=state, to=StepState.ROLLED_BACK, at=after(70), by="deploy", why=why)
        else:
            withhold(step, "a backlog of 5 s", ledger, after(61), "deploy")
    moved = ledger.record_schedule(schedule_of(4, topology="moved"))
    ledger.approve_schedule(moved, at=after(1), by="anna", why="fine")
    diagnosis = Diagnosis(DiagnosisKind.UNDER_PROVISIONED, "transcribe", "it is full")
    action = Action(diagnosis, ActionKind.SCALE_UP, dict(plan_of(3, "moved").parallelism), "more come", {}, {})
    ledger.guard.begin(action, plan_of(3, "moved"), plan_of(2, "moved"), at=after(2), expires_at=after(30))
    ledger.guard.rebase(plan_of(2, "moved"), plan_of(3, "moved"), max_instances=32, at=after(3))
    ledger.record_schedule(replace(schedule_of(topology="held"), derived_from=FOOTING), decides=False)
    ledger.record_schedule(replace(schedule_of(5, topology="edited"), derived_from=EDITED))
    asked_by_hand(ledger)


if __name__ == "__main__":
    with TemporaryDirectory() as folder:
        file = Path(folder) / "ledger.db"
        write(Ledger(f"sqlite:///{file}"))
        connection = sqlite3.connect(file)
        Path(sys.argv[1]).write_text("\n".join(connection.iterdump()) + "\n", encoding="utf-8")
        connection.close()
