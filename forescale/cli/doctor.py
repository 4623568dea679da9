"""`forescale doctor`: what a decision needs and lacks, with the remedy. The first command when something is wrong."""

from dataclasses import asdict
from pathlib import Path
from typing import Annotated

import typer

from forescale.cli.expected import EXPECTED
from forescale.cli.installation import workspace_of
from forescale.cli.output import AsJson, plain, say_json
from forescale.cli.topology_argument import SomeTopology
from forescale.doctor.diagnosis import diagnosed
from forescale.doctor.examination import CheckVerdict

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
