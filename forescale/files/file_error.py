"""One error for all unusable input files, in words that name place, value and remedy."""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import TYPE_CHECKING

from pydantic import ValidationError

from engines.redaction import without_logins
from forescale.files.shown import shown
from modeling.errors import ModelError

if TYPE_CHECKING:
    from pydantic_core import ErrorDetails

MAX_PROBLEMS = 20
GONE = {
    "planning.slot_s": "schedules have no slots any more",
    "planning.safety_s": "lead_s is how much earlier a larger plan is asked for",
}
"""Fields of 0.1 that were removed in 0.2, each with its replacement."""


class FileError(ValueError):
    """A file that cannot be used; names the file, the line or field, the value and the remedy."""


@contextmanager
def field_errors(file: object, remedy: str = "") -> Iterator[None]:
    """Turn a pydantic or model error into a FileError that names the file, with one line per field.

    remedy: says where a file of that kind is described.
    """
    try:
        yield
    except ModelError as error:
        raise FileError(without_logins(f"{file}: {error}")) from None
    except ValidationError as error:
        problems = error.errors()[:MAX_PROBLEMS]
        sentences = "\n".join(f"{_sentence(file, problem)}{remedy}" for problem in problems)
        raise FileError(without_logins(sentences)) from None


def _sentence(file: object, problem: "ErrorDetails") -> str:
    """pydantic's finding, with the file and the field."""
    place = [str(part) for part in problem["loc"]]
    if place[:1] == ["arrivals"]:
        # pydantic puts the kind of source between the section and its field.
        del place[1:2]
    if place[:1] == ["events"]:
        # As with arrivals, after the number of the entry.
        del place[2:3]
    field = ".".join(place) or "(file)"
    if problem["type"] == "missing":
        return f"{file}: {field} is missing; add it"
    if problem["type"] in ("extra_forbidden", "unexpected_keyword_argument"):
        if field in GONE:
            return f"{file}: {field} was removed in 0.2; delete it: {GONE[field]}"
        return f"{file}: {field} is not a known field; remove it or correct its name"
    message = problem["msg"].removeprefix("Value error, ")
    given = problem["input"]
    # Repeat only plain values: a whole section may hold an address with a password, and so may a text where true or
    # false stands.
    alone = isinstance(given, str | int | float) and problem["type"] not in ("value_error", "bool_parsing")
    return f"{file}: {field}: {message}" + (f" (given: {shown(given)})" if alone else "")
