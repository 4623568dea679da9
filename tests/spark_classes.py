"""The classes of Spark as an archive that Java maps at its start: a JVM that counts takes less than half the processor
time, of which most goes to reading and checking 16,000 classes.

`python tests/spark_classes.py` makes it, once for this Java and these jars. Java starts without one all the same.
"""

import hashlib
import importlib.util
import os
import shutil
import tempfile
from pathlib import Path

from forescale.places import download_cache


def options() -> str:
    """Those of Java for a JVM of Spark: none where there is no archive. With other jars before its own, Java goes
    without it, and would say so amid what a command answers.
    """
    archive = _archive()
    silent = "-Xlog:cds=off -Xlog:cds+dynamic=off"
    return f"-XX:SharedArchiveFile={archive} {silent}" if archive and archive.exists() else ""


def _archive() -> Path | None:
    """Where it is, or would be: Java takes it for the very files that it was made of. None without Java or Spark."""
    java, spark = _java(), importlib.util.find_spec("pyspark")
    if java is None or spark is None or spark.origin is None:
        return None
    jars = sorted((Path(spark.origin).resolve().parent / "jars").glob("*.jar"))
    files = [(str(file), file.stat().st_size, file.stat().st_mtime_ns) for file in (Path(java).resolve(), *jars)]
    digest = hashlib.sha256(repr(files).encode()).hexdigest()
    return download_cache() / "spark" / f"classes-{digest[:16]}.jsa"


def _java() -> str | None:
    """As Spark looks for it."""
    home = os.environ.get("JAVA_HOME")
    return shutil.which("java", path=f"{home}/bin" if home else None)


def make() -> None:
    """From what a JVM has loaded that has counted a few events."""
    archive = _archive()
    if archive is None or archive.exists():
        return
    archive.parent.mkdir(parents=True, exist_ok=True)
    with tempfile.TemporaryDirectory(dir=archive.parent) as folder:
        made = Path(folder) / archive.name
        os.environ["SPARK_SUBMIT_OPTS"] = f"-XX:ArchiveClassesAtExit={made}"
        _count(Path(folder))
        made.replace(archive)  # another run may have been quicker: it is the same


def _count(folder: Path) -> None:
    """In a session as jobs have it, and wait for the end of its JVM."""
    from datetime import UTC, datetime

    from pyspark import SparkContext

    from forecasting.arrivals.counting.event_files import EventColumns, EventFiles
    from forecasting.arrivals.pipeline import build_history
    from forecasting.arrivals.sources.counted_events import CountedEvents
    from forecasting.arrivals.spark_session import spark_session

    (folder / "events").mkdir()
    rows = [f"{n},2026-03-02T00:{n:02d}:00Z,calls" for n in range(60)]
    (folder / "events" / "calls.csv").write_text("\n".join(["id,at,feed", *rows]) + "\n")
    source = EventFiles(folder / "events", EventColumns(time="at", source="feed", id="id"), format="csv")
    with spark_session("local[2]", "classes") as session:
        counted = CountedEvents(session, source, datetime(2030, 1, 1, tzinfo=UTC))
        end = datetime(2026, 3, 2, 1, tzinfo=UTC)
        build_history(counted, topology="calls", window_s=60, start=None, end=end, out_dir=folder / "history")
    jvm = SparkContext._gateway.proc
    SparkContext._gateway.shutdown()
    jvm.stdin.close()
    jvm.wait()


if __name__ == "__main__":
    make()
