"""The picture of a race: load, what the running plans can process, and lag, on the engine."""

from collections.abc import Mapping
from datetime import UTC, datetime, timedelta

import numpy as np
import plotly.graph_objects as go
from outcome import Raced

from forescale.report.kit.figure import ARRIVED, CAPACITY, FORECAST, KeyEntry, ReportFigure, base_layout, plotly_times
from forescale.report.kit.still import still_picture
from forescale.report.kit.traces import line
from modeling.arrays import Floats
from planner.replay.load import MINUTE_S

DRAWN = {"planner": ("forescale", CAPACITY), "flink-autoscaler": ("Flink's autoscaler", FORECAST)}
"""Policies that the picture compares, with their names and colours."""


def corners(start_s: Floats, values: Floats) -> tuple[list[str], Floats]:
    """Times and values without those that lie between two like them.

    >>> corners(np.arange(4) * 60.0, np.array([1.0, 1.0, 1.0, 2.0]))[1].tolist()
    [1.0, 1.0, 2.0]
    """
    like_before = np.append(False, values[1:] == values[:-1])
    kept = ~(like_before & np.append(like_before[1:], False))
    return plotly_times([datetime.fromtimestamp(at, UTC) for at in start_s[kept].tolist()]), values[kept]


def race_picture(done: Mapping[str, Raced], speed: float) -> str:
    """As SVG, of the policies in DRAWN; times are the trace's, rates and lags the race's. speed: seconds of the trace
    in one of the race.
    """
    drawn = {name: done[name].minutes for name in DRAWN if name in done}
    first = next(iter(drawn.values()))
    start = datetime.fromtimestamp(float(first.start_s[0]), UTC)
    end = start + timedelta(seconds=MINUTE_S * first.start_s.size)
    above, below = (go.Figure(layout=base_layout(start, end, "")) for _ in range(2))
    above.add_trace(line(*corners(first.start_s, speed * first.arrivals_per_s), "load", ARRIVED, 1.5))
    for policy, minutes in drawn.items():
        name, colour = DRAWN[policy]
        carried = corners(minutes.start_s, speed * minutes.capacity_per_s)
        above.add_trace(line(*carried, name, colour, 2, line_shape="hv"))
        below.add_trace(line(*corners(minutes.start_s, minutes.lag_s / speed), name, colour, 1.5))
    key = [KeyEntry("load", "line", ARRIVED)]
    key += [KeyEntry(f"capacity with {DRAWN[policy][0]}", "line", DRAWN[policy][1]) for policy in drawn]
    title = (
        f"{start:%A %-d %B %Y}, UTC, {speed:g} times as fast: load, and what the running plan can process, per second"
    )
    names = " and ".join(DRAWN[policy][0] for policy in drawn)
    figures = [
        ReportFigure(title, f"Load and capacity on one raced day, with {names}.", above, tuple(key), {}, {}),
        ReportFigure("Lag, seconds", f"Lag in seconds of the race, with {names}.", below, (), {}, {}),
    ]
    return still_picture(figures)
