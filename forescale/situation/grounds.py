"""What an answer stands on: each quantity of a situation with its provenance."""

from collections.abc import Iterable, Iterator
from dataclasses import replace
from datetime import datetime

from forescale.situation.learned_rescale import LearnedPlanning
from forescale.situation.situation import ASSUMED, Situation
from modeling.inputs.operator_profile import OperatorProfile
from modeling.inputs.topology import Grouping
from planner.decision_basis import LearnedNumber
from planner.provenance import Ground, Origin, Provenance, Quantity

TOPOLOGY_FILE = Provenance(Origin.DECLARED, "topology file")
HISTORY = "arrival history"
DEPLOYMENTS = "deployments"
METRICS = "metrics of the running job"


def grounds(situation: Situation) -> tuple[Ground, ...]:
    """Of everything that decides what a plan carries and costs."""
    return (*_of_operators(situation), *_of_keys(situation), *_of_site(situation))


def rescale_grounds(situation: Situation, learned: LearnedPlanning) -> tuple[Ground, ...]:
    """Of the downtime and the lead time of a rescale."""
    declared, numbers = situation.config.planning.model_fields_set, learned.learned
    return (
        Ground(Quantity.DOWNTIME, _rescale(numbers.downtime, "downtime_s" in declared)),
        Ground(Quantity.LEAD, _rescale(numbers.lead, "lead_s" in declared)),
    )


def measured_grounds(known: Iterable[Ground], at: datetime, looks: int) -> tuple[Ground, ...]:
    """With service times of the running job's metrics, if there are looks at it, instead of those known before."""
    if not looks:
        return tuple(known)
    seen = Provenance(Origin.MEASURED, METRICS, at, looks)
    return tuple(replace(each, provenance=seen) if each.quantity is Quantity.SERVICE_TIME else each for each in known)


def _rescale(number: LearnedNumber, is_declared: bool) -> Provenance:
    if number.deployments:
        return Provenance(Origin.LEARNT, DEPLOYMENTS, samples=number.deployments)
    return TOPOLOGY_FILE if is_declared else ASSUMED


def _of_operators(situation: Situation) -> Iterator[Ground]:
    for name, profile in situation.profiles.items():
        timed = situation.timed[name]
        yield Ground(Quantity.SERVICE_TIME, timed, (name,))
        for stream in profile.selectivity:
            yield Ground(Quantity.SELECTIVITY, _of_parameter(profile, timed, f"selectivity[{stream}]"), (stream,))
        if profile.state_gib:
            yield Ground(Quantity.STATE, _of_parameter(profile, timed, "state_gib"), (name,))


def _of_parameter(profile: OperatorProfile, timed: Provenance, parameter: str) -> Provenance:
    """Of another parameter of a profile than its service time."""
    if timed.origin is Origin.GIVEN:
        return timed
    interval = profile.intervals.get(parameter)
    if interval is None:
        return TOPOLOGY_FILE
    return Provenance(Origin.MEASURED, timed.place, timed.at, profile.samples, interval)


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
            timed = situation.timed[stream.downstream]
            of_stream = name in profile.stream_keys or timed.origin is Origin.GIVEN
            yield Ground(Quantity.KEYS, timed if of_stream else TOPOLOGY_FILE, (name,))


def _of_site(situation: Situation) -> Iterator[Ground]:
    site, packing = situation.site.provenance, situation.config.packing
    yield Ground(Quantity.CONTAINERS, ASSUMED if packing is None else TOPOLOGY_FILE)
    yield Ground(Quantity.CORES, ASSUMED if situation.where.container.cores is None else site)
    if situation.where.service_factor:
        yield Ground(Quantity.NODES, site, tuple(situation.where.service_factor))
    if situation.site.file.prices.known:
        yield Ground(Quantity.PRICES, site)
