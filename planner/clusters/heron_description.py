"""Describes a running Heron topology from its tracker's logical and physical plan.

No Heron is available any more: the shapes are those of its last releases, and it is tested against a stand-in.
"""

from typing import Unpack

from engines.heron.tracker import TrackedTopology
from engines.http import Connection
from modeling.inputs.topology import Engine
from planner.clusters.component_descriptions import ReadStream, described_streams
from planner.clusters.job_description import DescribedOperator, JobDescription
from planner.errors import ClusterError


def heron_role(
    url: str, *, cluster: str, environ: str, topology: str, role: str | None = None, **connection: Unpack[Connection]
) -> str:
    """The role under which that topology runs. Raises ClusterError unless there is exactly one."""
    return TrackedTopology(
        url, ClusterError, cluster=cluster, environ=environ, topology=topology, role=role, **connection
    ).role()


def heron_description(
    url: str, *, cluster: str, environ: str, topology: str, role: str | None = None, **connection: Unpack[Connection]
) -> JobDescription:
    """The topology of that name, as it runs. Raises ClusterError if the tracker does not know it."""
    tracked = TrackedTopology(
        url, ClusterError, cluster=cluster, environ=environ, topology=topology, role=role, **connection
    )
    physical, logical = tracked.plans()
    try:
        counts = {str(name): len(ids) for name, ids in {**physical["spouts"], **physical["bolts"]}.items()}
        reads = {
            str(name): [
                ReadStream(str(each["component_name"]), str(each["stream_name"]), str(each.get("grouping", "")))
                for each in bolt["inputs"]
            ]
            for name, bolt in logical["bolts"].items()
        }
        spouts = [str(name) for name in logical["spouts"]]
    except (KeyError, TypeError, AttributeError):
        raise tracked.unexpected_plans(physical, logical) from None
    order = [*spouts, *reads]
    if not spouts or (lacking := [name for name in order if not counts.get(name)]):
        of = "any component" if not spouts else repr(lacking[0])
        raise tracked.failure(f"{tracked.place} has no instances of {of} yet; ask again when it runs")
    return JobDescription(
        name=topology,
        engine=Engine.HERON,
        place=tracked.place,
        runs=True,
        state="running",
        operators=[DescribedOperator(name, name, counts[name]) for name in order],
        streams=described_streams("Heron", {name: reads.get(name, []) for name in order}, {}),
    )
