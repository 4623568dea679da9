"""`sbom.py FOLDER` writes a bill of materials of all that the lock pins: CycloneDX 1.6, as JSON.

Made of the lock alone, so the same lock gives the same bytes. What only tests and tools of the project need has the
scope `excluded`; a requirement that only some platforms or versions of Python need bears its marker.
"""

import json
import re
import sys
import tomllib
import uuid
from pathlib import Path
from typing import Any

from constraints import LOCK, OURS, constraints, pinned

PROJECT = tomllib.loads((LOCK.parent / "pyproject.toml").read_text(encoding="utf-8"))["project"]
ROOT = f"pkg:pypi/{PROJECT['name']}@{PROJECT['version']}"


def bill(lock: str) -> dict[str, Any]:
    """The whole document."""
    entries, needed = dict(pinned(lock)), set(constraints(lock))
    hashes = _hashes(lock)
    return {
        "$schema": "http://cyclonedx.org/schema/bom-1.6.schema.json",
        "bomFormat": "CycloneDX",
        "specVersion": "1.6",
        "serialNumber": f"urn:uuid:{uuid.uuid5(uuid.NAMESPACE_URL, ROOT + lock)}",
        "version": 1,
        "metadata": {"component": _component(PROJECT["name"], PROJECT["version"], "application")},
        "components": [_library(line, hashes[line], needed=line in needed) for line in entries],
        "dependencies": _dependencies(entries),
    }


def _component(name: str, version: str, kind: str) -> dict[str, Any]:
    purl = f"pkg:pypi/{name}@{version}"
    return {"type": kind, "bom-ref": purl, "name": name, "version": version, "purl": purl}


def _library(line: str, hashes: list[str], *, needed: bool) -> dict[str, Any]:
    """hashes: of each of its files."""
    name, version, marker = _parts(line)
    properties = {"properties": [{"name": "forescale:marker", "value": marker}]} if marker else {}
    return {
        **_component(name, version, "library"),
        "scope": "required" if needed else "excluded",
        "hashes": [{"alg": "SHA-256", "content": each} for each in hashes],
        **properties,
    }


def _dependencies(entries: dict[str, set[str]]) -> list[dict[str, Any]]:
    """What asks for what. Of extras nobody says which of them asks: they are of their package."""
    refs = {line: "pkg:pypi/{}@{}".format(*_parts(line)) for line in entries}
    asked = {
        ref: [refs[wanted] for wanted, by in entries.items() if _parts(line)[0] in by] for line, ref in refs.items()
    }
    ours = OURS.rstrip(")")
    asked[ROOT] = [refs[line] for line, by in entries.items() if any(name.startswith(ours) for name in by)]
    return [{"ref": ref, "dependsOn": sorted(wanted)} for ref, wanted in asked.items()]


def _parts(line: str) -> tuple[str, str, str]:
    """Name, version and marker of `name[extra]==version ; marker`."""
    requirement, _, marker = (part.strip() for part in line.partition(";"))
    name, _, version = requirement.partition("==")
    return name.partition("[")[0], version, marker


def _hashes(lock: str) -> dict[str, list[str]]:
    found: dict[str, list[str]] = {}
    of = list[str]()
    for line in lock.splitlines():
        if re.match(r"\w", line):
            of = found[line.removesuffix("\\").strip()] = []
        elif pin := re.search(r"--hash=sha256:([0-9a-f]{64})", line):
            of.append(pin[1])
    return found


def main(folder: Path) -> None:
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{PROJECT['name']}-{PROJECT['version']}.cdx.json"
    written.write_text(json.dumps(bill(LOCK.read_text(encoding="utf-8")), indent=1) + "\n", encoding="utf-8")
    print(written)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
