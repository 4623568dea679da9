"""`forescale replay`: what policies would have done on a trace or on a topology's own history."""

from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.installation import settings_of
from forescale.cli.output import AsJson, check_page, console, plain, say_json, table
from forescale.codec import to_json
from forescale.files.atomic import write_whole
from forescale.history.span import moment
from forescale.jobs.replay import ReplayedPolicies, ReplayRequest
from forescale.jobs.replay import replay as replay_policies
from forescale.jobs.replay_gate import Bounds, worse_than
from planner.errors import PlanError
from planner.replay.contest import POLICIES
from planner.replay.scores import Score
from planner.replay.timeline import read_timeline


def replay(
    context: typer.Context,
    arrivals: Annotated[
        str, typer.Argument(help="A trace: CSV file with the columns timestamp and count; or a topology: its history.")
    ],
    out: Annotated[Path, typer.Option("--out", help="Parquet file for the timeline.")] = Path("timeline.parquet"),
    topology: Annotated[
        str | None, typer.Option(help="Of a trace: topology file, or its name in the folder of topology files.")
    ] = None,
    policies: Annotated[
        str | None, typer.Option(help=f"Separated by commas; all if absent: {', '.join(POLICIES)}.")
    ] = None,
    lead: Annotated[float, typer.Option(help="Seconds from asking for instances until they are there.")] = 300.0,
    downtime: Annotated[float | None, typer.Option(help="Seconds of a rescale; planning.downtime_s if absent.")] = None,
    target_lag: Annotated[
        float | None, typer.Option(help="Seconds; a minute with more lag is a violation. planning.max_lag_s if absent.")
    ] = None,
    error: Annotated[
        float, typer.Option(help="By how much true service times differ from those believed: .1 is about 10 %.")
    ] = 0.0,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Realities to replay each policy in.")] = 1,
    start: Annotated[str | None, typer.Option("--from", help="ISO time, UTC where it has no offset.")] = None,
    end: Annotated[str | None, typer.Option("--until", help="ISO time; at most 30 days later if absent.")] = None,
    days: Annotated[float | None, typer.Option(min=0.01, help="The last so many days; 30 of a history.")] = None,
    scale: Annotated[float, typer.Option(help="Factor on all arrivals.")] = 1.0,
    plot: Annotated[
        Path | None, typer.Option(help="Write a page (.html) with load, capacities, lags and scores.")
    ] = None,
    workers: Annotated[int | None, typer.Option(min=1, help="Processes; as many as cores if absent.")] = None,
    gate: Annotated[
        Path | None, typer.Option(help="An earlier answer with --json; exits with 1 where this replay is worse.")
    ] = None,
    gate_cost: Annotated[float, typer.Option(min=0, help="Share of instance-hours that may be more.")] = 0.02,
    gate_violations: Annotated[
        float, typer.Option(min=0, max=1, help="Share of all minutes that may be in violation beyond those before.")
    ] = 0.001,
    as_json: AsJson = False,
) -> None:
    """What policies would have cost and violated, minute by minute, each seeing no more than it would have seen."""
    check_page(plot, PlanError)
    is_trace = arrivals.lower().endswith(".csv")
    if is_trace and topology is None:
        raise typer.BadParameter("a trace needs --topology: what its arrivals go through", param_hint="--topology")
    request = ReplayRequest(
        topology=topology or arrivals,
        out=out,
        trace=Path(arrivals) if is_trace else None,
        policies=tuple(dict.fromkeys(name.strip() for name in policies.split(",")))
        if policies is not None
        else tuple(POLICIES),
        lead_s=lead,
        downtime_s=downtime,
        max_lag_s=target_lag,
        error=error,
        seeds=seeds,
        start=None if start is None else moment(start, "--from"),
        end=None if end is None else moment(end, "--until"),
        days=days,
        scale=scale,
        workers=workers,
    )
    with console.status(f"replaying {arrivals}") as status:
        done = replay_policies(settings_of(context), request, progress=None if as_json else status.update)
    if plot is not None:
        from forescale.report.replay.page import render_replay_page

        write_whole(render_replay_page(read_timeline(out)), plot)
    answer = to_json(done)
    worse = [] if gate is None else worse_than(done, answer, gate, Bounds(gate_cost, gate_violations))
    if as_json:
        say_json(answer | ({"plot": str(plot)} if plot else {}) | ({"worse": worse} if gate else {}))
    else:
        _show(done, plot)
        for text in worse:
            plain(f"worse: {text}")
    if worse:
        raise typer.Exit(1)


def _show(done: ReplayedPolicies, plot: Path | None) -> None:
    columns = ["policy", "instances", "instance-hours", "violations", "minutes", "lag p99", "rescales a day", "best"]
    span = f"{done.start:%Y-%m-%d %H:%M} to {done.end:%Y-%m-%d %H:%M}"
    title = f"{done.topology}, {span}, violation: lag > {done.max_lag_s:g} s"
    console.print(table(title, columns, [_row(score) for score in done.scores]))
    for note in done.notes:
        plain(note)
    plain(f"best: no other policy has both no more instance-hours and no more violations; timeline in {done.timeline}")
    if plot is not None:
        plain(f"drawn in {plot}")


def _row(score: Score) -> tuple[str, ...]:
    return (
        score.policy,
        f"{score.mean_instances:.2f}",
        f"{score.instance_hours:,.0f}",
        f"{score.violation_share:.2%}",
        f"{score.violation_minutes:,.0f}",
        f"{score.lag_p99_s:,.0f} s",
        f"{score.rescales_per_day:.1f}",
        "*" if score.best else "",
    )
