"""A file that holds the section `events` alone, for `forescale forecast backtest --events`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict

from forescale.files.events_section import EventsSection
from forescale.files.file_error import field_errors
from forescale.files.yaml_fields import yaml_fields
from forescale.plain_numbers import PlainNumbers


class _EventsFile(PlainNumbers, BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    events: EventsSection


def read_events_file(path: Path) -> EventsSection:
    """The validated section. Raises FileError naming file, field, value and remedy."""
    body = yaml_fields(path, "events file", "see docs/topology-file.md for one")
    with field_errors(path):
        return _EventsFile.model_validate(body).events
