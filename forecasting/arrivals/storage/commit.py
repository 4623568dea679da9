"""Commits staged parts atomically, on top of the manifest then in force."""

import random
import time
from datetime import UTC, datetime

from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.manifest import MANIFEST, InForce, Manifest, in_force
from forecasting.arrivals.storage.snapshots import put_aside
from forecasting.arrivals.storage.staging import Staging
from forecasting.errors import HistoryError

_ATTEMPTS = 20
_PAUSE_S, _MAX_PAUSE_S = 0.02, 2.0


def commit(folder: Folder, staging: Staging, base: InForce, keep_s: float, now: datetime | None) -> Manifest:
    """Commit what is staged on top of `base`; if another writer was quicker, on top of its commit.

    now: time of the commit, None for the clock's. Raises HistoryError if others are quicker again and again.
    """
    for attempt in range(_ATTEMPTS):
        # Picks up commits made during staging. Each commit archives the one that it supersedes.
        if folder.shared and (current := in_force(folder)) != base:
            staging.upon(current.manifest)
            base = current
        after = staging.manifest(now or datetime.now(UTC), keep_s)
        if base.manifest is not None:
            if after.snapshot == base.manifest.snapshot:
                return after
            put_aside(folder, base.manifest, after.committed_at)
        # If the answer to a put was lost, its retry was refused because of its own first write.
        if folder.replace(MANIFEST, after.to_json(), base.version) or in_force(folder).manifest == after:
            return after
        time.sleep(random.uniform(0, min(_MAX_PAUSE_S, _PAUSE_S * 2**attempt)))  # noqa: S311 - no secret
    winner = in_force(folder).manifest
    won = (
        "" if winner is None else f", the last time by {winner.snapshot} of {winner.committed_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    raise HistoryError(
        f"history in {folder}: other writers committed first {_ATTEMPTS} times{won}; nothing is changed: let them "
        "finish, and write again"
    )
