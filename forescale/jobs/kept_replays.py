"""Finished replays, stored by the digest of all their inputs, so that an interrupted contest resumes."""

import hashlib
from collections.abc import Mapping
from dataclasses import dataclass, fields
from importlib.metadata import version
from pathlib import Path

from pydantic import TypeAdapter

from modeling.inputs.operator_profile import OperatorProfile
from planner.errors import PlanError
from planner.replay.contest import BUDGETED, FORECASTING, OURS, Contest
from planner.replay.load import Load
from planner.replay.own_budget import policy_of
from planner.replay.pipeline_forecasts import PipelineForecasts
from planner.replay.timeline import Timeline, Track, read_timeline, write_timeline
from planner.replay.variation import Variation

KEPT_VERSION = 3
"""Version of the simulator; raised when the same inputs give another result."""
CHANGED: Mapping[str, int] = {
    "cron": 1,
    "flink-autoscaler-tuned": 1,
    "guard": 1,
    "daedalus": 1,
    "forecast-only": 1,
    "planner": 6,
    "planner-perfect": 6,
    "hindsight": 1,
}
"""Version of each policy that has changed; raised when it decides differently from the same inputs."""
ASKING: Mapping[str, frozenset[str]] = {
    "forecasts": FORECASTING,
    "allowed_share": BUDGETED,
    "headroom": OURS,
    "rescale_h": OURS,
    "variation": OURS,
    "pricing": frozenset(),  # priced_by stands for it
    "priced_by": OURS,
    "site": frozenset(),  # placed_by stands for it, and for the packing
    "placing": frozenset(),
    "disruption": OURS,
    "forecast_every_s": OURS,
}
"""Policies that depend on a field of the contest; fields not listed concern all policies."""


@dataclass(frozen=True)
class KeptReplays:
    """folder: of all stored replays."""

    folder: Path
    contest: Contest

    def track(self, policy: str, seed: int) -> Track | None:
        path = self._path(policy, seed)
        try:
            return read_timeline(path).tracks[0] if path.exists() else None
        except PlanError:
            return None  # incomplete, or of another release: made again

    def keep(self, track: Track) -> None:
        """Raises PlanError if it cannot be written."""
        path = self._path(track.policy, track.seed)
        write_timeline(Timeline(self.contest.topology.name, self.contest.max_lag_s, (track,)), path)

    def _path(self, policy: str, seed: int) -> Path:
        base, contest = policy_of(policy), self.contest.within_budget_of(policy)
        told = [version("forescale"), str(KEPT_VERSION), policy, str(CHANGED.get(base, 0)), str(seed)]
        for field in fields(contest):
            asking = ASKING.get(field.name)
            if asking is None or base in asking:
                told.append(f"{field.name}={_as_text(getattr(contest, field.name))}")
        return self.folder / f"{hashlib.sha256('|'.join(told).encode()).hexdigest()[:24]}.parquet"


def digest_of(*values: object) -> str:
    return hashlib.sha256("|".join(map(_as_text, values)).encode()).hexdigest()[:24]


def _as_text(value: object) -> str:
    if isinstance(value, Load):
        return value.digest()
    if isinstance(value, PipelineForecasts | Variation):
        return value.digest
    kind = dict[str, OperatorProfile] if isinstance(value, Mapping) else type(value)
    return TypeAdapter(kind).dump_json(value).decode()
