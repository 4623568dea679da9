"""The workspace of one installation: clock, ledger, tracker and topologies, opened once and only when needed."""

from collections.abc import Callable
from functools import cached_property
from pathlib import Path

from forecasting.tracking.mlflow_tracker import MlflowTracker
from forescale.files.file_error import FileError
from forescale.files.profile import measured_at
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.counted_keys import counted_keys
from forescale.situation.known_profiles import kept_profiles, profile_path
from forescale.situation.known_topologies import known_topologies
from forescale.situation.situation import ASSUMED, KnownSite, Situation
from forescale.wiring.lost_ledger import is_new
from forescale.wiring.packing import known_site
from forescale.wiring.parts import clock_of, cluster_of, ledger_of, topology_config, tracker_of
from planner.clock import Clock
from planner.clusters.cluster import Cluster
from planner.ledger.ledger import Ledger
from planner.provenance import Origin, Provenance

TOPOLOGY_FILE = "topology file"
CALIBRATION = "calibration"


class Workspace:
    """Opened once per command or task. opened: opens a ledger by its URL and home and checks its tables."""

    def __init__(self, settings: Settings, opened: Callable[[str, Path], Ledger] = Ledger) -> None:
        self.settings = settings
        self._opened = opened

    def __reduce__(self) -> tuple[type["Workspace"], tuple[Settings]]:
        """Another process opens its own ledger."""
        return Workspace, (self.settings,)

    @cached_property
    def clock(self) -> Clock:
        return clock_of(self.settings)

    @cached_property
    def ledger(self) -> Ledger:
        return ledger_of(self.settings, self._opened)

    @property
    def existing_ledger(self) -> Ledger | None:
        """None if there is none yet; makes none. For answers that can do without one."""
        file = self.settings.ledger_file
        return None if file is not None and is_new(file) else self.ledger

    @cached_property
    def tracker(self) -> MlflowTracker:
        return tracker_of(self.settings)

    @property
    def topologies(self) -> dict[str, TopologyConfig | FileError | None]:
        """As `known_topologies`."""
        return known_topologies(self.settings, self.ledger)

    def config(self, topology: str) -> TopologyConfig:
        """The topology file of that name (or path). Raises FileError."""
        return topology_config(topology, self.settings)

    def cluster(self, config: TopologyConfig) -> Cluster:
        """Without a request to it. Raises ClusterError if a secret of its login is missing."""
        return cluster_of(config, self.settings, self.clock)

    def situation(self, topology: str | TopologyConfig) -> Situation:
        """Everything that file, calibration, history and site say of a topology now. Raises FileError for a file that
        cannot be used.
        """
        config = self.config(topology) if isinstance(topology, str) else topology
        profiles = kept_profiles(config, self.settings)
        path = profile_path(config, self.settings)
        at = measured_at(path) if path.exists() else None
        timed = {
            name: Provenance(Origin.MEASURED, CALIBRATION, at, profile.samples, profile.intervals.get("service_s"))
            if profile.samples
            else Provenance(Origin.DECLARED, TOPOLOGY_FILE)
            for name, profile in profiles.items()
        }
        file, digest, place = known_site(config, self.settings)
        declared = place or (TOPOLOGY_FILE if config.packing is not None and config.packing.cores is not None else "")
        site = KnownSite(file, digest, Provenance(Origin.DECLARED, declared) if declared else ASSUMED)
        return Situation(config, profiles, timed, counted_keys(self.settings.history_dir, config.topology), site)
