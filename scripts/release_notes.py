"""`release_notes.py FOLDER` writes the notes of the release: its section of the changelog, and what the audit answers.

The notes say so where nothing could be checked. Exits with the audit's code where a vulnerability is known, or the lock
could not be read: such a release is to be decided on by a person.
"""

import re
import subprocess
import sys
import tomllib
from datetime import UTC, date, datetime
from pathlib import Path

ROOT = Path(__file__).resolve().parent.parent
UNCHECKED = 3
"""Exit code of scripts/audit.sh where neither tool nor database was reached."""


def notes(changelog: str, version: str, audit: str, day: date) -> str:
    """Markdown. audit: the answer of scripts/audit.sh on that day. Raises SystemExit if the version has no section."""
    section = re.search(rf"^## \[{re.escape(version)}\].*?(?=^## \[|\Z)", changelog, re.MULTILINE | re.DOTALL)
    if section is None:
        raise SystemExit(f"CHANGELOG.md has no section [{version}]; write it before the release")
    answer = audit.strip()
    block = answer if "\n" not in answer else f"```\n{answer}\n```"
    return f"{section[0].strip()}\n\n### Known vulnerabilities of the locked packages, {day}\n{block}\n"


def main(folder: Path) -> int:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    command = ["bash", str(ROOT / "scripts" / "audit.sh")]
    done = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
    changelog = (ROOT / "CHANGELOG.md").read_text(encoding="utf-8")
    folder.mkdir(parents=True, exist_ok=True)
    written = folder / f"{project['name']}-{project['version']}.notes.md"
    written.write_text(notes(changelog, project["version"], done.stdout, datetime.now(UTC).date()), encoding="utf-8")
    print(written)
    if done.returncode:
        print(done.stdout.strip(), file=sys.stderr)
    return 0 if done.returncode == UNCHECKED else done.returncode


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
