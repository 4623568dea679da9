"""Processor time of the commands that run every hour, each in a process of its own, as cron or a shell starts it.

    python benchmarks/commands.py [--against COMMIT] [--repeat 3] [COMMAND…]

A pair of operators on the simulator, nineteen days of history and a forecast that MLflow keeps, in a temporary folder;
each command begins from the same home. Printed is the least of the repetitions, user and system together: what else the
machine does adds to the others. --against: also runs the code of that commit, on a home that it has made itself.
"""

import argparse
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from pathlib import Path
from resource import RUSAGE_CHILDREN, getrusage

ROOT = Path(__file__).resolve().parents[1]
NAME = "pair"

COMMANDS: Mapping[str, tuple[str, ...]] = {
    "--help": ("--help",),
    "forecast": ("forecast", NAME),
    "plan": ("plan", NAME),
    "plan again": ("plan", NAME),
    "plan list": ("plan", "list", NAME),
    "deploy due": ("deploy", "due", NAME),
    "guard": ("guard", "look", NAME),
    "evaluate": ("model", "evaluate", NAME, "--plan", "plan.yaml", "--load", "read=60"),
}
"""In this order: `plan` needs the forecast, and `deploy due` the plan. A name is that of the row."""

PREPARE = """
import sys
sys.path.insert(0, sys.argv[2])
from datetime import timedelta
from pathlib import Path
import shadow_days
from planner.clock import TraceClock
settings = shadow_days.install(Path(sys.argv[1]), "act")
start, now = shadow_days.MONDAY - timedelta(days=14), shadow_days.MONDAY + timedelta(days=5)
shadow_days.write_arrivals(settings, start, now)
TraceClock(settings.clock_file).start_at(now)
Path(sys.argv[1], "plan.yaml").write_text("topology: pair\\nparallelism: {read: 1, count: 8}\\n")
"""
LATER = """
import sys
from pathlib import Path
from planner.clock import TraceClock
from forescale.settings import Settings
TraceClock(Settings().clock_file).wait(60)
"""
"""The simulator refuses a look at the second in which its plan began to run."""
RUN = "import sys; from forescale.cli.main import main; main(sys.argv[1:])"


def cpu_s(code: Path, home: Path, program: str, *arguments: str) -> float:
    """Of a process that runs a program with the code of a tree. Raises CalledProcessError."""
    environment = dict(os.environ) | {
        "PYTHONPATH": str(code),
        "FORESCALE_HOME": str(home / "home"),
        "FORESCALE_TOPOLOGIES": str(home),
        "FORESCALE_MLRUNS": str(home / "mlruns"),
        "FORESCALE_CLOCK": "trace",
    }
    environment.pop("PYTHONDONTWRITEBYTECODE", None)  # an installed package has its bytecode
    before = getrusage(RUSAGE_CHILDREN)
    command = [sys.executable, "-P", "-c", program, *arguments]
    subprocess.run(command, env=environment, cwd=home, check=True, stdout=subprocess.PIPE)
    after = getrusage(RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def measured(code: Path, names: Sequence[str], repeat: int) -> dict[str, float]:
    """CPU seconds by row. Rows before the last of the names run once each, to prepare what follows."""
    result: dict[str, float] = {}
    with tempfile.TemporaryDirectory(prefix="forescale-") as folder:
        home, copy = Path(folder) / "work", Path(folder) / "copy"
        home.mkdir()
        cpu_s(code, home, PREPARE, str(home), str(code / "tests"))
        for name, arguments in COMMANDS.items():
            if name == "guard":
                cpu_s(code, home, LATER)
            shutil.copytree(home, copy)
            times = []
            for _ in range(repeat if name in names else 1):
                # Records name files by their absolute path, so that the home is put back where it was.
                shutil.rmtree(home)
                shutil.copytree(copy, home)
                times.append(cpu_s(code, home, RUN, *arguments))
            shutil.rmtree(copy)
            if name in names:
                result[name] = min(times)
    return result


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("commands", nargs="*", choices=[[], *COMMANDS], metavar="COMMAND", default=[])
    parser.add_argument("--against", metavar="COMMIT")
    parser.add_argument("--repeat", type=int, default=3)
    asked = parser.parse_args()
    names = asked.commands or list(COMMANDS)
    with ExitStack() as stack:
        trees = {"now": ROOT}
        if asked.against is not None:
            tree = Path(stack.enter_context(tempfile.TemporaryDirectory(prefix="forescale-"))) / "before"
            git = ["git", "-C", str(ROOT), "worktree"]
            subprocess.run([*git, "add", "--quiet", "--detach", str(tree), asked.against], check=True)
            stack.callback(subprocess.run, [*git, "remove", "--force", str(tree)], check=True)
            trees = {asked.against: tree, "now": ROOT}
        times = {name: measured(tree, names, asked.repeat) for name, tree in trees.items()}
    print(f"{'CPU seconds':16}", *(f"{name:>12}" for name in times))
    for row in names:
        print(f"{row:16}", *(f"{of[row]:12.2f}" for of in times.values()))


if __name__ == "__main__":
    main()
