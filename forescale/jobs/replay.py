"""What policies would have done on a trace or on the topology's own history: forecasts, replays, timeline, scores."""

import math
import os
import signal
from collections.abc import Callable, Mapping
from concurrent.futures import Executor, ProcessPoolExecutor, ThreadPoolExecutor
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from multiprocessing import active_children, get_context
from pathlib import Path

from forecasting.arrivals.history import ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forecasting.terms import ForecastTerms
from forecasting.trace_file import read_trace
from forescale.codec import Moment
from forescale.files.topology import TopologyConfig
from forescale.jobs.known_profiles import kept_profiles
from forescale.settings import Settings
from forescale.wiring.parts import limits_of, rescale_terms_of, topology_config
from planner.clusters.engine_terms import EngineTerms
from planner.errors import PlanError
from planner.replay.contest import FORECASTING, POLICIES, Contest, run_all
from planner.replay.load import minute_load
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.reality import Differences
from planner.replay.run import Replayed
from planner.replay.scores import Score, scores
from planner.replay.timeline import Timeline, track_of, write_timeline

LEARNING_DAYS = 14
"""Days at the beginning of a trace that policies only learn from, where nothing else is asked; at most half of it."""
USUAL_DAYS = 30

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ReplayRequest:
    """What to replay. trace: a CSV file; None for the topology's own history. policies: names, in order; seeds: how
    many realities. lead_s, downtime_s: of a rescale; max_lag_s: the target; the topology file's where None. error:
    standard deviation of the logarithm of true over believed service times. days: of a history, up to its end. scale:
    factor on all arrivals. workers: processes.
    """

    topology: str
    out: Path
    trace: Path | None = None
    policies: tuple[str, ...] = tuple(POLICIES)
    lead_s: float = 300.0
    downtime_s: float | None = None
    max_lag_s: float | None = None
    error: float = 0.0
    seeds: int = 1
    start: datetime | None = None
    end: datetime | None = None
    days: float | None = None
    scale: float = 1.0
    workers: int | None = None


@dataclass(frozen=True)
class ReplayedPolicies:
    """scores: cheapest first. timeline: the file that they were taken from. notes: what a reader must know of them."""

    topology: str
    timeline: Path
    start: Moment
    end: Moment
    max_lag_s: float
    scores: tuple[Score, ...]
    notes: tuple[str, ...]


def replay(settings: Settings, request: ReplayRequest, *, progress: Progress | None = None) -> ReplayedPolicies:
    """Run policies over arrivals and score them. Forecasts are made once and kept.

    Raises FileError, HistoryError, ForecastError, PlanError or ModelError.
    """
    tell = progress or (lambda text: None)
    config = topology_config(request.topology, settings)
    _check(request)
    series, notes = _series(request, config, settings)
    start, end = _span(request, series)
    seen = timedelta(days=config.forecast.train_days)
    series = {source: each.between(max(each.start, start - seen), end) for source, each in series.items()}
    whole = minute_load(series).scaled(request.scale)
    load = whole.between(start.timestamp(), end.timestamp())
    past = whole.between(whole.start_s, load.start_s) if load.start_s > whole.start_s else None
    believed = kept_profiles(config, settings)
    if not any(profile.samples for profile in believed.values()):
        notes.append("service times are as the topology file declares them; nothing of it was measured")
    downtime_s = config.planning.downtime_s if request.downtime_s is None else request.downtime_s
    max_lag_s = config.planning.max_lag_s if request.max_lag_s is None else request.max_lag_s
    rescale = rescale_terms_of(config.planning)
    width_s = max(each.window_s for each in series.values())
    # Replays are by the minute, whatever the width of the arrivals' windows.
    step_s = math.lcm(config.forecast.step_s, width_s, 60)
    contest = Contest(
        topology=config.as_topology(),
        believed=believed,
        load=load,
        past=past,
        limits=limits_of(config.planning),
        rescale=replace(
            rescale, downtime_s=downtime_s, max_lag_s=max_lag_s, safety_s=max(rescale.safety_s, request.lead_s)
        ),
        engine=EngineTerms(
            downtime_s,
            lead_s=request.lead_s,
            state_gib={name: profile.state_gib for name, profile in believed.items()},
        ),
        max_lag_s=max_lag_s,
        slot_s=math.lcm(config.planning.slot_s, step_s),
        quantile=config.planning.quantile,
        step_s=step_s,
        horizon_s=max(config.forecast.horizon_s, step_s),
        differences=Differences(service_error=request.error),
    )
    wanted = [(name, seed) for seed in range(request.seeds) for name in request.policies]
    workers = request.workers or os.cpu_count() or 1
    done: dict[tuple[str, int], Replayed] = {}
    with _executor(workers) as executor:
        try:
            if FORECASTING & set(request.policies):
                forecasts = _forecasts(request, config, settings, series, step_s)
                notes += forecasts.prepare(
                    load.start_s, load.end_s, executor, lambda made, of: tell(f"forecasts {made} of {of}")
                )
                contest = replace(contest, forecasts=forecasts)
            for name, seed, replayed in run_all(contest, wanted, executor):
                if isinstance(replayed, str):
                    notes.append(f"{name} could not be replayed with seed {seed}: {replayed}")
                    continue
                done[name, seed] = replayed
                tell(f"replayed {name} with seed {seed}, {len(done)} of {len(wanted)}")
        except BrokenProcessPool:
            raise PlanError("a worker of the replay was killed, perhaps for its memory; give --workers 1") from None
        except KeyboardInterrupt:
            # What they are at may take minutes; forecasts that are made are kept.
            for worker in active_children():
                worker.terminate()
            raise
    every = [done[key] for key in wanted if key in done]
    if not every:
        raise PlanError("; ".join(notes))
    notes = [*load.notes, *notes]
    timeline = Timeline(config.topology, max_lag_s, tuple(track_of(each, max_lag_s) for each in every), tuple(notes))
    write_timeline(timeline, every, request.out)
    return ReplayedPolicies(
        config.topology, request.out, load.start, load.end, max_lag_s, tuple(scores(timeline)), tuple(notes)
    )


