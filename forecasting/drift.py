"""Detects forecasts that have become worse than their backtest promised: an alarm per horizon, with a reason.

Two tests on the newest non-overlapping windows: did more peaks exceed the p95 than chance explains, and is the loss far
above the backtest's in more windows than chance explains? Both are exact for independent windows, whatever the loads
look like, and a few windows never decide either. A third looks at windows known in part, which have no peak: did what
is known to have come exceed the p99 already?
"""

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np
import scipy

from forecasting.arrays import Floats, Ints
from forecasting.forecast import BacktestScore, Forecast
from forecasting.models.time_grid import DAY_S
from forecasting.peaks import exceeds
from forecasting.scoring import COVERAGE_QUANTILE, loss_ratio
from forecasting.selection import DEPLOYED
from forecasting.track_record import TrackRecord, in_order
from forecasting.track_scores import (
    TrackScore,
    apart_windows,
    completed_windows,
    losses_per_s,
    p95_per_s,
    quantile_per_s,
    track_scores,
)

LEVEL = 0.001
"""Probability of a false alarm per test and check. A hundred sources with four horizons make 800 tests a check, of
which about one is wrong at this level: few enough for a person to look into."""
MAX_WINDOWS = 60
"""Number of newest windows tested: enough to detect a p95 that holds only four times in five, and few enough that an
error of months ago, or a p95 that always held only 93 %, does not alarm for ever."""
BOUND_QUANTILE = 0.99
BOUND_LEVEL = 0.05
"""Probability of a false alarm by windows known in part. One such span above the p99 is enough: what came was more than
is known, and no other test sees these windows."""
LOSS_FACTOR = 2.0
"""Multiple of the backtest's loss above which a window counts against the forecast. At most half of all losses exceed
twice their mean (Markov's inequality), so the test assumes one half, whatever the distribution."""
MIN_SPAN_S = DAY_S
"""Minimum span of the tested windows before losses are compared: busy hours alone cost more than the backtest's mean
over day and night."""


@dataclass(frozen=True)
class ForecastDrift:
    """Forecast quality at one horizon compared with its backtest.

    reason: of the alarm, with numbers, or why there is none. coverage: share of completed windows whose peak stayed at
    or below the p95. ratio_to_naive: their loss over the better seasonal naive's. loss_ratio_to_backtest: their loss
    over the backtest's. completed: number of completed windows. NaN if unknown.
    """

    horizon_s: int
    alarmed: bool
    reason: str
    coverage: float
    ratio_to_naive: float
    loss_ratio_to_backtest: float
    completed: int


def drifts(record: TrackRecord, backtest_per_s: Floats) -> tuple[ForecastDrift, ...]:
    """The state of each horizon of the record.

    backtest_per_s: the loss in each forecast's backtest, shape (forecasts, horizons), NaN if not scored; from
    backtest_losses_per_s.
    """
    scores = track_scores(record)
    return tuple(_drift(record, horizon, score, backtest_per_s[:, horizon]) for horizon, score in enumerate(scores))


def backtest_losses_per_s(forecasts: Sequence[Forecast], horizons_s: Sequence[int]) -> Floats:
    """The deployed model's loss in each forecast's backtest; rows in the order of a track record."""
    losses = np.full((len(forecasts), len(horizons_s)), np.nan)
    for row, forecast in enumerate(in_order(forecasts)):
        for column, horizon_s in enumerate(horizons_s):
            score = deployed_score(forecast, horizon_s)
            if score is not None:
                losses[row, column] = score.pinball_per_s
    return losses


def deployed_score(forecast: Forecast, horizon_s: int) -> BacktestScore | None:
    """Score of the whole procedure or, if it was refused and one forecaster replaced it, of that one. None without a
    score.
    """
    scores = {score.forecaster: score for score in forecast.scores if score.horizon_s == horizon_s}
    together, alone = scores.get(DEPLOYED), scores.get(forecast.forecaster.get(horizon_s, ""))
    return together if together and (together.allowed or alone is None) else alone


def horizons_to_demote(judged: Sequence[ForecastDrift]) -> dict[int, str]:
    """Horizons at which the naive forecaster must take over, with reasons: those with an alarm where a seasonal naive
    was better.

    A load that leaves its usual pattern is handled by `forecasting.surprise` within the hour.
    """
    return {drift.horizon_s: drift.reason for drift in judged if drift.alarmed and drift.ratio_to_naive > 1}


