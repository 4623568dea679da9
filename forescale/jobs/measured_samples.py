"""Where `forescale calibrate` takes its samples from: a file, an engine's address, or the topology file's cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from math import isfinite
from pathlib import Path

from forescale.files.samples import read_sample_file
from forescale.files.topology import TopologyConfig
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.engine import SampleRequest, watched_samples
from forescale.wiring.engines.registry import SAMPLED, cluster_kind
from modeling.calibration.operator_sample import OperatorSample
from planner.errors import ClusterError

FILE_OPTION = "--samples"


@dataclass(frozen=True)
class SampleSource:
    """A file, an engine at an address, or neither: the cluster of the topology file.

    addresses: the given ones, by kind of engine. name: the topology's name in the cluster; None: its own. components:
    operator → vertex or component, where names differ. span_s: seconds of a span, or back in time (Heron, Storm); None:
    the engine's default. spans: number of spans for which an engine that counts meanwhile is watched.
    """

    file: Path | None = None
    addresses: Mapping[str, str] = field(default_factory=dict)
    name: str | None = None
    cluster: str | None = None
    environ: str | None = None
    role: str | None = None
    components: Mapping[str, str] = field(default_factory=dict)
    span_s: float | None = None
    spans: int = 3

    def __post_init__(self) -> None:
        named = [FILE_OPTION] if self.file is not None else []
        named += [SAMPLED[kind].option for kind in SAMPLED if kind in self.addresses]
        if len(named) > 1:
            raise ClusterError(f"{' and '.join(named)} are given; samples come from one of them")
        self._check_span()
        self._check_options(named)

    @property
    def engine(self) -> str | None:
        """The kind of the engine whose address is given."""
        return next(iter(self.addresses), None)

    def _check_span(self) -> None:
        if self.span_s is None:
            return
        if not (isfinite(self.span_s) and self.span_s > 0):
            raise ClusterError(f"--span {self.span_s}; give a finite number of seconds, above 0")
        if self.engine is not None and (why := SAMPLED[self.engine].whole_span) and not self.span_s.is_integer():
            raise ClusterError(f"--span {self.span_s}; {why}")

    def _check_options(self, named: Sequence[str]) -> None:
        """Refuse options without effect, and incomplete ones."""
        options = {
            "--job": self.name,
            "--cluster": self.cluster,
            "--environ": self.environ,
            "--role": self.role,
            "--component": self.components or None,
            "--span": self.span_s,
        }
        engine = None if self.engine is None else SAMPLED[self.engine]
        used = engine.uses if engine is not None else frozenset() if self.file is not None else frozenset({"--span"})
        if unused := [option for option, value in options.items() if value is not None and option not in used]:
            read = next(iter(named), "the cluster of the topology file")
            those = "it" if len(unused) == 1 else "them"
            raise ClusterError(f"{' and '.join(unused)} would have no effect on samples from {read}; leave {those} out")
        if engine is not None and any(not options[option] for option in engine.needs):
            raise ClusterError(f"{engine.option} needs {' and '.join(sorted(engine.needs))}, {engine.needs_why}")

    @property
    def brief(self) -> str:
        """A short name without addresses: they may hold passwords."""
        if self.file is not None:
            return self.file.name
        return "the cluster of the topology file" if self.engine is None else SAMPLED[self.engine].shown


def measured_samples(workspace: Workspace, source: SampleSource, config: TopologyConfig) -> Sequence[OperatorSample]:
    """Samples of the topology. Raises FileError or ClusterError."""
    topology = config.as_topology()
    if unknown := sorted(set(source.components) - set(topology.order)):
        raise ClusterError(
            f"--component names the unknown operator {unknown[0]!r}; known are {', '.join(topology.order)}"
        )
    if source.file is not None:
        return read_sample_file(source.file, topology)
    if source.engine is not None:
        request = SampleRequest(
            source.addresses[source.engine],
            topology,
            source.name or config.topology,
            source.components,
            source.span_s,
            source.spans,
            source.cluster,
            source.environ,
            source.role,
        )
        return SAMPLED[source.engine].read(request, config)
    kind, cluster = cluster_kind(config.cluster), workspace.cluster(config)
    span_s = source.span_s or kind.sample_s(config.cluster)
    return watched_samples(cluster, span_s, source.spans if kind.watched else 1)
