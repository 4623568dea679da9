"""The section `cluster` of a topology file: one of the kinds, told apart by `kind`."""

from typing import Annotated

from pydantic import Field

from forescale.files.clusters.flink import FlinkEntry
from forescale.files.clusters.flink_operator import FlinkOperatorEntry
from forescale.files.clusters.heron import HeronClusterEntry
from forescale.files.clusters.kubernetes import KubernetesEntry
from forescale.files.clusters.simulator import SimulatorEntry
from forescale.files.clusters.storm import StormClusterEntry

ClusterSection = Annotated[
    SimulatorEntry | FlinkEntry | FlinkOperatorEntry | HeronClusterEntry | KubernetesEntry | StormClusterEntry,
    Field(discriminator="kind"),
]
"""To add a kind, add a file in `forescale/files/clusters` and its class here."""
