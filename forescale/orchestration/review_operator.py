"""The review of a schedule by a person before it is deployed. Silence is not consent."""

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Any

from airflow.providers.standard.operators.hitl import HITLOperator
from airflow.sdk import Param
from airflow.sdk.exceptions import TaskAwaitingInput

from forescale.codec import Moment, handed_over, taken_over
from forescale.orchestration.stored_answer import Question, StoredAnswer, is_repeated
from forescale.settings import Settings
from forescale.web.addresses import below_airflow, decision_path, picture_path

if TYPE_CHECKING:
    from forescale.jobs.proposed_schedule import ProposedSchedule

APPROVE, VETO, EDIT, UNDECIDED = "Approve", "Veto", "Edit", "Leave undecided"
MAX_WAIT = timedelta(hours=24)
MIN_WAIT = timedelta(minutes=1)
MAX_TEXT = 500
TEXT, TITLE = "text", "Why, or the edit"
DESCRIPTION = "Edit: STEP OPERATOR=INSTANCES,… at TIME override because REASON; TIME as above; leave out what stays."
"""Of the one field of the answer's form. Airflow draws fields between question and buttons, and folds none: a second
one would put the buttons below the first screen.
"""
ASKED_AGAIN = (
    "**Airflow has started this review again, and has no answer to the question before.** If you have answered it, "
    "that answer was lost and decided nothing: please answer again."
)


@dataclass(frozen=True)
class ScheduleToReview:
    """What `plan` hands over. deploy_at: of each step. summary: Markdown for the form. shadow: nothing of it is
    deployed. plans: False if there was nothing to plan by; cause: why. asks: a person has to approve some of it.
    """

    topology: str
    schedule_id: str
    deploy_at: tuple[Moment, ...]
    summary: str
    shadow: bool = False
    plans: bool = True
    cause: str = ""
    asks: bool = True


def to_review(made: "ProposedSchedule") -> ScheduleToReview:
    from forescale.jobs.proposals import proposal_of
    from forescale.report.decision.brief import markdown
    from forescale.report.kit.decision_words import causes_words

    schedule = made.entry.schedule
    return ScheduleToReview(
        made.topology,
        made.schedule_id,
        tuple(step.deploy_at for step in made.steps),
        markdown(proposal_of(made.config, made.entry, made.steps, schedule.made_at)),
        made.entry.shadow,
        made.basis.rung.plans,
        causes_words(made.basis),
        made.asks,
    )


@dataclass(frozen=True)
class TypedEdit:
    """An edit as typed, its parts unchecked. step: its number in the schedule, or its id."""

    step: str
    plan: str
    at: str
    override: bool = False


@dataclass(frozen=True)
class ReviewAnswer:
    """approve: None if nobody has answered by the last deploy time (the steps then expire), and if a step is to be
    edited (the edited schedule then gets its own review). asked: whether anybody was asked.
    """

    approve: bool | None
    by: str
    why: str
    edit: TypedEdit | None = None
    asked: bool = True


class ReviewSchedule(HITLOperator):
    """Asks for a decision on a schedule; waits without a worker.

    schedule (templated): a ScheduleToReview that was handed over; hands over a ReviewAnswer. Does not ask if
    FORESCALE_REVIEW is false, if there is nothing to deploy, as always in shadow mode, or if all steps were approved
    before or are within `planning.auto_approve`.
    """

    template_fields: Collection[str] = ("schedule",)

    def __init__(self, *, schedule: Any, **kwargs: Any) -> None:
        # Airflow adds the fields of the DAG's own form to `params`; an answer would have to repeat them all.
        kwargs.pop("params", None)
        # The form takes a field that may not be null for required, and keeps every button shut until it is filled.
        field = Param(None, type=["null", "string"], maxLength=MAX_TEXT, title=TITLE, description=DESCRIPTION)
        super().__init__(
            subject="Review of a scaling schedule",
            options=[APPROVE, VETO, EDIT, UNDECIDED],
            defaults=[UNDECIDED],
            params={TEXT: field},
            **kwargs,
        )
        self.schedule = schedule

    def execute(self, context: Any) -> dict[str, Any]:
        settings, schedule = Settings(), taken_over(ScheduleToReview, self.schedule)
        if (settled := _settled(settings, schedule)) is not None:
            return handed_over(settled)
        if is_repeated(context["task_instance"], self.retries):
            # An answer that Airflow stored and lost is taken, not asked for again.
            self.defer(trigger=StoredAnswer(str(context["task_instance"].id)), method_name="ask_unless_answered")
        return self._ask(context, settings, schedule)

    def ask_unless_answered(self, context: Any, event: dict[str, Any] | None = None) -> dict[str, Any]:
        """Called by Airflow with what became of the question of the try before, or with an answer given since.

        A question that stands is not asked again, which would delete an answer of this moment. Of one that is gone the
        person is told: an answer to it was lost.
        """
        found = dict(event or {})
        question = Question(found.pop("question", Question.ANSWERED if found else Question.GONE))
        if question is Question.ANSWERED:
            return self.execute_complete(context, found)
        settings, schedule = Settings(), taken_over(ScheduleToReview, self.schedule)
        if question is Question.WAITING:
            raise TaskAwaitingInput(method_name="execute_complete", timeout=_patience(settings, schedule))
        return self._ask(context, settings, schedule, again=True)

    def _ask(
        self, context: Any, settings: Settings, schedule: ScheduleToReview, *, again: bool = False
    ) -> dict[str, Any]:
        from modeling.wording import count_of  # not while DAGs are parsed: the package brings scipy

        self.subject = f"Deploy {count_of(len(schedule.deploy_at), 'plan')} of topology {schedule.topology}?"
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
            event = {**event, "params_input": {TEXT: str(typed.get(TEXT) or "")[:MAX_TEXT]}}
        return handed_over(answer_of(super().execute_complete(context, event)))


