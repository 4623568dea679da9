"""Estimates of plans for people: a table of operators and one of containers each, and all plans side by side."""

import math
from collections.abc import Mapping

from forescale.cli.output import console, plain, table
from forescale.jobs.evaluation import Evaluation
from forescale.report.kit.wording import NBSP, balance, duration
from modeling.estimate import Estimate
from modeling.flow.limits import ContainerLimit, Limit, OperatorLimit
from modeling.services.pools import ServiceSaturation
from modeling.uncertainty.estimate_intervals import Interval
from modeling.wording import sized


def show_evaluation(name: str, evaluation: Evaluation) -> None:
    """One plan: operators, containers, throughput, latency, uncertainty, and what limits it."""
    _show_estimate(name, evaluation)
    if evaluation.saturation is not None:
        _show_saturation(evaluation.saturation)
    _show_uncertainty(evaluation)
    _show_lag(evaluation)
    by_remedy: dict[str, list[str]] = {}
    for excuse in evaluation.excuses:
        by_remedy.setdefault(excuse.remedy, []).append(excuse.reason)
    for remedy, reasons in by_remedy.items():
        plain(f"{', '.join(reasons)}: {remedy}")


def show_comparison(evaluations: Mapping[str, Evaluation]) -> None:
    """Plans side by side, one a row."""
    rows = []
    for name, evaluation in evaluations.items():
        each = evaluation.estimate
        took = each.latency
        rows.append(
            (
                name,
                sum(operator.parallelism for operator in each.operators.values()),
                f"{each.headroom_factor - 1:+.0%}" if math.isfinite(each.headroom_factor) else "no bound",
                str(each.bottleneck) if math.isfinite(each.headroom_factor) else "",
                f"{each.utilisation:.0%}",
                *(("",) * 3 if took is None else (seconds(took.p50_s), seconds(took.p95_s), seconds(took.p99_s))),
                f"{each.resources.total_cores:.3g}",
                "" if each.rescale is None else seconds(each.rescale.recovery_s),
                f"{max((one.probability for one in evaluation.missed.values()), default=0.0):.0%}",
            )
        )
    columns = ["plan", "instances", "headroom", "bottleneck", "busiest", "p50", "p95", "p99", "cores", "recovery"]
    console.print(table("side by side", [*columns, "P(target missed)"], rows))


def _show_estimate(name: str, evaluation: Evaluation) -> None:
    estimate = evaluation.estimate
    full = estimate.bottleneck if math.isfinite(estimate.headroom_factor) else None
    console.print(
        table(
            name,
            ["operator", "instances", "arrivals", "busiest instance", "mean wait", "cores", "memory"],
            [
                (
                    _marked(operator.operator, OperatorLimit(operator.operator) == full),
                    operator.parallelism,
                    f"{operator.arrival_rate_per_s:.4g}/s",
                    f"{operator.utilisation:.0%}",
                    seconds(operator.wait_s),
                    f"{estimate.resources.cores[operator.operator].sum():.3g}",
                    _memory(estimate, operator.operator),
                )
                for operator in estimate.operators.values()
            ],
        )
    )
    if estimate.resources.containers:
        _show_containers(name, estimate, full)
    for source, mst_per_s in estimate.mst_per_s.items():
        offered, taken = estimate.load_per_s[source], estimate.throughput_per_s[source]
        most = f"at most {mst_per_s:.4g}/s ({full})" if full else "no bound"
        if not offered:  # The largest load has the mix of the given one.
            plain(f"{source}: offered nothing, so what it could carry is not known; give it a --load above 0")
            continue
        plain(f"{source}: offered {offered:.4g}/s, processed {taken:.4g}/s, {most}")
    if estimate.stable:
        plain(_latency(estimate))
    else:
        growth = ", ".join(f"{source} {rate:.4g}/s" for source, rate in estimate.excess_per_s.items() if rate > 0)
        told = [_remedy(evaluation), f"the backlog grows by {growth}" if growth else ""]
        plain(": ".join(("unstable", "; ".join(filter(None, told)))).removesuffix(": "))
    if estimate.rescale is not None and estimate.rescale.current_plan_id == estimate.plan_id:
        plain("this is the plan that runs")
    elif estimate.rescale is not None:
        change = estimate.rescale
        plain(
            f"change from the running plan: {seconds(change.downtime_s)} down (p95 {seconds(change.downtime_p95_s)}), "
            f"{sized(change.restored_gib)} restored, {change.backlog:.4g} tuples behind, caught up after "
            f"{seconds(change.catch_up_s)}, longest lag {seconds(change.peak_lag_s)}"
        )
    for pressure in estimate.resources.over:
        plain(pressure.text)
    for stream in estimate.bounds:
        plain(f"{stream}: {balance(estimate.bounds[stream])}")
    for note in estimate.notes:
        plain(f"note: {note}")


