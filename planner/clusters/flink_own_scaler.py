"""Whether Flink's own autoscaler manages a job: two scalers of one job undo each other's work."""

from collections.abc import Mapping

ENABLED, OVERRIDES = "job.autoscaler.enabled", "pipeline.jobvertex-parallelism-overrides"
SCALING = "job.autoscaler.scaling.enabled"


def own_scaler_sign(configuration: Mapping[str, str]) -> str | None:
    """The option in the job's configuration that shows it, with its value; None if there is none.

    An autoscaler that only advises (scaling.enabled: false) changes nothing, but leaves earlier overrides in place.
    """
    enabled = configuration.get(ENABLED, "").strip().lower() == "true"
    if enabled and configuration.get(SCALING, "true").strip().lower() != "false":
        return f"{ENABLED}: true"
    overrides = configuration.get(OVERRIDES, "").strip()
    return f"{OVERRIDES}: {overrides[:120]}" if overrides else None
