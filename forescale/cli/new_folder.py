"""A folder that a command writes to: an empty name, as of a variable that is not set, is never the current folder."""

from pathlib import Path

import typer


def new_folder(name: str) -> Path:
    """Raises typer.BadParameter for an empty name."""
    if not str(name).strip():
        raise typer.BadParameter("the name of the folder is empty; name one, . for the current one")
    return Path(name)
