"""`forescale doctor`: what a decision needs and lacks, with the remedy. The first command when something is wrong."""

from collections.abc import Iterator
from dataclasses import asdict, replace
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.expected import EXPECTED
from forescale.cli.installation import workspace_of
from forescale.cli.options import SomeTopology
from forescale.cli.output import AsJson, plain, say_json
from forescale.doctor.examination import CheckVerdict, Expected, Finding, examined
from forescale.doctor.installation import installation_checks, settings_check
from forescale.doctor.topology_checks import Patient, topology_checks
from forescale.files.topology import topology_files
from forescale.situation.workspace import Workspace

SIGNS = {CheckVerdict.GOOD: "✔", CheckVerdict.BAD: "✘", CheckVerdict.UNCHECKED: "·"}


def doctor(
    context: typer.Context,
    topology: SomeTopology = None,
    fleet: Annotated[Path | None, typer.Option(help="Fleet file, which is no topology file of the folder.")] = None,
    as_json: AsJson = False,
) -> None:
    """Check everything a decision needs; exits with 1 on a failure."""
    findings = []
    for finding in diagnosed(workspace_of(context), EXPECTED, topology, fleet):
        findings.append(finding)
        if as_json:
            continue
        title = f"{finding.of}: {finding.check}" if finding.of and topology is None else finding.check
        told = f"not checked: {finding.detail}" if finding.verdict is CheckVerdict.UNCHECKED else finding.detail
        plain(f"{SIGNS[finding.verdict]} {title}: {told}")
        if finding.remedy:
            plain(f"  → {finding.remedy}")
    good = not any(finding.verdict is CheckVerdict.BAD for finding in findings)
    if as_json:
        say_json({"good": good, "findings": [asdict(finding) for finding in findings]})
    if not good:
        raise typer.Exit(1)


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
