"""How a span that looks like an undeclared outage is named, with the line that confirms it."""

from datetime import UTC, datetime

from forecasting.outage_shape import SuspectedOutage
from forescale.report.kit.wording import visible


def suspect_words(span: SuspectedOutage) -> str:
    return outage_words(span.source, span.start, span.end, span.share)


def outage_words(source: str, start: datetime, end: datetime, share: float) -> str:
    """
    >>> at = datetime(2026, 3, 3, 7, tzinfo=UTC)
    >>> outage_words("orders", at, at.replace(day=6), 0.1512)[:75]
    'orders: from 2026-03-03 07:00 to 2026-03-06 07:00 UTC came 15 % of what is '
    """
    name, from_, to = visible(source), start.astimezone(UTC), end.astimezone(UTC)
    return (
        f"{name}: from {from_:%Y-%m-%d %H:%M} to {to:%Y-%m-%d %H:%M} UTC came {100 * share:.2g} % of what is usual, "
        "and forecasts learn that; if events were lost, add to `events` of the topology file: "
        f"- {{label: outage of {from_:%Y-%m-%d}, kind: outage, start: {from_:%Y-%m-%dT%H:%M:%SZ}, "
        f"end: {to:%Y-%m-%dT%H:%M:%SZ}, sources: [{name}]}} (if so few came, the same with kind: other)"
    )
