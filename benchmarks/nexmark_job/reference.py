"""A query on one more task manager, always full: how much work a second of CPU does just now.

On a shared machine that changes from span to span, and what runs at the same moment meets the same conditions (Bulej et
al.: Duet Benchmarking, ICPE 2020).
"""

import threading
from dataclasses import dataclass, field

import numpy as np
from bench import Query
from quotas import Quotas

EVERY_S = 2.0


@dataclass
class Reference:
    """Of a query that runs at full load within its quota from the first moment on."""

    query: Query
    held: Quotas
    _turns: list[tuple[float, float]] = field(default_factory=list)
    """When each span began, on the monotonic clock, and events that it took in per CPU second."""
    _ended: threading.Event = field(default_factory=threading.Event)

    def __post_init__(self) -> None:
        self._thread = threading.Thread(target=self._watch, daemon=True)

    def begin(self) -> None:
        self.query.fill()
        self._thread.start()

    def mean_since(self, began_s: float) -> float:
        """Events per CPU second in the spans that began since then (of time.monotonic()), or in the last one."""
        turns = [*self._turns]
        return float(np.mean([speed for at_s, speed in turns if at_s >= began_s] or [turns[-1][1]]))

    def _watch(self) -> None:
        while not self._ended.is_set():
            began = self.held.begun()
            taken_per_s = self.query.taken_per_s(EVERY_S)
            self._turns.append((began[0], taken_per_s / sum(self.held.since(began).cores)))

    def end(self) -> None:
        self._ended.set()
        self._thread.join()
        self.query.stop()
