"""`forescale pack`: which container holds which instance, as a plan file."""

from collections.abc import Mapping, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, check_output, console, plain, say_json, table
from forescale.cli.profile_option import given_profiles
from forescale.cli.source_options import MAX_PER_S, MIN_PER_S, sources_numbers
from forescale.cli.stands_on import grounds_fields, say_grounds
from forescale.cli.topology_argument import TopologyName
from forescale.files.packing_section import PackingSection
from forescale.files.plan import check_plan_path, plan_fields, read_plan_file, write_plan_file
from forescale.files.shown import shown
from forescale.files.typed_plan import parallelism_of
from forescale.plain_numbers import typed_count
from forescale.situation.grounds import grounds
from forescale.situation.situation import Situation
from modeling.inputs.site import Site
from modeling.wording import count_of
from planner.errors import PlanError
from planner.packing.offer import Offer, offered_nodes, padding_of

if TYPE_CHECKING:
    from forescale.jobs.pack import Packed


def pack(
    context: typer.Context,
    topology: TopologyName,
    packer: Annotated[
        str | None,
        typer.Option(
            help="round_robin, first_fit_decreasing, resource_compliant (Heron); even_spread, resource_aware (Storm); "
            "flink_slots (Flink); traffic_aware, network_aware. That of the section `packing` if absent, as for all "
            "other options."
        ),
    ] = None,
    parallelism: Annotated[
        str, typer.Option(help="OPERATOR=INSTANCES,…; with --from, operators that are not named keep theirs.")
    ] = "",
    current: Annotated[
        Path | None,
        typer.Option("--from", help="Plan file with the running packing: change it instead of packing from scratch."),
    ] = None,
    from_cluster: Annotated[
        bool, typer.Option("--from-cluster", help="Start from the packing that Heron reports, instead of --from.")
    ] = False,
    load: Annotated[
        list[str] | None,
        typer.Option(
            help="SOURCE=EVENTS_PER_SECOND for each source: sets the needs of instances and the traffic between them."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profiles: a JSON file, or models:/calibration-TOPOLOGY/3.")
    ] = None,
    site: Annotated[Path | None, typer.Option(help="Site file (YAML): size of containers, nodes, links.")] = None,
    node: Annotated[
        list[str] | None, typer.Option(help="NAME or NAME=CONTAINERS that it holds; those of the site if absent.")
    ] = None,
    containers: Annotated[
        int | None,
        typer.Option(
            min=1, help="Number of containers to fill; the maximum for packers that open containers as needed."
        ),
    ] = None,
    max_containers: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of containers, for all packers.")
    ] = None,
    container_cores: Annotated[
        float | None, typer.Option(help="Cores of each container; the site's if absent.")
    ] = None,
    container_memory: Annotated[float | None, typer.Option(help="MiB of each; the site's if absent.")] = None,
    container_disk: Annotated[float | None, typer.Option(help="MiB of each.")] = None,
    padding: Annotated[
        str | None,
        typer.Option(help="Share of a container that it keeps for itself; `heron`: 10 %, at least 1 core and 1 GiB."),
    ] = None,
    max_instances: Annotated[
        int | None, typer.Option(min=1, help="Maximum number of instances in a container.")
    ] = None,
    slots: Annotated[int | None, typer.Option(min=1, help="Slots of each task manager (Flink).")] = None,
    slot_group: Annotated[list[str] | None, typer.Option(help="OPERATOR=GROUP of slot sharing (Flink).")] = None,
    evenly: Annotated[bool, typer.Option("--evenly", help="Spread slots over task managers (Flink).")] = False,
    out: Annotated[Path | None, typer.Option(help="Write the plan file here (.json or .yaml).")] = None,
    as_json: AsJson = False,
) -> None:
    """Which container holds which instance: a plan file.

    Made by one of the packers, for `forescale evaluate`.
    """
    from forescale.jobs.pack import pack as packed

    if out is not None:
        check_plan_path(out)
        check_output("--out", out, PlanError)
    workspace = workspace_of(context)
    situation = workspace.situation(topology)
    config, shape = situation.config, situation.topology
    if current is not None and from_cluster:
        raise PlanError("--from and --from-cluster exclude each other; give one of them")
    running = read_plan_file(current, shape) if current else None
    if from_cluster:
        running = workspace.cluster(config).state().plan
    if running is not None and not running.packing:
        place = current or f"the cluster of {config.topology}"
        raise PlanError(f"{place} has no containers to keep; leave --from out to pack from scratch")
    if profile:
        situation = situation.with_profiles(given_profiles(workspace, profile, shape), f"--profile {profile}")
    if site:
        situation = situation.with_site(site, "--site")
    packer = packer or (config.packing.packer if config.packing is not None else None)
    if packer is None:
        raise PlanError(f"{topology} has no section packing; give --packer, or add the section")
    offer = _offer(
        situation,
        packer,
        node or [],
        {"cores": container_cores, "memory_mib": container_memory},
        {
            "disk_mib": container_disk,
            "padding": None if padding is None else padding_of(padding, "--padding"),
            "max_instances": max_instances,
            "containers": containers,
            "max_containers": max_containers,
            "slots": slots,
            "slot_groups": dict(_pair("--slot-group", text) for text in slot_group or []) or None,
            "evenly": evenly or None,
        },
    )
    made = packed(
        config,
        situation.profiles,
        (dict(running.parallelism) if running else {}) | parallelism_of("--parallelism", parallelism),
        packer,
        offer,
        load_per_s=sources_numbers("--load", load or [], MIN_PER_S, MAX_PER_S),
        running=running,
    )
    if out is not None:
        write_plan_file(made.plan, out)
    if as_json:
        say_json(_fields(made, packer, out) | grounds_fields(grounds(situation)))
    else:
        _show(made, packer, out)
        say_grounds(grounds(situation))


