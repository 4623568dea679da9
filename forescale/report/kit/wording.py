"""How the report writes numbers, times and untrusted names: with units, sanely rounded, the same in every locale."""

from collections.abc import Mapping
from datetime import datetime
from math import inf, isfinite, isnan

from forescale.report.kit.local_time import UTC_TIME
from modeling.flow.key_assignment import Unplaced
from modeling.inputs.physical_plan import PhysicalPlan

NBSP = "\N{NO-BREAK SPACE}"
KEPT = frozenset({NBSP, "\n"})


def visible(text: str) -> str:
    """The text with a replacement mark for each control, format or surrogate character.

    Otherwise a name with a direction override could show a reviewer something other than what is deployed.
    """
    return "".join(char if char.isprintable() or char in KEPT else "\N{REPLACEMENT CHARACTER}" for char in text)


def shortened(text: str, length: int = 40) -> str:
    return text if len(text) <= length else text[: length - 1] + "…"


def number(value: float) -> str:
    """Three significant digits, thousands separated; an unknown number is a dash.

    >>> [number(v) for v in (0, 0.04213, 3.416, 999.6, 18349, inf, inf - inf)]
    ['0', '0.0421', '3.42', '1,000', '18,300', '∞', '–']
    """
    if not isfinite(value):
        return "–" if isnan(value) else "∞"
    rounded = float(f"{value:.3g}")
    if abs(rounded) >= 1000:
        return f"{rounded:,.0f}"
    return f"{rounded:.8f}".rstrip("0").rstrip(".") if rounded else "0"


def rate(per_s: float) -> str:
    if per_s == inf:
        return "any rate"
    return f"{number(per_s)}/s"


def percent(share: float) -> str:
    """A share as whole percent; a nonzero share never reads as 0 %, a share below 1 never as 100 %.

    >>> [percent(v).replace(NBSP, " ") for v in (0, 0.002, 0.847, 0.998, 1.97)]
    ['0 %', '<1 %', '85 %', '>99 %', '197 %']
    """
    if not isfinite(share):
        return number(share)
    if 0 < share < 0.01:
        return f"<1{NBSP}%"
    if 0.99 < share < 1:
        return f">99{NBSP}%"
    return f"{100 * share:.0f}{NBSP}%"


def quantile_name(quantile: float) -> str:
    """p50, p95, p99.9."""
    return f"p{100 * quantile:g}"


def duration(seconds: float) -> str:
    """Two units at most.

    >>> [duration(s).replace(NBSP, " ") for s in (0, 0.4, 25, 95, 360, 19200, 187200)]
    ['0 s', '0.4 s', '25 s', '1 min 35 s', '6 min', '5 h 20 min', '2 d 4 h']
    """
    if not isfinite(seconds):
        return "–" if isnan(seconds) else "without end"
    if seconds < 10:
        return f"{number(round(seconds, 1))}{NBSP}s"
    whole = round(seconds)
    if whole >= 3600:
        # Seconds no longer matter: round to minutes, and from two days to hours.
        whole = round(whole / 60) * 60 if whole < 172800 else round(whole / 3600) * 3600
    units = (("d", 86400), ("h", 3600), ("min", 60), ("s", 1))
    parts = []
    for unit, width in units:
        if unit == "d" and whole < 172800:
            continue
        count, whole = divmod(whole, width)
        if count:
            parts.append(f"{count}{NBSP}{unit}")
    return NBSP.join(parts[:2])


def minutes(value: float) -> str:
    """Minutes of a horizon, to a tenth below a hundred; few never read as none.

    >>> [minutes(v).replace(NBSP, " ") for v in (0.0, 0.01, 3.66, 7.19, 20.6, 210.3, 1439.6)]
    ['0 min', '<0.1 min', '3.7 min', '7.2 min', '20.6 min', '210 min', '1,440 min']
    """
    if not isfinite(value):
        return f"{number(value)}{NBSP}min"
    if 0 < value < 0.05:
        return f"<0.1{NBSP}min"
    return f"{value:,.0f}{NBSP}min" if value >= 100 else f"{round(value, 1):g}{NBSP}min"


def service_time(seconds: float, error_s: float = 0.0) -> str:
    """Seconds of one tuple, in the unit that reads best, with the standard error if it is known and shows.

    >>> [service_time(*v).replace(NBSP, " ") for v in ((8.12, 0.162), (0.005,), (0.00026, 0.0000052), (8.4, 1e-9))]
    ['8.12 ± 0.16 s', '5 ms', '260 ± 5.2 µs', '8.4 s']
    """
    unit, width = next(((u, w) for u, w in (("s", 1.0), ("ms", 1e-3)) if seconds >= w), ("µs", 1e-6))
    shows = isfinite(error_s) and error_s >= 0.0005 * seconds > 0
    error = f"{NBSP}±{NBSP}{number(float(f'{error_s / width:.2g}'))}" if shows else ""
    return f"{number(seconds / width)}{error}{NBSP}{unit}"


_BALANCE: Mapping[Unplaced, str] = {
    Unplaced.KEYS: "its keys are unknown; declare key_shares and distinct_keys",
    Unplaced.NUMBER: "the number of its light keys is unknown, and the fewest are assumed; declare distinct_keys",
    Unplaced.HASHES: "the instance of its heavy keys is unknown; declare key_type, or the hash of each key",
    Unplaced.CHANCE: "its light keys fall on instances by chance, and the mean is used",
}


def balance(why: Unplaced) -> str:
    """What is unknown of a keyed stream's balance, and what would tell."""
    return _BALANCE[why]


def instance_hours(hours: float) -> str:
    return f"{hours:,.0f}" if abs(hours) >= 100 else f"{hours:.1f}"


def moment(at: datetime) -> str:
    """`Fri 24 Oct 06:24`, in UTC."""
    return UTC_TIME.moment(at)


def day_moment(at: datetime) -> str:
    """`Fri 06:24`, in UTC: enough within a week."""
    return UTC_TIME.day_moment(at)


def sentence(text: str) -> str:
    """The text with a capital first and a full stop last."""
    text = text.strip()
    return text[:1].upper() + text[1:] + ("" if text.endswith((".", "!", "?", "…")) else ".")


def span(start: datetime, end: datetime) -> str:
    """`Fri 24 Oct 06:50–09:30`, in UTC; the day is repeated only if it changes."""
    return UTC_TIME.span(start, end)


def parallelism_change(old: PhysicalPlan, new: PhysicalPlan) -> tuple[str, ...]:
    """`transcribe 12 → 26` for each operator that changes; a new packing alone is named in words."""
    changed = tuple(
        f"{operator} {old.parallelism[operator]} → {count}"
        if operator in old.parallelism
        else f"{operator} {count} (new)"
        for operator, count in new.parallelism.items()
        if old.parallelism.get(operator) != count
    )
    return changed or ("same parallelism, new packing",)
