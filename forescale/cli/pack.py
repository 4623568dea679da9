"""`forescale model pack`: which container holds which instance, as a plan file."""

import math
from collections.abc import Collection, Sequence
from dataclasses import asdict, replace
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from forescale.cli.installation import workspace_of
from forescale.cli.options import TopologyName
from forescale.cli.output import AsJson, check_output, console, plain, say_json, table
from forescale.cli.profile_option import given_profiles
from forescale.cli.source_options import MAX_PER_S, MIN_PER_S, sources_numbers
from forescale.cli.stands_on import grounds_fields, say_grounds
from forescale.files.plan import check_plan_path, plan_fields, read_plan_file, write_plan_file
from forescale.files.typed_fields import typed_fields, with_fields
from forescale.files.typed_plan import parallelism_of
from forescale.situation.grounds import grounds
from modeling.wording import count_of
from planner.errors import PlanError
from planner.provenance import Ground, Origin, Provenance, Quantity

if TYPE_CHECKING:
    from forescale.jobs.pack import Packed
    from modeling.rescaling.node_scaling import NodeChoice, NodeScaling


def pack(
    context: typer.Context,
    topology: TopologyName,
    parallelism: Annotated[
        str, typer.Option(help="OPERATOR=INSTANCES,…: read=1,count=4; with --from, operators not named keep theirs.")
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
            help="SOURCE=EVENTS_PER_SECOND for each source: orders=700; sets what instances need and exchange."
        ),
    ] = None,
    profile: Annotated[
        str | None, typer.Option(help="Profiles: a JSON file, or models:/calibration-TOPOLOGY/3.")
    ] = None,
    site: Annotated[Path | None, typer.Option(help="Site file (YAML): size of containers, nodes, links.")] = None,
    fields: Annotated[
        list[str] | None,
        typer.Option(
            "--set",
            metavar="FIELD=VALUE",
            help="A field of the section `packing` in place of the file's: packer=round_robin, cores=4, padding=heron, "
            "max_containers=8, 'nodes={rack-a: 4}', 'slot_groups={count: blue}', evenly=true; repeatable.",
        ),
    ] = None,
    out: Annotated[Path | None, typer.Option(help="Write the plan file here (.json or .yaml).")] = None,
    as_json: AsJson = False,
) -> None:
    """Which container holds which instance: a plan file.

    Made by one of the packers, for `forescale model evaluate`.
    """
    from forescale.jobs.pack import pack as packed

    if out is not None:
        check_plan_path(out)
        check_output("--out", out, PlanError)
    workspace = workspace_of(context)
    typed = typed_fields("--set", fields or [])
    config = with_fields(workspace.config(topology), "--set", {"packing": typed})
    packing = config.packing
    if packing is None:
        raise PlanError(f"{topology} has no section packing; give --set packer=NAME, or add the section")
    situation = workspace.situation(config)
    shape = situation.topology
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
    where = situation.where
    if "cores" in typed and packing.cores is not None:
        where = where.with_cores(packing.cores)
    stands_on = [_given(each, fields or [], typed) for each in grounds(situation)]
    made = packed(
        config,
        situation.profiles,
        (dict(running.parallelism) if running else {}) | parallelism_of("--parallelism", parallelism),
        packing.packer,
        packing.offer(where, situation.site.file.prices),
        load_per_s=sources_numbers("--load", load or [], MIN_PER_S, MAX_PER_S),
        running=running,
        throughput=situation.site.file.throughput,
    )
    if out is not None:
        write_plan_file(made.plan, out)
    if as_json:
        say_json(_fields(made, packing.packer, out) | grounds_fields(stands_on))
    else:
        _show(made, packing.packer, out)
        say_grounds(stands_on)


def _given(ground: Ground, texts: Sequence[str], typed: Collection[str]) -> Ground:
    """The ground, as given by --set if that says it."""
    of = {Quantity.CONTAINERS: bool(typed), Quantity.CORES: "cores" in typed}
    given = Provenance(Origin.GIVEN, " ".join(f"--set {text}" for text in texts))
    return replace(ground, provenance=given) if of.get(ground.quantity, False) else ground


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
    if packed.nodes is not None:
        _show_nodes(*packed.nodes)
    for note in packed.notes:
        plain(f"note: {note}")
    if out is not None:
        plain(f"plan written to {out}")


def _show_nodes(choice: "NodeChoice", scaling: "NodeScaling") -> None:
    count = len(choice.nodes)
    more = choice.by_count[count].mst_per_s if count < len(choice.by_count) else None
    plain(
        f"by measured throughput {count_of(count, 'node')} sustain most: {', '.join(choice.nodes)} with "
        f"{choice.mst_per_s:.4g}/s" + ("" if more is None else f"; one more, at best {more:.4g}/s")
    )
    if math.isinf(scaling.errors[2]):
        plain("note: the measured throughput does not show what delay costs; measure one with distant nodes more")


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
        "nodes": None if packed.nodes is None else _nodes_fields(*packed.nodes),
        "notes": list(packed.notes),
        "out": None if out is None else str(out),
    }


def _nodes_fields(choice: "NodeChoice", scaling: "NodeScaling") -> dict[str, object]:
    values = zip((scaling.alpha_per_s, scaling.beta, scaling.gamma_per_s_ms), scaling.errors, strict=True)
    names = ("alpha_per_s", "beta", "gamma_per_s_ms")
    return {
        "best": list(choice.nodes),
        "mst_per_s": choice.mst_per_s,
        "by_count": [asdict(one) for one in choice.by_count],
        "scaling": {name: {"value": value, "error": error} for name, (value, error) in zip(names, values, strict=True)},
    }
