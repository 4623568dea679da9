"""Incidents to report: derived from where a topology stands, each with its own subjects.

Some are events (a step is undone, the guard acts) and some last (a review waits): lasting ones are reported again if
they end and come back.
"""

import hashlib
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import timedelta
from enum import StrEnum
from pathlib import Path

from forescale.jobs.forecast_report import FLEET_PAGE
from forescale.report.kit.decision_words import RUNGS, causes_words
from forescale.report.kit.guard_words import reason_words as guard_words
from forescale.report.kit.step_reasons import reason_words
from forescale.standing import Standing
from forescale.web.addresses import decision_path, overview_path, topology_path
from planner.decision_basis import Rung
from planner.guard_facts import GuardState
from planner.ledger.entries import StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.step_state import WAITING, Moved, StepState

LOOKED_BACK = timedelta(days=3)
"""Older events are not reported, for instance by a new installation."""
MIN_KNOWN_MINUTES = 1440
"""Known minutes of the past week needed to report an exhausted budget: of few minutes hardly any may violate."""


class IncidentKind(StrEnum):
    REVIEW = "review"
    STEP = "step"
    GUARD = "guard"
    DRIFT = "drift"
    RUNG = "rung"
    BUDGET = "budget"
    UNREAD = "unread"


LASTING = (IncidentKind.REVIEW, IncidentKind.DRIFT, IncidentKind.RUNG, IncidentKind.BUDGET, IncidentKind.UNREAD)


@dataclass(frozen=True)
class Incident:
    """subjects: the incident is news while any of them was not reported. title, text: as sent. path: of its page in
    *Scaling*, below Airflow. page: a report in the folder of reports, None without one.
    """

    topology: str
    kind: IncidentKind
    subjects: tuple[str, ...]
    title: str
    text: str
    path: str
    page: Path | None = None


def incidents(standing: Standing, ledger: Ledger) -> list[Incident]:
    return [
        *_reviews(standing, ledger),
        *_steps(standing, ledger),
        *_guard(standing, ledger),
        *_drifts(standing),
        *_rung(standing),
        *_budget(standing),
    ]


def damage(topology: str, rows: Sequence[str]) -> Incident:
    """rows: what is wrong with each damaged row."""
    subjects = tuple(hashlib.sha256(row.encode()).hexdigest()[:12] for row in rows)
    title = f"{topology}: not all of it can be read"
    return Incident(topology, IncidentKind.UNREAD, subjects, title, "\n".join(rows), topology_path(topology))


def unread(topology: str, why: str) -> Incident:
    """Incident of a topology that cannot be read at all."""
    title = f"{topology}: it cannot be read"
    return Incident(topology, IncidentKind.UNREAD, ("whole",), title, why, overview_path())


def _reviews(standing: Standing, ledger: Ledger) -> Iterator[Incident]:
    """Waiting reviews, identified by their plans: each new forecast may postpone them a little, and those that remain
    after another is deployed or called off are not news.
    """
    made = standing.schedule
    if made is None:
        return
    proposed = ledger.steps(schedule_id=made.id, states=(StepState.PROPOSED,))
    waiting = [step for step in proposed if step.expires_at > standing.at]
    if waiting:
        lines = [f"{step.deploy_at:%a %d %b %H:%M} UTC: {step.plan.brief()}: {reason_words(step)}" for step in waiting]
        yield Incident(
            standing.topology,
            IncidentKind.REVIEW,
            tuple(dict.fromkeys(step.plan.plan_id for step in waiting)),
            f"{standing.topology}: a review waits",
            "\n".join([*lines, f"Approve or veto: forescale plan approve {made.id}, or the review in Airflow."]),
            *_pages(made.schedule.topology, made.id, made.report),
        )


def _steps(standing: Standing, ledger: Ledger) -> Iterator[Incident]:
    states, since = (StepState.ROLLED_BACK, StepState.EXPIRED), standing.at - LOOKED_BACK
    for step in ledger.steps(topology=standing.topology, states=states, changed_since=since):
        if what := _failure(step, ledger):
            report = "" if step.schedule_id is None else ledger.report(step.schedule_id)
            yield Incident(
                standing.topology,
                IncidentKind.STEP,
                (step.id,),
                f"{standing.topology}: a step {what}",
                f"Step {step.id} ({step.plan.brief()}) {what} at {step.updated_at:%a %H:%M} UTC: {reason_words(step)}",
                *_pages(step.topology, step.schedule_id, report),
            )


