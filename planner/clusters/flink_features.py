"""What a Flink job's configuration shows: features that the model leaves out, and a scaler of its own."""

from collections.abc import Mapping

from engines.flink.answers import CheckpointConfig
from modeling.inputs.operator_profile import Feature

_IN_MEMORY = ("HashMapStateBackend", "MemoryStateBackend", "FsStateBackend")
_MINI_BATCHES = "MiniBatchAssigner"
"""Ends the bundles of table.exec.mini-batch by the clock."""

ENABLED, OVERRIDES = "job.autoscaler.enabled", "pipeline.jobvertex-parallelism-overrides"
SCALING = "job.autoscaler.scaling.enabled"


def reported_features(config: CheckpointConfig | None) -> tuple[Feature, ...]:
    """None: without checkpoints, Flink does not say where state is kept.

    >>> reported_features(CheckpointConfig(state_backend="EmbeddedRocksDBStateBackend"))
    (<Feature.STATE_ON_DISK: 'state_on_disk'>,)
    """
    found = []
    if config is not None and config.unaligned:
        found.append(Feature.UNALIGNED_CHECKPOINTS)
    if config is not None and config.state_backend is not None and config.state_backend not in _IN_MEMORY:
        found.append(Feature.STATE_ON_DISK)
    return tuple(found)


def features_of_chain(vertex: str) -> tuple[Feature, ...]:
    """What the operators chained in a vertex show by their names, which Flink SQL gives them.

    >>> features_of_chain("Source: bid[1] -> Calc[2] -> MiniBatchAssigner[3] -> LocalGroupAggregate[4]")
    (<Feature.MINI_BATCHES: 'mini_batches'>,)
    """
    return (Feature.MINI_BATCHES,) if _MINI_BATCHES in vertex else ()


def own_scaler_sign(configuration: Mapping[str, str]) -> str | None:
    """The option that shows Flink's own autoscaler at work, with its value; None if none does: two scalers of one job
    undo each other's work.

    An autoscaler that only advises (scaling.enabled: false) changes nothing, but leaves earlier overrides in place.
    """
    enabled = configuration.get(ENABLED, "").strip().lower() == "true"
    if enabled and configuration.get(SCALING, "true").strip().lower() != "false":
        return f"{ENABLED}: true"
    overrides = configuration.get(OVERRIDES, "").strip()
    return f"{OVERRIDES}: {overrides[:120]}" if overrides else None
