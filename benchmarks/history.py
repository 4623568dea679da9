"""From raw events to 1-minute history: forescale beside DuckDB, Polars and Spark's own engine, on the same files.

    python benchmarks/history.py --events FOLDER [--days 10] [--runs 4] [--json]
    python benchmarks/history.py --events FOLDER --growth        # 1, 3 and 10 days: 10, 30 and 100 million events

Events that FOLDER lacks are generated: ten million a day, 1.6 GB for ten days (see history_job/raw_events.py). The
rivals are installed in their own environment, .cache/history-rivals, which is made from history_job/rivals.lock.

Each cell: seconds of the best warm run (the first, cold one beside it), rows a second, and the largest memory that all
its processes held together (PSS). The jobs: `scan` only reads the columns; `plain` counts per source and minute;
`distinct` first removes copies by id. The rivals' jobs end with a Parquet file of counts; forescale's also separates
missing from zero and ends with a committed history.
"""

import argparse
import json
import subprocess
import sys
import tempfile
import threading
import time
from contextlib import suppress
from dataclasses import asdict, dataclass
from pathlib import Path

import psutil

sys.path.insert(0, str(Path(__file__).parent))
from history_job.raw_events import FIRST_DAY, ROWS_PER_DAY, write_events
from rivals.rivals_environment import rivals_python

PROJECT = Path(__file__).resolve().parents[1]
JOBS = Path(__file__).with_name("history_job")
RIVALS = PROJECT / ".cache" / "history-rivals"
ALL = ["forescale", "duckdb", "polars", "spark sql"]
ENGINES = {
    "scan": ["forescale", "duckdb"],
    "scan with id": ["forescale", "duckdb"],
    "to python": ["spark sql"],
    "keys": ["forescale"],
}
SCANS = {"plain": "scan", "distinct": "scan with id"}


@dataclass(frozen=True)
class Measured:
    job: str
    engine: str
    rows: int
    cold_s: float
    warm_s: float
    peak_mib: float
    counted: int

    @property
    def rows_per_s(self) -> float:
        return self.rows / self.warm_s


def command(engine: str, job: str, runs: int, events: Path, days: int) -> list[str]:
    out = events / f"out-{engine.replace(' ', '-')}"
    folder = events / f"first-{days}-days"
    if engine == "forescale":
        return [sys.executable, str(JOBS / "ours.py"), job, str(runs), str(out), str(folder), str(days)]
    if engine == "spark sql":
        return [sys.executable, str(JOBS / "spark_sql.py"), job, str(runs), str(out), str(folder)]
    files = [
        str(path) for day in range(days) for path in sorted((events / f"date={FIRST_DAY + day}").glob("*.parquet"))
    ]
    python = rivals_python(RIVALS, JOBS / "rivals.lock", "--engines forescale")
    return [str(python), str(JOBS / "rivals.py"), engine, job, str(runs), str(out), *files]


def measured(engine: str, job: str, runs: int, events: Path, days: int) -> Measured:
    with (
        tempfile.TemporaryFile("w+") as errors,
        subprocess.Popen(
            command(engine, job, runs, events, days), stdout=subprocess.PIPE, stderr=errors, text=True
        ) as process,
    ):
        peak = Peak(process.pid)
        assert process.stdout is not None
        lines = [json.loads(line) for line in process.stdout if line.startswith("{")]
        peak.stop()
        process.wait()
        errors.seek(0)
        said = errors.read()
    if process.returncode or len(lines) != runs:
        raise SystemExit(f"{engine} {job}: ended with {process.returncode} after {len(lines)} of {runs} runs\n{said}")
    seconds = [line["seconds"] for line in lines]
    return Measured(job, engine, days * ROWS_PER_DAY, seconds[0], min(seconds[1:]), peak.mib, int(lines[-1]["counted"]))


