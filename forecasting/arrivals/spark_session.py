"""One Spark session with settings for counting: UTC, few shuffle partitions, quiet, on loopback if possible.

It starts its own driver on any master, or joins the one that spark-submit has started.
"""

import logging
import os
import re
import shutil
import socket
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING
from urllib.parse import urlsplit

from forecasting.errors import HistoryError

if TYPE_CHECKING:
    from pyspark.sql import SparkSession

_LOGGING = Path(__file__).with_name("log4j2.properties")
_JAVA_REMEDY = "install Java 17 or later (Debian: openjdk-17-jre-headless), or set JAVA_HOME to it"
_CLUSTER_REMEDY = "check the URL of the master, that it has live workers, and what they and the lines above say"
_LOOPBACK = ("127.0.0.1", "localhost")
_ANSWERS_WITHIN_S = 5.0
# For glibc's malloc; others ignore it. A Python worker that returns each batch's arrays to the system and requests them
# again counts half as fast.
_WORKERS_MALLOC = {
    "spark.executorEnv.MALLOC_TRIM_THRESHOLD_": str(128 * 1024 * 1024),
    "spark.executorEnv.MALLOC_MMAP_THRESHOLD_": str(32 * 1024 * 1024),
}


def spark_session(
    master: str,
    app: str,
    *,
    driver_memory: str = "1g",
    shuffle_partitions: int = 4,
    driver_java_options: str = "-XX:+UseParallelGC",
    settings: Mapping[str, str] | None = None,
) -> "SparkSession":
    """The session of this process; `with` stops it. A running session is returned unchanged.

    driver_memory: heap of the JVM, as Spark writes it (`2g`); with a local master all work happens in it.
    driver_java_options: by default the throughput collector, with which counting is 1.7 times as fast as with Spark's
    default. settings: further Spark settings, which override those made here; on a cluster, its executors get them too.
    Under spark-submit, its master and settings override all of these.
    Raises HistoryError without PySpark or Java, if a standalone master does not answer, or if the session does not
    start.
    """
    submitted = "PYSPARK_GATEWAY_PORT" in os.environ
    java = _java()
    if java is None and not submitted:
        raise HistoryError(f"Spark needs Java, and there is none on PATH or under JAVA_HOME; {_JAVA_REMEDY}")
    try:
        from py4j.protocol import Py4JError  # type: ignore[import-untyped]
        from pyspark import SparkConf, SparkContext
        from pyspark.errors import PySparkException
        from pyspark.sql import SparkSession
    except ImportError:
        raise HistoryError("PySpark is not installed; install forescale with the extra `spark`") from None
    # py4j logs every closed connection, even after standard error is closed.
    logging.getLogger("py4j").setLevel(logging.WARNING)
    wanted = {
        "spark.master": master,
        "spark.app.name": app,
        "spark.driver.memory": driver_memory,
        "spark.driver.extraJavaOptions": f"{driver_java_options} -Dlog4j2.configurationFile={_LOGGING.as_uri()}",
        "spark.ui.enabled": "false",
        "spark.ui.showConsoleProgress": "false",
        "spark.sql.session.timeZone": "UTC",
        "spark.sql.shuffle.partitions": str(shuffle_partitions),
        "spark.sql.execution.arrow.pyspark.enabled": "true",
        # Rows are counted in blocks. Large blocks are faster; their size is bounded, whatever a row holds, so that a
        # few do not fill the JVM's heap.
        "spark.sql.execution.arrow.maxRecordsPerBatch": "500000",
        "spark.sql.execution.arrow.maxBytesPerBatch": str(8 * 1024 * 1024),
        # Shuffled data is mostly hashes, which hardly compress.
        "spark.shuffle.compress": "false",
        **_WORKERS_MALLOC,
        **(settings or {}),
    }
    if submitted:
        # Connect to the driver first, otherwise the configuration would be empty.
        SparkContext._ensure_initialized()
        wanted.update(SparkConf().getAll())
    master = wanted["spark.master"]
    # Workers must use this interpreter, else a UDF meets other packages; on a cluster, the configured equivalent. Spark
    # reads this and the driver's address before the JVM starts.
    os.environ.setdefault("PYSPARK_PYTHON", wanted.get("spark.pyspark.python", sys.executable))
    if on_this_machine(master):
        os.environ.setdefault("SPARK_LOCAL_IP", _LOOPBACK[0])
    _ask(master)
    builder = SparkSession.builder
    for key, value in wanted.items():
        builder = builder.config(key, value)
    try:
        return builder.getOrCreate()
    except (PySparkException, Py4JError) as error:
        _clear_away()
        remedy = _JAVA_REMEDY if master.startswith("local") else _CLUSTER_REMEDY
        raise HistoryError(
            f"Spark does not start on master {master!r} with {java}: {one_line(error)}; {remedy}"
        ) from error


