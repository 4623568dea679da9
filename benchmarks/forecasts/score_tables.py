"""Tables of how good forecasts of the peak were, over many traces."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import asdict, dataclass

import numpy as np
from rival_runs import RivalRun

from forecasting.forecast import HORIZONS_S
from forecasting.prequential_scores import PrequentialScore
from forecasting.selection import DEPLOYED


@dataclass(frozen=True)
class Replayed:
    """A trace's scores, and the processor time of its replay: a fit a day and a forecast at every origin.

    forecast_cpu_s: of one forecast, by candidate; `deployed` has that of all our forecasters together.
    """

    trace: str
    window_s: int
    origins: int
    cpu_s: float
    scores: list[PrequentialScore]
    forecast_cpu_s: dict[str, float]
    rivals: list[RivalRun]

    def as_json(self) -> dict[str, object]:
        return vars(self) | {
            "scores": [asdict(score) for score in self.scores],
            "rivals": {
                run.candidate: {"versions": run.versions, "fits": [asdict(fit) for fit in run.fits]}
                for run in self.rivals
            },
        }


@dataclass(frozen=True)
class Cell:
    """One candidate at one horizon, over the traces that it could forecast."""

    candidate: str
    horizon_s: int
    traces: int
    ratio_p95: float
    ratio_p99: float
    coverage: float
    peaks: int
    worst: float
    wape: float

    def told(self) -> str:
        ratios = f"{self.ratio_p95:.2f} / {self.ratio_p99:.2f}"
        wape = f"{self.wape:.2f}" if np.isfinite(self.wape) else "–"
        return f"{ratios} / {self.coverage:.3f} / {self.worst:.2f} / {wape}"


def cells(traces: Sequence[Sequence[PrequentialScore]]) -> list[Cell]:
    """One cell per candidate and horizon, from the scores of each trace."""
    found = []
    every = [score for scores in traces for score in scores]
    for name in dict.fromkeys(score.candidate for score in every):
        for horizon_s in HORIZONS_S:
            own = [s for s in every if (s.candidate, s.horizon_s) == (name, horizon_s) and np.isfinite(s.ratio_p95)]
            if own:
                p95, p99 = (np.array([getattr(s, of) for s in own]) for of in ("ratio_p95", "ratio_p99"))
                peaks = np.array([s.origins for s in own])
                found.append(
                    Cell(
                        name,
                        horizon_s,
                        len(own),
                        float(np.exp(np.log(p95).mean())),
                        float(np.exp(np.log(p99).mean())),
                        float(np.average([s.coverage for s in own], weights=peaks)),
                        int(peaks.sum()),
                        float(p95.max()),
                        float(np.median([s.wape for s in own])),
                    )
                )
    return found


def table(of: Sequence[Cell], cpu_s: Mapping[str, float]) -> str:
    """cpu_s: of a forecast, by candidate; the table's cell is empty for a candidate whose own time is not known."""
    horizons_s = [horizon_s for horizon_s in HORIZONS_S if any(cell.horizon_s == horizon_s for cell in of)]
    heads = headings(horizons_s)
    lines = [f"| | {' | '.join(heads)} | CPU s |", "|---" * (len(heads) + 2) + "|"]
    told = {(cell.candidate, cell.horizon_s): cell.told() for cell in of}
    for name in dict.fromkeys(cell.candidate for cell in of):
        row = [told.get((name, horizon_s), "") for horizon_s in horizons_s]
        cost = f"{cpu_s[name]:.1f}" if name in cpu_s else ""
        lines.append(f"| {name} | {' | '.join(row)} | {cost} |")
    return "\n".join(lines)


def by_trace(replays: Sequence[Replayed]) -> str:
    lines = [
        f"| trace | window | origins | {DEPLOYED}: p95 ratio / over the naive with its errors / coverage | CPU s |",
        "|---|---|---|---|---|",
    ]
    for replay in replays:
        own = [
            f"{s.ratio_p95:.2f} / {over_seasonal_naive(replay.scores, DEPLOYED, s.horizon_s):.2f} / {s.coverage:.2f}"
            for s in replay.scores
            if s.candidate == DEPLOYED
        ]
        lines.append(
            f"| {replay.trace} | {replay.window_s} s | {replay.origins} | {', '.join(own)} | {replay.cpu_s:.0f} |"
        )
    return "\n".join(lines)


