"""The jar of the example jobs, compiled from `examples/flink` against Flink's own jars."""

import hashlib
import subprocess
from pathlib import Path
from tempfile import TemporaryDirectory

from forescale.local.errors import LocalFlinkError
from forescale.local.flink.distribution import FlinkDistribution
from forescale.local.flink.java import MIN_JAVA, Java
from forescale.places import bundled

SOURCES = bundled("examples") / "flink" / "src"
MAIN_CLASS = "wordcount.WordCount"


def example_job(
    java: Java, distribution: FlinkDistribution, folder: Path, sources: Path = SOURCES, *more_sources: Path
) -> Path:
    """The jar of all jobs in those folders, built if their sources have changed. Its main class is the word count's.

    Raises LocalFlinkError with the compiler's output when they do not compile.
    """
    files = sorted(file for each in (sources, *more_sources) for file in each.rglob("*.java"))
    if not files:
        raise LocalFlinkError(f"no Java sources under {sources}; restore examples/flink")
    digest = hashlib.sha256(b"".join(file.read_bytes() for file in files)).hexdigest()[:12]
    jar = folder / f"example-jobs-{digest}.jar"
    if jar.exists():
        return jar
    folder.mkdir(parents=True, exist_ok=True)
    with TemporaryDirectory(dir=folder) as scratch:
        classes, built = Path(scratch) / "classes", Path(scratch) / jar.name
        compiler = [java.javac, "--release", MIN_JAVA, "-nowarn", "-cp", distribution.class_path, "-d", classes]
        _run([*compiler, *files])
        _run([java.jar, "--create", "--file", built, "--main-class", MAIN_CLASS, "-C", classes, "."])
        built.rename(jar)
    return jar


def _run(command: list[object]) -> None:
    done = subprocess.run([str(word) for word in command], capture_output=True, text=True, timeout=300)
    if done.returncode:
        raise LocalFlinkError(f"the example job could not be built: {(done.stderr or done.stdout).strip()[-2000:]}")
