"""A job in a process of its own that others fork: with its settings, and in a group of its own, which can be killed."""

import os
from collections.abc import Mapping
from pathlib import Path


def begin(job: str, environment: Mapping[str, str], errors: str) -> None:
    """Run code that has settings as `s`, and Workspace. errors: the file for what it says of its failure."""
    os.setsid()
    with Path(os.devnull).open("w") as nothing, Path(errors).open("w") as said:
        os.dup2(nothing.fileno(), 1)
        os.dup2(said.fileno(), 2)
    os.environ.update(environment)
    names = "from forescale.settings import Settings; from forescale.situation.workspace import Workspace"
    exec(f"{names}; s = Settings(); {job}", {})
