"""`forescale replay`: what policies would have done on a trace or on a topology's own history."""

from pathlib import Path
from typing import Annotated

import typer

from forecasting.arrivals.grid import typed_moment
from forecasting.trace_file import is_trace_name
from forescale.cli.installation import workspace_of
from forescale.cli.output import MAX_PROCESSES, AsJson, check_output, check_page, console, plain, say_json, table
from forescale.cli.stands_on import say_grounds, say_placeholders
from forescale.codec import to_json
from forescale.files.atomic import write_whole
from forescale.jobs.replay import ReplayedPolicies, ReplayRequest
from forescale.jobs.replay import replay as replay_policies
from forescale.jobs.replay_gate import GateBounds, read_baseline, worse_than
from forescale.jobs.replay_terms import Deviations
from forescale.jobs.replay_tracking import tracked
from forescale.report.replay.score_columns import DIFFERENCE_COLUMNS, difference_cells, further_columns
from planner.errors import PlanError
from planner.replay.contest import BUDGETED, ON_REQUEST, USUAL
from planner.replay.scores import Score
from planner.replay.timeline import read_timeline


def replay(
    context: typer.Context,
    arrivals: Annotated[
        str,
        typer.Argument(
            help="With --topology, a trace: CSV file with the columns timestamp and count, perhaps packed (.gz, .bz2, "
            ".xz, .zst). Without, a topology: its history.",
        ),
    ],
    out: Annotated[Path, typer.Option("--out", help="Parquet file for the timeline.")] = Path("timeline.parquet"),
    topology: Annotated[
        str | None, typer.Option(help="For a trace: topology file, or its name in the folder of topology files.")
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help=f"Separated by commas; if absent: {', '.join(USUAL)}. Known too: "
            f"{', '.join(sorted(ON_REQUEST))}. {', '.join(sorted(BUDGETED))} take a share of violations of their own: "
            "planner@0.02."
        ),
    ] = None,
    lead: Annotated[
        float | None,
        typer.Option(
            help="Seconds from asking for instances until they are there; if absent, learnt, else planning.lead_s."
        ),
    ] = None,
    downtime: Annotated[
        float | None,
        typer.Option(help="Seconds of a rescale; if absent, learnt from deployments, else planning.downtime_s."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(
            help="Site file (YAML): containers, nodes, checkpoints, how fast state is restored; that of `packing` if "
            "absent."
        ),
    ] = None,
    restore_s_per_gib: Annotated[
        float | None, typer.Option(help="Seconds to restore a GiB of state; the site's if absent.")
    ] = None,
    target_lag: Annotated[
        float | None, typer.Option(help="Seconds; a minute with more lag is a violation. planning.max_lag_s if absent.")
    ] = None,
    error: Annotated[float, typer.Option(help="Relative error of the assumed service times: .1 is about 10 %.")] = 0.0,
    noise: Annotated[float, typer.Option(help="Relative error of the observed utilisation.")] = 0.0,
    failures_every: Annotated[
        float | None, typer.Option(help="Seconds between failures of the job, on average; never if absent.")
    ] = None,
    slow_every: Annotated[
        float | None,
        typer.Option(help="Seconds between half hours in which an instance takes twice as long; never if absent."),
    ] = None,
    key_drift: Annotated[float, typer.Option(help="Share of the key weights that is redrawn each day.")] = 0.0,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of seeds to replay each policy with.")] = 1,
    start: Annotated[str | None, typer.Option("--from", help="ISO time, UTC where it has no offset.")] = None,
    end: Annotated[str | None, typer.Option("--until", help="ISO time; at most 30 days later if absent.")] = None,
    days: Annotated[
        float | None, typer.Option(min=0.01, max=36_525, help="Number of days to replay, the latest; 30 for a history.")
    ] = None,
    scale: Annotated[float, typer.Option(max=1e9, help="Factor on all arrivals.")] = 1.0,
    allow: Annotated[
        float | None,
        typer.Option(help="Share of the minutes that may be in violation: .005 is .5 %; the file's if none."),
    ] = None,
    forecast_every: Annotated[
        int | None, typer.Option(help="Seconds from one forecast to the next; the file's forecast.every_s if absent.")
    ] = None,
    against: Annotated[
        str | None, typer.Option(help="Policy to compare the others with, seed by seed; none if absent.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a page (.html) with load, capacities, lags and scores.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_PROCESSES, help="Processes; as many as cores if absent.")
    ] = None,
    anew: Annotated[bool, typer.Option(help="Discard kept forecasts and replays.")] = False,
    gate: Annotated[
        Path | None,
        typer.Option(help="Baseline: the --json answer of an earlier replay; exits with 1 if this one is worse."),
    ] = None,
    gate_cost: Annotated[float, typer.Option(min=0, help="Allowed increase in instance-hours, as a share.")] = 0.02,
    gate_violations: Annotated[
        float, typer.Option(min=0, max=1, help="Allowed increase in violations, as a share of all minutes.")
    ] = 0.001,
    as_json: AsJson = False,
) -> None:
    """Replay policies over past arrivals; cost and violations."""
    check_output("--out", out, PlanError)
    check_page(plot, PlanError)
    if topology is None and is_trace_name(arrivals):
        raise typer.BadParameter(
            "a trace needs --topology; name the topology that takes its arrivals", param_hint="--topology"
        )
    if topology == arrivals:
        raise PlanError(
            f"with --topology, {arrivals!r} is read as a trace; leave --topology out to replay the topology's history"
        )
    bounds = GateBounds(gate_cost, gate_violations)
    bounds.check()
    baseline = None if gate is None else read_baseline(gate)
    request = ReplayRequest(
        topology=topology or arrivals,
        out=out,
        trace=None if topology is None else Path(arrivals),
        policies=tuple(dict.fromkeys(name.strip() for name in policies.split(","))) if policies is not None else USUAL,
        lead_s=lead,
        downtime_s=downtime,
        max_lag_s=target_lag,
        site=site,
        restore_s_per_gib=restore_s_per_gib,
        deviations=Deviations(error, noise, failures_every, slow_every, key_drift),
        seeds=seeds,
        start=None if start is None else typed_moment(start, "--from"),
        end=None if end is None else typed_moment(end, "--until"),
        days=days,
        scale=scale,
        allow=allow,
        against=against,
        workers=workers,
        anew=anew,
        forecast_every_s=forecast_every,
    )
    workspace = workspace_of(context)
    with console.status(f"replaying {arrivals}") as status:
        done = tracked(workspace, replay_policies(workspace, request, progress=None if as_json else status.update))
    if plot is not None:
        from forescale.report.replay.page import render_replay_page

        write_whole(render_replay_page(read_timeline(out), against), plot)
    answer = to_json(done)
    worse = [] if baseline is None else worse_than(done, answer, request.policies, baseline, bounds)
    if as_json:
        say_json(answer | ({"plot": str(plot)} if plot else {}) | ({"worse": worse} if gate else {}))
    else:
        _show(done, plot)
        for text in worse:
            plain(f"worse: {text}")
    if worse:
        raise typer.Exit(1)


def _show(done: ReplayedPolicies, plot: Path | None) -> None:
    say_placeholders(done.stands_on, done.topology)
    columns = ["policy", "instances", "instance-hours", "violations", "minutes", "lag p99", "rescales a day", "best"]
    further = further_columns(done.scores)
    columns += [name for name, _ in further]
    rows = [[*_row(score), *(cells[at] for _, cells in further)] for at, score in enumerate(done.scores)]
    span = f"{done.start:%Y-%m-%d %H:%M} to {done.end:%Y-%m-%d %H:%M}"
    allowed = f", allowed in {done.terms.allow:.2%} of the minutes" if done.terms.allow else ""
    title = f"{done.topology}, {span}, violation: lag > {done.max_lag_s:g} s{allowed}"
    console.print(table(title, columns, rows))
    if done.differences:
        others = [difference_cells(one) for one in done.differences]
        console.print(
            table(f"\nless {done.differences[0].against}, mean over paired seeds", DIFFERENCE_COLUMNS, others)
        )
    for note in done.notes:
        plain(note)
    plain(
        f"best: no other policy is as good or better in both instance-hours and violations; timeline in {done.timeline}"
    )
    if done.run_id:
        plain(f"MLflow run {done.run_id}")
    if plot is not None:
        plain(f"drawn in {plot}")
    say_grounds(done.stands_on)


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
