"""What a soak's jobs meet: a clock that may differ from the world's by days, and a tracker that may be slow.

The cluster and the metrics keep the world's clock whatever a machine's clock says.
"""

from dataclasses import dataclass
from datetime import datetime, timedelta
from functools import cached_property
from pathlib import Path

from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.workspace import Workspace
from forescale.wiring.parts import clock_of, cluster_of
from planner.clock import Clock
from planner.clusters.cluster import Cluster


@dataclass(frozen=True)
class Interference:
    """Files by which a fault reaches the jobs of every role; none of them exists without one."""

    home: Path

    @property
    def hours_off(self) -> Path:
        """Holds by how many hours the machine's clock differs from the world's."""
        return self.home / "hours_off"

    @property
    def mlflow_uri(self) -> Path:
        """Holds the address of a tracking server that takes the place of the store."""
        return self.home / "mlflow_uri"

    def end(self) -> None:
        self.hours_off.unlink(missing_ok=True)
        self.mlflow_uri.unlink(missing_ok=True)


class MachineClock:
    """A machine's clock, as far off as the fault makes it. Waiting lets time go by in the world."""

    def __init__(self, world: Clock, off: Path) -> None:
        self._world, self._off = world, off

    def now(self) -> datetime:
        hours = float(self._off.read_text()) if self._off.exists() else 0.0
        return self._world.now() + timedelta(hours=hours)

    def wait(self, seconds: float) -> None:
        self._world.wait(seconds)


class SoakedWorkspace(Workspace):
    """A workspace on the machine's clock, with a cluster that keeps the world's."""

    @cached_property
    def clock(self) -> Clock:
        return MachineClock(clock_of(self.settings), Interference(self.settings.home).hours_off)

    def cluster(self, config: TopologyConfig) -> Cluster:
        return cluster_of(config, self.settings, clock_of(self.settings))


def workspace_of(settings: Settings) -> Workspace:
    """Opened for one job, under the faults of this moment."""
    uri = Interference(settings.home).mlflow_uri
    if uri.exists():
        settings = settings.model_copy(update={"mlflow_uri": uri.read_text()})
    return SoakedWorkspace(settings)
