"""The workspace of one installation: clock, ledger, tracker and topologies, opened once and only when needed."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING

from forescale.settings import Settings
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config, tracker_of
from planner.clock import Clock

if TYPE_CHECKING:
    from datetime import datetime

    from forecasting.tracking.mlflow_tracker import MlflowTracker
    from forescale.files.file_error import FileError
    from forescale.files.topology import TopologyConfig
    from forescale.situation.situation import Situation
    from planner.clusters.cluster import Cluster
    from planner.ledger.ledger import Ledger


class Workspace:
    """Opened once per command or task. opened: opens a ledger by its URL and home and checks its tables; None: Ledger.

    What is not asked for is not imported either: a task that counts arrivals loads neither planner nor MLflow.
    """

    def __init__(self, settings: Settings, opened: "Callable[[str, Path], Ledger] | None" = None) -> None:
        self.settings = settings
        self._opened = opened

    def __reduce__(self) -> tuple[type["Workspace"], tuple[Settings]]:
        """Another process opens its own ledger."""
        return Workspace, (self.settings,)

    @cached_property
    def clock(self) -> Clock:
        return clock_of(self.settings)

    @cached_property
    def ledger(self) -> "Ledger":
        return ledger_of(self.settings, self._opened)

    @property
    def existing_ledger(self) -> "Ledger | None":
        """None if there is none yet; makes none. For answers that can do without one."""
        from forescale.wiring.lost_ledger import is_new

        file = self.settings.ledger_file
        return None if file is not None and is_new(file) else self.ledger

    @cached_property
    def tracker(self) -> "MlflowTracker":
        return tracker_of(self.settings)

    @property
    def topologies(self) -> "dict[str, TopologyConfig | FileError | None]":
        """As `known_topologies`."""
        from forescale.situation.known_topologies import known_topologies

        return known_topologies(self.settings, self.ledger)

    def config(self, topology: str) -> "TopologyConfig":
        """The topology file of that name (or path). Raises FileError."""
        return topology_config(topology, self.settings)

    def cluster(self, config: "TopologyConfig") -> "Cluster":
        """Without a request to it. Raises ClusterError if a secret of its login is missing."""
        return cluster_of(config, self.settings, self.clock)

    def situation(self, topology: "str | TopologyConfig", now: "datetime | None" = None) -> "Situation":
        """As `known_situation`, of a topology's configuration or name. now: None for that of the clock."""
        from forescale.situation.known_situation import known_situation
        from forescale.situation.past import Past

        config = self.config(topology) if isinstance(topology, str) else topology
        past = Past(self, config.topology, shadow=config.planning.shadow, now=now)
        return known_situation(config, self.settings, past)
