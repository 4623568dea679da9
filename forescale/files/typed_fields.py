"""Fields of a topology file as people type them for one answer, FIELD=VALUE, in place of the file's own."""

from collections.abc import Mapping, Sequence
from typing import Any

import yaml

from forescale.files.file_error import FileError, field_errors
from forescale.files.shown import shown
from forescale.files.topology import TopologyConfig
from forescale.files.yaml_fields import yaml_of_text


def typed_fields(option: str, texts: Sequence[str]) -> dict[str, Any]:
    """Values by field, each read as the file reads it (`padding=0.1`, `nodes={rack-a: 4}`), not validated.

    Raises FileError for any other text and for a field that is given twice.
    """
    fields: dict[str, Any] = {}
    for text in texts:
        name, equals, value = text.partition("=")
        if not (name and equals and value):
            raise FileError(f"{option} {shown(text)} is not FIELD=VALUE; give it like {option} slots=2")
        if name in fields:
            raise FileError(f"{option} gives {name} twice; give each field once")
        try:
            fields[name] = yaml_of_text(value)
        except (yaml.YAMLError, ValueError, RecursionError) as error:
            said = " ".join(str(error).split())
            raise FileError(f"{option} {shown(text)}: {said}; write the value as in the file") from None
    return fields


def with_fields(config: TopologyConfig, option: str, sections: Mapping[str, Mapping[str, Any]]) -> TopologyConfig:
    """The configuration with these fields in these sections, and the others as they are. Checked as the file is, and
    as one with it. Raises FileError naming option, section, field, value and remedy.
    """
    changed: dict[str, dict[str, Any]] = {}
    for section, fields in sections.items():
        if fields:
            own = getattr(config, section)
            before = {} if own is None else own.model_dump(by_alias=True, exclude_unset=True)
            changed[section] = {**before, **fields}
    if not changed:
        return config
    given = {TopologyConfig.model_fields[name].alias or name: getattr(config, name) for name in config.model_fields_set}
    with field_errors(option):
        return TopologyConfig.model_validate(given | changed)
