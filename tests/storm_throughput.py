"""What a Storm topology processes, as its UI tells it second by second."""

import time
from collections.abc import Sequence

import numpy as np

from engines.storm.answers import ComponentPage
from engines.storm.ui import StormPages
from modeling.arrays import Floats
from planner.errors import ClusterError


def measured_rates(
    url: str, topology: str, bolts: Sequence[str], span_s: float
) -> tuple[dict[str, float], dict[str, float]]:
    """Tuples a second that each bolt executed, and the utilisation of its busiest executor.

    Slopes over readings: one reading is as old as the last heartbeat, and two of them would tell the rate no better
    than to that.
    """
    ui = StormPages(url, ClusterError, window=":all-time", part=f"topology {topology}", timeout_s=120.0)
    id = ui.topology_id(topology)
    at_s: list[float] = []
    executed: dict[str, list[Floats]] = {name: [] for name in bolts}
    end = time.monotonic() + span_s
    while time.monotonic() < end:
        pages = {name: ui.component(id, name) for name in bolts}
        at_s.append(time.monotonic())
        for name, page in pages.items():
            executed[name].append(_by_task(page, [each.executed for each in page.executors]))
        time.sleep(1.0)
    rates = {name: np.polyfit(at_s, np.stack(counts), 1)[0] for name, counts in executed.items()}
    latency_s = {
        name: _by_task(page, [each.latency_ms / 1000 for each in page.executors]) for name, page in pages.items()
    }
    return (
        {name: float(each.sum()) for name, each in rates.items()},
        {name: float((rates[name] * latency_s[name]).max()) for name in bolts},
    )


def _by_task(page: ComponentPage, values: Sequence[float]) -> Floats:
    return np.asarray(values)[np.argsort([each.first_task for each in page.executors])]
