"""Plans of named files and of folders; duplicates are errors."""

import os
from collections.abc import Sequence
from pathlib import Path

from forescale.files.file_error import FileError
from forescale.files.plan import read_plan_file
from modeling.inputs.physical_plan import PhysicalPlan
from modeling.inputs.topology import Topology

SUFFIXES = (".json", ".yaml", ".yml")


def plan_paths(given: Sequence[Path]) -> list[Path]:
    """The given files in order; a folder stands for all plan files in it, by name, without hidden ones. Raises
    FileError for a folder without any, and for a file given twice.
    """
    found: dict[Path, Path] = {}
    for path in given:
        for each in _in_folder(path) if path.is_dir() else [path]:
            if (same := Path(os.path.realpath(each))) in found:
                raise FileError(f"--plan {each} is given twice; give each plan once")
            found[same] = each
    return list(found.values())


def read_plan_files(paths: Sequence[Path], topology: Topology) -> dict[str, PhysicalPlan]:
    """Plans by path. Raises FileError as read_plan_file, and for two files with the same plan."""
    plans: dict[str, PhysicalPlan] = {}
    known: dict[str, Path] = {}
    for path in paths:
        plan = read_plan_file(path, topology)
        if (other := known.setdefault(plan.plan_id, path)) != path:
            raise FileError(f"plan file {path} holds plan {plan.plan_id}, as {other} does; leave one of them out")
        plans[str(path)] = plan
    return plans


def _in_folder(folder: Path) -> list[Path]:
    try:
        names = sorted(folder.iterdir())
    except OSError as error:
        raise FileError(f"--plan {folder} cannot be read: {error}; check the path") from None
    found = [each for each in names if each.suffix.lower() in SUFFIXES and not each.name.startswith(".")]
    if not found:
        raise FileError(f"--plan {folder} holds no plan file ({', '.join(SUFFIXES)}); put one there, or name another")
    return found
