"""Where `forescale calibrate` takes its samples from: a file, Flink, Heron, Storm, or the topology file's cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from forescale.files.samples import read_sample_file
from forescale.files.topology import FlinkEntry, TopologyConfig
from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of
from modeling.calibration.operator_sample import OperatorSample
from planner.clusters.cluster import Cluster
from planner.clusters.flink import FlinkCluster
from planner.errors import ClusterError

FLINK_SPAN_S = 30.0
PAST_SPAN_S = 600.0
SIMULATED_SPAN_S = 3600.0


@dataclass(frozen=True)
class SampleSource:
    """One of file, flink, heron_tracker and storm_ui, or none of them: the cluster of the topology file.

    name: the topology's name in the cluster, its own where None. components: operator → vertex or component, where they
    differ. span_s: seconds of a span, or back in time (Heron, Storm); what suits the engine where None. spans: how many
    of them Flink is watched for.
    """

    file: Path | None = None
    flink: str | None = None
    heron_tracker: str | None = None
    storm_ui: str | None = None
    name: str | None = None
    cluster: str | None = None
    environ: str | None = None
    role: str | None = None
    components: Mapping[str, str] = field(default_factory=dict)
    span_s: float | None = None
    spans: int = 3

    def __post_init__(self) -> None:
        named = self._named()
        if len(named) > 1:
            raise ClusterError(f"{' and '.join(named)} are given; samples come from one of them")
        self._check_span()
        self._check_unused()
        if self.heron_tracker is not None and not (self.cluster and self.environ):
            raise ClusterError("--heron-tracker needs --cluster and --environ, as `heron submit` was given them")
        if self.flink is not None and self.name is None:
            raise ClusterError("--flink needs --job, the name of the running job")

    def _named(self) -> list[str]:
        sources = (self.file, self.flink, self.heron_tracker, self.storm_ui)
        options = ("--samples", "--flink", "--heron-tracker", "--storm-ui")
        return [option for option, source in zip(options, sources, strict=True) if source is not None]

    def _check_span(self) -> None:
        if self.span_s is None:
            return
        if not (isfinite(self.span_s) and self.span_s > 0):
            raise ClusterError(f"--span {self.span_s}; give a finite number of seconds, above 0")
        if self.storm_ui is not None and not self.span_s.is_integer():
            raise ClusterError(f"--span {self.span_s}; Storm's windows are whole seconds: give 600, 10800 or 86400")

    def _check_unused(self) -> None:
        """Refuse what would change nothing."""
        given = {
            "--job": self.name,
            "--cluster": self.cluster,
            "--environ": self.environ,
            "--role": self.role,
            "--component": self.components or None,
            "--span": self.span_s,
        }
        read = next(iter(self._named()), "the cluster of the topology file")
        used = {
            "--samples": set(),
            "--flink": {"--job", "--component", "--span"},
            "--storm-ui": {"--job", "--component", "--span"},
            "--heron-tracker": set(given),
        }.get(read, {"--span"})
        if unused := [option for option, value in given.items() if value is not None and option not in used]:
            those = "it" if len(unused) == 1 else "them"
            raise ClusterError(f"{' and '.join(unused)} would change nothing of samples from {read}; leave {those} out")

    @property
    def brief(self) -> str:
        """In a few words, without addresses: they may hold passwords."""
        if self.file is not None:
            return self.file.name
        kinds = {"--flink": "Flink", "--heron-tracker": "Heron's tracker", "--storm-ui": "Storm's UI"}
        return next((kinds[option] for option in self._named()), "the cluster of the topology file")


def measured_samples(source: SampleSource, config: TopologyConfig, settings: Settings) -> Sequence[OperatorSample]:
    """Samples of the topology. Raises FileError or ClusterError."""
    topology = config.as_topology()
    name = source.name or config.topology
    if unknown := sorted(set(source.components) - set(topology.order)):
        raise ClusterError(
            f"--component names the unknown operator {unknown[0]!r}; known are {', '.join(topology.order)}"
        )
    components = dict(source.components)
    if source.file is not None:
        return read_sample_file(source.file, topology)
    if source.flink is not None:
        entry = config.cluster_section
        vertices = dict(entry.operators) if isinstance(entry, FlinkEntry) else {}
        return _watched(FlinkCluster(source.flink, name, topology, components or vertices), source)
    if source.heron_tracker is not None:
        from planner.clusters.heron_samples import heron_operator_samples

        assert source.cluster is not None
        assert source.environ is not None
        return heron_operator_samples(
            source.heron_tracker,
            cluster=source.cluster,
            environ=source.environ,
            role=source.role,
            topology_name=name,
            topology=topology,
            operators=components or None,
            span_s=source.span_s or PAST_SPAN_S,
        )
    if source.storm_ui is not None:
        from planner.clusters.storm_samples import storm_operator_samples

        return storm_operator_samples(
            source.storm_ui,
            topology_name=name,
            topology=topology,
            operators=components or None,
            window_s=int(source.span_s or PAST_SPAN_S),
        )
    cluster = cluster_of(config, settings, clock_of(settings))
    if isinstance(config.cluster, FlinkEntry):
        return _watched(cluster, source, config.cluster.sample_s)
    return cluster.operator_samples(source.span_s or SIMULATED_SPAN_S)


def _watched(cluster: Cluster, source: SampleSource, span_s: float = FLINK_SPAN_S) -> Sequence[OperatorSample]:
    """Several spans one after the other: their spread tells how far the means are off."""
    return [sample for _ in range(source.spans) for sample in cluster.operator_samples(source.span_s or span_s)]
