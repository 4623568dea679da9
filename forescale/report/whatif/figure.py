"""Figures of plans: latency and throughput over the load, utilisation of operators, needs of containers."""

from collections.abc import Mapping, Sequence
from math import ceil, isfinite, log10

import plotly.graph_objects as go

from forescale.report.kit.figure import INK, KeyEntry, ReportFigure, bare_layout, label, look, note_above
from forescale.report.kit.traces import line, marks, rounded
from forescale.report.kit.wording import number, percent, quantile_name, rate, shortened
from forescale.report.whatif.numbers import Curves, PlanCurve, drawn_names
from forescale.report.whatif.whatif import WhatIf
from forescale.report.whatif.words import seconds
from modeling.arrays import Floats
from modeling.estimate import OperatorEstimate
from modeling.flow.resources import ContainerEstimate, Resource
from modeling.wording import count_of

COLOURS = ("#0072b2", "#d55e00", "#009e73", "#b0568a", "#7a7a7a", "#56b4e9", "#e69f00", "#3a3a3a")
"""Okabe and Ito's palette, as in the other figures; lines also differ in their dashes."""
DASHES = (("solid", "line"), ("dash", "dash"), ("dot", "dot"))
"""Names of dashes in Plotly and in the key."""

MAX_OPERATORS = 20
MAX_CONTAINERS = 16
MAX_POINTS = 128
SHOWN_UTILISATION = 2.0
"""Utilisation at which bars are cut: their label shows the number."""

_SKEWED = 1.02
_HOVER = "%{hovertext}<extra></extra>"
_SUM = "events per second, all sources together"
_PEAK_BAND = "rgba(230, 159, 0, 0.20)"
_PEAK_LINE = "#a56f00"
_LOAD_LINE = "#555555"
_LABEL, _PHONE_LABEL = 22, 17


def latency_figure(whatif: WhatIf, curves: Curves) -> ReportFigure | None:
    """p95 over the load, one line per plan, up to its saturation; None if all latencies are zero."""
    shown = {name: curve for name, curve in curves.plans.items() if curve.p95_s.size}
    if not shown:
        return None
    plot = go.Figure(layout=_over_loads(whatif, curves, "p95 latency"))
    key = []
    for name, curve in shown.items():
        told = [f"p95 {seconds(p95)}" for p95 in curve.p95_s.tolist()]
        key.append(_add_line(plot, whatif, curves, name, curve.load_per_s, curve.p95_s, told))
    key += _add_marks(plot, whatif, curves, shown)
    low, high = (log10(edge(p95 for curve in shown.values() for p95 in curve.p95_s.tolist())) for edge in (min, max))
    ticks = _time_ticks(low, high)
    plot.update_yaxes(
        type="log",
        rangemode="normal",
        range=[low - 0.06 * max(high - low, 0.5), high + 0.08 * max(high - low, 0.5)],
        tickvals=ticks,
        ticktext=[seconds(tick) for tick in ticks],
    )
    return ReportFigure(
        title="Latency over the load",
        description=f"p95 latency over the load, {_in_words(whatif, curves)}.",
        plot=plot,
        key=(*key, *_verticals(plot, whatif)),
        wide=_look(380, 76, 10),
        narrow=_look(300, 62, 5) | {"yaxis.title.text": ""},
    )


def throughput_figure(whatif: WhatIf, curves: Curves) -> ReportFigure:
    """Processed share of the offered load."""
    plot = go.Figure(layout=_over_loads(whatif, curves, "taken in per second"))
    plot.add_trace(line([0, curves.end_per_s], [0, curves.end_per_s], "offered", "#bbbbbb", 1, hoverinfo="skip"))
    key = []
    for name, curve in curves.plans.items():
        told = [f"takes in {rate(taken)}" for taken in curve.taken_per_s.tolist()]
        key.append(_add_line(plot, whatif, curves, name, curve.offered_per_s, curve.taken_per_s, told))
    top = max(float(curve.taken_per_s.max()) for curve in curves.plans.values())
    plot.update_yaxes(range=[0, 1.08 * top])
    return ReportFigure(
        title="Processed share of the offered load",
        description=f"Processed over offered events, {_in_words(whatif, curves)}.",
        plot=plot,
        key=(*key, KeyEntry("all that is offered", "line", "#bbbbbb"), *_verticals(plot, whatif)),
        wide=_look(300, 76, 10),
        narrow=_look(260, 62, 5) | {"yaxis.title.text": ""},
    )


