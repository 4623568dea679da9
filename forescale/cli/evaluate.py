"""`forescale model evaluate`: what plans would do under a load; ranks several and says why each is not the best."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.evaluation_json import evaluation_fields
from forescale.cli.evaluation_tables import show_comparison, show_evaluation
from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, check_page, console, plain, say_json
from forescale.cli.profile_option import given_profiles
from forescale.cli.ranking_json import ranking_fields
from forescale.cli.ranking_tables import show_ranking
from forescale.cli.source_options import MAX_PER_S, asked_loads, sources_numbers
from forescale.cli.stands_on import grounds_fields, say_grounds, say_placeholders
from forescale.files.atomic import write_whole
from forescale.files.plan import read_plan_file
from forescale.files.plan_folder import plan_paths, read_plan_files
from forescale.jobs.evaluation import Evaluation, Terms, evaluation
from forescale.jobs.evaluation_load import EvaluatedLoad, evaluated_load
from forescale.jobs.ranking import Ranking, ranking
from forescale.situation.decision_grounds import variation_grounds
from forescale.situation.grounds import change_grounds, grounds
from forescale.situation.situation import Situation
from modeling.errors import ModelError
from modeling.inputs.checked import site_of_plans
from modeling.inputs.operator_profile import Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.targets import Targets
from modeling.inputs.topology import Topology
from modeling.rescaling.warm_up import WARM
from modeling.wording import count_of
from planner.errors import PlanError
from planner.provenance import Ground

if TYPE_CHECKING:
    from forescale.report.whatif.whatif import WhatIf

RUNNING = "the plan that runs"
MAX_IN_FULL = 8
"""Number of plans shown in full beside their ranking, as many as a page draws."""


def evaluate(
    context: typer.Context,
    topology: TopologyName,
    plan: Annotated[
        list[Path] | None,
        typer.Option(show_default=RUNNING, help="Plan file (YAML or JSON), or a folder of some; several are ranked."),
    ] = None,
    load: Annotated[
        list[str],
        typer.Option(
            help="SOURCE=EVENTS_PER_SECOND for each source: orders=700; or `forecast`, the newest one, at "
            "planning.quantile of its peak; or a forecast's folder. For several loads give a source one rate for each."
        ),
    ] = ["forecast"],  # noqa: B006 (never changed)
    profile: Annotated[
        str | None,
        typer.Option(help="Profiles: a JSON file, or models:/calibration-TOPOLOGY/3; those in force if absent."),
    ] = None,
    site: Annotated[
        Path | None,
        typer.Option(help="Site file (YAML): containers, nodes, network, checkpoints; that of `packing` if absent."),
    ] = None,
    current: Annotated[
        Path | None, typer.Option("--from", help="Plan that runs now, to predict downtime and recovery of the change.")
    ] = None,
    backlog: Annotated[list[str] | None, typer.Option(help="SOURCE=TUPLES waiting at the start: orders=12000.")] = None,
    plot: Annotated[Path | None, typer.Option(help="Write a page (.html) with the plans side by side, drawn.")] = None,
    as_json: AsJson = False,
) -> None:
    """What plans would do under a load, before any is deployed.

    Throughput, bottleneck, latency, resources and recovery; of micro-services also where they saturate by threads.
    """
    check_page(plot, ModelError)
    paths = plan_paths(plan or [])
    workspace = workspace_of(context)
    situation = workspace.situation(topology)
    config, shape = situation.config, situation.topology
    if profile:
        situation = situation.with_profiles(given_profiles(workspace, profile, shape), f"--profile {profile}")
    if site:
        situation = situation.with_site(site, "--site")
    profiles = situation.profiles
    waiting = sources_numbers("--backlog", backlog or [], 0.0, MAX_PER_S)
    if unknown := sorted(set(waiting) - set(shape.sources)):
        raise ModelError(f"--backlog names {unknown[0]!r}, which is no source; they are {', '.join(shape.sources)}")
    planning = config.planning
    running = situation.packed(read_plan_file(current, shape)) if current else None
    plans = {path: situation.packed(each, running) for path, each in read_plan_files(paths, shape).items()}
    if plan is None:
        plans = {RUNNING: workspace.cluster(config).state().plan}
    where = situation.site.file
    for path, each in plans.items():
        _check_nodes(path, each, where.site)
    loads = [evaluated_load(workspace, situation, each) for each in asked_loads(load)]
    if plot is not None and len(loads) > 1:
        raise ModelError(
            f"--plot draws plans over one load, {len(loads)} are given; leave --plot out, or give one load"
        )
    placed = [*plans.values(), *([running] if running else [])]
    learned = None if running is None else situation.learned
    terms = Terms(
        load=loads[0],
        where=replace(
            where,
            site=site_of_plans(shape, where.site, placed),
            rescale=where.rescale if running is None else situation.rescale,
        ),
        targets=Targets(
            max_utilisation=planning.max_utilisation,
            max_latency_s=planning.max_p95_latency_s,
            max_lag_s=planning.max_lag_s,
        ),
        running=running,
        backlog=waiting,
        packed=partial(_packed, situation, running),
        warm_up=WARM if learned is None else learned.warmed.warm_up,
        services=config.service_terms(profiles, evaluated=True),
        together=() if situation.placing is None else situation.placing.together,
    )
    profiles = dict(config.evaluated_profiles(profiles))
    issued_at = None if loads[0].peak is None else loads[0].peak.issued_at
    variation = variation_grounds(situation, shape.sources, loads[0].arrival_cv2, issued_at)
    stands_on = (*grounds(situation), *variation)
    if learned is not None:
        stands_on = (*stands_on, *change_grounds(situation))
    if len(plans) == 1:
        name = next(iter(plans))
        by_load = [_evaluated(shape, profiles, plans, replace(terms, load=each)) for each in loads]
        found = by_load[0]
        if plot is not None:
            _draw(shape, profiles, plans, found, terms, stands_on, plot)
        if as_json:
            answers = [evaluation_fields(each[name]) | grounds_fields(stands_on) for each in by_load]
            say_json({name: answers[0] if len(answers) == 1 else {"loads": answers}})
            return
        say_placeholders(stands_on, config.topology)
        for each_load, evaluated in zip(loads, by_load, strict=True):
            _say_loads([each_load])
            show_evaluation(name, evaluated[name])
    else:
        against = str(current) if current else "" if plan is None or plan[0].is_dir() else str(plan[0])
        with console.status("ranking"):
            best = ranking(config, profiles, plans, terms, loads, against)
        few = len(plans) <= MAX_IN_FULL and len(loads) == 1
        in_full = plans if few else _best(best, plans) if plot is not None else {}
        found = _evaluated(shape, profiles, in_full, terms)
        if plot is not None:
            _draw(shape, profiles, in_full, found, terms, stands_on, plot)
        if as_json:
            evaluations = {name: evaluation_fields(each) for name, each in found.items()}
            say_json(ranking_fields(config.topology, best, loads) | {"plans": evaluations} | grounds_fields(stands_on))
            return
        say_placeholders(stands_on, config.topology)
        _say_loads(loads)
        if few:
            for name, one in found.items():
                show_evaluation(name, one)
            show_comparison(found)
        show_ranking(best, shown_names(paths))
    if plot is not None:
        drawn = "" if len(found) == len(plans) else f": the best {len(found)} of {count_of(len(plans), 'plan')}"
        plain(f"drawn in {plot}{drawn}")
    say_grounds(stands_on)


def _packed(situation: Situation, running: PhysicalPlan | None, counts: Mapping[str, int]) -> PhysicalPlan | None:
    """As the parallelism would be evaluated if it was given as a plan file; None if it cannot be packed."""
    try:
        return situation.packed(PhysicalPlan(situation.topology.name, dict(counts)), running)
    except PlanError:
        return None


def _evaluated(
    topology: Topology, profiles: Profiles, plans: Mapping[str, PhysicalPlan], terms: Terms
) -> dict[str, Evaluation]:
    found: dict[str, Evaluation] = {}
    with console.status("evaluating") as status:
        for name, each in plans.items():
            status.update(f"evaluating {name}")
            found[name] = evaluation(topology, profiles, each, terms)
    return found


def _say_loads(loads: Sequence[EvaluatedLoad]) -> None:
    for load in loads:
        rates = ", ".join(f"{source} {rate:.4g}/s" for source, rate in load.rate_per_s.items())
        plain(f"load: {rates} ({_origin(load)})")


def _best(ranking: Ranking, plans: Mapping[str, PhysicalPlan]) -> dict[str, PhysicalPlan]:
    names = [ranking.name(each) for each in ranking.plans[:MAX_IN_FULL]]
    return {name: plans[name] for name in names}


def shown_names(paths: Sequence[Path]) -> dict[str, str]:
    """Names of plans on a page, by path: the file's name, with as many folders as make all names distinct."""
    for parts in range(1, max(len(path.parts) for path in paths) + 1):
        names = ["/".join(path.parts[-parts:]) for path in paths]
        if len(set(names)) == len(names):
            return {str(path): name for path, name in zip(paths, names, strict=True)}
    return {str(path): str(path) for path in paths}


