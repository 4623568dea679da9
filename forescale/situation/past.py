"""What the ledger has of a topology: its deployments, and how late the job was in the past week."""

from collections.abc import Callable
from datetime import datetime
from functools import cached_property, partial
from typing import Protocol

from planner.clock import Clock
from planner.horizon.budget import PACED
from planner.learned_warm_up import SpeedSample
from planner.ledger.entries import Outcome, ShadowDay, StepEntry
from planner.ledger.ledger import Ledger
from planner.ledger.minute_records import MinuteCount
from planner.ledger.shadow_records import ShadowSpan
from planner.ledger.step_state import StepState
from planner.shadow.accrual import MINUTES, midnight

NEWEST = 20
"""Number of deployments to learn from: older ones reflect another cluster or another size of the job."""


class LedgerSource(Protocol):
    """existing_ledger: None if there is none yet."""

    @property
    def existing_ledger(self) -> Ledger | None: ...
    @property
    def clock(self) -> Clock: ...


class Past:
    """Read when first asked for, and once: answers that need nothing of it do without a ledger. Its values raise
    LedgerError if the ledger cannot be read. now: None for that of the source's clock. ledger: instead of the source's.
    """

    def __init__(
        self,
        source: LedgerSource,
        topology: str,
        *,
        shadow: bool,
        now: datetime | None = None,
        ledger: Ledger | None = None,
    ) -> None:
        self._source, self._topology, self._shadow, self._now, self._given = source, topology, shadow, now, ledger

    def __reduce__(self) -> tuple[Callable[..., "Past"], tuple[object, ...]]:
        """Another process reads for itself."""
        return partial(Past, shadow=self._shadow, now=self._now), (self._source, self._topology)

    def with_ledger(self, ledger: Ledger) -> "Past":
        return Past(self._source, self._topology, shadow=self._shadow, now=self._now, ledger=ledger)

    @cached_property
    def at(self) -> datetime:
        """The moment at which the week ends."""
        return self._source.clock.now() if self._now is None else self._now

    @cached_property
    def verified(self) -> list[tuple[StepEntry, Outcome]]:
        """The newest deployments that held; undone or refused ones teach nothing."""
        if self._ledger is None:
            return []
        return self._ledger.outcomes(self._topology, states=(StepState.VERIFIED,), limit=NEWEST)

    @cached_property
    def speeds(self) -> list[list[SpeedSample]]:
        """Of the verified deployments, how fast each has worked since it ran, in order of time."""
        return [] if self._ledger is None else self._ledger.speeds.of_steps([step.id for step, _ in self.verified])

    @cached_property
    def minutes(self) -> MinuteCount:
        """Of the past week."""
        if self._ledger is None:
            return MinuteCount(0, 0)
        return past_minutes(self._ledger, self._topology, self.at, shadow=self._shadow)

    @cached_property
    def _ledger(self) -> Ledger | None:
        return self._source.existing_ledger if self._given is None else self._given


def past_minutes(ledger: Ledger, topology: str, at: datetime, *, shadow: bool) -> MinuteCount:
    """Minutes of the week before a moment; for a shadow, those of whole days that had been accrued by then."""
    if not shadow:
        return ledger.minutes.count(topology, at - PACED, at)
    span = ledger.shadow.span(topology)
    days = [] if span is None else accrued_days(ledger, span, topology)
    within = [day for day in days if at - PACED <= midnight(day.day) and day.accrued_at < at]
    return MinuteCount(MINUTES * len(within), sum(day.violation_minutes for day in within))


def accrued_days(ledger: Ledger, span: ShadowSpan, topology: str) -> tuple[ShadowDay, ...]:
    """Days of this span: a topology may have been in shadow mode before."""
    return tuple(day for day in ledger.shadow.days(topology) if midnight(day.day) >= span.start)
