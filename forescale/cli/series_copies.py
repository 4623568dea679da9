"""How series that seem to be counted twice are named."""

from forecasting.arrivals.arrival_source import SeriesCopies
from forescale.report.kit.wording import visible
from modeling.wording import count_of


def copies_words(copies: SeriesCopies) -> str:
    """
    >>> copies_words(SeriesCopies("orders", "replica", ("a", "b"), 3))[:86]
    'orders: 3 groups of series are equal but for the label replica (a, b) and rise alike: '
    """
    values = ", ".join(map(visible, copies.values[:3])) + (", …" if len(copies.values) > 3 else "")
    verb = "is" if copies.groups == 1 else "are"
    return (
        f"{visible(copies.source)}: {count_of(copies.groups, 'group')} of series {verb} equal but for the label "
        f"{visible(copies.label)} ({values}) and rise alike: copies count every event twice or more; if they are "
        f"copies, set arrivals.deduplicate_by: {visible(copies.label)} and build the span again"
    )
