"""Duplicate keys of a JSON object, which Python and pydantic resolve silently: the last one counts."""

from collections.abc import Sequence
from typing import Any


def unique_keys(pairs: Sequence[tuple[str, Any]]) -> dict[str, Any]:
    """An object_pairs_hook of json. Raises ValueError for a key that is given twice."""
    fields = dict(pairs)
    if len(fields) < len(pairs):
        names = [name for name, _ in pairs]
        twice = next(name for number, name in enumerate(names) if name in names[:number])
        raise ValueError(f"{twice!r} is given twice; leave one out")
    return fields
