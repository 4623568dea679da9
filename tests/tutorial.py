"""Sections of the quick start as readers run them: the blocks of shell, in one shell that ends at the first failure."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from forescale.settings import PROJECT

_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
PAGE = PROJECT / "docs" / "quick-start.md"
COMMANDS = re.compile(r"^ *forescale ", re.MULTILINE)


def blocks(heading: str) -> list[str]:
    """Of the section of the quick start below this heading."""
    section = PAGE.read_text(encoding="utf-8").partition(f"\n## {heading}\n")[2].partition("\n## ")[0]
    assert section, f"{PAGE.name} has no section {heading}"
    return _BLOCK.findall(section)


def run_tutorial(heading: str, home: Path, environment: Mapping[str, str], timeout_s: float = 900) -> str:
    """What the blocks of a section print; fails with that where one does. home: for all that forescale keeps."""
    (home / "topologies").mkdir(parents=True, exist_ok=True)
    ours = {
        "FORESCALE_HOME": str(home),
        "FORESCALE_TOPOLOGIES": str(home / "topologies"),
        "FORESCALE_MLRUNS": str(home / "mlruns"),
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
        "PYTHONPATH": str(PROJECT),
    }
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("FORESCALE_")}
    done = subprocess.run(
        ["bash", "-euxo", "pipefail", "-c", "\n".join(blocks(heading))],
        env={**inherited, **ours, **environment},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{heading} ends with {done.returncode}:\n{done.stdout[-6000:]}"
    return done.stdout