def _check(request: ReplayRequest) -> None:
    if unknown := [name for name in request.policies if name not in POLICIES]:
        raise PlanError(f"--policies names {unknown[0]!r}; known are {', '.join(POLICIES)}")
    if not request.policies or request.seeds < 1:
        raise PlanError("a replay needs at least one policy and one seed")
    for option, value in (("--lead", request.lead_s), ("--downtime", request.downtime_s), ("--error", request.error)):
        if value is not None and not (math.isfinite(value) and value >= 0):
            raise PlanError(f"{option} {value:g}; give a finite number that is not negative")
    for option, value in (("--target-lag", request.max_lag_s), ("--scale", request.scale)):
        if value is not None and not (math.isfinite(value) and value > 0):
            raise PlanError(f"{option} {value:g}; give a finite number above 0")


def _series(
    request: ReplayRequest, config: TopologyConfig, settings: Settings
) -> tuple[Mapping[str, ArrivalSeries], list[str]]:
    sources = config.as_topology().sources
    if request.trace is None:
        history = read_history(settings.history_dir, config.topology)
        return {source: history.source(source) for source in sources}, []
    trace = read_trace(request.trace)
    own = replace(trace, topology=config.topology)
    if len(sources) == 1:
        return {sources[0]: replace(own, source=sources[0])}, []
    parts = {source: replace(own, source=source, counts=own.counts / len(sources)) for source in sources}
    return parts, [f"the trace is dealt evenly to the sources {', '.join(sources)}"]


def _span(request: ReplayRequest, series: Mapping[str, ArrivalSeries]) -> tuple[datetime, datetime]:
    """What is replayed, in whole minutes. What came before it is learnt from."""
    first, last = max(each.start for each in series.values()), min(each.end for each in series.values())
    if request.trace is None or request.days is not None:
        end = request.end or last
        start = request.start or max(first, end - timedelta(days=request.days or USUAL_DAYS))
    else:
        start = request.start or first + min(timedelta(days=LEARNING_DAYS), (last - first) / 2)
        end = request.end or min(last, start + timedelta(days=USUAL_DAYS))
    start, end = (at.replace(second=0, microsecond=0) for at in (max(start, first), min(end, last)))
    if end - start < timedelta(minutes=2):
        raise PlanError(
            f"nothing is left to replay from {start:%Y-%m-%d %H:%M} to {end:%Y-%m-%d %H:%M}; the arrivals go from "
            f"{first:%Y-%m-%d %H:%M} to {last:%Y-%m-%d %H:%M} UTC: ask within"
        )
    return start, end


def _forecasts(
    request: ReplayRequest,
    config: TopologyConfig,
    settings: Settings,
    series: Mapping[str, ArrivalSeries],
    step_s: int,
) -> PipelineForecasts:
    wanted = config.forecast
    if 86400 % step_s:
        raise HistoryError(
            f"windows of the arrivals and forecast.step_s have {step_s} s in common, which divide no day"
        )
    terms = ForecastTerms(
        step_s, max(wanted.horizon_s, step_s), paths=wanted.paths, origins=wanted.origins, seed=wanted.seed
    )
    scaled = {source: replace(each, counts=each.counts * request.scale) for source, each in series.items()}
    return PipelineForecasts(scaled, terms, wanted.train_days, wanted.refit_s, settings.home / "replay" / "forecasts")


def _executor(workers: int) -> Executor:
    if workers == 1:
        return ThreadPoolExecutor(1)
    # Spawned: threads of numpy and a fork do not go together.
    return ProcessPoolExecutor(workers, mp_context=get_context("spawn"), initializer=_leave_interrupts)


def _leave_interrupts() -> None:
    """Ctrl-C is the parent's to handle."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)
