"""The stand-in for an API server with workloads, scalers and a FlinkDeployment, and what their controllers would do."""

from collections.abc import Mapping
from dataclasses import replace
from datetime import datetime
from typing import Any

from fault_benches.bench import GOOD_FOR, Bench, SteppingClock
from fault_benches.flink import URL, VERTICES, KeptFlink
from fault_benches.flink import words as flink_words
from faulty_calls import Wire, WiredTransport
from kubernetes_objects import autoscaler, deployment, flink_deployment, scaled_object, stateful_set
from kubernetes_stand_in import KubernetesStandIn
from ledger_decisions import schedule_of
from unit.flink.recorded_flink import JOB
from unit.flink.test_flink_adapter import DECLARED

from engines.kubernetes.resources import (
    AUTOSCALER,
    DEPLOYMENT,
    FLINK_DEPLOYMENT,
    SCALED_OBJECT,
    Resource,
    object_name,
)
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Operator, Stream, Topology
from planner.clusters.cluster import Cluster
from planner.clusters.flink_deployment import OVERRIDES, VERTEX_FLOOR
from planner.clusters.flink_operator import AutoscaledFlinkOperatorCluster, FlinkOperatorCluster
from planner.clusters.kubernetes import AutoscaledKubernetesCluster, KubernetesCluster
from planner.ledger.ledger import Ledger

TAKE_OVER = frozenset({"OpenAPI-Generator", "kubectl"})
_BOUND = {AUTOSCALER: "minReplicas", SCALED_OBJECT: "minReplicaCount"}


class KubernetesBench(Bench):
    """Workloads of a topology; one is a StatefulSet. Replicas become ready when time passes, those of after unless
    stuck.
    """

    refuses = frozenset({"no effect, then 422"})
    versions = True

    def __init__(self, topology: Topology, operators: Mapping[str, str], counts: tuple[tuple[int, ...], ...]) -> None:
        self.topology, self.operators = topology, dict(operators)
        plans = [PhysicalPlan(topology.name, dict(zip(topology.order, each, strict=True))) for each in counts]
        self.before, self.after, self.other = plans
        self.api = KubernetesStandIn()
        self.clock = SteppingClock(self.api.now, self.passed)
        super().__init__()
        self.make()
        self.passed(0.0)

    def make(self) -> None:
        for name, (resource, called) in self.workloads().items():
            manifest = deployment if resource == DEPLOYMENT else stateful_set
            self.api.create(resource, manifest(called, self.before.parallelism[name]))

    def workloads(self) -> dict[str, tuple[Resource, str]]:
        return {name: (one.resource, one.name) for name, one in self.objects().items()}

    def objects(self) -> dict[str, Any]:
        return {name: object_name(text) for name, text in self.operators.items()}

    def passed(self, seconds: float) -> None:
        self.api.now = self.clock.now()
        for name, (resource, called) in self.workloads().items():
            body = self.api.body(resource, called)
            asked, generation = body["spec"]["replicas"], body["metadata"]["generation"]
            ready = (
                0 if self.stuck and asked == self.after.parallelism[name] != self.before.parallelism[name] else asked
            )
            status = {"replicas": asked, "readyReplicas": ready, "updatedReplicas": asked}
            told = {"observedGeneration": generation, **status}
            if body.get("status") != told:
                self.api.told(resource, called, told)

    def cluster(self, wire: Wire) -> Cluster:
        return KubernetesCluster(self.api.server(wire), self.topology, self.operators, TAKE_OVER)

    def asked(self) -> Mapping[str, int]:
        return {n: self.api.body(*of)["spec"]["replicas"] for n, of in self.workloads().items()}

    def changes(self) -> list[Any]:
        return list(self.api.written)

    def others_ask(self) -> None:
        for name, (resource, called) in self.workloads().items():
            self.api.scaled(resource, called, {"replicas": self.other.parallelism[name]})


def shop_bench() -> KubernetesBench:
    topology = Topology("shop", (Operator("orders", 20), Operator("prices", 20)), (Stream("orders", "prices"),))
    operators = {"orders": "deployment/orders", "prices": "statefulset/prices"}
    return KubernetesBench(topology, operators, ((2, 1), (5, 3), (7, 9)))


class FloorBench(KubernetesBench):
    """Two scalers of a kind, and their bounds; what they scale goes with those, as the load is low."""

    floor_within = 40

    def __init__(self, kind: Resource) -> None:
        self.kind = kind
        topology = Topology(
            "calls", (Operator("ingest", 20), Operator("transcribe", 20)), (Stream("ingest", "transcribe"),)
        )
        operators = {name: f"{kind.short}/{name}" for name in topology.order}
        super().__init__(topology, operators, ((1, 2), (1, 6), (1, 9)))

    def make(self) -> None:
        for name, count in self.before.parallelism.items():
            self.api.create(DEPLOYMENT, deployment(name, count))
            body = autoscaler(name, count, 20) if self.kind == AUTOSCALER else scaled_object(name, 20)
            body["spec"][_BOUND[self.kind]] = count
            self.api.create(self.kind, body)

    def workloads(self) -> dict[str, tuple[Resource, str]]:
        return {name: (DEPLOYMENT, name) for name in self.operators}

    def passed(self, seconds: float) -> None:
        for name, bound in self.asked().items():
            if self.api.body(DEPLOYMENT, name)["spec"]["replicas"] != bound:
                self.api.scaled(DEPLOYMENT, name, {"replicas": bound}, "kube-controller-manager")
        super().passed(seconds)

    def cluster(self, wire: Wire) -> Cluster:
        return AutoscaledKubernetesCluster(self.api.server(wire), self.topology, self.operators, TAKE_OVER)

    def asked(self) -> Mapping[str, int]:
        return {name: self.api.body(self.kind, name)["spec"][_BOUND[self.kind]] for name in self.operators}

    def others_ask(self) -> None:
        for name, count in self.other.parallelism.items():
            self.api.scaled(self.kind, name, {_BOUND[self.kind]: count})

    def step(self, ledger: Ledger) -> str:
        return floor_step(ledger, self.clock.now(), self.before, self.after)


