"""Words for what has drifted since the last calibration, and what to do about it."""

from modeling.calibration.drift import Drift
from modeling.wording import sized
from planner.decision_basis import DriftFacts


def drift_words(drift: Drift | DriftFacts) -> str:
    """
    >>> drift_words(DriftFacts("split", "service_s", 0.004, 0.005, 0.002))
    'split: service_s was 0.004, is 0.005 (+25%, p 0.002)'
    >>> drift_words(DriftFacts("split", "service_s", 0.001, 0.018, 7e-40))
    'split: service_s was 0.001, is 0.018 (18 times as much, p below 0.001)'
    >>> drift_words(DriftFacts("count", "service_s", 0.004, 0.005, 0.002, (6.0, 8.0)))
    'count: service_s was 0.004, is 0.005 (+25%, p 0.002) while its state grew from 6 GiB to 8 GiB (0.0005 a GiB)'
    """
    chance = "p below 0.001" if drift.p < 0.001 else f"p {drift.p:.1g}"
    change = f"{drift.operator}: {drift.parameter} was {drift.old:.4g}, is {drift.new:.4g}"
    grew = ""
    if drift.state_gib is not None:
        before, now = drift.state_gib
        slope = (drift.new - drift.old) / (now - before)
        grew = f" while its state grew from {sized(before)} to {sized(now)} ({slope:.2g} a GiB)"
    return f"{change} ({_times(drift.new / drift.old) if drift.old else 'from nothing'}, {chance}){grew}"


def _times(ratio: float) -> str:
    return f"{ratio:.2g} times as much" if ratio >= 2 else f"{ratio - 1:+.0%}"


def drift_remedy(drift: Drift) -> str:
    """What to do about it."""
    more = drift.new > drift.old
    if drift.state_gib is not None:
        return "plan again, and calibrate as its state grows: what that slows goes on; or let old state expire"
    match drift.field:
        case "service_s" | "stream_service_s" | "cpu_s":
            if more:
                return "plan again, instances carry less; see what changed: version, data, nodes, neighbours"
            return "plan again, fewer instances may do"
        case "selectivity" | "input_selectivity":
            return f"plan again, downstream operators get {'more' if more else 'less'} than planned for"
        case "service_cv2":
            return "look at the latency of plans again; throughput stays as it is"
        case "efficiency":
            return (
                "plan again before the parallelism changes by much: the gain from further instances is not the "
                "assumed one"
            )
        case "idle_cores" | "container_idle_cores" | "container_waking_cores":
            return f"plan again, containers have {'fewer' if more else 'more'} cores for tuples"
        case "gc_share" | "gc_pause_s" if more:
            return "give its containers more memory, or look for what fills them"
    return "check containers and downtime against it" if more else "containers may be smaller"
