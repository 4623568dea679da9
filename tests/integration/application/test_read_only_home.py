"""Commands that only read work on a home that is mounted to be read; others say in a line that it cannot be written."""

import json
import os
import shlex
import subprocess
import sys
from pathlib import Path

import pytest
from shadow_days import NAME, install, plan_now

from forescale.settings import PROJECT, Settings

pytestmark = pytest.mark.slow

_MOUNTED = "mount --bind {home} {home} && mount -o remount,ro,bind {home} && exec {command}"


def _ran(settings: Settings, folder: Path, *words: str) -> subprocess.CompletedProcess[str]:
    """The command in a namespace of its own, in which the home is mounted read-only."""
    environment = {
        "FORESCALE_HOME": str(settings.home),
        "FORESCALE_TOPOLOGIES": str(folder),
        "FORESCALE_MLRUNS": str(settings.mlruns),
        "FORESCALE_CLOCK": "trace",
    }
    command = shlex.join([sys.executable, "-c", "from forescale.cli.main import main; main()", *words])
    mounted = _MOUNTED.format(home=shlex.quote(str(settings.home)), command=command)
    return subprocess.run(
        ["unshare", "-rm", "sh", "-c", mounted],
        cwd=PROJECT,
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )


@pytest.fixture(scope="module")
def home(tmp_path_factory: pytest.TempPathFactory) -> tuple[Settings, Path, str]:
    """With a history, a forecast and a schedule: settings, folder of the topology file, id of the schedule."""
    if subprocess.run(["unshare", "-rm", "true"], capture_output=True, check=False).returncode:
        pytest.skip("no namespaces here to mount a folder read-only in")
    folder = tmp_path_factory.mktemp("read-only")
    settings = install(folder, "act")
    return settings, folder, plan_now(settings).schedule_id


@pytest.mark.parametrize(
    ("words", "told"),
    [
        (("plan", "list", NAME), "proposed"),
        (("plan", "list"), "steps of pair"),
        (("deploy", "due", NAME), "nothing is due"),
        (("history", "show", NAME, "--days", "1"), "read"),
        (("model", "evaluate", NAME, "--plan", "PLAN"), "stands on"),
    ],
    ids=lambda words: " ".join(words) if isinstance(words, tuple) else "",
)
def test_commands_that_read__work_on_a_home_that_cannot_be_written(
    home: tuple[Settings, Path, str], words: tuple[str, ...], told: str
) -> None:
    settings, folder, schedule_id = home
    plan = folder / "plan" / "four.yaml"
    plan.parent.mkdir(exist_ok=True)
    plan.write_text(json.dumps({"topology": NAME, "parallelism": {"read": 1, "count": 4}}))
    given = {"SCHEDULE": schedule_id, "PLAN": str(plan)}
    done = _ran(settings, folder, *(given.get(word, word) for word in words))
    assert done.returncode == 0, done.stderr + done.stdout
    assert told in done.stdout
    assert done.stderr == ""


@pytest.mark.parametrize("words", [("plan", NAME), ("plan", "approve", "SCHEDULE"), ("plan", "show", "SCHEDULE")])
def test_commands_that_write__say_in_a_line_what_cannot_be_written(
    home: tuple[Settings, Path, str], words: tuple[str, ...]
) -> None:
    settings, folder, schedule_id = home
    done = _ran(settings, folder, *(schedule_id if word == "SCHEDULE" else word for word in words))
    assert done.returncode != 0
    assert "Traceback" not in done.stderr + done.stdout
    (line,) = [each for each in done.stderr.splitlines() if each]
    assert str(settings.home) in line
    assert "read-only" in line.lower() or "readonly" in line.lower()


def test_doctor__names_the_home_and_what_to_do(home: tuple[Settings, Path, str]) -> None:
    settings, folder, _ = home
    done = _ran(settings, folder, "doctor", NAME)
    assert done.returncode == 1
    assert f"{settings.home.resolve()} cannot be written to: Read-only file system" in done.stdout
    assert "set FORESCALE_HOME" in done.stdout