def floor_step(ledger: Ledger, now: datetime, before: PhysicalPlan, after: PhysicalPlan) -> str:
    """A step of a schedule that is due now: only those are floors."""
    made = schedule_of(1, topology=after.topology, made_at=now)
    (step,) = made.steps
    due = replace(step, deploy_at=now, in_place_at=now, needed_from=now, needed_until=now + GOOD_FOR)
    planned = replace(due, plan=after, replaces=before)
    schedule_id = ledger.record_schedule(replace(made, current=before, steps=(planned,)))
    ledger.approve_schedule(schedule_id, at=now, by="test", why="a test")
    return ledger.steps(schedule_id=schedule_id)[0].id


class FlinkDeploymentBench(Bench):
    """The recorded job behind a FlinkDeployment, whose operator carries the overrides over when time passes."""

    before, after, other = flink_words(2), flink_words(4), flink_words(3)
    refuses = frozenset({"no effect, then 422"})
    versions = True

    def __init__(self) -> None:
        self.api, self.flink = KubernetesStandIn(), KeptFlink()
        self.clock = SteppingClock(self.flink.clock.now(), self.passed)
        super().__init__()
        configuration = {"job.autoscaler.enabled": "true"} if self.floor_within else {}
        self.api.create(FLINK_DEPLOYMENT, flink_deployment("word-count", 4, **configuration))
        self.passed(0.0)

    def passed(self, seconds: float) -> None:
        self.flink.stuck = self.stuck
        self.flink.ask(self.asked())
        self.flink.passed(seconds)
        self.told()

    def told(self) -> None:
        """The operator writes the status."""
        self.api.now = self.clock.now()
        body = self.api.body(FLINK_DEPLOYMENT, "word-count")
        status = {
            "observedGeneration": body["metadata"]["generation"],
            "lifecycleState": "STABLE",
            "jobStatus": {"jobId": JOB, "jobName": "word-count", "state": "RUNNING"},
        }
        if body.get("status") != status:
            self.api.told(FLINK_DEPLOYMENT, "word-count", status)

    def cluster(self, wire: Wire) -> Cluster:
        transport = WiredTransport(wire, self.flink.transport())
        server = self.api.server(wire)
        return FlinkOperatorCluster(
            server, "word-count", URL, DECLARED, take_over=TAKE_OVER, clock=self.clock, transport=transport
        )

    def asked(self) -> Mapping[str, int]:
        configuration = self.api.body(FLINK_DEPLOYMENT, "word-count")["spec"]["flinkConfiguration"]
        named = dict(pair.split(":") for pair in configuration.get(OVERRIDES, "").split(",") if pair)
        return {name: int(named.get(vertex, self.before.parallelism[name])) for name, vertex in VERTICES.items()}

    def changes(self) -> list[Any]:
        return list(self.api.written)

    def others_ask(self) -> None:
        overrides = ",".join(f"{VERTICES[name]}:{count}" for name, count in self.other.parallelism.items())
        self.api.scaled(FLINK_DEPLOYMENT, "word-count", {"flinkConfiguration": {OVERRIDES: overrides}})
        self.clock.wait(1.0)


def uniform(count: int) -> PhysicalPlan:
    return PhysicalPlan("word-count", dict.fromkeys(VERTICES, count))


class FlinkFloorBench(FlinkDeploymentBench):
    """The operator's own autoscaler, which raises every vertex to its one lower bound and takes nothing back.

    Somebody else's bound is above the plan: one below it is raised, as that is what a floor is.
    """

    before, after, other = uniform(1), uniform(4), uniform(5)
    floor_within = 40

    def passed(self, seconds: float) -> None:
        bound = self.asked()["count"]
        runs = {vertex["id"]: vertex["parallelism"] for vertex in self.flink.job["vertices"]}
        raised = {name: max(runs[id], bound) for name, id in VERTICES.items()}
        if not (self.stuck and bound == self.after.parallelism["count"]):
            self.flink.run(raised)
        self.told()

    def cluster(self, wire: Wire) -> Cluster:
        transport = WiredTransport(wire, self.flink.transport())
        server = self.api.server(wire)
        return AutoscaledFlinkOperatorCluster(
            server, "word-count", URL, DECLARED, take_over=TAKE_OVER, clock=self.clock, transport=transport
        )

    def asked(self) -> Mapping[str, int]:
        configuration = self.api.body(FLINK_DEPLOYMENT, "word-count")["spec"]["flinkConfiguration"]
        return dict.fromkeys(VERTICES, int(configuration.get(VERTEX_FLOOR, 1)))

    def others_ask(self) -> None:
        bound = {VERTEX_FLOOR: str(self.other.parallelism["count"])}
        self.api.scaled(FLINK_DEPLOYMENT, "word-count", {"flinkConfiguration": bound})

    def step(self, ledger: Ledger) -> str:
        return floor_step(ledger, self.clock.now(), self.before, self.after)
