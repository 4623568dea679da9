"""Words for what an answer stands on, from the provenance of its values: one to three lines."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, tzinfo

from modeling.wording import count_of
from planner.provenance import Ground, Origin, Provenance, Quantity, placeholders

MAX_NAMED = 3

_NAMES = {
    Quantity.SERVICE_TIME: "service times",
    Quantity.SELECTIVITY: "selectivities",
    Quantity.KEYS: "keys",
    Quantity.STATE: "state",
    Quantity.CONTAINERS: "containers",
    Quantity.NODES: "speeds of nodes",
    Quantity.CORES: "cores",
    Quantity.PRICES: "prices",
    Quantity.DOWNTIME: "downtime",
    Quantity.LEAD: "lead time",
    Quantity.LOAD: "load",
    Quantity.VARIATION: "variation of arrivals",
    Quantity.BUDGET: "budget",
    Quantity.LIMITS: "limits",
    Quantity.FREEZES: "freezes",
    Quantity.EVENTS: "events",
}
_ASSUMED = {
    Quantity.KEYS: "spread evenly",
    Quantity.CONTAINERS: "one instance each",
    Quantity.CORES: "never short",
    Quantity.VARIATION: "Poisson",
    Quantity.DOWNTIME: "by default",
    Quantity.LEAD: "by default",
    Quantity.BUDGET: "by default",
    Quantity.LIMITS: "by default",
}
_ORDER = (Origin.GIVEN, Origin.MEASURED, Origin.LEARNT, Origin.DECLARED, Origin.ASSUMED)
_UNITS = {Quantity.KEYS: "day", Quantity.DOWNTIME: "deployment", Quantity.LEAD: "deployment"}


def placeholder_line(grounds: Iterable[Ground], topology: str) -> str:
    """What nobody has measured though it decides how much a plan carries, and the command that measures it; empty if
    everything is measured.
    """
    timed = [each for each in placeholders(grounds) if each.quantity is Quantity.SERVICE_TIME]
    if not timed:
        return ""
    return (
        f"service times of {_named(timed)} are placeholders of the topology file, which nobody has measured: "
        f"`forescale calibrate --topology {topology}` measures them"
    )


def stands_on_lines(grounds: Sequence[Ground], zone: tzinfo | None, today: date | None = None) -> list[str]:
    """One line of what options give or somebody has measured or learnt, one of what files declare, and one of what is
    assumed; none that is empty. zone: of the reader, None for that of this machine. today: the day on which it is read,
    None for a page that is read later.
    """
    words: dict[Origin, list[str]] = {origin: [] for origin in _ORDER}
    for quantity in _NAMES:
        by_provenance: dict[tuple[Origin, str, datetime | None], list[Ground]] = {}
        for each in grounds:
            if each.quantity is quantity:
                its = each.provenance
                by_provenance.setdefault((its.origin, its.place, its.at), []).append(each)
        whole = len(by_provenance) == 1 and quantity is not Quantity.KEYS
        for (origin, _, _), of in by_provenance.items():
            words[origin].append(_words(quantity, of, zone, today, whole=whole))
    known = [*words[Origin.GIVEN], *words[Origin.MEASURED], *words[Origin.LEARNT]]
    lines = {"stands on": known, "by its files": words[Origin.DECLARED], "assumed": words[Origin.ASSUMED]}
    return [f"{name}: {'; '.join(each)}" for name, each in lines.items() if each]


def stands_on_words(assumed: Sequence[Ground]) -> str:
    """One quantity that is assumed."""
    quantity = assumed[0].quantity
    name = _NAMES[quantity] + (f" of {_named(assumed)}" if assumed[0].of else "")
    return f"{name} {_ASSUMED[quantity]}" if quantity in _ASSUMED else name


def _words(
    quantity: Quantity, grounds: Sequence[Ground], zone: tzinfo | None, today: date | None, *, whole: bool
) -> str:
    name = _NAMES[quantity]
    if not whole and any(each.of for each in grounds):
        name += f" of {_named(grounds)}"
    provenance = grounds[0].provenance
    samples = min(each.provenance.samples for each in grounds)
    match provenance.origin:
        case Origin.GIVEN:
            return f"{name} by {provenance.place}"
        case Origin.MEASURED if quantity is Quantity.KEYS:
            return f"{name} counted over {count_of(samples, 'day')}"
        case Origin.MEASURED if quantity is Quantity.LOAD:
            return f"{name} forecast {_when(provenance, zone, today)}from {count_of(samples, 'day')}"
        case Origin.MEASURED if quantity is Quantity.BUDGET:
            return f"{name} paced by {count_of(samples, 'minute')}"
        case Origin.MEASURED:
            return f"{name} measured {_when(provenance, zone, today)}from {count_of(samples, 'sample')}"
        case Origin.LEARNT:
            return f"{name} learnt from {count_of(samples, _UNITS.get(quantity, 'sample'))}"
        case Origin.DECLARED:
            return name
        case Origin.ASSUMED:
            return stands_on_words(grounds)


def _when(provenance: Provenance, zone: tzinfo | None, today: date | None) -> str:
    if provenance.at is None:
        return ""
    at = provenance.at.astimezone(zone)
    return f"{at:%H:%M} today " if at.date() == today else f"{at:%Y-%m-%d %H:%M} "


def _named(grounds: Sequence[Ground]) -> str:
    names = list(dict.fromkeys(name for each in grounds for name in each.of))
    shown = ", ".join(names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"
