"""What an answer stands on: each quantity of a situation with its provenance."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass, replace
from datetime import datetime

from forescale.situation.known_profiles import is_spread_measured, is_timed
from forescale.situation.learned_rescale import LearnedPlanning
from forescale.situation.situation import Situation
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Engine, Grouping
from planner.decision_basis import LearnedNumber
from planner.provenance import ASSUMED, TOPOLOGY_FILE, UNCALIBRATED, Ground, Origin, Provenance, Quantity

HISTORY = "arrival history"
DEPLOYMENTS = "deployments"
METRICS = "metrics of the running job"


def grounds(situation: Situation) -> tuple[Ground, ...]:
    """Of everything that decides what a plan carries and costs."""
    return (*_of_operators(situation), *_of_keys(situation), *_of_site(situation))


def rescale_grounds(situation: Situation) -> tuple[Ground, ...]:
    """Of downtime, lead time and warm-up of a rescale, and of what restoring state adds where there is some. Raises
    LedgerError.
    """
    learned = situation.learned
    declared, numbers = situation.config.planning.model_fields_set, learned.learned
    known = [
        Ground(Quantity.DOWNTIME, _rescale(numbers.downtime, "downtime_s" in declared)),
        Ground(Quantity.LEAD, _rescale(numbers.lead, "lead_s" in declared)),
        *warm_up_grounds(situation, learned),
    ]
    if any(profile.state_gib for profile in situation.profiles.values()):
        known.append(Ground(Quantity.RESTORE, _restore(situation, learned)))
    return tuple(known)


def change_grounds(situation: Situation) -> tuple[Ground, ...]:
    """Of what `Situation.rescale` says of a change, and of the warm-up after it. Raises LedgerError."""
    known = rescale_grounds(situation)
    if situation.site_times_rescales:
        place = situation.site.provenance
        known = tuple(replace(each, provenance=place) if each.quantity is Quantity.DOWNTIME else each for each in known)
    return tuple(each for each in known if each.quantity is not Quantity.LEAD)


def measured_grounds(known: Iterable[Ground], at: datetime, looks: int, timed: Collection[str]) -> tuple[Ground, ...]:
    """With service times of the running job's metrics instead of those known before. looks: at it. timed: operators at
    which these saw tuples.
    """
    seen = Provenance(Origin.MEASURED, METRICS, at, looks)
    return tuple(
        replace(each, provenance=seen)
        if each.quantity is Quantity.SERVICE_TIME and set(each.of) <= set(timed)
        else each
        for each in known
    )


def _rescale(number: LearnedNumber, is_declared: bool) -> Provenance:
    if number.deployments:
        return Provenance(Origin.LEARNT, DEPLOYMENTS, samples=number.deployments)
    return TOPOLOGY_FILE if is_declared else ASSUMED


def _restore(situation: Situation, learned: LearnedPlanning) -> Provenance:
    """Of the time that state takes to be read again."""
    if learned.facts.restore_learnt:
        return Provenance(Origin.LEARNT, DEPLOYMENTS, samples=learned.learned.downtime.deployments)
    return situation.site.provenance if situation.site.file.rescales_known else ASSUMED


def warm_up_grounds(situation: Situation, learned: LearnedPlanning) -> Iterator[Ground]:
    """Nothing if the job runs where no start is cold."""
    warmed, is_declared = learned.warmed, situation.config.planning.warm_up_s is not None
    if warmed.deployments:
        yield Ground(Quantity.WARM_UP, Provenance(Origin.LEARNT, DEPLOYMENTS, samples=warmed.deployments))
    elif is_declared or warmed.declared.takes_time:
        yield Ground(Quantity.WARM_UP, TOPOLOGY_FILE if is_declared else ASSUMED)


def _of_operators(situation: Situation) -> Iterator[Ground]:
    declared = {
        stream.as_stream().name for stream in situation.config.streams if "selectivity" in stream.model_fields_set
    }
    keyed = {stream.downstream for stream in situation.topology.streams if stream.grouping is Grouping.FIELDS}
    for name, profile in situation.profiles.items():
        entry, place = situation.config.operators[name], situation.profiled[name]
        if name in situation.submitted:
            yield Ground(Quantity.TASKS, Provenance(Origin.MEASURED, METRICS, situation.past.at, 1), (name,))
        elif situation.topology.engine is Engine.STORM and "max_parallelism" not in entry.model_fields_set:
            yield Ground(Quantity.TASKS, ASSUMED, (name,))
        known = _Known(profile, place, is_source=not situation.topology.inputs(name))
        yield Ground(
            Quantity.SERVICE_TIME, known.of("service_s", is_declared=True, is_measured=is_timed(profile)), (name,)
        )
        spread = is_spread_measured(entry.service_cv2, profile)
        is_declared = "service_cv2" in entry.model_fields_set
        yield Ground(Quantity.SPREAD, known.of("service_cv2", is_declared=is_declared, is_measured=spread), (name,))
        for stream in profile.selectivity:
            yield Ground(Quantity.SELECTIVITY, known.of_selectivity(stream, is_declared=stream in declared), (stream,))
        idle = "container_idle_cores" if "container_idle_cores" in profile.intervals else "idle_cores"
        is_measured = idle in profile.intervals
        if is_measured or situation.where.container.cores is not None:
            of_idle = known.of(idle, is_declared=profile.idle_cores > 0, is_measured=is_measured)
            yield Ground(Quantity.IDLE_CORES, of_idle, (name,))
        is_measured = "state_gib" in profile.intervals
        if profile.state_gib or is_measured or name in keyed:
            is_declared = profile.state_gib > 0 or "state_gib" in entry.model_fields_set
            yield Ground(
                Quantity.STATE, known.of("state_gib", is_declared=is_declared, is_measured=is_measured), (name,)
            )


@dataclass(frozen=True)
class _Known:
    """Where the parameters of a profile come from. place: of the profile as a whole."""

    profile: OperatorProfile
    place: Provenance
    is_source: bool

    def of(self, parameter: str, *, is_declared: bool, is_measured: bool) -> Provenance:
        if self.place.origin is Origin.GIVEN:
            return self.place
        if is_measured and self.place.origin is Origin.MEASURED:
            return replace(self.place, interval=self._interval(parameter))
        # Looked at, but the engine does not report it: no further look will.
        looks = self.profile.samples if self.place.origin is Origin.MEASURED else 0
        if is_declared:
            return replace(TOPOLOGY_FILE, samples=looks)
        return ASSUMED if looks else UNCALIBRATED

    def of_selectivity(self, stream: str, *, is_declared: bool) -> Provenance:
        """Of a source, calibration measures it only where the engine counts what the source takes in."""
        single = f"selectivity[{stream}]"
        known = self.profile
        is_measured = single in known.intervals or stream in known.input_selectivity or stream in known.windowed
        if is_measured or not self.is_source or self.place.origin is Origin.GIVEN:
            return self.of(single, is_declared=is_declared, is_measured=is_measured)
        return TOPOLOGY_FILE if is_declared else ASSUMED

    def _interval(self, parameter: str) -> tuple[float, float] | None:
        if parameter == "service_cv2":
            return self.profile.service_cv2_interval
        return self.profile.intervals.get(parameter)


def _of_keys(situation: Situation) -> Iterator[Ground]:
    for stream in situation.topology.streams:
        if stream.grouping is not Grouping.FIELDS:
            continue
        name, profile = stream.name, situation.profiles[stream.downstream]
        if (source := situation.counted_streams.get(name)) is not None:
            counted = situation.counted[source]
            yield Ground(Quantity.KEYS, Provenance(Origin.MEASURED, HISTORY, counted.until, counted.days), (name,))
        elif profile.keys_of(name) is None:
            yield Ground(Quantity.KEYS, ASSUMED, (name,))
        else:
            place = situation.profiled[stream.downstream]
            of_stream = name in profile.stream_keys or place.origin is Origin.GIVEN
            yield Ground(Quantity.KEYS, place if of_stream else TOPOLOGY_FILE, (name,))


def _of_site(situation: Situation) -> Iterator[Ground]:
    site, packing, where = situation.site.provenance, situation.config.packing, situation.where
    yield Ground(Quantity.CONTAINERS, ASSUMED if packing is None else TOPOLOGY_FILE)
    by_packing = packing is not None and packing.cores is not None and site.origin is not Origin.GIVEN
    cores = TOPOLOGY_FILE if by_packing else site
    yield Ground(Quantity.CORES, ASSUMED if where.container.cores is None else cores)
    yield Ground(Quantity.MEMORY, ASSUMED if where.container.memory_mib is None else site)
    yield Ground(Quantity.NODES, site if where.service_factor else ASSUMED, tuple(where.service_factor))
    yield Ground(Quantity.LINKS, ASSUMED if where.network is None else site)
    if situation.topology.engine is Engine.FLINK:
        yield Ground(Quantity.BUFFERS, site if situation.site.file.buffers_known else ASSUMED)
    if situation.site.file.prices.known:
        by_packing = packing is not None and packing.price_per_hour is not None and site.origin is not Origin.GIVEN
        yield Ground(Quantity.PRICES, TOPOLOGY_FILE if by_packing else site)
