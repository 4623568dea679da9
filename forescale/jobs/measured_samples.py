"""Where `forescale model calibrate` takes its samples from: a file, or the engine that the topology file names."""

from collections.abc import Sequence
from pathlib import Path

from forescale.files.samples import read_sample_file
from forescale.files.topology import TopologyConfig
from forescale.situation.workspace import Workspace
from forescale.wiring.engines.prometheus import service_samples
from forescale.wiring.engines.registry import cluster_kind
from modeling.calibration.operator_sample import OperatorSample

SPANS = 3
"""Spans for which an engine is watched that counts meanwhile: their spread gives the error of the means."""


def measured_samples(
    workspace: Workspace, config: TopologyConfig, file: Path | None = None, spans: int = SPANS
) -> tuple[Sequence[OperatorSample], str]:
    """Samples of the topology, and the name of their source without addresses, which may hold passwords.

    From the file; else, of services, from Prometheus; else from the cluster of the topology file. Raises FileError or
    ClusterError.
    """
    if file is not None:
        return read_sample_file(file, config.as_topology()), file.name
    if config.services_section is not None:
        return service_samples(config, config.services_section), "Prometheus"
    kind, cluster = cluster_kind(config.cluster), workspace.cluster(config)
    span_s = kind.sample_s(config.cluster)
    looks = [cluster.operator_samples(span_s) for _ in range(spans if kind.watched else 1)]
    return [sample for look in looks for sample in look], "the cluster of the topology file"
