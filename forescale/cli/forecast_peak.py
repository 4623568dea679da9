"""`forescale forecast peak`: the peak of the load until any moment, by the newest forecast."""

from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.coming_moment import coming_moment
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.cli.topology_argument import TopologyName
from forescale.codec import to_json

if TYPE_CHECKING:
    from forescale.jobs.coming_peak import ComingPeak

USUAL = (0.5, 0.95, 0.99)


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
