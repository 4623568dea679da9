"""The settings file of a home: lines NAME=VALUE, read as dotenv files are, and refused where one would be left out.

python-dotenv skips a line that it cannot read with a warning, takes the last of two values, and fills in ${NAME}: a
setting that is lost so might change who decides.
"""

import difflib
from collections.abc import Collection
from io import StringIO
from pathlib import Path

from dotenv.parser import parse_stream

PREFIX = "FORESCALE_"


class SettingsFileError(ValueError):
    """A settings file or an environment that cannot be used; names the place, the variable and the remedy."""


def settings_lines(path: Path, secrets: Collection[str]) -> dict[str, str | None]:
    """Values by name, as they stand. secrets: names of settings that may hold `${`, such as passwords.

    Raises SettingsFileError naming file and line, without the line: it may hold a password. Raises UnicodeDecodeError.
    """
    values, lines = dict[str, str | None](), dict[str, int]()
    text = path.read_text(encoding="utf-8-sig")
    if "\0" in text:  # what some file systems leave of a file that was written when the power failed
        line = text.count("\n", 0, text.index("\0")) + 1
        raise SettingsFileError(f"{path}, line {line} holds a null byte: the file is damaged; restore its copy")
    bindings = list(parse_stream(StringIO(text)))
    for binding in bindings:
        line = binding.original.line + _blank_lines(binding.original.string)
        place = f"{path}, line {line}"
        if binding.error:
            raise SettingsFileError(
                f"{place} cannot be read (it is not shown); write NAME=value, with both quotes or none"
            )
        if binding.key is None:
            continue
        name = binding.key.upper()
        if not name.startswith(PREFIX):
            values[binding.key] = binding.value
            continue
        if name in lines:
            raise SettingsFileError(f"{place}: {name} is given twice, first in line {lines[name]}; leave one out")
        if name not in secrets and "${" in (binding.value or ""):
            raise SettingsFileError(f"{place}: {name} holds ${{…}}, which nothing fills in; write the value out")
        values[binding.key], lines[name] = binding.value, line
    return values


def _blank_lines(text: str) -> int:
    """Number of lines before the first that is not blank: python-dotenv counts them to the next binding."""
    return text[: len(text) - len(text.lstrip())].count("\n")


def misspelt_prefix(variable: str, fields: Collection[str]) -> str:
    """What a variable such as FORSCALE_REVIEW was meant to be; empty for those of others.

    >>> misspelt_prefix("FORSCALE_REVIEW", ["review"]), misspelt_prefix("JAVA_HOME", ["home"])
    ('FORESCALE_REVIEW', '')
    """
    prefix, separator, field = variable.upper().partition("_")
    alike = difflib.SequenceMatcher(None, prefix, PREFIX.rstrip("_")).ratio()
    return f"{PREFIX}{field}" if separator and field.lower() in fields and 0.85 <= alike < 1 else ""
