"""Results of jobs as JSON and back, for exchange between machines."""

from collections.abc import Mapping
from datetime import datetime
from typing import Annotated, Any, TypeVar

from pydantic import AwareDatetime, PlainSerializer, TypeAdapter

from planner.codec import Codec, Json

SCHEMA_VERSION = 1
"""Version of what one task hands to another. Raised when a field changes its name or meaning; a new field with a
default keeps it."""

Moment = Annotated[AwareDatetime, PlainSerializer(datetime.isoformat, when_used="json")]
"""A moment with its zone; in JSON an ISO time with its offset."""

T = TypeVar("T")


def to_json(result: object) -> dict[str, Any]:
    """The fields of a dataclass by name. Non-finite numbers stay numbers."""
    fields: dict[str, Any] = TypeAdapter(type(result)).dump_python(result, mode="json")
    return fields


def handed_over(result: object) -> Json:
    """The fields with the version of their schema, for another task, perhaps of another release."""
    return _codec(type(result)).to_json(result)


def taken_over(kind: type[T], body: Mapping[str, Any]) -> T:
    """The result that was handed over. A body without a version is from a release that wrote none, with the same
    fields.

    Raises ValueError for another version or another kind.
    """
    return _codec(kind).from_json(body)


def _codec(kind: type[T]) -> Codec[T]:
    return Codec(kind, SCHEMA_VERSION, ValueError, kind.__name__, "start a new run")
