"""Calls to another system, of which an instance makes several at once."""

from dataclasses import dataclass

import numpy as np

from modeling.arrays import Floats
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

    def beside_variance_s2(self, service_s: float, service_cv2: float) -> float:
        """Variance of that time: in total a tuple varies like its own work and its call."""
        whole = service_cv2 * service_s**2 + self.call_cv2 * self.call_s**2
        queued_cv2 = self.call_cv2 if self.bound(service_s) else service_cv2
        return max(0.0, whole - queued_cv2 * max(service_s, self.least_s) ** 2)

    def bound(self, service_s: float) -> bool:
        """Whether calls bound what gets through, and not the instance's own work."""
        return self.least_s > service_s

    def besides(self, service_s: float) -> float:
        """How many calls begin beside a tuple's own without waiting for it: all others, unless own work takes turns.

        >>> Calls(10, 0.1).besides(0.0), Calls(10, 0.1).besides(0.02)
        (9.0, 0.0)
        """
        return (self.concurrency - 1) * (1 - service_s / self.least_s) if self.bound(service_s) else 0.0

    def waiting_share(self, service_s: float, utilisation: Floats, batch: Floats | float = 1.0) -> Floats:
        """Share of those who would wait for the one server of beside_s that wait for a call to be free: an arrival
        often finds one free although others are in use.

        Sakasegawa's (1977) form of Erlang's C; the longer the own work, the more it is that for which tuples wait. For
        batches of tuples it is as with one call for each batch: with means of M^X/M/c within 8 %.

        >>> ten = Calls(10, 0.1)  # Erlang's C of 10 servers at .8 is .409
        >>> round(0.8 * float(ten.waiting_share(0.0, np.array(0.8))), 2), float(Calls(1, 0.1).waiting_share(0, 0.8))
        (0.44, 1.0)
        """
        if not self.bound(service_s):
            return np.ones_like(utilisation)
        own = service_s / self.least_s
        exponent = np.maximum((2 * (self.concurrency / np.maximum(batch, 1.0) + 1)) ** 0.5 - 2, 0.0)
        return np.asarray(own + (1 - own) * np.minimum(utilisation, 1.0) ** exponent)

    def lost_share(self, service_s: float) -> float:
        """Share of the throughput lost because an instance whose calls are all in use cannot begin the next tuple, and
        later has no tuple ready for a free call; own work and calls exponential.

        >>> one = Calls(1, 0.1)  # 50 ms of work: a tuple each max(work, call), .1167 s instead of .1 s
        >>> round(one.lost_share(0.05), 4)
        0.1429
        """
        if service_s == 0 or self.call_s == 0:
            return 0.0
        offered = self.call_s / service_s
        with np.errstate(over="ignore"):
            # 1 / B of Erlang's loss formula: 1 + c/a + c(c − 1)/a² + …
            seldom = 1 + np.cumprod((self.concurrency - np.arange(self.concurrency)) / offered).sum()
        blocked = offered / self.concurrency / seldom
        held = blocked / (1 + blocked)
        return max(0.0, 1 - float(1 - held) * max(service_s, self.least_s) / service_s)
