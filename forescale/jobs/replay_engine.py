"""Rescales in a replay: state to restore and checkpoints to go back to, by a site file."""

from forescale.files.site import SiteFile
from modeling.inputs.operator_profile import Profiles
from modeling.rescaling.state import Restored
from planner.clusters.engine_terms import EngineTerms


def engine_terms(
    lead_s: float, downtime_s: float, restore_s_per_gib: float | None, site: SiteFile | None, believed: Profiles
) -> tuple[EngineTerms, list[str]]:
    """restore_s_per_gib: None: the site's; without a site state costs nothing. Also returns notes for the reader."""
    if restore_s_per_gib is None:
        restore_s_per_gib = 0.0 if site is None else site.rescale.restore_s_per_gib
    state_gib = {name: profile.state_gib for name, profile in believed.items()}
    terms = EngineTerms(
        downtime_s,
        lead_s,
        checkpoints=None if site is None else site.checkpoints,
        restore_s_per_gib=restore_s_per_gib,
        state_gib=state_gib,
        restored=Restored.WHOLE_JOB if site is None else site.restored,
        parallel_restore=site is not None and site.parallel_restore,
    )
    notes = []
    total_gib = sum(state_gib.values())
    if total_gib and not restore_s_per_gib:
        notes.append(f"{total_gib:g} GiB of state cost nothing at a rescale: give --restore-s-per-gib or --site")
    if not total_gib and restore_s_per_gib:
        notes.append("no state is known, so none is read again at a rescale; declare state_gib of operators")
    if site is not None and site.with_savepoint and site.checkpoints is not None:
        notes.append("savepoints are not simulated: a rescale goes back to the last checkpoint")
    return terms, notes
