"""The first screen of a decision, the same in its report, on the page of its topology and in the form of its review."""

import re
from dataclasses import dataclass

from forescale.report.decision.plan_tables import brief_steps_table
from forescale.report.decision.proposal import PROPOSED, Proposal
from forescale.report.decision.verdict import headline, overload_note, sentences, step_change, warnings
from forescale.report.kit.table import Sentence, Table
from forescale.report.kit.wording import shortened, visible

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")
MAX_STEPS = 12
"""Steps that the form of the review lists; the report has all."""


@dataclass(frozen=True)
class Brief:
    """steps: None if nothing changes. note: on them, empty without one. answers: how to answer without a form, empty if
    nothing is asked.
    """

    warnings: tuple[str, ...]
    headline: str
    sentences: tuple[Sentence, ...]
    steps: Table | None
    note: str
    answers: tuple[str, ...]


def brief_of(proposal: Proposal) -> Brief:
    return Brief(
        warnings(proposal),
        headline(proposal),
        sentences(proposal),
        brief_steps_table(proposal) if proposal.schedule.steps else None,
        overload_note(proposal),
        _answers(proposal),
    )


def _answers(proposal: Proposal) -> tuple[str, ...]:
    """Commands by which a person answers."""
    if not proposal.asks:
        return ()
    first, name = proposal.waiting[0] + 1, proposal.schedule_id
    return (
        f"forescale deploy approve {name}",
        f"forescale deploy veto {name} --why REASON",
        f"forescale edit {name} --step {first} --plan OPERATOR=INSTANCES --why REASON",
    )


def markdown(proposal: Proposal) -> str:
    """The first screen for a form that shows Markdown. Names are escaped: they are not ours."""
    brief, steps, local = brief_of(proposal), proposal.schedule.steps, proposal.local
    head = [f"**{_plain(each)}**" for each in brief.warnings]
    first, *others = brief.sentences  # what is asked, then the reasons
    lines = [f"- {_plain(each.label)}: {_plain(each.text)}" for each in others]
    changes = [
        f"{index + 1}. {local.day_moment(step.deploy_at)}: {step.replaces.instances} → {step.plan.instances} instances "
        f"({_plain(step_change(proposal, index))}){_state(proposal, index)}"
        for index, step in enumerate(steps[:MAX_STEPS])
    ]
    more = [f"\n… and {len(steps) - MAX_STEPS} more, in the report."] if len(steps) > MAX_STEPS else []
    times = [f"\nSteps, in {_plain(local.name)}:\n"] if changes else []
    note = [f"\n{_plain(brief.note)}"] if brief.note else []
    parts = [*head, f"**{_plain(first.text)}**", "\n".join(lines), "\n".join([*times, *changes, *more, *note])]
    return "\n\n".join(part.strip("\n") for part in parts if part)


def _state(proposal: Proposal, index: int) -> str:
    """The state of a step that is no longer proposed, with its reason."""
    if (state := proposal.state(index)) == PROPOSED:
        return ""
    reason = proposal.reasons.get(index, "")
    return _plain(f", {state}: {reason}" if reason else f", {state}")


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return MARKDOWN.sub(r"\\\1", " ".join(visible(shortened(text, 2000)).split()))
