"""Operators whose output depends on time and keys rather than on their input: windows and windowed joins.

A window emits one tuple per key that occurs in it, however often. So output hardly grows with load once every key
occurs in every window, and state grows with keys (aggregates) or with tuples (joins). Arrivals of each key are assumed
Poisson and independent: with bursts, a key occurs in fewer windows.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

import numpy as np
import numpy.typing as npt

from modeling.arrays import Floats
from modeling.errors import ModelError
from modeling.inputs.key_histogram import KeyHistogram


class WindowKind(StrEnum):
    """TUMBLING: consecutive windows. SLIDING: one starts every slide_s. SESSION: ended by window_s of silence. JOIN:
    every pair of tuples of two inputs with the same key in the same tumbling window.
    """

    TUMBLING = "tumbling"
    SLIDING = "sliding"
    SESSION = "session"
    JOIN = "join"


@dataclass(frozen=True)
class WindowedOutput:
    """window_s: length of a window (of the silence that ends a session). slide_s: between starts, for SLIDING.
    distinct_keys: total number of keys. keys: shares of heavy keys, None if all are equal; the other keys share the
    remainder evenly. Raises ModelError for invalid lengths and numbers.
    """

    kind: WindowKind
    window_s: float
    distinct_keys: int
    slide_s: float | None = None
    keys: KeyHistogram | None = None

    def __post_init__(self) -> None:
        if not (np.isfinite(self.window_s) and self.window_s > 0):
            raise ModelError(f"window of {self.window_s} s; give a finite number of seconds above 0")
        if self.distinct_keys < 1:
            raise ModelError(f"{self.distinct_keys} distinct keys; give at least 1")
        if (self.kind is WindowKind.SLIDING) != (self.slide_s is not None):
            raise ModelError(f"slide_s {self.slide_s} of a {self.kind} window; sliding windows have one, others none")
        if self.slide_s is not None and not (np.isfinite(self.slide_s) and 0 < self.slide_s <= self.window_s):
            raise ModelError(
                f"slide of {self.slide_s} s; give a number above 0 and at most the window of {self.window_s} s"
            )
        if self.keys is not None and len(self.keys.shares) > self.distinct_keys:
            raise ModelError(
                f"{len(self.keys.shares)} heavy keys of {self.distinct_keys} distinct ones; correct one of them"
            )

    @property
    def fires_every_s(self) -> float | None:
        """Seconds between firings of all keys at once; None for sessions, which end individually."""
        return None if self.kind is WindowKind.SESSION else self.slide_s or self.window_s

    def given_per_s(self, entering_per_s: Mapping[str, npt.ArrayLike]) -> Floats:
        """Long-run output in tuples per second for the input rates by stream; all of one shape.

        >>> minute = WindowedOutput(WindowKind.TUMBLING, 60.0, 100)
        >>> round(float(minute.given_per_s({"in": 1000.0})), 4)  # every key in every minute: 100 / 60
        1.6667
        """
        shares, counts = self._shares
        if self.kind is WindowKind.JOIN:
            if len(entering_per_s) != 2:
                raise ModelError(f"a windowed join of {len(entering_per_s)} inputs; it has two")
            left, right = map(np.asarray, entering_per_s.values())
            # Pairs in a window: (left x share x window) x (right x share x window) per key, once per window.
            return np.asarray((counts * shares**2).sum() * left * right * self.window_s)
        with np.errstate(under="ignore"):
            per_key = shares * np.sum([np.asarray(each) for each in entering_per_s.values()], axis=0)[..., None]
            if self.kind is WindowKind.SESSION:
                # A tuple is the last of its session if no tuple of its key follows within the gap.
                return np.asarray((per_key * np.exp(-per_key * self.window_s)) @ counts)
            return np.asarray(-np.expm1(-per_key * self.window_s) @ counts / (self.slide_s or self.window_s))

    @cached_property
    def _shares(self) -> tuple[Floats, Floats]:
        """Distinct shares of the stream, and the number of keys with each."""
        heavy = np.array(list(self.keys.shares.values()) if self.keys else [], dtype=np.float64)
        light = self.distinct_keys - heavy.size
        rest = max(0.0, 1 - float(heavy.sum()))
        if light == 0:
            return heavy, np.ones(heavy.size)
        return np.append(heavy, rest / light), np.append(np.ones(heavy.size), float(light))
