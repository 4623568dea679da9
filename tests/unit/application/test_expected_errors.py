"""Each command and each task loads what may go wrong, whatever it is about."""

import os
import subprocess
import sys
from pathlib import Path

import pytest


def test_what_may_go_wrong__is_known_without_the_model_and_the_ledger() -> None:
    loaded = "import sys, forescale.cli.expected; print({'scipy', 'numpy', 'sqlalchemy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"


@pytest.mark.parametrize("closed", ["", ">&-", "2>&-", ">&- 2>&- <&-"])
def test_command__without_an_output_ends_with_its_own_status(tmp_path: Path, closed: str) -> None:
    here = {"FORESCALE_HOME": str(tmp_path), "FORESCALE_TOPOLOGIES": str(tmp_path)}
    command = f"{sys.executable} -c 'from forescale.cli import main; main()' plan list none {closed}"
    ended = subprocess.run(["sh", "-c", command], env=os.environ | here, capture_output=True, text=True)
    assert (ended.returncode, "Traceback" in ended.stderr) == (1, False), ended.stderr
    assert closed or "no topology 'none'" in ended.stderr
