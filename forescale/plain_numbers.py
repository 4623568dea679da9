"""Numbers as people write them: digits alone. Python also reads 1_0, the digits of other scripts, and true as 1."""

import re
from collections.abc import Collection, Mapping
from typing import Any

from pydantic import GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

MAX_COUNT_DIGITS = 9
"""More digits are not a number of instances, and Python refuses to parse thousands of them."""

_NUMERIC = re.compile(r"[-+]?[\d_]*\d[\d_]*(\.[\d_]*)?")
_NO_SCHEMAS = frozenset({"metadata", "serialization", "default", "config", "ref"})


def is_plain(text: str) -> bool:
    return text.isascii() and "_" not in text


def typed_count(text: str) -> int | None:
    """A whole number; None for anything else."""
    return int(text) if text.isascii() and text.isdecimal() and len(text) <= MAX_COUNT_DIGITS else None


class PlainNumbers:
    """For a pydantic model whose numbers are numbers, or plain digits as text: `true` and `1_0` are refused."""

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        schema: CoreSchema = _with_plain_numbers(handler(source))
        return schema


def _with_plain_numbers(node: Any) -> Any:
    if isinstance(node, list):
        return [_with_plain_numbers(each) for each in node]
    if not isinstance(node, Mapping):
        return node
    of_numbers = node.get("type") == "literal" and all(type(each) is int for each in node["expected"])
    if of_numbers or node.get("type") in ("int", "float"):
        return core_schema.no_info_before_validator_function(_plain_number, node)
    if node.get("function") == _CHECK:
        return node
    return {name: each if name in _NO_SCHEMAS else _with_plain_numbers(each) for name, each in node.items()}


def odd_number(fields: Any, place: str, words: Collection[str] = ()) -> str:
    """Where in fields that are not validated yet, at any depth, true, false or a text such as 1_0 stands for a number,
    and what it is; empty if nowhere. words: names of fields that may be true or false.
    """
    if isinstance(fields, bool) or (isinstance(fields, str) and _NUMERIC.fullmatch(fields) and not is_plain(fields)):
        return f"{place}: {fields!r} is no number in digits alone; write one"
    parts = fields.items() if isinstance(fields, Mapping) else enumerate(fields) if isinstance(fields, list) else ()
    odd = (odd_number(part, f"{place}.{name}", words) for name, part in parts if name not in words)
    return next(filter(None, odd), "")


def _plain_number(value: Any) -> Any:
    if isinstance(value, bool) or (isinstance(value, str) and not is_plain(value)):
        raise PydanticCustomError("plain_number", "Input should be a number, in digits alone")
    return value


_CHECK = {"type": "no-info", "function": _plain_number}