class Peak:
    """Largest memory of a process and its children: shared pages count once."""

    def __init__(self, pid: int) -> None:
        self.mib, self._over = 0.0, threading.Event()
        self._thread = threading.Thread(target=self._watch, args=(psutil.Process(pid),))
        self._thread.start()

    def stop(self) -> None:
        self._over.set()
        self._thread.join()

    def _watch(self, process: psutil.Process) -> None:
        while not self._over.wait(0.25):
            held = 0
            with suppress(psutil.Error):
                for one in [process, *process.children(recursive=True)]:
                    with suppress(psutil.Error):
                        held += one.memory_full_info().pss
            self.mib = max(self.mib, held / 2**20)


def run(days: int, runs: int, events: Path, jobs: list[str], engines: list[str]) -> list[Measured]:
    # A folder with only these days, for engines that read folders.
    folder = events / f"first-{days}-days"
    folder.mkdir(exist_ok=True)
    for day in range(days):
        link = folder / f"date={FIRST_DAY + day}"
        if not link.exists():
            link.symlink_to(f"../{link.name}")
    results = []
    for job in jobs:
        for engine in [engine for engine in ENGINES.get(job, ALL) if engine in engines]:
            say(f"{days * ROWS_PER_DAY / 1e6:.0f} M rows, {job}, {engine} …")
            results.append(measured(engine, job, runs, events, days))
            say(f"    {results[-1].warm_s:.2f} s warm, {results[-1].cold_s:.2f} s cold, {results[-1].peak_mib:.0f} MiB")
    return results


def say(text: str) -> None:
    print(text, file=sys.stderr, flush=True)


def table(results: list[Measured]) -> str:
    lines = [
        "| rows | job | engine | warm s (cold) | Mrow/s | peak MiB | against the faster rival | against the scan |",
        "|---|---|---|---|---|---|---|---|",
    ]
    by_cell = {(r.rows, r.job, r.engine): r for r in results}
    for r in results:
        rivals = [by_cell[r.rows, r.job, e].warm_s for e in ("duckdb", "polars") if (r.rows, r.job, e) in by_cell]
        scans = [
            by_cell[cell].warm_s for e in ("forescale", "duckdb") if (cell := (r.rows, SCANS.get(r.job), e)) in by_cell
        ]
        against = f"{r.warm_s / min(rivals):.2f} ×" if r.engine == "forescale" and r.job in SCANS and rivals else ""
        scan = f"{r.warm_s / min(scans):.1f} ×" if scans else ""
        lines.append(
            f"| {r.rows / 1e6:.0f} M | {r.job} | {r.engine} | {r.warm_s:.2f} ({r.cold_s:.2f}) | "
            f"{r.rows_per_s / 1e6:.1f} | {r.peak_mib:.0f} | {against} | {scan} |"
        )
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--events", type=Path, required=True, help="folder of the raw events; made where it lacks them")
    parser.add_argument("--days", type=int, default=10, help="ten million events each")
    parser.add_argument("--runs", type=int, default=4, help="of each, the first of them cold")
    parser.add_argument("--growth", action="store_true", help="also with 1 and 3 days")
    parser.add_argument(
        "--jobs",
        nargs="+",
        default=["scan", "plain", "scan with id", "distinct"],
        choices=["scan", "plain", "scan with id", "distinct", "keys", "to python"],
        help="`keys` counts keys as well; `to python` merely hands all rows from Spark to Python",
    )
    parser.add_argument("--engines", nargs="+", default=ALL, choices=ALL)
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.runs < 2:
        parser.error("--runs: one cold run and at least one warm one")
    began = time.perf_counter()
    events = given.events.resolve()
    write_events(events, given.days)
    results = [
        result
        for days in ([1, 3, given.days] if given.growth else [given.days])
        for result in run(days, given.runs, events, given.jobs, given.engines)
    ]
    for job in {result.job for result in results if not result.job.startswith("scan")}:
        for rows in {result.rows for result in results}:
            counted = {result.counted for result in results if (result.job, result.rows) == (job, rows)}
            if len(counted) > 1:
                raise SystemExit(f"{job} of {rows} rows: the engines count {sorted(counted)}; they should agree")
    print(json.dumps([asdict(result) for result in results], indent=1) if given.json else table(results))
    say(f"{time.perf_counter() - began:.0f} s")


if __name__ == "__main__":
    main()
