"""Our side of the rivals: their environment, what they are asked, what was asked before, and their answers.

A rival answers in an interpreter of its own (rival_forecasts.py), in the columns that forecasting/prediction_file.py
writes, and is scored as ours is.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from datetime import UTC
from pathlib import Path

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq

from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prediction_file import read_predictions
from forecasting.prequential import LONGEST_HISTORY_S, Predicted

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("rival_forecasts.py")
LOCK = Path(__file__).with_name("requirements.lock")
ENVIRONMENT = PROJECT / ".cache" / "forecasting-rivals"
DAY_S = 86400
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""On these sizes threads that wait for each other only cost."""


@dataclass(frozen=True)
class Rival:
    """history_s: what it may see at an origin, at most."""

    name: str
    candidate: str
    history_s: int


RIVALS = {
    rival.name: rival
    for rival in (
        Rival("prophet", "Prophet as it comes", LONGEST_HISTORY_S),
        Rival("arima", "ARIMA(1,1,1)", LONGEST_HISTORY_S),
        Rival("mstl", "MSTL", LONGEST_HISTORY_S),
        # Without a season older windows tell it little, and twice as many take twice as long.
        Rival("autoarima", "AutoARIMA", 14 * DAY_S),
    )
}


@dataclass(frozen=True)
class Fit:
    """One forecast: its processor seconds, and why it said nothing, empty where it spoke."""

    origin: int
    cpu_s: float
    why_not: str


@dataclass(frozen=True)
class RivalRun:
    candidate: str
    predicted: list[Predicted]
    fits: list[Fit]
    versions: dict[str, str]


def rivals_python() -> Path:
    """The interpreter of the rivals' environment, which is made where it is not there, or not what the lock names."""
    python, ready = ENVIRONMENT / "bin" / "python", ENVIRONMENT / ".ready"
    locked = hashlib.sha256(LOCK.read_bytes()).hexdigest()
    if not ready.exists() or ready.read_text() != locked:
        uv = Path(sys.executable).with_name("uv")
        print(f"installing the rivals into {ENVIRONMENT}", file=sys.stderr, flush=True)
        try:
            subprocess.run([uv, "venv", "--quiet", "--clear", "--python", sys.executable, ENVIRONMENT], check=True)
            sync = [uv, "pip", "sync", "--quiet", "--require-hashes", "--compile-bytecode", "--python", python, LOCK]
            subprocess.run(sync, check=True)
        except (OSError, subprocess.CalledProcessError) as error:
            raise SystemExit(
                f"the rivals cannot be installed from {LOCK}: {error}; run `make setup` first, or measure without "
                "them: --rivals none"
            ) from None
        ready.write_text(locked)
    return python


def rival_run(
    rival: Rival,
    series: ArrivalSeries,
    origins: Sequence[int],
    horizons_s: Sequence[int],
    *,
    limit_cpu_s: int,
    cache: Path,
    python: Path,
) -> RivalRun:
    """What the rival says at these origins. What it said before of the same trace, asked alike, is not asked again."""
    job = {
        "rival": rival.name,
        "candidate": rival.candidate,
        "start": series.start.astimezone(UTC).isoformat(),
        "window_s": series.window_s,
        "origins": list(origins),
        "horizons_s": list(horizons_s),
        "quantiles": list(QUANTILES),
        "history_s": rival.history_s,
        "paths": 400,
        "seed": 7,
        "limit_cpu_s": limit_cpu_s,
    }
    answer = cache / f"{series.source}-{rival.name}-{job_key(series, job)}"
    if not (answer / "told.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".asked-") as asked:
            write_job(Path(asked), series, job)
            environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
            with (Path(asked) / "errors").open("w+") as errors:
                done = subprocess.run([python, SCRIPT, asked], env=environment, stdout=sys.stderr, stderr=errors)
                errors.seek(0)
                if done.returncode:
                    raise SystemExit(f"{rival.candidate} ended with {done.returncode}:\n{errors.read()[-4000:]}")
            if answer.exists():
                shutil.rmtree(answer)
            shutil.copytree(asked, answer, ignore=shutil.ignore_patterns("counts.parquet"))
    told = json.loads((answer / "told.json").read_text())
    predicted = read_predictions(answer / "predictions.parquet", series, horizons_s, QUANTILES)
    return RivalRun(rival.candidate, predicted, [Fit(**fit) for fit in told["fits"]], told["versions"])


def job_key(series: ArrivalSeries, job: dict[str, object]) -> str:
    """Of the counts, what is asked, the libraries and the script that asks them."""
    digest = hashlib.sha256(np.ascontiguousarray(series.counts, dtype="<f8").tobytes())
    for part in (json.dumps(job, sort_keys=True).encode(), LOCK.read_bytes(), SCRIPT.read_bytes()):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def write_job(folder: Path, series: ArrivalSeries, job: dict[str, object]) -> None:
    starts_us = (int(series.start.timestamp()) + np.arange(series.counts.size) * series.window_s) * 1_000_000
    counts = pa.table(
        {
            "window_start": pa.array(starts_us).cast(pa.timestamp("us", tz="UTC")),
            "count": pa.array(series.counts, from_pandas=True),
        }
    )
    pq.write_table(counts, folder / "counts.parquet")
    (folder / "job.json").write_text(json.dumps(job))


def joined(ours: Sequence[Predicted], rivals: Sequence[Predicted]) -> list[Predicted]:
    """Ours, and at the same origins what the rivals said there."""
    by_origin: dict[int, list[Predicted]] = {}
    for one in rivals:
        by_origin.setdefault(one.origin, []).append(one)
    together = []
    for one in ours:
        peaks, rates = dict(one.peak_per_s), dict(one.rate_per_s)
        for other in by_origin.get(one.origin, []):
            peaks |= other.peak_per_s
            rates |= other.rate_per_s
        together.append(Predicted(one.origin, peaks, rates, one.chosen))
    return together


def spread(origins: Sequence[int], count: int) -> list[int]:
    """So many of them, evenly, the first and the last among them."""
    if count >= len(origins):
        return list(origins)
    return [origins[round(number * (len(origins) - 1) / max(1, count - 1))] for number in range(count)]


def fits_json(run: RivalRun) -> dict[str, object]:
    return {"versions": run.versions, "fits": [asdict(fit) for fit in run.fits]}
