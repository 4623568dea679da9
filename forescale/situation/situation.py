"""The situation of one topology: what is known of it without asking its cluster, each value with its provenance.

Options of a command override single values (`with_…`), which then count as given.
"""

from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass, field, replace
from datetime import datetime
from functools import cached_property
from pathlib import Path

from forecasting.arrivals.history import ArrivalHistory
from forecasting.arrivals.storage.directory import Directory
from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from forescale.files.site import SiteFile, read_site_file, site_digest
from forescale.files.topology import TopologyConfig
from forescale.situation.counted_keys import CountedKeys, with_counted_keys
from forescale.situation.learned_rescale import LearnedPlanning, learned_planning
from forescale.situation.past import Past
from forescale.situation.plan_pricing import PricedPlans, priced_plans
from forescale.wiring.packing import placing_of
from forescale.wiring.planning_terms import planned_limits_of
from modeling.inputs.operator_profile import OperatorProfile, Profiles
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.site import Site
from modeling.inputs.topology import Topology
from modeling.rescaling.rescale_model import RescaleModel
from planner.errors import PlanError
from planner.horizon.budget import Budget
from planner.ledger.ledger import Ledger
from planner.limits import Limits
from planner.plan_model import PlanModel
from planner.pricing.placing import Placing
from planner.provenance import ASSUMED, Origin, Provenance


@dataclass(frozen=True)
class KnownSite:
    """digest: the same for the same site file, empty without one. provenance: DECLARED by the section `packing`, GIVEN
    by an option, else ASSUMED.
    """

    file: SiteFile
    digest: str = ""
    provenance: Provenance = ASSUMED


@dataclass
class KnownHistory:
    """Days are by UTC, not by local clocks. One answer uses one: what is built meanwhile is not seen."""

    directory: Directory
    topology: str
    _read: tuple[datetime, datetime, ArrivalHistory] | None = field(default=None, init=False, repr=False)

    def __reduce__(self) -> tuple[type["KnownHistory"], tuple[Directory, str]]:
        """Another process reads for itself."""
        return KnownHistory, (self.directory, self.topology)

    def reach(self, start: datetime, end: datetime) -> None:
        """Read this span now, if there is anything in it, so that later ones are cut from it."""
        with suppress(HistoryError):
            self.between(start, end)

    def between(self, start: datetime, end: datetime) -> ArrivalHistory:
        """The windows that lie wholly in [start, end), of the sources that have any. Raises HistoryError if there are
        none, as `read_history` does.
        """
        if self._read is None or not self._read[0] <= start <= end <= self._read[1]:
            self._read = start, end, read_history(self.directory, self.topology, start=start, end=end)
        first, last, whole = self._read
        return whole if (first, last) == (start, end) else _cut(whole, start, end)


def _cut(history: ArrivalHistory, start: datetime, end: datetime) -> ArrivalHistory:
    within = {}
    for source, series in history.series.items():
        try:
            within[source] = series.between(start, end)
        except HistoryError:
            continue
    if not within:
        raise HistoryError(f"history of topology {history.topology!r} has no whole window between {start} and {end}")
    return replace(history, series=within)


