"""What to replay: the arrivals, the policies, and what differs from the topology file and from its profiles."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path

from forescale.files.file_error import FileError, field_errors
from forescale.files.shown import shown
from forescale.files.site import SiteEntry
from forescale.files.topology import TopologyConfig
from forescale.files.typed_fields import with_fields
from forescale.jobs.replay_engine import GivenRescale
from forescale.jobs.replay_terms import Deviations
from planner.errors import PlanError
from planner.replay.contest import USUAL, check_policy

SET = "--set"
SECTIONS = ("planning", "forecast")
"""Sections of the topology file whose fields a replay may set."""
RESTORE = "rescale.restore_s_per_gib"
"""The one field of the site that a replay may set."""
MINUTE_S, DAY_S = 60, 86400


@dataclass(frozen=True)
class ReplayRequest:
    """trace: a CSV file; None for the topology's own history. out: of the timeline; None: in the home.

    policies: names, in order, as `planner.replay.own_budget` reads them. changes: values of SECTIONS of the topology
    file by field (`planning.lead_s`), or of RESTORE; lead and downtime of a rescale are then not as learnt. site: file
    with containers, nodes, checkpoints and state restore, None: that of `packing`. deviations: of reality from the
    profiles. seeds: number of simulated realities. days: of a history, up to its end. scale: factor on all arrivals.
    against: the policy to compare the others with, seed by seed. workers: processes.
    """

    topology: str
    out: Path | None = None
    trace: Path | None = None
    policies: tuple[str, ...] = USUAL
    changes: Mapping[str, object] = field(default_factory=dict)
    site: Path | None = None
    deviations: Deviations = field(default_factory=Deviations)
    seeds: int = 1
    start: datetime | None = None
    end: datetime | None = None
    days: float | None = None
    scale: float = 1.0
    against: str | None = None
    workers: int | None = None

    def changed(self, config: TopologyConfig) -> TopologyConfig:
        """The configuration with the changes. Raises FileError naming field, value and remedy."""
        sections: dict[str, dict[str, object]] = {section: {} for section in SECTIONS}
        for name, value in self.changes.items():
            section, _, own = name.partition(".")
            if section in sections:
                sections[section][own] = value
        return with_fields(config, SET, sections)

    def given_rescale(self, config: TopologyConfig) -> GivenRescale:
        """config: with the changes. Raises FileError for a speed of restore that is none."""
        planning = config.planning
        return GivenRescale(
            planning.lead_s if "planning.lead_s" in self.changes else None,
            planning.downtime_s if "planning.downtime_s" in self.changes else None,
            _restore_s_per_gib(self.changes[RESTORE]) if RESTORE in self.changes else None,
        )

    def check(self) -> None:
        """Raises PlanError or FileError naming option, value and remedy."""
        for name in self.policies:
            check_policy(name)
        if self.against is not None and self.against not in self.policies:
            raise PlanError(f"--against {self.against!r} is not replayed; name one of {', '.join(self.policies)}")
        if not self.policies or self.seeds < 1:
            raise PlanError("a replay needs at least one policy and one seed")
        self.deviations.differences()
        if not (math.isfinite(self.scale) and self.scale > 0):
            raise PlanError(f"--scale {self.scale:g}; give a finite number above 0")
        for name in self.changes:
            section, _, own = name.partition(".")
            if (section not in SECTIONS or not own) and name != RESTORE:
                raise FileError(
                    f"{SET} {shown(name)}: a replay sets no such field; name one of planning or forecast, as "
                    f"planning.max_lag_s, or {RESTORE}"
                )


def check_forecast_every(every_s: int) -> None:
    """Raises PlanError for forecasts that a replay cannot place in its days."""
    if DAY_S % every_s:
        raise PlanError(f"forecast.every_s {every_s}; give seconds that divide a day, {MINUTE_S} at least, as 900")


def _restore_s_per_gib(value: object) -> float:
    with field_errors(SET):
        return SiteEntry.model_validate({"rescale": {"restore_s_per_gib": value}}).rescale.restore_s_per_gib
