"""The arrival history's store against the same history on Delta Lake (delta-rs): seconds of reads, writes and commits.

    python benchmarks/history_store.py [--sources 2] [--days 60] [--commits 300] [--rounds 9] [--json]
    python benchmarks/history_store.py --promises   # which of the store's promises delta-rs keeps
    python benchmarks/history_store.py --s3 [s3://BUCKET/PREFIX]   # the own store in a folder and in an object store

One-minute windows of so many sources and days, each day with a key histogram of 1,000 keys per source. Two designs on
Delta Lake (history_job/delta_store.py) and the own store take turns at each operation; each cell is the median of all
rounds. Reads are `read_history`, with the rows taken from that store. Ratios are old ÷ new: below 1, Delta is slower.

deltalake is not a dependency of the project: it is installed into .cache/history-delta, from history_job/delta.lock.
--s3 without a place measures the tests' S3 server on loopback (tools.sh s3); with one, that place in the store that
AWS's settings name.
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Iterator
from contextlib import ExitStack
from dataclasses import asdict, dataclass
from datetime import UTC, datetime, timedelta
from functools import partial
from pathlib import Path
from unittest.mock import patch

import numpy as np
import pandas as pd  # noqa: F401 - pyarrow would import it at its first conversion
import pyarrow.dataset  # noqa: F401 - likewise

sys.path.pop(0)
sys.path.insert(0, str(Path(__file__).with_name("rivals")))
sys.path.insert(0, str(Path(__file__).with_name("history_job")))

from rivals_environment import rivals_python

from forecasting.arrivals.arrival_source import Arrivals, DailyKeyCounts, Measures, SourceArrivals
from forecasting.arrivals.storage.directory import Directory, s3_directory
from forecasting.arrivals.storage.key_histograms import read_key_histograms
from forecasting.arrivals.storage.manifest import Manifest
from forecasting.arrivals.store import built_until, read_history, write_history

JOBS = Path(__file__).with_name("history_job")
ENVIRONMENT = Path(__file__).resolve().parents[1] / ".cache" / "history-delta"
TOPOLOGY, START, DAY, MINUTES = "shop", datetime(2026, 3, 2, tzinfo=UTC), timedelta(days=1), 1440
OWN, LOOPBACK = "own", "loopback"


@dataclass(frozen=True)
class Measured:
    """Medians. old_over_new: the own store's seconds over these; cpu_old_over_new: likewise, of processor time."""

    commits: int
    operation: str
    store: str
    seconds: float
    cpu_s: float
    old_over_new: float
    cpu_old_over_new: float


def day_of(number: int, sources: int, seed: int = 0) -> Arrivals:
    rng = np.random.default_rng([number, seed])
    start, names = START + number * DAY, [f"source-{at:03d}" for at in range(sources)]
    told = {name: SourceArrivals(rng.poisson(3000, MINUTES), np.array([[0, 2**62]])) for name in names}
    heavy = [sorted(rng.integers(1, 10_000, 1000).tolist(), reverse=True) for _ in names]
    keys = tuple(
        DailyKeyCounts(name, start.date(), {f"key-{key:06}": events for key, events in enumerate(of_source)}, 100)
        for name, of_source in zip(names, heavy, strict=True)
    )
    return Arrivals(start, start + DAY, 60, Measures.OFFERED, told, keys)


class Own:
    def __init__(self, folder: Directory, name: str = OWN) -> None:
        self.folder, self.name = folder, name

    def build(self, days: Iterator[Arrivals], end: datetime) -> None:
        self.first = write_history(days, self.folder, TOPOLOGY, START, end)

    def replace(self, day: Arrivals) -> None:
        write_history(day, self.folder, TOPOLOGY, day.start, day.end)

    def history(self, start: datetime, end: datetime, *, past: bool = False) -> str:
        found = read_history(self.folder, TOPOLOGY, start=start, end=end, snapshot=self.first if past else None)
        return found.digest()

    def keys(self, start: datetime, end: datetime) -> int:
        return len(read_key_histograms(self.folder, TOPOLOGY, start, end))

    def built_until(self) -> object:
        return built_until(self.folder, TOPOLOGY)


class OnDelta:
    def __init__(self, store) -> None:
        self.name, self.store = store.name, store

    def build(self, days: Iterator[Arrivals], end: datetime) -> None:
        self.store.build(days)

    def replace(self, day: Arrivals) -> None:
        self.store.replace(day)

    def history(self, start: datetime, end: datetime, *, past: bool = False) -> str:
        def commit(*_: object):
            return Manifest(60, {}), self.store.rows(start, end, 0 if past else None)

        with patch("forecasting.arrivals.store.read_commit", commit):
            return read_history(Path(), TOPOLOGY, start=start, end=end).digest()

    def keys(self, start: datetime, end: datetime) -> int:
        return self.store.keys(start, end)

    def built_until(self) -> object:
        return self.store.built_until()


def operations(store: Own | OnDelta, days: int, sources: int, seeds: Iterator[int]) -> dict[str, Callable[[], object]]:
    end = START + days * DAY
    spans = {"one date": end - DAY, "a week": end - 7 * DAY, f"all {days} days": START}
    reads = {f"read {name}": partial(store.history, start, end) for name, start in spans.items()}
    return {
        **reads,
        f"read all {days} days, first commit": partial(store.history, START, end, past=True),
        f"read key histograms, {days} days": partial(store.keys, START, end),
        "built until": store.built_until,
        "replace a date": lambda: store.replace(day_of(days - 1, sources, next(seeds))),
    }


