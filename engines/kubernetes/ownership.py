"""Who wrote which field of an object, and when, from the API server's `metadata.managedFields`."""

from collections.abc import Iterator, Mapping
from datetime import datetime
from typing import Any


def field_managers(body: Mapping[str, Any], path: tuple[str, ...]) -> tuple[str, ...]:
    """The managers of a field, latest writer first. path: names from the root of the object."""
    entries = [entry for entry in _entries(body) if _covers(entry.get("fieldsV1"), path)]
    entries.sort(key=lambda entry: str(entry.get("time", "")), reverse=True)
    return tuple(dict.fromkeys(str(entry["manager"]) for entry in entries if "manager" in entry))


def status_changed_at(body: Mapping[str, Any]) -> datetime:
    """When a controller last changed the status, by the API server's clock; if none did, when the object was created.

    Raises ValueError if the object records neither.
    """
    times = [str(entry["time"]) for entry in _entries(body) if entry.get("subresource") == "status" and "time" in entry]
    made = str(body.get("metadata", {}).get("creationTimestamp", ""))
    return datetime.fromisoformat(max(times, default=made))


def _entries(body: Mapping[str, Any]) -> Iterator[Mapping[str, Any]]:
    for entry in body.get("metadata", {}).get("managedFields") or ():
        if isinstance(entry, dict):
            yield entry


def _covers(fields: object, path: tuple[str, ...]) -> bool:
    for name in path:
        if not isinstance(fields, dict) or f"f:{name}" not in fields:
            return False
        fields = fields[f"f:{name}"]
    return True