def _show_saturation(full: ServiceSaturation) -> None:
    rows = [(name, _rate(rate), _rate(full.throughput_per_s[name])) for name, rate in full.own_limit_per_s.items()]
    title = "requests of each service where threads are short"
    console.print(table(title, ["service", "if no call waited", "with all threads held"], rows))
    most = ", ".join(f"{source} at {_rate(rate)}" for source, rate in full.mst_per_s.items())
    plain(f"with threads that wait for calls it saturates: {most}; short of threads or CPU: {full.bottleneck}")


def _rate(per_s: float) -> str:
    return f"{per_s:.4g}/s" if math.isfinite(per_s) else "no bound"


def _show_uncertainty(evaluation: Evaluation) -> None:
    known = evaluation.intervals
    widths = [high > low for low, high in known.mst_per_s.values()]
    if any(widths):
        share = f"{known.share:.0%}"
        told = [f"at most {_interval(ends)}/s of {source}" for source, ends in known.mst_per_s.items()]
        late = " to ".join(map(seconds, known.latency_p95_s))
        plain(f"by the errors of the profiles ({share}): {', '.join(told)}, latency p95 {late}")
    within = f"{evaluation.horizon_s / 3600:g} h"
    parts = [f"{target} {missed.probability:.1%}" for target, missed in evaluation.missed.items()]
    plain(f"probability that a target is missed within {within}: {', '.join(parts)}")


def _show_lag(evaluation: Evaluation) -> None:
    """When the lag will exceed its target, and how long a new tuple waits behind the backlog; nothing if unknown."""
    within_s = evaluation.time_to_violation_s
    if math.isfinite(within_s):
        plain(f"lag passes {evaluation.max_lag_s:g} s " + (f"after {seconds(within_s)}" if within_s > 0 else "already"))
    if evaluation.drain_wait_s > 0:
        plain(f"a tuple that arrives now waits {seconds(evaluation.drain_wait_s)} behind the backlog")


YEAR_S, LONG_S = 365 * 86400.0, 600.0


def _interval(ends: Interval) -> str:
    return " to ".join(f"{end:.4g}" if math.isfinite(end) else "no bound" for end in ends)


def seconds(value_s: float) -> str:
    """In milliseconds below one second, in larger units from ten minutes on; `unstable` if infinite.

    >>> [seconds(each) for each in (0.0302, 95.0, 900.0, 3.5e4, 4e6)]
    ['30.2 ms', '95 s', '15 min', '9 h 43 min', '46 d 7 h']
    """
    if not math.isfinite(value_s):
        return "unstable"
    if value_s > YEAR_S:
        return "over a year"
    if value_s >= LONG_S:
        return duration(value_s).replace(NBSP, " ")
    return f"{value_s * 1e3:.3g} ms" if 0 < value_s < 1 else f"{value_s:.3g} s"


def _marked(name: str, full: bool) -> str:
    return f"{name} ← bottleneck" if full else name


def _latency(estimate: Estimate) -> str:
    of = estimate.latency
    if of is None:
        return f"mean latency {seconds(estimate.latency_s)}"
    return (
        f"mean latency {seconds(of.mean_s)}, p50 {seconds(of.p50_s)}, p95 {seconds(of.p95_s)}, "
        f"p99 {seconds(of.p99_s)}; p95 at {of.slowest_sink} {seconds(of.slowest_p95_s)}"
    )


def _remedy(evaluation: Evaluation) -> str:
    """A remedy for the bottleneck unless an excuse names one; a full container or link is always named."""
    full = evaluation.estimate.bottleneck
    if isinstance(full, OperatorLimit):
        told = any(full.operator in (excuse.operator, *excuse.change) for excuse in evaluation.excuses)
        return "" if told else f"raise the parallelism of {full}"
    if any(excuse.target == "throughput" and not excuse.operator for excuse in evaluation.excuses):
        return f"{full} is full"
    return f"{full} is full; {full.remedy}"


def _memory(estimate: Estimate, operator: str) -> str:
    needed = estimate.resources.memory_mib[operator]
    return "" if needed is None else f"{needed.sum():.4g} MiB"


def _show_containers(name: str, estimate: Estimate, full: Limit | None) -> None:
    console.print(
        table(
            f"{name}: containers",
            ["container", "node", "cores", "of", "memory", "of "],
            [
                (
                    _marked(str(each.id), full == ContainerLimit(each.id)),
                    each.node,
                    f"{each.cores:.3g}",
                    "" if each.cores_limit is None else f"{each.cores_limit:.3g}",
                    "" if each.memory_mib is None else f"{each.memory_mib:.4g} MiB",
                    "" if each.memory_limit_mib is None else f"{each.memory_limit_mib:.4g} MiB",
                )
                for each in estimate.resources.containers.values()
            ],
        )
    )