def measured(stores: list[Own | OnDelta], days: int, sources: int, commits: int, rounds: int, seeds) -> list[Measured]:
    every = {store.name: operations(store, days, sources, seeds[store.name]) for store in stores}
    results = []
    for operation in every[OWN]:
        taken: dict[str, list[tuple[float, float]]] = {name: [] for name in every}
        for _ in range(rounds):
            answers = {}
            for name, of_store in every.items():
                began, began_cpu = time.perf_counter(), time.process_time()
                answers[name] = of_store[operation]()
                taken[name].append((time.perf_counter() - began, time.process_time() - began_cpu))
            if operation.startswith("read") and len(set(answers.values())) > 1:
                raise SystemExit(f"{operation}: the stores answer {answers}; they hold the same")
        wall, cpu = ({name: statistics.median(t[at] for t in taken[name]) for name in taken} for at in (0, 1))
        results += [
            Measured(commits, operation, name, wall[name], cpu[name], wall[OWN] / wall[name], cpu[OWN] / cpu[name])
            for name in taken
        ]
    return results


def table(results: list[Measured]) -> str:
    lines = ["| commits | operation | store | ms | CPU ms | old ÷ new | … of CPU |", "|---|---|---|---|---|---|---|"]
    for r in results:
        ratios = " | " if r.store == OWN else f"{r.old_over_new:.2f} | {r.cpu_old_over_new:.2f}"
        lines.append(
            f"| {r.commits} | {r.operation} | {r.store} | {1e3 * r.seconds:.1f} | {1e3 * r.cpu_s:.1f} | {ratios} |"
        )
    return "\n".join(lines)


def beside_a_folder(place: str, folder: Path, given: argparse.Namespace) -> list[Measured]:
    """The own store in a folder and in an object store. place: its URI, LOOPBACK for the tests' server."""
    with ExitStack() as at_work:
        if place == LOOPBACK:
            sys.path.append(str(Path(__file__).resolve().parents[1] / "tests"))
            from s3_server import BUCKET, local_s3

            server = at_work.enter_context(local_s3(folder / "s3"))
            os.environ.update(server.environment())
            place = f"s3://{BUCKET}/history"
        return both_measured([Own(folder / OWN), Own(s3_directory(place), "object store")], given)


def both_measured(stores: list[Own | OnDelta], given: argparse.Namespace) -> list[Measured]:
    """Measurements after one commit, and after the given number of further commits."""
    seeds = {store.name: iter(range(1, 1_000_000)) for store in stores}
    for store in stores:
        store.build((day_of(number, given.sources) for number in range(given.days)), START + given.days * DAY)
    results = measured(stores, given.days, given.sources, 1, given.rounds, seeds)
    for _ in range(given.commits):
        for store in stores:
            store.replace(day_of(given.days - 1, given.sources, next(seeds[store.name])))
    if given.commits:
        commits = 1 + given.rounds + given.commits
        results += measured(stores, given.days, given.sources, commits, given.rounds, seeds)
    return results


def import_s() -> tuple[float, float]:
    """Wall and CPU seconds that importing deltalake adds to a process that has pyarrow; median of five."""
    script = (
        "import time, numpy, pyarrow.dataset; wall, cpu = time.perf_counter(), time.process_time(); import deltalake; "
        "print(time.perf_counter() - wall, time.process_time() - cpu)"
    )
    command = [sys.executable, "-c", f"import sys; sys.path.append({packages()!r}); {script}"]
    runs = [subprocess.run(command, capture_output=True, text=True, check=True).stdout.split() for _ in range(5)]
    wall_s, cpu_s = (statistics.median(map(float, of_runs)) for of_runs in zip(*runs, strict=True))
    return wall_s, cpu_s


def packages() -> str:
    python = rivals_python(ENVIRONMENT, JOBS / "delta.lock", "there is no measuring without deltalake")
    return str(next(python.parents[1].glob("lib/python*/site-packages")))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--sources", type=int, default=2)
    parser.add_argument("--days", type=int, default=60)
    parser.add_argument("--commits", type=int, default=300, help="that replace a date, before all is measured again")
    parser.add_argument("--rounds", type=int, default=9)
    parser.add_argument("--promises", action="store_true", help="look at promises instead of measuring")
    parser.add_argument("--s3", nargs="?", const=LOOPBACK, metavar="PLACE", help="measure an object store instead")
    parser.add_argument("--json", action="store_true")
    given = parser.parse_args()
    if given.s3 is not None:
        with tempfile.TemporaryDirectory() as folder:
            results = beside_a_folder(given.s3, Path(folder), given)
        print(json.dumps([asdict(r) for r in results]) if given.json else table(results))
        return
    # Behind the project's own packages, whose pyarrow and numpy both use.
    sys.path.append(packages())
    with tempfile.TemporaryDirectory() as folder:
        if given.promises:
            from delta_promises import promises

            print("\n".join(promises(Path(folder))))
            return
        from delta_store import DeltaLog, DeltaRows

        on_delta = [OnDelta(kind(Path(folder, kind.__name__), TOPOLOGY)) for kind in (DeltaRows, DeltaLog)]
        results = both_measured([Own(Path(folder, OWN)), *on_delta], given)
    wall_s, cpu_s = import_s()
    if given.json:
        print(json.dumps({"import_s": wall_s, "import_cpu_s": cpu_s, "measured": [asdict(r) for r in results]}))
    else:
        print(f"{table(results)}\n\nimport deltalake: {1e3 * wall_s:.0f} ms, {1e3 * cpu_s:.0f} ms of CPU")


if __name__ == "__main__":
    main()