@dataclass(frozen=True)
class Situation:
    """calibrated: profiles by operator before counted keys are added, and profiled: where what was measured of them
    comes from. counted: keys that the history has counted, by source. past: deployments and late minutes. history: of
    arrivals. submitted: operators of which the job says how many instances there can be, where the file does not.
    """

    config: TopologyConfig
    calibrated: Profiles
    profiled: Mapping[str, Provenance]
    counted: Mapping[str, CountedKeys]
    site: KnownSite
    past: Past
    history: KnownHistory
    submitted: frozenset[str] = frozenset()

    @cached_property
    def topology(self) -> Topology:
        return self.config.as_topology()

    @property
    def profiles(self) -> dict[str, OperatorProfile]:
        """The profiles in force: the last calibration over the file's declarations, with counted keys."""
        return self._keyed[0]

    @property
    def counted_streams(self) -> Mapping[str, str]:
        """By stream whose keys were counted in the history, the source that they were counted at."""
        return self._keyed[1]

    @cached_property
    def placing(self) -> Placing | None:
        """Packs plans as the section `packing` says; None without one. Raises PlanError for a site that misfits."""
        return placing_of(self.config, self.site.file, self.profiles)

    @cached_property
    def priced(self) -> PricedPlans:
        """Raises PlanError for inconsistent prices."""
        return priced_plans(self.config, self.site.file, self.site.digest, self.profiles, self.placing)

    @cached_property
    def model(self) -> PlanModel:
        """What plans carry, as packed on the site, with arrivals that vary as a Poisson process."""
        services = self.config.service_terms(self.profiles)
        return PlanModel(self.topology, self.profiles, site=self.where, placing=self.placing, services=services)

    @cached_property
    def learned(self) -> LearnedPlanning:
        """Downtime, lead time, warm-up and the restore of state, as past deployments teach. Raises LedgerError."""
        profiles, site = self.profiles, self.site.file
        return learned_planning(self.config, self.topology, profiles, site, self.past)

    @property
    def site_times_rescales(self) -> bool:
        """Whether `rescale` is the site file's: of one that an option gives, else while no deployment has taught it."""
        is_given = self.site.provenance.origin is Origin.GIVEN
        return self.site.file.rescales_known and (is_given or not self.learned.learned.downtime.deployments)

    @property
    def rescale(self) -> RescaleModel:
        """How long a change of plan takes. Raises LedgerError."""
        return self.site.file.rescale if self.site_times_rescales else self.learned.rescale

    @property
    def budget(self) -> Budget:
        """The allowed violations minus those of the past week. Raises LedgerError."""
        planning, minutes = self.config.planning, self.past.minutes
        price_h = planning.price_per_violation_minute
        return Budget(planning.allowed_share, minutes.known, minutes.in_violation, price_h=price_h)

    @property
    def limits(self) -> Limits:
        """On any plan in a schedule."""
        return planned_limits_of(self.config.planning)

    @property
    def where(self) -> Site:
        return self.site.file.site

    def packed(self, plan: PhysicalPlan, running: PhysicalPlan | None = None) -> PhysicalPlan:
        """The plan as it would be placed: a plan with containers keeps them, the running one has those that it runs
        in, and any other those of the packer. Raises PlanError if it cannot be packed.
        """
        if running is not None and not plan.packing and plan.same_parallelism(running):
            return running
        return self.model.placed(plan)

    def with_ledger(self, ledger: Ledger) -> "Situation":
        """The same by another view of the ledger, as `past_damage` gives."""
        return replace(self, past=self.past.with_ledger(ledger))

    def as_submitted(self, most: Mapping[str, int]) -> "Situation":
        """The same with as many instances at most of each operator as a job was submitted for, where the file gives no
        max_parallelism. Raises PlanError if the file wants more.
        """
        given = {name: entry for name, entry in self.config.operators.items() if name in most}
        lacking = {name: entry for name, entry in given.items() if "max_parallelism" not in entry.model_fields_set}
        if not lacking:
            return self
        planning = self.config.planning
        for name in lacking:
            wanted = [planning.min_parallelism, *(each.min_parallelism for each in planning.windows)]
            if (least := max(each.get(name, 1) for each in wanted)) > most[name]:
                raise PlanError(
                    f"planning.min_parallelism of {name} is {least}, and the job was submitted with {most[name]} tasks "
                    "of it, which no rescale exceeds; lower it, or submit the job with more"
                )
        bounded = {name: of.model_copy(update={"max_parallelism": most[name]}) for name, of in lacking.items()}
        operators = {name: bounded.get(name, entry) for name, entry in self.config.operators.items()}
        config = self.config.model_copy(update={"operators": operators})
        return replace(self, config=config, submitted=frozenset(lacking))

    def with_profiles(self, given: Profiles, place: str) -> "Situation":
        """place: the option and its value."""
        places = {name: Provenance(Origin.GIVEN, place, samples=profile.samples) for name, profile in given.items()}
        return replace(self, calibrated={**self.calibrated, **given}, profiled={**self.profiled, **places})

    def with_site(self, path: Path, option: str) -> "Situation":
        """The site of a file, given by an option. Raises FileError."""
        file = read_site_file(path, self.topology)
        return replace(self, site=KnownSite(file, site_digest(path), Provenance(Origin.GIVEN, f"{option} {path}")))

    @cached_property
    def _keyed(self) -> tuple[dict[str, OperatorProfile], dict[str, str]]:
        key_types = {name: entry.key_type for name, entry in self.config.operators.items()}
        return with_counted_keys(self.topology, self.calibrated, self.counted, key_types)
