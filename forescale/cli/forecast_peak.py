"""`forescale forecast peak`: the peak of the load until any moment, by the newest forecast."""

import re
from datetime import UTC, datetime, timedelta
from typing import TYPE_CHECKING, Annotated
from zoneinfo import ZoneInfo

import typer

from forecasting.arrivals.grid import typed_moment
from forecasting.errors import HistoryError
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.codec import to_json

if TYPE_CHECKING:
    from forescale.jobs.coming_peak import ComingPeak

USUAL = (0.5, 0.95, 0.99)

_DAYS = ("mon", "tue", "wed", "thu", "fri", "sat", "sun")
_BY_CLOCK = re.compile(r"(?:([a-z]{3})[a-z]*\.?\s+)?(\d{1,2}):(\d{2})", re.IGNORECASE)


def peak(
    context: typer.Context,
    topology: TopologyName,
    until: Annotated[
        str | None,
        typer.Option(
            help="Like 'mon 09:00', '18:30' or an ISO time, in the time zone of the sources where it has no offset; "
            "the end of the forecast if absent."
        ),
    ] = None,
    start: Annotated[
        str | None, typer.Option("--from", help="Start of the span, in the same form; now if absent.")
    ] = None,
    quantile: Annotated[
        list[float] | None,
        typer.Option(help="Probability that the load stays below; repeatable. .5, .95 and .99 if absent."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Peak of the load until any moment, with its probability.

    By the joint paths of the newest forecast.
    """
    from forescale.jobs.coming_peak import coming_peak

    workspace = workspace_of(context)
    config = workspace.config(topology)
    zone = config.local_timezone
    now = workspace.clock.now()
    begin = None if start is None else coming_moment(start, "--from", now, zone)
    end = None if until is None else coming_moment(until, "--until", begin or now, zone)
    with console.status(f"reading forecasts of {config.topology}"):
        found = coming_peak(workspace, config, begin, end, tuple(sorted(set(quantile or USUAL))))
    if as_json:
        say_json(to_json(found) | {"timezone": zone})
        return
    _show(found, zone)


def _show(peak: "ComingPeak", zone: str) -> None:
    from zoneinfo import ZoneInfo

    from forescale.report.kit.wording import percent, rate

    begin, end = (at.astimezone(ZoneInfo(zone)) for at in (peak.start, peak.end))
    plain(f"{peak.topology}, {begin:%a %Y-%m-%d %H:%M} to {end:%a %Y-%m-%d %H:%M} {zone}:")
    every = dict(peak.per_s) | ({"all together": peak.together_per_s} if peak.together_per_s else {})
    for source, quantiles in every.items():
        for quantile, per_s in quantiles.items():
            plain(f"  with a probability of {percent(quantile)} the peak of {source} is at most {rate(per_s)}")
    plain(f"forecast of {peak.issued_at:%Y-%m-%d %H:%M} UTC")
    for note in peak.notes:
        plain(note)


def coming_moment(text: str, place: str, now: datetime, timezone: str) -> datetime:
    """The first moment after now at which clocks of the time zone show the given time, on the given weekday if any.
    An ISO time is taken as it is, as one of the time zone if it has no offset. Raises HistoryError that names the
    place.
    """
    found = _BY_CLOCK.fullmatch(text.strip())
    if found is None:
        return typed_moment(text, place, timezone=ZoneInfo(timezone))
    day, hour, minute = (found[1] or "").lower(), int(found[2]), int(found[3])
    if (day and day not in _DAYS) or hour > 23 or minute > 59:
        raise HistoryError(f"{place} {text[:40]!r} is no time; give it like 09:00, mon 09:00 or 2026-03-02T09:00")
    zone = ZoneInfo(timezone)
    here = now.astimezone(zone).replace(hour=hour, minute=minute, second=0, microsecond=0, tzinfo=None)
    # A week more, as the clocks may skip the time on its day; an hour that occurs twice is two different moments.
    walls = (here + timedelta(days=days) for days in range(15))
    shown = ((wall, wall.replace(tzinfo=zone, fold=fold).astimezone(UTC)) for wall in walls for fold in (0, 1))
    return next(
        moment
        for wall, moment in shown
        if moment > now
        and day in ("", _DAYS[wall.weekday()])
        and moment.astimezone(zone).replace(tzinfo=None, fold=0) == wall.replace(fold=0)
    )
