"""The first words of `forescale up`: at once, and with how long it takes."""

import re
import subprocess
import time
from pathlib import Path

import pytest
from launched_up import FORESCALE, PATIENCE_S, forescale, without_settings
from machine import in_line_s

SOON_S = 10.0
"""Not counted how long it stands in line for a core; alone it takes two seconds."""


@pytest.mark.slow
@pytest.mark.parametrize("own_home", [True, False], ids=["a home", "the demo"])
def test_up__says_within_seconds_what_it_does_and_how_long_that_takes(tmp_path: Path, *, own_home: bool) -> None:
    environment = without_settings() | {"FORESCALE_HOME": str(tmp_path)}
    if own_home:
        forescale(environment, "config", "init", str(tmp_path))
    began_s = time.monotonic()
    words = [*FORESCALE, "up", "--port", "0", "--mlflow-port", "0", *(["--home", str(tmp_path)] if own_home else [])]
    with subprocess.Popen(words, env=environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True) as up:
        try:
            assert up.stdout is not None
            first = up.stdout.readline()
            assert time.monotonic() - began_s - in_line_s(up.pid) < SOON_S
            assert re.search(r"about \d+ s …$", first.strip()), first
        finally:
            up.terminate()
            up.communicate(timeout=PATIENCE_S)
