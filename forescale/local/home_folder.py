"""Creates a home: settings file, folder of topology files, DAGs, examples."""

import json
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from forescale.files.atomic import write_whole
from forescale.files.file_error import FileError
from forescale.local.airflow.dag_links import link_dags
from forescale.places import bundled
from forescale.settings import SETTINGS_FILE, Settings
from forescale.settings_file import PREFIX

HEAD = f"""\
# Settings of this home, read by every command whose FORESCALE_HOME is this folder. A variable of the environment has
# precedence over its line here. Take the # away to set one; `forescale config check` shows what holds.
# Passwords may stand here: only the owner can read this file ({SETTINGS_FILE}).
"""


@dataclass(frozen=True)
class HomeFolder:
    """made, kept: names within the home that were created now, and that existed and were left unchanged."""

    home: Path
    made: tuple[str, ...]
    kept: tuple[str, ...]


def make_home(home: Path) -> HomeFolder:
    """Create what is missing; run again, it changes nothing that people may have edited, but links new DAGs.

    Raises FileError if a file is in the place of a folder or DAG link, OSError if home is not writable.
    """
    if home.exists() and not home.is_dir():
        raise FileError(f"{home} is a file; give a folder, or one that does not exist yet")
    before = {path.name for path in home.iterdir()} if home.exists() else set()
    home.mkdir(parents=True, exist_ok=True, mode=0o700)
    link_dags(home / "dags")
    (home / "topologies").mkdir(exist_ok=True)
    if "examples" not in before:
        _copy_whole(bundled("examples"), home / "examples")
    if SETTINGS_FILE not in before:
        write_whole(settings_template(), home / SETTINGS_FILE, mode=0o600)
    parts = (SETTINGS_FILE, "topologies", "dags", "examples")
    return HomeFolder(
        home,
        made=tuple(part for part in parts if part not in before),
        kept=tuple(part for part in parts if part in before),
    )


def settings_template() -> str:
    """Every setting with what it is for and its default, commented out."""
    lines = [HEAD]
    for name, field in Settings.model_fields.items():
        if name != "home":  # the home is where the file is found
            lines.append(f"# {field.description}\n#{PREFIX}{name.upper()}={_as_text(field.default)}\n")
    return "\n".join(lines)


def settings_file(**values: object) -> str:
    """The body of a settings file with these settings."""
    return "".join(f"{PREFIX}{name.upper()}={_as_text(value)}\n" for name, value in values.items())


def _as_text(value: Any) -> str:
    """The value as an environment variable; empty if there is no default or it depends on the home."""
    if isinstance(value, bool | dict):
        return json.dumps(value)
    return str(value) if isinstance(value, str | int | float | Path) else ""


def _copy_whole(source: Path, target: Path) -> None:
    """Copy to a temporary folder and rename: an interruption leaves no folder that looks complete.

    Raises FileError with the first file that cannot be copied, and leaves nothing.
    """
    aside = target.with_name(f".{target.name}.part")
    shutil.rmtree(aside, ignore_errors=True)
    try:
        shutil.copytree(source, aside, ignore=shutil.ignore_patterns("__pycache__"))
        aside.rename(target)
    except shutil.Error as error:
        _, file, reason = error.args[0][0]
        raise FileError(
            f"{Path(file).relative_to(aside)} of {target} cannot be written: {str(reason).partition(': ')[0]}; "
            "free space on that disk, or name another folder"
        ) from None
    finally:
        shutil.rmtree(aside, ignore_errors=True)
