"""The fields of a YAML file as they stand there, not validated; every kind of file is read by it."""

from pathlib import Path
from typing import Any

import yaml

from forescale.files.file_error import FileError


def yaml_fields(path: Path, what: str, example: str, *, may_be_empty: bool = False) -> dict[str, Any]:
    """The fields of a YAML file, not validated. Raises FileError where there are none, or one is given twice.

    what: how messages call the file; example: where they send those who have none.
    """
    try:
        body = yaml_of_text(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise FileError(f"{what} {path} does not exist; {example}") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{what} {path} cannot be read: {error}; save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"{what} {path} cannot be read: {error}; check the path") from None
    except RecursionError:
        raise FileError(f"{what} {path} is nested too deeply; {example}") from None
    except _TwiceError as error:
        raise FileError(f"{what} {path}: {error}") from None
    # A date that no calendar has, such as 2026-02-30, is a ValueError of its own.
    except (yaml.YAMLError, ValueError) as error:
        raise FileError(f"{what} {path} is not YAML: {error}; correct it there".replace("\n", " ")) from None
    if body is None and may_be_empty:
        return {}
    if body is None:
        raise FileError(f"{what} {path} is empty; {example}")
    if not isinstance(body, dict):
        raise FileError(f"{what} {path} holds {type(body).__name__}, not fields; see docs/topology-file.md")
    return body


def yaml_of_text(text: str) -> Any:
    """What a text holds. Raises yaml.YAMLError, also for a key that is given twice."""
    return yaml.load(text, _UniqueKeysLoader)  # noqa: S506 - a safe loader


class _TwiceError(yaml.YAMLError):
    """A key that stands twice in a mapping."""


class _UniqueKeysLoader(yaml.SafeLoader):
    """YAML forbids a key that stands twice in a mapping; PyYAML takes the last one."""

    def compose_mapping_node(self, anchor: Any) -> yaml.MappingNode:
        node: yaml.MappingNode = super().compose_mapping_node(anchor)
        lines: dict[tuple[str, str], int] = {}
        for key, _ in node.value:
            if not isinstance(key, yaml.ScalarNode):
                continue
            line, told = key.start_mark.line + 1, (key.tag, key.value)
            if told in lines:
                raise _TwiceError(
                    f"line {line}: {key.value!r} is given twice, first in line {lines[told]}; leave one out"
                )
            lines[told] = line
        return node
