"""Describes a Kubernetes namespace: workloads as operators, with the scalers that bound them.

Kubernetes knows neither streams nor tuples: both become questions for a person.
"""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from engines.kubernetes.ownership import field_managers
from engines.kubernetes.resources import SCALED_OBJECT, SCALERS, STATEFUL_SET, ObjectName
from engines.kubernetes.server import FIELD_MANAGER, KubernetesServer
from modeling.inputs.topology import Engine
from planner.clusters.job_description import (
    USUAL_IN_ALL,
    DescribedOperator,
    DescribedTerm,
    Feed,
    JobDescription,
    TopicFeed,
    unlike_names,
)
from planner.clusters.kubernetes_choice import FoundObject
from planner.clusters.kubernetes_quota import of_one_pod
from planner.clusters.kubernetes_scalers import LOWER, lower_bound, target_of, upper_bound
from planner.clusters.kubernetes_workloads import WorkloadState, reading, workload_state
from planner.clusters.scaler_triggers import scaler_feed

USUAL_MOST = 128
"""Default maximum parallelism of an operator in a topology file."""
_SCALERS_OWN = ("kube-controller-manager", "keda-operator")
"""Field managers of controllers: they keep writing whatever forescale takes over."""


@dataclass(frozen=True)
class _Scaler:
    name: ObjectName
    body: Mapping[str, Any]

    @property
    def bounds(self) -> tuple[int, int]:
        return lower_bound(self.name.resource, self.body), upper_bound(self.name.resource, self.body)


@dataclass(frozen=True)
class DescribedWorkloads:
    """objects: per operator where plans are set: its scaler if all operators have one, else the workload. managers: who
    has set these numbers so far.
    """

    job: JobDescription
    objects: Mapping[str, ObjectName]
    managers: Sequence[str]


@dataclass(frozen=True)
class _Workload:
    """scaler: None if nothing scales it, or several objects do. feed, remark: what its scaler says about its
    arrivals.
    """

    found: FoundObject
    state: WorkloadState
    scalers: Sequence[_Scaler]
    feed: Feed | None = None
    remark: str = ""

    @property
    def scaler(self) -> _Scaler | None:
        return self.scalers[0] if len(self.scalers) == 1 else None


def workloads_description(server: KubernetesServer, chosen: Sequence[FoundObject]) -> DescribedWorkloads:
    """Raises ClusterError if scalers may not be listed."""
    with reading(server):
        scalers = _scalers(server)
    names = unlike_names(one.name.name for one in chosen)
    workloads = {name: _workload(one, scalers) for name, one in zip(names, chosen, strict=True)}
    by_scaler = {name: each.scaler.name for name, each in workloads.items() if each.scaler is not None}
    floor = len(by_scaler) == len(workloads)
    objects = by_scaler if floor else {name: each.found.name for name, each in workloads.items()}
    unsettled = [each.state.unsettled for each in workloads.values() if each.state.unsettled]
    feeds = {name: each.feed for name, each in workloads.items() if each.feed is not None}
    job = JobDescription(
        name=chosen[0].name.name if len(chosen) == 1 else server.namespace,
        engine=Engine.FLINK,
        place=f"{', '.join(str(one.name) for one in chosen)} of {server.place}",
        runs=not unsettled,
        state="; ".join(unsettled) or "all replicas are ready",
        operators=[_operator(name, each) for name, each in workloads.items()],
        streams=[],
        terms=_terms(workloads),
        topics={name: [feed.topic] for name, feed in feeds.items() if isinstance(feed, TopicFeed)},
        topics_by="scaler",
        feeds=feeds,
        feed_remarks=[each.remark for each in workloads.values() if each.remark],
        series={name: _series(server.namespace, each.found.name) for name, each in workloads.items()},
        streams_question=_streams_question(names, feeds) if len(workloads) > 1 else "",
    )
    return DescribedWorkloads(job, objects, _managers(workloads, floor=floor))


def _scalers(server: KubernetesServer) -> Mapping[ObjectName, Sequence[_Scaler]]:
    """By the workload that they scale. The autoscaler that KEDA makes for a ScaledObject is not counted again."""
    by_target: dict[ObjectName, list[_Scaler]] = {}
    for resource in SCALERS:
        for answer in server.listed(resource):
            metadata = answer.body["metadata"]
            owners = [each.get("kind") for each in metadata.get("ownerReferences") or ()]
            if SCALED_OBJECT.kind not in owners and (target := target_of(answer.body)) is not None:
                by_target.setdefault(target, []).append(
                    _Scaler(ObjectName(resource, str(metadata["name"])), answer.body)
                )
    return by_target


def _workload(found: FoundObject, scalers: Mapping[ObjectName, Sequence[_Scaler]]) -> _Workload:
    state, own = workload_state(found.name, found.answer), scalers.get(found.name, ())
    if len(own) != 1:
        return _Workload(found, state, own)
    feed, remark = scaler_feed(own[0].name, own[0].body, state.template)
    return _Workload(found, state, own, feed, remark)