def _failure(step: StepEntry, ledger: Ledger) -> str:
    """How a step failed; empty for a step that expired without approval."""
    if step.state is StepState.ROLLED_BACK:
        return "failed and was undone"
    expired = [event for event in ledger.events(step.id) if event.to_state is StepState.EXPIRED]
    proposed = any(event.from_state is StepState.PROPOSED for event in expired)
    return "" if proposed else "was approved and not deployed in time"


def _guard(standing: Standing, ledger: Ledger) -> Iterator[Incident]:
    """Actions of the guard, with the step that each contradicts. Advice is not an incident: nothing was done."""
    waiting = ledger.steps(topology=standing.topology, states=WAITING)
    against = [step for step in waiting if step.moved is Moved.AGAINST_GUARD]
    for action in ledger.guard.actions(standing.topology):
        if action.state is not GuardState.ADVISED and standing.at - action.decided_at <= LOOKED_BACK:
            steps = [step for step in against if dict(step.replaces.parallelism) == dict(action.plan)]
            contradicted = [
                f"Step {step.id} of {step.deploy_at:%a %H:%M} UTC ({step.plan.brief()}) {reason_words(step)}. "
                f"Veto it if it should not: forescale plan veto {step.id}\n"
                for step in steps
            ]
            why = guard_words(action.reason)
            yield Incident(
                standing.topology,
                IncidentKind.GUARD,
                (action.id, *(f"{action.id} against {step.id}" for step in steps)),
                f"{standing.topology}: the guard acted",
                f"{action.action} at {action.decided_at:%a %H:%M} UTC, {action.diagnosis}: {why}\n"
                f"{''.join(contradicted)}See: forescale guard --past {standing.topology}",
                topology_path(standing.topology),
            )


def _drifts(standing: Standing) -> Iterator[Incident]:
    for of in standing.sources:
        if alarms := [drift for drift in of.drifts if drift.alarmed]:
            yield Incident(
                standing.topology,
                IncidentKind.DRIFT,
                (of.source,),
                f"{standing.topology}: the forecast of {of.source} has drifted",
                "\n".join(f"{drift.horizon_s} s ahead: {drift.reason}" for drift in alarms),
                topology_path(standing.topology),
                Path(FLEET_PAGE),
            )


def _rung(standing: Standing) -> Iterator[Incident]:
    if standing.schedule is None:
        return
    basis = standing.schedule.schedule.basis
    if basis.rung is not Rung.FORECAST:
        yield Incident(
            standing.topology,
            IncidentKind.RUNG,
            (basis.rung.value,),
            f"{standing.topology}: nothing was forecast, it is planned by: {RUNGS[basis.rung]}",
            f"{causes_words(basis)}\nSee: forescale doctor {standing.topology}",
            *_pages(standing.topology, standing.schedule.id, standing.schedule.report),
        )


def _budget(standing: Standing) -> Iterator[Incident]:
    budget, made = standing.budget, standing.schedule
    if budget is None or (allowed := budget.past_allowed_minutes) is None:
        return
    if budget.past_minutes >= MIN_KNOWN_MINUTES and budget.used_minutes > allowed:
        yield Incident(
            standing.topology,
            IncidentKind.BUDGET,
            ("week",),
            f"{standing.topology}: the violation budget has run out",
            f"{budget.used_minutes:g} of {budget.past_minutes:,g} known minutes of the past week were in violation, "
            f"{allowed:.3g} are allowed. Plans are dearer until it has recovered; see planning.allow.",
            *_pages(standing.topology, made.id if made else None, made.report if made else ""),
        )


def _pages(topology: str, schedule_id: str | None, report: str) -> tuple[str, Path | None]:
    """path and page of a decision; of the topology if it has no report."""
    if schedule_id is None or not report:
        return topology_path(topology), None
    return decision_path(topology, schedule_id), Path(report)
