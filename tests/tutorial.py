"""Tutorials as their readers run them: the blocks of shell, in order, in one shell that ends at the first failure."""

import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

from forescale.settings import PROJECT

_BLOCK = re.compile(r"^```bash\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMANDS = re.compile(r"^ *forescale ", re.MULTILINE)


def blocks(page: Path) -> list[str]:
    return _BLOCK.findall(page.read_text(encoding="utf-8"))


def run_tutorial(page: Path, home: Path, environment: Mapping[str, str], timeout_s: float = 900) -> str:
    """What its blocks print; fails with that where one of them does. home: for all that forescale keeps."""
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
        ["bash", "-euxo", "pipefail", "-c", "\n".join(blocks(page))],
        env={**inherited, **ours, **environment},
        cwd=home,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=timeout_s,
    )
    assert done.returncode == 0, f"{page.name} ends with {done.returncode}:\n{done.stdout[-6000:]}"
    return done.stdout
