"""The first screen of a decision, the same in its report, on the page of its topology and in the form of its review."""

import re
from dataclasses import dataclass

from forescale.report.decision.plan_tables import brief_steps_table
from forescale.report.decision.proposal import PROPOSED, Proposal
from forescale.report.decision.verdict import (
    brief_sentences,
    headline,
    overload_note,
    sentences,
    step_changes,
    warnings,
)
from forescale.report.kit.table import Sentence, Table
from forescale.report.kit.wording import shortened, visible

MARKDOWN = re.compile(r"([\\`*_{}\[\]<>()#+!|~])")
MAX_STEPS, MAX_CHANGES = 6, 3
"""Steps, and operators of a step, that the form of the review lists; the report has all."""


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
        f"forescale plan approve {name}",
        f"forescale plan veto {name} --why REASON",
        f"forescale plan edit {name}-{first} --plan OPERATOR=INSTANCES --why REASON",
    )


def markdown(proposal: Proposal) -> str:
    """The first screen for a form that shows Markdown, so brief that its buttons follow on the same screen. Names are
    escaped: they are not ours.
    """
    steps, local = proposal.schedule.steps, proposal.local
    first, *others = brief_sentences(proposal)  # what is asked, then the reasons
    lines = [f"- {_plain(each.label)}: {_plain(each.text)}" for each in others]
    parts = [
        *(f"**{_with_commands(each)}**" for each in warnings(proposal)),
        f"**{_plain(first.text)}**",
        "\n".join(lines),
    ]
    if steps:
        changes = [_change(proposal, index) for index in range(min(len(steps), MAX_STEPS))]
        more = [f"… and {len(steps) - MAX_STEPS} more"] if len(steps) > MAX_STEPS else []
        note = f" {_plain(note)}" if (note := overload_note(proposal)) else ""
        parts.append(f"Instances by step, in {_plain(local.name)}: {'; '.join([*changes, *more])}.{note}")
    return "\n\n".join(parts)


def _change(proposal: Proposal, index: int) -> str:
    """`2. Fri 11:40: 2 → 3 (work 1 → 2)`."""
    step, operators = proposal.schedule.steps[index], step_changes(proposal, index)
    more = [f"{len(operators) - MAX_CHANGES} more"] if len(operators) > MAX_CHANGES else []
    return (
        f"**{index + 1}.** {proposal.local.day_moment(step.deploy_at)}: "
        f"{step.replaces.instances} → {step.plan.instances} "
        f"({_plain(', '.join([*operators[:MAX_CHANGES], *more]))}){_state(proposal, index)}"
    )


def _state(proposal: Proposal, index: int) -> str:
    """The state of a step that is no longer proposed, with its reason."""
    if (state := proposal.state(index)) == PROPOSED:
        return ""
    reason = proposal.reasons.get(index, "")
    return _plain(f", {state}: {reason}" if reason else f", {state}")


def _plain(text: str) -> str:
    """Text that Markdown shows as it is."""
    return _escaped(" ".join(shortened(text, 2000).split()))


def _with_commands(text: str) -> str:
    """As `_plain`, but what is between two backticks stays a command to copy."""
    parts = " ".join(shortened(text, 2000).split()).split("`")
    if len(parts) % 2 == 0:
        return _plain(text)
    return "".join(f"`{visible(part)}`" if at % 2 else _escaped(part) for at, part in enumerate(parts))


def _escaped(text: str) -> str:
    return MARKDOWN.sub(r"\\\1", visible(text))