def _operator(name: str, each: _Workload) -> DescribedOperator:
    cores, memory = of_one_pod(each.state.template, "cpu"), of_one_pod(each.state.template, "memory")
    questions = []
    if len(each.scalers) > 1:
        both = " and ".join(str(scaler.name) for scaler in each.scalers)
        questions.append(f"{both} scale {each.found.name}, against each other; which one stays?")
    if each.found.owner:
        questions.append(
            f"{each.found.owner} made {each.found.name} and may set its replicas back; who decides on them?"
        )
    if each.state.asked == 0:
        questions.append("it is scaled to 0, and a plan has one replica at least; may one run at all times?")
    if lacking := [word for word, amount in (("cores", cores), ("memory_mib", memory)) if not amount]:
        questions.append(f"what does one replica take? Its pods request no {' and '.join(lacking)}")
    most = max(each.state.asked, each.scaler.bounds[1] if each.scaler else 0)
    return DescribedOperator(
        name,
        str(each.found.name),
        max(1, each.state.asked),
        most if most > USUAL_MOST else None,
        evidence=str(each.found.name) + (", by the requests of its pods" if cores or memory else ""),
        question=" ".join(questions),
        cores=float(cores) or None,
        memory_mib=float(memory) / 2**20 or None,
    )


def _terms(workloads: Mapping[str, _Workload]) -> list[DescribedTerm]:
    """Bounds set by scalers, and questions about replicas that start and stop."""
    bounds = {name: each.scaler.bounds for name, each in workloads.items() if each.scaler is not None}
    terms = [_mode(workloads)] if any(each.scalers for each in workloads.values()) else []
    if least := {name: lower for name, (lower, _) in bounds.items() if lower > 1}:
        terms.append(DescribedTerm("min_parallelism", least, "the lower bounds of their scalers, as they are now"))
    if bounds:
        most = {name: upper for name, (_, upper) in bounds.items()}
        terms.append(DescribedTerm("max_parallelism", most, "the upper bounds of their scalers"))
    if len(bounds) == len(workloads):
        in_all = sum(upper for _, upper in bounds.values())
        terms.append(DescribedTerm("max_instances", in_all, "as many as the scalers allow together"))
    else:
        in_all = sum(bounds[name][1] if name in bounds else 2 * each.state.asked for name, each in workloads.items())
        assumed = max(USUAL_IN_ALL, in_all)
        question = f"how many replicas may there be in all? {assumed} is assumed"
        terms.append(DescribedTerm("max_instances", assumed, question=question))
    lead = "how long from asking for a replica until it is ready, pulling its image included? 300 s is assumed"
    down = "how long do the others pause when replicas come or go, such as to share out partitions? 30 s is assumed"
    return [*terms, DescribedTerm("lead_s", 300, question=lead), DescribedTerm("downtime_s", 30, question=down)]


def _mode(workloads: Mapping[str, _Workload]) -> DescribedTerm:
    scaled = {name: each.scaler for name, each in workloads.items() if each.scaler is not None}
    if len(scaled) == len(workloads):
        ranges = ", ".join(f"{each.name} ({each.bounds[0]} to {each.bounds[1]})" for each in scaled.values())
        return DescribedTerm("mode", "floor", f"plans are lower bounds of what scales the workloads: {ranges}")
    every = [str(scaler.name) for each in workloads.values() for scaler in each.scalers]
    bare = [name for name in workloads if name not in scaled]
    alone = "has no scaler to itself" if len(bare) == 1 else "have no scalers to themselves"
    question = (
        f"{', '.join(every)} would undo plans, and {', '.join(bare)} {alone} to bound: does each get one (mode: "
        "floor, and the scalers in cluster.operators), or none (mode: act)?"
    )
    return DescribedTerm("mode", "shadow", "plans and reports, and deploys nothing", question)


def _managers(workloads: Mapping[str, _Workload], *, floor: bool) -> list[str]:
    """Owners of the numbers that plans set. What scalers write themselves stays theirs."""
    owners: list[str] = []
    for each in workloads.values():
        if floor and each.scaler is not None:
            owners += field_managers(each.scaler.body, ("spec", LOWER[each.scaler.name.resource]))
        else:
            owners += field_managers(each.found.answer.body, ("spec", "replicas"))
    return [name for name in dict.fromkeys(owners) if name != FIELD_MANAGER and name not in _SCALERS_OWN]


def _series(namespace: str, workload: ObjectName) -> str:
    """Labels of the pods' series: Kubernetes forms pod names by a fixed pattern."""
    tail = "[0-9]+" if workload.resource == STATEFUL_SET else "[a-z0-9]+-[a-z0-9]{5}"
    return f'namespace="{namespace}",pod=~"{workload.name}-{tail}"'


def _streams_question(names: Sequence[str], feeds: Mapping[str, Feed]) -> str:
    read = [f"{name} reads topic {feed.topic}" for name, feed in feeds.items() if isinstance(feed, TopicFeed)]
    known = f" ({', '.join(read)})" if read else ""
    return (
        f"which of {', '.join(names)} reads from which{known}? Kubernetes does not know. Write one line per stream, as "
        "below, and leave in arrivals what enters from outside; until then each counts as a source"
    )
