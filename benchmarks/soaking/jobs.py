"""The jobs that a soak's roles run for a topology: the project's own, with each error under the stage it stopped."""

import errno
import subprocess
import sys
from collections.abc import Callable, Mapping
from datetime import UTC, datetime, timedelta

from roles import DECISION, DEFECT
from world import workspace_of

from forescale.cli.expected import EXPECTED
from forescale.jobs.aggregate import aggregate
from forescale.jobs.deploy import deploy_due
from forescale.jobs.forecast import forecast
from forescale.jobs.guard import guard
from forescale.jobs.plan import plan
from forescale.jobs.prune import Retention, prunable, prune
from forescale.jobs.review import review
from forescale.settings import Settings

FULL_DISK = (errno.ENOSPC, errno.EDQUOT)


def decided(settings: Settings, topology: str) -> dict[str, str]:
    """Run an hour's stages as the DAGs do: a failed stage does not stop the later ones."""
    return learnt(settings, topology) | planned(settings, topology)


def learnt(settings: Settings, topology: str) -> dict[str, str]:
    """Read the newest arrivals and forecast."""
    stages: Mapping[str, Callable[[], object]] = {
        "aggregate": lambda: aggregate(workspace_of(settings), topology),
        "forecast": lambda: forecast(workspace_of(settings), topology),
    }
    return {stage: why for stage, run in stages.items() if (why := _error(run))}


def planned(settings: Settings, topology: str) -> dict[str, str]:
    """Plan, and approve the steps that need it."""
    told: dict[str, str] = {}

    def both() -> None:
        made = plan(workspace_of(settings), topology)
        if made.asks:
            review(workspace_of(settings), made.schedule_id, approve=True, by="soak")
        told[DECISION] = made.schedule_id

    if why := _error(both):
        told["plan"] = why
    return told


def deployed(settings: Settings, topology: str) -> dict[str, str]:
    """Deploy due steps. Held steps are reported as well, because they are looked at again."""
    told: dict[str, str] = {}

    def due() -> None:
        done = deploy_due(workspace_of(settings), topology)
        told.update({f"failed {step}": why for step, why in done.failed.items()})
        told.update({f"held {step}": why for step, why in done.held.items()})

    if why := _error(due):
        told["due"] = why
    return told


def guarded(settings: Settings, topology: str) -> dict[str, str]:
    return {"guard": why} if (why := _error(lambda: guard(workspace_of(settings), topology))) else {}


def pruned(settings: Settings, older_than: timedelta, keep: int) -> dict[str, str]:
    """Data without a date of the replayed clock counts as old: only the newest stays. What MLflow has deleted goes."""

    def remove() -> None:
        retention = Retention(older_than, keep, datetime.now(UTC) + older_than)
        prune(workspace_of(settings), retention, prunable(workspace_of(settings), retention).removable)
        uri = settings.tracking_uri
        command = [sys.executable, "-m", "mlflow", "gc", "--backend-store-uri", uri, "--tracking-uri", uri]
        subprocess.run(command, check=True)

    return {"prune": why} if (why := _error(remove)) else {}


def _error(run: Callable[[], object]) -> str:
    """The message with which a command would exit with 1; any other exception is a defect."""
    try:
        run()
    except EXPECTED as error:
        return f"{type(error).__name__}: {error}"
    except OSError as error:
        if error.errno in FULL_DISK:
            return f"OSError: {error}"
        return f"{DEFECT}: {type(error).__name__}: {error}"
    return ""