def _drift(record: TrackRecord, horizon: int, score: TrackScore, backtest_per_s: Floats) -> ForecastDrift:
    losses = losses_per_s(record, horizon)
    compared = np.flatnonzero(np.isfinite(losses) & np.isfinite(backtest_per_s))
    ratio = (
        loss_ratio(float(losses[compared].mean()), float(backtest_per_s[compared].mean()))
        if compared.size
        else float("nan")
    )
    completed = np.flatnonzero(completed_windows(record, horizon))
    uncovered = _uncovered(record, horizon, _tested(record, horizon, completed))
    loss_alarm = _loss_alarm(record, horizon, losses, backtest_per_s, _tested(record, horizon, compared))
    reasons = "; ".join(filter(None, (uncovered, loss_alarm, _bound_alarm(record, horizon))))
    reason = reasons or ("no worse than chance explains" if completed.size else "no span is over and known yet")
    return ForecastDrift(
        score.horizon_s, bool(reasons), reason, score.coverage, score.ratio_to_naive, ratio, int(completed.size)
    )


def _tested(record: TrackRecord, horizon: int, rows: Ints) -> Ints:
    return apart_windows(record.issued, rows, record.horizons_s[horizon])[-MAX_WINDOWS:]


def _uncovered(record: TrackRecord, horizon: int, rows: Ints) -> str:
    """One-sided binomial test of how many peaks exceeded the p95."""
    exceeded = int(exceeds(record.actual_per_s[rows, horizon], p95_per_s(record, horizon)[rows]).sum())
    chance = float(scipy.special.bdtrc(exceeded - 1, rows.size, 1 - COVERAGE_QUANTILE))
    if not rows.size or chance >= LEVEL:
        return ""
    due = (1 - COVERAGE_QUANTILE) * rows.size
    return (
        f"the p95 was exceeded in {exceeded} of the last {rows.size} separate spans, {due:.2g} were due "
        f"(chance {_chance(chance)}, alarm below {LEVEL:g})"
    )


def _bound_alarm(record: TrackRecord, horizon: int) -> str:
    """One-sided binomial test of how many spans without a known peak exceeded the p99 by what is known of them."""
    if record.least_per_s is None:
        return ""
    least_per_s, p99_per_s = record.least_per_s[:, horizon], quantile_per_s(record, horizon, BOUND_QUANTILE)
    unknown = np.isnan(record.actual_per_s[:, horizon]) & np.isfinite(least_per_s) & np.isfinite(p99_per_s)
    rows = _tested(record, horizon, np.flatnonzero(unknown))
    above = rows[exceeds(least_per_s[rows], p99_per_s[rows])]
    if not above.size or float(scipy.special.bdtrc(above.size - 1, rows.size, 1 - BOUND_QUANTILE)) >= BOUND_LEVEL:
        return ""
    worst = above[np.argmax(least_per_s[above] / np.maximum(p99_per_s[above], 1e-12))]
    return (
        f"at least {least_per_s[worst]:.3g}/s came where the p99 was {p99_per_s[worst]:.3g}/s, in windows that are "
        f"known in part ({above.size} of the last {rows.size} such spans): the forecast does not see them"
    )


def _loss_alarm(record: TrackRecord, horizon: int, losses: Floats, backtest_per_s: Floats, rows: Ints) -> str:
    """Sign test of how many windows cost more than LOSS_FACTOR times the backtest's loss."""
    if not rows.size:
        return ""
    span_s = (record.issued[rows[-1]] - record.issued[rows[0]]).total_seconds() + record.horizons_s[horizon]
    above = int((losses[rows] > LOSS_FACTOR * backtest_per_s[rows]).sum())
    chance = float(scipy.special.bdtrc(above - 1, rows.size, 1 / LOSS_FACTOR))
    if chance >= LEVEL or span_s < MIN_SPAN_S:
        return ""
    ratio = loss_ratio(float(losses[rows].mean()), float(backtest_per_s[rows].mean()))
    return (
        f"{above} of the last {rows.size} separate spans cost more than {LOSS_FACTOR:g} times the backtest's loss, "
        f"{ratio:.3g} times in the mean (chance {_chance(chance)}, alarm below {LEVEL:g})"
    )


def _chance(chance: float) -> str:
    return f"{chance:.2g}" if chance >= 1e-6 else "below 1e-06"
