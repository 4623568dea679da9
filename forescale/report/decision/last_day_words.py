"""The day before a decision in plain sentences: what ran, and the cost of the guard alone and of hindsight."""

from forescale.report.kit.local_time import UTC_TIME, LocalTime
from forescale.report.kit.wording import instance_hours, minutes, number, percent
from modeling.wording import count_of
from planner.replay.last_day import DayCost, LastDay


def last_day_sentences(day: LastDay, local: LocalTime = UTC_TIME) -> tuple[str, ...]:
    """The guard and hindsight, simulated with the real arrivals; what ran, as far as known."""
    span = f"{local.moment(day.start)} to {local.moment(day.end)} {local.name}"
    return (
        f"What ran from {span}: {_ran(day)}.",
        f"The reactive guard alone, on that day's arrivals, would have cost {_cost(day.guard)}"
        f"{_against(day.guard, day)}.",
        f"Hindsight, the best plans for these arrivals, would have cost {_cost(day.hindsight)}"
        f"{_against(day.hindsight, day)}.",
        "Both are replayed with the model's service times and the lead time and downtime of planning. Hindsight knows "
        "all arrivals, pays for a rescale with its downtime alone, and ignores min_dwell_s, max_step, "
        "max_rescales_a_day, scale_out_only and freeze: schedules may be unable to reach it.",
        *(f"{note[0].upper()}{note[1:]}." for note in day.notes),
    )


def _ran(day: LastDay) -> str:
    if day.ran is None:
        return f"not known ({day.unknown})"
    amount, rescales = _amount(day.ran), count_of(day.ran.rescales, "rescale")
    if not day.ran.minutes_known:
        return f"{amount} with {rescales}; late minutes were not observed"
    of = f"of {count_of(day.ran.minutes_known, 'minute')} known"
    return f"{amount} with {rescales}; {number(day.ran.violation_minutes)} {of} were late"


def _cost(cost: DayCost) -> str:
    late = f"{minutes(cost.violation_minutes)} late" if cost.violation_minutes else "no minute late"
    return f"{_amount(cost)} with {late} and {count_of(cost.rescales, 'rescale')}"


def _amount(cost: DayCost) -> str:
    """The price where it is known."""
    hours = f"{instance_hours(cost.instance_hours)} instance-hours"
    return hours if cost.price is None else f"a price of {number(cost.price)} ({hours})"


def _against(cost: DayCost, day: LastDay) -> str:
    if day.ran is None or day.ran.instance_hours <= 0:
        return ""
    share = cost.instance_hours / day.ran.instance_hours - 1
    if cost.price is not None and day.ran.price:
        share = cost.price / day.ran.price - 1
    if abs(share) < 0.005:
        return ", as much as what ran"
    return f", {percent(abs(share))} {'more' if share > 0 else 'less'} than what ran"
