"""Jobs killed at random moments and run again: what is lost, doubled or left half-written against one left alone.

    python benchmarks/kills.py [--kills 100] [--seed 29]

Every job is the real command in a process of its own, ended by SIGKILL at a moment drawn evenly from the time that it
takes undisturbed; then the same command runs to its end. After that the rows of the ledger and the simulator, the files
of the home, what the history counts and the models in MLflow must be those of a home in which it ran undisturbed. Where
a decision was recorded and its page was not, `forescale plan show` writes it. Prints a line per job.
"""

import argparse
import json
import random
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter
from collections.abc import Callable
from contextlib import closing
from dataclasses import dataclass
from datetime import timedelta
from pathlib import Path

# A script's own folder comes first, and one file in it is named like a package.
sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "tests"))

import numpy as np
from bad_inputs import NAME, Bench, bench
from forked_commands import DEFECT, KILLED, Ending, ForkedCommands
from json_stand_in import Query, json_stand_in
from shadow_days import FIRST

from forecasting.arrivals.store import read_history
from forecasting.errors import HistoryError
from planner.clock import TraceClock

LONGEST_S = 120.0
FED = "fed"
BUILD = ["history", "build", FED, "--start=2026-02-20T00:00:00Z"]
COUNTER = """
topology: fed
operators: {read: {service_s: 0.0001}, count: {service_s: 0.1}}
streams: [{from: read, to: count}]
arrivals:
  {kind: prometheus, url: "URL", queries: {read: fed_total}, measures: offered, scrape_interval_s: 60, lateness_s: 0}
forecast: {step_s: 900, horizon_s: 21600, train_days: 7, origins: 2, paths: 100}
"""
JOBS: dict[str, Callable[[Bench], list[list[str]]]] = {
    "approve": lambda b: [["plan", "approve", b.schedule_id]],
    "deploy": lambda b: [["plan", "approve", b.schedule_id], ["deploy", "due", NAME]],
    "edit": lambda b: [["plan", "edit", b.step_id, "--plan=count=6", "--at=2026-03-02T07:00:00Z"]],
    "report": lambda b: [["plan", "show", b.schedule_id]],
    "guard": lambda b: [["guard", "look", NAME]],
    "calibrate": lambda b: [["model", "calibrate", NAME]],
    "prune": lambda b: [["prune", "--yes", "--older-than=1", "--keep=1"]],
    "plan": lambda b: [["plan", NAME]],
    "aggregate": lambda b: [BUILD],
    "forecast": lambda b: [BUILD, ["forecast", FED]],
}
"""Commands of each job; the last one is killed."""
WITHOUT_MLFLOW = frozenset({"calibrate", "prune"})
"""Jobs that end with 1, as MLflow is away: the rest is done."""
DELETED = "Deleted_Internal"
"""Stage of a deleted version in MLflow's database."""
COUNTED = ("forecasts", "schedules", "steps", "outcomes", "guard_actions", "approvals")


@dataclass(frozen=True)
class Kept:
    """What a home holds: ids and states of what is recorded, the running plan, and the files by their names."""

    rows: tuple[tuple[str, ...], ...]
    files: tuple[str, ...]
    broken: tuple[str, ...]


def kept_in(home: Path) -> Kept:
    rows, broken = list[tuple[str, ...]](), list[str]()
    with closing(sqlite3.connect(home / "ledger.db")) as ledger:
        broken += [text for (text,) in ledger.execute("PRAGMA integrity_check") if text != "ok"]
        tables = {name for (name,) in ledger.execute("SELECT name FROM sqlite_master WHERE type = 'table'")}
        for table in sorted(tables & set(COUNTED)):
            columns = [column for _, column, *_ in ledger.execute(f"PRAGMA table_info({table})")]
            shown = [column for column in ("id", "step_id", "state") if column in columns]
            rows += [(table, *map(str, row)) for row in ledger.execute(f"SELECT {', '.join(shown)} FROM {table}")]
    with closing(sqlite3.connect(next(home.rglob("simulator.db")))) as simulator:
        (body,) = simulator.execute("SELECT body FROM simulator").fetchone()
        rows.append(("runs", json.dumps(json.loads(body)["parallelism"], sort_keys=True)))
    rows += _counted_in(home) + _models_in(home)
    files = [path.relative_to(home).as_posix() for path in home.rglob("*") if path.is_file()]
    broken += [name for name in files if name.endswith((".part", ".new")) or (home / name).stat().st_size == 0]
    # Names in the folders of the history and of MLflow are drawn by chance: what they hold is in the rows.
    named = [name for name in files if not name.startswith((f"history/{FED}", "mlruns/"))]
    return Kept(tuple(sorted(rows)), tuple(sorted(named)), tuple(name for name in broken if not _is_lock(name)))


def _counted_in(home: Path) -> list[tuple[str, ...]]:
    """Events and windows of the history that `aggregate` builds."""
    try:
        history = read_history(home / "history", FED)
    except HistoryError:
        return []
    return [
        ("history", name, str(each.counts.size), f"{np.nansum(each.counts):.0f}")
        for name, each in history.series.items()
    ]


def _models_in(home: Path) -> list[tuple[str, ...]]:
    """Number of each model's versions, and runs by what became of them; those that were broken off are closed by the
    next. MLflow keeps the rows of deleted versions, and numbers go on after them.
    """
    if not (home / "mlruns" / "mlflow.db").exists():
        return []
    with closing(sqlite3.connect(home / "mlruns" / "mlflow.db")) as tracked:
        versions = tracked.execute(
            "SELECT name, status, COUNT(*) FROM model_versions WHERE current_stage != ? GROUP BY name, status",
            (DELETED,),
        ).fetchall()
        ended = tracked.execute("SELECT status, COUNT(*) FROM runs WHERE status != 'KILLED' GROUP BY status").fetchall()
    return [("model", *map(str, row)) for row in versions] + [("runs in MLflow", *map(str, row)) for row in ended]


