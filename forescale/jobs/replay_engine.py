"""Rescales in a replay: as planned with, except for what is set."""

from collections.abc import Iterable
from dataclasses import dataclass, replace

from forescale.files.site import SiteFile
from forescale.situation.learned_rescale import LearnedPlanning
from modeling.inputs.operator_profile import Profiles
from planner.clusters.engine_terms import EngineTerms
from planner.provenance import Ground, Origin, Provenance, Quantity


@dataclass(frozen=True)
class GivenRescale:
    """Values that are set for one replay, each None for what is known without it."""

    lead_s: float | None = None
    downtime_s: float | None = None
    restore_s_per_gib: float | None = None

    def grounds(self, known: Iterable[Ground]) -> tuple[Ground, ...]:
        """Of a rescale: what is known of it, and what is set instead."""
        fields = {
            Quantity.DOWNTIME: ("planning.downtime_s", self.downtime_s),
            Quantity.LEAD: ("planning.lead_s", self.lead_s),
            Quantity.RESTORE: ("rescale.restore_s_per_gib", self.restore_s_per_gib),
        }
        return tuple(
            each if value is None else replace(each, provenance=Provenance(Origin.GIVEN, f"--set {name}={value:g}"))
            for each in known
            for name, value in [fields.get(each.quantity, ("", None))]
        )


def engine_terms(
    learned: LearnedPlanning, given: GivenRescale, site: SiteFile, believed: Profiles
) -> tuple[EngineTerms, list[str]]:
    """site: of the topology, for its checkpoints. Also returns notes for the reader."""
    known, state_gib = learned.engine, {name: profile.state_gib for name, profile in believed.items()}
    if not known.restore_s_per_gib:
        known = replace(known, state_gib=state_gib, restored=site.restored, parallel_restore=site.parallel_restore)
    terms = replace(
        known,
        lead_s=known.lead_s if given.lead_s is None else given.lead_s,
        downtime_s=known.downtime_s if given.downtime_s is None else given.downtime_s,
        restore_s_per_gib=known.restore_s_per_gib if given.restore_s_per_gib is None else given.restore_s_per_gib,
        checkpoints=site.checkpoints,
    )
    notes = []
    total_gib = sum(terms.state_gib.values())
    if total_gib and not terms.restore_s_per_gib:
        notes.append(
            f"{total_gib:g} GiB of state cost nothing at a rescale: give --set rescale.restore_s_per_gib=10, or --site"
        )
    if not total_gib and terms.restore_s_per_gib:
        notes.append("no state is known, so none is read again at a rescale; declare state_gib of operators")
    if site.with_savepoint and site.checkpoints is not None:
        notes.append("savepoints are not simulated: a rescale goes back to the last checkpoint")
    return terms, notes
