"""`forescale history build`: count arrivals by window."""

from typing import Annotated

import typer

from forecasting.arrivals.grid import typed_moment
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, console, plain, say_json
from forescale.cli.series_copies import copies_words
from forescale.codec import to_json
from forescale.report.kit.wording import percent
from modeling.wording import count_of


def build(
    context: typer.Context,
    topology: TopologyName,
    start: Annotated[str | None, typer.Option(help="ISO time; from where the history ends if absent.")] = None,
    end: Annotated[str | None, typer.Option(help="ISO time; now if absent.")] = None,
    as_json: AsJson = False,
) -> None:
    """Count arrivals by window.

    Building an interval again replaces it.
    """
    from forescale.history.quality_checks import unobserved_remedy
    from forescale.jobs.aggregate import aggregate

    with console.status(f"reading the arrivals of {topology}") as status:
        built = aggregate(
            workspace_of(context),
            topology,
            start=typed_moment(start, "start") if start is not None else None,
            end=typed_moment(end, "end") if end is not None else None,
            progress=None if as_json else status.update,
        )
    if as_json:
        fields = to_json(built)
        more = {"complete": built.total.complete, "history_end": fields["end"]}
        say_json(fields | fields.pop("total") | more)
        return
    total = built.total
    plain(
        f"{count_of(total.rows_read, 'row')} read, {count_of(total.duplicates, 'duplicate')} dropped, "
        f"{count_of(total.kept, 'event')} counted from "
        f"{built.start.isoformat()} to {built.end.isoformat()} ({built.measures})"
    )
    unused = {"late": total.late, **total.quarantined}
    if any(unused.values()):
        plain("not counted: " + ", ".join(f"{count:,} {why.replace('_', ' ')}" for why, count in unused.items()))
    plain(
        f"windows: {total.observed:,} observed, {total.partial:,} partial, {total.throttled:,} throttled, "
        f"{total.missing:,} missing; {percent(total.complete)} observed"
    )
    if total.throttled > total.observed:
        plain(f"too few observed to forecast from; {unobserved_remedy(total)}")
    for copies in built.copies:
        plain(copies_words(copies))
    for source in built.sources_unknown:
        plain(f"no data of source {source}: check its name in the section arrivals")
    plain(f"snapshot {built.snapshot}")
