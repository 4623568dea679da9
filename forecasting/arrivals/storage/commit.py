"""What puts the parts that were staged in force: once, and upon what is in force by then."""

import random
import time
from datetime import UTC, datetime

from forecasting.arrivals.storage.folder import Folder
from forecasting.arrivals.storage.manifest import MANIFEST, InForce, Manifest, in_force
from forecasting.arrivals.storage.snapshots import put_aside
from forecasting.arrivals.storage.staging import Staging
from forecasting.errors import HistoryError

_ATTEMPTS = 20
_PAUSE_S, _LONGEST_PAUSE_S = 0.02, 2.0


def commit(folder: Folder, staging: Staging, base: InForce, keep_s: float, now: datetime | None) -> Manifest:
    """Put in force what is staged upon base; where another writer was quicker, the same change upon its commit.

    now: of the commit, for the clock's. Raises HistoryError where others are quicker again and again.
    """
    for attempt in range(_ATTEMPTS):
        # What has come while it was staged is seen here. Past commits are put aside by whoever supersedes them.
        if folder.shared and (current := in_force(folder)) != base:
            staging.upon(current.manifest)
            base = current
        after = staging.manifest(now or datetime.now(UTC), keep_s)
        if base.manifest is not None:
            if after.snapshot == base.manifest.snapshot:
                return after
            put_aside(folder, base.manifest, after.committed_at)
        # Where the answer to a put got lost, it was made again, and refused by what it had put itself.
        if folder.replace(MANIFEST, after.to_json(), base.version) or in_force(folder).manifest == after:
            return after
        time.sleep(random.uniform(0, min(_LONGEST_PAUSE_S, _PAUSE_S * 2**attempt)))  # noqa: S311 - no secret
    winner = in_force(folder).manifest
    won = (
        "" if winner is None else f", the last time by {winner.snapshot} of {winner.committed_at:%Y-%m-%d %H:%M:%S} UTC"
    )
    raise HistoryError(
        f"history in {folder}: other writers committed first {_ATTEMPTS} times{won}; nothing is changed: let them "
        "finish, and write again"
    )
