"""`forescale history show --snapshots`: the commits of a history that can be read."""

from datetime import datetime, timedelta
from typing import Any

from forecasting.arrivals.storage.reading import read_commit
from forecasting.arrivals.storage.snapshots import snapshots as kept_snapshots
from forescale.cli.output import console, say_json, table
from forescale.situation.workspace import Workspace


def say_snapshots(workspace: Workspace, topology: str, *, as_json: bool) -> None:
    """Commits that `show --snapshot` and `check --snapshot` can read, newest first, and until when they are kept."""
    name = workspace.config(topology).topology
    # Asking for snapshots of a topology without a history is an error.
    keep_s = read_commit(workspace.settings.history_dir, name, None, lambda folder, manifest: manifest.keep_s)[1]
    kept = kept_snapshots(workspace.settings.history_dir, name)
    until = {
        one.id: None if one.superseded_at is None else one.superseded_at + timedelta(seconds=keep_s) for one in kept
    }
    if as_json:
        body: list[dict[str, Any]] = [
            {
                "id": one.id,
                "committed_at": one.committed_at.isoformat(),
                "in_force": one.superseded_at is None,
                "kept_until": _iso(until[one.id]),
                "first_date": one.first_date.isoformat(),
                "last_date": one.last_date.isoformat(),
                "dates": one.dates,
                "built_until": _iso(one.built_until),
            }
            for one in kept
        ]
        say_json({"topology": name, "snapshots": body})
        return
    rows = [
        (
            one.id,
            f"{one.committed_at:%Y-%m-%d %H:%M:%S}",
            "in force" if (kept_until := until[one.id]) is None else f"{kept_until:%Y-%m-%d %H:%M}",
            f"{one.first_date} to {one.last_date}",
            one.dates,
            "–" if one.built_until is None else f"{one.built_until:%Y-%m-%d %H:%M}",
        )
        for one in kept
    ]
    columns = ["snapshot", "committed (UTC)", "kept until", "days covered", "days with windows", "built until"]
    console.print(table(f"snapshots of the history of {name}", columns, rows))


def _iso(at: datetime | None) -> str | None:
    return None if at is None else at.isoformat()
