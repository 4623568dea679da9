"""Links from a DAGs folder to the DAG files of the installed package.

Links and no copies: a DAG file imports from the package, so the two must be of one version. `pip install --upgrade`
changes both at once behind a link, while a copy would call what is gone.
"""

from pathlib import Path

from forescale.files.file_error import FileError
from forescale.places import bundled


def link_dags(folder: Path) -> list[Path]:
    """The links, one a DAG file, made or left as they are. A link to a DAG that is gone is removed.

    Raises FileError, and changes nothing, where a file that is no such link has the name of one.
    """
    targets = {file.name: file for file in sorted(bundled("dags").glob("*.py"))}
    for name in targets:
        place = folder / name
        if (place.exists() or place.is_symlink()) and not _is_dag_link(place):
            raise FileError(f"{place} is there and no link to a DAG of forescale; move it away, or give another folder")
    folder.mkdir(parents=True, exist_ok=True)
    for place in folder.iterdir():
        if _is_dag_link(place) and place.name not in targets:
            place.unlink()
    return [_linked(folder / name, target) for name, target in targets.items()]


def _linked(place: Path, target: Path) -> Path:
    if not (place.is_symlink() and place.readlink() == target):
        place.unlink(missing_ok=True)
        place.symlink_to(target)
    return place


def _is_dag_link(place: Path) -> bool:
    """Whether this or another installation made it; after an upgrade of Python its folder is another."""
    if not place.is_symlink():
        return False
    target = place.readlink()
    installed = target.match("*-packages/forescale/dags/*.py") and target.name == place.name
    return target.parent == bundled("dags") or installed