def _offer(
    situation: Situation,
    packer: str,
    node: Sequence[str],
    sizes: Mapping[str, float | None],
    options: Mapping[str, Any],
) -> Offer:
    """The containers that the section `packing` offers, with the options that are given in place of its fields."""
    section = situation.config.packing or PackingSection(packer=packer)
    section = section.model_copy(update={"nodes": {}}) if node else section
    size = replace(situation.where.container, **{name: each for name, each in sizes.items() if each is not None})
    site = replace(situation.where, container=size)
    offer = section.offer(site, situation.site.file.prices)
    nodes = _nodes(node, site) if node else offer.nodes
    return replace(offer, nodes=nodes, **{name: each for name, each in options.items() if each is not None})


def _show(packed: "Packed", packer: str, out: Path | None) -> None:
    rows = []
    for container, (cores, memory_mib, disk_mib) in zip(packed.plan.packing, packed.used, strict=True):
        held = ", ".join(map(str, container.instances))
        rows.append((container.id, container.node or "-", f"{cores:.4g}", f"{memory_mib:.0f}", f"{disk_mib:.0f}", held))
    columns = ["container", "node", "cores", "memory (MiB)", "disk (MiB)", "instances"]
    console.print(table(f"{packer}: {packed.plan.brief()}", columns, rows))
    cores, memory_mib, disk_mib = packed.needed
    plain(
        f"{count_of(len(packed.plan.packing), 'container')} of at least {cores:.4g} cores, {memory_mib:.0f} MiB, "
        f"{disk_mib:.0f} MiB "
        f"of disk, padding included; by volume no fewer than {packed.min_containers} would do"
    )
    if packed.stay is not None:
        plain(f"{packed.stay} of the running instances stay in their containers")
    for note in packed.notes:
        plain(f"note: {note}")
    if out is not None:
        plain(f"plan written to {out}")


def _fields(packed: "Packed", packer: str, out: Path | None) -> dict[str, object]:
    names = ("cores", "memory_mib", "disk_mib")
    return {
        "packer": packer,
        "plan_id": packed.plan.plan_id,
        "plan": plan_fields(packed.plan),
        "containers": [
            {"id": container.id, "node": container.node, "instances": len(container.instances)}
            | dict(zip(names, map(float, used), strict=True))
            for container, used in zip(packed.plan.packing, packed.used, strict=True)
        ],
        "container_size": dict(zip(names, map(float, packed.needed), strict=True)),
        "least_containers": packed.min_containers,
        "stay": packed.stay,
        "notes": list(packed.notes),
        "out": None if out is None else str(out),
    }


def _nodes(texts: Sequence[str], site: Site) -> Mapping[str, int | None]:
    """The named nodes; else all nodes of the site, with any number of containers."""
    named: dict[str, int | None] = {}
    for text in texts:
        name, equals, count = text.partition("=")
        if not name or (equals and typed_count(count) is None) or name in named:
            raise PlanError(f"--node {shown(text)} is no NAME or NAME=CONTAINERS, or named twice; name each node once")
        named[name] = typed_count(count) if equals else None
    return offered_nodes(site, named, "--node")


def _pair(option: str, text: str) -> tuple[str, str]:
    name, equals, value = text.rpartition("=")
    if not (name and equals and value):
        raise PlanError(f"{option} {shown(text)} is not NAME=VALUE; give it like {option} 'count=2'")
    return name, value
