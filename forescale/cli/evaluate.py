"""`forescale evaluate`: what plans would do under a load, side by side."""

from collections.abc import Sequence
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.evaluation_tables import show_comparison, show_estimate, show_lag
from forescale.cli.output import AsJson, plain, say_json
from forescale.evaluation_json import estimate_fields
from forescale.plan_file import read_plan_file
from forescale.profile_file import read_profile_file
from forescale.settings import Settings
from forescale.site_file import no_site, read_site_file
from forescale.wiring import topology_config
from modeling.errors import ModelError
from modeling.evaluate import evaluate as evaluated
from modeling.plan_change import PlanChange


def evaluate(
    topology: Annotated[str, typer.Option(help="Topology file, or its name in the folder of topology files.")],
    plan: Annotated[list[Path], typer.Option(help="Plan file (YAML); give several to compare them.")],
    load: Annotated[
        list[str],
        typer.Option(
            help="SOURCE=EVENTS_PER_SECOND for each source; or `forecast`, the newest one; or a forecast's folder."
        ),
    ],
    profile: Annotated[Path | None, typer.Option(help="Measured profiles (JSON); the file's own where absent.")] = None,
    site: Annotated[
        Path | None, typer.Option(help="Site file (YAML): containers, nodes, network, checkpoints.")
    ] = None,
    current: Annotated[
        Path | None, typer.Option("--from", help="Plan that runs now: tells downtime and recovery of the change.")
    ] = None,
    arrival_cv2: Annotated[
        float, typer.Option(min=0.0, help="Squared coefficient of variation of the gaps between arrivals; 1: Poisson.")
    ] = 1.0,
    quantile: Annotated[float, typer.Option(help="Of a forecast's peak.")] = 0.95,
    within_s: Annotated[
        int | None, typer.Option("--within", help="Seconds within which the forecast's peak is; its longest if absent.")
    ] = None,
    backlog: Annotated[list[str] | None, typer.Option(help="SOURCE=TUPLES that wait at a source already.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a page (.html) with the plans side by side, drawn.")] = None,
    as_json: AsJson = False,
) -> None:
    """Throughput, bottleneck, latency, resources and recovery of plans under a load, before any is deployed."""
    # Reading forecasts takes Arrow and the ledger, which rates on the command line do not need.
    from forescale.jobs.evaluation_load import evaluated_load, source_number

    if plot is not None and plot.suffix.lower() not in (".html", ".htm"):
        raise ModelError(f"--plot {plot} is no name of a page; give one that ends in .html")
    settings = Settings()
    config = topology_config(topology, settings)
    shape = config.as_topology()
    profiles = config.declared_profiles() | (read_profile_file(profile) if profile else {})
    where = read_site_file(site, shape) if site else no_site(shape.engine)
    under = evaluated_load(load, config, settings, quantile, within_s)
    running = read_plan_file(current, shape) if current else None
    if repeated := sorted({str(path) for path in plan if plan.count(path) > 1}):
        raise ModelError(f"--plan {repeated[0]} is given twice; give each plan once")
    change = (
        PlanChange(running, where.rescale, where.checkpoints, where.with_savepoint, where.restored) if running else None
    )
    plans = {str(path): read_plan_file(path, shape) for path in plan}
    estimates = {
        name: evaluated(
            shape,
            profiles,
            each,
            under.rate_per_s,
            arrival_cv2=arrival_cv2,
            site=where.site,
            change=change,
            percentiles=True,
        )
        for name, each in plans.items()
    }
    waiting = dict(source_number("--backlog", text) for text in backlog or [])
    if unknown := sorted(set(waiting) - set(shape.sources)):
        raise ModelError(f"--backlog names {unknown[0]!r}, which is no source; they are {', '.join(shape.sources)}")
    max_lag_s = config.planning.max_lag_s
    if plot is not None:
        from forescale.report.whatif import WhatIf
        from forescale.report.whatif_page import write_whatif_page

        shown = shown_names(plan)
        write_whatif_page(
            WhatIf(
                topology=shape,
                profiles=profiles,
                plans={shown[name]: each for name, each in plans.items()},
                estimates={shown[name]: each for name, each in estimates.items()},
                load_per_s=under.rate_per_s,
                origin=under.origin,
                site=where.site,
                arrival_cv2=arrival_cv2,
                peak_per_s=under.peak_per_s,
                max_lag_s=max_lag_s,
                backlog=waiting,
            ),
            plot,
        )
    if as_json:
        say_json(
            {
                name: estimate_fields(estimate)
                | {
                    "max_lag_s": max_lag_s,
                    "time_to_violation_s": estimate.time_to_violation_s(max_lag_s, waiting),
                    "drain_wait_s": estimate.drain_wait_s(waiting),
                }
                for name, estimate in estimates.items()
            }
        )
        return
    plain(f"load: {', '.join(f'{s} {rate:.4g}/s' for s, rate in under.rate_per_s.items())} ({under.origin})")
    for name, estimate in estimates.items():
        show_estimate(name, estimate)
        show_lag(estimate, max_lag_s, waiting)
    if len(estimates) > 1:
        show_comparison(estimates)
    if plot is not None:
        plain(f"drawn in {plot}")


def shown_names(paths: Sequence[Path]) -> dict[str, str]:
    """What plans are called on a page, by their path: the file's name, or the path where two files have the same."""
    names = [path.name for path in paths]
    return {str(path): path.name if names.count(path.name) == 1 else str(path) for path in paths}
