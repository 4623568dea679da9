"""Describes a FlinkDeployment: operators and streams from its job's REST interface, bounds from the object."""

from dataclasses import replace

from engines.kubernetes.ownership import field_managers
from engines.kubernetes.server import FIELD_MANAGER
from planner.clusters.flink_deployment import OVERRIDES, VERTEX_CEILING, VERTEX_FLOOR, FlinkDeployment
from planner.clusters.flink_description import flink_description
from planner.clusters.job_description import DescribedContainers, DescribedTerm, JobDescription
from planner.errors import ClusterError


def flink_operator_description(deployment: FlinkDeployment, place: str, url: str, timeout_s: float) -> JobDescription:
    """place: of the API server. url: of the job's REST interface. Raises ClusterError if that does not answer."""
    name = deployment.answer.body["metadata"]["name"]
    where = f"flinkdeployment/{name} of {place}"
    if deployment.job_id is None:
        raise ClusterError(f"{where} has no job yet: {deployment.unsettled}; describe it once it runs")
    try:
        job = flink_description(url, deployment.job_name or None, timeout_s=timeout_s)
    except ClusterError as error:
        raise ClusterError(
            f"{where} reports its operators through Flink alone, and {error}. From outside the cluster: `kubectl "
            f"port-forward service/{name}-rest 8081`, and --flink http://127.0.0.1:8081"
        ) from None
    containers = _containers(deployment, job)
    return replace(job, place=f"{where}, {job.place}", terms=_terms(deployment, job), containers=containers)


def _containers(deployment: FlinkDeployment, job: JobDescription) -> DescribedContainers | None:
    """Task managers with the cores of their pods: a JVM rounds a limit of less than a core up."""
    cores = deployment.task_manager_cores
    if cores is None or job.containers is None:
        return job.containers
    return replace(job.containers, cores=cores, evidence="spec.taskManager.resource.cpu, times its limit factor")


def deployment_remarks(deployment: FlinkDeployment) -> list[str]:
    """What the object says about how plans are deployed and what instances run in."""
    remarks = []
    if str(deployment.spec.get("mode", "native")).lower() == "standalone":
        remarks.append("A standalone cluster: the operator redeploys the job for every plan.")
    elif (scheduler := str(deployment.configuration.get("jobmanager.scheduler", ""))).lower() != "adaptive":
        named = f"jobmanager.scheduler is {scheduler}" if scheduler else "jobmanager.scheduler is not set"
        remarks.append(f"{named}: unless it is adaptive, the operator redeploys the job for every plan.")
    resource = (deployment.spec.get("taskManager") or {}).get("resource") or {}
    if resource:
        remarks.append(
            f"Each task manager has {resource.get('cpu', 1)} cores and {resource.get('memory', 'no known')} memory for "
            f"{deployment.slots} slots; a slot holds an instance of each operator."
        )
    return remarks


def deployment_managers(deployment: FlinkDeployment) -> list[str]:
    """Field managers of the fields that plans set."""
    key = VERTEX_FLOOR if deployment.autoscaled else OVERRIDES
    owners = [*field_managers(deployment.answer.body, ("spec", "flinkConfiguration", key))]
    if "job" in deployment.fields({"": 1}):
        owners += field_managers(deployment.answer.body, ("spec", "job", "parallelism"))
    return [name for name in dict.fromkeys(owners) if not name.startswith(FIELD_MANAGER)]


def _terms(deployment: FlinkDeployment, job: JobDescription) -> list[DescribedTerm]:
    """Free slots are no bound: the operator starts task managers as a plan needs them."""
    if not deployment.autoscaled:
        return []
    evidence = "job.autoscaler.enabled: plans are a lower bound of the operator's autoscaler"
    terms = [DescribedTerm("mode", "floor", evidence)]
    if VERTEX_CEILING in deployment.configuration:
        most = {
            each.name: min(deployment.ceiling, each.max_parallelism or deployment.ceiling) for each in job.operators
        }
        terms.append(DescribedTerm("max_parallelism", most, f"{VERTEX_CEILING}: {deployment.ceiling}"))
    return terms
