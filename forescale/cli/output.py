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

# A process may start without them, as by `>&-` in a shell: what it says is dropped.
sys.stdout = sys.stdout or Path(os.devnull).open("w")  # noqa: SIM115 - open to the end
sys.stderr = sys.stderr or Path(os.devnull).open("w")  # noqa: SIM115

# A file or a pipe has no width; Rich's default of 80 columns would fold every table.
console = Console(highlight=False, width=None if sys.stdout.isatty() else 140)
MAX_PROCESSES = 1024
"""More is a typing error, not a number of cores."""
AsJson = Annotated[bool, typer.Option("--json", help="Answer as one JSON document.")]


def say_in_any_encoding() -> None:
    """Write characters that the terminal's encoding lacks as escapes."""
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")


def say_json(body: object) -> None:
    """Print plain values or a job's result as one JSON document on standard output. Infinite numbers become `null`:
    JSON has no infinity.
    """
    body = to_json(body) if is_dataclass(body) else body
    sys.stdout.write(json.dumps(_finite(body), indent=2, default=str) + "\n")


def table(title: str, columns: Iterable[str], rows: Iterable[Iterable[object]]) -> Table:
    """A table of plain-text cells: Rich markup in them is not interpreted."""
    made = Table(title=escape(title), title_justify="left", header_style="bold", show_edge=False, pad_edge=False)
    for number, column in enumerate(columns):
        made.add_column(column, justify="left" if number == 0 else "right", overflow="fold")
    for row in rows:
        made.add_row(*(escape(str(cell)) for cell in row))
    return made


def check_output(option: str, path: Path | None, failure: Callable[[str], Exception]) -> None:
    """Fail before hours of work, not after, if the output file of an option cannot be written."""
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
    """Fail if --plot is not the name of a page or cannot be written."""
    if plot is not None and plot.suffix.lower() not in (".html", ".htm"):
        raise failure(f"--plot {plot} is not the name of a page; give one that ends in .html")
    check_output("--plot", plot, failure)


def plain(text: str) -> None:
    """Print a line without markup or wrapping."""
    console.print(escape(text), soft_wrap=True)


def _finite(value: object) -> Any:
    if isinstance(value, float) and not math.isfinite(value):
        return None
    if isinstance(value, Mapping):
        return {str(key): _finite(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_finite(item) for item in value]
    return value
