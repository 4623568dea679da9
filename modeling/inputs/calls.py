"""Calls to another system, of which an instance makes several at once."""

from dataclasses import dataclass

import numpy as np

from modeling.errors import ModelError

_MAX_S = 1e6


@dataclass(frozen=True)
class Calls:
    """A call per tuple, at most `concurrency` of an instance at once: asynchronous I/O, a connection pool.

    call_s: mean seconds of a call. call_cv2: its squared coefficient of variation. So an instance gets at most
    concurrency / call_s tuples a second through, while its busy time says that it is idle.
    """

    concurrency: int
    call_s: float
    call_cv2: float = 1.0

    def __post_init__(self) -> None:
        if self.concurrency < 1:
            raise ModelError(f"calls with a concurrency of {self.concurrency}; give at least 1")
        for name, value in (("call_s", self.call_s), ("call_cv2", self.call_cv2)):
            if not (np.isfinite(value) and 0 <= value <= _MAX_S):
                raise ModelError(f"calls with {name} {value}; give a finite number, not below 0, at most {_MAX_S:g}")

    @property
    def least_s(self) -> float:
        """Minimum seconds of an instance's time per tuple: with one tuple per least_s all its calls are in use.

        >>> Calls(10, 0.1).least_s
        0.01
        """
        return self.call_s / self.concurrency

    def beside_s(self, service_s: float) -> float:
        """Seconds that a tuple spends here beyond a queue with one server that takes max(service_s, least_s).

        Several servers are about one that is as much faster, and a delay (Seidmann et al. 1987): exact in total for a
        tuple that meets nobody, and in the limit of a full queue.

        >>> round(Calls(10, 0.1).beside_s(0.001), 6)  # 1 ms and a call, of which 10 ms are in the queue
        0.091
        """
        return service_s + self.call_s - max(service_s, self.least_s)