def _origin(load: EvaluatedLoad) -> str:
    if load.peak is None:
        return "as given"
    peak = f"p{load.peak.quantile * 100:g} of the peak within {load.peak.within_s / 3600:g} h"
    return f"{peak}, forecast at {load.peak.issued_at:%Y-%m-%d %H:%M} UTC"


def _check_nodes(path: str, plan: PhysicalPlan, site: Site) -> None:
    """Raises ModelError for a node that no link of the site leads to. Links are unused unless every node is named."""
    if site.network is None or not plan.places_nodes:
        return
    for container in plan.packing:
        if container.node not in site.network.nodes:
            raise ModelError(
                f"{path}: container {container.id}: no link of the site leads to node {container.node!r}; they join "
                f"{', '.join(site.network.nodes)}: add a link to it, or correct the node"
            )


def what_if(
    topology: Topology,
    profiles: Profiles,
    plans: Mapping[str, PhysicalPlan],
    evaluations: Mapping[str, Evaluation],
    terms: Terms,
    stands_on: Sequence[Ground] = (),
) -> "WhatIf":
    """What the page of plans side by side draws, by displayed name."""
    from forescale.report.whatif.whatif import WhatIf

    shown = shown_names([Path(name) for name in plans])
    return WhatIf(
        topology=topology,
        profiles=profiles,
        plans={shown[name]: each for name, each in plans.items()},
        estimates={shown[name]: each.estimate for name, each in evaluations.items()},
        load_per_s=terms.load.rate_per_s,
        origin=_origin(terms.load),
        site=terms.where.site,
        arrival_cv2=terms.load.arrival_cv2,
        peak_per_s=terms.load.peak_per_s,
        max_lag_s=terms.targets.max_lag_s,
        backlog=terms.backlog,
        violation={
            shown[name]: {target: one.probability for target, one in each.missed.items()}
            for name, each in evaluations.items()
        },
        enough={shown[name]: each.enough for name, each in evaluations.items()},
        stands_on=tuple(stands_on),
    )


def _draw(
    topology: Topology,
    profiles: Profiles,
    plans: Mapping[str, PhysicalPlan],
    evaluations: Mapping[str, Evaluation],
    terms: Terms,
    stands_on: Sequence[Ground],
    path: Path,
) -> None:
    from forescale.report.whatif.page import render_whatif_page

    write_whole(render_whatif_page(what_if(topology, profiles, plans, evaluations, terms, stands_on)), path)
