"""A calibration as tables and lines for people."""

from collections import Counter
from collections.abc import Sequence

from forescale.cli.output import console, plain, table
from forescale.report.kit.drift_words import drift_remedy, drift_words
from modeling.calibration.calibrated import Calibrated, CalibratedOperator
from modeling.calibration.drift import Drift
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.scale_efficiency import LINEAR
from modeling.wording import count_of


def show_calibration(calibrated: Calibrated, changed: Sequence[Drift]) -> None:
    rows = [
        (
            name,
            _with_interval(operator.profile, "service_s", operator.profile.service_s, " s"),
            _with_interval(operator.profile, "service_cv2", operator.profile.service_cv2),
            ", ".join(
                f"{stream} {_with_interval(operator.profile, f'selectivity[{stream}]', ratio)}"
                for stream, ratio in operator.profile.selectivity.items()
            ),
            operator.used or ("earlier" if operator.profile.samples else "declared"),
            len(operator.dropped),
            len(operator.censored),
        )
        for name, operator in calibrated.operators.items()
    ]
    columns = ["operator", "busy per tuple", "cv²", "tuples out per tuple in", "samples", "dropped", "censored"]
    console.print(table("95 % intervals in brackets", columns, rows))
    for operator in calibrated.operators.values():
        _show_more(operator)
    for source, load in calibrated.offered.items():
        free, spans = load.spans
        plain(
            f"{source}: at least {load.rate_per_s:.4g}/s was offered; it was held back in all {spans} spans"
            if load.censored
            else f"{source}: {load.rate_per_s:.4g}/s was offered ({free} of {spans} spans not held back)"
        )
    for drift in changed:
        plain(f"drift: {drift_words(drift)}; {drift_remedy(drift)}")


def _show_more(operator: CalibratedOperator) -> None:
    """What the table has no column for."""
    profile = operator.profile
    name = profile.operator
    for stream, service_s in profile.stream_service_s.items():
        plain(
            f"{name}: {_with_interval(profile, f'stream_service_s[{stream}]', service_s, ' s')} per tuple of {stream}"
        )
    for out, of_inputs in profile.input_selectivity.items():
        for stream, ratio in of_inputs.items():
            of_input = _with_interval(profile, f"input_selectivity[{out}][{stream}]", ratio)
            plain(f"{name}: {of_input} on {out} per tuple of {stream}")
    needs = {"cpu_s": " CPU s a tuple", "memory_mib": " MiB idle", "memory_mib_s": " MiB more per tuple a second"}
    needs |= {"idle_cores": " cores without work", "container_idle_cores": " cores of its container without work"}
    needs |= {"container_waking_cores": " cores of its container while it waits"}
    needs |= {"state_gib": " GiB of state", "gc_share": " of the time in garbage collection"}
    needs |= {"gc_pause_s": " s a collection"}
    told = [
        _with_interval(profile, key, getattr(profile, key), unit)
        for key, unit in needs.items()
        if key in profile.intervals
    ]
    if told:
        plain(f"{name}: {', '.join(told)}")
    if profile.efficiency != LINEAR:
        scale = profile.efficiency
        grows = f"exponent {scale.exponent:.3g}, {scale.coordination_s:.3g} s more for each further instance"
        plain(f"{name}: service time at {count_of(scale.measured_at, 'instance')}; {grows}")
    for what, marked in (("dropped", operator.dropped), ("censored", operator.censored)):
        for why, count in sorted(Counter(one.why for one in marked).items()):
            plain(f"{name}: {what} {count}: {why}")
    for note in operator.notes:
        plain(f"{name}: {note}")


def _with_interval(profile: OperatorProfile, parameter: str, value: float, unit: str = "") -> str:
    if parameter not in profile.intervals:
        return f"{value:.4g}{unit}"
    low, high = profile.intervals[parameter]
    return f"{value:.4g}{unit} [{low:.3g}, {high:.3g}]"
