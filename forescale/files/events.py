"""A file that holds the section `events` alone, for `forescale backtest --events`."""

from pathlib import Path

from pydantic import BaseModel, ConfigDict, ValidationError

from forescale.files.events_section import EventsSection
from forescale.files.topology import TopologyFileError, sentence, yaml_fields


class _EventsFile(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True)

    events: EventsSection


def read_events_file(path: Path) -> EventsSection:
    """The validated section. Raises TopologyFileError naming file, field, value and remedy."""
    body = yaml_fields(path, "events file", "see docs/topology-file.md for one")
    try:
        return _EventsFile.model_validate(body).events
    except ValidationError as error:
        raise TopologyFileError("\n".join(sentence(path, problem) for problem in error.errors())) from None
