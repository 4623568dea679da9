"""Writes the home that the tests of upgrades read, with the code of 0.1: commit 2563c4e.

The version was never tagged; that commit is the first with the whole way of a decision. From a clone:

    git worktree add --detach ../forescale-0.1 2563c4e
    cd tests/written_by_0_1
    PYTHONPATH=$(realpath ../../../forescale-0.1) ../../.venv/bin/python write_home.py FOLDER home.tar.xz

FOLDER must not exist; it holds the home while it is made. The libraries are those of today's lock, as their own formats
are no matter of these tests.
"""

import os
import shutil
import subprocess
import sys
import tarfile
from collections.abc import Iterator
from datetime import UTC, datetime, timedelta
from math import cos, pi
from pathlib import Path

FIRST = datetime(2026, 3, 2, tzinfo=UTC)
NOW = FIRST + timedelta(days=5, hours=6)
LAST = FIRST + timedelta(days=6)
TOPOLOGY = """\
topology: calls
operators:
  ingest: { service_s: 0.01 }
  transcribe: { service_s: 20.0, service_cv2: 0.5, key_shares: { de: 0.5, en: 0.25, fr: 0.25 } }
streams:
  - { from: ingest, to: transcribe, grouping: fields, selectivity: 1.0 }
arrivals:
  path: events.csv
  format: csv
  columns: { time: called_at, key: language, id: call_id }
  source: ingest
  window_s: 900
forecast: { step_s: 900, horizon_s: 14400, train_days: 7, origins: 4, paths: 100 }
planning:
  quantile: 0.95
  slot_s: 900
  max_utilisation: 0.85
  max_lag_s: 180
  downtime_s: 30
  safety_s: 300
  min_dwell_s: 3600
  rescale_cost_instance_hours: 1
  max_instances: 20
cluster:
  kind: simulator
  truth: truth
  slots: 32
  downtime_s: 25
  parallelism: { ingest: 1, transcribe: 2 }
  service_s: { transcribe: 21.0 }
"""


def calls() -> Iterator[tuple[datetime, str]]:
    """Calls at even distances within each quarter of an hour: 20 of them at midnight, 100 at noon."""
    languages = ("de", "en", "de", "fr")
    for quarter in range(6 * 96):
        count = round(60 - 40 * cos(2 * pi * (quarter % 96) / 96))
        for number in range(count):
            yield FIRST + timedelta(seconds=900 * (quarter + number / count)), languages[number % 4]


def write_inputs(folder: Path) -> None:
    (folder / "topologies").mkdir(parents=True)
    (folder / "topologies" / "calls.yaml").write_text(TOPOLOGY)
    (folder / "plan.yaml").write_text("topology: calls\nparallelism: { ingest: 1, transcribe: 3 }\n")
    with (folder / "events.csv").open("w") as file:
        file.write("called_at,language,call_id\n")
        for number, (moment, language) in enumerate(calls()):
            file.write(f"{moment.isoformat()},{language},{number}\n")


def main(folder: Path, archive: Path) -> None:
    settings = {
        "FORESCALE_HOME": str(folder),
        "FORESCALE_TOPOLOGIES": str(folder / "topologies"),
        "FORESCALE_MLRUNS": str(folder / "mlruns"),
        "FORESCALE_CLOCK": "trace",
        "FORESCALE_SPARK_MASTER": "local[1]",
    }
    write_inputs(folder)
    (folder / "mlruns").mkdir()

    def run(*arguments: str) -> None:
        code = "from forescale.cli import main; main()"
        subprocess.run([sys.executable, "-c", code, *arguments], cwd=folder, env=os.environ | settings, check=True)

    clock = folder / "clock"
    clock.write_text(LAST.isoformat())
    run("history", "build", "calls")
    shutil.move(folder / "history", folder / "truth")
    clock.write_text((NOW - timedelta(hours=2)).isoformat())
    run("deploy", "plan", "calls", "--set", "transcribe=2")  # starts the simulator
    clock.write_text(NOW.isoformat())
    run("history", "build", "calls")
    run("forecast", "calls")
    run("plan", "calls")
    (folder / "events.csv").unlink()
    for page in folder.rglob("*.html"):  # 5 MB each, and nothing reads them again
        page.unlink()
    with tarfile.open(archive, "w:xz") as packed:
        packed.add(folder, "home")


if __name__ == "__main__":
    main(Path(sys.argv[1]).resolve(), Path(sys.argv[2]))
