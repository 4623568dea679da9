"""A topology file from a running job, and the first calibration."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from forecasting.arrivals.arrival_source import Measures
from forescale.files.arrivals_section import KafkaEntry, PrometheusEntry
from forescale.files.atomic import write_whole
from forescale.files.clusters.cluster_entry import ClusterEntry
from forescale.files.file_error import FileError, field_errors
from forescale.files.http_access import http_address
from forescale.files.topology import TopologyConfig, is_topology_path, topology_of_text
from forescale.files.topology_draft import DraftSection, OpenQuestion, topology_draft
from forescale.jobs.arrival_proposal import arrival_proposal, topic_partitions
from forescale.jobs.calibrate import CalibratedTopology, calibrate
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.engine import DescribedJob, JobRequest, JobsKind
from forescale.wiring.engines.registry import DESCRIBED, arrivals_kind
from modeling.inputs.operator_profile import Profiles
from planner.clusters.job_description import JobDescription, topology_name
from planner.errors import ClusterError

FIRST_SPANS = 2


@dataclass(frozen=True)
class DraftedTopology:
    """A written, valid topology file. cluster: its section of that name. questions: open in it. following: the next
    command.
    """

    topology: str
    path: Path
    job: JobDescription
    cluster: ClusterEntry | None
    questions: Sequence[OpenQuestion]
    following: str

    def open_after(self, profiles: Profiles) -> list[OpenQuestion]:
        """Questions that calibrated profiles, empty if nothing was calibrated, leave open."""
        return [
            each
            for each in self.questions
            if each.operator not in profiles or not profiles[each.operator].intervals.keys() & set(each.measured_by)
        ]


@dataclass(frozen=True)
class DraftTarget:
    """topology: its name, or the file to write, which then has its name; None: the job's name. Names are of files in
    the folder of topology files. force: whether an existing file may be replaced.
    """

    topology: str | None = None
    force: bool = False

    @property
    def file(self) -> Path | None:
        """The file, if one is named."""
        return None if self.topology is None or not is_topology_path(self.topology) else Path(self.topology)

    def name(self, job: str) -> str:
        if self.topology is None:
            return topology_name(job)
        return self.topology if self.file is None else self.file.stem

    def path(self, settings: Settings, job: str = "") -> Path:
        """Raises FileError if the file exists and may not be replaced."""
        path = self.file or settings.topologies / f"{self.name(job)}.yaml"
        if path.exists() and not self.force:
            raise FileError(_taken(path))
        return path


def check_request(kind: str, request: JobRequest) -> JobsKind:
    """The description of jobs of that kind. Raises ClusterError for options that are missing or have no effect."""
    jobs = DESCRIBED[kind]
    options = request.options()
    if lacking := sorted(option for option in jobs.needs if not options.get(option)):
        raise ClusterError(f"{jobs.option} needs {' and '.join(lacking)}; without it no topology is found there")
    if unused := [option for option in options if option not in jobs.uses]:
        raise ClusterError(f"{' and '.join(unused)} would have no effect on a job at {jobs.option}; leave it out")
    if unused := sorted(set(request.login) - jobs.login):
        raise ClusterError(
            f"--login {unused[0]} would have no effect on a job at {jobs.option}; it takes "
            f"{', '.join(sorted(jobs.login))}"
        )
    if jobs.at_an_address:
        _check_address(request.place, jobs.option)
    if request.url is not None:
        _check_address(request.url, "--flink")
    return jobs


def described_job(kind: str, request: JobRequest) -> DescribedJob:
    """Ask an engine of that kind about a job. Raises ClusterError, and FileError for an invalid login."""
    jobs = check_request(kind, request)
    try:
        with field_errors(jobs.option):
            return jobs.describe(request)
    except FileError:
        raise
    except ValueError as error:  # the environment, or a file, lacks a secret
        raise ClusterError(f"{jobs.option}: {error}") from None


def draft_topology(
    workspace: Workspace,
    described: DescribedJob,
    target: DraftTarget,
    *,
    kafka: str | None = None,
    prometheus: str | None = None,
) -> DraftedTopology:
    """Write the topology file of a job; nothing is written unless the whole text is valid.

    kafka: servers, prometheus: an address at which to look for arrivals. Raises FileError if the file exists and may
    not be replaced, and for an invalid topology name; ClusterError if a server does not answer; ModelError for a job
    with a cycle.
    """
    if prometheus is not None:
        _check_address(prometheus, "--prometheus")
    now = workspace.clock.now()
    name = target.name(described.job.name)
    path = target.path(workspace.settings, described.job.name)
    arrivals = arrival_proposal(described, kafka, prometheus, now)
    origin = f"Written by `forescale init` on {now:%Y-%m-%d %H:%M} UTC from {described.job.place}."
    job = described.job
    if kafka is not None and isinstance(arrivals.section, KafkaEntry):  # brokers know all, metrics the assigned ones
        job = replace(job, partitions={**job.partitions, **topic_partitions(arrivals.section)})
    draft = topology_draft(name, job, arrivals, _cluster_draft(described), origin)
    config = topology_of_text(draft.text, path)
    try:
        write_whole(draft.text, path, anew=not target.force)
    except FileExistsError:
        raise FileError(_taken(path)) from None
    following = _following(path, config, described.job)
    return DraftedTopology(name, path, described.job, config.cluster_section, draft.questions, following)


def first_calibration(workspace: Workspace, drafted: DraftedTopology) -> CalibratedTopology:
    """Measure the job on the cluster that its file names, on top of the declared profiles. Raises ClusterError or
    ModelError.
    """
    return calibrate(workspace, str(drafted.path), spans=FIRST_SPANS)


def unmeasured_because(drafted: DraftedTopology) -> str:
    """Why a described job cannot be measured; empty if it can."""
    if drafted.cluster is None or not drafted.cluster.counts_tuples:
        return "this engine gives no samples"
    return "" if drafted.job.runs else f"the job is {drafted.job.state}"


def _following(path: Path, config: TopologyConfig, job: JobDescription) -> str:
    """The next command on the way to a first schedule."""
    section = config.arrivals_section
    lacking = ["`streams`"] if job.streams_question else []
    if section is None or lacking:
        lacking += ["`arrivals`"] if section is None else []
        return f"fill in {' and '.join(lacking)} in {path}, then: forescale doctor {path}"
    if arrivals_kind(section).steady is not None:
        return f"forescale history record {path} --every 60"
    build = f"forescale history build {path}"
    if isinstance(section, PrometheusEntry) and section.measures is Measures.THROUGHPUT and not section.held_back:
        return f"give `arrivals` in {path} measures: offered, or held_back, then: {build}"
    return build


def _check_address(url: str, option: str) -> None:
    """Raises ClusterError for an invalid address and for one with a login; neither is repeated."""
    try:
        http_address(url, "a server", "http://host:port")
    except ValueError as error:
        raise ClusterError(f"{option} {error}") from None
    if "@" in url:
        raise ClusterError(f"{option} holds a name or a password, which no file should; give the address without them")


def _taken(path: Path) -> str:
    return f"{path} already exists and is left as it is; name another, or give --force to replace it"


def _cluster_draft(described: DescribedJob) -> DraftSection:
    remarks = ["Where plans are deployed.", *described.cluster_remarks]
    return DraftSection(described.cluster, remarks, described.cluster_question)