def _settled(settings: Settings, schedule: ScheduleToReview) -> ReviewAnswer | None:
    """The answer to a schedule that no person is asked about; None if one is."""
    if schedule.shadow:
        return _unasked(None, "shadow mode (planning.mode): nothing is deployed")
    if not schedule.plans:
        return _unasked(None, f"nothing to plan by ({schedule.cause}); what was approved before stands")
    if not schedule.deploy_at:
        # Without review a decision to hold replaces what waits; with review, what was approved stands.
        return _unasked(None if settings.review else True, "the plan that runs is held; nothing to deploy")
    if not settings.review:
        return _unasked(True, "review is off (FORESCALE_REVIEW=false)")
    if not schedule.asks:
        return _unasked(None, "all of it was approved before, or is within planning.auto_approve")
    return None


def _unasked(approve: bool | None, why: str) -> ReviewAnswer:
    return ReviewAnswer(approve, "forescale", why, asked=False)


def answer_of(response: Mapping[str, Any]) -> ReviewAnswer:
    """The answer of a person or, after the wait, of nobody."""
    chosen = response["chosen_options"][0]
    user, text = response.get("responded_by_user") or {}, response["params_input"][TEXT]
    by = str(user.get("name") or user.get("id") or "nobody in time")
    if chosen == EDIT:
        edit, _, why = text.partition(" because ")
        return ReviewAnswer(None, by, why.strip(), typed_edit(edit))
    return ReviewAnswer({APPROVE: True, VETO: False}.get(chosen), by, text)


def typed_edit(text: str) -> TypedEdit:
    """Takes `2 count=8,split=3 at 2026-03-02 08:30 override` apart; all but the step may be missing."""
    step, _, rest = text.strip().partition(" ")
    rest, override = rest.strip(), False
    if rest == "override" or rest.endswith(" override"):
        rest, override = rest.removesuffix("override").strip(), True
    plan, timed, at = f" {rest}".rpartition(" at ")
    # Names of operators may contain the word.
    if not timed or "=" in at:
        plan, at = rest, ""
    return TypedEdit(step, plan.strip(), at.strip(), override)


def _patience(settings: Settings, schedule: ScheduleToReview) -> timedelta:
    return time_to_answer(schedule, datetime.now(UTC)) if settings.clock == "real" else MAX_WAIT


def time_to_answer(schedule: ScheduleToReview, now: datetime) -> timedelta:
    """Time until the last deploy time: a later answer decides nothing."""
    last = max(schedule.deploy_at)
    return min(max(last - now, MIN_WAIT), MAX_WAIT)


def body(schedule: ScheduleToReview) -> str:
    """Markdown: the summary, a link to the report and a picture of the decision, both from the host that shows it.

    The form shows pictures only by address, as it drops pictures in the text itself (`data:`), and as a block, so the
    link stands with the text above.
    """
    picture, report = (
        below_airflow(path(schedule.topology, schedule.schedule_id)) for path in (picture_path, decision_path)
    )
    return f"{schedule.summary} [Open the report]({report})\n\n![Past arrivals, forecast and capacity]({picture})"