def _is_lock(name: str) -> bool:
    """Locks are empty files, and stay."""
    return "lock" in Path(name).name or "lock" in Path(name).parent.name


def counted(query: Query) -> object:
    """The answer of Prometheus for a counter that is scraped each minute: ten events a second by day, two by night."""
    until_s = float(query["time"][0])
    span_s = float(query["query"][0].partition("[")[2].removesuffix("ms]")) / 1000
    first, last = int((until_s - span_s) // 60) + 1, int(until_s // 60)
    values = [[60 * minute, str(_total_at(minute))] for minute in range(first, last + 1)]
    series = [{"metric": {"__name__": FED}, "values": values}] if values else []
    return {"status": "success", "data": {"resultType": "matrix", "result": series}}


def _total_at(minute: int) -> int:
    """From the beginning of 1970 on; the day is from 8 to 20 o'clock."""
    days, of_day = divmod(minute, 1440)
    by_day = min(max(of_day - 480, 0), 720)
    return 60 * (days * (10 * 720 + 2 * 720) + 10 * by_day + 2 * (of_day - by_day))


class Killing:
    def __init__(self, installed: Bench, commands: ForkedCommands) -> None:
        self._installed, self._commands = installed, commands

    def done(self, job: str, *, kill_after_s: float | None = None) -> tuple[Kept, Ending, Ending | None]:
        """A job in a home of its own, killed and run again if kill_after_s is given: what is kept, how it ended, and
        how the killed one did.
        """
        home = self._installed.folder / "killed"
        shutil.rmtree(home, ignore_errors=True)
        shutil.copytree(self._installed.settings.home, home)
        *before, last = JOBS[job](self._installed)
        for line in before:
            self._run(line, home, LONGEST_S)
        killed = None if kill_after_s is None else self._run(last, home, kill_after_s)
        ending = self._run(last, home, LONGEST_S)
        self._write_pages(home)
        return kept_in(home), ending, killed

    def _write_pages(self, home: Path) -> None:
        """Of decisions that were recorded and whose page was not written, as `edit` and `plan` advise."""
        with closing(sqlite3.connect(home / "ledger.db")) as ledger:
            ids = [ident for (ident,) in ledger.execute("SELECT id FROM schedules")]
        for ident in ids:
            if ident != self._installed.schedule_id and not (home / "reports" / NAME / f"{ident}.html").exists():
                self._run(["plan", "show", ident], home, LONGEST_S)

    def _run(self, line: list[str], home: Path, within_s: float) -> Ending:
        environment = self._installed.environment(home)
        if FED in line:
            store = home / "mlruns" / "mlflow.db"
            store.parent.mkdir(exist_ok=True)
            environment |= {"FORESCALE_MLFLOW_URI": f"sqlite:///{store}", "FORESCALE_MLRUNS": str(store.parent)}
        return self._commands.run(line, environment, self._installed.folder, within_s=within_s)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--kills", type=int, default=100)
    parser.add_argument("--seed", type=int, default=29)
    parser.add_argument("--jobs", nargs="*", default=list(JOBS))
    asked = parser.parse_args()
    top = Path(tempfile.mkdtemp(prefix="kills-"))
    rng = random.Random(asked.seed)
    wrong = 0
    try:
        installed = bench(top)
        TraceClock(installed.settings.clock_file).start_at(FIRST + timedelta(minutes=20))
        also = ("mlflow", "forescale.jobs.forecast", "forescale.jobs.aggregate")
        with json_stand_in() as prometheus, ForkedCommands(also) as commands:
            prometheus.answers = {"/api/v1/query": counted, "/api/v1/series": {"status": "success", "data": [{}]}}
            (installed.settings.topologies / f"{FED}.yaml").write_text(COUNTER.replace("URL", prometheus.url))
            killing = Killing(installed, commands)
            for number, job in enumerate(asked.jobs):
                wrong += _killed_often(killing, job, len(range(number, asked.kills, len(asked.jobs))), rng)
    finally:
        shutil.rmtree(top, ignore_errors=True)
    print(f"{asked.kills} kills, {wrong} with something lost, doubled or half-written")
    sys.exit(1 if wrong else 0)


def _killed_often(killing: Killing, job: str, kills: int, rng: random.Random) -> int:
    killing.done(job)  # compiles what is kept
    whole, alone, _ = killing.done(job)
    if alone.code and job not in WITHOUT_MLFLOW:
        sys.exit(f"{job} ends with {alone.code} undisturbed: {alone.err[-600:]}")
    counts, wrong = Counter[str](), 0
    while counts["killed"] < kills and counts["tried"] < 4 * kills:
        counts["tried"] += 1
        kept, ending, killed = killing.done(job, kill_after_s=rng.uniform(0.02, alone.seconds))
        if killed is None or killed.code != KILLED:
            continue  # it was quicker this time
        counts["killed"] += 1
        lost = [row for row in (*whole.rows, *whole.files) if row not in (*kept.rows, *kept.files)]
        doubled = [row for row in kept.rows if row not in whole.rows]
        # What was recorded before the kill may be refused the second time, such as an edit of a step that it replaced.
        if lost or doubled or kept.broken or ending.code in (DEFECT, KILLED):
            wrong += 1
            print(f"  {job}: lost {lost}, doubled {doubled}, broken {kept.broken}, {ending.code} {ending.err[-300:]}")
    print(
        f"{job}: {counts['killed']} kills in {alone.seconds:.1f} s each (exit {alone.code}), {wrong} wrong", flush=True
    )
    return wrong


if __name__ == "__main__":
    main()
