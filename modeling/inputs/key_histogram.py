"""How the tuples of a keyed stream are spread over its keys."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from modeling.errors import ModelError


@dataclass(frozen=True)
class KeyHistogram:
    """Shares of the tuples per key of a fields-grouped stream.

    shares: per key (its text, as the engine hashes it), heaviest keys at least. What the shares lack to 1 is the
    residual: many light keys, taken as spread evenly. hashes: per key, where only the engine can tell it (Heron): the
    sum of the hashes of its fields.
    """

    shares: Mapping[str, float]
    hashes: Mapping[str, int] = field(default_factory=dict)

    def __post_init__(self) -> None:
        for key, share in self.shares.items():
            if not 0 <= share <= 1:
                raise ModelError(f"key histogram: share {share} of key {key!r} is not between 0 and 1")
        if self.total > 1 + 1e-9:
            raise ModelError(f"key histogram: shares add up to {self.total:.6f} > 1; they are shares of one stream")

    @property
    def total(self) -> float:
        return float(sum(self.shares.values()))