def utilisation_figure(whatif: WhatIf) -> ReportFigure:
    """Bars of the busiest instance, grouped by operator, one per plan; marks for the mean and, if instances differ, for
    each instance.
    """
    names, operators = drawn_names(whatif), shown_operators(whatif)
    most = max(whatif.estimates[name].operators[each].utilisation for name in names for each in operators)
    cut = min(most, SHOWN_UTILISATION)
    plot = go.Figure(layout=_sideways("busy share of the time"))
    height = 0.8 / len(names)
    skewed = False
    for at, name in enumerate(names):
        of = [whatif.estimates[name].operators[each] for each in operators]
        y = [row + (at - (len(names) - 1) / 2) * height for row in range(len(of))]
        busiest = [one.utilisation for one in of]
        hover = [f"{label(name)}, {label(one.operator)}<br>{_busy_words(one)}" for one in of]
        text = [percent(each) + (" →" if each > cut else "") for each in busiest]
        plot.add_trace(_bars(name, at, y, [min(each, cut) for each in busiest], height, text, hover))
        uneven = [(one, row) for one, row in zip(of, y, strict=True) if one.utilisation > _SKEWED * _mean(one)]
        if uneven:
            skewed = True
            each = [
                (min(used, cut), row) for one, row in uneven for used in one.instance_utilisation[:MAX_POINTS].tolist()
            ]
            plot.add_trace(_marks(f"instances of {label(name)}", each, "circle", 5, "rgba(255,255,255,0.75)", 1))
            means = [(min(_mean(one), cut), row) for one, row in uneven]
            plot.add_trace(_marks(f"mean of {label(name)}", means, "line-ns", 14, INK, 2))
    plot.update_layout(barmode="overlay", xaxis={"tickformat": ".0%"}, yaxis=_rows(operators), shapes=[_across(1.0)])
    key = [_bar_key(name, at) for at, name in enumerate(names)]
    if skewed:
        key.append(KeyEntry("each instance, where they differ", "ring", INK))
        key.append(KeyEntry("their mean", "tick", INK))
    key.append(KeyEntry("full", "dash", _LOAD_LINE))
    rows = len(operators) * (len(names) + 1)
    longest = max(cut, 1.0)
    return ReportFigure(
        title="How busy the busiest instance of each operator is",
        description="; ".join(
            f"{label(name)}: {label(str(whatif.estimates[name].bottleneck))} is full first, the busiest instance is "
            f"{percent(whatif.estimates[name].utilisation)} busy"
            for name in names
        )
        + ".",
        plot=plot,
        key=tuple(key),
        wide=_sideways_look(rows, longest, operators, 190),
        narrow=_sideways_look(rows, longest, operators, 114),
    )


def shown_operators(whatif: WhatIf) -> tuple[str, ...]:
    """Operators in topological order; if there are many, those that are busiest in any plan."""
    names = drawn_names(whatif)
    most = sorted(
        whatif.topology.order,
        key=lambda each: -max(whatif.estimates[name].operators[each].utilisation for name in names),
    )[:MAX_OPERATORS]
    return tuple(each for each in whatif.topology.order if each in most)


def containers_figure(whatif: WhatIf, resource: Resource) -> ReportFigure | None:
    """Cores or memory of each container against its size, the fullest of many; None if needs are unknown."""
    names = [name for name in drawn_names(whatif) if _containers(whatif, name, resource)]
    if not names:
        return None
    cores = resource is Resource.CORES
    size = whatif.site.container.cores if cores else whatif.site.container.memory_mib
    unit = "cores" if cores else "MiB"
    plot = go.Figure(layout=_sideways("cores in use" if cores else "memory in MiB"))
    rows: list[str] = []
    most = size or 0.0
    for name in names:
        at = drawn_names(whatif).index(name)
        shown = _containers(whatif, name, resource)
        needed = [_needed(one, resource) for one in shown]
        most = max(most, *needed)
        of = f" of {size:,.6g}" if size is not None else ""
        hover = [
            f"{label(name)}, {label(_place(one))}<br>{number(need)}{of} {unit}"
            for one, need in zip(shown, needed, strict=True)
        ]
        y = [float(len(rows) + row) for row in range(len(shown))]
        plot.add_trace(_bars(name, at, y, needed, 0.8, [number(each) for each in needed], hover))
        rows += [_place(one) for one in shown]
    plot.update_layout(
        barmode="overlay",
        xaxis={"exponentformat": "none", "separatethousands": True},
        yaxis=_rows(rows),
        shapes=[] if size is None else [_across(size)],
    )
    key = [_bar_key(name, drawn_names(whatif).index(name)) for name in names]
    if size is not None:
        key.append(KeyEntry(f"size of a container: {size:,.6g} {unit}", "dash", _LOAD_LINE))
    return ReportFigure(
        title=f"{'Cores' if cores else 'Memory'} that containers need",
        description=f"{count_of(len(rows), 'container')} of {count_of(len(names), 'plan')}; the largest needs "
        f"{number(max(max(trace.x) for trace in plot.data))} {unit}.",
        plot=plot,
        key=tuple(key),
        wide=_sideways_look(1.4 * len(rows), most, rows, 190),
        narrow=_sideways_look(1.4 * len(rows), most, rows, 114),
    )


