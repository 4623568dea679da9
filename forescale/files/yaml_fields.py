"""The fields of a YAML file, unvalidated; every kind of YAML file is read by this module.

A text is scanned before it is loaded: a few lines of aliases and merge keys may expand to more values than fit in
memory.
"""

from pathlib import Path
from typing import Any

import yaml

from forecasting.bounded_file import bounded_text
from forescale.files.file_error import FileError
from forescale.files.shown import shown
from forescale.plain_numbers import is_plain

MAX_BYTES = 8 << 20
MAX_DEPTH = 50
MAX_VALUES = 400_000
"""Bound on keys and values, each alias counted as what it expands to."""

MAX_DIGITS = 40
"""Characters of a number. PyYAML takes quadratic time for long ones in base 60, and Python prints no huge integer."""

_BOOL = "tag:yaml.org,2002:bool"
_NUMBERS = ("tag:yaml.org,2002:int", "tag:yaml.org,2002:float")
_Loader: Any = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
"""libyaml's loader, ten times as fast, if PyYAML was built with it."""


def yaml_fields(path: Path, what: str, example: str, *, may_be_empty: bool = False) -> dict[str, Any]:
    """The fields of a YAML file, not validated. Raises FileError if it has no fields, or one of them twice.

    what: name of the file in messages; example: where messages send readers for an example.
    """
    try:
        body = yaml_of_text(bounded_text(path, MAX_BYTES))
    except FileNotFoundError:
        raise FileError(f"{what} {path} does not exist; {example}") from None
    except UnicodeDecodeError as error:
        raise FileError(f"{what} {path} cannot be read: {error}; save it as UTF-8") from None
    except OSError as error:
        raise FileError(f"{what} {path} cannot be read: {error}; check the path") from None
    except RecursionError:
        raise FileError(f"{what} {path} is nested too deeply; {example}") from None
    except _RefusedError as error:
        raise FileError(f"{what} {path}: {error}") from None
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
    """The value of a text. Raises yaml.YAMLError, also for a duplicate key and for more than MAX_VALUES."""
    _check_extent(text)
    return yaml.load(text, _UniqueKeysLoader)  # noqa: S506 - a safe loader


class _RefusedError(yaml.YAMLError):
    """YAML that is refused: a duplicate key in a mapping, too many values, too deep."""


def _check_extent(text: str) -> None:
    """Raises _RefusedError, and RecursionError beyond MAX_DEPTH. Works on libyaml's stream of events."""
    named: dict[str, int] = {}
    begun: list[tuple[str | None, int]] = []
    values = 0
    for event in yaml.parse(text, _Loader):
        match event:
            case yaml.MappingStartEvent() | yaml.SequenceStartEvent():
                begun.append((event.anchor, values))
                values += 1
                if len(begun) > MAX_DEPTH:
                    raise RecursionError(f"more than {MAX_DEPTH} levels")
            case yaml.MappingEndEvent() | yaml.SequenceEndEvent():
                anchor, before = begun.pop()
                if anchor is not None:
                    named[anchor] = values - before
            case yaml.AliasEvent():
                values += named.get(str(event.anchor), 1)
            case yaml.ScalarEvent():
                values += 1
                if "\0" in event.value:
                    raise _RefusedError(f"{_line(event)}: {shown(event.value)} holds a null byte; leave it out")
        if values > MAX_VALUES:
            raise _RefusedError(
                f"{_line(event)}: up to here are more than {MAX_VALUES} keys and values, aliases included; shorten the "
                "file"
            )


def _line(event: yaml.Event) -> str:
    return "the file" if event.start_mark is None else f"line {event.start_mark.line + 1}"


class _UniqueKeysLoader(_Loader):  # type: ignore[misc]
    """Refuses duplicate keys in a mapping: YAML forbids them, PyYAML takes the last one.

    Words such as true and no stay text, from which a field that is true or false is read: as a Python bool, they would
    be numbers to every other field, and names no longer names. So does 8:00, which is 480 to YAML 1.1.
    """

    yaml_implicit_resolvers = {  # noqa: RUF012 - PyYAML's own attribute
        first: [(tag, pattern) for tag, pattern in resolvers if tag != _BOOL]
        for first, resolvers in _Loader.yaml_implicit_resolvers.items()
    }

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self._checked: set[int] = set()

    def construct_object(self, node: yaml.Node, deep: bool = False) -> Any:
        if not isinstance(node, yaml.ScalarNode):
            return super().construct_object(node, deep)
        if node.tag == _BOOL:
            return node.value
        if node.tag in _NUMBERS:
            _check_number(node)
            if ":" in node.value:
                return node.value
        try:
            return super().construct_object(node, deep)
        except yaml.YAMLError:
            raise
        # PyYAML lets errors of the constructors pass: a value that is not what its tag says, a date such as 2026-02-30.
        except (ValueError, LookupError, AttributeError, TypeError, OverflowError):
            kind = node.tag.rpartition(":")[2]
            raise _RefusedError(f"line {_line_of(node)}: {shown(node.value)} is no {kind}; correct it") from None

    def flatten_mapping(self, node: yaml.MappingNode) -> None:
        # A mapping that is merged into others is visited again, with keys merged into it.
        if id(node) not in self._checked:
            self._checked.add(id(node))
            _check_unique(node)
            super().flatten_mapping(node)


def _check_number(node: yaml.ScalarNode) -> None:
    if len(node.value) > MAX_DIGITS:
        raise _RefusedError(
            f"line {_line_of(node)}: number {shown(node.value)} has more than {MAX_DIGITS} characters; shorten it"
        )
    if not is_plain(node.value):
        raise _RefusedError(f"line {_line_of(node)}: number {shown(node.value)} holds _; write digits alone")


def _line_of(node: yaml.Node) -> int:
    return int(node.start_mark.line) + 1


def _check_unique(node: yaml.MappingNode) -> None:
    lines: dict[tuple[str, str], int] = {}
    for key, _ in node.value:
        if not isinstance(key, yaml.ScalarNode):
            continue
        line, told = _line_of(key), (key.tag, key.value)
        if told in lines:
            raise _RefusedError(
                f"line {line}: {key.value!r} is given twice, first in line {lines[told]}; leave one out"
            )
        lines[told] = line
