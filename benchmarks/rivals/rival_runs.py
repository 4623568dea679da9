"""Our side of the rivals: their environment, their jobs, their cached answers and their new ones.

A rival forecasts in an interpreter of its own (rival_forecasts.py) and is scored as ours is.
"""

import hashlib
import json
import os
import shutil
import subprocess
import sys
import tempfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import UTC
from pathlib import Path
from typing import Any

import numpy as np

from forecasting.arrays import Floats
from forecasting.arrivals.history import ArrivalSeries
from forecasting.forecast import QUANTILES
from forecasting.prequential import MAX_HISTORY_S, Predicted

PROJECT = Path(__file__).resolve().parents[2]
SCRIPT = Path(__file__).with_name("rival_forecasts.py")
SCRIPTS = (SCRIPT, SCRIPT.with_name("conformal_peaks.py"))
LOCK = Path(__file__).with_name("requirements.lock")
ENVIRONMENT = PROJECT / ".cache" / "forecasting-rivals"
DAY_S = 86400
ONE_THREAD = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
"""At these sizes threads that wait for each other only add cost."""


@dataclass(frozen=True)
class Rival:
    """history_s: most history it may see at an origin. learns_from_errors: whether its quantiles come from its errors
    at earlier origins. conformal: name of its second candidate, with conformalised quantiles; empty for none.
    """

    name: str
    candidate: str
    history_s: int
    learns_from_errors: bool = False
    conformal: str = ""


RIVALS = {
    rival.name: rival
    for rival in (
        Rival("prophet", "Prophet as it comes", MAX_HISTORY_S),
        Rival("arima", "ARIMA(1,1,1)", MAX_HISTORY_S),
        Rival("mstl", "MSTL", MAX_HISTORY_S, conformal="MSTL, conformal"),
        # Without a season older windows help little, and twice as many take twice as long.
        Rival("autoarima", "AutoARIMA", 14 * DAY_S),
        Rival("peak_ets", "MSTL of peaks, conformal", MAX_HISTORY_S, learns_from_errors=True),
    )
}


@dataclass(frozen=True)
class Fit:
    """One forecast: its processor seconds, and why there is none; empty if there is one."""

    origin: int
    cpu_s: float
    unsuitable_because: str


@dataclass(frozen=True)
class RivalRun:
    """conformal: as in Rival. predicted: includes origins that only teach, where it forecast there."""

    candidate: str
    predicted: list[Predicted]
    fits: list[Fit]
    versions: dict[str, str]
    conformal: str = ""


def rival_run(
    rival: Rival,
    series: ArrivalSeries,
    origins: Sequence[int],
    horizons_s: Sequence[int],
    *,
    teaching: Sequence[int] = (),
    limit_cpu_s: int,
    cache: Path,
    python: Path,
) -> RivalRun:
    """The rival's forecasts at these origins. Cached answers to the same job on the same trace are reused.

    teaching: earlier origins, at which a rival that learns from its own errors forecasts, too.
    """
    job = {
        "rival": rival.name,
        "candidate": rival.candidate,
        "start": series.start.astimezone(UTC).isoformat(),
        "window_s": series.window_s,
        "origins": list(origins),
        "teaching": list(teaching) if rival.learns_from_errors else [],
        "horizons_s": list(horizons_s),
        "quantiles": list(QUANTILES),
        "history_s": rival.history_s,
        "paths": 400,
        "seed": 7,
        "limit_cpu_s": limit_cpu_s,
    }
    name = f"{series.source}-{rival.name}"
    answer, told = answered(name, SCRIPTS, job, {"counts": series.counts}, cache=cache, python=python)
    fits = [Fit(**fit) for fit in told["fits"]]
    return RivalRun(
        rival.candidate, said(answer / "said.npz", rival.candidate), fits, told["versions"], rival.conformal
    )


def answered(
    name: str,
    scripts: Sequence[Path],
    job: Mapping[str, object],
    arrays: Mapping[str, Floats],
    *,
    cache: Path,
    python: Path,
) -> tuple[Path, dict[str, Any]]:
    """The folder with the answer of the first of these scripts to a job, and its told.json; each job runs only once.

    scripts: the others are its imports. arrays: its further inputs, by the name of the file.
    """
    answer = cache / f"{name}-{job_key(arrays, job, scripts)}"
    if not (answer / "told.json").exists():
        cache.mkdir(parents=True, exist_ok=True)
        with tempfile.TemporaryDirectory(dir=cache, prefix=".asked-") as asked:
            write_job(Path(asked), arrays, job)
            environment = os.environ | dict.fromkeys(ONE_THREAD, "1")
            with (Path(asked) / "errors").open("w+") as errors:
                done = subprocess.run([python, scripts[0], asked], env=environment, stdout=sys.stderr, stderr=errors)
                errors.seek(0)
                if done.returncode:
                    raise SystemExit(f"{name} ended with {done.returncode}:\n{errors.read()[-4000:]}")
            if answer.exists():
                shutil.rmtree(answer)
            shutil.copytree(asked, answer, ignore=shutil.ignore_patterns("counts*.npy"))
    return answer, json.loads((answer / "told.json").read_text())


def said(file: Path, candidate: str) -> list[Predicted]:
    """Predictions of a rival, from its answer; without rates if it forecasts only peaks."""
    with np.load(file) as arrays:
        rates = arrays["rates"] if "rates" in arrays else np.empty((arrays["origins"].size, 0))
        each = zip(arrays["origins"].tolist(), arrays["peaks"], rates, strict=True)
        return [
            Predicted(origin, {candidate: peaks}, {candidate: rates} if rates.size else {}, ())
            for origin, peaks, rates in each
        ]


def job_key(arrays: Mapping[str, Floats], job: Mapping[str, object], scripts: Sequence[Path] = SCRIPTS) -> str:
    """Digest of the counts, the job, the libraries' lock and the scripts."""
    digest = hashlib.sha256()
    for name, values in sorted(arrays.items()):
        digest.update(name.encode() + np.ascontiguousarray(values, dtype="<f8").tobytes())
    texts = [script.read_bytes() for script in scripts]
    for part in (json.dumps(job, sort_keys=True).encode(), LOCK.read_bytes(), *texts):
        digest.update(hashlib.sha256(part).digest())
    return digest.hexdigest()[:16]


def write_job(folder: Path, arrays: Mapping[str, Floats], job: Mapping[str, object]) -> None:
    for name, values in arrays.items():
        np.save(folder / f"{name}.npy", values)
    (folder / "job.json").write_text(json.dumps(job))


def joined(ours: Sequence[Predicted], rivals: Sequence[Predicted]) -> list[Predicted]:
    """Our predictions, each with the rivals' at the same origin."""
    together = {one.origin: one for one in ours}
    for one in rivals:
        if own := together.get(one.origin):
            peaks, rates = own.peak_per_s | one.peak_per_s, own.rate_per_s | one.rate_per_s
            together[one.origin] = replace(own, peak_per_s=peaks, rate_per_s=rates)
    return list(together.values())


def spread(origins: Sequence[int], count: int) -> list[int]:
    """`count` of the origins, evenly spread, the first and the last included."""
    numbers = np.linspace(0, len(origins) - 1, min(count, len(origins))).round().astype(int)
    return [origins[number] for number in numbers]
