"""Tables of what was predicted and measured."""

from collections.abc import Callable, Sequence

import numpy as np
from bench import Row


def _error(told: float | None, measured: float | None) -> float | None:
    return None if told is None or not measured else told / measured - 1


FULL, AT_PACE = "maximum throughput", "maximum throughput, at the pace of the machine"
P95, USED = "p95 latency at .6", "cores used at .6"
ERRORS: dict[str, Callable[[Row], float | None]] = {
    FULL: lambda row: _error(row.told_per_s, row.measured_per_s),
    AT_PACE: lambda row: _error(row.told_per_s * row.full_pace, row.measured_per_s),
    P95: lambda row: _error(row.told_p95_s, row.measured_p95_s),
    USED: lambda row: _error(row.told_cores, row.measured_cores),
    f"{USED}, at the pace of the machine": lambda row: _error(row.told_cores / row.load_pace, row.measured_cores),
}


def plans_table(rows: Sequence[Row]) -> str:
    lines = [
        "| query | plan | cores each | events/s, told | measured | error | bottleneck, told | measured | "
        "p95 ms, told | measured | error | cores used, told | measured | error | others | pace | error at it |",
        "|" + "---|" * 17,
    ]
    for row in rows:
        error = {what: _percent(of(row)) for what, of in ERRORS.items()}
        cells = [
            row.query,
            "·".join(str(count) for count in row.parallelism.values()) + (" again" if row.again else ""),
            f"{row.cores:g}",
            f"{row.told_per_s:,.0f}",
            f"{row.measured_per_s:,.0f}{'' if row.steady else ', not steady'}",
            error[FULL],
            row.told_bottleneck,
            "same" if row.measured_bottleneck == row.told_bottleneck else row.measured_bottleneck,
            _ms(row.told_p95_s if row.measured_p95_s else None),
            _ms(row.measured_p95_s),
            error[P95],
            f"{row.told_cores:.3f}",
            f"{row.measured_cores:.3f}",
            error[USED],
            f"{row.others:.2f}",
            f"{row.full_pace:.2f}",
            error[AT_PACE],
        ]
        lines.append(f"| {' | '.join(cells)} |")
    return "\n".join(lines)


def summary_table(rows: Sequence[Row]) -> str:
    """Errors of predicted plans, and of the plans of the calibration when they ran again."""
    lines = ["| | plans | median error | worst |", "|---|---|---|---|"]
    predicted = [row for row in rows if not row.again]
    for kind, of_kind in {"": predicted, ", calibrated plan again": [row for row in rows if row.again]}.items():
        for what, error in ERRORS.items():
            known = np.array([each for row in of_kind if (each := error(row)) is not None])
            if known.size:
                worst = known[np.argmax(np.abs(known))]
                lines.append(f"| {what}{kind} | {known.size} | {np.median(np.abs(known)):.1%} | {worst:+.1%} |")
    right = sum(row.told_bottleneck == row.measured_bottleneck for row in predicted)
    return "\n".join([*lines, f"| bottleneck | {len(predicted)} | right in {right} | |"])


def _percent(error: float | None) -> str:
    return "" if error is None else f"{error:+.1%}"


def _ms(seconds: float | None) -> str:
    return "" if seconds is None else f"{1000 * seconds:.0f}"
