"""Each command and each task loads what may go wrong, whatever it is about."""

import subprocess
import sys


def test_what_may_go_wrong__is_known_without_the_model_and_the_ledger() -> None:
    loaded = "import sys, forescale.cli.expected; print({'scipy', 'numpy', 'sqlalchemy', 'numba'} & set(sys.modules))"
    done = subprocess.run([sys.executable, "-c", loaded], capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
