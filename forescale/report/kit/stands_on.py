"""Words for what an answer stands on, from the provenance of its values: one to three lines."""

from collections.abc import Iterable, Sequence
from datetime import date, datetime, tzinfo

from forescale.report.kit.wording import sentence
from modeling.wording import count_of
from planner.provenance import UNCALIBRATED, Ground, Origin, Provenance, Quantity, placeholders

MAX_NAMED = 3

_NAMES = {
    Quantity.SERVICE_TIME: "service times",
    Quantity.SPREAD: "spread of service times",
    Quantity.SELECTIVITY: "selectivities",
    Quantity.KEYS: "keys",
    Quantity.STATE: "state",
    Quantity.TASKS: "tasks",
    Quantity.CONTAINERS: "containers",
    Quantity.NODES: "speeds of nodes",
    Quantity.CORES: "cores",
    Quantity.IDLE_CORES: "cores used without work",
    Quantity.MEMORY: "memory",
    Quantity.LINKS: "links",
    Quantity.BUFFERS: "buffers",
    Quantity.PRICES: "prices",
    Quantity.DOWNTIME: "downtime",
    Quantity.RESTORE: "restore of state",
    Quantity.LEAD: "lead time",
    Quantity.WARM_UP: "warm-up",
    Quantity.LOAD: "load",
    Quantity.VARIATION: "variation of arrivals",
    Quantity.BUDGET: "budget",
    Quantity.LIMITS: "limits",
    Quantity.FREEZES: "freezes",
    Quantity.EVENTS: "events",
}
_ASSUMED = {
    Quantity.SERVICE_TIME: "of the topology file",
    Quantity.SPREAD: "exponential",
    Quantity.SELECTIVITY: "taken as 1",
    Quantity.KEYS: "spread evenly",
    Quantity.STATE: "none",
    Quantity.TASKS: "128",
    Quantity.CONTAINERS: "one instance each",
    Quantity.NODES: "equal",
    Quantity.CORES: "never short",
    Quantity.IDLE_CORES: "none",
    Quantity.MEMORY: "never short",
    Quantity.LINKS: "without delay",
    Quantity.BUFFERS: "sent at once",
    Quantity.VARIATION: "Poisson",
    Quantity.DOWNTIME: "by default",
    Quantity.RESTORE: "at once",
    Quantity.LEAD: "by default",
    Quantity.WARM_UP: "of new JVMs",
    Quantity.BUDGET: "by default",
    Quantity.LIMITS: "by default",
}
_ORDER = (Origin.GIVEN, Origin.MEASURED, Origin.LEARNT, Origin.DECLARED, Origin.ASSUMED)
_UNITS = {
    Quantity.KEYS: "day",
    Quantity.VARIATION: "day",
    Quantity.DOWNTIME: "deployment",
    Quantity.RESTORE: "deployment",
    Quantity.LEAD: "deployment",
    Quantity.WARM_UP: "deployment",
}


def placeholder_line(grounds: Iterable[Ground], topology: str) -> str:
    """What nobody has measured though it decides how much a plan carries, and the command that measures it; empty if
    everything is measured.
    """
    stand_ins = placeholders(grounds)
    timed = [each for each in stand_ins if each.quantity is Quantity.SERVICE_TIME]
    never = [each for each in timed if not each.provenance.samples]
    ratios = [each for each in stand_ins if each.quantity is Quantity.SELECTIVITY and each.provenance == UNCALIBRATED]
    facts = []
    if never:
        facts.append(f"service times of {_named(never)} are placeholders of the topology file")
    if ratios:
        facts.append(f"{stands_on_words(ratios)} are assumed")
    sentences = []
    if facts:
        remedy = f"`forescale model calibrate {topology}` measures them"
        sentences.append(f"{' and '.join(facts)}, which nobody has measured: {remedy}")
    if unreported := [each for each in timed if each.provenance.samples]:
        sentences.append(f"service times of {_named(unreported)} are those of the topology file: the job reports none")
    return "; ".join(sentences)


def placeholder_warning(grounds: Iterable[Ground], topology: str) -> str:
    """The same as a sentence of a page, empty if everything is measured."""
    line = placeholder_line(grounds, topology)
    return sentence(line) if line else ""


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
                place = "" if its.origin is Origin.ASSUMED else its.place
                by_provenance.setdefault((its.origin, place, its.at), []).append(each)
        whole = len(by_provenance) == 1 and quantity not in (Quantity.KEYS, Quantity.LIMITS)
        for (origin, _, _), of in by_provenance.items():
            words[origin].append(_words(quantity, of, zone, today, whole=whole))
    known = [*words[Origin.GIVEN], *words[Origin.MEASURED], *words[Origin.LEARNT]]
    lines = {"stands on": known, "by its files": words[Origin.DECLARED], "assumed": words[Origin.ASSUMED]}
    return [f"{name}: {'; '.join(each)}" for name, each in lines.items() if each]


def stands_on_words(assumed: Sequence[Ground], *, whole: bool = False) -> str:
    """One quantity that is assumed, or only declared until somebody measures it. whole: it is so wherever it is known,
    so that no place is named.
    """
    quantity = assumed[0].quantity
    name = _NAMES[quantity] + ("" if whole or not assumed[0].of else f" of {_named(assumed)}")
    return f"{name} {_ASSUMED[quantity]}" if quantity in _ASSUMED else name


def _words(
    quantity: Quantity, grounds: Sequence[Ground], zone: tzinfo | None, today: date | None, *, whole: bool
) -> str:
    name = _NAMES[quantity]
    if not whole and any(each.of for each in grounds):
        name += f" of {_named(grounds)}"
    provenance = grounds[0].provenance
    samples = min(each.provenance.samples for each in grounds)
    unit = _UNITS.get(quantity, "sample")
    match provenance.origin:
        case Origin.GIVEN:
            return f"{name} by {provenance.place}"
        case Origin.MEASURED if quantity is Quantity.KEYS:
            return f"{name} counted over {count_of(samples, 'day')}"
        case Origin.MEASURED if quantity is Quantity.TASKS:
            return f"{name} as it was submitted"
        case Origin.MEASURED if quantity is Quantity.LOAD:
            return f"{name} forecast {_when(provenance, zone, today)}from {count_of(samples, 'day')}"
        case Origin.MEASURED if quantity is Quantity.BUDGET:
            return f"{name} paced by {count_of(samples, 'minute')}"
        case Origin.MEASURED:
            return f"{name} measured {_when(provenance, zone, today)}from {count_of(samples, unit)}"
        case Origin.LEARNT:
            return f"{name} learnt from {count_of(samples, unit)}"
        case Origin.DECLARED:
            return name
        case Origin.ASSUMED:
            return stands_on_words(grounds, whole=whole)


def _when(provenance: Provenance, zone: tzinfo | None, today: date | None) -> str:
    if provenance.at is None:
        return ""
    at = provenance.at.astimezone(zone)
    return f"{at:%H:%M} today " if at.date() == today else f"{at:%Y-%m-%d %H:%M} "


def _named(grounds: Sequence[Ground]) -> str:
    names = list(dict.fromkeys(name for each in grounds for name in each.of))
    shown = ", ".join(names[:MAX_NAMED])
    return shown if len(names) <= MAX_NAMED else f"{shown} and {len(names) - MAX_NAMED} more"
