"""`constraints.py FOLDER` writes constraints for `pip install -c`: what the lock pins for forescale and its extras.

The file is named after the version of Airflow, as those that Airflow publishes, and holds no address of an index.
What only tests and tools of the project need is left out, so that it binds nobody. Hashes are left out as well: pip
takes them for requirements only.
"""

import re
import sys
from collections.abc import Iterator
from pathlib import Path

LOCK = Path(__file__).resolve().parent.parent / "requirements.lock"
OURS = "forescale (pyproject.toml)"
"""How uv names what pyproject.toml asks for in its dependencies and extras; of groups it adds their name."""


def constraints(lock: str) -> list[str]:
    """Lines `name==version`, with the marker where there is one, in the lock's order."""
    entries = dict(pinned(lock))
    needed: set[str] = set()
    while found := {
        line for line, wanted_by in entries.items() if line not in needed and wanted_by & ({OURS} | _names(needed))
    }:
        needed |= found
    return [line for line in entries if line in needed]


def _names(lines: set[str]) -> set[str]:
    return {line.partition("==")[0] for line in lines}


def pinned(lock: str) -> Iterator[tuple[str, set[str]]]:
    """Each pinned requirement with the names of what asks for it."""
    for entry in re.split(r"^(?=\w)", lock, flags=re.MULTILINE):
        if "==" not in entry.partition("\n")[0]:
            continue
        line = entry.partition("\n")[0].removesuffix("\\").strip()
        yield line, {wanted.removeprefix("via ").strip() for wanted in re.findall(r"^ +# +(.+)$", entry, re.MULTILINE)}


def main(folder: Path) -> None:
    lines = constraints(LOCK.read_text(encoding="utf-8"))
    (airflow,) = (line.partition("==")[2] for line in lines if line.startswith("apache-airflow=="))
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"constraints-airflow-{airflow}.txt"
    written.write_text("\n".join(lines) + "\n", encoding="utf-8")
    print(written)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
