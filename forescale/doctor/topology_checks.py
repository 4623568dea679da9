"""Checks of one topology: file, clocks, arrivals, history, forecast, calibration, cluster."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from functools import cached_property
from pathlib import Path

from forecasting.arrivals.grid import to_us
from forecasting.arrivals.quality import quality
from forecasting.arrivals.store import built_until, read_history
from forescale.doctor.assumptions import assumptions
from forescale.doctor.examination import AilmentError, Check, NotUsedError
from forescale.files.arrivals_section import EventsEntry, KafkaEntry
from forescale.files.profile import measured_at
from forescale.files.topology import TopologyConfig
from forescale.history.quality_checks import RECENT, recent_checks, unobserved_remedy
from forescale.history.silence import silent_s, told_silent_s
from forescale.jobs.newest_forecasts import newest_known
from forescale.jobs.suspected_outages import ASKED_ABOUT, recent_suspects
from forescale.report.kit.decision_words import calibration_words, cause_words
from forescale.report.kit.outage_words import suspect_words
from forescale.settings import Settings
from forescale.situation.known_profiles import kept_profiles, profile_path
from forescale.situation.workspace import Workspace
from forescale.wiring.arrivals import arrival_source
from forescale.wiring.engines.kafka import topic_partitions
from forescale.wiring.engines.registry import cluster_kind
from modeling.wording import count_of
from planner.clusters.cluster import ClusterState, Status
from planner.decision_basis import CalibrationFacts
from planner.fallback import unusable

MIN_LEARNT = timedelta(days=1)
MIN_BORROWED = timedelta(hours=3)
"""Least history needed where siblings are named."""
CALIBRATED_FOR = timedelta(days=7)
"""Maximum age of a calibration: operator costs change with each release of the job."""
CLOCKS_APART_S = 30.0
"""Maximum difference between the clocks of this machine and the cluster: beyond it a minute's load is counted in the
wrong minute."""
LOOKED_AT_WINDOWS = 10


@dataclass(frozen=True)
class Patient:
    """What the checks of a topology share; each part is read when first needed. name: of the topology, or its path."""

    workspace: Workspace
    name: str

    @property
    def settings(self) -> Settings:
        return self.workspace.settings

    @cached_property
    def config(self) -> TopologyConfig:
        return self.workspace.config(self.name)

    @cached_property
    def now(self) -> datetime:
        return self.workspace.clock.now()

    @cached_property
    def state(self) -> ClusterState:
        return self.workspace.cluster(self.config).state()


def topology_checks(patient: Patient) -> Sequence[Check]:
    file, clocks, cluster = "topology file", "clocks", "cluster"
    return [
        Check(file, lambda: _file(patient), ["settings"]),
        Check(clocks, lambda: _clocks(patient), [file]),
        Check("arrivals", lambda: _arrivals(patient), [clocks], 20.0),
        Check("history", lambda: _history(patient), [clocks], 20.0),
        Check("history quality", lambda: _history_quality(patient), ["history"], 20.0),
        Check("lost events", lambda: _lost_events(patient), ["history"], 20.0),
        Check("forecast", lambda: _forecast(patient), ["history", "ledger"], 15.0),
        Check("recorded times", lambda: _recorded_times(patient), [clocks, "ledger"], 15.0),
        Check("calibration", lambda: _calibration(patient), [clocks, "ledger"], 15.0),
        Check(
            "assumptions", lambda: assumptions(patient.workspace, patient.config, patient.now), [clocks, "ledger"], 15.0
        ),
        Check(cluster, lambda: _cluster(patient), [clocks], 15.0),
        Check("rights", lambda: _rights(patient), [cluster], 30.0),
        Check("slots", lambda: _slots(patient), [cluster]),
    ]


def _file(patient: Patient) -> str:
    config = patient.config
    return (
        f"{config.topology}: {count_of(len(config.operators), 'operator')}, sources "
        f"{', '.join(config.as_topology().sources)}"
    )


def _clocks(patient: Patient) -> str:
    """The clock can be read, and no stored data is dated in the future."""
    now = patient.now
    until = built_until(patient.settings.history_dir, patient.config.topology)
    if until is not None and until > now + timedelta(seconds=CLOCKS_APART_S):
        raise AilmentError(
            f"the history was built until {until:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M} UTC here",
            "set this machine's clock by NTP, or see what FORESCALE_CLOCK should be",
        )
    return f"{now:%Y-%m-%d %H:%M:%S} UTC ({patient.settings.clock})"


def _arrivals(patient: Patient) -> str:
    config, settings = patient.config, patient.settings
    section = config.arrivals
    if isinstance(section, EventsEntry):
        return _event_files(settings.below_home(section.path))
    with arrival_source(config, settings, patient.now) as source:
        width_us = section.window_s * 1_000_000
        end_us = (to_us(patient.now) - int(source.unsettled_s * 1e6)) // width_us * width_us
        # The end of what has settled; one window less for data still under way.
        end = datetime.fromtimestamp(end_us / 1e6, patient.now.tzinfo) - timedelta(seconds=section.window_s)
        start = max(
            end - timedelta(seconds=LOOKED_AT_WINDOWS * section.window_s), _next_window(source.first_moment(), width_us)
        )
        if start >= end:
            return f"{source.place} answers; it has reported less than a window of {section.window_s} s so far"
        arrivals = source.read(start, end, section.window_s).sources
        place = source.place
    if isinstance(section, KafkaEntry):
        check_partitions(config, topic_partitions(section))
    silent = [name for name in config.as_topology().sources if name not in arrivals or not arrivals[name].alive.size]
    if silent:
        raise AilmentError(
            f"{place} reports nothing of {', '.join(silent)} from {start:%H:%M} to {end:%H:%M} UTC",
            "see whether its feed or recorder is alive",
        )
    span_s = (end - start).total_seconds()
    rates = ", ".join(f"{name} {float(arrivals[name].counts.sum()) / span_s:.4g} a second" for name in arrivals)
    return f"{place}: {rates} from {start:%H:%M} to {end:%H:%M} UTC"


def check_partitions(config: TopologyConfig, of_topics: Mapping[str, int]) -> None:
    """Raises AilmentError if a source could get more instances than its topics have partitions, or declares others.

    of_topics: partitions per source.
    """
    topology = config.as_topology()
    for source, count in of_topics.items():
        most = min(
            topology.operator(source).max_busy,
            config.planning.max_parallelism.get(source, config.planning.max_instances),
        )
        declared = topology.operator(source).partitions
        if count < most or declared not in (None, count):
            raise AilmentError(
                f"the topics of source {source} have {count_of(count, 'partition')}, and "
                + (f"sources.{source}.partitions is {declared}" if declared else f"plans may give it {most} instances"),
                f"write sources.{source}.partitions: {count}",
            )


def _next_window(moment: datetime, width_us: int) -> datetime:
    return datetime.fromtimestamp(-(-to_us(moment) // width_us) * width_us / 1e6, moment.tzinfo)


def _event_files(path: str) -> str:
    """Check only that files exist: counting events takes a Spark session."""
    if "://" in path:
        raise NotUsedError(f"{path.partition('://')[0]}://… is read by Spark; `forescale history build` checks it")
    files = [each for each in Path(path).rglob("*") if each.is_file()] if Path(path).is_dir() else []
    files = [Path(path)] if Path(path).is_file() else files
    if not files:
        raise AilmentError(f"{path} holds no file", "correct arrivals.path, or see what writes there")
    newest = datetime.fromtimestamp(max(each.stat().st_mtime for each in files), UTC)
    return f"{count_of(len(files), 'file')} in {path}, the newest of {newest:%Y-%m-%d %H:%M} UTC"


def _history(patient: Patient) -> str:
    config, folder, now = patient.config, patient.settings.history_dir, patient.now
    history = read_history(folder, config.topology, start=now - timedelta(days=config.forecast.train_days), end=now)
    if lacking := [name for name in config.as_topology().sources if name not in history.series]:
        raise AilmentError(f"it has nothing of {', '.join(lacking)}", f"run: forescale history build {patient.name}")
    shortest = min(history.series.values(), key=lambda series: series.end - series.start)
    span = shortest.end - shortest.start
    for source, series in history.series.items():
        needed = MIN_BORROWED if source in config.like else MIN_LEARNT
        if (its := series.end - series.start) < needed:
            raise AilmentError(
                f"{source} has {_hours(its)}, at least {_hours(needed)} are needed",
                "build from further back, wait, or name siblings (sources.like); meanwhile the running plan is held",
            )
    until = max(series.end for series in history.series.values())
    stale = timedelta(seconds=config.planning.stale_s)
    if now - until > stale:
        raise AilmentError(
            f"it ends at {until:%Y-%m-%d %H:%M} UTC, {_hours(now - until)} ago",
            f"run: forescale history build {patient.name}, and see what should (DAG aggregate, or cron)",
        )
    silent = {
        source: for_s
        for source, each in history.series.items()
        if (for_s := silent_s(each, now)) > stale.total_seconds()
    }
    if silent:
        since = now - timedelta(seconds=max(silent.values()))
        raise AilmentError(
            f"nothing of {', '.join(silent)} was observed since {since:%Y-%m-%d %H:%M} UTC",
            unobserved_remedy(quality(folder, config.topology, since, until, history.snapshot, silent).total),
        )
    lately = [
        f"; nothing of {source} was observed in its last {for_s / 60:.0f} min"
        for source, each in history.series.items()
        if (for_s := told_silent_s(each, each.end))
    ]
    of = count_of(len(history.series), "source")
    return f"{_days(span)} of {of}, until {until:%Y-%m-%d %H:%M} UTC{''.join(lately)}"


def _history_quality(patient: Patient) -> str:
    """As plans check it: a history below its bounds is an alarm on their pages."""
    config, folder, now = patient.config, patient.settings.history_dir, patient.now
    sources = config.as_topology().sources
    history = read_history(folder, config.topology, start=now - RECENT, end=now)
    broken = [one for one in recent_checks(folder, history, sources, config.arrivals.quality, now) if not one.holds]
    if broken:
        raise AilmentError(
            "; ".join(
                f"arrivals.quality.{one.bound} of {one.source}: {one.value:.3g}, the bound is {one.limit:g}"
                for one in broken
            ),
            broken[0].remedy,
        )
    return f"within the bounds of arrivals.quality over the last {RECENT.days} days"


def _lost_events(patient: Patient) -> str:
    """No span of the history looks like an outage that nobody declared."""
    suspects = recent_suspects(patient.workspace.situation(patient.config), patient.now)
    if suspects:
        raise AilmentError(
            "; ".join(suspect_words(each) for each in suspects),
            "add that line, or the same with kind: other, and run: forescale forecast " + patient.name,
        )
    return f"nothing in the last {ASKED_ABOUT.days} days looks like an undeclared outage"


def _forecast(patient: Patient) -> str:
    config, now = patient.config, patient.now
    entries = newest_known(config, patient.workspace.ledger)
    stale = timedelta(seconds=config.planning.stale_s)
    remedy = f"run: forescale forecast {patient.name}, and see what should (DAG forecast, or cron)"
    for source in config.as_topology().sources:
        if source not in entries:
            raise AilmentError(f"there is none of {source}", remedy)
        entry = entries[source]
        if (cause := unusable(source, entry.issued_at, entry.horizon_end, now, stale)) is not None:
            raise AilmentError(cause_words(cause), remedy)
    oldest = min(entry.issued_at for entry in entries.values())
    return f"of {count_of(len(entries), 'source')}, issued {_hours(now - oldest)} ago"


def _recorded_times(patient: Patient) -> str:
    """Nothing in the ledger was made at a time ahead of now: later decisions would count as made before it."""
    config, now = patient.config, patient.now
    ahead = patient.workspace.ledger.clock_jumps.newest_ahead(config.topology, now)
    if ahead is not None:
        raise AilmentError(
            f"the ledger reaches to {ahead:%Y-%m-%d %H:%M} UTC, and it is {now:%Y-%m-%d %H:%M} UTC here: a clock was "
            "ahead, or this one is behind",
            f"set this machine's clock by NTP; if it is right, run: forescale plan {patient.name}, which sets aside "
            "what was made at a time ahead",
        )
    return "nothing was made at a time ahead"


def _calibration(patient: Patient) -> str:
    config, settings = patient.config, patient.settings
    path = profile_path(config, settings)
    remedy = f"run: forescale model calibrate {patient.name}"
    if not path.exists():
        raise AilmentError("never measured; service times are as declared", remedy)
    profiles = kept_profiles(config, settings)
    if idle := [name for name, profile in profiles.items() if not profile.samples]:
        raise AilmentError(f"{', '.join(idle)} never measured", f"{remedy} while the job has load")
    made_at = measured_at(path)
    age = None if made_at is None else patient.now - made_at
    if age is not None and age > CALIBRATED_FOR:
        raise AilmentError(f"measured {_days(age)} ago, at most {_days(CALIBRATED_FOR)} are good", remedy)
    newest = patient.workspace.ledger.schedules(config.topology, limit=1)
    facts = newest[0].schedule.basis.calibration if newest else CalibrationFacts()
    if facts.drifts and (made_at is None or newest[0].schedule.made_at >= made_at):
        raise AilmentError(calibration_words(facts), f"see what has changed in the job, then {remedy}")
    return f"{count_of(len(profiles), 'operator')}" + ("" if age is None else f", measured {_hours(age)} ago")


def _cluster(patient: Patient) -> str:
    if patient.config.cluster_section is None:
        raise NotUsedError("the file has no section cluster: forescale plans and reports, and deploys nothing")
    state, clock = patient.state, patient.settings.clock
    if state.status is Status.DOWN:
        raise AilmentError(f"{state.topology} is down", "start the job, and see why it ended")
    apart_s = (state.observed_at - patient.workspace.clock.now()).total_seconds()
    if clock == "real" and abs(apart_s) > CLOCKS_APART_S:
        raise AilmentError(f"its clock is {apart_s:+.0f} s off this machine's", "set both by NTP")
    return f"{state.status}, {state.plan.brief()}"


def _rights(patient: Patient) -> str:
    section = patient.config.cluster
    if patient.config.planning.served:
        raise NotUsedError("in planning.mode: serve nothing is changed, so that no right to it is needed")
    may_rescale = cluster_kind(section).may_rescale
    if may_rescale is None:
        raise NotUsedError(f"clusters of kind {section.kind} do not report who may rescale")
    return may_rescale(patient.config, section, patient.settings)


def _slots(patient: Patient) -> str:
    free = patient.state.free_slots
    if free is None:
        raise NotUsedError("the cluster does not report how many are free")
    section = patient.config.cluster
    no_slots = cluster_kind(section).no_slots
    trouble = None if no_slots is None else no_slots(section)
    if free <= 0 and trouble is not None:
        raise AilmentError("none is free: every larger plan is refused", trouble)
    return f"{free} free"


def _days(span: timedelta) -> str:
    return f"{span.total_seconds() / 86400:.1f} days"


def _hours(span: timedelta) -> str:
    return f"{span.total_seconds() / 3600:.1f} h"
