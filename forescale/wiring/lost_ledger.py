"""Tells a new ledger from a lost one: a home with deployments or reports has had a ledger."""

import sqlite3
from pathlib import Path

from forescale.settings import Settings
from planner.errors import LedgerError

SMALL_BYTES = 16 << 10
"""A file with the ledger's tables is larger."""
WITHOUT_LEDGER = frozenset({"replay.html"})
"""Pages that are written without a ledger."""


def is_new(file: Path) -> bool:
    """Whether no ledger is in the file: it does not exist, is empty, or holds no table."""
    try:
        size = file.stat().st_size
    except FileNotFoundError:
        return True
    if size == 0:
        return True
    if size > SMALL_BYTES:
        return False
    try:
        connection = sqlite3.connect(f"{file.absolute().as_uri()}?mode=ro", uri=True)
        try:
            return bool(connection.execute("SELECT count(*) FROM sqlite_master").fetchone() == (0,))
        finally:
            connection.close()
    except sqlite3.Error:
        return False  # it is opened as a ledger next, which says what is wrong


def check_not_lost(settings: Settings) -> None:
    """Raises LedgerError where the ledger's file holds no ledger, and the home holds what was made with one.

    Approvals, steps under way and actions that must not be repeated would be forgotten without a word.
    """
    file = settings.ledger_file
    if file is None or not is_new(file):
        return
    traces = [folder for folder in (settings.home / "deployments", settings.reports_dir) if _is_trace(folder)]
    if traces:
        state, places = "is empty" if file.exists() else "does not exist", " and ".join(map(str, traces))
        raise LedgerError(
            f"ledger {file} {state}, but {places} were written with one: it was lost; restore its copy "
            "(docs/operations.md, Backup) or correct FORESCALE_LEDGER_URL; to begin anew, without its approvals and "
            f"steps, move {places} away"
        )


def _is_trace(folder: Path) -> bool:
    if folder.name == "deployments":
        return folder.is_dir()
    return any(page.name not in WITHOUT_LEDGER for page in folder.glob("*/*"))
