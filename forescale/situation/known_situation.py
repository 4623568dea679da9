"""The situation of a topology, assembled from its file, the last calibration, the history, the site and the ledger."""

from dataclasses import replace

from forescale.files.profile import measured_at
from forescale.files.topology import TopologyConfig
from forescale.settings import Settings
from forescale.situation.counted_keys import counted_keys
from forescale.situation.known_profiles import kept_profiles, profile_path
from forescale.situation.past import Past
from forescale.situation.situation import KnownHistory, KnownSite, Situation
from forescale.wiring.packing import known_site
from modeling.inputs.operator_profile import OperatorProfile
from planner.provenance import ASSUMED, CALIBRATION, TOPOLOGY_FILE, Origin, Provenance


def known_situation(config: TopologyConfig, settings: Settings, past: Past) -> Situation:
    """Everything that file, calibration, history, site and ledger say of a topology. Raises FileError for a file that
    cannot be used.
    """
    profiles, profiled = _calibrated(config, settings)
    file, digest, place = known_site(config, settings)
    own = ASSUMED if config.packing is None or config.packing.cores is None else TOPOLOGY_FILE
    site = KnownSite(file, digest, Provenance(Origin.DECLARED, place) if place else own)
    counted = counted_keys(settings.history_dir, config.topology)
    history = KnownHistory(settings.history_dir, config.topology)
    return Situation(config, profiles, profiled, counted, site, past, history)


def recalibrated(situation: Situation, settings: Settings) -> Situation:
    """The same after a calibration. Raises FileError."""
    profiles, profiled = _calibrated(situation.config, settings)
    return replace(situation, calibrated=profiles, profiled=profiled)


def _calibrated(config: TopologyConfig, settings: Settings) -> tuple[dict[str, OperatorProfile], dict[str, Provenance]]:
    """Profiles as last calibrated, and where they come from."""
    profiles = kept_profiles(config, settings)
    path = profile_path(config, settings)
    at = measured_at(path) if path.exists() else None
    profiled = {
        name: Provenance(Origin.MEASURED, CALIBRATION, at, profile.samples) if profile.samples else TOPOLOGY_FILE
        for name, profile in profiles.items()
    }
    return profiles, profiled
