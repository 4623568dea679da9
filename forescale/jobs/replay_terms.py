"""The terms of a replay: what its scores depend on beside topology, span and target; stored with its answer."""

import math
from collections.abc import Sequence
from dataclasses import MISSING, dataclass, fields

from forescale.files.shown import shown
from forescale.plain_numbers import is_plain
from modeling.rescaling.checkpoints import Checkpoints
from planner.errors import PlanError
from planner.horizon.prices import HOURLY_S
from planner.replay.reality import Differences

BOUNDS = {
    "error": (0.0, math.inf),
    "noise": (0.0, math.inf),
    "failures_every_s": (600.0, math.inf),
    "slow_every_s": (600.0, math.inf),
    "key_drift": (0.0, 1.0),
}


@dataclass(frozen=True)
class Deviations:
    """How reality differs from the profiles; by default not at all.

    error, noise: standard deviations of logarithms, of true over assumed service times, and of observed utilisation.
    failures_every_s, slow_every_s: mean seconds between failures of the job, and between spans in which an instance is
    slow; None for never. key_drift: share of the key weights that is redrawn each day.
    """

    error: float = 0.0
    noise: float = 0.0
    failures_every_s: float | None = None
    slow_every_s: float | None = None
    key_drift: float = 0.0

    @classmethod
    def typed(cls, texts: Sequence[str]) -> "Deviations":
        """As people type them, `error=.1`. Raises PlanError naming the text and the remedy."""
        names, values = [each.name for each in fields(cls)], dict[str, float]()
        for text in texts:
            name, _, number = text.partition("=")
            if name not in names or name in values:
                raise PlanError(f"--deviation {shown(text)}: give NAME=VALUE, each of {', '.join(names)} at most once")
            try:
                values[name] = float(number) if is_plain(number) else math.nan
            except ValueError:
                values[name] = math.nan
        return cls(**values)

    def differences(self) -> Differences:
        """Raises PlanError naming the deviation."""
        for name, (minimum, maximum) in BOUNDS.items():
            value = getattr(self, name)
            if value is not None and not (math.isfinite(value) and minimum <= value <= maximum):
                bound = f"at least {minimum:g}" if maximum == math.inf else f"between {minimum:g} and {maximum:g}"
                raise PlanError(f"--deviation {name}={value:g}; give a finite number of {bound}")
        return Differences(
            service_error=self.error,
            metric_noise=self.noise,
            failure_every_s=self.failures_every_s or math.inf,
            slow_every_s=self.slow_every_s or math.inf,
            key_drift=self.key_drift,
        )


@dataclass(frozen=True)
class ReplayTerms:
    """lead_s, downtime_s: of a rescale, without state restore; restore_s_per_gib, state_gib, restored,
    parallel_restore: state restore. checkpoints: None without any. deviations, seeds: of reality. scale: factor on all
    arrivals. allow: share of the minutes that may be in violation. arrivals: digest of the arrivals in the span.
    profiles: digest of the assumed profiles and the topology. Fields with a default are missing in answers of older
    versions, which had only that value: forecast_every_s, from one forecast to the next; prices, digest of the prices
    of plans, empty if only instances count; started_h, moved_gib_h: price of disruption, as in DisruptionPrices.
    """

    lead_s: float
    downtime_s: float
    restore_s_per_gib: float
    state_gib: float
    restored: str
    checkpoints: Checkpoints | None
    deviations: Deviations
    seeds: int
    scale: float
    allow: float
    arrivals: str
    profiles: str
    parallel_restore: bool = False
    forecast_every_s: int = HOURLY_S
    prices: str = ""
    started_h: float = 0.0
    moved_gib_h: float = 0.0


DEFAULTS = {each.name: each.default for each in fields(ReplayTerms) if each.default is not MISSING}
"""By name, the value with which answers that lack the field were made."""
