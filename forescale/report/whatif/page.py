"""Evaluated plans as one self-contained page: which carry the load, and what limits the others."""

from math import ceil, isfinite, isnan

from forescale.report.kit.figure import ReportFigure
from forescale.report.kit.page import rendered
from forescale.report.kit.stands_on import placeholder_warning, stands_on_lines
from forescale.report.kit.table import Cell, Column, Table
from forescale.report.kit.wording import duration, number, percent, shortened
from forescale.report.whatif.figure import (
    MAX_CONTAINERS,
    containers_figure,
    latency_figure,
    shown_operators,
    throughput_figure,
    utilisation_figure,
)
from forescale.report.whatif.numbers import Curves, curves, drawn_names, largest_difference
from forescale.report.whatif.whatif import WhatIf
from forescale.report.whatif.words import headline, headroom, seconds, sentences
from modeling.estimate import Estimate
from modeling.flow.resources import Resource
from modeling.wording import count_of


def render_whatif_page(whatif: WhatIf) -> str:
    """The whole page. The same plans under the same load give the same text."""
    found = curves(whatif) if whatif.total_per_s > 0 else None
    over_loads = [] if found is None else _known(latency_figure(whatif, found), throughput_figure(whatif, found))
    operators = [utilisation_figure(whatif)]
    containers = _known(*(containers_figure(whatif, resource) for resource in (Resource.CORES, Resource.MEMORY)))
    packed = [len(each.resources.containers) for each in whatif.estimates.values()]
    return rendered(
        "whatif.html.j2",
        "drawing.js report.js",
        [*over_loads, *operators, *containers],
        topology=shortened(whatif.topology.name, 200),
        headline=headline(whatif),
        sentences=sentences(whatif),
        placeholder=placeholder_warning(whatif.stands_on, whatif.topology.name),
        stands_on=stands_on_lines(whatif.stands_on, None),
        plans=_plans_table(whatif),
        over_loads=over_loads,
        how="" if found is None else _curves_note(whatif, found),
        operators=operators,
        operators_left_out=_left_out(len(whatif.topology.order) - len(shown_operators(whatif)), "less busy operator"),
        containers=containers,
        max_containers=MAX_CONTAINERS if max(packed) > MAX_CONTAINERS else 0,
        plans_left_out=_left_out(len(whatif.estimates) - len(drawn_names(whatif)), "plan"),
    )


def _known(*figures: ReportFigure | None) -> list[ReportFigure]:
    return [figure for figure in figures if figure is not None]


def _curves_note(whatif: WhatIf, curves: Curves) -> str:
    mix = ", in the same mix of sources" if len(whatif.load_per_s) > 1 else ""
    off = largest_difference(whatif, curves)
    agreement = "" if off is None else f" They agree within {_rounded_up(off)} at this load."
    return (
        f"Curves over the load{mix} use a fast approximation (three moments); dots are the table's exact values."
        f"{agreement}"
    )


def _rounded_up(share: float) -> str:
    return f"{max(1, ceil(100 * share - 1e-9))}\N{NO-BREAK SPACE}%"


def _left_out(count: int, noun: str) -> str:
    return count_of(count, noun) if count > 0 else ""


def _plans_table(whatif: WhatIf) -> Table:
    """One row per plan, in the given order; empty columns are left out."""
    of = whatif.estimates
    targets = list(dict.fromkeys(target for each in whatif.violation.values() for target in each))
    changes = {name: each.rescale for name, each in of.items() if each.rescale is not None}
    columns: list[tuple[str, dict[str, str]]] = [
        ("instances", {name: f"{whatif.plans[name].instances:,}" for name in of}),
        ("headroom", {name: headroom(each) for name, each in of.items()}),
        ("bottleneck", {name: str(each.bottleneck) for name, each in of.items() if isfinite(each.headroom_factor)}),
        ("busiest", {name: percent(each.utilisation) for name, each in of.items()}),
        *(
            (quantile, {name: _quantile(each, quantile) for name, each in of.items()})
            for quantile in ("p50", "p95", "p99")
        ),
        ("cores", {name: number(each.resources.total_cores) for name, each in of.items()}),
        ("memory", {name: _memory(each) for name, each in of.items()}),
        ("down", {name: duration(change.downtime_s) for name, change in changes.items()}),
        ("recovery", {name: duration(change.recovery_s) for name, change in changes.items()}),
        *(
            (f"misses {shortened(target)}", {name: _probability(whatif, name, target) for name in of})
            for target in targets
        ),
    ]
    filled = [(title, cells) for title, cells in columns if any(cells.values())]
    rows = tuple(
        (
            Cell(shortened(name, 80), notes=() if each.stable else ("does not carry the load",), strong=True),
            *(Cell(shortened(cells.get(name, ""), 60) or "–") for _, cells in filled),
        )
        for name, each in of.items()
    )
    titles = (Column(title, numeric=title != "bottleneck") for title, _ in filled)
    return Table((Column("plan"), *titles), rows)


def _quantile(estimate: Estimate, quantile: str) -> str:
    return "" if estimate.latency is None else seconds(getattr(estimate.latency, f"{quantile}_s"))


def _memory(estimate: Estimate) -> str:
    needed = estimate.resources.total_memory_mib
    return "" if needed is None else f"{number(needed)}\N{NO-BREAK SPACE}MiB"


def _probability(whatif: WhatIf, name: str, target: str) -> str:
    share = whatif.violation.get(name, {}).get(target, float("nan"))
    return "" if isnan(share) else percent(share)
