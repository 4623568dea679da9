"""Links from a DAGs folder to the DAG files of the installed package.

Links, not copies: a DAG file imports from the package, so both must have the same version. `pip install --upgrade`
changes both at once behind a link, while a copy might call removed code.
"""

from pathlib import Path

from forescale.files.file_error import FileError
from forescale.places import bundled


def link_dags(folder: Path) -> list[Path]:
    """Create missing links, one per DAG file, and remove links to removed DAGs. Returns all links.

    Raises FileError, and changes nothing, if another file has the name of a link.
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
    """Whether this or another installation made it: an upgrade of Python changes the package's folder."""
    if not place.is_symlink():
        return False
    target = place.readlink()
    installed = target.match("*-packages/forescale/dags/*.py") and target.name == place.name
    return target.parent == bundled("dags") or installed
