"""Replay of policies on a trace or on the topology's own history: forecasts, replays, timeline, scores."""

import math
import os
from collections.abc import Callable, Mapping
from concurrent.futures.process import BrokenProcessPool
from dataclasses import dataclass, replace
from datetime import datetime, timedelta
from multiprocessing import active_children
from pathlib import Path

from forecasting.arrivals.history import UTC_NAME, ArrivalSeries
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forecasting.terms import ForecastTerms
from forecasting.trace_file import read_trace
from forescale.codec import Moment
from forescale.files.events_section import event_calendar
from forescale.files.topology import TopologyConfig
from forescale.jobs.kept_replays import KeptReplays, digest_of
from forescale.jobs.replay_engine import engine_terms
from forescale.jobs.replay_request import DAY_S, MINUTE_S, ReplayRequest, check_forecast_every
from forescale.jobs.replay_terms import ReplayTerms
from forescale.jobs.services import SIMULATED
from forescale.jobs.workers import worker_processes
from forescale.report.kit.decision_words import price_words, unknown_cost_words
from forescale.situation.decision_grounds import VARIATION_SPAN
from forescale.situation.grounds import grounds, rescale_grounds
from forescale.situation.known_profiles import unmeasured_notes
from forescale.situation.workspace import Workspace
from forescale.wiring.instance_costs import instance_costs
from forescale.wiring.planning_terms import disruption_prices_of, limits_of, planned_limits_of
from modeling.wording import count_of
from planner.errors import PlanError
from planner.provenance import Ground
from planner.replay.contest import FORECASTING, Contest, run_all
from planner.replay.load import minute_load
from planner.replay.own_budget import policy_of
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.scores import Difference, Score, differences, scores
from planner.replay.timeline import Timeline, Track, track_of, write_timeline
from planner.replay.variation import POISSON, Variation

LEARNING_DAYS = 14
"""Default days at the beginning of a trace that policies only learn from; at most half of it."""
USUAL_DAYS = 30
SLOT_S = 900
"""Slot width in seconds of policies that plan for the peak of the next slot."""

EVENTS_KNOWN = (
    "events of the topology file count as known from the beginning, as it does not say since when they are; outages "
    "once they are over"
)

Progress = Callable[[str], None]


@dataclass(frozen=True)
class ReplayedPolicies:
    """scores: cheapest first. differences: from one policy, empty if none was named. timeline: the file that they were
    computed from. notes: for the reader. terms: everything else that the scores depend on. run_id: of MLflow, empty if
    not tracked. stands_on: what the planner believes, and how long rescales take.
    """

    topology: str
    timeline: Path
    start: Moment
    end: Moment
    max_lag_s: float
    terms: ReplayTerms
    scores: tuple[Score, ...]
    differences: tuple[Difference, ...]
    notes: tuple[str, ...]
    run_id: str = ""
    stands_on: tuple[Ground, ...] = ()


def replay(workspace: Workspace, request: ReplayRequest, *, progress: Progress | None = None) -> ReplayedPolicies:
    """Run policies over arrivals and score them. Forecasts and replays are stored, so an interrupted run resumes.

    Raises FileError, HistoryError, ForecastError, PlanError or ModelError.
    """
    tell = progress or (lambda text: None)
    request.check()
    config = request.changed(workspace.config(request.topology))
    check_forecast_every(config.forecast.every_s)
    series, notes = _series(workspace, request, config)
    start, end = _span(request, series)
    seen = timedelta(days=config.forecast.train_days)
    series = {source: each.between(max(each.start, start - seen), end) for source, each in series.items()}
    whole = minute_load(series, start.timestamp()).scaled(request.scale)
    load = whole.between(start.timestamp(), end.timestamp())
    past = whole.between(whole.start_s, load.start_s) if load.start_s > whole.start_s else None
    situation = workspace.situation(config)
    if request.site is not None:
        situation = situation.with_site(request.site, "--site")
    believed = situation.profiles
    notes += unmeasured_notes(believed)
    max_lag_s = config.planning.max_lag_s
    given = request.given_rescale(config)
    learned = situation.learned
    engine, engine_notes = engine_terms(learned, given, situation.site.file, believed)
    notes += engine_notes
    priced = situation.priced
    if priced.pricing is not None and priced.facts is not None:
        notes.append(f"the planner weighs prices, of {price_words(priced.facts)}; all others weigh instances")
    width_s = max(each.window_s for each in series.values())
    # Replays are by the minute, whatever the width of the arrivals' windows.
    step_s = math.lcm(config.forecast.step_s, width_s, 60)
    contest = Contest(
        topology=config.as_topology(),
        believed=believed,
        load=load,
        past=past,
        limits=limits_of(config.planning),
        headroom=planned_limits_of(config.planning).max_utilisation,
        rescale_h=config.planning.rescale_cost_instance_hours,
        engine=engine,
        max_lag_s=max_lag_s,
        slot_s=math.lcm(SLOT_S, step_s),
        quantile=config.planning.quantile,
        step_s=step_s,
        horizon_s=max(config.forecast.horizon_s, step_s),
        differences=request.deviations.differences(),
        variation=_variation(config, series),
        allowed_share=config.planning.allowed_share,
        pricing=priced.pricing,
        priced_by=priced.digest,
        disruption=disruption_prices_of(config.planning),
        forecast_every_s=config.forecast.every_s,
        site=situation.where,
        placing=situation.placing,
        placed_by=priced.digest if situation.model.depends_on_packing else "",
        services=situation.model.services,
    )
    notes += [SIMULATED] * (contest.services is not None)
    notes += filter(None, [contest.beyond_limits()])
    wanted = [(name, seed) for seed in range(request.seeds) for name in request.policies]
    workers = request.workers or os.cpu_count() or 1
    folder = workspace.settings.home / "replay"
    done: dict[tuple[str, int], Track] = {}
    others = set(active_children())
    with worker_processes(workers) as executor:
        try:
            if FORECASTING & set(map(policy_of, request.policies)):
                forecasts = _forecasts(request, config, series, step_s, folder / "forecasts")
                notes += forecasts.prepare(
                    load.start_s, load.end_s, executor, lambda made, of: tell(f"forecasts {made} of {of}")
                )
                notes += [EVENTS_KNOWN] * bool(config.events)
                contest = replace(contest, forecasts=forecasts)
            kept = KeptReplays(folder / "done", contest)
            done = {key: track for key in wanted if (track := kept.track(*key)) is not None}
            for name, seed, replayed in run_all(contest, [key for key in wanted if key not in done], executor):
                if isinstance(replayed, str):
                    notes.append(f"{name} could not be replayed with seed {seed}: {replayed}")
                    continue
                done[name, seed] = track_of(replayed, max_lag_s)
                kept.keep(done[name, seed])
                tell(f"replayed {name} with seed {seed}, {len(done)} of {len(wanted)}")
        except BrokenProcessPool:
            raise PlanError("a worker of the replay was killed, perhaps for its memory; give --workers 1") from None
        except KeyboardInterrupt:
            # Do not wait for running work, which may take minutes; finished forecasts and replays are stored.
            for worker in set(active_children()) - others:
                worker.terminate()
            raise
    every = tuple(done[key] for key in wanted if key in done)
    if not every:
        raise PlanError("; ".join(notes))
    per_instance, unknown = instance_costs(config, believed)
    if load.minutes * MINUTE_S < DAY_S:
        notes.append(f"replayed: {count_of(load.minutes, 'minute')}; less than a day may lack the peak of every day")
    notes = [*load.notes, *notes, *map(unknown_cost_words, unknown)]
    timeline = Timeline(config.topology, max_lag_s, every, tuple(notes), per_instance, contest.allowed_share)
    out = request.out or folder / f"{config.topology}.parquet"
    write_timeline(timeline, out)
    return ReplayedPolicies(
        config.topology,
        out,
        load.start,
        load.end,
        max_lag_s,
        _terms(request, contest),
        tuple(scores(timeline)),
        tuple(differences(timeline, request.against)) if request.against is not None else (),
        tuple(notes),
        stands_on=(*grounds(situation), *given.grounds(rescale_grounds(situation))),
    )


