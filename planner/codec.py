"""The one form in which machines exchange dataclasses: plain JSON with a schema version, and back.

New dataclass fields are written and read without further code. Moments are ISO times. JSON has no infinity, so a number
that is not finite is written as its text.
"""

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from datetime import UTC, date, datetime
from functools import cached_property
from math import isfinite
from pathlib import Path
from typing import Any, Generic, TypeVar

from pydantic import TypeAdapter, ValidationError

from forecasting.arrivals.grid import in_calendar

Json = dict[str, Any]
T = TypeVar("T")


@dataclass(frozen=True)
class Codec(Generic[T]):
    """Converts one dataclass to JSON and back.

    version: raised when a field changes its name or meaning; a new field with a default does not need that. failure:
    makes the exception for a message. what: name of the value in messages; remedy: advice when it cannot be read.
    older: converts fields of an earlier version to the present names; None if no names have changed.
    """

    kind: type[T]
    version: int
    failure: Callable[[str], Exception]
    what: str
    remedy: str
    older: Callable[[Any, int], Any] | None = None

    @cached_property
    def _adapter(self) -> TypeAdapter[T]:
        return TypeAdapter(self.kind)

    def to_json(self, value: T) -> Json:
        """Raises `failure` for a moment without a time zone or outside the calendar that clocks may show."""
        try:
            return {"schema_version": self.version, **_plain(self._adapter.dump_python(value))}
        except ValueError as error:
            raise self.failure(f"moment {error}") from None

    def from_json(self, body: Mapping[str, Any]) -> T:
        """Raises `failure` for a body that is not of this kind or has a later version. A body without a version has
        version 1.
        """
        if not isinstance(body, Mapping):
            raise self.failure(f"{self.what} cannot be read: it is not a JSON object; {self.remedy}")
        written = body.get("schema_version")
        version = written if isinstance(written, int) else 1
        if version > self.version or (version < self.version and self.older is None):
            raise self.failure(
                f"{self.what} has schema version {version}, this release reads {self.version}; {self.remedy}"
            )
        fields: Any = {name: body[name] for name in body if name != "schema_version"}
        if self.older is not None and version < self.version:
            try:
                fields = self.older(fields, version)
            except (ValueError, TypeError, KeyError, AttributeError) as error:
                raise self.failure(f"{self.what} cannot be read: {error}; {self.remedy}") from None
        try:
            value = self._adapter.validate_python(fields)
        except ValidationError as error:
            first = error.errors()[0]
            field = ".".join(str(part) for part in first["loc"]) or "(whole)"
            reason = first["msg"].removeprefix("Value error, ")
            raise self.failure(f"{self.what} cannot be read: {field}: {reason}; {self.remedy}") from None
        try:
            _plain(self._adapter.dump_python(value))
        except ValueError as error:
            raise self.failure(f"{self.what} cannot be read: {error}; {self.remedy}") from None
        return value


def _plain(value: Any) -> Any:
    """Raises ValueError for a moment without a time zone or outside the calendar that clocks may show."""
    match value:
        case Mapping():
            return {str(key): _plain(each) for key, each in value.items()}
        case list() | tuple():
            return [_plain(each) for each in value]
        case datetime():
            return in_calendar(value).astimezone(UTC).isoformat()
        case Path() | date():
            return str(value)
        case float():
            return number_to_json(value)
    return value


def number_to_json(value: float) -> float | str:
    """
    >>> number_to_json(float("inf")), number_to_json(25.0)
    ('inf', 25.0)
    """
    return value if isfinite(value) else str(value)
