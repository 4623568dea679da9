"""How commands answer: Rich tables for people, one JSON document for machines, errors in a line on standard error."""

import io
import json
import math
import os
import sys
from collections.abc import Callable, Iterable, Mapping
from dataclasses import is_dataclass
from pathlib import Path
from typing import Annotated, Any

import typer
from rich.console import Console
from rich.markup import escape
from rich.table import Table

from forescale.codec import to_json
from forescale.files.atomic import check_replaceable

# Into a file or a pipe there is no width to keep to; 80 columns would fold every table.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
MAX_PROCESSES = 1024
"""More are no number of cores but a slip of the finger."""
AsJson = Annotated[bool, typer.Option("--json", help="Answer as one JSON document.")]


def say_in_any_encoding() -> None:
    """What a terminal's encoding lacks is written as an escape, whatever it is; the rest as it stands."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say_json(body: object) -> None:
    """One JSON document on standard output, of plain values or of a job's result. What is infinite is `null`: JSON has
    no word for it.
    """
    body = to_json(body) if is_dataclass(body) else body
    sys.stdout.write(json.dumps(_finite(body), indent=2, default=str) + "\n")


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A table whose cells are plain text: nothing in them is taken for markup."""
    made = Table(title=escape(title), title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        made.add_row(*(escape(str(cell)) for cell in row))
    return made


def check_output(option: str, path: Path | None, failure: Callable[[str], Exception]) -> None:
    """Fails where a file that an option asks for could not be written: before hours of work for it, not after."""
    if path is None:
        return
    try:
        check_replaceable(path)
        if not path.absolute().parent.is_dir():
            raise failure(f"{option} {path}: there is no folder {path.parent}; check the path, or make the folder")
        if not os.access(path.absolute().parent, os.W_OK | os.X_OK):
            raise failure(f"{option} {path}: nothing may be written into {path.parent}; name a file elsewhere")
    except OSError as error:
        raise failure(f"{option} {path} cannot be written: {error.strerror or error}; name another file") from None


def check_page(plot: Path | None, failure: Callable[[str], Exception]) -> None:
    """Fails where --plot is given and is no name of a page, or cannot be written."""
    if plot is not None and plot.suffix.lower() not in (".html", ".htm"):
        raise failure(f"--plot {plot} is not the name of a page; give one that ends in .html")
    check_output("--plot", plot, failure)


def plain(text: str) -> None:
    """A line as it is."""
    console.print(escape(text), soft_wrap=True)


def _finite(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
