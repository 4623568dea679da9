"""The unit files in examples/systemd, as systemd itself reads them."""

import os
import re
import shutil
import subprocess
from pathlib import Path

import pytest
from typer.main import get_command

from forescale.cli.commands import asked
from forescale.cli.main import application
from forescale.places import bundled

UNITS = sorted((bundled("examples") / "systemd").glob("*.service"))
PROGRAM = "/opt/forescale/bin/forescale"


def verified(body, folder, name):
    """Exit code and complaints. The program is not where the unit expects it; another stands in."""
    tool = shutil.which("systemd-analyze")
    if tool is None:
        if os.environ.get("CI") == "true":
            pytest.fail("systemd-analyze is not installed; scripts/tools.sh systemd installs it")
        pytest.skip("systemd-analyze is not installed")
    file = folder / name
    file.write_text(body.replace(PROGRAM, shutil.which("true") or "/bin/true"))
    done = subprocess.run([tool, "verify", "--man=no", file], capture_output=True, text=True, check=False)
    return done.returncode, [line for line in done.stderr.splitlines() if name.split("@")[0] in line]


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit__is_accepted_by_systemd(unit, tmp_path):
    assert verified(unit.read_text(), tmp_path, unit.name) == (0, [])


def test_systemd__complains_of_a_key_that_it_does_not_know(tmp_path):
    (unit,) = (unit for unit in UNITS if unit.name == "forescale.service")
    _, complaints = verified(unit.read_text().replace("RestartSec=", "RestartSecs="), tmp_path, unit.name)
    assert len(complaints) == 1


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit__starts_a_command_that_there_is(unit):
    words = re.search(rf"^ExecStart={PROGRAM} (.*)$", unit.read_text(), re.MULTILINE)[1].split()
    command = get_command(application(*asked(words)))
    for word in asked(words):
        command = command.commands[word]
    options = {name for each in command.params for name in each.opts}
    assert {word for word in words if word.startswith("--")} <= options


@pytest.mark.parametrize("unit", UNITS, ids=lambda unit: unit.name)
def test_unit__keeps_all_of_it_in_its_state_directory(unit):
    """ProtectSystem=strict leaves nothing else to write to but the cache."""
    body = unit.read_text()
    assert "StateDirectory=forescale\n" in body
    homes = re.findall(r"(?:--home |FORESCALE_HOME=)(\S+)", body)
    assert [Path(home) for home in homes] == [Path("/var/lib/forescale")]
