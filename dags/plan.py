"""Forecasts → a scaling schedule per topology, its review, and a run of `deploy` for every approved step."""

from airflow.sdk import dag, task, task_group

from forescale.orchestration.hand_off import ASKED, FORECASTS, ONE_TOPOLOGY, RETRIES, SCHEDULES, topologies
from forescale.orchestration.review_operator import ReviewSchedule


@dag(
    dag_id="plan",
    schedule=[FORECASTS],
    max_active_runs=32,  # a run that waits for its review must not block planning for newer forecasts
    params={"topology": ONE_TOPOLOGY},
    default_args=RETRIES,
    tags=["forescale"],
    doc_md=__doc__,
)
def plan_dag():
    @task_group
    def each(topology):
        @task(outlets=[SCHEDULES], map_index_template="{{ task.op_kwargs['topology'] }}")
        def plan(topology, outlet_events):
            from forescale.codec import handed_over
            from forescale.jobs.deploy import approved_steps
            from forescale.jobs.plan import plan as planned
            from forescale.orchestration.dag_runs import create_deploy_runs
            from forescale.orchestration.review_operator import to_review
            from forescale.settings import Settings
            from forescale.situation.workspace import Workspace

            workspace = Workspace(Settings())
            made = planned(workspace, topology)
            # Steps that need no review do not wait for one.
            create_deploy_runs(approved_steps(workspace, made.schedule_id))
            schedule = handed_over(to_review(made))
            outlet_events[SCHEDULES].extra = schedule
            return schedule

        @task
        def deploy_runs(schedule, decision):
            from airflow.sdk.exceptions import AirflowFailException, AirflowSkipException

            from forescale.codec import taken_over
            from forescale.jobs.deploy import approved_steps
            from forescale.jobs.review import review
            from forescale.orchestration.dag_runs import create_deploy_runs
            from forescale.orchestration.edited_review import ask_again, edited
            from forescale.orchestration.review_operator import ReviewAnswer, ScheduleToReview
            from forescale.settings import Settings
            from forescale.situation.workspace import Workspace
            from modeling.errors import ModelError
            from planner.errors import LedgerError, PlanError

            workspace, answer = Workspace(Settings()), taken_over(ReviewAnswer, decision)
            schedule_id = taken_over(ScheduleToReview, schedule).schedule_id
            if answer.edit is not None:
                try:
                    return [ask_again(edited(workspace, schedule_id, answer.edit, by=answer.by, why=answer.why))]
                except (PlanError, ModelError, LedgerError) as refusal:  # to be asked again, clear the review task
                    raise AirflowFailException(str(refusal)) from refusal
            if answer.approve is not None:
                try:
                    review(workspace, schedule_id, approve=answer.approve, by=answer.by, why=answer.why)
                except PlanError as too_late:  # a person has to hear of it
                    said = AirflowFailException if answer.asked else AirflowSkipException
                    raise said(str(too_late)) from too_late
            return create_deploy_runs(approved_steps(workspace, schedule_id))

        schedule = plan(topology=topology)
        decision = ReviewSchedule(task_id="review", schedule=schedule, **ASKED).output
        deploy_runs(schedule=schedule, decision=decision)

    each.expand(topology=topologies())


plan_dag()
