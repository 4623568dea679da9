"""The question to a person whether a schedule may be deployed. Silence is not consent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param

from forescale.codec import handed_over, taken_over
from forescale.settings import Settings

if TYPE_CHECKING:
    from forescale.jobs.plan import PlannedSchedule

APPROVE, VETO, UNDECIDED = "Approve", "Veto", "Leave undecided"
MAX_WAIT = timedelta(hours=24)
MIN_WAIT = timedelta(minutes=1)
MAX_WHY = 500


@dataclass(frozen=True)
class Answer:
    """approve: None where nobody has answered by the last deploy time; the steps then expire."""

    approve: bool | None
    by: str
    why: str


class ReviewSchedule(HITLOperator):
    """Asks for a decision on a schedule; waits without a worker.

    schedule (templated): a PlannedSchedule that was handed over; hands over an Answer. Does not ask where
    FORESCALE_REVIEW is false, nor where there is nothing to deploy, as always in shadow mode.
    """

    template_fields: Collection[str] = ("schedule",)

    def __init__(self, *, schedule: Any, **kwargs: Any) -> None:
        # Airflow passes the fields of the DAG's own form in `params`; an answer would have to give them all again.
        kwargs.pop("params", None)
        why = Param("", type="string", maxLength=MAX_WHY, title="Why", description="Kept in the ledger.")
        super().__init__(
            subject="Review of a scaling schedule",
            options=[APPROVE, VETO, UNDECIDED],
            defaults=[UNDECIDED],
            params={"why": why},
            **kwargs,
        )
        self.schedule = schedule

    def execute(self, context: Any) -> dict[str, Any]:
        from forescale.jobs.plan import PlannedSchedule

        settings, schedule = Settings(), taken_over(PlannedSchedule, self.schedule)
        if schedule.shadow:
            return handed_over(Answer(None, "forescale", "shadow mode (planning.mode): nothing is deployed"))
        if not schedule.steps:
            # Without review a decision to hold takes the place of what waits; with it, what was approved stands.
            held = "the plan that runs is held; nothing to deploy"
            return handed_over(Answer(None if settings.review else True, "forescale", held))
        if not settings.review:
            return handed_over(Answer(True, "forescale", "review is off (FORESCALE_REVIEW=false)"))
        self.subject = f"Deploy {len(schedule.steps)} plan(s) of topology {schedule.topology}?"
        self.body = body(schedule)
        if settings.clock == "real":
            self.response_timeout = time_to_answer(schedule, datetime.now(UTC))
        else:
            self.response_timeout = MAX_WAIT
        decision: dict[str, Any] = super().execute(context)
        return decision

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        if "error" not in event:
            # The API does not check the form: whatever it brings, what is kept is a text of bounded length.
            why = (event.get("params_input") or {}).get("why") or ""
            event = {**event, "params_input": {"why": str(why)[:MAX_WHY]}}
        return handed_over(answer_of(super().execute_complete(context, event)))


def answer_of(response: Mapping[str, Any]) -> Answer:
    """What a person (or, after the wait, nobody) answered."""
    chosen = response["chosen_options"][0]
    user = response.get("responded_by_user") or {}
    return Answer(
        {APPROVE: True, VETO: False}.get(chosen),
        str(user.get("name") or user.get("id") or "nobody in time"),
        response["params_input"]["why"],
    )


def time_to_answer(schedule: "PlannedSchedule", now: datetime) -> timedelta:
    """Until the last deploy time: an answer after it decides nothing."""
    last = max(step.deploy_at for step in schedule.steps)
    return min(max(last - now, MIN_WAIT), MAX_WAIT)


def body(schedule: "PlannedSchedule") -> str:
    """Markdown: the summary and where the report is."""
    return f"{schedule.summary}\n\nReport: `{schedule.report}`"
