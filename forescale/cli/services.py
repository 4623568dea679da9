"""`forescale services`: where micro-services saturate, given that calls hold the caller's threads."""

from typing import Annotated

import typer

from forescale.cli.installation import settings_of
from forescale.cli.output import AsJson, console, plain, say_json, table
from forescale.cli.profile_option import given_profiles
from forescale.cli.source_options import MAX_PER_S, MIN_PER_S, sources_numbers
from forescale.files.typed_plan import parallelism_of
from forescale.jobs.services import saturation
from forescale.situation.known_profiles import kept_profiles, unmeasured_notes
from forescale.wiring.parts import topology_config
from modeling.services.pools import CallRouting
from planner.errors import PlanError


def services(
    context: typer.Context,
    topology: Annotated[str, typer.Argument(help="Topology file, or its name in the folder of topology files.")],
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
        typer.Option(help="Profiles: a JSON file, or models:/calibration-TOPOLOGY/3; the planner's if absent."),
    ] = None,
    as_json: AsJson = False,
) -> None:
    """Requests a second at which micro-services saturate, and the service that is short of threads or CPU."""
    settings = settings_of(context)
    config = topology_config(topology, settings)
    shape = config.as_topology()
    given = given_profiles(profile, shape, settings) if profile else {}
    profiles = (config.declared_profiles() | given) if profile else kept_profiles(config, settings)
    load_per_s = sources_numbers("--load", load or [], MIN_PER_S, MAX_PER_S) or dict.fromkeys(shape.sources, 1.0)
    asked = parallelism_of("--threads", threads)
    if unknown := sorted(set(asked) - set(shape.order)):
        raise PlanError(f"--threads names the unknown service {unknown[0]!r}; known are {', '.join(shape.order)}")
    found = saturation(config, profiles, parallelism_of("--replicas", replicas), asked, load_per_s, routing)
    if as_json:
        say_json(found)
        return
    rows = [(name, f"{found.own_limit_per_s[name]:.4g}", f"{found.throughput_per_s[name]:.4g}") for name in shape.order]
    console.print(table("requests/s of each service", ["service", "if no call waited", "with all threads held"], rows))
    carried = ", ".join(f"{source} {rate:.4g}/s" for source, rate in found.mst_per_s.items())
    plain(f"saturates at {carried}; the bottleneck is {found.bottleneck}")
    for note in unmeasured_notes(profiles):
        plain(f"note: {note}")
