"""Builds what settings and a topology file name: clock, ledger, tracker, cluster, Spark. Each is imported on use."""

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from forescale.settings import Settings
from forescale.wiring.clock import clock_of_kind
from planner.clock import Clock
from planner.errors import ClusterError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

    from forecasting.tracking.mlflow_tracker import MlflowTracker
    from forescale.files.topology import TopologyConfig
    from planner.clusters.cluster import Cluster
    from planner.ledger.ledger import Ledger


def topology_config(name: str, settings: Settings) -> "TopologyConfig":
    """The topology file of that name (or path). Raises FileError."""
    from forescale.files.topology import find_topology_file, read_topology_file

    return read_topology_file(find_topology_file(name, settings.topologies))


def clock_of(settings: Settings) -> Clock:
    return clock_of_kind(settings.clock, settings.clock_file)


def ledger_of(settings: Settings, opened: "Callable[[str, Path], Ledger] | None" = None) -> "Ledger":
    """opened: opens a ledger by its URL and its home, and checks its tables; None: Ledger.

    Raises LedgerError if the ledger was lost, before a new one is made.
    """
    from forescale.wiring.lost_ledger import check_not_lost

    check_not_lost(settings)
    settings.home.mkdir(parents=True, exist_ok=True)
    if opened is None:
        from planner.ledger.ledger import Ledger

        opened = Ledger
    return opened(settings.ledger_sqlalchemy_url, settings.home.resolve())


def tracker_of(settings: Settings) -> "MlflowTracker":
    from forecasting.tracking.mlflow_tracker import MlflowTracker
    from forecasting.tracking.seal import Seal

    seal = Seal(settings.home / "trained.key")
    return MlflowTracker(settings.tracking_uri, settings.artifact_root, settings.mlflow_ui, seal)


def cluster_of(config: "TopologyConfig", settings: Settings, clock: Clock) -> "Cluster":
    """The topology's cluster, without a request to it. Raises ClusterError if a secret of its login is missing."""
    from forescale.wiring.engines.registry import cluster_kind

    try:
        return cluster_kind(config.cluster).connect(config, config.cluster, settings, clock)
    except ValueError as error:
        raise ClusterError(f"section cluster of {config.topology}: {error}") from None


@contextmanager
def task_session(settings: Settings, app: str) -> Iterator["SparkSession"]:
    """A session with one thread per worker, stopped at the end. Raises HistoryError if it does not start, or ends
    meanwhile.
    """
    from forecasting.arrivals.spark_session import running, spark_session
    from forecasting.spark_tasks import WORKER_SETTINGS

    session = spark_session(
        settings.spark_master,
        app,
        driver_memory=settings.spark_memory,
        settings=WORKER_SETTINGS | settings.spark_settings,
    )
    with running(session) as spark:
        yield spark
