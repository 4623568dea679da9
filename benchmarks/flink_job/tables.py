"""The results as Markdown, ready for benchmarks/results/flink_model.md."""

from collections.abc import Sequence
from itertools import pairwise

import numpy as np
from compared import Calibration, Row, spread_between
from rescales import Rescale

from modeling.rescaling.rescale_model import RescaleModel


def per_cent(ratio: float) -> str:
    return f"{100 * ratio:+.1f} %"


def abbreviated(row: Row) -> str:
    return "·".join(str(count) for count in row.plan.parallelism.values())


def plans_table(rows: Sequence[Row]) -> str:
    """One line for each run of a plan."""
    lines = [
        "| plan | max/s, told | measured | error | bottleneck, told | measured | load | utilisation, worst | "
        "p95 ms, told | simulated | measured | error |",
        "|---|---|---|---|---|---|---|---|---|---|---|---|",
    ]
    for row in rows:
        operator, points = row.utilisation_points()
        low, high = row.measured.p95_range_s
        lines.append(
            f"| {abbreviated(row)}{' again' if row.repeats else ''} | {row.told.mst_per_s:.0f} | "
            f"{row.throughput_per_s:.0f} | {per_cent(row.throughput_error)} | {row.told.bottleneck} | "
            f"{row.measured.bottleneck if not row.bottleneck_right else 'same'} | {row.load_share:.0%} | "
            f"{operator} {points:+.1f} | {1000 * row.told.p95_s:.0f} | "
            f"{1000 * row.simulated_p95_s:.0f} | {1000 * row.measured.p95_s:.0f} "
            f"±{500 * (high - low):.0f} | {per_cent(row.p95_error)} |"
        )
    return "\n".join(lines)


def summary_table(rows: Sequence[Row]) -> str:
    """One line per topology and one for all; errors leave out runs that repeat a plan."""
    lines = [
        "| | max throughput: median, worst error | with known service times | two identical runs | bottleneck right | "
        "utilisation, worst | p95: median, worst error | of the model, against simulation | of the simulation, against "
        "Flink | two identical runs |",
        "|---|---|---|---|---|---|---|---|---|---|",
    ]
    names = list(dict.fromkeys(row.topology for row in rows))
    groups = [(name, [row for row in rows if row.topology == name]) for name in names]
    if len(groups) > 1:
        groups.append(("all", list(rows)))
    for name, group in groups:
        unseen = [row for row in group if not row.repeats]
        known = [row.known.mst_per_s / row.throughput_per_s - 1 for row in unseen]
        of_model = [row.known.p95_s / row.simulated_p95_s - 1 for row in unseen]
        of_simulation = [row.simulated_p95_s / row.measured.p95_s - 1 for row in unseen]
        points = [row.utilisation_points()[1] for row in unseen]
        lines.append(
            f"| {name} | {middle_and_worst([row.throughput_error for row in unseen])} | {middle_and_worst(known)} | "
            f"{listed(spread_between(group, lambda row: row.throughput_per_s))} | "
            f"{sum(row.bottleneck_right for row in unseen)} of {len(unseen)} | {max(points, key=abs):+.1f} points | "
            f"{middle_and_worst([row.p95_error for row in unseen])} | {middle_and_worst(of_model)} | "
            f"{middle_and_worst(of_simulation)} | "
            f"{listed(spread_between(group, lambda row: row.measured.p95_s))} |"
        )
    return "\n".join(lines)


def middle_and_worst(errors: Sequence[float]) -> str:
    """Median of the absolute errors, and the largest error with its sign."""
    return f"{100 * float(np.median(np.abs(errors))):.1f} %, {per_cent(max(errors, key=abs))}"


def listed(ratios: Sequence[float]) -> str:
    return ", ".join(per_cent(ratio) for ratio in ratios) or "none"


def calibration_table(calibrations: Sequence[Calibration]) -> str:
    """One line per operator, sources left out."""
    lines = [
        "| topology | operator | service ms, true | calibrated | error | cv², true | calibrated |",
        "|---|---|---|---|---|---|---|",
    ]
    for one in calibrations:
        for name, true in one.true.items():
            if true.service_s == 0:  # a source
                continue
            found = one.found[name]
            lines.append(
                f"| {one.topology} | {name} | {1000 * true.service_s:.2f} | {1000 * found.service_s:.2f} | "
                f"{per_cent(found.service_s / true.service_s - 1)} | {true.service_cv2:.2f} | {found.service_cv2:.2f} |"
            )
    return "\n".join(lines)


def waking_table(rows: Sequence[Row], calibrations: Sequence[Calibration]) -> str:
    """By instances' utilisation: the time beyond its service time for which each tuple kept them busy."""
    true = {one.topology: one.true for one in calibrations}
    seen = [
        (used, row.measured.utilisation[name] - used, used / true[row.topology][name].service_s)
        for row in rows
        for name, used in row.known.utilisation.items()
        if used > 0
    ]
    lines = ["| busy | measured | longer by ms |", "|---|---|---|"]
    for low, high in pairwise((0.0, 0.3, 0.45, 0.55, 0.65, 1.0)):
        some = np.array([(more, tuples) for used, more, tuples in seen if low <= used < high])
        if len(some) > 1:
            each_s, weights = some[:, 0] / some[:, 1], some[:, 1] / some[:, 1].sum()
            mean_s = float(weights @ each_s)
            error_s = float(np.sqrt((weights**2) @ (each_s - mean_s) ** 2))
            lines.append(f"| {low:.0%} to {high:.0%} | {len(some)} | {1000 * mean_s:.3f} ± {1960 * error_s:.3f} |")
    return "\n".join(lines)


def rescales_table(rescales: Sequence[Rescale], model: RescaleModel, fitted_on: Sequence[float]) -> str:
    """One line per size of state. fitted_on: the sizes that the model was fitted to."""
    lines = [
        "| state MiB | | rescales | told s | measured s, each | mean | error of the mean | within 25 % |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for mib in dict.fromkeys(one.declared_mib for one in rescales):
        same = [one for one in rescales if one.declared_mib == mib]
        downtimes_s = [one.downtime_s for one in same]
        told_s = [float(model.downtime_s(one.restored_gib)) for one in same]
        mean_s, mean_told_s = float(np.mean(downtimes_s)), float(np.mean(told_s))
        near = sum(abs(told / seen - 1) <= 0.25 for told, seen in zip(told_s, downtimes_s, strict=True))
        lines.append(
            f"| {np.mean([one.state_mib for one in same]):.0f} | {'fitted' if mib in fitted_on else 'predicted'} | "
            f"{len(same)} | {mean_told_s:.2f} | {', '.join(f'{each:.2f}' for each in downtimes_s)} | {mean_s:.2f} | "
            f"{per_cent(mean_told_s / mean_s - 1)} | {near} of {len(same)} |"
        )
    return "\n".join(lines)
