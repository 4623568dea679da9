"""The question to a person whether a schedule may be deployed. Silence is not consent."""

from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from typing import Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param

from forescale.settings import Settings

APPROVE, VETO, UNDECIDED = "Approve", "Veto", "Leave undecided"
LONGEST_WAIT = timedelta(hours=24)
SHORTEST_WAIT = timedelta(minutes=1)
LONGEST_WHY = 500


class ReviewSchedule(HITLOperator):
    """Asks for a decision on a schedule; waits without a worker.

    schedule (templated): what the job `plan` returned. Returns {"approve": bool | None, "by": name, "why": text};
    None where nobody has answered by the last deploy time: the steps then expire. Does not ask where
    FORESCALE_REVIEW is false, nor where there is nothing to deploy.
    """

    template_fields: Collection[str] = ("schedule",)

    def __init__(self, *, schedule: Any, **kwargs: Any) -> None:
        # Airflow passes the fields of the DAG's own form in `params`; an answer would have to give them all again.
        kwargs.pop("params", None)
        why = Param("", type="string", maxLength=LONGEST_WHY, title="Why", description="Kept in the ledger.")
        super().__init__(
            subject="Review of a scaling schedule",
            options=[APPROVE, VETO, UNDECIDED],
            defaults=[UNDECIDED],
            params={"why": why},
            **kwargs,
        )
        self.schedule = schedule

    def execute(self, context: Any) -> dict[str, Any]:
        settings = Settings()
        if not self.schedule["steps"]:
            # Without review a decision to hold takes the place of what waits; with it, what was approved stands.
            held = "the plan that runs is held; nothing to deploy"
            return {"approve": None if settings.review else True, "by": "forescale", "why": held}
        if not settings.review:
            return {"approve": True, "by": "forescale", "why": "review is off (FORESCALE_REVIEW=false)"}
        self.subject = f"Deploy {len(self.schedule['steps'])} plan(s) of topology {self.schedule['topology']}?"
        self.body = body(self.schedule)
        if settings.clock == "real":
            self.response_timeout = time_to_answer(self.schedule, datetime.now(UTC))
        else:
            self.response_timeout = LONGEST_WAIT
        decision: dict[str, Any] = super().execute(context)
        return decision

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        if "error" not in event:
            # The API does not check the form: whatever it brings, what is kept is a text of bounded length.
            why = (event.get("params_input") or {}).get("why") or ""
            event = {**event, "params_input": {"why": str(why)[:LONGEST_WHY]}}
        return decision_of(super().execute_complete(context, event))


def decision_of(response: Mapping[str, Any]) -> dict[str, Any]:
    """What a person (or, after the wait, nobody) answered, as the job `review` takes it."""
    chosen = response["chosen_options"][0]
    user = response.get("responded_by_user") or {}
    return {
        "approve": {APPROVE: True, VETO: False}.get(chosen),
        "by": str(user.get("name") or user.get("id") or "nobody in time"),
        "why": response["params_input"]["why"],
    }


def time_to_answer(schedule: Mapping[str, Any], now: datetime) -> timedelta:
    """Until the last deploy time: an answer after it decides nothing."""
    last = max(datetime.fromisoformat(step["deploy_at"]) for step in schedule["steps"])
    return min(max(last - now, SHORTEST_WAIT), LONGEST_WAIT)


def body(schedule: Mapping[str, Any]) -> str:
    """Markdown: the summary and where the report is."""
    return f"{schedule['summary']}\n\nReport: `{schedule['report']}`"
