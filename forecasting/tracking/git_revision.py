"""The revision of the project that made a forecast."""

import subprocess
from pathlib import Path

UNKNOWN = "unknown"


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
