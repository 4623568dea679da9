"""A shadow beside what really ran: a row per day, and the sum in sentences. Unobserved values are not shown as zero."""

from collections.abc import Sequence

from forescale.report.kit.table import Cell, Sentence, Table, numbers, texts
from forescale.report.kit.wording import instance_hours, percent
from modeling.wording import count_of
from planner.ledger.entries import ShadowDay
from planner.shadow.comparison import Comparison, compared

COLUMNS = (
    "day",
    "instance-hours",
    "of forescale",
    "violation minutes",
    "of forescale",
    "rescales",
    "of forescale",
    "plan known",
    "lag known",
)
UNKNOWN = "unknown"


def row_of(total: Comparison) -> tuple[str, ...]:
    """All columns but the day. forescale's values cover the minutes in which the real ones are known, if any are."""
    return (
        UNKNOWN if total.real_instance_hours is None else instance_hours(total.real_instance_hours),
        instance_hours(total.instance_hours),
        UNKNOWN if total.real_violation_minutes is None else f"{total.real_violation_minutes:,}",
        f"{total.violation_minutes:,}",
        UNKNOWN if total.real_rescales is None else f"{total.real_rescales:,}",
        f"{total.rescales:,}",
        percent(total.observed_minutes / total.minutes),
        percent(total.measured_minutes / total.minutes),
    )


def shadow_table(days: Sequence[ShadowDay]) -> Table:
    """A row per day, then their sum."""
    rows = [(Cell(day.day.isoformat()), *(Cell(text) for text in row_of(compared([day])))) for day in days]
    total = (Cell("all", strong=True), *(Cell(text, strong=True) for text in row_of(compared(days))))
    return Table((*texts(COLUMNS[0]), *numbers(*COLUMNS[1:])), (*rows, total))


def comparison_sentences(days: Sequence[ShadowDay]) -> tuple[Sentence, ...]:
    """Cost and violations of all days, compared over the same minutes; empty without a day."""
    if not days:
        return ()
    total = compared(days)
    return Sentence("Cost", _cost(total)), Sentence("Violations", _violations(total))


def _cost(total: Comparison) -> str:
    own = f"{instance_hours(total.instance_hours)} instance-hours"
    if total.real_instance_hours is None:
        return f"forescale would have taken {own}; what really ran was not observed."
    saved = total.saved_share or 0.0
    less = "as many" if abs(saved) < 0.005 else f"{percent(abs(saved))} {'fewer' if saved > 0 else 'more'}"
    return (
        f"forescale would have taken {own} over the observed minutes, {less} than the "
        f"{instance_hours(total.real_instance_hours)} that were taken."
    )


def _violations(total: Comparison) -> str:
    own = count_of(total.violation_minutes, "minute")
    if total.real_violation_minutes is None:
        return f"forescale would have missed the target for {own}; the real lag was not measured."
    return (
        f"forescale would have missed the target for {own} of the {total.measured_minutes:,} in which the lag was "
        f"measured; it was missed for {total.real_violation_minutes:,}."
    )
