"""The review of a schedule by a person before it is deployed. Silence is not consent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import TaskAwaitingInput

from forescale.codec import handed_over, taken_over
from forescale.orchestration.stored_answer import Question, StoredAnswer, is_repeated
from forescale.settings import Settings
from forescale.web.addresses import below_airflow, decision_path, picture_path

if TYPE_CHECKING:
    from forescale.jobs.plan import PlannedSchedule

APPROVE, VETO, EDIT, UNDECIDED = "Approve", "Veto", "Edit", "Leave undecided"
MAX_WAIT = timedelta(hours=24)
MIN_WAIT = timedelta(minutes=1)
MAX_TEXT = 500
FIELDS = {
    "why": ("Why", "Kept in the ledger."),
    "step": ("Step", "For Edit: the number of a step of this schedule, counted from 1, or its id."),
    "plan": ("Plan", "For Edit: OPERATOR=INSTANCES, several with commas; the other operators keep theirs."),
    "at": ("At", "For Edit: ISO time at which to ask for it, UTC where it has no offset; empty keeps the time."),
    "override": ("Override", "For Edit: yes, to pass limits of the topology file for the reason in Why."),
}
"""Fields of the answer's form: title and description."""
ASKED_AGAIN = (
    "**Airflow has started this review again, and has no answer to the question before.** If you have answered it, "
    "that answer was lost and decided nothing: please answer again."
)


@dataclass(frozen=True)
class TypedEdit:
    """The unchecked text of an edit."""

    step: str
    plan: str
    at: str
    override: str = ""


@dataclass(frozen=True)
class ReviewAnswer:
    """approve: None if nobody has answered by the last deploy time (the steps then expire), and if a step is to be
    edited (the edited schedule then gets its own review).
    """

    approve: bool | None
    by: str
    why: str
    edit: TypedEdit | None = None


class ReviewSchedule(HITLOperator):
    """Asks for a decision on a schedule; waits without a worker.

    schedule (templated): a PlannedSchedule that was handed over; hands over a ReviewAnswer. Does not ask if
    FORESCALE_REVIEW is false, if there is nothing to deploy, as always in shadow mode, or if all steps were approved
    before or are within `planning.auto_approve`.
    """

    template_fields: Collection[str] = ("schedule",)

    def __init__(self, *, schedule: Any, **kwargs: Any) -> None:
        # Airflow adds the fields of the DAG's own form to `params`; an answer would have to repeat them all.
        kwargs.pop("params", None)
        fields = {
            # The form takes a field that may not be null for required, and keeps every button shut until it is filled.
            name: Param(None, type=["null", "string"], maxLength=MAX_TEXT, title=title, description=description)
            for name, (title, description) in FIELDS.items()
        }
        super().__init__(
            subject="Review of a scaling schedule",
            options=[APPROVE, VETO, EDIT, UNDECIDED],
            defaults=[UNDECIDED],
            params=fields,
            **kwargs,
        )
        self.schedule = schedule

    def execute(self, context: Any) -> dict[str, Any]:
        from forescale.jobs.plan import PlannedSchedule

        settings, schedule = Settings(), taken_over(PlannedSchedule, self.schedule)
        if schedule.shadow:
            return handed_over(ReviewAnswer(None, "forescale", "shadow mode (planning.mode): nothing is deployed"))
        if not schedule.rung.plans:
            why = f"nothing to plan by ({schedule.cause}); what was approved before stands"
            return handed_over(ReviewAnswer(None, "forescale", why))
        if not schedule.steps:
            # Without review a decision to hold replaces what waits; with review, what was approved stands.
            held = "the plan that runs is held; nothing to deploy"
            return handed_over(ReviewAnswer(None if settings.review else True, "forescale", held))
        if not settings.review:
            return handed_over(ReviewAnswer(True, "forescale", "review is off (FORESCALE_REVIEW=false)"))
        if not schedule.asks:
            settled = "all of it was approved before, or is within planning.auto_approve"
            return handed_over(ReviewAnswer(None, "forescale", settled))
        if is_repeated(context["task_instance"], self.retries):
            # An answer that Airflow stored and lost is taken, not asked for again.
            self.defer(trigger=StoredAnswer(str(context["task_instance"].id)), method_name="ask_unless_answered")
        return self._ask(context, settings, schedule)

    def ask_unless_answered(self, context: Any, event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called by Airflow with what became of the question of the try before, or with an answer given since.

        A question that stands is not asked again, which would delete an answer of this moment. Of one that is gone the
        person is told: an answer to it was lost.
        """
        from forescale.jobs.plan import PlannedSchedule

        found = dict(event or {})
        question = Question(found.pop("question", Question.ANSWERED if found else Question.GONE))
        if question is Question.ANSWERED:
            return self.execute_complete(context, found)
        settings, schedule = Settings(), taken_over(PlannedSchedule, self.schedule)
        if question is Question.WAITING:
            raise TaskAwaitingInput(method_name="execute_complete", timeout=_patience(settings, schedule))
        return self._ask(context, settings, schedule, again=True)

    def _ask(
        self, context: Any, settings: Settings, schedule: "PlannedSchedule", *, again: bool = False
    ) -> dict[str, Any]:
        from modeling.wording import count_of  # not while DAGs are parsed: the package brings scipy

        self.subject = f"Deploy {count_of(len(schedule.steps), 'plan')} of topology {schedule.topology}?"
        self.body = body(schedule)
        if again:
            self.subject = f"Asked again: {self.subject}"
            self.body = f"{ASKED_AGAIN}\n\n{self.body}"
        self.response_timeout = _patience(settings, schedule)
        decision: dict[str, Any] = super().execute(context)
        return decision

    def execute_complete(self, context: Any, event: dict[str, Any]) -> dict[str, Any]:
        if "error" not in event:
            # The API does not check the form: store only texts of bounded length.
            typed = event.get("params_input") or {}
            event = {**event, "params_input": {name: str(typed.get(name) or "")[:MAX_TEXT] for name in FIELDS}}
        return handed_over(answer_of(super().execute_complete(context, event)))


def answer_of(response: Mapping[str, Any]) -> ReviewAnswer:
    """The answer of a person or, after the wait, of nobody."""
    chosen = response["chosen_options"][0]
    user, typed = response.get("responded_by_user") or {}, response["params_input"]
    return ReviewAnswer(
        {APPROVE: True, VETO: False}.get(chosen),
        str(user.get("name") or user.get("id") or "nobody in time"),
        typed["why"],
        TypedEdit(typed["step"], typed["plan"], typed["at"], typed["override"]) if chosen == EDIT else None,
    )


def _patience(settings: Settings, schedule: "PlannedSchedule") -> timedelta:
    return time_to_answer(schedule, datetime.now(UTC)) if settings.clock == "real" else MAX_WAIT


def time_to_answer(schedule: "PlannedSchedule", now: datetime) -> timedelta:
    """Time until the last deploy time: a later answer decides nothing."""
    last = max(step.deploy_at for step in schedule.steps)
    return min(max(last - now, MIN_WAIT), MAX_WAIT)


def body(schedule: "PlannedSchedule") -> str:
    """Markdown: the summary, a picture of the decision and a link to its report, both from the host that shows it.

    The form shows pictures only by address: it drops pictures in the text itself (`data:`).
    """
    picture, report = (
        below_airflow(path(schedule.topology, schedule.schedule_id)) for path in (picture_path, decision_path)
    )
    return f"{schedule.summary}\n\n![Past arrivals, forecast and capacity]({picture})\n\n[Open the report]({report})"
