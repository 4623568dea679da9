"""How much work a second of CPU does: on a shared host a core may lose half its speed, and no counter here shows it."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field

import numpy as np

EVERY_S = 0.05
ROUNDS = 40
_BID = {"auction": 1000, "bidder": 2001, "price": 90_210, "url": "https://www.nexmark.com/a/b/item.htm", "ts": 1.5e9}


@dataclass
class Pace:
    """The same little work again and again, of which every turn says how fast it was."""

    _turns: list[tuple[float, float]] = field(default_factory=list)
    """When it was, on the monotonic clock, and rounds per CPU second."""
    _ended: threading.Event = field(default_factory=threading.Event)

    def mean_since(self, began_s: float) -> float:
        """Rounds per CPU second, since a moment of time.monotonic()."""
        return float(np.mean([speed for at_s, speed in [*self._turns] if at_s >= began_s]))

    def work(self) -> None:
        while not self._ended.wait(EVERY_S):
            began_s = time.thread_time()
            for _ in range(ROUNDS):
                json.loads(json.dumps(_BID))
            self._turns.append((time.monotonic(), ROUNDS / (time.thread_time() - began_s)))

    def end(self) -> None:
        self._ended.set()


@contextmanager
def pace() -> Iterator[Pace]:
    measured = Pace()
    thread = threading.Thread(target=measured.work, daemon=True)
    thread.start()
    try:
        yield measured
    finally:
        measured.end()
        thread.join()