def _containers(whatif: WhatIf, name: str, resource: Resource) -> list[ContainerEstimate]:
    """The fullest containers, in order of their ids."""
    told = [
        one
        for one in whatif.estimates[name].resources.containers.values()
        if resource is Resource.CORES or one.memory_mib is not None
    ]
    fullest = sorted(told, key=lambda one: (-_needed(one, resource), one.id))[:MAX_CONTAINERS]
    return sorted(fullest, key=lambda one: one.id)


def _needed(one: ContainerEstimate, resource: Resource) -> float:
    return one.cores if resource is Resource.CORES else one.memory_mib or 0.0


def _place(one: ContainerEstimate) -> str:
    return f"container {one.id}" + (f", {one.node}" if one.node else "")


def _mean(one: OperatorEstimate) -> float:
    return float(one.instance_utilisation.mean())


def _busy_words(one: OperatorEstimate) -> str:
    busy = f"{percent(one.utilisation)} busy"
    if one.parallelism == 1:
        return f"{busy}, alone"
    return f"{busy}, on average {percent(_mean(one))} of {count_of(one.parallelism, 'instance')}"


def _over_loads(whatif: WhatIf, curves: Curves, y_title: str) -> go.Layout:
    one = len(whatif.load_per_s) == 1
    return bare_layout(y_title).update(
        hovermode="closest",
        yaxis={"ticklabelstandoff": 4},
        xaxis={
            "range": [0, *rounded([curves.end_per_s])],
            "title": {"text": "events per second" if one else _SUM, "standoff": 6},
            "exponentformat": "none",
            "separatethousands": True,
        },
    )


def _sideways(x_title: str) -> go.Layout:
    title = {"text": x_title, "standoff": 6}
    grid = {"rangemode": "tozero", "showgrid": True, "gridcolor": "#e6e6e6"}
    return bare_layout("").update(hovermode="closest", xaxis={"title": title, **grid})


def _rows(names: Sequence[str]) -> dict[str, object]:
    """Layout of rows, the first on top."""
    return {
        "range": [len(names) - 0.4, -0.6],
        "rangemode": "normal",
        "tickvals": list(range(len(names))),
        "ticktext": _labels(names, _LABEL),
        "showgrid": False,
        "ticklabelstandoff": 6,
    }


def _bars(
    name: str, at: int, y: list[float], lengths: list[float], height: float, text: list[str], hover: list[str]
) -> go.Bar:
    return go.Bar(
        x=rounded(lengths),
        y=y,
        width=0.9 * height,
        orientation="h",
        name=label(name),
        marker={"color": COLOURS[at], "line": {"width": 0}, "opacity": 0.85},
        text=[f" {each}" for each in text],
        textposition="outside",
        textangle=0,
        cliponaxis=False,
        hovertext=hover,
        hovertemplate=_HOVER,
    )


def _marks(
    name: str, points: Sequence[tuple[float, float]], symbol: str, size: int, colour: str, edge: int
) -> go.Scatter:
    x, y = zip(*points, strict=True)
    outline = {"color": INK, "width": edge}
    return marks(rounded(x), y, name, colour, symbol, size, marker_line=outline, hoverinfo="skip")


def _add_line(
    plot: go.Figure, whatif: WhatIf, curves: Curves, name: str, load_per_s: Floats, y: Floats, hover_texts: list[str]
) -> KeyEntry:
    """Add the line of a plan over the load. hover_texts: one for each point."""
    at = list(curves.plans).index(name)
    dash, look = DASHES[at % len(DASHES)]
    hover = [
        f"{label(name)}<br>{_at(whatif, load)}<br>{text}" for load, text in zip(load_per_s, hover_texts, strict=True)
    ]
    plot.add_trace(
        line(rounded(load_per_s), y, label(name), COLOURS[at], 2.2, dash, hovertext=hover, hovertemplate=_HOVER)
    )
    return KeyEntry(shortened(name), look, COLOURS[at])


