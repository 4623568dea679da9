"""`forescale replay`: what policies would have done on past arrivals; `--live`: what forescale does in shadow mode."""

import math
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import MAX_PROCESSES, AsJson, check_output, check_page, console, plain, say_json, table
from planner.errors import PlanError

if TYPE_CHECKING:
    from forescale.jobs.replay import ReplayedPolicies
    from forescale.jobs.replay_request import ReplayRequest
    from planner.replay.scores import Score

SHOWN_LIVE = frozenset({"topology", "live", "days", "plot", "as_json"})
OBSERVED_LIVE = frozenset({"topology", "live", "observe", "as_json"})
"""Parameters that go with `--live`, and with `--live --observe`."""


def replay(
    context: typer.Context,
    topology: TopologyName,
    live: Annotated[
        bool, typer.Option("--live", help="Days of the topology in shadow mode, beside what really ran.")
    ] = False,
    observe: Annotated[
        bool,
        typer.Option(
            "--observe",
            help="With --live: record what the cluster runs now; every few minutes by cron, if the DAG shadow is off.",
        ),
    ] = False,
    trace: Annotated[
        Path | None,
        typer.Option(
            help="Arrivals in place of the topology's history: CSV file with the columns timestamp and count, perhaps "
            "packed (.gz, .bz2, .xz, .zst)."
        ),
    ] = None,
    policies: Annotated[
        str | None,
        typer.Option(
            help="Separated by commas, as planner,planner@0.02,hpa-70 (@: a share of violations of its own); the usual "
            "ones if absent. docs/replay.md has all."
        ),
    ] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="A field of the topology file's `planning` or `forecast` for this replay, as planning.lead_s=60 (in "
            "place of what was learnt, too) or planning.allow=.005; or rescale.restore_s_per_gib=10. Repeatable.",
        ),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(help="Site file (YAML): containers, nodes, checkpoints; that of `packing` if absent."),
    ] = None,
    deviation: Annotated[
        list[str] | None,
        typer.Option(
            metavar="NAME=VALUE",
            help="How reality differs from the profiles: error=.1 (of service times, about 10 %), noise=.1 (of "
            "observed utilisation), failures_every_s=86400, slow_every_s=86400 (an instance takes twice as long for "
            "half an hour), key_drift=.1 (share of the key weights, a day). Repeatable.",
        ),
    ] = None,
    seeds: Annotated[int, typer.Option(min=1, max=100, help="Number of seeds to replay each policy with.")] = 1,
    start: Annotated[
        str | None, typer.Option("--from", help="ISO time, as 2024-03-01T06:00; UTC where it has no offset.")
    ] = None,
    end: Annotated[str | None, typer.Option("--until", help="ISO time; at most 30 days later if absent.")] = None,
    days: Annotated[
        float | None,
        typer.Option(min=0.01, max=36_525, help="Number of days, the latest; 30 of a history, with --live all."),
    ] = None,
    scale: Annotated[float, typer.Option(max=1e9, help="Factor on all arrivals: 2 doubles them.")] = 1.0,
    against: Annotated[
        str | None, typer.Option(help="Policy to compare the others with, seed by seed, as hpa-70; none if absent.")
    ] = None,
    plot: Annotated[
        Path | None, typer.Option(help="Write a page (.html) with load, capacities, lags and scores.")
    ] = None,
    out: Annotated[
        Path | None, typer.Option(help="Parquet file for the timeline; in the folder replay of the home if absent.")
    ] = None,
    workers: Annotated[
        int | None, typer.Option(min=1, max=MAX_PROCESSES, help="Processes; as many as cores if absent.")
    ] = None,
    gate: Annotated[
        Path | None,
        typer.Option(help="Baseline: the --json answer of an earlier replay; exits with 1 if this one is worse."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Replay policies over past arrivals; cost and violations."""
    if live or observe:
        _check_live(context, live=live, observe=observe)
        from forescale.cli import live as shadow_mode

        if observe:
            shadow_mode.observe(workspace_of(context), topology, as_json=as_json)
        else:
            whole_days = None if days is None else math.ceil(days)
            shadow_mode.show(workspace_of(context), topology, whole_days, plot, as_json=as_json)
        return
    from forecasting.arrivals.grid import typed_moment
    from forecasting.trace_file import is_trace_name
    from forescale.files.typed_fields import typed_fields
    from forescale.jobs.replay_request import ReplayRequest
    from forescale.jobs.replay_terms import Deviations
    from planner.replay.contest import USUAL

    check_output("--out", out, PlanError)
    check_page(plot, PlanError)
    if is_trace_name(topology):
        raise typer.BadParameter(f"name the topology that takes the arrivals, and give --trace {topology}")
    request = ReplayRequest(
        topology=topology,
        out=out,
        trace=trace,
        policies=tuple(dict.fromkeys(name.strip() for name in policies.split(","))) if policies is not None else USUAL,
        changes=typed_fields("--set", fields or ()),
        site=site,
        deviations=Deviations.typed(deviation or ()),
        seeds=seeds,
        start=None if start is None else typed_moment(start, "--from"),
        end=None if end is None else typed_moment(end, "--until"),
        days=days,
        scale=scale,
        against=against,
        workers=workers,
    )
    _replay(context, request, plot, gate, as_json=as_json)


def _check_live(context: typer.Context, *, live: bool, observe: bool) -> None:
    """Raises BadParameter naming what does not go with `--live`."""
    if not live:
        raise typer.BadParameter("--observe needs --live")
    taken = OBSERVED_LIVE if observe else SHOWN_LIVE
    sources = {each: context.get_parameter_source(str(each.name)) for each in context.command.params}
    given = [each for each, source in sources.items() if source is not None and source.name == "COMMANDLINE"]
    if refused := [max(each.opts, key=len) for each in given if each.name not in taken]:
        mode = "--live --observe" if observe else "--live"
        raise typer.BadParameter(f"{mode} takes no {', '.join(refused)}; leave out what only replays policies")


def _replay(
    context: typer.Context, request: "ReplayRequest", plot: Path | None, gate: Path | None, *, as_json: bool
) -> None:
    from forescale.codec import to_json
    from forescale.files.atomic import write_whole
    from forescale.jobs.replay import replay as replay_policies
    from forescale.jobs.replay_gate import read_baseline, worse_than
    from forescale.jobs.replay_tracking import tracked
    from planner.replay.timeline import read_timeline

    baseline = None if gate is None else read_baseline(gate)
    workspace = workspace_of(context)
    with console.status(f"replaying {request.topology}") as status:
        done = tracked(workspace, replay_policies(workspace, request, progress=None if as_json else status.update))
    if plot is not None:
        from forescale.report.replay.page import render_replay_page

        write_whole(render_replay_page(read_timeline(done.timeline), request.against), plot)
    answer = to_json(done)
    worse = [] if baseline is None else worse_than(done, answer, request.policies, baseline)
    if as_json:
        say_json(answer | ({"plot": str(plot)} if plot else {}) | ({"worse": worse} if gate else {}))
    else:
        _show(done, plot)
        for text in worse:
            plain(f"worse: {text}")
    if worse:
        raise typer.Exit(1)


def _show(done: "ReplayedPolicies", plot: Path | None) -> None:
    from forescale.cli.stands_on import say_grounds, say_placeholders
    from forescale.report.replay.score_columns import DIFFERENCE_COLUMNS, difference_cells, further_columns

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


def _row(score: "Score") -> tuple[str, ...]:
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
