"""Flink's jars, fetched once as a wheel under a locked hash and kept outside the Python environment.

The wheel `apache-flink-libraries` contains only the jars; installing it into a folder of its own keeps the many pinned
dependencies of PyFlink out of this project.
"""

import importlib.util
import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

from forescale.files.file_lock import locked
from forescale.local.errors import LocalFlinkError
from forescale.places import bundled, download_cache

LOCK = bundled("examples") / "flink" / "flink.lock"


@dataclass(frozen=True)
class FlinkDistribution:
    """lib: folder of Flink's jars. java_utils: the jar that computes a task manager's memory."""

    lib: Path
    java_utils: Path

    @property
    def class_path(self) -> str:
        return f"{self.lib}/*"


def flink_distribution(cache: Path | None = None, lock: Path = LOCK) -> FlinkDistribution:
    """The jars in the cache folder (by default that of downloads), fetched (about 330 MB) if missing.

    Raises LocalFlinkError when they cannot be fetched or do not match the hash in the lock.
    """
    home = (cache or download_cache() / "flink") / _locked_version(lock)
    distribution = FlinkDistribution(home / "pyflink" / "lib", home / "pyflink" / "bin" / "bash-java-utils.jar")
    if not home.exists():
        with locked(home.with_name(f"{home.name}.lock")):
            if not home.exists():
                _fetch(home, lock)
    if not (distribution.java_utils.exists() and any(distribution.lib.glob("flink-dist-*.jar"))):
        raise LocalFlinkError(f"{home} holds no complete Flink; delete that folder and try again")
    return distribution


def _locked_version(lock: Path) -> str:
    try:
        requirement = lock.read_text(encoding="utf-8").split()[0]
        name, version = requirement.split("==")
    except (OSError, IndexError, ValueError) as error:
        raise LocalFlinkError(f"{lock} holds no line `name==version --hash=…` ({error}); restore it") from None
    return f"{name}-{version}"


def _fetch(home: Path, lock: Path) -> None:
    """Install into a temporary folder, then rename: a broken download leaves nothing that looks complete. Of several
    processes one fetches, and the others wait for it.
    """
    partial = home.with_name(f"{home.name}.partial-{os.getpid()}")
    options = ["--quiet", "--target", str(partial), "--no-deps", "--require-hashes", "--requirement", str(lock)]
    try:
        done = subprocess.run([*_installer(), *options], capture_output=True, text=True, timeout=1800)
        if done.returncode:
            raise LocalFlinkError(
                f"Flink's jars could not be fetched as {lock} asks; check the network and the package index. "
                f"The installer said: {done.stderr.strip()[-500:]}"
            )
        partial.rename(home)
    except subprocess.TimeoutExpired:
        raise LocalFlinkError("Flink's jars (330 MB) did not arrive within 30 min; check the network") from None
    finally:
        shutil.rmtree(partial, ignore_errors=True)


def _installer() -> list[str]:
    if uv := shutil.which("uv", path=f"{Path(sys.executable).parent}:{os.environ.get('PATH', '')}"):
        return [uv, "pip", "install", "--python", sys.executable]
    if importlib.util.find_spec("pip"):
        return [sys.executable, "-m", "pip", "install"]
    raise LocalFlinkError("neither uv nor pip is here to fetch Flink's jars; install one of them")
