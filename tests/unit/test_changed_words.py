"""A change of wording changes no id, no state and no decision."""

import os
import subprocess
import sys
from pathlib import Path

import pytest
from word_modules import WORDED

ROOT = Path(__file__).parents[2]
SAMPLE = ("tests/unit/planner/test_withheld_steps.py", "tests/integration/jobs/test_clock_jumps.py")
"""Plans, ids, approvals and steps that wait, on the ledger and the simulator."""


ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("PYTEST_")}


@pytest.mark.slow
def test_other_words__change_no_plan_no_id_and_no_state() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "pytest", "-q", "-p", "changed_words", "-p", "no:randomly", *SAMPLE],
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout[-3000:]


def test_every_module_of_words__is_there_and_says_it_in_other_words() -> None:
    missing = [name for name in sorted(WORDED) if not (ROOT / f"{name.replace('.', '/')}.py").exists()]
    assert missing == []
    code = (
        "import changed_words; changed_words.install()\n"
        "from forescale.report.kit.decision_words import edit_words as of; "
        "print(of.__code__.co_consts)"
    )
    said = subprocess.run(
        [sys.executable, "-c", code],
        cwd=ROOT,
        env=ENVIRONMENT | {"PYTHONPATH": "tests"},
        capture_output=True,
        text=True,
        check=True,
    ).stdout
    assert "ëditëd by " in said
    assert "edited by " not in said
