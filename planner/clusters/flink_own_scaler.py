"""Whether Flink's own autoscaler looks after a job: two that rescale one job undo each other's work."""

from collections.abc import Mapping

ENABLED, OVERRIDES = "job.autoscaler.enabled", "pipeline.jobvertex-parallelism-overrides"
SCALING = "job.autoscaler.scaling.enabled"


def own_scaler_sign(configuration: Mapping[str, str]) -> str | None:
    """The option of a job's configuration by which it is seen, with its value; None where there is none.

    One that only advises (scaling.enabled: false) changes nothing, but leaves the overrides of before in place.
    """
    enabled = configuration.get(ENABLED, "").strip().lower() == "true"
    if enabled and configuration.get(SCALING, "true").strip().lower() != "false":
        return f"{ENABLED}: true"
    overrides = configuration.get(OVERRIDES, "").strip()
    return f"{OVERRIDES}: {overrides[:120]}" if overrides else None