def _add_marks(plot: go.Figure, whatif: WhatIf, curves: Curves, shown: dict[str, PlanCurve]) -> list[KeyEntry]:
    """Add marks at the end of each line, and at the table's values at the load."""
    colours = {name: COLOURS[at] for at, name in enumerate(curves.plans)}
    key = []
    ends = {name: curve for name, curve in shown.items() if isfinite(curve.mst_per_s)}
    if ends:
        plot.add_trace(
            marks(
                rounded([curve.mst_per_s for curve in ends.values()]),
                [curve.p95_s[-1] for curve in ends.values()],
                "saturation",
                INK,
                "x-thin",
                10,
                marker_line={"color": [colours[name] for name in ends], "width": 2.5},
                hovertext=[f"{label(name)}<br>full at {_at(whatif, curve.mst_per_s)}" for name, curve in ends.items()],
                hovertemplate=_HOVER,
            )
        )
        key.append(KeyEntry("full: beyond it the backlog grows", "cross", INK))
    told = {
        name: of.latency.p95_s
        for name in curves.plans
        if (of := whatif.estimates[name]).stable and of.latency is not None and of.latency.p95_s > 0
    }
    if told:
        here = _at(whatif, whatif.total_per_s)
        plot.add_trace(
            marks(
                rounded([whatif.total_per_s] * len(told)),
                list(told.values()),
                "in the table",
                [colours[name] for name in told],
                "circle",
                9,
                marker_line={"color": "white", "width": 1},
                hovertext=[f"{label(name)}<br>{here}<br>p95 {seconds(p95_s)}" for name, p95_s in told.items()],
                hovertemplate=_HOVER,
            )
        )
        key.append(KeyEntry("at the load, as in the table", "point", INK))
    return key


def _verticals(plot: go.Figure, whatif: WhatIf) -> list[KeyEntry]:
    """Vertical lines at the load and at the quantiles of the forecast's peak."""
    key = [KeyEntry(f"the load, {rate(whatif.total_per_s)}", "dot", _LOAD_LINE)]
    shapes: list[dict[str, object]] = []
    if whatif.peak_per_s:
        peaks = rounded(sorted(whatif.peak_per_s.values()))
        band = {"type": "rect", "x0": peaks[0], "x1": peaks[-1], "yref": "paper", "y0": 0, "y1": 1, "layer": "below"}
        shapes.append(band | {"fillcolor": _PEAK_BAND, "line": {"width": 0}})
        shapes += [_upright(peak, {"color": _PEAK_LINE, "width": 1}) | {"layer": "below"} for peak in peaks]
        words = ", ".join(
            f"{quantile_name(quantile)} {rate(peak)}" for quantile, peak in sorted(whatif.peak_per_s.items())
        )
        key.append(KeyEntry(f"forecast peak: {words}", "band", _PEAK_BAND))
    [x] = rounded([whatif.total_per_s])
    shapes.append(_upright(x, {"color": _LOAD_LINE, "width": 1.5, "dash": "dot"}))
    plot.update_layout(shapes=shapes, annotations=[note_above(x, "load")])
    return key


def _across(x: float) -> dict[str, object]:
    return _upright(x, {"color": _LOAD_LINE, "width": 1.5, "dash": "dash"})


def _upright(x: float | None, line: Mapping[str, object]) -> dict[str, object]:
    return {"type": "line", "x0": x, "x1": x, "yref": "paper", "y0": 0, "y1": 1, "line": line}


def _at(whatif: WhatIf, load_per_s: float) -> str:
    return f"{rate(load_per_s)}, {percent(load_per_s / whatif.total_per_s)} of the load"


def _in_words(whatif: WhatIf, curves: Curves) -> str:
    ends = ", ".join(f"{label(name)} is full at {rate(curve.mst_per_s)}" for name, curve in curves.plans.items())
    return f"0 to {rate(curves.end_per_s)}: {ends}; the load is {rate(whatif.total_per_s)}"


def _time_ticks(low: float, high: float) -> list[float]:
    """Round times between two powers of ten, about six at most."""
    minutes = [60.0, 120.0, 300.0, 600.0, 1200.0, 1800.0]
    hours = [3600.0 * each for each in (1, 2, 5, 10)] + [86400.0 * each * 10**p for p in range(6) for each in (1, 2, 5)]
    fine = [step * 10.0**power for power in range(-9, 1) for step in (1, 2, 5)] + [10.0, 20.0, 30.0, *minutes, *hours]
    near = [tick for tick in fine if low - 0.05 <= log10(tick) <= high + 0.05]
    return near[:: ceil(len(near) / 6)] if near else [10**low, 10**high]


def _bar_key(name: str, at: int) -> KeyEntry:
    return KeyEntry(shortened(name), "band", COLOURS[at])


def _look(height: int, left: int, ticks: int) -> dict[str, object]:
    return look(height, left, ticks, right=14, top=26, bottom=50)


def _labels(names: Sequence[str], length: int) -> list[str]:
    return [label(shortened(name, length)) for name in names]


def _sideways_look(rows: float, longest: float, names: Sequence[str], left: int) -> dict[str, object]:
    """Layout with room for the number after the longest bar."""
    narrow = left < 150
    return look(round(84 + 19 * rows), left, 4 if narrow else 9, right=18, top=8, bottom=50) | {
        "xaxis.range": [0, *rounded([(1.35 if narrow else 1.12) * longest])],
        "yaxis.tickfont.size": 11 if narrow else 13,
        "yaxis.ticktext": _labels(names, _PHONE_LABEL if narrow else _LABEL),
    }
