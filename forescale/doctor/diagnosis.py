"""All checks of an installation and its topologies, side by side."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

from forescale.doctor.examination import Expected, Finding, examined
from forescale.doctor.installation import installation_checks, settings_check
from forescale.doctor.topology_checks import Patient, topology_checks
from forescale.files.topology import topology_files
from forescale.situation.workspace import Workspace


def diagnosed(
    workspace: Workspace, expected: Expected, topology: str | None = None, fleet: Path | None = None
) -> Iterator[Finding]:
    """Findings in the order of need.

    expected: errors about wrong input or surroundings; all others are defects. topology: name or path; None for every
    file in the folder. fleet: the file in that folder that is a fleet file, not a topology file.
    """
    settings = workspace.settings
    names = [path.stem for path in topology_files(settings.topologies, fleet)] if topology is None else [topology]
    of_topologies = [replace(check, of=name) for name in names for check in topology_checks(Patient(workspace, name))]
    return examined([settings_check(settings), *of_topologies, *installation_checks(settings)], expected)