def _terms(request: ReplayRequest, contest: Contest) -> ReplayTerms:
    engine = contest.engine
    return ReplayTerms(
        lead_s=engine.lead_s,
        downtime_s=engine.downtime_s,
        restore_s_per_gib=engine.restore_s_per_gib,
        state_gib=sum(engine.state_gib.values()),
        restored=engine.restored,
        parallel_restore=engine.parallel_restore,
        checkpoints=engine.checkpoints,
        deviations=request.deviations,
        seeds=request.seeds,
        scale=request.scale,
        allow=contest.allowed_share,
        forecast_every_s=contest.forecast_every_s,
        arrivals=contest.load.digest(),
        profiles=digest_of(*filter(None, (contest.topology, contest.believed, contest.services))),
        prices="" if contest.pricing is None else contest.priced_by,
        started_h=contest.disruption.started_h,
        moved_gib_h=contest.disruption.moved_gib_h,
    )


def _series(
    workspace: Workspace, request: ReplayRequest, config: TopologyConfig
) -> tuple[Mapping[str, ArrivalSeries], list[str]]:
    sources = config.as_topology().sources
    if request.trace is None:
        history = read_history(workspace.settings.history_dir, config.topology).in_local_time(config.timezones)
        return {source: history.source(source) for source in sources}, []
    trace = read_trace(request.trace)
    local = {source: config.timezones.get(source, UTC_NAME) for source in sources}
    own = replace(trace, topology=config.topology, counts=trace.counts / len(sources))
    parts = {source: replace(own, source=source, timezone=timezone) for source, timezone in local.items()}
    if len(sources) == 1:
        return parts, []
    return parts, [f"the trace is split evenly over the sources {', '.join(sources)}"]


def _span(request: ReplayRequest, series: Mapping[str, ArrivalSeries]) -> tuple[datetime, datetime]:
    """The replayed span, in whole minutes. Policies learn from what came before it."""
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
    series: Mapping[str, ArrivalSeries],
    step_s: int,
    folder: Path,
) -> PipelineForecasts:
    wanted = config.forecast
    if DAY_S % step_s:
        raise HistoryError(
            f"windows of the arrivals and forecast.step_s have {step_s} s in common, which does not divide a day"
        )
    terms = ForecastTerms(
        step_s,
        max(wanted.horizon_s, step_s),
        paths=wanted.paths,
        origins=wanted.origins,
        seed=wanted.seed,
        prophet=wanted.prophet,
    )
    scaled = {source: replace(each, counts=each.counts * request.scale) for source, each in series.items()}
    first, last = min(each.start for each in series.values()), max(each.end for each in series.values())
    calendar = event_calendar(config.events, first, last + timedelta(seconds=wanted.horizon_s))
    return PipelineForecasts(scaled, terms, wanted.train_days, wanted.refit_s, folder, calendar, wanted.every_s)


def _variation(config: TopologyConfig, series: Mapping[str, ArrivalSeries]) -> Variation:
    # Plans depend on it only if latency is bounded; a constant variation makes the search faster.
    bounded = limits_of(config.planning).latency_bounds_s
    return Variation(series, VARIATION_SPAN, config.planning.arrival_cv2) if bounded else POISSON