def forecast_cpu_s(replays: Sequence[Replayed]) -> dict[str, float]:
    """Processor seconds of one forecast, mean over traces."""
    names = dict.fromkeys(name for replay in replays for name in replay.forecast_cpu_s)
    return {
        name: float(np.mean([r.forecast_cpu_s[name] for r in replays if name in r.forecast_cpu_s])) for name in names
    }


def unsaid(replays: Sequence[Replayed]) -> list[str]:
    """One line for each rival that gave no forecast somewhere: how often, and why."""
    lines = []
    for replay in replays:
        for run in replay.rivals:
            for why, times in Counter(fit.unsuitable_because for fit in run.fits if fit.unsuitable_because).items():
                lines.append(f"{run.candidate} on {replay.trace}: {times} of {len(run.fits)} forecasts {why}")
    return lines


def better_rivals(replays: Sequence[Replayed]) -> list[str]:
    """One line for each rival and trace where the rival's p95 loss was below that of `deployed`."""
    lines = []
    for replay in replays:
        of = {(score.candidate, score.horizon_s): score.ratio_p95 for score in replay.scores}
        for run in replay.rivals:
            won = [
                f"{heading(h)} ({of[run.candidate, h]:.2f} against {of[DEPLOYED, h]:.2f})"
                for h in HORIZONS_S
                if of.get((run.candidate, h), np.inf) < of.get((DEPLOYED, h), -np.inf)
            ]
            if won:
                lines.append(f"{run.candidate} is better than {DEPLOYED} on {replay.trace}: {', '.join(won)}")
    return lines


SEASONAL_NAIVES = ("day_naive", "week_naive")


def over_seasonal_naive(scores: Sequence[PrequentialScore], candidate: str, horizon_s: int) -> float:
    """p95 loss of a candidate over that of the better seasonal naive with its own past errors; NaN without one.

    Both losses are known relative to the same yardstick, which cancels if they forecast at the same origins.
    """
    of = {score.candidate: score for score in scores if score.horizon_s == horizon_s}
    own = of.get(candidate)
    naives = [of[name] for name in SEASONAL_NAIVES if own and name in of and of[name].origins == own.origins]
    bound = min((naive.ratio_p95 for naive in naives if np.isfinite(naive.ratio_p95)), default=float("nan"))
    return own.ratio_p95 / bound if own and bound > 0 else float("nan")


def naive_table(scores: Sequence[Sequence[PrequentialScore]], names: Sequence[str]) -> str:
    """p95 loss of candidates over the better seasonal naive with its own errors: geometric mean over traces, worst
    trace, and the least coverage of a trace.
    """
    lines = [f"| | {' | '.join(headings(HORIZONS_S))} |", "|---" * (len(HORIZONS_S) + 1) + "|"]
    for name in names:
        row = []
        for horizon_s in HORIZONS_S:
            ratios = np.array([over_seasonal_naive(of, name, horizon_s) for of in scores])
            ratios = ratios[np.isfinite(ratios)]
            of_name = (s for of in scores for s in of if (s.candidate, s.horizon_s) == (name, horizon_s))
            coverage = [s.coverage for s in of_name if np.isfinite(s.coverage)]
            mean = float(np.exp(np.log(np.maximum(ratios, 1e-9)).mean())) if ratios.size else float("nan")
            row.append(f"{mean:.2f} ({ratios.max():.2f}) / {min(coverage):.2f}" if ratios.size else "")
        lines.append(f"| {name} | {' | '.join(row)} |")
    return "\n".join(lines)


def headings(horizons_s: Sequence[int]) -> list[str]:
    return [heading(horizon_s) for horizon_s in horizons_s]


def heading(horizon_s: int) -> str:
    return f"{horizon_s // 60} min" if horizon_s < 3600 else f"{horizon_s // 3600} h"
