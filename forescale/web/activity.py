"""What Airflow does for forescale now, read from its own database: the pages are part of its API server."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING
from urllib.parse import quote

from forescale.report.overview.actions import WORK, Actions, Activity, Review
from forescale.web.addresses import below_airflow

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

REVIEW_TASK, PLAN_TASK = "each.review", "each.plan"
NEWEST = 5
"""Runs of a DAG that are looked at for how long it usually takes."""


def actions() -> Actions:
    """Runs of our DAGs that work now, and open reviews. One that only waits, for a review or a time, does not work."""
    from airflow.models.dagrun import DagRun
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState, TaskInstanceState
    from sqlalchemy import select
    from sqlalchemy.orm import aliased

    now = datetime.now(UTC)  # Airflow's times are real, whatever clock forescale has
    waiting = (TaskInstanceState.AWAITING_INPUT, TaskInstanceState.DEFERRED)
    with create_session() as session:
        waits = select(TaskInstance.run_id).where(
            TaskInstance.dag_id == DagRun.dag_id, TaskInstance.run_id == DagRun.run_id, TaskInstance.state.in_(waiting)
        )
        running = session.execute(
            select(DagRun.dag_id, DagRun.start_date)
            .where(DagRun.dag_id.in_(WORK), DagRun.state == DagRunState.RUNNING, ~waits.exists())
            .order_by(DagRun.start_date)
        ).all()
        review, plan = aliased(TaskInstance), aliased(TaskInstance)
        open_reviews = session.execute(
            select(review.run_id, review.map_index, plan.rendered_map_index)
            .select_from(HITLDetail)
            .join(review, review.id == HITLDetail.ti_id)
            .outerjoin(
                plan,
                (plan.dag_id == review.dag_id)
                & (plan.run_id == review.run_id)
                & (plan.map_index == review.map_index)
                & (plan.task_id == PLAN_TASK),
            )
            .where(
                review.dag_id == "plan",
                review.task_id == REVIEW_TASK,
                review.state == TaskInstanceState.AWAITING_INPUT,
                HITLDetail.responded_at.is_(None),
            )
            .order_by(review.queued_dttm)
        ).all()
        usual = {dag_id: _usual_s(session, dag_id) for dag_id in {dag_id for dag_id, _ in running}}
        newest = {dag_id: _newest_ended(session, dag_id) for dag_id in WORK}
    return Actions(
        [Activity(dag_id, (now - since).total_seconds(), usual[dag_id]) for dag_id, since in running if since],
        [Review(topology or "", _form(run_id, map_index)) for run_id, map_index, topology in open_reviews],
        below_airflow("/required_actions?response_received=false"),
        below_airflow("/dags/aggregate"),
        {
            dag_id: below_airflow(f"/dags/{dag_id}/runs/{quote(run_id, safe='')}{failed}")
            for dag_id, (run_id, state, failed) in newest.items()
            if state == DagRunState.FAILED
        },
        below_airflow("/dags/plan"),
    )


def _form(run_id: str, map_index: int) -> str:
    """Address of the form of a review."""
    return below_airflow(
        f"/dags/plan/runs/{quote(run_id, safe='')}/tasks/{REVIEW_TASK}/mapped/{map_index}/required_actions"
    )


def _newest_ended(session: "Session", dag_id: str) -> tuple[str, str, str]:
    """Id and state of the newest run that has ended, and the end of the address of its failed task, whose log says why;
    empty without one. A run under way may yet mend a failure.
    """
    from airflow.models.dagrun import DagRun
    from airflow.utils.state import DagRunState
    from sqlalchemy import select

    ended = (DagRunState.SUCCESS, DagRunState.FAILED)
    newest = session.execute(
        select(DagRun.run_id, DagRun.state)
        .where(DagRun.dag_id == dag_id, DagRun.state.in_(ended))
        .order_by(DagRun.end_date.desc())
        .limit(1)
    ).first()
    return (newest[0], str(newest[1]), _failed_task(session, dag_id, newest[0])) if newest else ("", "", "")


def _failed_task(session: "Session", dag_id: str, run_id: str) -> str:
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.state import TaskInstanceState
    from sqlalchemy import select

    first = session.execute(
        select(TaskInstance.task_id, TaskInstance.map_index)
        .where(
            TaskInstance.dag_id == dag_id,
            TaskInstance.run_id == run_id,
            TaskInstance.state == TaskInstanceState.FAILED,
        )
        .order_by(TaskInstance.end_date)
        .limit(1)
    ).first()
    if first is None:
        return ""
    task_id, map_index = first
    return f"/tasks/{task_id}" + (f"/mapped/{map_index}" if map_index >= 0 else "")


def _usual_s(session: "Session", dag_id: str) -> float | None:
    """How long the shortest of the newest successful runs took, which hardly waited; None before the first."""
    from airflow.models.dagrun import DagRun
    from airflow.utils.state import DagRunState
    from sqlalchemy import select

    runs = session.execute(
        select(DagRun.start_date, DagRun.end_date)
        .where(DagRun.dag_id == dag_id, DagRun.state == DagRunState.SUCCESS)
        .order_by(DagRun.start_date.desc())
        .limit(NEWEST)
    ).all()
    return min(((end - start).total_seconds() for start, end in runs if start and end), default=None)
