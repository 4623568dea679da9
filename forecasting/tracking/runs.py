"""MLflow runs owned by processes: opened with tags for filtering, closed by whoever finds them abandoned."""

import logging
import os
import subprocess
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from datetime import timedelta
from pathlib import Path
from typing import TYPE_CHECKING

from forecasting.tracking.run_owner import RunOwner, abandoned_because

if TYPE_CHECKING:
    from mlflow import MlflowClient
    from mlflow.entities import Run

CHALLENGER, CHAMPION = "challenger", "champion"
CLOSED_BECAUSE = "closed_because"
KINDS = frozenset({"training", "refresh", "calibration", "replay"})

log = logging.getLogger(__name__)

UNKNOWN = "unknown"


def open_run(
    client: "MlflowClient", experiment: str, name: str, *, topology: str, kind: str, tags: Mapping[str, str]
) -> str:
    """Open a run owned by this process and return its id, after closing runs left by dead processes."""
    close_abandoned(client, experiment)
    revision = git_revision(Path(__file__).parent)
    all_tags = {
        "topology": topology,
        "kind": kind,
        "git_revision": revision,
        "mlflow.source.git.commit": revision,
        **RunOwner.of_process(os.getpid()).tags(),
        **tags,
    }
    return str(client.create_run(experiment, tags=all_tags, run_name=name).info.run_id)


@contextmanager
def failing(client: "MlflowClient", run_id: str) -> Iterator[None]:
    """An exception within the block marks the run as failed."""
    try:
        yield
    except BaseException:
        client.set_terminated(run_id, "FAILED")
        raise


def close_abandoned(client: "MlflowClient", experiment: str) -> list[str]:
    """Close runs that no process works on any more as KILLED, with the reason; returns their ids.

    Runs of live or unknown processes stay until they are older than MAX_RUN_AGE. A run that cannot be closed is left to
    the next call.
    """
    from mlflow.exceptions import MlflowException

    closed = []
    for run in client.search_runs([experiment], "attributes.status = 'RUNNING'"):
        age = timedelta(milliseconds=time.time() * 1000 - run.info.start_time)
        reason = abandoned_because(run.data.tags, age) if run.data.tags.get("kind") in KINDS else ""
        if not reason:
            continue
        try:
            if client.get_run(run.info.run_id).info.status != "RUNNING":
                continue  # it ended meanwhile
            _close(client, run, reason)
        except MlflowException as error:
            # The error's text may contain the server's login.
            log.warning("run %s, which was abandoned, is not closed: %s", run.info.run_id, type(error).__name__)
            continue
        closed.append(run.info.run_id)
    return closed


def _close(client: "MlflowClient", run: "Run", reason: str) -> None:
    """Close the run. A dead process's incomplete versions are deleted; if its death is uncertain, versions stay."""
    run_id, owner = run.info.run_id, RunOwner.of_tags(run.data.tags)
    if owner is not None and owner.surely_dead():
        for version in client.search_model_versions(f"run_id = '{run_id}'"):
            if CHAMPION not in client.get_model_version(version.name, version.version).aliases:
                client.delete_model_version(version.name, version.version)
    client.set_tag(run_id, CLOSED_BECAUSE, reason)
    client.set_terminated(run_id, "KILLED")


def git_revision(folder: Path) -> str:
    """The commit checked out in a folder, with `+changes` if tracked files differ; UNKNOWN outside git."""
    commit = _git(folder, "rev-parse", "HEAD")
    if commit is None:
        return UNKNOWN
    return commit + ("+changes" if _git(folder, "status", "--porcelain", "--untracked-files=no") else "")


def _git(folder: Path, *arguments: str) -> str | None:
    try:
        done = subprocess.run(
            ["git", "-C", str(folder), *arguments], capture_output=True, text=True, timeout=10, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.stdout.strip() if done.returncode == 0 else None
