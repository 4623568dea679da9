"""`forescale model services`: where micro-services saturate, given that calls hold the caller's threads."""

from typing import Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.profile_option import given_profiles
from forescale.cli.source_options import MAX_PER_S, MIN_PER_S, sources_numbers
from forescale.cli.stands_on import grounds_fields, say_grounds, say_placeholders
from forescale.cli.topology_argument import TopologyName
from forescale.codec import to_json
from forescale.files.typed_plan import parallelism_of
from forescale.jobs.services import saturation, service_terms
from forescale.situation.grounds import grounds
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.services.pools import CallRouting
from planner.errors import PlanError
from planner.provenance import Quantity


def services(
    context: typer.Context,
    topology: TopologyName,
    replicas: Annotated[str, typer.Option(help="SERVICE=REPLICAS,… of every service.")],
    threads: Annotated[
        str, typer.Option(help="SERVICE=THREADS,… of one replica, where others than the topology file's.")
    ] = "",
    load: Annotated[
        list[str] | None, typer.Option(help="SOURCE=REQUESTS_PER_SECOND; of several sources only the mix matters.")
    ] = None,
    routing: Annotated[
        CallRouting,
        typer.Option(help="shared: calls go to free replicas, which gives the upper bound; random: to any replica."),
    ] = CallRouting.SHARED,
    profile: Annotated[
        str | None,
        typer.Option(help="Profiles: a JSON file, or models:/calibration-TOPOLOGY/3; those in force if absent."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Requests a second at which micro-services saturate.

    Names the service that is short of threads or CPU.
    """
    workspace = workspace_of(context)
    situation = workspace.situation(topology)
    config, shape = situation.config, situation.topology
    if profile:
        situation = situation.with_profiles(given_profiles(workspace, profile, shape), f"--profile {profile}")
    # Threads bound services, not containers.
    stands_on = [each for each in grounds(situation) if each.quantity in (Quantity.SERVICE_TIME, Quantity.SELECTIVITY)]
    load_per_s = sources_numbers("--load", load or [], MIN_PER_S, MAX_PER_S) or dict.fromkeys(shape.sources, 1.0)
    asked = parallelism_of("--threads", threads)
    if unknown := sorted(set(asked) - set(shape.order)):
        raise PlanError(f"--threads names the unknown service {unknown[0]!r}; known are {', '.join(shape.order)}")
    section = config.services_section
    if section is None:
        raise PlanError(f"{config.topology}: section services is missing; see docs/engines/services.md")
    section = section.model_copy(update={"evaluated_threads": asked, "routing": routing})
    terms = service_terms(config.model_copy(update={"services_section": section}), situation.profiles)
    assert terms is not None
    plan = PhysicalPlan(config.topology, parallelism_of("--replicas", replicas))
    plan.check(shape)
    found = saturation(shape, situation.profiles, plan, load_per_s, terms)
    if isinstance(found, str):
        raise PlanError(found)
    if as_json:
        say_json(to_json(found) | grounds_fields(stands_on))
        return
    say_placeholders(stands_on, config.topology)
    rows = [(name, f"{found.own_limit_per_s[name]:.4g}", f"{found.throughput_per_s[name]:.4g}") for name in shape.order]
    console.print(table("requests/s of each service", ["service", "if no call waited", "with all threads held"], rows))
    carried = ", ".join(f"{source} {rate:.4g}/s" for source, rate in found.mst_per_s.items())
    plain(f"saturates at {carried}; the bottleneck is {found.bottleneck}")
    say_grounds(stands_on)
