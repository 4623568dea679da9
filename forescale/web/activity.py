"""What Airflow does for forescale now, read from its own database: the pages are part of its API server."""

from datetime import UTC, datetime
from typing import TYPE_CHECKING

from forescale.report.overview.actions import WORK, Actions, Activity
from forescale.web.addresses import below_airflow

if TYPE_CHECKING:
    from sqlalchemy.orm import Session

REVIEW_TASK = "each.review"
NEWEST = 5
"""Runs of a DAG that are looked at for how long it usually takes."""


def actions() -> Actions:
    """Runs of our DAGs that work now, and open reviews. One that only waits, for a review or a time, does not work."""
    from airflow.models.dagrun import DagRun
    from airflow.models.hitl import HITLDetail
    from airflow.models.taskinstance import TaskInstance
    from airflow.utils.session import create_session
    from airflow.utils.state import DagRunState, TaskInstanceState
    from sqlalchemy import func, select

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
        open_reviews = session.scalar(
            select(func.count())
            .select_from(HITLDetail)
            .join(TaskInstance, TaskInstance.id == HITLDetail.ti_id)
            .where(
                TaskInstance.dag_id == "plan",
                TaskInstance.task_id == REVIEW_TASK,
                TaskInstance.state == TaskInstanceState.AWAITING_INPUT,
                HITLDetail.responded_at.is_(None),
            )
        )
        usual = {dag_id: _usual_s(session, dag_id) for dag_id in {dag_id for dag_id, _ in running}}
    return Actions(
        [Activity(dag_id, (now - since).total_seconds(), usual[dag_id]) for dag_id, since in running if since],
        open_reviews or 0,
        below_airflow("/required_actions?response_received=false"),
        below_airflow("/dags/aggregate"),
    )


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
