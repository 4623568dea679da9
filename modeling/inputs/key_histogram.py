"""The distribution of a keyed stream's tuples over its keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum
from functools import cached_property
from math import ceil

from modeling.errors import ModelError

_ROUNDING = 1e-6
"""Rounding error of the sum of shares, which were written with six digits."""


class KeyType(StrEnum):
    """Java type of a key, which decides its hashCode and so its instance. OTHER: tuples, POJOs, rows of SQL."""

    STRING = "string"
    LONG = "long"
    INTEGER = "integer"
    OTHER = "other"


INTEGER_BOUNDS = {KeyType.INTEGER: 2**31, KeyType.LONG: 2**63}
"""Bound of the absolute value of a key of that type."""


@dataclass(frozen=True)
class KeyHistogram:
    """Share of the tuples per key of a fields-grouped stream.

    shares: per key, as text, at least of the heaviest keys. The remainder to 1 is the residual, of unnamed light keys.
    hashes: per key, where they are known: Java's hashCode of the key (Flink, Storm), or the sum of the hashes of its
    fields (Heron). distinct_keys: total number of keys, named or not; None if unknown. key_type: None if undeclared:
    keys are then taken for strings, unless all of them are numbers. measured_at: number of instances whose measured
    shares the keys explain; they are then no keys of the data, and all others fall evenly. None: the data's keys.
    """

    shares: Mapping[str, float]
    hashes: Mapping[str, int] = field(default_factory=dict)
    distinct_keys: int | None = None
    key_type: KeyType | None = None
    measured_at: int | None = None

    def __post_init__(self) -> None:
        for key, share in self.shares.items():
            if not 0 <= share <= 1:
                raise ModelError(f"key histogram: share {share} of key {key!r} is not between 0 and 1")
        if self.total > 1 + 1e-9:
            raise ModelError(f"key histogram: shares add up to {self.total:.6f} > 1; they are shares of one stream")
        if self.distinct_keys is not None and self.distinct_keys < max(1, len(self.shares)):
            raise ModelError(
                f"key histogram: distinct_keys {self.distinct_keys} of {len(self.shares)} named keys; give how many "
                "there are in all, at least 1"
            )
        if (bound := INTEGER_BOUNDS.get(self.key_type or KeyType.OTHER)) is not None:
            for key in self.shares:
                if not _is_integer(key) or not -bound <= int(key) < bound:
                    raise ModelError(f"key histogram: key {key!r} is no {self.key_type}; correct it, or its key_type")

    def __hash__(self) -> int:
        return self._hash

    @cached_property
    def _hash(self) -> int:
        return hash((frozenset(self.shares.items()), self.distinct_keys, self.key_type, self.measured_at))

    @cached_property
    def total(self) -> float:
        return float(sum(self.shares.values()))

    @property
    def heaviest(self) -> float:
        """Share of the heaviest named key; 0 without one."""
        return max(self.shares.values(), default=0.0)

    @property
    def residual(self) -> float:
        return max(0.0, 1 - self.total)

    @property
    def whole(self) -> bool:
        """Whether every key is named, up to rounding."""
        return self.residual <= _ROUNDING or self.distinct_keys == len(self.shares)

    @cached_property
    def hashed_as(self) -> KeyType:
        """The type that keys are hashed as; OTHER if it cannot be told: numbers are often longs, as often strings."""
        if self.key_type is not None:
            return self.key_type
        return KeyType.OTHER if self.shares and all(map(_is_integer, self.shares)) else KeyType.STRING

    @property
    def light_keys(self) -> int | None:
        """Minimum number of keys in the residual: if unknown, assuming that none is heavier than the lightest named
        one. None if no key is named either, or if the keys explain measured shares: light ones then fall evenly.

        >>> KeyHistogram({"a": 0.5, "b": 0.1}).light_keys  # of 0.1 each
        4
        """
        if self.measured_at is not None:
            return None
        if self.distinct_keys is not None:
            return self.distinct_keys - len(self.shares)
        lightest = min((share for share in self.shares.values() if share > 0), default=0.0)
        return ceil(self.residual / lightest - 1e-9) if lightest > 0 else None


def _is_integer(key: str) -> bool:
    digits = key.removeprefix("-")
    return digits.isascii() and digits.isdecimal() and len(digits) < 20