@contextmanager
def running(session: "SparkSession") -> Iterator["SparkSession"]:
    """The session, stopped at the end. Raises HistoryError if its JVM ends meanwhile: whatever asks it then gets an
    error of its own kind.
    """
    from pyspark import SparkContext

    jvm = getattr(SparkContext._gateway, "proc", None)
    try:
        with session as spark:
            yield spark
    except Exception as error:
        if jvm is None or not _ended(jvm):
            raise
        # Otherwise the next session of this process would be the dead one.
        SparkContext._gateway = SparkContext._jvm = SparkContext._active_spark_context = None
        raise HistoryError(
            f"Spark's JVM (process {jvm.pid}) ended with {jvm.returncode} while it worked; if the system killed it for "
            "its memory, lower FORESCALE_SPARK_MEMORY or give the machine more, else see the lines above; then run "
            f"again ({type(error).__name__})"
        ) from error


def _ended(process: "subprocess.Popen[bytes]") -> bool:
    """Now, or in a moment: its connections break before it is gone."""
    with suppress(subprocess.TimeoutExpired):
        process.wait(0.5)
    return process.returncode is not None


def on_this_machine(master: str) -> bool:
    """Whether all workers run on this machine: the master is local, or answers only on loopback."""
    hosts = {host for host, _ in _standalone(master)}
    return master.startswith("local") or bool(hosts & set(_LOOPBACK))


def _java() -> str | None:
    home = os.environ.get("JAVA_HOME")
    if home and (Path(home) / "bin" / "java").exists():
        return str(Path(home) / "bin" / "java")
    # If JAVA_HOME is set, Spark looks nowhere else.
    return None if home else shutil.which("java")


def _ask(master: str) -> None:
    """Raises HistoryError if no standalone master listens (Spark would retry for a minute without naming it) or if
    YARN's location is unknown (Spark would print a trace).
    """
    if master == "yarn" and not {"HADOOP_CONF_DIR", "YARN_CONF_DIR"} & set(os.environ):
        raise HistoryError("Spark's master 'yarn' needs Hadoop's configuration; set HADOOP_CONF_DIR to its folder")
    refusals = []
    for host, port in _standalone(master):
        try:
            socket.create_connection((host, port), timeout=_ANSWERS_WITHIN_S).close()
        except OSError as error:
            refusals.append(f"{host}:{port}: {error.strerror or error}")
        else:
            return
    if refusals:
        raise HistoryError(
            f"Spark's master {master} does not answer ({'; '.join(refusals)}); start it, or correct its URL"
        )


def _standalone(master: str) -> list[tuple[str, int]]:
    """Hosts and ports in spark://host:port,host:port; empty for other masters and for unreadable URLs."""
    if not master.startswith("spark://"):
        return []
    try:
        places = [urlsplit(f"//{place}") for place in master.removeprefix("spark://").split(",")]
        return [(place.hostname, place.port) for place in places if place.hostname and place.port]
    except ValueError:
        return []


def _clear_away() -> None:
    """Clears a context that failed right after its start; a retry would get it otherwise."""
    from pyspark import SparkContext

    if (left := SparkContext._active_spark_context) is not None:
        left.stop()


def one_line(error: Exception) -> str:
    """Spark's message and the innermost reason, without traces and Spark's error classes."""
    messages, java = [], getattr(error, "java_exception", None)
    while java is not None:
        messages.append(_first_line(java.getMessage() or java.toString()))
        java = java.getCause()
    # The wrapper of an awaited result adds nothing.
    messages = (
        [message for message in messages if "awaitResult" not in message] or messages or [_first_line(str(error))]
    )
    outer, inner = messages[0], messages[-1]
    return outer if inner in outer else f"{outer}: {inner}"


def _first_line(message: str) -> str:
    return re.sub(r"^\[[A-Z_.]+\] |\s*SQLSTATE: \w+", "", message.strip().splitlines()[0]).rstrip(". ")
