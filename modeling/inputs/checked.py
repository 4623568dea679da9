"""Checks that the inputs of an evaluation fit together: profiles and site name existing operators, streams and nodes.

Called once at the model's entry points, and where files are read. `PhysicalPlan.check` checks plans. Profiles of
operators unknown to the topology are ignored: they belong to another version of it.
"""

from collections.abc import Collection, Iterable
from dataclasses import replace
from typing import Any

from modeling.errors import ModelError
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Stream, Topology

BY_OUTPUT = ("selectivity", "selectivity_cv2", "selectivity_error", "input_selectivity", "windowed")
"""Fields of a profile that name output streams."""

BY_INPUT = ("stream_keys", "stream_service_s")
"""Fields of a profile that name input streams."""


def check_profiles(topology: Topology, profiles: Profiles) -> None:
    """Raises ModelError for an operator without a profile, or whose profile names a stream that it does not have."""
    for name in topology.order:
        if name not in profiles:
            raise ModelError(f"no profile of operator {name!r}; calibrate it, or declare its service_s")
        if profiles[name].operator != name:
            raise ModelError(
                f"profile of operator {profiles[name].operator!r} stands for {name!r}; give each operator its own"
            )
        check_streams(topology, profiles[name])


def check_streams(topology: Topology, profile: OperatorProfile) -> None:
    """Raises ModelError if a profile names a stream that does not enter, or leave, its operator."""
    name = profile.operator
    for fields, streams, way in (
        (BY_OUTPUT, topology.outputs(name), "leaves"),
        (BY_INPUT, topology.inputs(name), "enters"),
    ):
        for field in fields:
            if names := getattr(profile, field):
                _check_named(f"profile of operator {name!r}: {field}", names, streams, f"that {way} {name!r}")
    for stream, ratios in profile.input_selectivity.items():
        place = f"profile of operator {name!r}: input_selectivity.{stream}"
        _check_named(place, ratios, topology.inputs(name), f"that enters {name!r}")


def without_lost_streams(topology: Topology, profile: OperatorProfile) -> OperatorProfile:
    """The profile restricted to existing streams of its operator: an older one may name others.

    Ratios by input are dropped together if one of the inputs is gone, since the others may share its part now.
    """
    enters = {stream.name for stream in topology.inputs(profile.operator)}
    leaves = {stream.name for stream in topology.outputs(profile.operator)}
    kept: dict[str, Any] = {
        field: {stream: value for stream, value in getattr(profile, field).items() if stream in streams}
        for fields, streams in ((BY_OUTPUT, leaves), (BY_INPUT, enters))
        for field in fields
    }
    kept["input_selectivity"] = {
        stream: ratios for stream, ratios in kept["input_selectivity"].items() if set(ratios) <= enters
    }
    return replace(profile, **kept)


def check_site_streams(topology: Topology, site: Site) -> None:
    """Raises ModelError if the site names a stream that the topology does not have."""
    for field, streams in (("bytes_per_tuple", site.bytes_per_tuple), ("serialisation_s", site.serialisation_s)):
        _check_named(f"site: {field}", streams, topology.streams, f"of topology {topology.name!r}")


def check_site(topology: Topology, site: Site, plans: Iterable[PhysicalPlan]) -> None:
    """Raises ModelError if the site names an unknown stream, or a speed for a node named nowhere else.

    Nodes are known from the network, and from plans that place all their instances. Without a network, a site may give
    speeds of further nodes as long as it names all nodes of the plans.
    """
    check_site_streams(topology, site)
    if not site.service_factor:
        return
    used = {container.node for plan in plans if plan.places_nodes for container in plan.packing}
    known = used | set(site.network.nodes if site.network is not None else ())
    unknown = sorted(set(site.service_factor) - known)
    if unknown and (site.network is not None or used - set(site.service_factor)):
        raise ModelError(
            f"site: service_factor names node {unknown[0]!r}, which neither a plan nor a link names; they name "
            f"{', '.join(sorted(known))}: correct it, "
            + (
                "or add a link to it"
                if site.network is not None
                else "or name all nodes of the plan too (1 as measured)"
            )
        )


def site_of_plans(topology: Topology, site: Site, plans: Collection[PhysicalPlan]) -> Site:
    """The site, checked against all plans at once and made to fit each: nodes unused by a plan are not an error."""
    check_site(topology, site, plans)
    if not site.service_factor:
        return site
    nodes = {container.node for plan in plans for container in plan.packing if container.node}
    return replace(site, service_factor=dict.fromkeys(sorted(nodes), 1.0) | dict(site.service_factor))


def _check_named(place: str, names: Iterable[str], streams: Iterable[Stream], which: str) -> None:
    known = [stream.name for stream in streams]
    if unknown := sorted(set(names) - set(known)):
        raise ModelError(
            f"{place}.{unknown[0]} is no stream {which}; they are {', '.join(known) or 'none'}: correct it, or leave "
            "it out"
        )
